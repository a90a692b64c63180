"""Signatures are read as the compiler reads them.

Numbers and structures lie where the compiler puts them; what cannot be passed is refused.
"""

import re

import numpy as np
import pytest

from core.compiler.compile_ptx_and_cubin import compile_ptx
from core.compiler.kernel_parameters import read_signature
from core.errors import ArgumentError, CompileError
from core.source.kernels_and_launches import kernels
from core.source.template_instances import kernel_names


def shape_of(source, kernel="k", **defines):
    return [
        (p.name, str(p.dtype), p.is_pointer, p.is_const)
        for p in read_signature(source, kernel, defines)
    ]


def test_plain_matrix_kernel():
    source = 'extern "C" __global__ void k(const float* A, float *C, int N) { C[N] = A[N]; }'
    assert shape_of(source) == [
        ("A", "float32", True, True),
        ("C", "float32", True, False),
        ("N", "int32", False, False),
    ]
    assert [p.type for p in read_signature(source, "k")] == ["const float*", "float*", "int"]


@pytest.mark.parametrize(
    ("declaration", "expected"),
    [
        ("float const* __restrict__ a", ("a", "float32", True, True)),
        ("float* const a", ("a", "float32", True, False)),
        ("const double * __restrict a", ("a", "float64", True, True)),
        ("float a[]", ("a", "float32", True, False)),
        ("const int a[16]", ("a", "int32", True, True)),
        ("int (*a)[16]", ("a", "int32", True, False)),
        ("const float (*__restrict__ a)[4][4]", ("a", "float32", True, True)),
        ("unsigned a", ("a", "uint32", False, False)),
        ("unsigned long long int a", ("a", "uint64", False, False)),
        ("long a", ("a", "int64", False, False)),
        ("signed char a", ("a", "int8", False, False)),
        ("unsigned char* a", ("a", "uint8", True, False)),
        ("short int a", ("a", "int16", False, False)),
        ("bool a", ("a", "bool", False, False)),
        ("size_t a", ("a", "uint64", False, False)),
        ("float4* a", ("a", "float32", True, False)),
        ("const uint2* a", ("a", "uint32", True, True)),
        ("void* a", ("a", "None", True, False)),
        ("const float a", ("a", "float32", False, False)),
    ],
)
def test_declarations(declaration, expected):
    assert shape_of(f"__global__ void k({declaration}) {{}}") == [expected]


def test_comments_attributes_and_other_functions_do_not_confuse():
    source = """
    // __global__ void k(int wrong);
    /* __global__ void k(int wrong, too) */
    const char* text = "__global__ /* void k(int w)";
    __device__ float k_helper(float x) { return x; }
    __global__ void other(float* data, int n);
    static __global__ __launch_bounds__(256, (2)) void
    k(float* data /* the, data */, // more, to come
      int n = (1, 2))
    { }
    """
    source = source.replace('"__global__ /* void k(int w)"', '"/* not a comment"')
    assert shape_of(source) == [("data", "float32", True, False), ("n", "int32", False, False)]
    assert kernel_names(source) == ("other", "k")


def test_aliases():
    source = """
    #define real float
    typedef unsigned int index_t;
    using scalar = real;
    namespace n { __global__ void k(const real* a, scalar* b, index_t i, VALUE t) {} }
    """
    assert shape_of(source, "n::k", VALUE="double") == [
        ("a", "float32", True, True),
        ("b", "float32", True, False),
        ("i", "uint32", False, False),
        ("t", "float64", False, False),
    ]


@pytest.mark.parametrize("parameters", ["", "void", "  "])
def test_no_parameters(parameters):
    assert read_signature(f"__global__ void k({parameters}) {{}}", "k") == ()


@pytest.mark.parametrize(
    ("declaration", "sentence"),
    [
        ("float*** a", "pointers to pointers"),
        ("struct point p", "incomplete type"),
        ("Unknown* a", 'identifier "Unknown" is undefined'),
        ("cudaTextureObject_t *a", "row of textures"),
        ("void a", "void type"),
        ("float", "cannot be read"),
    ],
)
def test_what_is_not_understood_is_named(declaration, sentence):
    with pytest.raises((ArgumentError, CompileError), match=sentence):
        read_signature(f"__global__ void k({declaration}) {{}}", "k")


def test_unknown_kernel_lists_those_there_are():
    with pytest.raises(ArgumentError, match="no kernel called x; it has: k, m"):
        read_signature("__global__ void k() {} __global__ void m() {}", "x")
    with pytest.raises(ArgumentError, match="no __global__ function"):
        read_signature("int main() {}", "x")


TEMPLATES = """
const int WIDTH = 2 * 16;
struct Twice { float by; __device__ float operator()(float x) const { return by * x; } };
template <typename T, int TILE = 8> __global__ void plain(const T *a, T b) {}
template <class Op, typename T> __global__ void apply(T *a, int n, Op op) {}
template <unsigned BLOCK_SIZE, bool FULL> __global__ void sized(double *a) {}
namespace deep { template <typename T> __global__ void inside(T **x, T *a) {} }
template <typename F> __global__ void call(F f) {}
template __global__ void plain<short>(const short *, short);
void run(float *f, double *d, int n) {
    const int BS = 64;
    plain<int, WIDTH><<<1, 32>>>(nullptr, 3);
    plain<<<n / 2, dim3(3, 4)>>>(d, 2.0);
    apply<<<1, 32>>>(f, n, Twice{2.0f});
    switch (n) {
        case 1: sized<BS, true><<<1, BS>>>(d); break;
        default: sized<128, false><<<1, 2>>>(d);
    }
    call<<<1, 1>>>([=] __device__ (int i) { f[i] = 0; });
}
"""


def test_instances_of_templates():
    assert kernel_names(TEMPLATES) == (
        "plain<int, 32>", "plain<double>", "plain<short>", "apply<Twice, float>",
        "sized<64, true>", "sized<128, false>", "inside<float>", "call",
    )  # fmt: skip
    assert shape_of(TEMPLATES, "plain<double>")[0] == ("a", "float64", True, True)
    assert shape_of(TEMPLATES, "plain<unsigned char, 4>")[1] == ("b", "uint8", False, False)
    assert [p.name for p in read_signature(TEMPLATES, "apply<Twice, float>")] == ["a", "n", "op.by"]
    with pytest.raises(ArgumentError, match=r"call<Functor>.*struct with operator"):
        read_signature(TEMPLATES, "call")
    for name in ("plain<int, 32>", "plain<double>", "apply<Twice, float>", "sized<64, true>"):
        entries = compile_ptx(TEMPLATES, kernel=name).entries
        assert any(name.partition("<")[0] in entry for entry in entries)


def test_kernels_that_macros_make():
    source = """
    #define KERNEL extern "C" __global__ void
    #define MAKE(NAME, T, OP) \\
        __global__ void NAME##_##T(const T *a, T *b) { b[0] = a[0] OP a[1]; }
    MAKE(sum, float, +) MAKE(product, double, *)
    KERNEL last(int n) {}
    """
    assert kernel_names(source) == ("sum_float", "product_double", "last")
    assert shape_of(source, "product_double")[1] == ("b", "float64", True, False)
    assert len(compile_ptx(source).entries) == 3


def test_kernels_that_macros_with_any_number_of_arguments_make():
    source = """
    #define KERNEL(NAME, ...) __global__ void NAME(__VA_ARGS__)
    #define SWAPPED(b, a) __global__ void a##_##b(const float *a, double *b, int n)
    #define LAST(NAME, rest...) __global__ void NAME(int first, ##rest)
    #define MORE(NAME, ...) __global__ void NAME(int n, ##__VA_ARGS__)
    KERNEL(scale, float *x, const double *by, int n) { x[n] *= by[0]; }
    KERNEL(nothing) {}
    SWAPPED(a, b) { a[n] = b[n]; }
    LAST(last, short *s, char c) {}
    MORE(alone) {} MORE(two, unsigned u) {}
    """
    assert len(compile_ptx(source).entries) == 6
    names = [kernel.name for kernel in kernels(source)]
    assert names == ["scale", "nothing", "b_a", "last", "alone", "two"]
    assert [p[:2] for p in shape_of(source, "scale")] == [
        ("x", "float32"), ("by", "float64"), ("n", "int32"),
    ]  # fmt: skip
    assert shape_of(source, "nothing") == shape_of("__global__ void k() {}")
    assert [p[:2] for p in shape_of(source, "b_a")] == [
        ("b", "float32"), ("a", "float64"), ("n", "int32"),
    ]  # fmt: skip
    assert [p[0] for p in shape_of(source, "last")] == ["first", "s", "c"]
    assert [p[0] for p in shape_of(source, "alone")] == ["n"]
    assert [p[:2] for p in shape_of(source, "two")] == [("n", "int32"), ("u", "uint32")]


def as_compiled(kind, path, parameter):
    """What the compiler asserts of a member that was read from the text."""
    return [
        f"static_assert(__builtin_offsetof({kind}, {path}) == {parameter.offset});",
        f"static_assert(sizeof({kind}) == {parameter.whole_bytes});",
        f"static_assert(alignof({kind}) == {parameter.whole_align});",
    ]


def test_widths_agree_with_the_compiler():
    types = ["float", "double", "char", "unsigned char", "short", "int", "unsigned"]
    types += ["long", "unsigned long", "long long", "bool", "size_t"]
    parameters = ", ".join(f"{t} p{i}" for i, t in enumerate(types))
    checks = "".join(
        f"static_assert(sizeof({t}) == {np.dtype(p.dtype).itemsize});\n"
        f"static_assert((({t})-1 < ({t})0) == {int(p.dtype.kind in 'if')});\n"
        for t, p in zip(
            types, read_signature(f"__global__ void k({parameters}) {{}}", "k"), strict=True
        )
    )
    compile_ptx(f"{checks}__global__ void k({parameters}) {{}}")


STRUCTURES = """
#define ROWS 3
typedef struct { int width, height; unsigned char tag; float *data; } Matrix;
struct Inner { char c; double d; };
struct __align__(16) Outer {
    Outer() = default;
    __host__ __device__ float get(int i) const { return w[i]; }
    static const int many = 4;
    float w[ROWS * 2]; Inner inner; short *p, q; bool on = true;
};
struct Base { char first; };
struct Derived : public Base { float3 v; double2 z; uchar4 c; Inner both[2]; };
template <typename T> struct Span { T *begin; size_t size; };
enum Mode { fast, slow };
struct Empty {};
__constant__ float weights[ROWS][2]; __constant__ int radius; __constant__ Inner setting;
__constant__ int known[2] = {1, 2};
__device__ int untouched[5]; static __device__ double seeds[2 * ROWS];
__global__ void k(Matrix m, Outer o, const Derived d, Span<float> s, Mode mode, Empty e, float3 v)
{ m.data[0] = weights[0][radius] + setting.d + known[0] + untouched[0] + seeds[1]; }
void fill(double *h) { cudaMemcpyToSymbol(seeds, h, sizeof(double) * 6); }
"""


def test_structures_lie_as_the_compiler_lays_them_out():
    found = read_signature(STRUCTURES, "k")
    types = {"m": "Matrix", "o": "Outer", "d": "Derived", "s": "Span<float>", "v": "float3"}
    checks = []
    for p in found:
        if p.whole not in types or p.is_symbol:
            continue
        path = p.name.partition(".")[2].replace("both0", "both[0]").replace("both1", "both[1]")
        checks += as_compiled(types[p.whole], path, p)
    assert len(checks) == 3 * 29
    compile_ptx(STRUCTURES + "\n".join(checks))
    by_name = {p.name: p for p in found}
    assert by_name["o.w"].count == 6
    assert by_name["m.data"].is_pointer
    assert by_name["mode"].dtype == np.int32
    assert by_name["e"].whole_bytes == 1
    symbols = [(p.name, str(p.dtype), p.count, p.whole_bytes) for p in found if p.is_symbol]
    assert symbols == [
        ("weights", "float32", 6, 24),
        ("radius", "int32", 1, 4),
        ("setting.c", "int8", 1, 16),
        ("setting.d", "float64", 1, 16),
        ("seeds", "float64", 6, 48),
    ]


LAYOUTS = """
#define MY_ALIGN(n) __align__(n)
#define WIDE alignas(16)
const int LANES = 4;
enum Mode : short { slow, fast };
#pragma pack(push, 1)
struct Unused { char c; int i; };
#pragma pack(pop)
struct Empty {}; struct Marker { __device__ void run(); static const int n = 3; };
struct Silent { double scale; __align__(4) int rows; int cols; };
struct Far { char c; alignas(8) short s; int i __attribute__((aligned(32))); char last; };
struct WIDE Four { float x; MY_ALIGN(8) char c, d; __align__(2 * LANES) unsigned char e{3}; };
struct Calls {
    char c; float (*apply)(float, int) = nullptr; int i; void (*table[3])(); int (*rows)[5];
    __device__ float method(int n) const; Calls() = default;
    __device__ operator int() const noexcept; short s;
};
struct Typed { char c; alignas(double) char d; enum Mode mode; enum { m = 7 }; const int n = 3; };
struct Tagged : Empty { int x; }; struct Two : public Empty, private Marker { char c; double d; };
struct Full { __device__ Full(int n) : i(n), j(2) {} int i, j; }; struct Longer : Full { char c; };
struct Padded { double d; int i; }; struct After : Padded { int j; };
typedef struct { char c; MY_ALIGN(16) int i; } Nameless;
struct Both { Four four[2]; Tagged tagged; Nameless nameless; Far far; Calls calls; After after; };
__global__ void k(Silent a, Far b, Four c, Calls d, Typed e, Tagged f, Two g, Longer h, After i,
                  Nameless j, Both l) {}
"""


def test_alignments_pointers_to_functions_and_bases_are_laid_out_as_the_compiler_does():
    checks, seen = [], set()
    names = ["Silent", "Far", "Four", "Calls", "Typed", "Tagged"]
    names += ["Two", "Longer", "After", "Nameless", "Both"]
    types = dict(zip("abcdefghijl", names, strict=True))
    for p in read_signature(LAYOUTS, "k"):
        path = p.name.partition(".")[2]
        path = re.sub(r"\b(four|table)(\d)", r"\1[\2]", path)
        checks += as_compiled(types[p.whole], path, p)
        seen.add(p.name)
    assert {"a.rows", "b.s", "c.e", "d.apply", "d.rows", "e.mode", "f.x", "i.j", "l.calls.table2",
            "l.four1.d"} <= seen  # fmt: skip
    assert len(checks) == 3 * 60
    compile_ptx(LAYOUTS + "\n".join(checks))


@pytest.mark.slow
@pytest.mark.parametrize(
    "structure",
    [
        "#pragma pack(push, 1)\nstruct S { char c; int i; };\n#pragma pack(pop)",
        "#pragma pack(2)\nstruct S { char c; int i; };",
        "struct S { char c; int i; } __attribute__((packed));",
        "struct __attribute__((packed)) S { char c; int i; };",
        "struct B { double d; int i; __device__ B() {} }; struct S : B { int j; };",
        "class B { double d; public: int i; }; struct S : B { int j; };",
        "struct A { double d; }; struct B : A { int i; }; struct S : B { int j; };",
        "struct B {}; struct S : B { B b; int i; };",
        "struct S { union { int a; float b; }; short c; };",
        "struct S { struct { int *p; double q; } inner; enum { no, yes } answer; };",
        "struct M { typedef short Type; }; struct S { char c; typename M::Type t; long long l; };",
        "#include <cuda_fp16.h>\nstruct S { char c; __half h; half2 pair; };",
        "#include <cuda_bf16.h>\nstruct S { char c; __nv_bfloat16 b; };",
        "namespace n { struct S { int i, j; }; } struct S { int i; };",
    ],
)
def test_whatever_the_layout_it_is_the_compilers(structure):
    source = f"{structure}\n__global__ void k(S s) {{}}"
    checks = []
    for p in read_signature(source, "k"):
        path = p.name.partition(".")[2]
        if path != "d" or "class" not in structure:  # which is private
            checks += as_compiled("S", path, p)
    assert checks
    compile_ptx(source + "\n" + "\n".join(checks))


def test_a_template_that_is_specialised_has_the_members_of_the_instance():
    source = """
    template <typename T> struct S { T a; }; template <> struct S<float> { int i, j; };
    template <typename T> struct Traits { typedef T *Pointer; };
    template <typename T> __global__ void k(S<T> s, typename Traits<T>::Pointer p, T v) {}
    void run() { k<float><<<1, 1>>>({}, nullptr, 1.0f); }
    """
    found = [(p.name, str(p.dtype), p.is_pointer) for p in read_signature(source, "k<float>")]
    assert found == [
        ("s.i", "int32", False), ("s.j", "int32", False), ("p", "float32", True),
        ("v", "float32", False),
    ]  # fmt: skip


def test_nested_structures_functions_halves_and_symbols_are_read():
    source = """
    __constant__ float a, b; __constant__ int table[2][3];
    struct S { struct { int *p; short q; } in; };
    __global__ void k(S s, clock_t *t, float (*f)(float), half h)
    { s.in.p[0] = a + b + table[1][2]; }
    """
    found = read_signature(f"#include <cuda_fp16.h>\n{source}", "k")
    assert [(p.name, str(p.dtype), p.is_pointer) for p in found] == [
        ("s.in.p", "int32", True), ("s.in.q", "int16", False), ("t", "int64", True),
        ("f", "None", True), ("h", "float16", False), ("a", "float32", False),
        ("b", "float32", False),
        ("table", "int32", False),
    ]  # fmt: skip
    assert [p.count for p in found if p.is_symbol] == [1, 1, 6]


@pytest.mark.parametrize(
    ("structure", "why"),
    [
        ("struct S { float& r; int x; };", "reference"),
        ("struct S { float ***rows; };", "pointers to pointers"),
        ("struct S { int a : 3; };", "bit field"),
        ("struct S { __device__ virtual void f(); int j; };", "virtual"),
    ],
)
def test_what_cannot_be_passed_is_refused_by_name(structure, why):
    with pytest.raises(ArgumentError, match=why):
        read_signature(f"{structure}\n__global__ void k(S s) {{}}", "k")


def test_a_constant_with_a_value_in_braces_keeps_it():
    source = """struct P { int a, b; constexpr P(int x = 1, int y = 2) : a(x), b(y) {} };
    __constant__ P braces{3, 4}; __constant__ P brackets(5, 6); __constant__ constexpr P none{};
    __constant__ int table[2][2]{{1, 2}, {3, 4}}, open, seven{7}; __constant__ int copied{8};
    __constant__ struct { int x; } bare;
    __global__ void k(int *to) {
        to[0] = braces.a + brackets.a + none.a + table[1][1] + open + seven + copied + bare.x;
    }
    void host() { int n = 9; cudaMemcpyToSymbol(copied, &n, 4); }"""
    found = [p.name for p in read_signature(source, "k") if p.is_symbol]
    assert sorted(found) == ["bare.x", "copied", "open"]
