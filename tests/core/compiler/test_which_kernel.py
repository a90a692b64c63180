"""Which kernel is compiled of several, with what its instance names, and for what it asks."""

from __future__ import annotations

import numpy as np
import pytest

from core.compiler import compile_slice, nvrtc
from core.compiler.compile_ptx_and_cubin import compile_ptx, find_entry
from core.compiler.kernel_parameters import read_signature
from core.errors import ArgumentError, CompileError
from core.guessing.launch_guess import completed, guess_launch, guessed
from core.guessing.undefined_macros import switches
from core.recording.record_launch import record
from core.source.template_instances import kernel_names
from core.user_files.launch_texts import FileLaunch, file_workload

OVERLOADS = """
namespace shop {
__global__ void copy(int *to, const int *from, int n = 3) { to[n] = from[n]; }
__global__ void copy(float *to, const float4 *from) { to[threadIdx.x] = from[threadIdx.x].y; }
}
void host(float4 *a) { float *b; shop::copy<<<1, 32>>>(b, a); shop::copy<<<1, 32>>>(c, d, 4); }
"""


@pytest.mark.parametrize(
    ("kernel", "entry", "kinds"),
    [
        ("copy(float*, const float4*)", "float4", [(np.float32, 1), (np.float32, 4)]),
        ("shop::copy(int *,const int *,int)", "Pi", [(np.int32, 1), (np.int32, 1), (np.int32, 1)]),
    ],
)
def test_of_overloads_that_is_compiled_and_read_whose_types_are_said(kernel, entry, kinds):
    build = compile_ptx(OVERLOADS, kernel=kernel)
    assert len(build.entries) == 2
    assert entry in find_entry(build, kernel)
    parameters = read_signature(OVERLOADS, kernel)
    assert [(p.dtype, p.lanes) for p in parameters] == kinds


def test_of_overloads_the_one_that_is_launched_first_is_taken():
    assert len(set(kernel_names(OVERLOADS))) == 2
    assert guess_launch(OVERLOADS, "k.cu").kernel == "copy(float*, const float4*)"
    with pytest.raises(ArgumentError, match=r"it has copy\(int\*, const int\*, int\) and copy"):
        completed(OVERLOADS, FileLaunch("k.cu", "copy(double*)", "", "", ""))
    with pytest.raises(ArgumentError, match="say which by its name, one of copy"):
        guess_launch(OVERLOADS, "k.cu", "_ZN4shop4copyEPfPK6float4")


NAMESPACES = """
namespace naive {
__global__ void scale(float *x, float a, int n) { if (threadIdx.x < n) x[threadIdx.x] *= a; }
void run(float *x) { scale<<<1, 32>>>(x, 2.0f, 17); }
}
namespace fast {
__global__ void scale(float *x, float a, int n) { if (threadIdx.x < n) x[threadIdx.x] *= a; }
}
__global__ void scale(double *x) { x[0] = 1; }
int main() {
    float *x; cudaMalloc(&x, 128);
    FIRST<<<1, 64>>>(x, 2.0f, 32);
    naive::run(x);
}
"""


@pytest.mark.parametrize(
    ("first", "asked", "meant", "block"),
    [
        ("fast::scale", "", "naive::scale", "32"),
        ("fast::scale", "_ZN4fast5scaleEPffi", "fast::scale", "64"),
        ("fast::scale", "fast::scale", "fast::scale", "64"),
        ("::fast::scale", "fast::scale", "fast::scale", "64"),
        ("scale", "scale", "scale", "64"),
    ],
)
def test_kernels_of_one_name_are_told_apart_by_their_namespaces(first, asked, meant, block):
    source = NAMESPACES.replace("FIRST", first)
    assert {"naive::scale", "fast::scale", "scale"} == set(kernel_names(source))
    launch = guess_launch(source, "k.cu", asked or None)
    assert (launch.kernel, launch.block) == (meant, block)
    assert record(file_workload(source, launch)).workload.kernel == meant


def test_the_first_that_is_launched_is_taken_not_the_first_that_is_defined():
    source = """
__global__ void second(float *x) { x[threadIdx.x] += 1; }
__global__ void first(float *x) { x[threadIdx.x] += 1; }
int main() { first<<<1, 32>>>(x); second<<<1, 32>>>(x); }
"""
    assert guess_launch(source, "k.cu").kernel == "first"


def test_overloads_in_two_branches_are_one_kernel():
    source = """
#ifdef WIDE
__global__ void copy(float *to, const float4 *from) { to[0] = from[0].y; }
#else
__global__ void copy(int *to, int n) { to[n] = 1; }
#endif
#ifdef WIDER
__global__ void copy(double *to) { to[0] = 1; }
#endif
"""
    build = compile_ptx(source, kernel="copy")
    assert build.entries == (find_entry(build, "copy"),)


UNNAMED = """
struct Twice {}; struct Once {};
__device__ float of(Twice, float x) { return 2 * x; }
__device__ float of(Once, float x) { return x; }
template <class Way>
__global__ void move(float *out, std::integral_constant<int, 3>, const float *in, Way way, int n)
{ if (threadIdx.x < n) out[threadIdx.x] = of(way, in[threadIdx.x]); }
void host() { move<<<1, 32>>>(a, b, c, Twice{}, 32); }
"""


@pytest.mark.slow
@pytest.mark.skipif(not nvrtc.include_folders(), reason="libcu++ is not installed")
def test_a_parameter_without_a_name_has_its_place():
    source = "#include <type_traits>\n" + UNNAMED
    found = read_signature(source, "move<Twice>")
    assert [p.name for p in found] == ["out", "unnamed_2", "in", "way", "n"]
    assert (found[1].offset, found[1].whole_bytes, found[1].is_pointer) == (0, 1, False)
    assert found[2].is_pointer
    assert found[4].dtype == np.int32


def test_types_that_only_an_instance_names_come_with_it():
    source = """
#include <vector>
struct Rows { static __device__ int at(int i) { return i; } };
struct Columns { std::vector<int> host_only; static __device__ int at(int i) { return 4 * i; } };
template <class T, class Layout> __global__ void move(T *to, const T *from)
{ to[threadIdx.x] = from[Layout::at(threadIdx.x)]; }
void host() { move<float, Rows><<<1, 32>>>(a, b); }
"""
    assert len(compile_ptx(source, kernel="move<float, Rows>").entries) == 1


GUARDED = """
#include <cstdio>
#ifdef USE_GPU
#if defined(FAST)
__global__ void fast(float *x) { x[threadIdx.x] = 1; }
#endif
__global__ void add(float *x, int n) { if (threadIdx.x < n) x[threadIdx.x] += 1; }
#ifndef SLOW
__global__ void both(float *x) { x[threadIdx.x] = 1; }
#else
__global__ void both(float *x) { x[threadIdx.x] = 2; }
#endif
#endif
__global__ void open(float *x) { x[threadIdx.x] = 3; }
#ifdef USE_GPU
__global__ void open(float *x, int n) { x[threadIdx.x] = 3; }
#endif
"""


@pytest.mark.parametrize(
    ("kernel", "needed"),
    [("add", {"USE_GPU": "1"}), ("fast", {"USE_GPU": "1", "FAST": "1"}), ("open", {}), ("no", {})],
)
def test_a_kernel_in_a_conditional_asks_for_its_macro(kernel, needed):
    assert switches(GUARDED, kernel, {}) == needed


def test_a_macro_that_the_program_defines_is_no_switch():
    assert switches(GUARDED, "add", {"config.h": "#define USE_GPU 0\n"}) == {}


def test_the_guess_gives_the_macro(tmp_path):
    found = guessed(GUARDED, FileLaunch(str(tmp_path / "g.cu"), "add", "", "", ""))
    assert found.launch.defines == "USE_GPU=1"
    assert dict(found.launch.arguments).keys() == {"x", "n"}


def test_half_is_tried_where_float_does_not_compile(tmp_path):
    source = """
#include <cuda_fp16.h>
template <class T> __device__ T twice(T x);
template <> __device__ half twice(half x) { return __hadd(x, x); }
template <class T, int N> __global__ void all(const T *in, T *out)
{ static_assert(sizeof(T) == 2); out[threadIdx.x] = twice(in[threadIdx.x]); }
"""
    if not nvrtc.include_folders():
        pytest.skip("cuda_fp16.h is not installed")
    found = guessed(source, FileLaunch(str(tmp_path / "h.cu"), "", "", "", ""))
    assert found.launch.kernel == "all<half, 4>"


def test_pytorchs_halves_have_bits_and_compute_as_floats(tmp_path):
    if not nvrtc.include_folders():
        pytest.skip("cuda_fp16.h is not installed")
    source = """
#include <torch/extension.h>
__global__ void k(at::Half a, const c10::Half *x, at::Half *y, at::BFloat16 *z)
{
    int i = threadIdx.x;
    y[i] = a * x[i] + 1;
    y[i] += x[i] > y[i] ? x[i] : at::Half(2.0f * y[i]);
    z[i].x = x[i].x;
}
"""
    found = read_signature(source, "k")
    assert [p.dtype for p in found] == [np.float16, np.float16, np.float16, np.uint16]


def test_curands_headers_are_taken_where_they_are(tmp_path, monkeypatch):
    source = """
#include <curand_kernel.h>
__global__ void draw(float *out) { curandState state = {7}; out[threadIdx.x] = draw_one(&state); }
"""
    if any((f / nvrtc.CURAND).is_file() for f in nvrtc.include_folders()):
        pytest.skip("cuRAND's own headers are installed")
    with pytest.raises(CompileError, match="pip install nvidia-curand"):
        compile_ptx(source, kernel="draw")
    (tmp_path / "curand.h").write_text("typedef struct { unsigned x; } curandState;\n")
    (tmp_path / "curand_kernel.h").write_text(
        '#include "curand.h"\n'
        "static __device__ float draw_one(curandState *s) { return s->x *= 3; }\n"
    )
    folders = (*nvrtc.include_folders(), tmp_path)
    monkeypatch.setattr(compile_slice, "include_folders", lambda: folders)
    for cached in (compile_slice.stand_ins, compile_slice.is_known):
        cached.cache_clear()
    try:
        assert len(compile_ptx(source, kernel="draw", source_name="other.cu").entries) == 1
    finally:
        for cached in (compile_slice.stand_ins, compile_slice.is_known):
            cached.cache_clear()
