"""Loads of shared memory that the assembler joins: where it does, and where it must not."""

from __future__ import annotations

import pytest

from core.assembler.wide_shared_loads import wide_loads
from core.ptx.parser import parse

PTX = """
.version 8.0
.target sm_90{debug}
.address_size 64
.visible .entry k(.param .u64 out)
{{
    .reg .b32 %r<4>;
    .reg .f32 %f<9>;
    .shared .align 4 .b8 s[1024];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, s;
    mad.lo.s32 %r3, %r1, {stride}, %r2;
    ld.shared.f32 %f1, [%r3+4];
    ld.shared.f32 %f2, [%r3];
    {between}
    ld.shared.f32 %f3, [%r3+12];
    ld.shared.f32 %f4, [%r3+16];
    ret;
}}
"""


@pytest.mark.parametrize(
    ("stride", "between", "debug", "want"),
    [
        (32, "", "", [(16, -4, 2)]),
        (8, "", "", [(8, -4, 1)]),
        (20, "", "", []),
        (32, "bar.sync 0;", "", [(8, -4, 1)]),
        (32, "st.shared.f32 [%r2], %f1;", "", [(8, -4, 1)]),
        (32, "", ", debug", []),
    ],
)
def test_loads_that_are_joined(stride, between, debug, want) -> None:
    module = parse(PTX.format(stride=stride, between=between, debug=debug))
    found = [(w.width, w.shift, len(w.others)) for w in wide_loads(module).values()]
    assert found == want
