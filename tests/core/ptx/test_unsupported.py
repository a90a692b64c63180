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

REFUSED = [
    "add.cc.u32 %r1, %r2, %r3;", "addc.u32 %r1, %r2, %r3;", "sub.cc.s32 %r1, %r2, %r3;",
    "subc.cc.u32 %r1, %r2, %r3;", "mad.lo.cc.u32 %r1, %r2, %r3, %r4;",
    "madc.hi.u32 %r1, %r2, %r3, %r4;", "add.rz.f32 %f1, %f2, %f3;", "mul.rm.f64 %g1, %g2, %g3;",
    "fma.rp.f32 %f1, %f2, %f3, %f4;", "fma.rn.relu.f16 %h1, %h2, %h3, %h4;",
    "min.NaN.f32 %f1, %f2, %f3;", "max.xorsign.abs.f32 %f1, %f2, %f3;",
    "max.relu.s32 %r1, %r2, %r3;", "min.f32 %f1, %f2, %f3, %f4;", "add.f16x2 %r1, %r2, %r3;",
    "add.rn.bf16 %h1, %h2, %h3;", "cvt.rna.tf32.f32 %r1, %f1;", "cvt.rn.bf16.f32 %h1, %f1;",
    "cvt.rz.f32.f64 %f1, %g1;", "cvt.rn.relu.f16.f32 %h1, %f1;", "cvt.rz.f32.s32 %f1, %r1;",
    "cvt.rn.f16x2.f32 %r1, %f1, %f2;", "prmt.b32.f4e %r1, %r2, %r3, %r4;",
    "fns.b32 %r1, %r2, %r3, %r4;", "bmsk.clamp.b32 %r1, %r2, %r3;", "szext.wrap.u32 %r1, %r2, %r3;",
    "ld.global.b128 %d1, [%d2];", "atom.global.add.noftz.f16 %h1, [%d1], %h2;",
    "atom.global.add.f16x2 %r1, [%d1], %r2;", "red.global.add.v2.f32 [%d1], {%f1, %f2};",
    "bar.red.popc.u32 %r1, 0, %p1;", "bar.arrive 0, 64;", "barrier.cluster.arrive;",
    "match.all.sync.b32 %r1|%p1, %r2, -1;", "elect.sync %r1|%p1, -1;", "call %d1, (), P;",
    "cp.async.ca.shared.global [%r1], [%d1], 4;", "ldmatrix.sync.aligned.m8n8.x1.b16 {%r1}, [%r2];",
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1}, {%r1}, {%r2}, {%f1};",
    pytest.param(
        "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%d1, {%r1}];",
        marks=pytest.mark.xfail(strict=True, reason="[a, {b}] is a syntax error to the parser"),
    ),
    "vadd.s32.s32.s32 %r1, %r2, %r3;",
    "bra NOWHERE;", "add.u32 %r1, %r2;", "add.u32 %r1, %r2, %r3, %r4;", "selp.b32 %r1, %r2, %r3;",
    "nonsense.u32 %r1, %r2;", "setp.u32 %p1, %r1, %r2;", "mov.b32 5, %r1;",
    "add.u32 %r1, [%r2], 1;", "and.f32 %f1, %f2, %f3;", "fma.rn.s32 %r1, %r2, %r3, %r4;",
    "bfe.f32 %f1, %f2, %r1, %r2;", "mul.wide.s64 %d1, %d2, %d3;", "testp.odd.f32 %p1, %f1;",
    "popc.b32 %r1;",
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_refused_with_line_and_text(text) -> None:
    ptx = f"{HEADER}{DECLARATIONS}    {text}\n    ret;\n}}\n"
    with pytest.raises(UnsupportedPtx) as caught:
        run_ptx(ptx, [])
    assert caught.value.text == text
    assert caught.value.line == 9
    assert f"PTX line 9: `{text}`" in str(caught.value)
