"""clang, of PyPI's ziglang, makes of the rungs what NVRTC makes: its counts, values and bits."""

import json

import numpy as np
import pytest

from core.cli.app import carry_out
from core.compiler import clang, compile_request, nvrtc, nvrtc_or_clang
from core.compiler.compile_ptx_and_cubin import compile_ptx
from core.errors import CompileError, TilescopeError
from core.ladder import load_ladder
from core.recording.record_launch import record
from core.recording.trace_files import load_trace, save_trace

pytestmark = pytest.mark.skipif(clang.executable() is None, reason="ziglang is not installed")

LADDER = load_ladder()
NO_CLUSTERS = "clang makes no clusters: __cluster_dims__ needs NVRTC"
REFUSED = {"clustered": NO_CLUSTERS, "clustered_tf32": NO_CLUSTERS}


@pytest.fixture
def by_clang(monkeypatch):
    monkeypatch.setenv(nvrtc_or_clang.CHOICE, "clang")


def counts(trace):
    """Of the launch and by line: all but local memory, which each compiler uses for its own."""
    counters = trace.counters
    totals = {name: (int(c.value), int(c.ideal)) for name, c in counters.totals.items()}
    by_line = {
        line: {name: int(c.value) for name, c in row.items() if c.value and not is_local(name)}
        for line, row in counters.by_line.items()
    }
    return (
        {name: found for name, found in totals.items() if not is_local(name)},
        {line: row for line, row in by_line.items() if row},
    )


def is_local(counter):
    return counter.startswith("local_")


def launched(name):
    rung = LADDER[name]
    return rung.workload(seed=3, **rung.defaults)


def both(workload, monkeypatch, **options):
    """The records of NVRTC's build and of clang's."""
    theirs = record(workload, **options)
    monkeypatch.setenv(nvrtc_or_clang.CHOICE, "clang")
    ours = record(workload, **options)
    assert (theirs.build.compiler, ours.build.compiler) == ("", clang.version())
    return theirs, ours


QUICK = [n for n, rung in LADDER.items() if rung.number < 30 or n.startswith("broken")]
"""Rungs of which both builds are compiled and run in less than half a second."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        n if n in QUICK else pytest.param(n, marks=pytest.mark.slow)
        for n in LADDER
        if n not in REFUSED
    ],
)
def test_counts_of_every_rung(name, monkeypatch):
    one_block = {"blocks": (0,), "only_recorded": True, "checks": name.startswith("broken")}
    theirs, ours = both(launched(name), monkeypatch, **one_block)
    (totals, lines), (found, by_line) = counts(theirs), counts(ours)
    assert found == totals
    assert by_line == lines
    for array, data in theirs.outputs.items():
        assert np.array_equal(ours.outputs[array], data, equal_nan=True), array
    assert [(f.kind, f.line) for f in ours.findings] == [(f.kind, f.line) for f in theirs.findings]
    assert len(ours.block(0).phases) == len(theirs.block(0).phases)


@pytest.mark.parametrize("name", REFUSED)
def test_what_it_cannot_compile_is_refused_in_a_sentence(name, by_clang):
    with pytest.raises(CompileError, match=REFUSED[name]):
        record(launched(name))


def test_variables_have_their_values(monkeypatch):
    theirs, ours = both(launched("tiled_bounds"), monkeypatch)
    last = [
        {v.name: v.value for v in trace.block(1).variables(trace.block(1).n_steps - 1, 5)}
        for trace in (theirs, ours)
    ]
    assert last[0] == last[1]
    assert {"row", "col", "value", "A"} <= set(last[1])
    table = ours.block(1).variable_table(ours.block(1).n_steps // 2, 0)
    expected = theirs.block(1).variable_table(theirs.block(1).n_steps // 2, 0)
    assert [row.name for row in table] == [row.name for row in expected]


OWN = """
struct Pair { float a; int b; };
template <class T> __device__ T twice(T v) { return v + v; }
template <class T, int N> __global__ void mix(T* x, unsigned long long* seen, Pair* pairs)
{
    __shared__ T part[N];
    T own[4];
    for (int i = 0; i < 4; i++) own[i] = x[threadIdx.x] * i;
    signed char small = -3;
    part[threadIdx.x] = twice(own[threadIdx.x % 4]) + small;
    __syncthreads();
    T other = __shfl_xor_sync(0xffffffff, part[N - 1 - threadIdx.x], 1);
    bool even = __popc(__ballot_sync(0xffffffff, other > 0)) % 2 == 0;
    pairs[threadIdx.x] = Pair{sqrtf(fabsf(other)), even ? min(7, int(threadIdx.x)) : -1};
    atomicAdd(seen, 1ull);
    x[threadIdx.x] = other;
}
"""


@pytest.mark.slow
def test_templates_structures_and_intrinsics(tmp_path, monkeypatch, capfd):
    file = tmp_path / "own é.cu"
    file.write_text(OWN, "utf-8")
    told = ["--kernel", "mix<float, 32>", "--block", "32", "--arg", "x=float32[32]"]
    told += ["--arg", "seen=zeros:uint64[1]", "--arg", "pairs=zeros:uint8[256]"]

    def traced(*more):
        assert carry_out(["trace", str(file), *told, "--json", *more]) == 0
        return json.loads(capfd.readouterr().out)

    monkeypatch.setenv(nvrtc_or_clang.CHOICE, "nvrtc")  # so that what the option sets is undone
    theirs, ours = traced(), traced("--compiler", "clang")
    assert (theirs["compiler"], theirs["is_nvidias_compiler"]) == ("NVRTC", True)
    assert (ours["compiler"], ours["is_nvidias_compiler"]) == (clang.version(), False)
    # What functions save on the stack stands in NVIDIA's machine code alone.
    of_clang, of_nvrtc = (
        {n: c for n, c in found["counters"].items() if not n.startswith("local_")}
        for found in (ours, theirs)
    )
    assert of_clang == of_nvrtc
    assert ours["outputs"] == theirs["outputs"]


def test_vectors_are_copied_as_nvrtc_copies_them(tmp_path, monkeypatch, capfd):
    """In pieces of 16 or of 4 bytes, line by line."""
    kinds = ("float2", "float4", "double2", "short4", "char4", "float3", "uchar2", "double4")
    lines = "".join(f"(({kind}*)b)[t] = (({kind}*)a)[t];\n" for kind in kinds)
    file = tmp_path / "copies.cu"
    file.write_text(f"__global__ void k(int* a, int* b) {{ int t = threadIdx.x;\n{lines}}}\n")
    options = ["--json", "--block", "32", "--arg", "a=int32[256]", "--arg", "b=zeros:int32[256]"]
    monkeypatch.setenv(nvrtc_or_clang.CHOICE, "nvrtc")  # so that what the option sets is undone
    found = []
    for compiler in ("nvrtc", "clang"):
        assert carry_out(["trace", str(file), *options, "--compiler", compiler]) == 0
        found.append(json.loads(capfd.readouterr().out))
    assert len(found[0]["by_line"]) == len(kinds)
    assert found[0]["by_line"] == found[1]["by_line"]
    assert found[0]["outputs"] == found[1]["outputs"]


def test_errors_name_the_line_the_column_and_what_is_missing(by_clang):
    source = 'extern "C" __global__ void k(float* a)\n{\n    a[0] = nothing + 1;\n}\n'
    with pytest.raises(CompileError, match=r'k\.cu:3: identifier "nothing"') as caught:
        compile_ptx(source, source_name="k.cu")
    assert [(d.line, d.column) for d in caught.value.diagnostics] == [(3, 12)]


def test_headers_of_ones_own_keep_their_names(by_clang):
    headers = {"../deep/it.h": "#pragma once\n#define FOUR 4\n"}
    source = '#include "../deep/it.h"\nextern "C" __global__ void k(float* a) { a[0] = FOUR; }\n'
    assert "4" in compile_ptx(source, headers=headers).ptx
    with pytest.raises(CompileError) as caught:
        compile_ptx(
            source.replace("FOUR", "four()"),
            headers={"../deep/it.h": "\n__device__ int four() { return undefined_here; }\n"},
        )
    assert "../deep/it.h, line 2" in caught.value.diagnostics[0].message


def test_it_steps_in_where_nvrtc_is_not(monkeypatch, tmp_path):
    def missing():
        raise TilescopeError("NVRTC is not here.")

    monkeypatch.setattr(nvrtc, "library_path", missing)
    monkeypatch.setattr(compile_request, "library_path", missing)
    source = 'extern "C" __global__ void fresh(int* a) { a[threadIdx.x] = threadIdx.x * 3; }\n'
    assert compile_ptx(source).compiler == clang.version()
    # What comes with the program is NVRTC's all the same.
    assert compile_ptx_of("tiled").compiler == ""
    monkeypatch.setattr(clang, "executable", lambda: None)
    with pytest.raises(TilescopeError, match="NVRTC is not here"):
        compile_ptx(source.replace("3", "4"))


def compile_ptx_of(name):
    workload = launched(name)
    return compile_ptx(
        workload.source,
        source_name=workload.source_name,
        defines=workload.defines,
        kernel=workload.kernel,
    )


def test_a_saved_trace_remembers_who_compiled_it(by_clang, tmp_path):
    trace = record(launched("vector_add"))
    save_trace(trace, tmp_path / "t.npz")
    assert load_trace(tmp_path / "t.npz").build.compiler == clang.version()
    assert "not NVIDIA's compiler" in load_trace(tmp_path / "t.npz").build.described


def test_macros_of_the_hosts_that_allocate_change_nothing(by_clang):
    source = """
#define ALLOCATE(p, n) cudaMalloc(&p, n)
__global__ void k(int* a) { a[threadIdx.x] = 1; }
int main() { int* a; ALLOCATE(a, 256); k<<<1, 32>>>(a); }
"""
    assert compile_ptx(source).compiler == clang.version()
