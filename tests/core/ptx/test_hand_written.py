"""PTX as people write it by hand: old versions, registers of any name, numbers of any kind."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import TilescopeError
from core.launch import Dim3
from tests.core.emulator.machines import run_ptx

PLAIN_NAMES = """
.version 3.2
.target sm_30        // an old target
.address_size 64
.global .align 4 .f32 table[4] = {1.0, -2.5, 0f40400000, 4e0};
/* no .visible,
   no percent signs */
.entry k (.param .u64 out, .param .u64 in)
{
    .reg .u64 base, from; .reg .u32 tid, lane<3>, $odd, _under; .reg .f32 x, y; .reg .pred p, q;
    ld.param.u64 base, [out]; ld.param.u64 from, [in];
    mov.u32 tid, %tid.x; mov.u32 lane2, WARP_SZ; mov.u32 $odd, 0x1F; mov.u32 _under, 017;
    mad.wide.u32 base, tid, 4, base;
    mad.wide.u32 from, tid, 4, from;
    ld.global.f32 x, [from];
    setp.gt.and.f32 p|q, x, 0f00000000, 1;
    { .reg .f32 x; mov.f32 x, 0f41200000; @q mad.f32 y, x, x, x; }
    @p ld.global.f32 y, [table+4];
    @!p bra $L_1;
    add.f32 y, y, x;
$L_1:
    cvt.rn.f32.u32 x, lane2; add.f32 y, y, x;
    cvt.rn.f32.u32 x, $odd; add.f32 y, y, x;
    cvt.rn.f32.u32 x, _under; sub.f32 y, y, x;
    st.global.f32 [base], y;
    exit;
}
"""
BEFORE_VOLTA = """
.version 4.3
.target sm_35
.address_size 64
.visible .entry k(.param .u64 .ptr .global .align 4 out, .param .u64 in)
{
    .reg .b64 %rd<4>; .reg .b32 r<8>; .reg .pred p<2>; .reg .v4 .u32 v; .reg .u16 h;
    ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [in];
    cvta.to.global.u64 %rd1, %rd1;
    mov.u32 r0, %tid.x; mul.wide.u32 %rd3, r0, 16; add.u64 %rd2, %rd2, %rd3;
    ld.global.v4.u32 v, [%rd2];
    add.u32 r1, v.x, v.w; sub.u32 r2, v.y, v.b;
    shfl.down.b32 r3|p0, r1, 0b1, 0x1f;
    setp.ne.u32 p1, r2, 0; vote.ballot.b32 r4, p1;
    popc.b32 r4, r4; xor.b32 r5, r3, r4;
    cvt.u16.u32 h, r5; mul.wide.u16 r6, h, 3;
    mul.wide.u32 %rd3, r0, 4; add.u64 %rd1, %rd1, %rd3;
    st.global.u32 [%rd1+0], r6;
}
"""


def test_registers_of_any_name_and_numbers_of_any_kind() -> None:
    data = np.linspace(-2, 3, 40).astype(np.float32)
    out, _ = run_ptx(PLAIN_NAMES, [np.zeros(40, np.float32), data], block=Dim3(40))
    want = np.where(data > 0, -2.5 + data.astype(np.float64), 110) + 32 + 31 - 15
    assert np.abs(out - want).max() < 1e-5


def test_shuffles_and_votes_without_sync_and_vector_registers() -> None:
    data = np.random.default_rng(4).integers(0, 3, (32, 4), np.uint32)
    out, _ = run_ptx(BEFORE_VOLTA, [np.zeros(32, np.uint32), data.reshape(-1)])
    total = data[:, 0] + data[:, 3]
    down = np.append(total[1:], total[31])
    votes = np.count_nonzero(data[:, 1] != data[:, 2])
    assert out.tolist() == (((down ^ votes) & 0xFFFF) * 3).tolist()


@pytest.mark.parametrize("version", ["1.4", "2.0", "5.0", "7.8", "9.5", "12.0"])
def test_any_version_is_read(version) -> None:
    text = PLAIN_NAMES.replace(".version 3.2", f".version {version}")
    out, _ = run_ptx(text, [np.zeros(4, np.float32), np.ones(4, np.float32)], block=Dim3(4))
    assert out.tolist() == [46.5] * 4


def test_pointers_of_32_bits_are_refused_by_name() -> None:
    text = """.version 3.2\n.target sm_30\n.address_size 32
.entry k(.param .u32 out) { .reg .u32 a; ld.param.u32 a, [out]; st.global.u32 [a], 7; ret; }"""
    with pytest.raises(TilescopeError, match=r"line 3: `.address_size 32` is not supported: use"):
        run_ptx(text, [np.zeros(4, np.float32)])
