"""Braces that several branches of a conditional open are one brace for whoever reads the text."""

from __future__ import annotations

import numpy as np
import pytest

from core.compiler.compile_ptx_and_cubin import compile_ptx
from core.recording.record_launch import record
from core.source.declarations import syntax
from core.source.kernels_and_launches import kernels
from core.source.preprocessor import with_one_branch
from core.user_files.launch_texts import FileLaunch, file_workload

TWICE = """
#ifdef WIDE
#define STEP 4
    if (n > 4) {
#elif defined(TALL)
    if (n > 3) {
#else
#if OTHER
    if (n > 2) {
#else
    if (n > 1) {
#endif
#endif
        n += STEP;
    }
"""


def test_the_first_branch_stays_where_each_opens_a_brace():
    text = with_one_branch(TWICE)
    assert len(text) == len(TWICE)
    assert text.count("{") == text.count("}") == 1
    assert "n > 4" in text
    assert "n > 1" not in text
    assert "#define STEP 4" in text
    assert "#else" not in text


@pytest.mark.parametrize(
    "text",
    [
        "#ifdef A\nint a;\n#else\nint b;\n#endif\n",
        "#ifdef A\nnamespace x {\n#endif\nint b;\n#ifdef A\n}\n#endif\n",  # one branch alone
        "#ifdef A\nint f() { return 1; }\n#else\nint f() {\n#endif\n",  # only one of them opens one
        "#endif\n#else\n#if A\n{\n#else\n{\n",  # cut off
        "int a;",
    ],
)
def test_other_conditionals_stay(text):
    assert with_one_branch(text) == text


PIECES = """struct Scan {
    int lane, mask;
    __device__ Scan()
#ifdef WIDE
        : lane(threadIdx.x)
#else
        : lane(threadIdx.x % 32)
#endif
        , mask(0) {}
};
__global__ void fill(int *a) { Scan s; a[threadIdx.x] = s.lane + s.mask; }
"""


def test_the_first_branch_stays_where_each_is_a_piece_of_one_declaration():
    text = with_one_branch(PIECES)
    assert len(text) == len(PIECES)
    assert "lane(threadIdx.x)" in text
    assert "% 32" not in text
    assert "#" not in text


def test_the_compiler_sees_the_branch_that_counts():
    launch = FileLaunch("k.cu", "fill", "1", "64", arguments=(("a", "zeros:int32[64]"),))
    trace = record(file_workload(PIECES, launch, 3))
    assert (trace.outputs["a"] == np.arange(64) % 32).all()


SOURCE = """
namespace shop {
__global__ void sum(const float *in, float *out, int n)
{
    int i = threadIdx.x;
#ifdef WIDE
    if (i < n && i < 64) {
#else
    if (i < n) {
#endif
        out[i] = 2 * in[i];
    }
}
void host() {
#ifdef WIDE
    if (puts("a")) {
#else
    if (puts("b")) {
#endif
    }
}
__global__ void next(int *a) { *a = 3; }
}
"""


def test_such_a_file_compiles_and_its_kernels_are_told_apart():
    assert [k.qualified for k in kernels(SOURCE)] == ["shop::sum", "shop::next"]
    assert "next" not in kernels(SOURCE)[0].body
    for kernel in ("sum", "next"):
        entries = compile_ptx(SOURCE, kernel=kernel).entries
        assert [kernel in entry for entry in entries] == [True]


def test_the_ends_of_one_call_in_several_branches_are_one():
    source = """struct Test {
        template <typename F> int run(F f)
        {
            call(1, [=](int algo) {
                gemm(2,
    #if defined(WIDE)
                     wide(algo));
    #elif defined(OTHER)
                     other(algo));
    #else
                     narrow(algo));
    #endif
            });
            for (int i = 0;
    #ifdef WIDE
                 i < 4;
    #else
                 i < 2;
    #endif
                 i++) { }
            return 1;
        }
        int n;
    };
    struct Behind { int x; };
    """
    items = syntax(source).items
    assert [item.names for item in items] == [("Test",), ("Behind",)]
    (hidden,) = items[0].host_parts
    assert hidden.name == "run"
    assert "narrow" in source[hidden.start : hidden.end]
