"""Launches that name their instance by what the host's own functions and macros call it."""

from __future__ import annotations

import pytest

from core.compiler.kernel_parameters import constants
from core.guessing.launch_guess import completed
from core.source.kernels_and_launches import host_launches, kernels
from core.source.template_instances import class_constants, instances
from core.user_files.launch_texts import FileLaunch

TRAITS = """
template <int kThreads_, bool kEven_, typename T_> struct Traits {
    static constexpr int kThreads = kThreads_;
    static constexpr int kBytes = sizeof(T_) * kThreads;
    static constexpr bool kEven = kEven_;
    using T = T_;
};
#define BOOL_SWITCH(COND, NAME, ...) \\
    [&] { if (COND) { constexpr static bool NAME = true; return __VA_ARGS__(); } \\
          else { constexpr static bool NAME = false; return __VA_ARGS__(); } }()
template <typename Ktraits>
__global__ __launch_bounds__(Ktraits::kThreads) void scale(typename Ktraits::T* a, int n)
{
    extern __shared__ typename Ktraits::T room[];
    int i = blockIdx.x * Ktraits::kThreads + threadIdx.x;
    if (i < n) { room[threadIdx.x] = a[i]; a[i] = 2 * room[threadIdx.x]; }
}
"""
RUN = """
template <int kThreads, typename input_t> void run(input_t* a, int n)
{
    BOOL_SWITCH(n % 4 == 0, kEven, [&] {
        using Ktraits = Traits<kThreads, kEven, input_t>;
        constexpr int bytes = Ktraits::kBytes + 2 * sizeof(typename Ktraits::T);
        auto kernel = &scale<Ktraits>;
        kernel<<<(n + Ktraits::kThreads - 1) / Ktraits::kThreads, Ktraits::kThreads, bytes>>>(a, n);
    });
}
template <typename Ktraits> void other() { using Ktraits = int; }
"""


def instance(source: str, name: str = "scale") -> str:
    (kernel,) = (k for k in kernels(source) if k.name == name)
    return instances(source, kernel)[0]


@pytest.mark.parametrize(
    ("more", "made"),
    [
        ("", "Traits<128, false, float>"),
        ("void all(half* a, int n) { run<96, half>(a, n); }", "Traits<96, false, half>"),
        ("template void run<64, double>(double* a, int n);", "Traits<64, false, double>"),
        (
            "template <typename T> void all(T* a) { run<32, T>(a, 9); }\n"
            "template void all<int>(int* a);",
            "Traits<32, false, int>",
        ),
        (
            "#define REGISTER(N, TYPE) void run_##N##_##TYPE(TYPE* a) { run<N, TYPE>(a, 4); }\n"
            "REGISTER(128, double)\nREGISTER(256, float)",
            "Traits<128, false, double>",
        ),
        (
            "template <> struct Op<float> { };\nvoid all(float* a) { run<32, float>(a, 9); }",
            "Traits<32, false, float>",
        ),
    ],
)
def test_the_instance_is_named_through_aliases_switches_and_callers(more, made):
    assert instance(f"{TRAITS}{RUN}{more}") == f"scale<{made}>"


def test_a_switch_of_types_is_its_first():
    source = """#define DISPATCH(KIND, NAME, ...) \\
    if (KIND == 1) { using NAME = double; __VA_ARGS__(); } \\
    else { using NAME = float; __VA_ARGS__(); }
    template <typename T> __global__ void fill(T* a) { a[threadIdx.x] = 1; }
    void run(void* a, int kind) { DISPATCH(kind, real, [&] { fill<real><<<1, 32>>>((real*)a); }); }
    """
    assert instance(source, "fill") == "fill<double>"


def test_an_alias_may_have_the_name_of_its_template():
    source = (
        TRAITS
        + """void run(float* a, int n) {
        using Traits = Traits<32, true, float>;
        scale<Traits><<<n / 32, 32>>>(a, n);
    }"""
    )
    assert instance(source) == "scale<Traits<32, true, float>>"


def test_the_compiler_tells_the_constants_of_classes():
    source = TRAITS + RUN
    (launch,) = host_launches(source)
    meant = class_constants(source, launch, "scale<Traits<96, true, double>>")
    assert meant["Ktraits::kThreads"] == "Traits<96, true, double>::kThreads"
    found = constants([meant["Ktraits::kThreads"], meant["bytes"]], source)
    assert [*found.values()] == [96, 96 * 8 + 2 * 8]


def test_negative_constants_and_those_that_do_not_compile():
    source = "struct A { static constexpr int low = -5; };"
    asked = ["A::low", "A::none", "sizeof(A) + 1"]
    assert constants(asked, source) == {"A::low": -5, "sizeof(A) + 1": 2}


def test_block_and_shared_memory_are_the_classs():
    source = f"{TRAITS}{RUN}int main() {{ float* a; int n = 512; run<96, float>(a, n); }}"
    launch = completed(source, FileLaunch("k.cu", "", "", "", "")).launch
    assert launch.kernel == "scale<Traits<96, false, float>>"
    assert launch.block == "96"
    assert int(launch.shared) == 96 * 4 + 2 * 4


@pytest.mark.parametrize(
    ("names", "is_strided"),
    [
        (("x_batch_stride", "x_row_stride"), True),
        (("in_stride", "out_stride"), False),
        (("lda", "ldb"), False),
    ],
)
def test_strides_by_dimension_leave_an_array_any_layout(names, is_strided):
    one, other = names
    source = f"""__global__ void walk(float* x, int n, int {one}, int {other}) {{
        for (int i = 0; i < n; i++) x[blockIdx.x * {one} + i * {other} + threadIdx.x] = i;
    }}"""
    guess = completed(source, FileLaunch("k.cu", "", "", "", ""))
    assert guess.is_strided == is_strided
    assert bool(guess.tied) != is_strided


def test_what_a_kernel_calls_is_a_class_of_the_source():
    source = """struct Add { __device__ float operator()(float x) const { return x + 1; } };
    struct L2Distance { __device__ float operator()(float x) const { return x * x; } };
    template <typename T, typename U> __global__ void apply(T* a, U callable) {
        a[threadIdx.x] = callable(a[threadIdx.x]);
    }
    template <typename T, typename DistanceOp> __global__ void far(T* a, DistanceOp op) {
        a[threadIdx.x] = op(a[threadIdx.x]);
    }
    """
    assert instance(source, "apply") == "apply<float, Add>"
    assert instance(source, "far") == "far<float, L2Distance>"


def test_an_enumerator_elsewhere_is_not_the_classs_constant():
    source = f"""{TRAITS}{RUN}
    enum {{ kThreads = 4 * WARPS, kBytes = 7 }};
    int main() {{ float* a; int n = 512; run<96, float>(a, n); }}
    """
    assert completed(source, FileLaunch("k.cu", "", "", "", "")).launch.block == "96"
