"""Launches counted and checked in parts, against the same in one process."""

from __future__ import annotations

import numpy as np
import pytest

from core.distributed.launch_parts import Footprints, trace_in_parts
from core.distributed.processes import spread
from core.emulator.address_spaces import Region
from core.emulator.events import Span, TransferEvent
from core.gpu.benchmark_job import RungSubject, WorkloadSubject
from core.recording.record_launch import record
from core.user_files.launch_texts import FileLaunch, file_workload


def here(function, tasks):
    return spread(function, tasks, 1)


def counted_fault(finding):
    """All but which of several occurrences is named: the first of those that ran side by side."""
    return finding.kind, finding.line, finding.array, finding.count, finding.needs


def same(subject, parts: int, kind="as_written"):
    whole = record(subject.workload(), kind=kind)
    joined = trace_in_parts(subject, here, parts, kind=kind)
    assert joined.counters == whole.counters
    assert sorted(map(counted_fault, joined.findings)) == sorted(map(counted_fault, whole.findings))
    assert joined.printed == whole.printed
    return joined


@pytest.mark.parametrize(
    ("rung", "parameters", "parts"),
    [
        ("tiled_rect", {"m": 22, "k": 17, "n": 35, "tile": 4}, 5),
        ("uncoalesced", {"n": 48, "block_x": 8, "block_y": 4}, 7),
        ("broken_reuse_barrier", {"n": 24, "tile": 8}, 4),
        ("broken_bounds", {"n": 7, "tile": 2}, 3),
    ],
)
def test_parts_join_to_what_one_process_finds(rung, parameters, parts) -> None:
    joined = same(RungSubject(rung, parameters), parts)
    assert f"in {parts} parts" in joined.note or "communicate" in joined.note


def test_the_optimised_build_likewise() -> None:
    same(RungSubject("tile_2d", {"m": 64, "k": 16, "n": 96}), 3, "as_compiled")


HISTOGRAM = """
extern "C" __global__ void bins(const int* x, int* count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&count[x[i] & 7], 1);
}
"""
CHAIN = """
extern "C" __global__ void chain(float* x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (blockIdx.x > 0) x[i] = x[i - blockDim.x] + 1.0f;
}
"""


@pytest.mark.parametrize(
    ("source", "kernel", "arrays"),
    [
        (HISTOGRAM, "bins", {"x": "int32[192]", "count": "int32[8]"}),
        (CHAIN, "chain", {"x": "float32[192]"}),
    ],
)
def test_blocks_that_communicate_are_kept_together(source, kernel, arrays) -> None:
    launch = FileLaunch("k.cu", kernel, "6", "32", arguments=tuple(arrays.items()))
    workload = file_workload(source, launch)
    joined = same(WorkloadSubject.of(workload), 3)
    assert "Blocks communicate" in joined.note


PAIRS = """
extern "C" __global__ void __cluster_dims__(2, 1, 1) pairs(const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] > 2.0f) __trap();
}
"""


def test_a_cluster_is_not_counted_by_each_part_that_has_a_block_of_it() -> None:
    texts = (("x", "float32[182]"), ("n", "182"))
    launch = FileLaunch("pairs.cu", "pairs", "6", "32", "0", "", texts)
    joined = same(WorkloadSubject.of(file_workload(PAIRS, launch)), 4)
    assert "blocks of a cluster run together" in joined.note


def test_bulk_copies_leave_their_footprints() -> None:
    data = np.zeros(64, np.uint8)
    a = Region("A", "global", 1 << 20, 64, data)
    inner = Region("shared memory", "shared", 0, 64, data)
    here, there = Span(inner, np.array([0]), 16), Span(a, np.array([0, 48]), 16)
    marks = Footprints()
    for kind, reads, writes in (("load", there, here), ("store", here, there)):
        lanes = np.array([0])
        marks.on_transfer(TransferEvent(0, 0, 0, kind, lanes, (reads,), (writes,), ("group", 0), 1))
    wanted = [*range(16), *range(48, 64)]
    assert marks.read.keys() == marks.written.keys() == {"A"}
    assert np.flatnonzero(marks.read["A"]).tolist() == wanted
    assert np.flatnonzero(marks.written["A"]).tolist() == wanted
