"""PTX that is not NVRTC's: what LLVM's back-ends and people's own generators write."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import TilescopeError
from core.ptx.lexer import sections
from core.ptx.parser import parse
from tests.core.emulator.machines import HEADER, run_ptx


@pytest.mark.parametrize(
    "ending",
    [
        "\t.section\t.debug_macinfo\t{\t}\n",
        ".section .debug_loc { }",
        ".section .debug_loc { .b8 1 } // a } in a comment\n",
        ".section .debug_loc { // a } in a comment\n.b8 1\n}\n",
        ".section .a { }\n.section .b\n{\n.b8 1 // }\n}\n.section .c {\t}\n",
    ],
)
def test_sections_of_one_line_and_of_several(ending) -> None:
    text = f"{HEADER}.entry k() {{ ret; }}\n{ending}"
    module = parse(text)
    assert [i.opcode for i in module.instructions] == ["ret"]
    assert len(list(sections(text))) == ending.count(".section")
    for section in sections(text):
        assert text[section.end - 1] == "}"


def test_a_global_array_within_a_function_is_one_for_all_and_the_functions_own() -> None:
    kernel = """
.visible .entry {0}(.param .u64 out) {{
  .global .align 4 .u32 table[2] = {{{1}, {2}}};
  .reg .b64 a; .reg .u32 x, y;
  ld.param.u64 a, [out];
  ld.global.u32 x, [table+4];
  atom.global.add.u32 y, [table], 1;
  st.global.u32 [a], x; mov.u32 x, %tid.x; mad.wide.u32 a, x, 4, a; st.global.u32 [a+4], y;
  ret;
}}"""
    text = HEADER + kernel.format("j", 5, 6) + kernel.format("k", 70, 80)
    (out,) = run_ptx(text, [np.zeros(33, np.uint32)])
    assert out.tolist() == [80, *range(70, 102)]


def test_vectors_of_registers_are_moved_and_passed_whole() -> None:
    text = (
        HEADER
        + """
.func (.reg .v2 .f32 r) sums(.reg .v2 .f32 a, .reg .f32 b) {
  add.f32 r.x, a.x, b; sub.f32 r.y, a.y, b; ret;
}
.visible .entry k(.param .u64 out) {
  .reg .v4 .u32 v, w; .reg .v2 .f32 p, q; .reg .b64 a; .reg .f32 f; .reg .u32 x;
  ld.param.u64 a, [out];
  mov.u32 x, %tid.x; mad.wide.u32 a, x, 40, a;
  mov.v4.u32 v, {1, x, 3, 4};
  mov.v4.u32 w, v;
  mov.v4.u32 v, %ntid;
  cvt.rn.f32.u32 p.x, x; mov.f32 p.y, 2.5; mov.f32 f, 1.5;
  call (q), sums, (p, f);
  st.global.v2.u32 [a], {w.x, w.y}; st.global.v2.u32 [a+8], {w.z, w.w};
  st.global.v2.u32 [a+16], {v.x, v.y}; st.global.v2.u32 [a+24], {v.z, v.w};
  st.global.v2.f32 [a+32], q;
  ret;
}"""
    )
    (out,) = run_ptx(text, [np.zeros((32, 10), np.uint32)])
    lanes = np.arange(32)
    wanted = np.broadcast_to([1, 0, 3, 4, 32, 1, 1, 0], (32, 8)).copy()
    wanted[:, 1] = lanes
    assert (out[:, :8] == wanted).all()
    floats = np.ascontiguousarray(out[:, 8:]).view(np.float32)
    assert (floats == np.stack([lanes + 1.5, np.full(32, 1.0)], 1)).all()


def test_an_address_with_an_offset_is_a_value() -> None:
    text = (
        HEADER
        + """
.global .u64 counts[4] = {11, 22, 33, 44};
.visible .entry k(.param .u64 out) {
  .reg .b64 a, b, c;
  ld.param.u64 a, [out];
  st.global.u64 [a], counts + 8;
  ld.global.u64 b, [a];
  ld.global.u64 c, [b];
  st.global.u64 [a+8], c;
  ret;
}"""
    )
    (out,) = run_ptx(text, [np.zeros(2, np.uint64)])
    assert out[1] == 22


def test_cache_policies_do_nothing() -> None:
    text = (
        HEADER
        + """
.visible .entry k(.param .u64 out) {
  .reg .b64 a, p; .reg .u32 x;
  ld.param.u64 a, [out];
  createpolicy.fractional.L2::evict_last.b64 p, 1.0;
  ld.global.L1::evict_last.L2::cache_hint.u32 x, [a], p;
  add.u32 x, x, 1;
  createpolicy.range.L2::evict_first.L2::evict_unchanged.b64 p, [a], 64, 128;
  st.global.L2::cache_hint.u32 [a+4], x, p;
  ret;
}"""
    )
    (out,) = run_ptx(text, [np.array([7, 0], np.uint32)])
    assert out.tolist() == [7, 8]


def test_128_bits_are_moved_exchanged_and_compared_whole() -> None:
    text = (
        HEADER
        + """
.visible .entry k(.param .u64 cells, .param .u64 out) {
  .reg .b64 a, o, l, h; .reg .b32 i; .reg .b128 w, c, n, r; .reg .pred p;
  ld.param.u64 a, [cells]; ld.param.u64 o, [out];
  mov.u32 i, %tid.x; mad.wide.u32 o, i, 16, o;
  mov.b64 l, 5; mov.b64 h, 6; mov.b128 c, {l, h};
  cvt.u64.u32 l, i; mov.b64 h, -1; mov.b128 n, {l, h};
  atom.global.exch.b128 r, [a], n;
  mov.b128 {l, h}, r;
  st.global.v2.u64 [o], {l, h};
  atom.global.cas.b128 r, [a+16], c, n;
  st.global.b128 [o+512], r;
  ld.global.b128 w, [a+32];
  st.global.b128 [o+1024], w;
  ret;
}"""
    )
    cells = np.array([[1, 2], [5, 6], [2**63, 7]], np.uint64)
    cells, out = run_ptx(text, [cells, np.zeros((96, 2), np.uint64)])
    ones = 2**64 - 1
    assert out[:32].tolist() == [[1, 2], *([i, ones] for i in range(31))]  # lane after lane
    assert cells.tolist() == [[31, ones], [0, ones], [2**63, 7]]
    assert out[32:64].tolist() == [[5, 6], *([0, ones] for _ in range(31))]
    assert (out[64:] == [2**63, 7]).all()


@pytest.mark.parametrize(
    "code", ["atom.global.add.b128 w, [a], w;", "add.b128 w, w, w;", "mov.b128 a, {a, a};",
             "mov.b128 w, 1;", "ld.global.b128 a, [a];"],
)  # fmt: skip
def test_128_bits_do_nothing_else(code) -> None:
    text = f"{HEADER}.entry k(.param .u64 p) {{ .reg .b64 a; .reg .b128 w; {code} ret; }}"
    with pytest.raises(TilescopeError, match="PTX line 4"):
        run_ptx(text, [np.zeros(4)])


def test_a_register_may_follow_an_opcode_without_a_space() -> None:
    text = f"""{HEADER}.entry k(.param .u64 out) {{
        .reg .u64 %p; .reg .u32 %r<3>;
        ld.param.u64 %p, [out];
        mov.u32%r1, %laneid;
        mad.wide.u32%p, %r1, 4, %p;
        st.global.u32 [%p], %r1;
        ret;
    }}"""
    (out,) = run_ptx(text, [np.zeros(32, np.uint32)])
    assert out.tolist() == list(range(32))
