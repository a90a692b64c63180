"""NVRTC builds, their diagnostics, and the names of kernels."""

import builtins
import subprocess
import sys
import threading

import pytest

from core.compiler import clang, compile_ptx_and_cubin, compile_request, nvrtc
from core.compiler.compile_ptx_and_cubin import (
    compile_cubin,
    compile_kernel,
    compile_ptx,
    find_entry,
    plain_name,
    resolve_entry,
)
from core.compiler.compile_slice import parse_log
from core.compiler.cubin import cubin_entries
from core.errors import CompileError, TilescopeError

SOURCE = """
extern "C" __global__ void scale(float* data, float factor)
{
    data[threadIdx.x] *= factor * TIMES;
}
namespace shapes { __global__ void fill(int* data) { data[threadIdx.x] = 1; } }
"""


def test_as_written_build_is_debug_ptx_with_entries():
    build = compile_ptx(SOURCE, source_name="scale.cu", defines={"TIMES": "2"})
    assert build.kind == "as_written"
    assert ".target sm_90, debug" in build.ptx
    assert set(build.entries) == {"scale", "_ZN6shapes4fillEPi"}
    assert "-G" in build.options
    assert "-DTIMES=2" in build.options


def test_as_compiled_build_is_not_debug():
    build = compile_ptx(SOURCE, defines={"TIMES": "2"}, kind="as_compiled")
    assert "debug" not in build.ptx.split(".address_size")[0]


def test_equal_requests_share_a_build_and_other_defines_do_not():
    first = compile_ptx(SOURCE, defines={"TIMES": "3"})
    assert compile_ptx(SOURCE, defines={"TIMES": "3"}) is first
    assert compile_ptx(SOURCE, defines={"TIMES": "4"}).ptx != first.ptx


def test_error_has_line_column_and_message():
    source = "__global__ void k(float* a)\n{\n    a[0] = missing + 1;\n}\n"
    with pytest.raises(
        CompileError, match=r"mine\.cu:3: identifier \"missing\" is undefined\."
    ) as e:
        compile_ptx(source, source_name="mine.cu")
    (only,) = e.value.diagnostics
    assert (only.severity, only.line, only.column) == (
        "error",
        3,
        source.split("\n")[2].index("m") + 1,
    )


def test_warning_does_not_stop_a_build():
    build = compile_ptx("__global__ void k(float* a)\n{\n    int idle;\n    a[0] = 1;\n}\n")
    (only,) = build.diagnostics
    assert (only.severity, only.line, only.column) == ("warning", 3, 9)
    assert "idle" in only.message


def test_nothing_is_said_of_a_static_kernel_whose_launch_is_left_out():
    source = "static __global__ void k(float* a) { a[0] = 1; }\nint main() { k<<<1, 1>>>(0); }\n"
    assert not compile_ptx(source, kernel="k").diagnostics


def test_a_brace_that_is_never_closed_is_marked_where_it_opens():
    source = "__global__ void k(float* a, int n)\n{\n  if (n) {\n    a[0] = 1;\n}\n"
    with pytest.raises(CompileError, match=r'^mine.cu:2: expected a "}" at the end') as e:
        compile_ptx(source, source_name="mine.cu")
    (only,) = e.value.diagnostics
    assert (only.severity, only.line, only.column) == ("error", 2, 1)
    (only,) = parse_log('At end of source: error: expected a "}"\n', "mine.cu")
    assert (only.line, only.message) == (0, 'expected a "}" at the end of the source')


def test_missing_header_is_a_compile_error_and_a_bad_architecture_brings_those_that_work():
    with pytest.raises(CompileError, match=r"nowhere\.h"):
        compile_ptx('#include "nowhere.h"\n__global__ void k(int* a) { *a = of_it; }\n')
    with pytest.raises(TilescopeError, match=r"does not compile for sm_20: .* sm_80, .* sm_90"):
        compile_ptx(SOURCE, architecture="compute_20")


def test_message_in_a_header_keeps_its_place_in_words():
    (only,) = parse_log('lib.h(7): error: expected a ";"\n  int a\n       ^\n', "kernel.cu")
    assert (only.line, only.column) == (0, None)
    assert only.message == 'lib.h, line 7: expected a ";"'


def test_cubin_is_machine_code_that_names_its_kernels():
    image = compile_cubin(SOURCE, defines={"TIMES": "2"}, compute_capability=(8, 6))
    assert image.startswith(b"\x7fELF")
    assert set(cubin_entries(image)) == {"scale", "_ZN6shapes4fillEPi"}


def test_cubin_refuses_too_much_shared_memory():
    source = """__global__ void k(float* a) {
        __shared__ float t[20000];
        t[threadIdx.x] = a[3]; __syncthreads(); a[0] = t[(int)a[2]]; }"""
    with pytest.raises(CompileError, match="too much shared data"):
        compile_cubin(source)


@pytest.mark.parametrize(
    ("entry", "plain"),
    [
        ("scale", "scale"),
        ("_Z3fooPf", "foo"),
        ("_ZN6shapes4fillEPi", "shapes::fill"),
        ("_Z5applyIfEvPT_i", "apply"),
        ("_ZN12_GLOBAL__N_16hiddenEPf", "hidden"),
        ("_Zebra", "_Zebra"),
    ],
)
def test_plain_names(entry, plain):
    assert plain_name(entry) == plain


def test_entries_are_found_by_any_of_their_names():
    build = compile_ptx(SOURCE, source_name="scale.cu", defines={"TIMES": "2"})
    for name in ("fill", "shapes::fill", "_ZN6shapes4fillEPi"):
        assert find_entry(build, name) == "_ZN6shapes4fillEPi"
    with pytest.raises(
        TilescopeError, match=r"scale\.cu has no kernel called fil; it has: .*scale"
    ):
        find_entry(build, "fil")
    with pytest.raises(TilescopeError, match="no kernel"):
        resolve_entry((), "anything")
    with pytest.raises(TilescopeError, match="2 kernels called foo"):
        resolve_entry(("_Z3fooPf", "_Z3fooPi"), "foo")


@pytest.fixture
def no_library():
    """The library as it is found anew, before and after."""
    known = (nvrtc.library, compile_request._tools)
    for found in known:
        found.cache_clear()
    yield
    for found in known:
        found.cache_clear()


@pytest.mark.usefixtures("no_library")
def test_missing_nvrtc_names_the_package(monkeypatch):
    real = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.startswith("cuda"):
            raise ImportError("No module named 'cuda'")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(nvrtc, "_packaged", lambda: None)
    monkeypatch.setattr(builtins, "__import__", refuse)
    monkeypatch.setattr(clang, "executable", lambda: None)
    with pytest.raises(TilescopeError, match="nvidia-cuda-nvrtc"):
        compile_ptx("// never compiled before")


@pytest.mark.usefixtures("no_library")
def test_a_library_that_no_package_brought_is_found_too(monkeypatch):
    monkeypatch.setattr(nvrtc, "_packaged", lambda: None)
    assert 90 in nvrtc.architectures()
    assert "scale" in compile_ptx(SOURCE, defines={"TIMES": "7"}).ptx


def test_the_library_names_its_failures():
    with nvrtc.Translation("__global__ void k() { x; }", "k.cu", {}) as program:
        assert program.compile(["--gpu-architecture=compute_90"]) == "NVRTC_ERROR_COMPILATION"
        assert b"undefined" in program.read("ProgramLog")
        with pytest.raises(TilescopeError, match="NVRTC_ERROR"):
            program.lowered_name("k<int>")


def test_many_threads_may_compile_at_once():
    results = []
    work = [
        threading.Thread(
            target=lambda i=i: results.append(compile_ptx(SOURCE, defines={"TIMES": str(i % 2)}))
        )
        for i in range(6)
    ]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    assert len({id(build) for build in results}) == 2
    assert compile_ptx_and_cubin.DEFAULT_ARCHITECTURE == "compute_90"


TWICE = """
namespace blas { template <typename T, int STEP = 1> __global__ void axpy(T a, const T *x, T *y)
{ y[threadIdx.x] += a * x[STEP * threadIdx.x]; } }
template __global__ void blas::axpy<float>(float, const float *, float *);
template __global__ void blas::axpy<double, 1 + 2>(double, const double *, double *);
"""


@pytest.mark.parametrize(
    ("kernel", "code"),
    [("axpy<float>", "IfLi1EE"), ("axpy<double, 1 + 2>", "IdLi3EE"), ("axpy<double,3>", "IdLi3EE")],
)
def test_each_of_several_instances_is_found(kernel, code):
    build = compile_ptx(TWICE, kernel=kernel)
    assert len(build.entries) == 2
    entry = find_entry(build, kernel)
    assert f"4axpy{code}" in entry
    assert entry in build.entries
    image, name = compile_kernel(TWICE, kernel)
    assert name == entry
    assert len(cubin_entries(image)) == 2


@pytest.mark.parametrize("name", ["T", "TYPE"])
def test_a_macro_that_breaks_the_compilers_own_header_is_named(name):
    source = f"__global__ void add({name} *a) {{ a[threadIdx.x] += WIDTH; }}"
    defines = {"WIDTH": "4", name: "long long"}
    if name == "TYPE":
        assert compile_ptx(source, defines=defines).entries == ("_Z3addPx",)
        return
    with pytest.raises(CompileError, match=r"^-D T also replaces `T` .* T_OF_MINE\.$") as raised:
        compile_ptx(source, defines=defines)
    assert not raised.value.diagnostics  # none of them is of the source


def test_what_compiles_loads_no_numpy() -> None:
    """A process of its own compiles: NumPy would take it 60 ms and 120 MB of addresses."""
    program = "import sys, core.compiler.compile_slice; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    assert done.stdout.split() == [b"False"]
