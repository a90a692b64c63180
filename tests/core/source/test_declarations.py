"""What a file declares at namespace level, as the parser sees it, macros and mistakes included."""

import random

import pytest

from core.compiler.compile_ptx_and_cubin import compile_ptx
from core.recording.record_launch import record
from core.source.declarations import macros_of, syntax
from core.source.kernel_slice import Program, without
from core.source.preprocessor import includes, without_include
from core.user_files.launch_texts import FileLaunch, file_workload

DECLARED = [
    ("__global__ void plain(int n) { }", "function", ("plain",), "global"),
    ("template <int B = 32> __global__ void t(int n = (1, 2)) { }", "function", ("t",), "global"),
    ('extern "C" __global__ void c(float *a) { }', "function", ("c",), "global"),
    ("KERNEL made(int n) { }", "function", ("made",), "global"),
    ("BOTH float both(float x) { return x; }", "function", ("both",), "device"),
    ("static __device__ __forceinline__ int d(int x) { return x; }", "function", ("d",), "device"),
    ("constexpr int square(int x) { return x * x; }", "function", ("square",), "any"),
    ("float host(float x) { return x; }", "function", ("host",), "host"),
    ("int ahead(int), *beside;", "function", ("ahead", "beside"), "host"),
    (
        "__device__ float3 operator+(float3 a, float3 b) { return a; }",
        "function",
        ("operator",),
        "device",
    ),
    ("__constant__ float w[3], v;", "variable", ("w", "v"), "device"),
    ("extern __shared__ float room[];", "variable", ("room",), "device"),
    ("static const int SIZE = 4, MORE = SIZE * 2;", "variable", ("SIZE", "MORE"), "any"),
    ("extern cudaDeviceProp prop;", "variable", ("prop",), "host"),
    ("struct __align__(8) MD { float m, d; };", "class", ("MD",), "any"),
    ("enum class Side : char { LEFT, RIGHT = 5 };", "class", ("Side", "LEFT", "RIGHT"), "any"),
    ("template <> struct Tr<float> { typedef float Type; };", "class", ("Tr",), "any"),
    ("typedef struct { int a; } Pair, *PairPointer;", "alias", ("Pair", "PairPointer"), "any"),
    ("typedef float (*Function)(float);", "alias", ("Function",), "any"),
    ("template <class T> using Row = Tr<T>;", "alias", ("Row",), "any"),
    ("namespace cg = cooperative_groups;", "alias", ("cg",), "any"),
    ("using namespace std;", "using", ("std",), "any"),
    ("MAKE(made_twice, *)", "macro", (), "any"),
    ("MAKE(made_again, +);", "macro", (), "any"),
]
MACROS = """#define KERNEL __global__ void
#define BOTH __host__ __device__ inline
#define MAKE(NAME, OP) __global__ void NAME(float *a) { a[0] = a[0] OP 2; }
"""


@pytest.mark.parametrize("seed", range(8))
def test_declarations_are_told_apart_in_any_order(seed):
    chosen = DECLARED[:]
    random.Random(seed).shuffle(chosen)
    source = MACROS + "\n".join(text for text, *_ in chosen) + "\n"
    found = [(item.kind, item.names, item.space) for item in syntax(source).items]
    assert found == [tuple(rest) for _, *rest in chosen]
    for item, (text, *_) in zip(syntax(source).items, chosen, strict=True):
        assert source[item.start : item.end] == text


def test_namespaces_conditions_and_c_linkage_are_gone_through():
    source = """#ifdef __cplusplus
extern "C" {
#endif
namespace a { namespace b::c {
#if WIDE
__device__ int f(int x) { return x; }
#else
__device__ long f(long x) { return x; }
#endif
} }
#if 0
__global__ void gone(int n { }
#else
__global__ void there() { char c = '{', *s = "}"; /* } */ }
#endif
#ifdef __cplusplus
}
#endif
"""
    found = [(item.names, item.scope) for item in syntax(source).items]
    assert found == [(("f",), ("a", "b", "c")), (("f",), ("a", "b", "c")), (("there",), ())]


def test_a_mistake_hides_no_other_declaration():
    source = "int main() { if (x { }\n} ]\n__global__ void k(int n) { }\nstruct S { int a; };\n"
    assert {"k", "S"} <= {name for item in syntax(source).items for name in item.names}


def test_members_of_the_host_are_parts_of_their_class():
    source = """struct S {
    S() = default; S(int n) : n(n) { } ~S() { free(p); } void declared(int x) const;
    template <class T> void show(T t) { } __device__ int get() const { return n; }
    constexpr int twice() const { return 2 * n; } int n; float (*function)(int); int *p;
};
"""
    (item,) = syntax(source).items
    assert [part.name for part in item.host_parts] == ["S", "~S", "declared", "show"]
    left = without(source, [(part.start, part.end) for part in item.host_parts])
    assert len(left) == len(source)
    assert "function" in left
    assert "twice" in left
    assert "free" not in left
    assert "~" not in left


STATEMENTS = """#define ONE s = v - s;
#define FOUR ONE ONE ONE ONE
template <class T>
__global__ void add(T *data, int n, T v)
{
    T s = data[threadIdx.x];
    for (int j = 0; j < n; ++j) {
        FOUR FOUR
    }
    data[threadIdx.x] = s;
}
int main() { add<float><<<1, 32>>>(0, 4, 1.0f); }
"""


def test_a_macro_of_statements_needs_no_semicolon():
    items = syntax(STATEMENTS, macros_of((STATEMENTS,))).items
    assert [item.names for item in items] == [("add",), ("main",)]
    assert compile_ptx(STATEMENTS, kernel="add<float>").entries


def test_a_specifier_may_be_called_as_cudas_own_are():
    source = """#define __both__ __host__ __device__
#ifndef __CUDACC__
#define __device__
#endif
#include <string>
inline __both__ float twice(float x) { return 2 * x; }
std::string name() { return "k"; }
__global__ void k(float *a) { a[threadIdx.x] = twice(3); }
"""
    specifiers = dict(macros_of((source,)).specifiers)
    assert "__both__" in specifiers
    assert "__device__" not in specifiers
    assert compile_ptx(source).entries


WITHIN = """namespace one { using index_t = long long;
template <class T> struct Sum { __device__ T operator()(T a, T b) { return a + b; } };
namespace two {
template <class I, class Op> __global__ void k(I *x, Op op) { x[threadIdx.x] = op(1, 2); }
} }
"""


def test_template_arguments_are_named_as_the_kernel_sees_them():
    program = Program("", {"": WITHIN})
    assert program.qualified("k<index_t, Sum<index_t>>") == (
        "one::two::k<one::index_t, one::Sum<one::index_t>>"
    )
    assert program.qualified("k<int, ::one::Sum<int>>") == "one::two::k<int, ::one::Sum<int>>"
    assert compile_ptx(WITHIN, kernel="k<index_t, Sum<index_t>>").entries


COMPLEX = """#include <c10/util/complex.h>
using C = c10::complex<float>;
__global__ void k(const float *a, float *out)
{
    C z(a[0], a[1]), w = C(a[2], a[3]);
    z += w * z - z / w;
    out[0] = std::conj(z).real(); out[1] = std::conj(z).imag();
}
"""


def test_pytorchs_complex_numbers():
    launch = FileLaunch(
        "k.cu", "k", "1", "1", arguments=(("a", "float32[4]"), ("out", "zeros:float32[2]"))
    )
    trace = record(file_workload(COMPLEX, launch, 3))
    a = next(array.data for array in trace.workload.launch.arrays if array.name == "a")
    z, w = complex(*a[:2]), complex(*a[2:])
    expected = (z + w * z - z / w).conjugate()
    assert abs(complex(*trace.outputs["out"]) - expected) <= 1e-5 * abs(expected)


def test_what_a_kernel_needs_is_followed_through_names_macros_and_files():
    header = """#pragma once
#include <string>
struct Inner { int x; }; struct Other { std::string s; };
typedef Inner Alias;
template <class T> struct Traits; template <> struct Traits<float> { typedef Alias Type; };
#define VALUE limit(3)
__device__ int limit(int x) { return x + OFFSET; } __device__ int unused() { return 1; }
const int OFFSET = 2; const int ALSO = 4;
__device__ Inner operator+(Inner a, Inner b) { return a; }
__device__ Other operator-(Other a, Other b) { return a; }
"""
    source = """#include "h.h"
__device__ void helper(Traits<float>::Type *t) { t->x = VALUE; }
__global__ void other(Other *o) { unused(); }
__global__ void k(Traits<float>::Type *t) { helper(t); }
int main() { k<<<1, 1>>>(0); }
"""
    program = Program("", {"": source, "h.h": header})
    kept = program.needed(program.roots("k"))
    names = {name for part in kept for name in part.item.names}
    assert names == {"k", "helper", "Traits", "Alias", "Inner", "limit", "OFFSET", "operator"}
    texts = program.texts(kept)
    for name, text in (("", source), ("h.h", header)):
        assert [len(line) for line in texts[name].split("\n")] == [
            len(line) for line in text.split("\n")
        ]
    assert "operator+" in texts["h.h"]
    assert "operator-" not in texts["h.h"]
    assert "#define VALUE" in texts["h.h"]
    assert "main" not in texts[""]


def test_includes_in_comments_are_none():
    source = '#include <a.h>\n// #include "b.h"\n/*\n#include "c.h"\n*/\n# include "d/e.h" // x\n'
    assert includes(source) == (("a.h", False), ("d/e.h", True))
    assert includes(without_include(source, "d/e.h")) == (("a.h", False),)


def test_a_body_belongs_to_the_head_that_a_directive_parts_from_it():
    source = """
template <int N, typename T>
template <typename U>
CONST Matrix<N, T>::Matrix
(
    U const& a, U const& b
)
#if LISTS
    : value{T(a), T(b)}
#endif
{
#if !LISTS
    value[0] = T(a);
#endif
}
int after(int n) { return n; }
"""
    first, second = syntax(f"#define CONST constexpr\n{source}").items[-2:]
    assert (first.kind, first.is_body, first.is_method) == ("function", True, True)
    assert first.end < second.start
    assert second.names == ("after",)


def test_a_macro_that_gives_an_attribute_is_one_declaration_with_what_it_wraps():
    source = """
#define DEPRECATED(func, hint) func __attribute__((deprecated(hint)))
DEPRECATED(int old(
    int n,
    float* a), "use newer instead");
DEPRECATED(int older(int n), "use old instead");
int newer(int n);
"""
    items = syntax(source).items
    assert [source[i.start : i.end].count("DEPRECATED") for i in items[-3:]] == [1, 1, 0]
    assert items[-1].names == ("newer",)
    assert not syntax(source).tree.root_node.has_error
