"""Kernels that never end, that record or call without end, and work that is stopped."""

from __future__ import annotations

import itertools
import time
import tracemalloc

import numpy as np
import pytest

from core.cancelling import cancelled_by
from core.compiler.compile_ptx_and_cubin import compile_ptx
from core.emulator.machine import Limits
from core.emulator.system_calls import BUFFER_BYTES
from core.errors import BudgetExceeded, Cancelled
from core.ladder import load_ladder
from core.recording.count_launch import count
from core.recording.record_launch import CutShort
from tests.core.emulator.machines import line_of, trace_of

KERNEL = 'extern "C" __global__ void k(int* out, int n)\n{\n    int t = threadIdx.x;\n'
ENDLESS = {
    "nothing": "while (true) { }",
    "counts": "int i = 0; while (true) { i++; if (i == -5) out[0] = i; }",
    "stores": "while (n) { out[t] += 1; }",
    "waits and counts": "volatile int* flag = out; while (flag[0] == 0) n++; out[1] = n;",
    "a cycle of three": "while (n != 5) { n = n == 7 ? 1 : n == 1 ? 2 : 7; out[t]++; }",
    "two loops": "for (int i = 0; ; i++) for (int j = 0; j < 3; j++) out[t] += j;",
    "a barrier": "while (n) { out[t] ^= 1; __syncthreads(); }",
    "some lanes": "if (t & 1) while (n) { out[t]++; } out[t] = 7;",
    "a switch": "while (true) switch (out[t] & 3) { case 0: out[t] = 5; default: out[t]++; }",
}
ENDING = {  # each comes by the same state again, or stays in one, and ends all the same
    "inner": "int s = 0; for (int i = 0; i < 300; i++) { for (int j = 0; j < 3; j++) s++; } "
    "out[t] = s;",
    "callee": "int s = 0; for (int i = 0; i < 300; i++) s += three(n); out[t] = s;",
    "through memory": "volatile int* m = out + 64; m[t] = 0; int s = 0; "
    "while (m[t] < 700) { m[t] = m[t] + 1; s++; } out[t] = s;",
    "other lanes": "__shared__ volatile int turn; if (t == 0) turn = 0; __syncthreads(); "
    "while (turn != t) { } for (int i = 0; i < 60; i++) out[t]++; turn = t + 1;",
    "long": "int s = 0; for (int i = 0; i < 5000; i++) s += i & 1; out[t] = s;",
    "by chance": "int x = 1, s = 0; "
    "while ((x = x * 1103515245 + 12345) >> 8 != 0x2a2a2a && s < 3000) s++; out[t] = s;",
}  # fmt: skip
ANSWERS = {"inner": 900, "callee": 900, "through memory": 700, "other lanes": 60, "long": 2500}
THREE = """__device__ __noinline__ int three(int n)
{ int s = 0; for (int i = 0; i < n / 2; i++) s++; return s; }
"""


def run(body: str, **options):
    source = THREE + KERNEL + "    " + body + "\n}\n"
    arguments = {"out": np.zeros(128, np.int32), "n": np.int32(7)}
    return trace_of(source, arguments, block=40, **options)


def test_who_waits_gets_its_turn_at_the_same_instruction_however_fast_the_machine_is(
    monkeypatch,
) -> None:
    """How often the clock is looked at depends on it; whose turn it is does not."""
    body = """volatile int* flag = out; if (t == 0) {
        for (int i = 0; i < 3000; i++) if (!flag[1]) n = i;
        out[2] = n;
    } """
    monkeypatch.setattr("core.emulator.scheduling.FAIR", 9000)
    turns = []
    for seconds in (1e-7, 0.013, 0.7):  # between two looks
        clock = itertools.count(step=seconds)
        monkeypatch.setattr("core.emulator.budget.time.perf_counter", clock.__next__)
        trace = run(body + "else if (t == 33) out[1] = 1;")
        turns.append(int(trace.outputs["out"][2]))
    assert 100 < turns[0] < 2999
    assert set(turns) == {turns[0]}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["as_written", "as_compiled"])
@pytest.mark.parametrize("name", ENDLESS)
def test_an_endless_loop_is_found_at_once(name, kind) -> None:
    start = time.thread_time()
    trace = run(ENDLESS[name], kind=kind)
    assert time.thread_time() - start < 3
    kinds = {f.kind for f in trace.findings} - {"race", "uninitialised"}
    assert kinds == {"livelock"}, trace.findings
    if name == "some lanes":  # the others went on
        assert trace.outputs["out"][:40:2].tolist() == [7] * 20


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["as_written", "as_compiled"])
@pytest.mark.parametrize("order", ["lockstep", "random"])
@pytest.mark.parametrize("name", ENDING)
def test_a_loop_that_ends_is_left_alone(name, order, kind) -> None:
    trace = run(ENDING[name], kind=kind, order=order)
    assert "livelock" not in {f.kind for f in trace.findings}
    if name in ANSWERS:
        assert trace.outputs["out"][:40].tolist() == [ANSWERS[name]] * 40


def test_a_loop_whose_state_never_repeats_meets_the_instruction_budget() -> None:
    with pytest.raises(BudgetExceeded, match=r"after 50,000 .* in line \d+; .*--budget"):
        run("float x = 0; while (x != 1) x += 0.3f; out[t] = x;", limits=Limits(50_000))


CUT = {  # what spends which budget; the fault comes before
    "instructions": ("float x = 0; while (x != 1) x += 0.3f; out[t] = x;", Limits(20_000)),
    "time": ("float x = 0; while (x != 1) x += 0.3f; out[t] = x;", Limits(seconds=0.01)),
    "record": ("unsigned x = t, a = 0; while (x != 99u || a != 5) { x = x * 1664525u + 1013904223u;"
               " a ^= x; out[x >> 26] = a; }", Limits(memory=9_000_000)),
    "calls": ("out[t] = deeper(t);", Limits()),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("budget", CUT)
@pytest.mark.parametrize("wrong", [True, False])
def test_what_ran_and_was_found_before_the_budget_was_spent_is_kept(budget, wrong) -> None:
    body, limits = CUT[budget]
    source = f"""__device__ __noinline__ int deeper(int x)
{{ return x == 0x7fffffff ? 0 : deeper(x + 1) + deeper(x + 2); }}
extern "C" __global__ void k(int* out, int n)
{{
    int t = threadIdx.x;
    out[{"128" if wrong else "127"} - 2 * (t & 1)] = t & 1;  // here
    {body}
}}
"""
    arguments = {"out": np.zeros(128, np.int32), "n": np.int32(7)}
    with pytest.raises(CutShort) as raised:
        trace_of(source, arguments, block=40, limits=limits)
    trace = raised.value.so_far
    assert (trace.complete, trace.cut) == (False, str(raised.value))
    assert trace.outputs["out"][126 if wrong else 125] == 1
    faults = [f for f in trace.findings if f.kind == "out_of_bounds"]
    line = line_of(source, "// here")
    assert [(f.line, f.index, f.count) for f in faults] == [(line, (128,), 20)] * wrong
    block = trace.block(0)
    assert block.n_steps > 100 or budget == "calls"
    for finding in faults:
        assert block.line[finding.step] == line
        assert block.access(finding.step).faulty[finding.thread]
    last = block.line[block.n_steps - 1]
    assert line < last <= line + 2 or budget == "calls"  # the record goes up to where it was cut


@pytest.mark.slow
def test_time_counts_only_when_many_instructions_have_run() -> None:
    body = "float x = 0; while (x != 1) x += 0.3f; out[t] = x;"
    start = time.thread_time()
    with pytest.raises(BudgetExceeded, match=r"then in line \d+; .* smaller sizes, or set"):
        run(body, limits=Limits(seconds=0.05))
    assert time.thread_time() - start < 5
    trace = run("for (int i = 0; i < 4000; i++) out[t] += i;", limits=Limits(seconds=0.0))
    assert trace.outputs["out"][3] == 4000 * 3999 // 2


@pytest.mark.slow
def test_a_record_that_grows_without_end() -> None:
    body = """unsigned x = t, a = 0; while (x != 99u || a != 5) {
        x = x * 1664525u + 1013904223u; a ^= x; out[x >> 26] = a; }"""
    with pytest.raises(BudgetExceeded, match=r"grown to .* memory budget of 9 MB; count"):
        run(body, limits=Limits(memory=9_000_000))


@pytest.mark.slow
def test_calls_without_end() -> None:
    source = """
__device__ __noinline__ int f(int x) { return x == 0x7fffffff ? 0 : f(x + 1) + f(x + 2); }
extern "C" __global__ void k(int* out) { out[0] = f(out[0]); }
"""
    with pytest.raises(BudgetExceeded, match=r"called 4,096 calls deep: its recursion"):
        trace_of(source, {"out": np.zeros(1, np.int32)})
    with pytest.raises(BudgetExceeded, match=r"stacks of 1,024 threads take .* launch fewer"):
        trace_of(source, {"out": np.zeros(1, np.int32)}, block=1024,
                 limits=Limits(memory=20_000_000))  # fmt: skip


def test_a_stack_that_no_gpu_has() -> None:
    source = """
__device__ __noinline__ int f(int x, int n)
{ int a[20000]; a[x] = n; return n ? f(x + 1, n - 1) + a[x] : a[x]; }
extern "C" __global__ void k(int* out) { out[0] = f(out[0], 50); }
"""
    with pytest.raises(BudgetExceeded, match=r"needs a stack of .* CUDA has at most 524,288"):
        trace_of(source, {"out": np.zeros(1, np.int32)})


@pytest.mark.slow
def test_endless_printing_stops_at_the_size_of_cudas_buffer() -> None:
    source = """
extern "C" __device__ int printf(const char*, ...);
extern "C" __global__ void k(int* out)
{ for (int i = 0; i < 2000; i++) printf("line %d of thread %d\\n", i, threadIdx.x); }
"""
    trace = trace_of(source, {"out": np.zeros(1, np.int32)}, block=64)
    assert BUFFER_BYTES < sum(len(p.text) + 1 for p in trace.prints) < BUFFER_BYTES + 300
    assert "left out" in trace.prints[-1].text
    assert trace.prints[65].text == "line 1 of thread 1\n"


SLOW = {
    "arithmetic": "float x = 0; while (x != 1) x += 0.3f; out[t] = x;",
    "atomics": "float x = 0; while (x != 1) { x += 0.3f; atomicAdd(out, t); }",
    "stores": "float x = 0; while (x != 1) { x += 0.3f; out[t] = x; }",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_cancelled_at_any_moment(name) -> None:
    """How much work is done between two looks: what a cancelled run may still take."""
    looks: list[float] = []

    def cancelled() -> bool:
        looks.append(time.thread_time())
        return looks[-1] - looks[0] > 0.7

    source = KERNEL + "    " + SLOW[name] + "\n}\n"
    with cancelled_by(cancelled), pytest.raises(Cancelled):
        trace_of(source, {"out": np.zeros(1024, np.int32), "n": np.int32(7)}, block=1024, grid=4)
    assert max(np.diff(looks)) < 0.5  # of processor time, of which a look is due every 20 ms


def test_counting_by_kind_is_cancelled_too() -> None:
    workload = load_ladder()["tiled"].blank_workload(n=1024, tile=4)
    build = compile_ptx(workload.source, kernel=workload.kernel, defines=workload.defines)
    looks = []

    def cancelled() -> bool:
        looks.append(time.thread_time())
        return len(looks) > 60

    with cancelled_by(cancelled), pytest.raises(Cancelled):
        count(workload, build=build)
    assert max(np.diff(looks)) < 2.0  # far less on an idle machine


def test_the_endless_loop_is_where_the_finding_points() -> None:
    source = KERNEL + "    out[t] = 1;\n    while (n)\n        out[t] += 1;  // here\n}\n"
    trace = trace_of(source, {"out": np.zeros(40, np.int32), "n": np.int32(7)}, block=40)
    (finding,) = [f for f in trace.findings if f.kind == "livelock"]
    assert finding.line in (line_of(source, "while (n)"), line_of(source, "// here"))
    assert finding.thread == 0
    step = trace.block(0).line[finding.step]
    assert step in (line_of(source, "while (n)"), line_of(source, "// here"))


def test_a_line_as_long_as_a_gigabyte_is_cut() -> None:
    source = """
extern "C" __device__ int printf(const char*, ...);
extern "C" __global__ void k(int* out)
{ printf("%d\\n", 5); printf("%1000000000d\\n", threadIdx.x); out[threadIdx.x] = printf("more"); }
"""
    tracemalloc.start()
    trace = trace_of(source, {"out": np.full(32, -1, np.int32)})
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 60_000_000
    five, long, last = trace.printed[0], trace.printed[32], trace.printed[-1]
    assert (five, set(long)) == ("5", {" "})
    assert BUFFER_BYTES - 300 < len(long) < BUFFER_BYTES
    assert "left out" in last
    assert trace.outputs["out"].tolist() == [0] * 32  # nothing more was printed
