"""Arrays as long as their indices go, and sizes that were guessed said to be."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.launching.file_launch import FileLaunch, file_workload
from core.launching.guess import completed, guess_launch
from core.launching.indices import only_axis
from core.runs.fitting import fitted
from core.runs.recording import record
from gui.scenes.findings import finding_rows

INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x;"


def tried(source: str, **given: str):
    asked = FileLaunch("k.cu", "", "", "", "", "", tuple(given.items()))
    return fitted(source, completed(source, asked), 3)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("x[threadIdx.x * 2] = 1;", 2 * 63 + 1),
        (f"{INDEX} x[i] = 1;", 256),
        (f"{INDEX} x[3 * (i + 1)] = x[i];", 3 * 256 + 1),
        (f"const {INDEX} int j = 2 * i, k = j + 5; x[k] = 1;", 2 * 255 + 5 + 1),
        (f"{INDEX} x[i + blockDim.x * gridDim.x] = 1;", 512),
        (f"{INDEX} if (i < 200) x[2 * i] = 1;", 2 * 199 + 1),  # a guard
        (f"{INDEX} i = 2 * i; x[i] = 1;", 511),
        (f"{INDEX} x[i * 1000000000u] = 1;", 256),  # more than an array may have: a fault
        (f"{INDEX} x[i - 1] = 1;", 256),  # in front of the array: a fault
    ],
)
def test_an_array_whose_size_nothing_says_is_as_long_as_its_indices_go(body, expected):
    arguments = dict(tried(kernel("int* x", body)).arguments)
    assert arguments["x"].endswith(f"[{expected}]")


def test_what_is_given_stays_whatever_the_kernel_does():
    source = kernel("int* x", "x[threadIdx.x * 2] = 1;")
    assert dict(tried(source, x="int32[64]").arguments)["x"] == "int32[64]"
    (row,) = finding_rows(record(file_workload(source, tried(source, x="int32[64]"))))
    assert (row.finding.array, row.finding.needs) == ("x", 127)


def kernel(parameters: str, body: str) -> str:
    return f"__global__ void k({parameters})\n{{\n    {body}\n}}\n"


def findings(source: str):
    return finding_rows(record(file_workload(source, tried(source))))


def test_a_right_kernel_is_not_accused_of_a_guess():
    source = kernel("int* x", "x[threadIdx.x * 2] = threadIdx.x;")
    launch = tried(source)
    assert dict(launch.arguments) == {"x": "zeros:int32[127]"}
    assert findings(source) == ()


def test_where_a_size_was_guessed_the_finding_says_so():
    source = kernel("int* x, int n", "int i = threadIdx.x; if (i <= n) x[i] = i;")
    (row,) = findings(source)
    assert row.message.endswith(
        "The size of x, 58, was guessed, as nothing in the file says it, and 59 would hold this: "
        "if the program makes it larger, set it at x in Configuration."
    )


def test_a_size_that_is_said_was_not_guessed():
    source = kernel("int* x", "int i = threadIdx.x; if (i < 40) x[i * 2] = i;")
    launch = guess_launch(source, "k.cu")
    said = replace(launch, arguments=(("x", "zeros:int32[66]"),))
    (row,) = finding_rows(record(file_workload(source, said)))
    assert "guessed" not in row.message
    host = "int main() { int* x; cudaMalloc(&x, 256); k<<<1, 64>>>(x); cudaDeviceSynchronize(); }\n"
    (row,) = findings(f"{source}{host}")
    assert "guessed" not in row.message


def test_an_argument_that_is_a_size_decides_as_before():
    """`a[i + 1]` of n elements stays the mistake that it is."""
    source = kernel("const float* a, float* b, int n", f"{INDEX}\n    b[i] = a[i + 1];")
    (row,) = findings(source)
    assert row.finding.array == "a"
    assert "was guessed" in row.message


BIAS = """__global__ void bias(float* C, const float* bias, float* sums, float* odd, int M, int N)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < M && col < N) {
        C[row * N + col] += bias[col];
        atomicAdd(&sums[row], C[row * N + col]);
        odd[col] = odd[row];
    }
}
"""


def test_an_array_of_one_index_beside_matrices_has_one_dimension():
    arguments = dict(guess_launch(BIAS, "bias.cu", None, {"M": "20", "N": "48"}).arguments)
    assert arguments["C"] == "random:float32[20,48]"
    assert arguments["bias"] == "random:float32[48]"
    assert arguments["sums"].endswith(":float32[20]")
    assert arguments["odd"] == "random:float32[20,48]", "rows and columns"


@pytest.mark.parametrize(
    ("index", "axis"),
    [("col", 0), ("row", 1), ("row * N + col", None), ("col + 1", None), ("k", None), ("n", None)],
)
def test_the_only_index_of_an_array(index, axis):
    body = BIAS[BIAS.index("{") :].replace("bias[col]", f"v[{index}]")
    assert only_axis("v", body) == axis
