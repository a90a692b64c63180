"""PTX files: those that people wrote by hand, and what lies beside those of compilers."""

from __future__ import annotations

import json

import numpy as np
import pytest

from core.compiler.compile_ptx_and_cubin import compile_ptx
from core.errors import ArgumentError, PtxSyntaxError, TilescopeError
from core.guessing.ptx_launch_guess import complete_ptx
from core.launch import ArrayArgument, Dim3, ScalarArgument
from core.recording.record_launch import record
from core.user_files.launch_texts import FieldErrors, FileLaunch
from core.user_files.ptx_files import ptx_workload, read_ptx

SCALE = """.version 6.0
.target sm_60
.address_size 64
.visible .entry scale(.param .u64 out, .param .u32 n, .param .f32 factor)
{
  .reg .pred p; .reg .b32 i, count; .reg .f32 x, f; .reg .b64 a;
  ld.param.u64 a, [out]; ld.param.u32 count, [n]; ld.param.f32 f, [factor];
  mov.u32 i, %tid.x;
  setp.ge.u32 p, i, count;
  @p bra DONE;
  mad.wide.u32 a, i, 4, a;
  ld.global.f32 x, [a];
  mul.f32 x, x, f;
  st.global.f32 [a], x;
DONE:
  exit;
}
.entry other_param_(.param .b64 other_param__param_0, .param .align 4 .b8 s[12]) { ret; }
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "hand.ptx"
    path.write_text(SCALE)
    return path


def asked(path, *arguments, kernel="", grid="", block="", shared=""):
    pairs = tuple(tuple(text.split("=", 1)) for text in arguments)
    return FileLaunch(str(path), kernel, grid, block, shared, "", pairs)


def workload_of(path, *arguments, **launch):
    wanted = asked(path, *arguments, **launch)
    found = read_ptx(str(path), wanted.kernel)
    return ptx_workload(found, complete_ptx(found, wanted))


def test_a_file_is_run_and_its_lines_are_the_source(file) -> None:
    arguments = ("factor=-0.5", "out=range:float32[40]", "n=30")
    workload = workload_of(file, *arguments, kernel="scale", grid="1", block="64")
    assert [type(a) for a in workload.launch.arguments] == [
        ArrayArgument, ScalarArgument, ScalarArgument
    ]  # fmt: skip
    trace = record(workload)
    before = np.arange(40, dtype=np.float32)
    wanted = np.where(np.arange(40) < 30, before * np.float32(-0.5), before)
    assert (trace.outputs["out"] == wanted).all()
    assert sorted(line for line in trace.counters.by_line) == [12, 14]


def test_what_is_not_given_is_guessed(file) -> None:
    workload = workload_of(file, "n=30", kernel="scale")
    assert workload.launch.grid == Dim3(1)  # it never asks which block it is
    assert [a.data.shape for a in workload.launch.arrays] == [(30,)]
    assert not record(workload).findings
    whole = complete_ptx(read_ptx(str(file), "scale"), asked(file, kernel="scale"))
    assert whole.block == "128"
    assert dict(whole.arguments) == {"out": "float32[128]", "n": "240", "factor": "0.5"}


def test_a_pointer_may_be_null(file) -> None:
    workload = workload_of(file, "out=null", "n=0", kernel="scale", grid="1")
    assert not workload.launch.arrays
    assert not record(workload).findings


@pytest.mark.parametrize(
    ("kernel", "arguments", "error", "message"),
    [
        ("", (), TilescopeError, "several kernels: choose scale or other_param_"),
        ("nobody", (), TilescopeError, "no kernel called nobody"),
        ("scale", ("out=zeros:float32[4]", "n=1", "factor=1", "x=2"), ArgumentError, "x"),
        ("scale", ("out=3",), ArgumentError, "is not a buffer"),
        ("scale", ("n=many",), ArgumentError, "n"),
    ],
)
def test_mistakes(file, kernel, arguments, error, message) -> None:
    with pytest.raises(error, match=message):
        workload_of(file, *arguments, kernel=kernel)


def test_every_mistake_is_told_at_once(file) -> None:
    found = read_ptx(str(file), "scale")
    launch = asked(file, "out=3", "n=x", "factor=1", grid="0", block="many", shared="-1")
    with pytest.raises(FieldErrors) as caught:
        ptx_workload(found, launch)
    assert {"block", "arg:out", "arg:n"} <= set(caught.value.fields)


def test_text_that_is_no_ptx(tmp_path) -> None:
    path = tmp_path / "bad.ptx"
    path.write_text("int main() { return 0; }")
    with pytest.raises(PtxSyntaxError):
        read_ptx(str(path))


STRUCTURE = """.version 8.0
.target sm_80
.address_size 64
.visible .entry fill(.param .align 8 .b8 a[24], .param .u32 value)
{
  .reg .pred p; .reg .b32 i, v, n; .reg .b64 x, length;
  ld.param.u64 x, [a]; ld.param.u64 length, [a+16]; ld.param.u32 v, [value];
  mov.u32 i, %tid.x; cvt.u32.u64 n, length;
  setp.ge.u32 p, i, n;
  @p bra DONE;
  mad.wide.u32 x, i, 4, x;
  st.global.u32 [x], v;
DONE:
  ret;
}
"""


def test_a_structure_is_given_by_the_pieces_that_are_read(tmp_path) -> None:
    path = tmp_path / "julia.ptx"
    path.write_text(STRUCTURE)
    workload = workload_of(path, "a.at16=20", "value=7", grid="1", block="32")
    assert [a.name for a in workload.launch.arguments] == ["a.at0", "a.at16", "value"]
    trace = record(workload)
    assert not trace.findings
    assert trace.outputs["a.at0"].tolist() == [7] * 20


def test_a_structure_that_nothing_reads_is_not_asked_for(file) -> None:
    workload = workload_of(file, "p0=1", kernel="other_param_")
    assert [a.name for a in workload.launch.arguments] == ["p0", "s"]
    assert not record(workload).findings


SMALL_TILE = """.version 8.0
.target sm_80
.address_size 64
.visible .entry turn(.param .u64 out)
{
  .shared .align 4 .b8 tile[128];
  .reg .b32 i, v; .reg .b64 x, t;
  ld.param.u64 x, [out];
  mov.u32 i, %tid.x; mul.wide.u32 t, i, 4; add.u64 x, x, t;
  mov.u64 x, x; mov.u64 t, tile; mad.wide.u32 t, i, 4, t;
  st.shared.u32 [t], i; bar.sync 0; ld.shared.u32 v, [t]; st.global.u32 [x], v;
  ret;
}
"""


def test_a_block_fits_the_shared_arrays(tmp_path) -> None:
    path = tmp_path / "turn.ptx"
    path.write_text(SMALL_TILE)
    workload = workload_of(path)
    assert workload.launch.block == Dim3(32)
    trace = record(workload)
    assert not trace.findings
    assert trace.outputs["out"].reshape(-1)[:32].tolist() == list(range(32))
    assert workload_of(path, block="8").launch.block == Dim3(8)


PYTHON = """import triton
def add(x_ptr, n, BLOCK: tl.constexpr):
    x = load(x_ptr)
"""
MAPPED = """.version 8.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 global_smem[];
.visible .entry add(.param .u64 .ptr .global .align 1 add_param_0, .param .u32 add_param_1,
  .param .u64 .ptr .global .align 1 add_param_2)
{
  .reg .b32 i, v; .reg .b64 x;
  .loc 1 2 0
  ld.param.b64 x, [add_param_0];
  .loc 2 90 3, function_name $L__info, inlined_at 1 3 9
  .loc 2 70 3, function_name $L__info, inlined_at 2 90 3
  mov.u32 i, %tid.x; mad.wide.u32 x, i, 4, x;
  ld.global.b32 v, [x];
  .loc 2 50 1
  add.s32 v, v, 1;
  ret;
}
  .file 1 "/home/somebody/elsewhere/kernels.py"
  .file 2 "/home/somebody/triton/standard.py"
"""


@pytest.fixture
def mapped(tmp_path):
    (tmp_path / "kernels.py").write_text(PYTHON)
    path = tmp_path / "add.ptx"
    path.write_text(MAPPED)
    return path


def test_lines_are_those_of_the_source_beside_the_file(mapped) -> None:
    workload = workload_of(mapped)
    assert (workload.source, workload.source_name) == (PYTHON, "kernels.py")
    assert [a.name for a in workload.launch.arguments] == ["x_ptr", "n", "add_param_2"]
    assert not workload.launch.arguments[2].value.any()  # Triton's own, which nothing uses
    trace = record(workload)
    assert list(trace.counters.by_line) == [3]  # of two functions inlined there


def test_without_the_source_the_ptx_is_stepped_through(mapped) -> None:
    (mapped.parent / "kernels.py").unlink()
    workload = workload_of(mapped)
    assert workload.source_name == "add.ptx"
    (line,) = record(workload).counters.by_line
    assert "ld.global.b32" in workload.source.splitlines()[line - 1]


def test_tritons_metadata_beside_the_file_is_the_launch(mapped) -> None:
    said = {"name": "add", "num_warps": 2, "shared": 96}
    (mapped.parent / "add.json").write_text(json.dumps(said))
    whole = complete_ptx(read_ptx(str(mapped)), asked(mapped))
    assert (whole.block, whole.shared) == ("64", "96")
    (mapped.parent / "add.json").write_text(json.dumps(said | {"name": "another"}))
    whole = complete_ptx(read_ptx(str(mapped)), asked(mapped))
    assert (whole.block, whole.shared) == ("128", "0")


# Each block of a cluster of two copies rows of `from` into the other's shared memory, and a whole
# warp stores them.
EXCHANGE = r"""
struct alignas(64) Map { unsigned long long words[16]; };
struct Rows { int first; Map from, to; };
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void exchange(const __grid_constant__ Rows rows)
{
    __shared__ __align__(128) float tile[8][32];
    __shared__ __align__(8) unsigned long long full;
    unsigned rank, mine = at(&full);
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(mine));
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;" :: "r"(mine));
    }
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
    if (threadIdx.x == 0)
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                     ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;"
                     :: "r"(at(tile)), "l"(&rows.from), "r"(0), "r"(rows.first + 8 * (int)rank),
                        "r"(mine), "h"((short)(1 << (1 - rank))) : "memory");
    asm volatile("{ .reg .pred q; again: mbarrier.try_wait.parity.shared::cta.b64 q, [%0], 0; "
                 "@!q bra again; }" :: "r"(mine) : "memory");
    if (threadIdx.x < 32) {
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];"
                     :: "l"(&rows.to), "r"(0), "r"(8 * (int)rank), "r"(at(tile)) : "memory");
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
    }
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
}
"""


@pytest.fixture
def exchange(tmp_path):
    ptx = compile_ptx(EXCHANGE, kernel="exchange", architecture="compute_90a").ptx
    path = tmp_path / "exchange.ptx"
    path.write_text(ptx + "\0")  # as nvrtcGetPTX returns it
    return path


def test_tensor_maps_within_a_structure_and_a_cluster_of_the_launch(exchange) -> None:
    launch = FileLaunch(
        str(exchange), "", "2", "64", "0", "",
        (
            ("p0.at0", "3"),
            ("p0.at64", "tensormap(float32[20,32], box=32x8)"),
            ("p0.at192", "tensormap(zeros:float32[16,32], box=32x8)"),
        ),
        cluster="2",
    )  # fmt: skip
    file = read_ptx(str(exchange))
    workload = ptx_workload(file, complete_ptx(file, launch))
    trace = record(workload)
    assert trace.findings == ()
    arrays = {array.name: array.data for array in workload.launch.arrays}
    wanted = np.concatenate((arrays["p0.at64"][11:19], arrays["p0.at64"][3:11]))
    assert np.array_equal(trace.outputs["p0.at192"], wanted)
    assert trace.counters.totals["global_tma_st_requests"].value == 2


def test_a_cluster_is_sizes(exchange) -> None:
    file = read_ptx(str(exchange))
    launch = FileLaunch(str(exchange), "", "2", "64", "0", "", cluster="two")
    with pytest.raises(TilescopeError, match="`two` is not a cluster: write one to three sizes"):
        ptx_workload(file, launch)


SUMMED = r"""
extern "C" __global__ void summed(const float* x, float* sums)
{
    __shared__ __align__(16) float tile[64];
    tile[threadIdx.x] = x[64 * blockIdx.x + threadIdx.x];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0)
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], 256;"
                     "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
                     :: "l"(sums + 64 * (blockIdx.x % 2)),
                        "r"((unsigned)__cvta_generic_to_shared(tile)) : "memory");
}
"""


def test_what_a_bulk_reduction_updates_is_an_array_as_long_as_it_reaches(tmp_path) -> None:
    path = tmp_path / "summed.ptx"
    path.write_text(compile_ptx(SUMMED, kernel="summed", architecture="compute_90").ptx)
    file = read_ptx(str(path))
    launch = complete_ptx(file, FileLaunch(str(path), "", "5", "64", "0", ""))
    assert dict(launch.arguments) == {"p0": "float32[320]", "p1": "float32[128]"}
    trace = record(ptx_workload(file, launch))
    assert trace.findings == ()
    x, before = (array.data for array in trace.workload.launch.arrays)
    sums = x.reshape(5, 64)
    wanted = before + np.concatenate((sums[::2].sum(0), sums[1::2].sum(0)))
    assert np.allclose(trace.outputs["p1"], wanted)
