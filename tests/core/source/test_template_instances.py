"""Kernels, launches and the instances that these ask for, as the parser finds them."""

from __future__ import annotations

import pytest

from core.source.kernels_and_launches import host_launches, kernels
from core.source.template_instances import instances

SCALE = "template <typename T, int N> __global__ void scale(T* v, T by) { v[threadIdx.x] *= by; }\n"


def asked_for(source, name="scale"):
    kernel = next(k for k in kernels(source) if k.name == name)
    return instances(source, kernel)


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ('__global__ void k(int* v); const char* s = "__global__ void q(int*) {}";', ["k"]),
        ("namespace a::b { namespace { __global__ void k() {} } }", ["a::b::k"]),
        ("struct S { template <class T> friend __global__ void k(T*); };", ["k"]),
        (
            "template <class T> __global__ void k(T*) {}"
            "template <> __global__ void k<int>(int*) {}",
            ["k"],
        ),
        ("#define OPEN namespace o {\nOPEN template <int N> __global__ void k() {} }", ["o::k"]),
        ("void broken( { ) __global__ void __launch_bounds__(64, 2) k(int n) { n; }", ["k"]),
        ("__global__ void BOUNDS_1(256)\nk(float* x, int n) { x[0] = n; }", ["k"]),
        ("int bad( ((\n__global__ void k(float*) {}\n__global__ void q(float*) {}", ["k", "q"]),
        ("__global__ void (*pointer)(int); __global__ void k();", ["k"]),
        ("__global__ auto k(int n) -> void {} int main() { if (", ["k"]),
    ],
)
def test_kernels_are_found_whatever_is_around_them(source, names):
    assert [k.qualified for k in kernels(source)] == names


def test_a_parameter_of_a_concept_is_a_type():
    concept = "template <class T> concept Number = true;\n"
    source = concept + "template <Number T, auto N> __global__ void k(T*) {}"
    first, second = kernels(source)[0].template
    assert (first.kind, second.kind, second.type) == ("type", "value", "auto")


def test_a_concept_may_be_in_a_header():
    source = "template <Number T> __global__ void k(T*) {}"
    first = kernels(source, "template <class T>\nconcept Number = true;")[0].template[0]
    assert (first.kind, first.type) == ("type", "")


@pytest.mark.parametrize(("wide", "instance"), [(64, "k<64>"), (48, "k<16>")])
def test_a_number_that_a_macro_chooses_is_one_of_those_that_it_sets(wide, instance):
    switch = (
        "#define WITH_ROW(n, ...) [&] { if (n <= 16) { constexpr int kRow = 16; __VA_ARGS__(); } "
        f"else {{ constexpr static int kRow = {wide}; __VA_ARGS__(); }} }}()\n"
    )
    launch = "void run(float* x, int n) { WITH_ROW(n, [&] { k<kRow><<<1, 32>>>(x); }); }"
    source = f"{switch}template <int N> __global__ void k(float* x) {{ x[N] = 0; }}\n{launch}"
    assert asked_for(source, "k") == (instance,)


@pytest.mark.parametrize(
    ("concept", "instance"),
    [
        ("std::floating_point", "k<true, float>"),
        ("std::unsigned_integral", "k<true, int>"),
        ("std::size_t", "k<true, 4>"),
    ],
)
def test_concepts_of_the_standard_library_are_told_from_types_of_values(concept, instance):
    source = f"template <bool S, {concept} T> __global__ void k(float*) {{}}"
    assert asked_for(source, "k") == (instance,)


def test_a_launch_is_no_text_in_quotes():
    source = 'void f() { puts("k<<<1, 2>>>(v)"); k<<<3, 4>>>(v); } '
    assert [launch.configuration for launch in host_launches(source)] == [("3", "4")]


def test_a_launch_with_mistakes_keeps_its_parts():
    (launch,) = host_launches("void f() { k<<<dim3(3 4), g(x)>>>(a b, c(1)); k<<<1, ")
    assert launch.configuration == ("dim3(3 4)", "g(x)")
    assert launch.arguments == ("a b", "c(1)")


def test_sizes_in_braces():
    launch, other = host_launches(
        "void f() { k<double><<<{1, 2}, {3, 4}>>>(0); k<<<{5}, 6>>>(1); }"
    )
    assert (launch.name, launch.template) == ("k", ("double",))
    assert launch.configuration == ("{1, 2}", "{3, 4}")
    assert other.configuration == ("{5}", "6")


def test_a_launch_in_a_macro_that_nothing_uses():
    source = (
        "#define RUN(n) do { k<<<n, 128>>>(v, n); } while (0)\n__global__ void k(int* v, int n) {}"
    )
    (launch,) = host_launches(source)
    assert (launch.name, launch.configuration) == ("k", ("n", "128"))
    short = "#define R(n) k<<<n, 1>>>(v)\n__global__ void k(int* v) {}"
    assert short[host_launches(short)[0].position :].startswith("<<<")


def test_a_wrapper_passes_on_all_that_is_left():
    source = """
template <typename K, typename... A> void run(K kernel, dim3 grid, A... args) {
    kernel<<<grid, 64>>>(args...);
}
void f(float* v) { run(scale<float, 4>, dim3(8), v, 2.0f); }
"""
    launch = host_launches(source)[-1]
    assert (launch.name, launch.template) == ("scale", ("float", "4"))
    assert (launch.configuration, launch.arguments) == (("dim3(8)", "64"), ("v", "2.0f"))


def test_an_argument_with_commas_in_its_template_is_one():
    source = "void f() { k<<<1, 2>>>(a.packed_accessor32<float, 2>(), n); }"
    assert host_launches(source)[0].arguments == ("a.packed_accessor32<float, 2>()", "n")


@pytest.mark.parametrize(
    ("host", "found"),
    [
        # the caller's arguments tell the type, through two functions
        (
            "template <class T> void f(T* v, T by) { scale<T, 3><<<1, 32>>>(v, by); }"
            "template <class U> void g(U* w) { f(w, U(1)); }"
            "int main() { double* d; g(d); }",
            ("scale<double, 3>",),
        ),
        # the first use of a macro tells what the function in its meaning gets
        (
            "template <class T, int N> void f(T* v) { scale<T, N><<<1, 32>>>(v, T(2)); }\n"
            "#define CASE(T, n) case n: f<T, 2 * n>(v); break;\n"
            "void g(int n, short* v) { switch (n) { CASE(short, 5) CASE(int, 7) } }",
            ("scale<short, 10>",),
        ),
        # a switch of types and flags
        (
            "#define SWITCH(IS, NAME, ...) "
            "[&] { if (IS) { constexpr int NAME = 6; __VA_ARGS__(); } }()\n"
            "void g(float* v, bool b) {"
            "  SWITCH(b, kN, [&] { scale<float, kN><<<1, 2>>>(v, 1.f); });"
            "}",
            ("scale<float, 6>",),
        ),
        # a variable of the last kind before the launch
        (
            "void g(void* p) {"
            "  { auto v = reinterpret_cast<int*>(p); scale<int, 1><<<1, 2>>>(v, 1); }"
            "  const int n = 2 * (4 + 1); using E = unsigned char; auto q = static_cast<E*>(p);"
            "  auto run = n > 3 ? scale<E, n> : scale<E, 1>; run<<<1, 2>>>(q, 1); }",
            ("scale<int, 1>", "scale<unsigned char, 10>"),
        ),
        # a class is used with what its first use says
        (
            "template <class T> struct Box { void go(T* v) { scale<T, 9><<<1, 2>>>(v, T(1)); } };"
            "int main() { Box<long> box; }",
            ("scale<long, 9>",),
        ),
        ("template __global__ void scale<half, 8>(half*, half);", ("scale<half, 8>",)),
        ("", ("scale<float, 4>",)),
    ],
)
def test_what_a_launch_leaves_to_others_is_told_by_these(host, found):
    assert asked_for(SCALE + host) == found


UNNAMED = (
    "template <typename T, bool = true, int = 0, class = void> __global__ void k(T* x, int n) {}"
)
CONDITION = (
    "template <typename T, std::enable_if_t<std::is_floating_point<T>::value, int> = 0,"
    " typename = std::enable_if_t<true>> __global__ void k(T* x, int n) {}"
)


@pytest.mark.parametrize("head", [UNNAMED, CONDITION])
def test_parameters_without_names_keep_their_defaults(head):
    host = "int main() { double* x; int n = 4; k<<<1, 32>>>(x, n); }"
    assert asked_for(head + host, "k") == ("k<double>",)


def test_a_template_behind_a_mistake_gives_no_name_of_its_own():
    kernel = "template <class T> __global__ void k(T* x) {}\n"
    host = (
        "template <class T> void run(T* x) { k<T><<<1, 1>>>(x); }\nint main() { run<double>(0); }"
    )
    for mistake in ("THING\n", "int bad( {{{ ((\n"):
        (name,) = asked_for(f"{mistake}{kernel}{mistake}{host}", "k")
        assert name in ("k<double>", "k<float>")


def test_long_and_deep_arguments_end():
    kernel = "template <class T> __global__ void k(T x) {}\n"
    for argument in ("a" + " + 1" * 1500, "*" * 1500 + "a"):
        source = f"{kernel}void f(float a) {{ auto z = {argument}; k<<<1, 1>>>({argument}); }}"
        assert asked_for(source, "k") == ("k<float>",)
    types = "".join(f"using A{i} = P<{f'A{i + 1}, ' * 60}int>;" for i in range(60))
    assert asked_for(f"{kernel}void f() {{ {types} k<A0><<<1, 1>>>(0); }}", "k") == ("k<float>",)


def test_an_enumeration_stays_one():
    source = """
enum Mode { SUM, MEAN };
template <Mode M> __global__ void pool(float* v) { v[threadIdx.x] = M; }
void f(float* v) { pool<MEAN><<<1, 32>>>(v); }
template <Mode M> __global__ void other(float* v) { v[threadIdx.x] = M; }
"""
    assert asked_for(source, "pool") == ("pool<MEAN>",)
    assert asked_for(source, "other") == ("other<(Mode)0>",)


def test_what_cuda_declares_is_no_functor_and_no_member():
    functor = """
        struct TileLaunch { __device__ float operator()(float x) const { return 2 * x; } };
        template <typename Launch>
        __global__ void k(float* a, Launch launch) { *a = launch(*a); }
    """
    assert asked_for(functor, "k") == ("k<TileLaunch>",)
    template = functor.replace("struct TileLaunch", "template <class T> struct TileLaunch")
    assert asked_for(template, "k") == ("k<TileLaunch<float>>",)
    member = """
        template <typename T> __global__ void k(T by, float* a) { *a = by; }
        struct Args { float numAttrs; };
        void run(Args args, float* a) { k<<<1, 1>>>(args.numAttrs, a); }
    """
    assert asked_for(member, "k") == ("k<float>",)


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        ("cudaLaunchKernelEx(&config, k<3>, x, 7)", ("x", "7")),
        ("CHECK(cudaLaunchKernelExC(&config, (void *)k<3>, list))", ("x", "n")),
        ("auto run = k<3>; cudaLaunchKernelEx(&config, run, x, 7)", ("x", "7")),
    ],
)
def test_a_launch_by_a_configuration(call, arguments):
    (found,) = host_launches(
        "template <int N> __global__ void k(float* x, int n) {}"
        f"void run(float* x, int n) {{ void *list[] = {{&x, (void *)&n}}; {call}; }}"
    )
    assert (found.name, found.template, found.arguments) == ("k", ("3",), arguments)
    assert found.configuration == ("config.gridDim", "config.blockDim", "config.dynamicSmemBytes")
    assert found.attributes == "config.attrs"
