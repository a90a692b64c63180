"""PTX files that people wrote by hand, as the command line runs them."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import ArgumentError, PtxSyntaxError, TilescopeError
from core.launch import ArrayArgument, Dim3, ScalarArgument
from core.launching.ptx_files import ptx_workload
from core.runs.recording import record

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


def test_a_file_is_run_and_its_lines_are_the_source(file) -> None:
    arguments = ("factor=-0.5", "out=range:float32[40]", "n=30")
    workload, build = ptx_workload(file, "scale", Dim3(1), Dim3(64), args=arguments)
    assert [type(a) for a in workload.launch.arguments] == [
        ArrayArgument, ScalarArgument, ScalarArgument
    ]  # fmt: skip
    trace = record(workload, build=build)
    before = np.arange(40, dtype=np.float32)
    wanted = np.where(np.arange(40) < 30, before * np.float32(-0.5), before)
    assert (trace.outputs["out"] == wanted).all()
    assert sorted(line for line in trace.counters.by_line) == [12, 14]


@pytest.mark.parametrize(
    ("kernel", "arguments", "error", "message"),
    [
        (None, (), TilescopeError, "several kernels"),
        ("nobody", (), TilescopeError, "no kernel called nobody"),
        ("scale", ("out=zeros:float32[4]",), ArgumentError, "needs an argument for"),
        ("scale", ("out=zeros:float32[4]", "n=1", "factor=1", "x=2"), ArgumentError, "x"),
        ("other_param_", ("p0=1",), TilescopeError, "structure of 12 bytes"),
    ],
)
def test_mistakes(file, kernel, arguments, error, message) -> None:
    with pytest.raises(error, match=message):
        ptx_workload(file, kernel, Dim3(1), Dim3(32), args=arguments)


def test_text_that_is_no_ptx(tmp_path) -> None:
    path = tmp_path / "bad.ptx"
    path.write_text("int main() { return 0; }")
    with pytest.raises(PtxSyntaxError):
        ptx_workload(path, None, Dim3(1), Dim3(32))
