"""The sectors that a launch touches, against every address of every block."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.devices.device_table import load_devices
from core.launch import ArrayArgument, Dim3, Launch, ScalarArgument, Workload
from core.models.ceiling_counts import Counts, measure
from core.models.ceilings import ceilings
from core.recording.count_launch import count

H200 = load_devices().find("H200")


def touched(source: str, launch: Launch) -> Counts:
    return measure(Workload("k", source, "k.cu", "k", launch))


@pytest.mark.parametrize("stride", [1, 3, 8, 9, 33])
@pytest.mark.parametrize("offset", [0, 5])
def test_strided_and_shifted_copies(stride: int, offset: int) -> None:
    source = (
        'extern "C" __global__ void k(const float* A, float* C, int n, int stride, int offset) {'
        " int i = blockIdx.x * blockDim.x + threadIdx.x;"
        " if (i < n) C[i + offset] = 2.0f * A[i * stride + offset]; }"
    )
    n = 333
    arguments = (
        ArrayArgument("A", np.zeros(stride * n + offset, np.float32)),
        ArrayArgument("C", np.zeros(n + offset, np.float32), "output"),
        *(ScalarArgument(k, np.int32(v)) for k, v in (("n", n), ("s", stride), ("o", offset))),
    )
    counts = touched(source, Launch(Dim3(11), Dim3(37), arguments))
    i = np.arange(n)
    read = {(4 * (j * stride + offset)) // 32 for j in i}
    written = {(4 * (j + offset)) // 32 for j in i}
    assert counts.read_sectors == {"A": len(read)}
    assert counts.written_sectors == {"C": len(written)}
    assert counts.dram_bytes == 32 * (len(read) + len(written))
    assert ceilings(counts, H200).ceilings["dram"].gflops == pytest.approx(
        n / counts.dram_bytes * H200.bandwidth_gbs
    )


def test_half_of_a_matrix_that_many_blocks_read() -> None:
    """Blocks of a grid in y read the same rows again; only every other row is touched at all."""
    source = (
        'extern "C" __global__ void k(const float* A, float* C, int n) {'
        " int x = blockIdx.x * blockDim.x + threadIdx.x; float sum = 0;"
        " for (int row = 0; row < n; row += 2) sum += A[row * n + x];"
        " C[blockIdx.y * n + x] = sum; }"
    )
    n = 96
    arguments = (
        ArrayArgument("A", np.zeros((n, n), np.float32)),
        ArrayArgument("C", np.zeros((5, n), np.float32), "output"),
        ScalarArgument("n", np.int32(n)),
    )
    launch = Launch(Dim3(3, 5), Dim3(32), arguments)
    counts = touched(source, launch)
    assert counts.read_sectors == {"A": n // 2 * n // 8}
    assert counts.written_sectors == {"C": 5 * n // 8}
    assert counts.written.loaded_bytes == 5 * 4 * n * n // 2
    assert counts.served == pytest.approx(1 - 1 / 5)
    assert counts.uniform


def test_every_block_run_gives_the_same() -> None:
    """Addresses that depend on data: no block stands for another, and atomics read and write."""
    source = (
        'extern "C" __global__ void k(const int* P, float* C) {'
        " int i = blockIdx.x * blockDim.x + threadIdx.x; atomicAdd(&C[P[i]], 1.5f); }"
    )
    rng = np.random.default_rng(4)
    places = rng.integers(0, 4000, 256).astype(np.int32)
    arguments = (
        ArrayArgument("P", places),
        ArrayArgument("C", np.zeros(4000, np.float32), "inout"),
    )
    counts = touched(source, Launch(Dim3(4), Dim3(64), arguments))
    assert counts.note.startswith("Every block was run")
    assert counts.alike
    assert not counts.uniform  # how many lanes meet in a sector is the data's affair
    sectors = len({4 * int(p) // 32 for p in places})
    assert counts.read_sectors == {"P": 32, "C": sectors}
    assert counts.written_sectors == {"C": sectors}


MMA = r"""
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void k(const half* A, const half* B, float* C, int n)
{
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::fill_fragment(c, 0.0f);
    for (int k = 0; k < n; k += 16) {
        wmma::load_matrix_sync(a, A + blockIdx.y * 16 * n + k, n);
        wmma::load_matrix_sync(b, B + k * n + blockIdx.x * 16, n);
        wmma::mma_sync(c, a, b, c);
    }
    wmma::store_matrix_sync(C + blockIdx.y * 16 * n + blockIdx.x * 16, c, n, wmma::mem_row_major);
}
"""


def test_tensor_cores() -> None:
    n = 64
    arguments = (
        ArrayArgument("A", np.zeros((n, n), np.float16)),
        ArrayArgument("B", np.zeros((n, n), np.float16)),
        ArrayArgument("C", np.zeros((n, n), np.float32), "output"),
        ScalarArgument("n", np.int32(n)),
    )
    counts = touched(MMA, Launch(Dim3(4, 4), Dim3(32), arguments))
    assert counts.work.tensor == {"f16": 2 * n**3}
    assert counts.flops == 2 * n**3
    found = ceilings(counts, H200)
    # 4,096 operations a clock: 989 TFLOPS at the 1.83 GHz that NVIDIA rates them at; two thirds of
    # that for mma.sync, as measured. 16 blocks keep as many of the SMs busy.
    rated = 989.4e3 * 1.98 / 1.83 * 16 / 132
    assert found.ceilings["tensor"].gflops == pytest.approx(2 / 3 * rated, rel=1e-3)
    assert " x 16 / 132 blocks = " in found.ceilings["tensor"].formula
    assert "mma.sync reaches" in found.ceilings["tensor"].assumes
    assert "fp32" not in found.ceilings
    assert "done by tensor cores" in found.left_out["fp32"]
    geforce = ceilings(counts, load_devices().find("RTX 3090")).ceilings["tensor"]
    assert geforce.gflops == pytest.approx(71.2e3 * 16 / 82, rel=1e-3)
    old = ceilings(counts, load_devices().find("8800 GTX"))
    assert "no tensor cores" in old.left_out["tensor"]


SMALL = r"""
extern "C" __global__ void k(const unsigned* A, float* C)
{
    float c[4] = {};
    for (int k = 0; k < 3; k++)
        asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e4m3.f32 {%0, %1, %2, %3}, "
                     "{%4, %5, %6, %7}, {%4, %5}, {%0, %1, %2, %3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(A[k]), "r"(A[k + 1]), "r"(A[k + 2]), "r"(A[k + 3]));
    for (int i = 0; i < 4; i++) C[threadIdx.x * 4 + i] = c[i];
}
"""


def test_products_of_8_bit_floats_are_those_of_halves_on_9_0_and_twice_as_fast_on_8_9() -> None:
    arguments = (
        ArrayArgument("A", np.zeros(8, np.uint32)),
        ArrayArgument("C", np.zeros(128, np.float32), "output"),
    )
    counts = touched(SMALL, Launch(Dim3(1), Dim3(32), arguments))
    assert counts.work.tensor == {"e5m2": 3 * 2 * 16 * 8 * 32}
    assert counts.flops == counts.work.tensor["e5m2"]
    devices = load_devices()
    for device, rate in (("H200", 1), ("RTX 4090", 2)):
        found, halves = (
            devices.find(device),
            replace(counts, work=replace(counts.work, tensor={"f16": counts.flops})),
        )
        rates = [ceilings(of, found).ceilings["tensor"].gflops for of in (counts, halves)]
        assert rates[0] == pytest.approx(rate * rates[1])


def test_integers_on_tensor_cores_are_no_floating_point_work() -> None:
    source = MMA.replace("half", "signed char").replace("float>", "int>").replace("0.0f", "0")
    source = source.replace("float* C", "int* C")
    n = 32
    arguments = (
        ArrayArgument("A", np.zeros((n, n), np.int8)),
        ArrayArgument("B", np.zeros((n, n), np.int8)),
        ArrayArgument("C", np.zeros((n, n), np.int32), "output"),
        ScalarArgument("n", np.int32(n)),
    )
    launch = Launch(Dim3(2, 2), Dim3(32), arguments)
    from core.rules.flops_and_traffic import WorkProbe

    probe = WorkProbe()
    count(Workload("k", source, "k.cu", "k", launch), kind="as_compiled", probe=probe)
    assert probe.total.tensor == {"s8": 2 * n**3}
    assert probe.total.flops == 0
