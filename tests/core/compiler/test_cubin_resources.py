"""Registers and memory read from the cubin are those that the driver reported on the GPU."""

from __future__ import annotations

import pytest

from core.compiler.compiler import compile_cubin
from core.compiler.cubin import (
    KernelResources,
    kernel_resources,
    parameter_places,
    variables_called,
)
from core.errors import TilescopeError
from core.gpu.result_files import load_recorded
from core.ladder import load_ladder

LADDER = load_ladder()
# Of the rungs from 30 on, each version of the compiler allots registers of its own.
RECORDED = [
    r
    for r in load_recorded()
    if r.rung and r.parameters.get("n") == 512 and LADDER[r.rung].number < 30
]

SOURCE = """
extern "C" __global__ void __launch_bounds__(256) spills(float* a, int n)
{
    volatile float kept[64];
    for (int i = 0; i < 64; i++)
        kept[i] = a[i];
    a[threadIdx.x] = kept[(n * threadIdx.x) & 63];
}
extern "C" __global__ void empty() {}
__global__ void shares(float* x)
{
    __shared__ double s[5];
    s[threadIdx.x] = x[0];
    __syncthreads();
    x[2] = s[2];
}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "result", RECORDED, ids=lambda r: f"{r.rung}-{'x'.join(map(str, r.block[:2]))}"
)
def test_equals_what_the_driver_said(result) -> None:
    assert result.architecture == "sm_90"
    workload = LADDER[result.rung].blank_workload(**result.parameters)
    image = compile_cubin(workload.source, defines=workload.defines, compute_capability=(9, 0))
    found = kernel_resources(image, workload.kernel)
    assert found.registers == result.registers
    assert found.static_shared_bytes == result.static_shared_bytes
    assert found.local_bytes == result.local_bytes


@pytest.mark.parametrize("version", [(7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (12, 0)])
def test_every_architecture(version: tuple[int, int]) -> None:
    image = compile_cubin(SOURCE, compute_capability=version)
    spills = kernel_resources(image, "spills")
    assert spills.max_threads == 256
    assert spills.local_bytes == 64 * 4
    assert 1 <= kernel_resources(image, "empty").registers <= 16
    shares = kernel_resources(image, "_Z6sharesPf")
    assert (shares.static_shared_bytes, shares.local_bytes) == (40, 0)
    assert isinstance(shares, KernelResources)


def test_a_map_behind_numbers_lies_where_constant_memory_is_aligned() -> None:
    source = """
    struct alignas(64) Map { unsigned long long words[16]; };
    extern "C" __global__ void k(int m, float* c, const __grid_constant__ Map a, int n)
    { c[0] = m + n + a.words[0]; }"""
    image = compile_cubin(source, compute_capability=(9, 0))
    assert parameter_places(image, "k") == (0, 8, 48, 176)  # the buffer begins at 0x210


def test_mistakes() -> None:
    image = compile_cubin(SOURCE)
    with pytest.raises(TilescopeError, match=r"no kernel shares; it has: .*_Z6sharesPf"):
        kernel_resources(image, "shares")
    with pytest.raises(TilescopeError, match="not a cubin"):
        kernel_resources(b"not an ELF file", "shares")


def test_variables_are_found_by_their_names_in_the_source():
    image = compile_cubin("""
    namespace filter { namespace deep { __constant__ float weights[5]; } __constant__ int radius; }
    namespace filter { static __device__ double seeds[3]; __constant__ float unused; }
    namespace { __constant__ float hidden[2]; }
    struct Setting { float a; int b; };
    __constant__ Setting setting;
    __global__ void radius(float *o) {
        __shared__ float tile[32];
        tile[threadIdx.x] = filter::deep::weights[threadIdx.x] + hidden[threadIdx.x & 1];
        __syncthreads();
        o[0] = filter::radius + filter::seeds[0] + setting.b + tile[threadIdx.x ^ 1];
    }""")
    assert variables_called(image, "weights") == ("_ZN6filter4deep7weightsE",)
    assert variables_called(image, "radius") == ("_ZN6filter6radiusE",)  # not the kernel
    assert variables_called(image, "setting") == ("setting",)
    for name in ("seeds", "hidden"):
        (symbol,) = variables_called(image, name)
        assert symbol.endswith(f"{len(name)}{name}E")
    for name in ("tile", "deep", "nothing"):
        assert variables_called(image, name) == ()
