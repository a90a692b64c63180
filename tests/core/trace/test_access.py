"""Accesses that no buffer can serve: they are steps, with the threads at fault told from idle ones.

What is expected follows by hand from `B[(phase * 2 + ty) * 3 + col]` and its like.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from core.explain.phase_table import phase_table
from core.ladder import load_ladder
from core.launch import ArrayArgument, Dim3, Launch, Workload
from core.recording.record_launch import record
from core.recording.trace_files import load_trace, save_trace
from core.trace import Trace


@cache
def broken(n: int = 3) -> Trace:
    return record(load_ladder()["broken_bounds"].workload(n=n, tile=2), blocks="all")


def run(body: str, threads: int, **arrays: np.ndarray) -> Trace:
    made = tuple(ArrayArgument(name, data, "inout") for name, data in arrays.items())
    given = ", ".join(f"float* {name}" for name in arrays)
    source = f'extern "C" __global__ void k({given})\n{{\n{body}\n}}\n'
    return record(Workload("k", source, "k.cu", "k", Launch(Dim3(2), Dim3(threads), made)))


def floats(n: int) -> np.ndarray:
    return np.arange(1, n + 1, dtype=np.float32)


def illegal(trace: Trace, block: int) -> dict[int, list[int | None]]:
    """The steps of a block at which threads are at fault, with what each of 4 wanted."""
    record = trace.block(block)
    accesses = [(s, record.access(s)) for s in range(record.n_steps)]
    return {
        s: [a.wanted(thread) for thread in range(4)]
        for s, a in accesses
        if a is not None and a.faulty.any()
    }


def test_who_wanted_what_is_in_the_record():
    trace = broken()
    block = trace.block(0)
    ((step, wanted),) = illegal(trace, 0).items()  # phase 1: row 3 of B, of the threads with ty = 1
    assert wanted == [None, None, 9, 10]
    access = block.access(step)
    assert (access.array.name, access.kind, access.fault) == ("B", "load", "out_of_bounds")
    assert access.active[:4].tolist() == [True, True, False, False]
    assert access.elements[:4].tolist() == [6, 7, -1, -1]
    assert access.values[2:4].tolist() == [0, 0]
    assert access.addresses[3] - access.addresses[2] == 4
    assert access.warp(0).faulty.tolist() == [False, False, True, True, *[False] * 28]
    # block (1, 0): col is 2 and 3, so that row 2's thread (1, 0) runs off the end as well
    assert list(illegal(trace, 1).values()) == [[None, 9, 11, 12]]
    # block (0, 1): A in both phases, B in the second, and the store to C
    assert list(illegal(trace, 2).values())[-1] == [None, None, 9, 10]
    assert len(illegal(trace, 2)) == 4


def test_a_finding_is_looked_at_where_the_access_is():
    trace = broken()
    for finding in trace.findings[:3]:
        assert finding.kind == "out_of_bounds"
        block = trace.block(finding.block)
        access = block.access(finding.step)
        assert access.faulty[finding.thread]
        assert (access.line, access.array.name) == (finding.line, finding.array)
        assert (access.wanted(finding.thread),) == finding.index


def test_an_access_of_nobody_else_is_a_step_too():
    trace = run(
        "    if (blockIdx.x) y[threadIdx.x] = x[8 + threadIdx.x];", 4, x=floats(8), y=floats(4)
    )
    assert illegal(trace, 0) == {}
    ((step, wanted),) = illegal(trace, 1).items()
    assert wanted == [8, 9, 10, 11]
    assert trace.findings[0].step == step
    assert trace.block(1).access(step).array.name == "x"
    assert not trace.block(1).active(step).any()
    assert trace.outputs["y"].tolist() == [0, 0, 0, 0]


def test_an_address_in_no_array():
    trace = run("    float* p = 0;\n    y[threadIdx.x] = *p;", 4, y=floats(8))
    ((step, wanted),) = illegal(trace, 0).items()
    assert wanted == [None] * 4
    access = trace.block(0).access(step)
    assert (access.array, access.fault, access.line) == (None, "out_of_bounds", 4)
    assert trace.findings[0].step == step


def test_shared_memory_and_addresses_that_are_not_aligned():
    body = "    __shared__ float s[8];\n    s[threadIdx.x * 4] = x[threadIdx.x];\n    x[0] = s[0];"
    trace = run(body, 4, x=floats(8))
    ((step, wanted),) = illegal(trace, 0).items()
    assert wanted == [None, None, 8, 12]
    assert trace.block(0).access(step).array.name == "s"
    assert trace.block(0).access(step).values[:4].tolist() == [1, 2, 3, 4]  # what was to be stored
    body = "    double* p = (double*)(x + threadIdx.x);\n    *p = 2.5;"
    trace = run(body, 4, x=floats(8))
    ((step, wanted),) = illegal(trace, 0).items()
    assert wanted == [None, 1, None, 3]
    assert trace.block(0).access(step).fault == "misaligned"


def test_what_a_misaligned_store_should_have_written_is_one_finding():
    body = """    float own[8];
    *(float4*)(own + (int)x[0]) = *(float4*)x;
    x[threadIdx.x + 4] = own[(int)x[1]];"""
    assert {f.kind for f in run(body, 1, x=floats(8)).findings} == {"misaligned"}


def test_a_saved_trace_knows_them_too(tmp_path: Path):
    trace = broken()
    save_trace(trace, tmp_path / "t.npz")
    again = load_trace(tmp_path / "t.npz")
    assert [illegal(again, b) for b in range(4)] == [illegal(trace, b) for b in range(4)]
    assert again.findings == trace.findings


def test_the_phase_table_says_what_was_loaded_and_not_stored():
    trace = broken()
    cells = phase_table(trace, trace.block(0)).rows[2].cells
    assert [e.text for e in cells[1]][:2] == [
        "A[1,2] -> tile_a[1,0]",
        "B[9] (fault: 0) -> tile_b[1,0]",
    ]
    last = phase_table(trace, trace.block(2)).rows[2].cells[-1]
    assert [e.text for e in last] == ["store C[9] (fault: not stored)"]


def test_a_finding_counts_the_accesses_of_all_blocks():
    """By hand: of B two in each block, and one more where the tile hangs over on the right too."""
    together = broken().findings
    workload = load_ladder()["broken_bounds"].workload(n=3, tile=2)
    apart = record(workload, blocks=[0, 1, 2, 3], record_bytes=1).findings
    one_by_one = record(workload, record_bytes=1).findings
    for findings in (together, apart, one_by_one):
        b = next(f for f in findings if f.array == "B")
        assert b.count == 10
        assert b.message.endswith("which has 9. (10 accesses like it.)")
