"""Includes: stand-ins for the host's headers, and CUDA's where they are installed."""

from __future__ import annotations

import re

import numpy as np
import pytest

from core.compiler import compile_slice
from core.compiler.compile_ptx_and_cubin import compile_ptx
from core.compiler.nvrtc import include_folders
from core.compiler.requests_and_answers import Request
from core.errors import CompileError
from core.guessing.launch_guess import completed
from core.guessing.trial_runs import fitted
from core.recording.record_launch import record
from core.source.host_headers import STAND_INS
from core.source.kernels_and_launches import kernels
from core.user_files.launch_texts import FileLaunch, file_workload


def fitted_launch(source: str) -> FileLaunch:
    return fitted(source, completed(source, FileLaunch("k.cu", "", "", "", "")), 1)


@pytest.mark.parametrize("backwards", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_host_headers_can_be_included(backwards) -> None:
    """All together, in both orders: one that needs another comes before it in one of the two."""
    names = sorted(STAND_INS, reverse=backwards)
    lines = [*(f"#include <{name}>" for name in names), 'extern "C" __global__ void k() {}']
    build = compile_ptx("\n".join(lines))
    assert build.entries == ("k",)
    assert len(names) > 100


def test_types_and_limits() -> None:
    source = """
#include <cstdint>
#include <limits.h>
#include <float.h>
static_assert(sizeof(int64_t) == 8 && sizeof(uint8_t) == 1, "");
static_assert(INT_MAX == 2147483647 && FLT_MAX > 3e38f, "");
extern "C" __global__ void k(uint16_t* a) { *a = (uint16_t)UCHAR_MAX; }
"""
    assert compile_ptx(source).entries == ("k",)


def test_errors_still_name_the_users_line() -> None:
    from core.errors import CompileError

    with pytest.raises(CompileError) as caught:
        compile_ptx("#include <stdio.h>\n__device__ int x = y;\n")
    assert caught.value.diagnostics[0].line == 2


@pytest.mark.skipif(not include_folders(), reason="CUDA's headers are not installed")
def test_cudas_headers() -> None:
    source = (
        '#include <cuda_fp16.h>\nextern "C" __global__ void k(__half2* a) { *a = __hadd2(*a, *a); }'
    )
    assert "f16x2" in compile_ptx(source).ptx


def test_infinity_is_a_constant_as_written_too():
    """As the host's headers have it: the cast that makes it would go through local memory."""
    text = """#include <cmath>
#include <math.h>
__constant__ float edges[2] = {-INFINITY, NAN};
extern "C" __global__ void peak(float* A)
{
    __shared__ float most[32];
    most[threadIdx.x] = -INFINITY;
    A[threadIdx.x] = fmaxf(most[threadIdx.x], NAN) + edges[0];
}
"""
    ptx = compile_ptx(text, source_name="peak.cu").ptx
    assert "__local_depot" not in ptx
    assert re.search(r"mov\.u32\s+%r\d+, -8388608;", ptx), "the bits of its negative"


def test_a_missing_header_is_told_where_an_instance_cannot_be_read():
    """NVRTC 13 crashes at an instance whose parameters it cannot read."""
    text = """#include <grid/view.hpp>
template <int n, typename T>
__global__ void scale(grid::view<T, 2> to, grid::view<const T, 2> from)
{
    to(threadIdx.x) = from(threadIdx.x) * n;
}
void go(grid::view<float, 2> a, grid::view<const float, 2> b) { scale<2, float><<<4, 64>>>(a, b); }
"""
    with pytest.raises(CompileError, match=r"grid/view.hpp, included in line 1, is not here"):
        compile_ptx(text, source_name="scale.cu", kernel="scale<2, float>")


def test_macros_that_nvcc_knows_without_a_header():
    text = """extern "C" __global__ void peak(const float* A, float* B, int n)
{
    float most = -INFINITY;
    for (int i = 0; i < n; i++)
        most = fmaxf(most, A[i]);
    *B = most > INT_MAX ? NAN : most * (float)M_PI;
}
"""
    assert compile_ptx(text, source_name="peak.cu").entries == ("peak",)
    own = "#define INFINITY 1e30f\n#define INT_MAX 7\n" + text
    build = compile_ptx(own.replace("NAN", "0.0f").replace("M_PI", "3.0"), source_name="peak.cu")
    assert build.entries == ("peak",)
    assert build.diagnostics == ()


@pytest.mark.parametrize("kind", ["as_written", "as_compiled"])
def test_names_and_intrinsics_that_nvcc_has_without_a_header(kind) -> None:
    source = """
typedef unsigned int uint;
extern "C" __global__ void k(const uint* in, int* out, ulong n) {
    ushort s = 3;
    out[0] = __dp4a((int)in[0], (int)in[1], 5) + __dp2a_hi((int)in[0], (int)in[1], out[1]) + s;
    in += n;
    out[1] = __dp4a(in[0], in[1], 5u);
}
"""
    assert compile_ptx(source, kind=kind).ptx.count("dp4a.") == 2


def test_the_names_that_kernels_take_from_the_hosts_headers() -> None:
    source = """
#include <cmath>
#include <algorithm>
#include <climits>
#include <cstdint>
using namespace std;
__constant__ float edges[2] = {-INFINITY, FLT_MAX};
extern "C" __global__ void k(float* a, std::uint8_t* b) {
    a[0] = std::max(std::sqrt(a[1]), std::fabs(a[2])) + M_PI + min(a[3], a[4]) + edges[b[0] & 1];
    b[1] = isnan(a[5] * NAN) + std::min<int>(UINT8_MAX, INT_MAX);
}
""".replace("FLT_MAX", "HUGE_VALF")
    assert compile_ptx(source).entries == ("k",)


@pytest.mark.slow
@pytest.mark.skipif(len(include_folders()) < 2, reason="CUDA's libraries are not installed")
def test_libraries_that_kernels_take_part_in() -> None:
    source = """
#include <cub/cub.cuh>
#include <limits>
#include <type_traits>
#include <array>
#include <utility>
#include <tuple>
template <int N> __global__ void sum(const int* in, int* out) {
    typedef cub::BlockReduce<int, N> Reduce;
    __shared__ typename Reduce::TempStorage room;
    static_assert(std::is_same<int, int>::value && std::is_integral_v<int>, "");
    std::array<int, 2> pair = {in[threadIdx.x], std::numeric_limits<int>::lowest()};
    std::swap(pair[0], pair[1]);
    int total = Reduce(room).Sum(pair[1]);
    if (threadIdx.x == 0) out[blockIdx.x] = total;
}
"""
    assert len(compile_ptx(source, kernel="sum<64>", kind="as_compiled").entries) == 1


@pytest.mark.parametrize("header", ["<cuda.h>", "<cudaTypedefs.h>"])
def test_tensor_maps_and_their_enumerations(header) -> None:
    source = f"""
#include {header}
struct Kind {{ static constexpr CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16; }};
static_assert(Kind::type == 9 && CU_TENSOR_MAP_SWIZZLE_128B == 3, "");
extern "C" __global__ void k(const __grid_constant__ CUtensorMap m, int* a) {{ *a = Kind::type; }}
"""
    assert compile_ptx(source).entries == ("k",)


def test_words_of_cxx20() -> None:
    """Concepts in a template's head name types; lambdas may be templates."""
    source = """
#include <concepts>
template <typename T> concept Number = requires(T a) { a + a; };
template <Number T> __global__ void add(T* a, const T* b)
{
    auto sum = []<typename U>(U x, U y) { return x + y; };
    a[threadIdx.x] = sum(a[threadIdx.x], b[threadIdx.x]);
}
"""
    assert kernels(source)[0].template[0].kind == "type"
    assert compile_ptx(source, kernel="add<double>").entries


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("__global__ void k(norm::Params p) {}", "norm"),
        ("template <class T> __global__ void k(T *a, norm::Params p) {}", "norm"),
        ("__global__ void k(float *a) { a[0] = epsilon + delta * gamma_of(a[1]); }", "epsilon"),
        ("__global__ void k(bf16 *a) { bf16 b = a[0]; bf16 c = a[1]; a[2] = b + c; }", "bf16"),
    ],
)
def test_what_no_file_declares_is_named_with_a_way_round(source, name):
    with pytest.raises(CompileError) as found:
        compile_ptx(source)
    assert f"; no file that is read declares {name}: name the header" in str(found.value)


def test_a_slip_of_the_pen_needs_no_header():
    with pytest.raises(CompileError, match=r'identifier "indx" is undefined\.$'):
        compile_ptx("__global__ void k(int *a, int index) { a[indx] = 0; }")
    with pytest.raises(CompileError, match=r'identifier "j" is undefined\.$'):
        compile_ptx("__global__ void k(int *a) { a[j] = a[j] + a[j] * a[j] - a[j]; }")


def test_pytorchs_atomics_and_seeds() -> None:
    source = """#include <ATen/cuda/Atomic.cuh>
#include <ATen/cuda/detail/UnpackRaw.cuh>
__global__ void k(float* a, at::PhiloxCudaState state) {
    auto seeds = at::cuda::philox::unpack(state);
    gpuAtomicAdd(a, float(std::get<0>(seeds) + std::get<1>(seeds)));
}
"""
    assert "atom" in compile_ptx(source, kernel="k").ptx


def test_the_largest_of_a_list_and_the_type_of_nullptr() -> None:
    source = """#include <algorithm>
#include <cstddef>
constexpr size_t most(std::initializer_list<size_t> all) { return std::max(all); }
static_assert(most({4, 9, 2}) == 9 && std::min({3, 1, 2}) == 1, "");
__device__ int is_none(std::nullptr_t) { return 1; }
__global__ void k(int* a) { a[0] = is_none(nullptr); }
"""
    assert len(compile_ptx(source, kernel="k").entries) == 1


def test_words_of_cxx20_in_what_no_kernel_needs_change_nothing() -> None:
    source = """template <typename T> concept Any = true;
template <Any T> __device__ T twice(T x) { return 2 * x; }
__global__ void old(float* a) { static_assert(__cplusplus < 202002L, ""); a[0] = 1; }
__global__ void fresh(float* a) { static_assert(__cplusplus >= 202002L, ""); a[0] = twice(1.f); }
"""
    for kernel in ("old", "fresh"):
        assert len(compile_ptx(source, kernel=kernel).entries) == 1


def test_a_name_that_nothing_declares_ends_the_search(monkeypatch) -> None:
    from core.compiler import compile_slice

    seen = []
    compiled = compile_slice._compile_text
    monkeypatch.setattr(
        compile_slice,
        "_compile_text",
        lambda *given, **how: seen.append(given) or compiled(*given, **how),
    )
    source = "struct Beside { int x; };\n__global__ void k(float* a) { a[TILE_OF_NONE] = 1; }\n"
    for _ in range(2):  # the second time what was said is known
        with pytest.raises(CompileError, match="TILE_OF_NONE"):
            compile_ptx(source, source_name="none.cu", kernel="k")
    assert len(seen) == 1


def test_a_call_of_a_class_that_the_host_has_alone_says_what_to_write() -> None:
    source = """struct Twice { float operator()(float x) const { return 2 * x; } };
__global__ void k(float* a) { a[0] = Twice()(1); }
"""
    with pytest.raises(CompileError, match=r"operator \(line 1\) belongs to the host: write __dev"):
        compile_ptx(source, kernel="k")


def test_classes_of_the_host_may_be_members_of_what_a_kernel_sees() -> None:
    source = """#include <functional>
struct Options { std::vector<int> v; std::string name; std::function<int(float)> f; float x; };
template <typename T> struct Types { using Row = std::vector<T>; using Index = T; };
__global__ void k(Options* o, Types<int>::Index* to) { to[0] = o->x; }
"""
    ptx = compile_ptx(source, kernel="k", kind="as_compiled").ptx
    assert "+88]" in ptx  # 24, 32 and 32 bytes are in front, as with GCC


def test_a_message_says_of_which_types_the_operands_are() -> None:
    source = "struct A { int x; };\n__global__ void k(A a, float* b) { b[0] = a + 1; }\n"
    with pytest.raises(CompileError, match=r'no operator "\+".*operand types are: A \+ int'):
        compile_ptx(source, kernel="k")


@pytest.mark.parametrize(
    ("source", "kernel", "words"),
    [
        (
            "template <typename T> __global__ void k(T* a) { a[0] = 1; }",
            "k<Unknown>",
            r"k<Unknown> cannot be made here \(identifier \"Unknown\" is undefined\): name the",
        ),
        (
            "template <int N> __global__ void k(float* a) { static_assert(N == 8); a[0] = N; }",
            "k<4>",
            r"static assertion failed.*refuses these sizes or types: choose others with --kernel",
        ),
        (
            "template <class T> __global__ void k(T* a) {}\n"
            "template <class T> __global__ void k(T* a, int n) {}",
            "k<int>",
            r"k<int> cannot be made here \(cannot determine which instance.*: name the instance",
        ),
        (
            '#include "own.h"\n__global__ void k(Own* a) { a[0].x = 1; }',
            "k",
            r"own.h, line 1: .*; if nvcc compiles it, name what its build defines with -D",
        ),
    ],
)
def test_a_refusal_says_what_to_do(source, kernel, words) -> None:
    with pytest.raises(CompileError, match=words):
        compile_ptx(source, kernel=kernel, headers={"own.h": "struct Own { int x; int x; };\n"})


OF_A_LIBRARY = """
#include <nccl.h>
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
__global__ void newer(ncclDevComm comm) {}
#elif HAS_LIBRARY(nccl)
__global__ void another(ncclDevComm comm) {}
#endif
__global__ void copy(float* a, const float* b) { a[threadIdx.x] = b[threadIdx.x]; }
"""


def test_conditions_may_ask_for_macros_of_headers_that_are_not_here() -> None:
    assert compile_ptx(OF_A_LIBRARY).entries == ("_Z4copyPfPKf",)
    defined = OF_A_LIBRARY.replace("NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)", "ON(1)")
    with pytest.raises(CompileError, match="ncclDevComm"):
        compile_ptx(f"#define ON(x) (x)\n{defined}", kernel="newer")


def test_a_kernel_in_a_branch_that_is_not_taken_says_so() -> None:
    source = """
#if LIBRARY >= 2
template <class T> __global__ void k(T* a) { a[threadIdx.x] = 1; }
#endif
void run(float* a) { k<float><<<1, 32>>>(a); }
"""
    with pytest.raises(CompileError, match="k stands in a branch of a conditional that is not"):
        compile_ptx(source, kernel="k<float>")
    assert compile_ptx(source, defines={"LIBRARY": "2"}, kernel="k<float>").entries


def test_the_system_is_linux_where_a_source_asks() -> None:
    source = "#ifdef __linux__\n__global__ void k(int* a) { a[0] = 1; }\n#endif\n"
    assert compile_ptx(source).entries == ("_Z1kPi",)


@pytest.mark.parametrize("header", ["cudaProfiler.h", "cuda/stream_ref", "cuda/memory_resource"])
def test_headers_of_cudas_that_serve_the_host_alone(header) -> None:
    source = f"#include <{header}>\n__global__ void k(int* a) {{ a[0] = 1; }}\n"
    assert compile_ptx(source).entries == ("_Z1kPi",)


def test_a_head_may_be_bounded_by_a_macro_with_arguments() -> None:
    source = """
#define THREADS 256
#define L(x) __launch_bounds__(x)

__global__ void L(THREADS) twice(float* a, int n) { if (threadIdx.x < n) a[threadIdx.x] *= 2; }
"""
    (kernel,) = kernels(source)
    assert (kernel.name, kernel.parameters) == ("twice", ("float* a", "int n"))
    assert ".maxntid 256" in compile_ptx(source).ptx


def test_members_may_be_named_where_they_are_set() -> None:
    source = """
__global__ void k(float4* a) { float4 none = { .x = 1, .y = 2, .z = 3, .w = 4 }; a[0] = none; }
"""
    assert compile_ptx(source).entries == ("_Z1kP6float4",)


def test_friends_of_the_host_go_with_their_word() -> None:
    source = """
#include <iostream>
struct Matrix {
    int width;
    __host__ __device__ int size() const { return width * width; }
    friend std::ostream& operator<<(std::ostream& out, const Matrix& one);
    friend bool same(const Matrix& a, const Matrix& b) { std::cout << a; return true; }
};
__global__ void k(Matrix a, int* b) { b[threadIdx.x] = a.size(); }
"""
    assert compile_ptx(source).entries == ("_Z1k6MatrixPi",)


def test_functions_for_both_sides_may_allocate() -> None:
    """The device's runtime takes it from the heap of `malloc`."""
    source = """
struct Row {
    float* at;
    __host__ __device__ Row(int n) : at(nullptr) { cudaMalloc(&at, n * sizeof(float)); }
    __host__ __device__ ~Row() { cudaFree(at); }
};
__global__ void k(float* a) { Row row(4); row.at[1] = a[threadIdx.x]; a[threadIdx.x] = row.at[1]; }
"""
    ptx = compile_ptx(source).ptx
    assert re.search(r"call\.uni.*\bmalloc", ptx.replace("\n", " "))
    assert re.search(r"call\.uni.*\bfree", ptx.replace("\n", " "))


@pytest.mark.skipif(not include_folders(), reason="CUDA's headers are not installed")
@pytest.mark.slow
def test_iterators_and_tuples_of_thrust_serve_kernels_too() -> None:
    """Beside the headers that only the host can use."""
    source = """#include <thrust/device_vector.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/tuple.h>
__global__ void k(float* a)
{
    thrust::counting_iterator<int> from(3);
    a[threadIdx.x] = from[threadIdx.x] + thrust::get<1>(thrust::make_tuple(1, 2.0f));
}
int main() { thrust::device_vector<float> v(64); k<<<1, 64>>>(thrust::raw_pointer_cast(v.data())); }
"""
    assert compile_ptx(source, kernel="k").entries


def test_an_array_that_another_file_defines_is_asked_for() -> None:
    """Its size is there: of one that is only declared the compiler makes one element."""
    uses = "__global__ void k(double* a) { a[threadIdx.x] = table[threadIdx.x]; }\n"
    with pytest.raises(CompileError) as caught:
        compile_ptx(f"extern __device__ double table[];\n{uses}", kernel="k")
    assert caught.value.diagnostics[0].line == 1
    assert "table is only declared here" in str(caught.value)
    assert "--include" in str(caught.value)
    sized = "__device__ double table[32] = {1};\n"
    both = f"extern __device__ double table[];\n{sized}{uses}"
    assert compile_ptx(both, kernel="k").entries
    idle = "__global__ void k(double* a) { a[threadIdx.x] = 1; }\n"
    assert compile_ptx(f"extern __device__ double table[];\n{idle}", kernel="k").entries


@pytest.mark.skipif(not include_folders(), reason="CUDA's headers are not installed")
def test_thrusts_random_numbers_are_for_kernels() -> None:
    """Their headers leave some functions unmarked, and declare operators of the host's streams."""
    source = """#include <iostream>
#include <thrust/random.h>
__global__ void k(float* a)
{
    thrust::default_random_engine engine(threadIdx.x + 1);
    thrust::uniform_real_distribution<float> between(0, 1);
    a[threadIdx.x] = between(engine);
}
int main() { std::cout << 1; }
"""
    trace = record(file_workload(source, fitted_launch(source)))
    values = trace.outputs["a"].ravel()
    # minstd_rand (C++ standard, [rand.predef]), and what lies between 0 and 1 of its range
    expected = (np.arange(1, values.size + 1) * 48271 % (2**31 - 1) - 1) / (2**31 - 2)
    assert np.allclose(values, expected, atol=1e-6)


def test_images_of_opencv_are_views_with_rows_some_bytes_apart() -> None:
    source = """#include <opencv2/opencv.hpp>
#include <opencv2/core/cuda/common.hpp>
__global__ void turned(cv::cuda::PtrStep<uchar3> from, cv::cuda::PtrStepSz<uchar3> to)
{
    int x = threadIdx.x, y = blockIdx.x;
    if (x < to.cols && y < to.rows) to(y, x) = from(y, to.cols - 1 - x);
}
int main() { cv::Mat image = cv::imread("a.png"); }
"""
    launch = fitted_launch(source)
    assert dict(launch.arguments)["to.step"].isdecimal()
    assert not record(file_workload(source, launch)).findings


@pytest.mark.skipif(not include_folders(), reason="CUDA's headers are not installed")
def test_concepts_and_iterators_of_the_standard_library() -> None:
    source = """#include <concepts>
#include <iterator>
template <typename T>
concept Summable = requires(T a, T b) { { a + b } -> std::convertible_to<T>; };
template <Summable T, typename Iter> __global__ void sums(T* a, Iter from)
{
    using Value = typename std::iterator_traits<Iter>::value_type;
    a[threadIdx.x] += Value(from[threadIdx.x]);
}
"""
    launch = fitted_launch(source)
    assert launch.kernel == "sums<float, float*>"
    assert not record(file_workload(source, launch)).findings


WITH_GROUPS = """#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(int* x) {{ cg::this_grid().sync(); {} }}
"""
LIBCUXX = "cuda3std"  # in the names of its variables and functions
SHUFFLE = "x[0] = cg::coalesced_threads().shfl(x[1], 0);"
ATOMIC = "CUDA::atomic_ref<int> one(x[0]); one.fetch_add(x[1]);"


@pytest.mark.slow
@pytest.mark.skipif(len(include_folders()) < 2, reason="CUDA's libraries are not installed")
@pytest.mark.parametrize(
    ("body", "kind"),
    [("x[0] = cg::coalesced_threads().size();", "as_written"), (SHUFFLE, "as_compiled")],
)
def test_groups_without_libcuxx_have_the_same_code(monkeypatch, body, kind) -> None:
    def code(ptx: str) -> list[str]:
        lines = ptx[ptx.index(".entry k") :].partition(".section")[0].splitlines()
        plain = [re.sub(r"//.*", "", line).strip() for line in lines]
        return [line for line in plain if line and not line.startswith((".loc", ".file"))]

    ours = compile_ptx(WITH_GROUPS.format(body), kind=kind).ptx
    assert LIBCUXX not in ours
    monkeypatch.setattr(compile_slice, "_are_alone", lambda *_: False)
    whole = compile_ptx(WITH_GROUPS.format(f"{body} "), kind=kind).ptx
    assert LIBCUXX in whole
    assert code(ours) == code(whole)


def test_groups_have_libcuxx_where_it_is_named_or_makes_other_code() -> None:
    for body, alone in (("", True), (SHUFFLE, False), (ATOMIC.replace("CUDA", "cuda"), False)):
        assert compile_slice._are_alone(WITH_GROUPS.format(body), is_debug=True) == alone
    assert compile_slice._are_alone(WITH_GROUPS.format(SHUFFLE), is_debug=False)
    assert not compile_slice._are_alone(SHUFFLE, is_debug=False)


@pytest.mark.slow
@pytest.mark.skipif(len(include_folders()) < 2, reason="CUDA's libraries are not installed")
def test_groups_have_libcuxx_where_nothing_compiles_without_it() -> None:
    source = f"#define CUDA cuda\n{WITH_GROUPS.format(ATOMIC)}"
    assert compile_slice._are_alone(source, is_debug=False)
    assert "atom" in compile_ptx(source, kind="as_compiled").ptx


GROUPS = """#include <cooperative_groups.h>
{0}
extern "C" __global__ void alone(int* x) {{ x[threadIdx.x] = 1; }}
extern "C" __global__ void group(int* x) {{ auto block = {1}; x[block.thread_rank()] = 1; }}
"""
THIS = "cooperative_groups::this_thread_block()"


@pytest.mark.slow
@pytest.mark.skipif(not include_folders(), reason="CUDA's headers are not installed")
@pytest.mark.parametrize(
    ("opening", "block"),
    [
        ("namespace cg = cooperative_groups;", "cg::this_thread_block()"),
        ("using namespace cooperative_groups;", "this_thread_block()"),
        ("", THIS),
        (f"#define BLOCK {THIS}", "BLOCK"),
        (f"static __device__ auto mine() {{ return {THIS}; }}", "mine()"),
    ],
)
def test_a_header_is_read_where_the_kernel_says_its_namespace(monkeypatch, opening, block):
    """NVRTC takes a second for this one."""
    left_out = []
    whole = compile_slice._compile_text

    def compiled(request, instance="", **how):
        left_out.append(dict(request.headers).get("cooperative_groups.h") == "")
        return whole(request, instance, **how)

    monkeypatch.setattr(compile_slice, "_compile_text", compiled)
    source = GROUPS.format(opening, block)
    for kernel in ("alone", "group"):
        options = ("--gpu-architecture=compute_90",)
        made = compile_slice.compile_here(Request(source, "k.cu", (), options, "PTX", kernel))
        assert f".entry {kernel}".encode() in made.image
    says_it_everywhere = opening.startswith(("using", "#define"))
    assert left_out == [not says_it_everywhere, False]
