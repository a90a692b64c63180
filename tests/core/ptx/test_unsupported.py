"""What is not executed is refused with its line and its text, never done wrongly in silence."""

from __future__ import annotations

import pytest

from core.errors import UnsupportedPtx
from tests.core.emulator.machines import HEADER, run_ptx

DECLARATIONS = """.visible .entry k()
{
    .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .f32 %f<9>;
    .reg .b64 %d<9>; .reg .f64 %g<9>;
    mov.u32 %r1, 1;
"""

MALFORMED = [
    "bra NOWHERE;", "add.u32 %r1, %r2;", "add.u32 %r1, %r2, %r3, %r4;", "selp.b32 %r1, %r2, %r3;",
    "nonsense.u32 %r1, %r2;", "setp.u32 %p1, %r1, %r2;", "mov.b32 5, %r1;", "popc.b32 %r1;",
    "add.u32 %r1, [%r2], 1;", "and.f32 %f1, %f2, %f3;", "fma.rn.s32 %r1, %r2, %r3, %r4;",
    "bfe.f32 %f1, %f2, %r1, %r2;", "mul.wide.s64 %d1, %d2, %d3;", "testp.odd.f32 %p1, %f1;",
    "mov.u32 %r1, %d1, %d2;",
]  # fmt: skip
NOT_EXECUTED = [
    "ld.global.b128 %d1, [%d2];", "add.rz.relu.f32 %f1, %f2, %f3;",
    "cvt.rn.satfinite.scaled::n2::ue8m0.e4m3x2.f32 %h1, %f1, %f2;",
    "vadd.u32.u32.u32 %r1.b0, %r2, %r3, %r4;", "cp.async.bulk.wait_group %r1;",
    "cp.async.ca.shared.global [%r1], [%d1], 5;",
    "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1, %r3}, [%r2];",
    "ldmatrix.sync.aligned.m8n8.x2.b16 {%r1}, [%r2];",
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1}, {%r1}, {%r2}, {%f1};",
    "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r2}, {%f1};",
    "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r2}, {%f1}, %r3, 0;",
    "wgmma.wait_group.sync.aligned %r1;", "call NOBODY, (), P;", "brx.idx %r1, NOWHERE;",
    "red.global.add.v2.f32 [%d1], {%f1};", "cvt.rn.f16x2.ue8m0x2 %r1, %h1;",
    "tex.cube.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d1, {%f5, %f6, %f7, %f7}];",
    "ld.k.global.u32 %r1, [%d1];",
    "mul.k.lo.u32 %r1, %r2, %r3;", "ld..global.u32 %r1, [%d1];", "add.sat.u32 %r1, %r2, %r3;",
    "shfl.sync.b32 %r1, %r2, 0, 31, -1;", "vote.sync.b32 %r1, %p1, -1;", "addc.u32 %r1, %r2;",
    "match.any.b32 %r1, %r2;", "@%r1 mov.u32 %r2, 1;", "setp.lt.s32 %p1, %r1, %r2, %p2;",
    "mov.u32 %r1, 1.5;", "ldmatrix.sync.aligned.m8n8.shared.b16 {%r1}, [%r2];",
    "mma.sync.aligned.m16n8k1.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r2}, {%f1};",
]  # fmt: skip
REFUSED = [*MALFORMED, *NOT_EXECUTED]


@pytest.mark.parametrize("text", REFUSED)
def test_refused_with_line_and_text(text) -> None:
    ptx = f"{HEADER}{DECLARATIONS}    {text}\n    ret;\n}}\n"
    with pytest.raises(UnsupportedPtx) as caught:
        run_ptx(ptx, [])
    assert caught.value.text == text
    assert caught.value.line == 9
    assert f"PTX line 9: `{text}`" in str(caught.value)
