"""Files for nvcc, with the host's functions beside their kernels."""

import numpy as np
import pytest

from core.compiler.compile_ptx_and_cubin import compile_cubin, compile_ptx
from core.errors import CompileError
from core.launch import ArrayArgument, Dim3, Launch, Workload
from core.recording.record_launch import record
from core.source.declarations import syntax
from core.source.kernel_slice import without_host_code

FILE = """#include <stdio.h>
#include <vector>
#include <cuda_runtime.h>
using namespace std;

#define CHECK(call) do { cudaError_t e = call; if (e) { printf("%d", e); } } while (0)

struct Pair { float x, y; public: float sum() const { return x + y; } };
namespace mine {
__device__ float twice(float x) { return 2.0f * x; }
static void report(const char *name) { printf("} %s {\\n", name); }
}
template <typename T> T largest(T a, T b) { return a > b ? a : b; }
__global__ void scale(const float *A, float *C, int N)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) { C[i] = mine::twice(A[i]); }
}
__host__ __device__ int both(int x) { return x; }
int table[] = {1, 2, 3}; static unsigned long seed = 7; float *p0, q;

int main(int argc, char **argv)  // { a comment
{
    vector<float> v(32);
    float *p;
    CHECK(cudaMalloc(&p, sizeof(float) * 32));
    scale<<<1, 32>>>(p, p, 32);
    mine::report("}");
    return 0;
}
"""


def test_functions_of_the_host_are_found_by_name_and_line():
    file = syntax(FILE)
    found = [(part.name, file.line(part.start)) for part in file.of_host]
    assert found == [
        ("sum", 8),
        ("report", 11),
        ("largest", 13),
        ("table", 20),
        ("seed", 20),
        ("q", 20),
        ("main", 22),
    ]


def test_every_line_stays_where_it_is():
    text = without_host_code(FILE)
    before, after = FILE.split("\n"), text.split("\n")
    assert [len(line) for line in before] == [len(line) for line in after]
    assert before[13:19] == after[13:19]
    for gone in ("main", "report(const", "largest", "CHECK(cudaMalloc"):
        assert gone not in text
    assert "#define CHECK" in text


def test_a_whole_file_for_nvcc_compiles_and_runs():
    for kind in ("as_written", "as_compiled"):
        assert len(compile_ptx(FILE, kind=kind).entries) == 1
    assert compile_cubin(FILE)
    data = np.random.default_rng(5).random(50, np.float32)
    arguments = (
        ArrayArgument("A", data, "input"),
        ArrayArgument("C", np.full(50, np.nan, np.float32), "output"),
        *Workloads.count(50),
    )
    launch = Launch(Dim3(2), Dim3(32), arguments)
    trace = record(Workload("scale", FILE, "scale.cu", "scale", launch))
    assert not (np.abs(trace.outputs["C"] - 2 * data) > 0).any()
    lines = {int(line) for line in trace.block(0).line}
    assert 17 in lines


class Workloads:
    @staticmethod
    def count(n):
        from core.launch import ScalarArgument

        return (ScalarArgument("N", np.int32(n)),)


def test_a_helper_without_device_is_named_with_what_to_write():
    source = (
        "float half(float x) { return x / 2; }\n"
        "__global__ void k(float *A)\n{\n    A[0] = half(A[0]);\n}\n"
    )
    with pytest.raises(CompileError) as caught:
        compile_ptx(source)
    assert "half (line 1) belongs to the host: write __device__" in str(caught.value)
    assert caught.value.diagnostics[0].line == 4
    member = (
        "struct S { float x; float get() { return x; } };\n"
        "__global__ void k(float *A)\n{\n    S s = {A[0]};\n    A[1] = s.get();\n}\n"
    )
    with pytest.raises(CompileError, match=r"get \(line 1\) belongs to the host"):
        compile_ptx(member)


def test_other_mistakes_are_the_compilers_own():
    source = "__global__ void k(float *A)\n{\n    A[0] = nothing;\n}\nint main() { return 0; }\n"
    with pytest.raises(CompileError, match='identifier "nothing" is undefined') as caught:
        compile_ptx(source)
    assert [d.line for d in caught.value.diagnostics] == [3]


@pytest.mark.parametrize(
    "source",
    [
        "__global__ void k(float *A) { A[0] = 1; }",
        'extern "C" { __global__ void k(float *A) { A[0] = 1; } }',
        "template <int T> __global__ void k(float *A) { for (int i = 0; i < T; i++) A[i] = 1; }",
        "struct S { __device__ int f() { return 1; } };\n__device__ S s = {};",
        "struct S { enum E { a = (1), b }; int values[3]; };",
        "enum class E : int { a, b };",
        "__constant__ float c[2] = {1, 2};",
        "const int N = 4, M = 5;\nconstexpr float f[2] = {1, 2};\nusing T = float;\ntypedef int I;",
        "__device__ int count;\nextern __shared__ float buffer[];\nstruct S s();",
        "float ahead(float x);",
        "",
        "{{{",
    ],
)
def test_what_a_gpu_runs_is_left_alone(source):
    assert not [*syntax(source).of_host]
    assert without_host_code(source) == source


HOST_CLASSES = """#include "pcl/common.hpp"
#include <string>
#include <thrust/device_vector.h>
#include <cmath>
#define KERNEL __global__ void
#define BOTH __host__ __device__ inline
#define MAKE(NAME, OP) \\
    __global__ void NAME(float *a, int n) { int i = threadIdx.x; if (i < n) a[i] = a[i] OP 2; }
MAKE(twice, *)
MAKE(more, +)
struct Options { std::string name; int n; };
static std::vector<Options> all;
class Board {
public:
    Board(int n) : n_(n) { cudaMalloc(&a_, n); }
    std::string name() const { return "board"; }
    int n_; float *a_ = nullptr;
};
constexpr int thrice(int x) { return 3 * x; }
BOTH float half_of(float x) { return std::fmin(x / 2, INFINITY); }
KERNEL fill(float *a, int n) { if (threadIdx.x < n) a[threadIdx.x] = half_of(thrice(n)); }
int main() { Board b(3); fill<<<1, 32>>>(b.a_, 3); cv::Mat m; thrust::device_vector<int> v; }
"""


def test_classes_headers_and_macros_of_the_host():
    build = compile_ptx(HOST_CLASSES)
    assert {e.rstrip("Pfi").lstrip("_Z12345") for e in build.entries} == {"twice", "more", "fill"}
    warnings = [d for d in build.diagnostics if d.line]
    assert [(d.line, d.severity) for d in warnings] == [(1, "warning")]
    assert "pcl/common.hpp is not here" in warnings[0].message


@pytest.mark.parametrize(
    ("lines", "line", "words"),
    [
        ('#include "my.h"\n__global__ void k(float *a) { a[0] = mine(a[1]); }', 2,
         r"mine.*my\.h, included in line 1, is not here: put what the kernel needs"),
        ("#include <thrust/sort.h>\n__global__ void k(int *a) { thrust::sort(a, a + 9); }", 2,
         r"serves the host only: a kernel here can use CUB's blocks and warps"),
        ("struct S { std::vector<int> v; };\n__global__ void k(S *s) { s->v[0] = 1; }", 2,
         r"std::vector belongs to the host's library; no kernel can use it"),
        ("struct S { std::string s; };\n__global__ void k(S *s) {\n s->s.size(); }", 3,
         r"std::string belongs to the host's library; no kernel can use it"),
        ("__global__ void c() {}\n__global__ void k() {\n  c<<<1, 1>>>();\n}", 3,
         r"dynamic parallelism.*trace the kernels one by one"),
    ],
)  # fmt: skip
def test_what_a_kernel_needs_of_the_host_is_said(lines, line, words):
    with pytest.raises(CompileError, match=words) as caught:
        compile_ptx(lines)
    assert caught.value.diagnostics[0].line == line
