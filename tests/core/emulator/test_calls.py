"""Calls, recursion, structures by value, and what lies on a thread's stack.

Also what the driver supplies to kernels, and how calls that go wrong are reported.
"""

from __future__ import annotations

import struct
import tracemalloc

import numpy as np
import pytest

from core.emulator.system_calls import formatted
from core.recording.trace_files import load_trace, save_trace
from tests.core.emulator.machines import HEADER, run_ptx, trace_of


def test_recursion_of_different_depth() -> None:
    source = """
__device__ __noinline__ long long fib(int n, int* calls)
{
    *calls += 1;
    if (n < 2) return n;
    return fib(n - 1, calls) + fib(n - 2, calls);
}
extern "C" __global__ void k(long long* out, int* made)
{
    int calls = 0;
    out[threadIdx.x] = fib(threadIdx.x % 9, &calls);
    made[threadIdx.x] = calls;
}
"""
    trace = trace_of(source, {"out": np.zeros(40, np.int64), "made": np.zeros(40, np.int32)},
                     block=40)  # fmt: skip
    fib, calls = [0, 1], [1, 1]
    for _ in range(8):
        fib.append(fib[-1] + fib[-2])
        calls.append(1 + calls[-1] + calls[-2])
    assert trace.outputs["out"].tolist() == [fib[t % 9] for t in range(40)]
    assert trace.outputs["made"].tolist() == [calls[t % 9] for t in range(40)]


def test_calls_from_different_places_and_a_return_in_a_loop() -> None:
    source = """
__device__ __noinline__ int find(const int* where, int n, int wanted)
{
    for (int i = 0; i < n; i++)
        if (where[i] == wanted) return i;
    return -1;
}
extern "C" __global__ void k(int* out, const int* data, int n)
{
    int t = threadIdx.x;
    int a = t % 2 ? find(data, n, t) : find(data, n / 2, t + 1) * 100;
    out[t] = a + find(data, n, 3 * t);
}
"""
    data = np.random.default_rng(3).permutation(40).astype(np.int32)

    def find(n: int, wanted: int) -> int:
        return next((i for i in range(n) if data[i] == wanted), -1)

    trace = trace_of(
        source, {"out": np.zeros(32, np.int32), "data": data, "n": np.int32(40)}, block=32
    )
    want = [(find(40, t) if t % 2 else find(20, t + 1) * 100) + find(40, 3 * t) for t in range(32)]
    assert trace.outputs["out"].tolist() == want


def test_structures_by_value() -> None:
    source = """
struct Pair { int a; double b; short c[3]; };
__device__ __noinline__ Pair turn(Pair p, int t)
{
    Pair q = {p.a + t, p.b * 2, {p.c[2], p.c[0], (short)t}};
    return q;
}
extern "C" __global__ void k(double* out, int n)
{
    Pair p = {n, 1.5, {1, 2, 3}};
    p = turn(turn(p, threadIdx.x), 5);
    out[threadIdx.x] = p.a * 1000 + p.b + p.c[0] * 10 + p.c[1] * 100;
}
"""
    trace = trace_of(source, {"out": np.zeros(32), "n": np.int32(4)})
    want = [(4 + t + 5) * 1000 + 6.0 + t * 10 + 3 * 100 for t in range(32)]
    assert trace.outputs["out"].tolist() == want


def test_local_arrays_belong_to_their_thread() -> None:
    source = """
extern "C" __global__ void k(int* out, int n)
{
    int t = threadIdx.x, a[9];
    short b[5];
    for (int i = 0; i < 9; i++) a[i] = t * i;
    for (int i = 0; i < 5; i++) b[i] = t - i;
    out[t] = a[(t + n) % 9] * 1000 + b[t % 5];
}
"""
    trace = trace_of(source, {"out": np.zeros(64, np.int32), "n": np.int32(2)}, block=64)
    want = [t * ((t + 2) % 9) * 1000 + t - t % 5 for t in range(64)]
    assert trace.outputs["out"].tolist() == want
    assert trace.findings == ()


def test_stacks_of_callers_do_not_overlap() -> None:
    source = """
__device__ __noinline__ int leaf(int x)
{
    int a[4];
    for (int i = 0; i < 4; i++) a[i] = x + i;
    int s = 0;
    for (int i = 0; i < 4; i++) s += a[(i + x) & 3];
    return s;
}
__device__ __noinline__ int small(int x) { return leaf(x); }
__device__ __noinline__ int big(int x)
{
    int a[64];
    for (int i = 0; i < 64; i++) a[i] = i * x;
    int s = leaf(x);
    for (int i = 0; i < 64; i++) s += a[(i + x) & 63];
    return s;
}
extern "C" __global__ void k(int* out)
{
    int t = threadIdx.x;
    int v = small(t);
    out[t] = v + big(t);
}
"""
    trace = trace_of(source, {"out": np.zeros(32, np.int32)})
    assert trace.outputs["out"].tolist() == [2 * (4 * t + 6) + t * 63 * 32 for t in range(32)]


def out(size: int = 32, dtype: str = "i4") -> np.ndarray:
    return np.full(size, -77).astype(dtype)


@pytest.mark.parametrize("kind", ["as_written", "as_compiled"])
def test_printf_is_captured_in_order(kind) -> None:
    source = r"""
extern "C" __global__ void k(int* out)
{
    int t = threadIdx.x;
    if (t % 9 == 1)
        out[t] = printf("%d|%5.2f|%-4s|%c|%llx|%u%%\n",
                        -t, t / 8.0f, "ab", 'a' + t % 3, 1ull << 40, 7u);
    if (t == 31 && blockIdx.x == 1) printf("end %s\n", (const char*)0);
}
"""
    trace = trace_of(source, {"out": out()}, grid=2, kind=kind)
    lines = [f"{-t}|{t / 8:5.2f}|ab  |{'abc'[t % 3]}|10000000000|7%" for t in (1, 10, 19, 28)]
    assert trace.printed == (*lines, *lines, "end (null)")
    assert [(p.block, p.thread) for p in trace.prints] == [
        *((0, t) for t in (1, 10, 19, 28)), *((1, t) for t in (1, 10, 19, 28)), (1, 31)
    ]  # fmt: skip
    assert trace.outputs["out"].tolist()[1::9] == [6] * 4


def test_formats() -> None:
    raw = (5).to_bytes(4, "little") + b"\0" * 4 + (1 << 33).to_bytes(8, "little")

    def fetch(offset: int, size: int) -> bytes:
        return raw[offset : offset + size]

    assert formatted("%03d and %ld.", fetch, str) == ("005 and 8589934592.", 2)
    assert formatted("%#o %%", fetch, str) == ("05 %", 1)
    assert formatted("%hhd", lambda o, s: (0x1FF).to_bytes(4, "little"), str) == ("-1", 1)
    assert formatted("%*d", lambda o, s: (3).to_bytes(4, "little"), str) == ("  3", 2)
    assert formatted("%*d|", lambda o, s: (-3 if o == 0 else 7).to_bytes(4, "little", signed=True),
                     str) == ("7  |", 2)  # fmt: skip
    assert formatted("%.*d", lambda o, s: (-3 if o == 0 else 7).to_bytes(4, "little", signed=True),
                     str) == ("7", 2)  # fmt: skip


HUGE = ["%1000000000d", "%-1000000000d", "%.1000000000d", "%1000000000.999999999f", "%.1000000000a",
        "%1000000000a", "%01000000000x", "%1000000000s", "%1000000000p", "%1000000000c",
        f"%{'9' * 60_000}d", f"%.{'9' * 60_000}e", "%*d%*d%*d", "%.*d%.*d"]  # fmt: skip


@pytest.mark.parametrize("form", HUGE)
def test_what_is_printed_is_cut_before_it_is_formatted(form) -> None:
    """No text longer than asked for is ever made, whatever the format says."""
    raw = (1 << 30).to_bytes(4, "little") * 8
    formatted(form, lambda o, s: raw[o : o + s], lambda _: "text", 9)  # what is made but once
    tracemalloc.start()
    written, _ = formatted(form, lambda o, s: raw[o : o + s], lambda _: "text", 100_000)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(written) == 100_000
    assert most < 4_000_000
    fits = formatted("%9d.", lambda o, s: raw[o : o + s], str, 100_000)[0]
    assert fits == "1073741824."
    if form == "%1000000000d":
        assert set(written) == {" "}  # what comes first, as printf would write it


@pytest.mark.parametrize(
    ("form", "value", "wanted"),
    [("%a", 1.0, "0x1p+0"), ("%.0a", -1.999999, "-0x2p+0"), ("%.3a", 0.1, "0x1.99ap-4"),
     ("%12a|", 3.0, "    0x1.8p+1|"), ("%-12a|", 3.0, "0x1.8p+1    |"),
     ("%012.1a", 255.5, "0x00002.0p+7"), ("% A", 0.0, " 0X0P+0"), ("%f", -float("nan"), "-nan")],
)  # fmt: skip
def test_floats_are_printed_as_by_the_c_library(form, value, wanted) -> None:
    raw = struct.pack("<d", value)
    assert formatted(form, lambda o, s: raw[o : o + s], str)[0] == wanted


def test_a_failed_assertion_ends_its_threads() -> None:
    source = """
#include <assert.h>
extern "C" __global__ void k(int* out)
{
    int t = threadIdx.x;
    assert(t % 8 != 3 && "eights");
    out[t] = t;
}
"""
    trace = trace_of(source, {"out": out()})
    (finding,) = trace.findings
    assert finding.kind == "assert"
    assert (finding.thread, finding.line, finding.count) == (3, 6, 4)
    assert "eights" in finding.message
    assert trace.outputs["out"].tolist() == [-77 if t % 8 == 3 else t for t in range(32)]


def test_a_trap_ends_its_threads() -> None:
    source = """
extern "C" __global__ void k(int* o) { if (threadIdx.x == 9) __trap(); o[threadIdx.x] = 1; }
"""
    trace = trace_of(source, {"o": out()})
    assert [(f.kind, f.thread) for f in trace.findings] == [("trap", 9)]
    assert trace.outputs["o"].tolist() == [-77 if t == 9 else 1 for t in range(32)]


def test_a_call_of_no_function_is_found() -> None:
    source = """
extern "C" __global__ void k(int* o, unsigned long long where)
{
    int (*f)(int) = (int (*)(int))where;
    o[threadIdx.x] = threadIdx.x < 20 ? 5 : f(3);
}
"""
    trace = trace_of(source, {"o": out(), "where": np.uint64(1234)})
    assert [(f.kind, f.thread, f.count) for f in trace.findings] == [("bad_call", 20, 12)]
    assert "0x4d2" in trace.findings[0].message
    assert trace.outputs["o"].tolist() == [5] * 20 + [-77] * 12


@pytest.mark.parametrize("kind", ["as_written", "as_compiled"])
def test_the_heap(kind) -> None:
    source = """
extern "C" __global__ void k(int* out)
{
    int* p = (int*)malloc(20);
    p[4] = threadIdx.x * 3;
    __syncwarp();
    out[threadIdx.x] = p[4];
    free(p);
    out[32 + threadIdx.x] = malloc(1ull << 40) == nullptr;
}
"""
    trace = trace_of(source, {"out": out(64)}, kind=kind)
    assert trace.outputs["out"].tolist() == [3 * t for t in range(32)] + [1] * 32


def test_functions_that_take_registers() -> None:
    ptx = (
        HEADER
        + """
.func (.reg .u32 r) half(.reg .u32 x, .reg .u32 by) { div.u32 r, x, by; ret; }
.visible .entry k(.param .u64 p) {
  .reg .b32 t, h; .reg .b64 a; .reg .pred odd;
  mov.u32 t, %tid.x; ld.param.u64 a, [p]; mad.wide.u32 a, t, 4, a; mov.u32 h, 1000;
  and.b32 h, t, 1; setp.eq.u32 odd, h, 1; mov.u32 h, 1000;
  @odd call (h), half, (t, 3);
  st.global.u32 [a], h; ret; }
"""
    )
    (result,) = run_ptx(ptx, [np.zeros(32, np.uint32)])
    assert result.tolist() == [t // 3 if t % 2 else 1000 for t in range(32)]


def test_labels_and_registers_of_inner_braces() -> None:
    ptx = (
        HEADER
        + """
.visible .entry k(.param .u64 p) {
  .reg .b32 t, s; .reg .b64 a; .reg .pred q; .reg .v4 .u32 v;
  mov.u32 t, %tid.x; ld.param.u64 a, [p]; mov.u32 s, 0;
  { setp.lt.u32 q, t, 9; @q bra OUT; add.u32 s, s, 1; OUT: add.u32 s, s, 10; }
  { setp.lt.u32 q, t, 19; @q bra OUT; add.u32 s, s, 2; OUT: add.u32 s, s, 100; }
  mov.u32 v.x, s; mov.u32 v.w, t; add.u32 s, v.x, v.w;
  mad.wide.u32 a, t, 4, a; st.global.u32 [a], s; ret; }
"""
    )
    (result,) = run_ptx(ptx, [np.zeros(32, np.uint32)])
    assert result.tolist() == [110 + t + (t >= 9) + 2 * (t >= 19) for t in range(32)]


def test_addresses_in_initial_values() -> None:
    ptx = (
        HEADER
        + """
.global .u32 here[4] = {7, 8, 9, 10};
.global .u64 table[2] = {generic(here)+8, one};
.global .u8 low[2] = {mask(0xFF)(here), mask(0xFF00)(here)};
.func (.param .u32 r) one() { st.param.u32 [r], 41; ret; }
.visible .entry k(.param .u64 p) {
  .reg .b64 a, b, f; .reg .b32 x, y; .reg .b16 h; .param .u32 back;
  ld.param.u64 a, [p]; ld.global.u64 b, [table]; ld.u32 x, [b]; st.global.u32 [a], x;
  ld.global.u64 f, [table+8];
  P: .callprototype (.param .u32 _) _ ();
  call (back), f, (), P;
  ld.param.u32 y, [back]; st.global.u32 [a+4], y;
  ld.global.u8 h, [low+1]; cvt.u32.u16 x, h; mov.u64 b, here; shr.u64 b, b, 8; cvt.u32.u64 y, b;
  and.b32 y, y, 255; sub.u32 x, x, y; st.global.u32 [a+8], x; ret; }
"""
    )
    (result,) = run_ptx(ptx, [np.full(3, 99, np.uint32)])
    assert result.tolist() == [9, 41, 0]


def test_what_was_printed_is_saved_with_the_trace(tmp_path) -> None:
    source = """
extern "C" __global__ void k(int* out)
{
    int* p = (int*)malloc(8);
    p[1] = threadIdx.x;
    if (p[1] == 5) printf("five\\n");
    out[threadIdx.x] = p[1];
}
"""
    trace = trace_of(source, {"out": out()})
    save_trace(trace, tmp_path / "trace.npz")
    loaded = load_trace(tmp_path / "trace.npz")
    assert loaded.printed == trace.printed == ("five",)
    assert loaded.block(0).n_steps == trace.block(0).n_steps
