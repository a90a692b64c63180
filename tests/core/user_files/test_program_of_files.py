"""A kernel among the files of a repository: what it needs of them is found, the rest left out."""

import re
import shlex

import numpy as np
import pytest

from core.compiler.compile_ptx_and_cubin import compile_ptx
from core.errors import CompileError, TilescopeError
from core.guessing.launch_guess import completed, launch_of
from core.recording.record_launch import record
from core.user_files.launch_texts import FileLaunch, file_workload, headers_of
from core.user_files.repository_search import at_its_kernels
from core.user_files.sources_and_headers import local_headers

MAIN = """#include <vector>
#include <dirent.h>
#include "types.h"
struct Options { std::vector<int> v; };
typedef float real;
extern cudaDeviceProp prop;
void report(int x);
#include "kernels.cuh"
int main()
{
    real *a;
    int n = 100;
    cudaMalloc(&a, n * sizeof(real));
    scale<real, 64><<<(n + 63) / 64, 64>>>(a, n, Pair{1, 2});
}
"""
FILES = {
    "src/main.cu": MAIN,
    "src/kernels.cuh": """template <typename T, int B> __global__ void scale(T *a, int n, Pair by)
{
    int i = blockIdx.x * B + threadIdx.x;
    if (i < n) a[i] = a[i] * by.x + EXTRA;
}
""",
    "include/types.h": """#pragma once
#include <string>
#include "extra.h"
void host(int x); extern cudaDeviceProp prop; std::string name();
struct Pair { float x; double y; void print() { report(x); } };
#if !defined(__linux__) && !defined(_WIN32)
#error which system?
#endif
""",
    "other/extra.h": "#include <dirent.h>\nvoid unknown(DIR *d);\n#define EXTRA 2\n",
}


@pytest.fixture
def repository(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / "repo" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "repo" / ".git").mkdir()
    (tmp_path / "repo" / "other").rename(tmp_path / "other")
    return tmp_path / "repo"


def test_a_kernel_of_an_included_file_has_its_launch_and_types(repository, tmp_path):
    main = repository / "src" / "main.cu"
    asked = FileLaunch(
        str(main), "", "", "", "", arguments=(("by.x", "3"),),
        folders=shlex.join([str(tmp_path / "other")]),
    )  # fmt: skip
    source, asked = at_its_kernels(MAIN, asked)
    assert asked.path == str(repository / "src" / "kernels.cuh")
    launch = completed(source, asked).launch
    assert (launch.kernel, launch.grid, launch.block) == ("scale<real, 64>", "2", "64")
    assert dict(launch.arguments)["a"] == "random:float32[100]"
    assert launch.defines == ""
    workload = file_workload(source, launch)
    trace = record(workload)
    given = workload.launch.arrays[0].data.astype(np.float64)
    assert not (np.abs(trace.outputs["a"] - (3 * given + 2)) > 1e-6).any()
    assert 4 in {int(line) for line in trace.block(0).line}


def test_opened_in_the_window_the_file_with_the_kernels_is_shown(repository):
    main = repository / "src" / "main.cu"
    launch, names, signature = launch_of(MAIN, str(main), None, None, False)
    assert launch.name == "kernels.cuh"
    assert names == ("scale<real, 64>",)
    assert launch.defines == "EXTRA=4"  # no -I, so that nothing defines it
    assert [p.name for p in signature] == ["a", "n", "by.x", "by.y"]


def test_headers_of_the_repository_are_found_and_what_is_included_by_hand_comes_first(
    repository, tmp_path
):
    kernels = repository / "src" / "kernels.cuh"
    text = FILES["src/kernels.cuh"]
    assert dict(local_headers(text, str(kernels))) == {}
    extra = tmp_path / "other" / "extra.h"
    first = (str(repository / "include" / "types.h"), str(extra))
    launch = FileLaunch(str(kernels), "scale<float, 32>", included=shlex.join(first))
    made = compile_ptx(text, kernel=launch.kernel, headers=headers_of(text, launch))
    assert len(made.entries) == 1
    assert any(option.startswith("--pre-include") for option in made.options)
    gone = FileLaunch(str(kernels), "scale<float, 32>", included=str(tmp_path / "gone.h"))
    with pytest.raises(TilescopeError, match=r"no file .*gone\.h"):
        headers_of(text, gone)


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ("", ""),
        ("a[1] = host_side(2);", r"host_side \(line 3\) belongs to the host"),
        ("a[1] = nowhere;", 'identifier "nowhere" is undefined'),
        ("a[1] = tex1D(old, 2.0f);", "texture"),
    ],
)
def test_whatever_else_a_file_holds_the_kernels_own_mistakes_are_named(extra, words):
    source = f"""#include <nowhere/at_all.h>
texture<float, 1> old;
float host_side(int x) {{ return x; }}
template <int B = 32, typename T = Unknown> __global__ void other(T *a) {{ gone(a); }}
class Window : public QWidget {{ Q_OBJECT void paint(); std::map<int, std::string> names; }};
__device__ float wrong(Missing m) {{ return m.x; }}
#define DECLARE(NAME) __device__ float NAME(float x) {{ return x * 2; }}
DECLARE(twice)
DECLARE(thrice);
__global__ void k(float *a) {{ a[0] = twice(a[0]) + thrice(a[1]); {extra} }}
int main() {{ Window w; w.show(); }}
"""
    if not words:
        assert len(compile_ptx(source, kernel="k").entries) == 1
        return
    with pytest.raises(CompileError, match=words) as caught:
        compile_ptx(source, kernel="k")
    assert {d.line for d in caught.value.diagnostics if d.severity == "error"} >= {10}


def test_the_texts_own_error_is_heard_where_nothing_else_compiles():
    source = "#ifndef WIDTH\n#error say -D WIDTH=…\n#endif\n__global__ void k() { int a[WIDTH]; }"
    with pytest.raises(CompileError, match="say -D WIDTH"):
        compile_ptx(source, kernel="k")
    assert compile_ptx(source, kernel="k", defines={"WIDTH": "4"}).entries


def test_what_only_an_older_architecture_compiles_is_compiled_for_that():
    source = """
#if __CUDA_ARCH__ >= 900
typedef Future element;
#else
typedef float element;
#endif
__global__ void k(element *a) { a[0] = 1; }
"""
    build = compile_ptx(source, kernel="k")
    assert build.architecture == "compute_80"
    assert any("compute_90 refuses it" in d.message for d in build.diagnostics)
    with pytest.raises(CompileError, match="Future"):
        compile_ptx(source, kernel="k", architecture="compute_90")
    assert re.search(r"\.target\s+sm_80", build.ptx)


def test_std_names_and_intrinsics_of_before_volta_are_known_without_their_headers():
    source = """
__global__ void k(float *a, int32_t n)
{
    float v = a[threadIdx.x];
    for (int d = 16; d > 0; d /= 2) { v = std::max(v, __shfl_down(v, d)); }
    if (threadIdx.x == 0 && !std::isnan(v)) { a[n] = v; }
}
"""
    assert compile_ptx(source).entries


def test_tensors_of_pytorch_are_structures_that_a_kernel_takes():
    source = """
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
template <typename scalar_t> __global__ void k(
    torch::PackedTensorAccessor32<scalar_t, 2, torch::RestrictPtrTraits> x, scalar_t *out)
{
    CUDA_KERNEL_LOOP(i, x.size(0)) { out[i] = x[i][1]; }
}
torch::Tensor run(torch::Tensor x)
{
    AT_DISPATCH_FLOATING_TYPES(x.type(), "run", ([&] {
        k<scalar_t><<<1, 32>>>(x.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(), x);
    }));
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("run", &run); }
"""
    launch, names, signature = launch_of(source, "torch.cu", None, None, False)
    assert names == ("k<float>",)
    assert [(p.name, p.count) for p in signature] == [
        ("x.data_", 1), ("x.sizes_", 2), ("x.strides_", 2), ("out", 1),
    ]  # fmt: skip
    assert compile_ptx(source, kernel=launch.kernel).entries


def test_a_header_of_one_kernel_takes_its_types_from_what_includes_it(tmp_path):
    (tmp_path / ".git").mkdir()
    header = tmp_path / "fill.cuh"
    header.write_text(
        "__global__ void fill(real *a, count n) { if (threadIdx.x < n) a[threadIdx.x] = 1; }"
    )
    (tmp_path / "main.cu").write_text(
        'typedef double real;\nusing count = int;\n#include "fill.cuh"\n'
        "int main() { real *a; cudaMalloc(&a, 32 * sizeof(real)); fill<<<1, 32>>>(a, 32); }"
    )
    launch = completed(header.read_text(), FileLaunch(str(header), "", "", "", "")).launch
    assert launch.included == shlex.quote(str(tmp_path / "main.cu"))
    assert dict(launch.arguments) == {"a": "zeros:float64[32]", "n": "32"}


def test_headers_of_one_name_in_two_folders_are_two_and_one_by_two_names_is_one(tmp_path):
    files = {
        "k.cu": '#include "a/all.h"\n#include "b/all.h"\n'
        "__global__ void k(float* x) { x[0] = A + B + COMMON; }\n",
        "a/all.h": '#include "util.h"\n#include "../common.h"\n',
        "b/all.h": '#include "util.h"\n#include "../a/../common.h"\n',
        "a/util.h": "const float A = 1;\n",
        "b/util.h": "const float B = 2;\n",
        "common.h": "#pragma once\nconst float COMMON = 4;\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = local_headers(files["k.cu"], str(tmp_path / "k.cu"))
    assert sorted(found.values()).count(files["common.h"]) == 1
    assert len(found) == 5
    compile_ptx(files["k.cu"], kernel="k", headers=found)
