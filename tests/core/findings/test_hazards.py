"""Planted faults are found, with thread, line and element; their clean twins give no finding."""

from __future__ import annotations

import numpy as np
import pytest

from core.launch import Dim3
from core.trace import Trace
from tests.core.emulator.machines import line_of, trace_of

TILED = """
extern "C" __global__ void k(const float* A, const float* B, float* C, int N)
{
    __shared__ float a[TILE][TILE];
    __shared__ float b[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    float value = 0;
    for (int p = 0; p < N / TILE; p++) {
        a[ty][tx] = A[row * N + p * TILE + tx];
        b[ty][tx] = B[(p * TILE + ty) * N + col];
        __syncthreads();  // first
        for (int k = 0; k < TILE; k++)
            value += a[ty][k] * b[k][tx];
        __syncthreads();  // second
    }
    C[row * N + col] = value;
}
"""


def tiled(source: str, n: int = 8, tile: int = 4) -> Trace:
    rng = np.random.default_rng(1)
    arguments = {
        "A": rng.random((n, n), np.float32), "B": rng.random((n, n), np.float32),
        "C": np.zeros((n, n), np.float32), "N": np.int32(n),
    }  # fmt: skip
    side = n // tile
    return trace_of(source, arguments, grid=Dim3(side, side), block=Dim3(tile, tile),
                    defines={"TILE": str(tile)})  # fmt: skip


def run(source: str, count: int = 64, block: int = 64, **options) -> Trace:
    arguments = {"out": np.zeros(count, np.float32), "in": np.arange(count, dtype=np.float32)}
    return trace_of(source, arguments, block=block, **options)


def kinds(trace: Trace) -> set[str]:
    return {f.kind for f in trace.findings}


def test_clean_tiled() -> None:
    assert tiled(TILED).findings == ()


def test_first_barrier_missing() -> None:
    source = TILED.replace("__syncthreads();  // first", "")
    trace = tiled(source)
    read = line_of(source, "value += a[ty][k]")
    races = [f for f in trace.findings if f.kind == "race"]
    assert races
    assert read in {f.line for f in races}
    assert {f.array for f in races} <= {"a", "b"}
    for finding in races:
        assert "__syncthreads()" in finding.message
        assert f"Line {finding.line}" in finding.message
        assert len(finding.index) == 2


def test_second_barrier_missing() -> None:
    source = TILED.replace("__syncthreads();  // second", "")
    trace = tiled(source)
    writes = {line_of(source, "= A["), line_of(source, "= B[")}
    races = [f for f in trace.findings if f.kind == "race"]
    assert races
    assert {f.line for f in races} <= writes
    assert "uninitialised" not in kinds(trace)
    assert not tiled(source, n=4).findings  # one phase only: nothing to overwrite


def test_checks_can_be_switched_off() -> None:
    source = TILED.replace("__syncthreads();  // first", "")
    arguments = {name: np.ones((4, 4), np.float32) for name in "ABC"} | {"N": np.int32(4)}
    trace = trace_of(source, arguments, block=Dim3(4, 4), defines={"TILE": "4"}, checks=False)
    assert trace.findings == ()


KERNEL = """
extern "C" __global__ void k(float* out, const float* in)
{
    __shared__ float s[64];
    int t = threadIdx.x;
%s
}
"""
FAULTY = {
    "write-write": ("race", "s[t / 2] = in[t];\n__syncthreads();\nout[t] = s[t / 2];"),
    "write-write, later": (
        "race", "s[t] = in[t];\n__syncthreads();\ns[t] = 1;\ns[63 - t] = 2;\n__syncthreads();"
        "\nout[t] = s[t];",
    ),
    "read after write": ("race", "s[t] = in[t];\nout[t] = s[t ^ 32];"),
    "write after read": (
        "race", "s[t] = in[t];\n__syncthreads();\nfloat v = s[t ^ 32];\ns[t] = v;\nout[t] = v;"
    ),
    "barrier in one branch only": (
        "race", "s[t] = in[t];\nif (t < 64) { if (in[0] == 0) __threadfence_block(); }"
        "\nout[t] = s[63 - t];",
    ),
    "never written": (
        "uninitialised", "if (t < 32) s[t] = in[t];\n__syncthreads();\nout[t] = s[t];"
    ),
    "read before the write": ("uninitialised", "out[t] = s[t];\ns[t] = in[t];"),
    "beyond the end by one": ("out_of_bounds", "out[t + 1] = in[t];"),
    "before the start": ("out_of_bounds", "out[t] = in[t - 1];"),
    "far away": ("out_of_bounds", "out[t] = in[t * 1000];"),
    "null": ("out_of_bounds", "out[t] = ((const float*)0)[t];"),
    "wide at the end": ("out_of_bounds", "if (t < 17) out[t] = ((const float4*)in)[t].w;"),
    "misaligned": ("misaligned", "if (t < 8) out[t] = ((const double*)(in + 1))[t];"),
    "shared beyond the end": (
        "out_of_bounds", "s[t + 1] = in[t];\n__syncthreads();\nif (t) out[t] = s[t];"
    ),
}  # fmt: skip
CLEAN = {
    "own element": "s[t] = in[t];\nout[t] = s[t];",
    "read by many": "if (t == 0) s[5] = in[1];\n__syncthreads();\nout[t] = s[5];",
    "barrier on both sides": (
        "s[t] = in[t];\n__syncthreads();\nfloat v = s[t ^ 32];\n__syncthreads();\ns[t] = v;\n"
        "out[t] = v;"
    ),
    "atomics": (
        "if (t < 4) s[t] = 0;\n__syncthreads();\natomicAdd(&s[t % 4], in[t]);\n__syncthreads();\n"
        "out[t] = s[t % 4];"
    ),
    "disjoint halves": (
        "if (t < 32) s[t] = in[t]; else s[t] = -in[t];\n__syncthreads();\nout[t] = s[63 - t];"
    ),
    "barriers in a loop": (
        "s[t] = in[t];\n__syncthreads();\nfor (int d = 32; d; d /= 2) {\n"
        "if (t < d) s[t] += s[t + d];\n__syncthreads();\n}\nout[t] = s[0];"
    ),
    "last element": "out[63 - t] = in[t];",
    "guarded": "if (t > 0) out[t] = in[t - 1];",
    "wide": "if (t < 16) ((float4*)out)[t] = ((const float4*)in)[t];",
    "first element of the next array": "s[t] = 1;\n__syncthreads();\nif (t) out[t] = s[t - 1];",
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTY)
def test_planted_faults_are_found(name) -> None:
    kind, statements = FAULTY[name]
    trace = run(KERNEL % statements)
    assert kind in kinds(trace)
    for finding in trace.findings:
        assert finding.message.startswith(f"Line {finding.line}: ")
        assert 6 <= finding.line <= 6 + statements.count("\n")
        assert finding.count >= 1


@pytest.mark.parametrize("name", CLEAN)
def test_clean_twins_give_no_finding(name) -> None:
    trace = run(KERNEL % CLEAN[name])
    assert trace.findings == ()


def test_lanes_of_a_warp_are_ordered_by_syncwarp() -> None:
    source = (
        KERNEL
        % """
    s[t] = in[t];
    __syncwarp();
    for (int d = 16; d; d /= 2) {
        float v = s[t] + s[t / 32 * 32 + (t + d) % 32];
        __syncwarp();
        s[t] = v;
        __syncwarp();
    }
    out[t] = s[t];"""
    )
    trace = run(source)
    assert trace.outputs["out"].tolist() == [496.0] * 32 + [1520.0] * 32
    assert trace.findings == ()


@pytest.mark.parametrize(
    ("index", "cure"),
    [("t / 32 * 32 + (t + 1) % 32", "a __syncwarp() (or"), ("(t + 1) % 64", "a __syncthreads() b")],
)
def test_a_barrier_of_the_warp_is_advised_where_no_two_warps_race(index, cure) -> None:
    """The thread that is named reads what its own warp wrote in both."""
    (finding,) = run(KERNEL % f"s[t] = in[t];\n    out[t] = s[{index}];").findings
    assert finding.count == 64
    assert "reads s[1] with no barrier after thread (1,0) writes it (line 6)" in finding.message
    assert f"; {cure}" in finding.message


def test_where_an_access_out_of_bounds_was() -> None:
    trace = run(KERNEL % "out[t + 1] = in[t];")
    (finding,) = trace.findings
    assert (finding.kind, finding.block, finding.thread) == ("out_of_bounds", 0, 63)
    assert (finding.array, finding.index, finding.line) == ("out", (64,), 6)
    assert finding.count == 1
    assert "element 64 of out, which has 64" in finding.message
    out = trace.outputs["out"]
    assert out.tolist() == [0.0, *range(63)]  # the others' stores were done

    trace = run(KERNEL % "out[t] = in[t - 1];")
    (finding,) = trace.findings
    assert (finding.thread, finding.array, finding.index) == (0, "in", (-1,))
    assert trace.outputs["out"].tolist() == [0.0, *range(63)]


def test_where_an_uninitialised_read_was() -> None:
    trace = run(KERNEL % FAULTY["never written"][1])
    (finding,) = trace.findings
    assert (finding.thread, finding.array, finding.index) == (32, "s", (32,))
    assert finding.count == 32
    assert finding.line == 8


def test_a_fault_in_many_blocks_is_one_finding_with_their_count() -> None:
    source = 'extern "C" __global__ void k(float* out) { out[threadIdx.x + 40] = 1; }'
    trace = trace_of(source, {"out": np.zeros(64, np.float32)}, grid=700, block=32)
    (finding,) = trace.findings
    assert finding.count == 700 * 8
    assert (finding.block, finding.thread, finding.index) == (0, 24, (64,))


def test_no_bounds_guard_at_n_3_and_tile_2() -> None:
    """The first seed's own example: a 4 x 4 grid of threads over 3 x 3 matrices."""
    source = """
extern "C" __global__ void k(const float* A, const float* B, float* C, int N)
{
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    float value = 0;
    for (int k = 0; k < N; k++)
        value += A[i * N + k] * B[k * N + j];
    C[i * N + j] = value;
}
"""
    arguments = {n: np.ones((3, 3), np.float32) for n in "ABC"} | {"N": np.int32(3)}
    trace = trace_of(source, arguments, grid=Dim3(2, 2), block=Dim3(2, 2))
    outside = [f for f in trace.findings if f.kind == "out_of_bounds"]
    assert {f.array for f in outside} == {"A", "B", "C"}
    assert kinds(trace) <= {"out_of_bounds", "race"}  # C[0 * 3 + 3] is also C[1 * 3 + 0]


def test_what_reads_by_another_instruction_than_a_load_reads() -> None:
    source = (
        KERNEL
        % """
    unsigned a, at = (unsigned)__cvta_generic_to_shared(&s[t % 8 * 4]);
    s[t] = in[t];
    __syncthreads();
    if (t < 32)
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(a) : "r"(at));
    if (t >= 32) s[t - 32] = 1;
    out[t] = a;"""
    ).replace("%%", "%")
    (finding,) = run(source).findings
    assert "writes s[0] with no barrier after thread (0,0) reads it (line" in finding.message
