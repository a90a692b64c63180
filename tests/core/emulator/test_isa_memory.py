"""Copies and matrix accesses are seen by the observers as what they are: loads and stores."""

from __future__ import annotations

import numpy as np
import pytest

from tests.core.emulator.machines import evaluate, trace_of

COPY = """
extern "C" __global__ void k(const float4* in, float4* out, int stride)
{
    __shared__ float4 tile[64];
    unsigned to = (unsigned)__cvta_generic_to_shared(&tile[threadIdx.x]);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                 :: "r"(to), "l"(in + threadIdx.x * stride));
    asm volatile("cp.async.commit_group; cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x ^ 1];
}
"""


@pytest.mark.parametrize("stride", [1, 3])
def test_an_asynchronous_copy_is_a_load_and_a_store(stride) -> None:
    data = np.random.default_rng(5).normal(size=(192, 4)).astype(np.float32)
    arguments = {"in": data, "out": np.zeros((64, 4), np.float32), "stride": np.int32(stride)}
    trace = trace_of(COPY, arguments, block=64)
    wanted = data[::stride][:64]
    assert (trace.outputs["out"] == wanted[np.arange(64) ^ 1]).all()
    counts = trace.counters.totals
    assert counts["global_ld_requests"].value == 2
    # Two lanes fill a sector of shared memory; it counts for each line that they copy from.
    filled = {(lane // 2, lane * 16 * stride // 128) for lane in range(64)}
    assert counts["global_ld_sectors"].value == len(filled)
    assert counts["shared_st_requests"].value == 2
    assert trace.findings == ()


def test_a_copy_out_of_bounds_is_found() -> None:
    arguments = {"in": np.zeros((100, 4), np.float32), "out": np.zeros((64, 4), np.float32),
                 "stride": np.int32(2)}  # fmt: skip
    trace = trace_of(COPY, arguments, block=64)
    first = trace.findings[0]
    assert (first.kind, first.thread, first.array) == ("out_of_bounds", 50, "in")


MATRIX = """
extern "C" __global__ void k(unsigned* out, int pitch)
{
    __shared__ __align__(16) unsigned short tile[32 * 64];
    for (int i = threadIdx.x; i < 32 * 64; i += 32) tile[i] = i;
    __syncwarp();
    unsigned at = (unsigned)__cvta_generic_to_shared(tile + threadIdx.x * pitch), a, b, c, d;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(at));
    out[threadIdx.x] = a; out[threadIdx.x + 32] = d;
}
"""


@pytest.mark.parametrize(("pitch", "wavefronts"), [(8, 4), (64, 32), (40, 4)])
def test_bank_conflicts_of_ldmatrix(pitch, wavefronts) -> None:
    trace = trace_of(MATRIX, {"out": np.zeros(64, np.uint32), "pitch": np.int32(pitch)})
    lane = np.arange(32)
    for matrix, got in ((0, trace.outputs["out"][:32]), (3, trace.outputs["out"][32:])):
        first = (8 * matrix + lane // 4) * pitch + 2 * (lane % 4)
        assert got.tolist() == (first | (first + 1) << 16).tolist()
    by_line = trace.counters.by_line[8]
    assert by_line["shared_ld_requests"].value == 1
    assert by_line["shared_ld_wavefronts"].value == wavefronts


def test_atomics_that_meet_take_turns_in_order() -> None:
    old = evaluate(
        "ld.param.u64 %q4, [p1]; atom.global.add.u32 {d}, [%q4], {a};", "u32",
        a=("u32", list(range(1, 33))),
    )  # fmt: skip
    start = int(old[0])
    assert (old.astype(np.int64) - start).tolist() == [t * (t + 1) // 2 for t in range(32)]


def test_clocks_only_go_up() -> None:
    first, second = evaluate(
        "mov.u64 {d}, %clock64; add.u64 %q4, %q4, 1; mov.u64 {e}, %globaltimer;", ("u64", "u64"),
        a=("u32", list(range(32))),
    )  # fmt: skip
    assert (second > first).all()
