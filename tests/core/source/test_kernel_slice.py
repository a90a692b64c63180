"""What of a program a kernel needs: names that only look alike bring nothing in."""

from __future__ import annotations

import pytest

from core.compiler.compile_ptx_and_cubin import compile_ptx
from core.source.declarations import syntax
from core.source.kernel_slice import Program


def kept(source: str, kernel: str = "k") -> set[str]:
    """The names of what `kernel` needs; `macro` for the use of one."""
    program = Program("", {"": source})
    parts = program.needed(program.roots(kernel))
    return {name for part in parts for name in part.item.names or ("macro",)}


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("int value = 4; a[0] = value;", set()),
        ("for (int value = 0; value < 4; value++) a[value] = 1;", set()),
        ("auto own = [](float value) { return value; }; a[0] = own(1);", set()),
        ("Pair p{1, 2}; a[0] = p.value;", {"Pair"}),
        ("Pair* p = nullptr; a[0] = p->value;", {"Pair"}),
        ("a[0] = value();", {"value"}),
        ("int value = lib::value(); a[0] = value;", {"value"}),
        ("using Scan = Scan<4>; a[0] = Scan::n;", {"Scan"}),
    ],
)
def test_local_variables_and_members_are_not_what_they_are_called_like(body, names):
    source = f"""struct Pair {{ int x, value; }};
    template <int N> struct Scan {{ static const int n = N; }};
    namespace lib {{ __device__ int value() {{ return 1; }} }}
    using namespace lib;
    __global__ void k(float* a) {{ {body} }}
    """
    assert kept(source) - {"k", "lib"} == names


def test_a_default_argument_is_used_and_not_declared():
    source = """struct Base { int n; };
    template <typename T, typename B = Base> struct Traits : B { T x; };
    template <int N = sizeof(Base)> __global__ void k(Traits<float> t) { }
    """
    assert kept(source) == {"k", "Base", "Traits"}


def test_methods_defined_outside_their_class_come_with_their_uses():
    source = """struct Tile { __device__ float at(int i) const; float x[4]; };
    __device__ float Tile::at(int i) const { return x[i]; }
    __device__ float first(float at) { return at; }
    __global__ void k(Tile t, float* a) { a[0] = t.at(2); }
    """
    assert kept(source) == {"k", "Tile", "at"}
    assert "ld.param" in compile_ptx(source, kernel="k").ptx


MACROS = """
#define FOLD(name, op) struct name##_fold { __device__ int operator()(int a) { return op a; } };
#define TRAIT(T, n) template <> struct Size<T> { static const int bytes = n; };
#define BINARY(op) __device__ Pair operator op(Pair a, Pair b) { return a; }
struct Pair { int x; };
struct Other { int x; };
template <typename T> struct Size;
FOLD(minus, -)
FOLD(plus, +)
TRAIT(int, 4)
BINARY(+)
"""


@pytest.mark.parametrize(
    ("body", "uses"),
    [
        ("", 0),
        ("minus_fold f; f(1);", 1),
        ("int n = Size<int>::bytes;", 1),
        ("Pair p, q; p + q;", 1),
    ],
)
def test_of_what_macros_make_those_are_needed_whose_names_are_used(body, uses):
    program = Program("", {"": f"{MACROS} __global__ void k() {{ {body} }}"})
    parts = program.needed(program.roots("k"))
    assert sum(part.item.kind == "macro" for part in parts) == uses
    compile_ptx(program.files[""].source, kernel="k")


def test_what_a_hidden_kernel_says_of_its_loops_is_hidden_too():
    source = """__global__ void other(float* x)
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float t = x[i];
#pragma unroll 2
        for (int k = 0; k < 4; k++)
            t += 1;
        x[i] = t;
    }
}
__global__ void k(float* x) { *x = 1; }
"""
    assert compile_ptx(source, kernel="k").diagnostics == ()


@pytest.mark.parametrize(
    "head",
    [
        "#ifdef __CUDA_ARCH__\nINLINE\n#endif\n{} float beside(float x)",
        "template <typename T> GLOBAL\n#ifdef __CUDACC__\n"
        "__launch_bounds__(T::n)\n#endif\nvoid beside(T x)",
        "template <typename T>\n__global__ __launch_bounds__(64)\n"
        "#ifdef NEW\n#endif\nvoid beside(T x)",
    ],
)
def test_a_head_that_directives_part_goes_as_a_whole(head):
    source = f"""#define INLINE __forceinline__
    #define BOTH __host__ __device__
    #define GLOBAL __global__ static
    namespace own {{
    {head.replace("{}", "BOTH")} {{ return; }}
    namespace inner {{ struct S {{ int x; }}; }}
    }}
    __global__ void k(own::inner::S* s) {{ s->x = 1; }}
    """
    assert compile_ptx(source, kernel="k").entries == ("_Z1kPN3own5inner1SE",)


def test_a_kernel_whose_head_directives_part_is_one():
    source = """template <int N>
__global__ __launch_bounds__(64)
#ifdef NEWER
__cluster_dims__(4)
#endif
void k(float* a) { a[threadIdx.x] = N; }
"""
    (part,) = Program("", {"": source}).roots("k<4>")
    assert part.item.space == "global"
    assert part.item.start == 0
    assert len(compile_ptx(source, kernel="k<4>").entries) == 1


def test_an_alignment_by_a_macro_of_a_macro_hides_no_class():
    source = """#define ALIGN_AS(n) __align__(n)
    #define ALIGN ALIGN_AS(16)
    template <typename T> struct ALIGN Row { T x[4]; };
    using Rows = Row<float>;
    __global__ void k(Rows* rows) { rows[0].x[1] = 1; }
    """
    assert kept(source) == {"k", "Rows", "Row"}
    compile_ptx(source, kernel="k")


def test_a_linkage_in_front_stays():
    source = """#define API extern
    #ifdef __cplusplus
    extern "C" {
    #endif
    API void host(int x);
    #ifdef __cplusplus
    }
    #endif
    __global__ void k(float* a) { a[0] = 1; }
    """
    assert compile_ptx(source, kernel="k").entries == ("_Z1kPf",)


def test_a_macro_for_a_string_is_an_expression_to_the_parser():
    """Other macros without a word of code are specifiers, and blank: `out << "[" << ;`."""
    source = """#include <iostream>
    #define RED "\\033[31m"
    #define API
    class Logger { static void log(int n) { std::cout << RED << "[" << RED; } };
    API void host(int n);
    __global__ void k(float* a) { a[0] = 1; }
    """
    assert not syntax(source).tree.root_node.has_error
    assert kept(source) == {"k"}
    assert compile_ptx(source).entries


def test_a_declaration_in_a_macro_that_gives_its_type_an_attribute_is_one():
    """As cJSON.h has them: `CJSON_PUBLIC(cJSON *) cJSON_Parse(const char *text);`."""
    source = """typedef struct JSON { int kind; } JSON;
    #ifdef WINDOWS
    #define PUBLIC(type) __declspec(dllexport) type __stdcall
    #else
    #define PUBLIC(type) __attribute__((visibility("default"))) type
    #endif
    PUBLIC(JSON *) json_parse(const char *text, int (*read)(int));
    PUBLIC(void) json_delete(JSON *item);
    PUBLIC(const char *) json_version(void);
    __global__ void k(float* a) { a[0] = 1; }
    int main() { json_delete(json_parse("", 0)); k<<<1, 1>>>(0); }
    """
    assert compile_ptx(source, kernel="k").entries


def test_a_constant_that_is_a_template_with_a_default_is_no_hosts_variable():
    source = """template <bool B> struct When {};
    template <typename T, class = When<true>> constexpr bool is_large = sizeof(T) > 4;
    __global__ void k(float* a) { a[0] = is_large<float>; }
    """
    assert kept(source) == {"k", "is_large", "When"}
    assert compile_ptx(source).entries


def test_linkage_of_c_may_open_behind_a_directive():
    source = """#ifdef __cplusplus
    extern "C"
    #    define QUIET [[noreturn]]
    {
    #else
    #    define QUIET
    #endif
    QUIET void fail(const char *file, int line);
    #ifdef __cplusplus
    }
    #endif
    void told(int n) { fail("", n); }
    __global__ void k(float* a) { a[0] = 1; }
    """
    assert kept(source) == {"k"}
    assert compile_ptx(source).entries
