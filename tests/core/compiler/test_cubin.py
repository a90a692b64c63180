"""Registers and memory read from the cubin are those that the driver reported on the GPU.

Machine code as it is read, against what nvdisasm prints.
"""

from __future__ import annotations

import re
import subprocess
import sysconfig
from pathlib import Path

import pytest

from core.compiler.compile_ptx_and_cubin import compile_cubin
from core.compiler.cubin import (
    ACCESSES,
    OPCODES,
    SIZE,
    KernelResources,
    cubin_entries,
    kernel_resources,
    machine_code,
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


VERSIONS = ((7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (12, 0))
WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "32": 4, "64": 8, "128": 16}
NVDISASM = Path(sysconfig.get_path("purelib")) / "nvidia" / "cu13" / "bin" / "nvdisasm"


def cubin(rung: str, version: tuple[int, int]) -> bytes:
    workload = LADDER[rung].blank_workload()
    return compile_cubin(
        workload.source,
        source_name=workload.source_name,
        defines=workload.defines,
        compute_capability=version,
    )


def printed(image: bytes, folder: Path) -> tuple[list[str], dict[str, int]]:
    """Each instruction's text, and the address of each label."""
    path = folder / "image.cubin"
    path.write_bytes(image)
    NVDISASM.chmod(NVDISASM.stat().st_mode | 0o111)
    text = subprocess.run([NVDISASM, "-c", path], capture_output=True, text=True, check=True).stdout
    code: list[str] = []
    labels: dict[str, int] = {}
    for line in text.splitlines():
        if label := re.match(r"\s*(\.L_\w+):", line):
            labels[label[1]] = len(code) * SIZE
        elif found := re.match(r"\s*/\*[0-9a-f]{4,5}\*/\s+(.*?)\s*;", line):
            code.append(found[1])
    return code, labels


@pytest.mark.slow
@pytest.mark.skipif(not NVDISASM.exists(), reason="nvdisasm is not installed (`dev` extra)")
@pytest.mark.parametrize(
    ("rung", "version"),
    [
        *(("tiled_bounds", (major, minor)) for major, minor in VERSIONS),
        ("tensor_core", (8, 0)),
        ("tensor_core", (12, 0)),
    ],
)
def test_equals_nvdisasm(rung, version, tmp_path) -> None:
    image = cubin(rung, version)
    texts, labels = printed(image, tmp_path)
    code = machine_code(image, cubin_entries(image)[0])
    assert len(code) == len(texts) > 50
    branches = factors = accesses = 0
    for one, text in zip(code, texts, strict=True):
        plain = re.sub(r"^@!?U?P\w+ +", "", text)
        name = plain.split()[0].split(".")[0]
        assert one.name == (name if name in OPCODES.values() else ""), text
        if name == "BRA":
            label = re.search(r"`\((\.L_\w+)\)", plain)
            assert label is not None
            assert one.target == labels[label[1]], text
            assert one.guarded == (plain != text or "," in plain), text
            branches += 1
        if one.name in ACCESSES:
            sizes = re.findall(r"\.(64|128|[SU]8|[SU]16)\b", plain.split()[0])
            assert one.width == WIDTHS[sizes[0] if sizes else "32"], text
            accesses += 1
        if one.factors:
            shown = [part.strip().lstrip("-") for part in plain.split(",")[1:]]
            assert [
                "RZ" if f is None else f"R{f.register}" + ".reuse" * f.reuse for f in one.factors
            ] == shown, text
            factors += 1
    assert branches > 1
    assert accesses > 3
    assert factors > 10 or rung == "tensor_core"


def test_a_kernel_that_is_not_there() -> None:
    with pytest.raises(TilescopeError, match="no kernel nothing"):
        machine_code(cubin("coalesced", (9, 0)), "nothing")
