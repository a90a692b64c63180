"""Text that is not PTX ends in an error that names its line."""

from __future__ import annotations

import pytest

from core.errors import PtxSyntaxError, UnsupportedPtx
from core.ptx.parser import parse
from tests.core.emulator.machines import HEADER, run_ptx
from tests.core.ptx.ptx_texts import body

BAD = [
    ("mov.u32 %r1 %%, 1;", 5), ("\nmov.u32 %nope, 1;", 6), ("`", 5), ("\n\n.reg .b32 %r<;", 7),
    ("mov.u32 5x;", 5),
    ("\n.reg .b32 %r1; ld.global.u32 %r1, [%r1;", 6), ("@5 ret;", 5),
    (".reg .b32 %a; mov.u32 %a, {1, 2;", 5),
]  # fmt: skip


@pytest.mark.parametrize(("code", "line"), BAD)
def test_malformed_statements_name_their_line(code, line) -> None:
    with pytest.raises(PtxSyntaxError, match=f"PTX line {line}: ") as caught:
        parse(f"{HEADER}.visible .entry k() {{\n{code}\nret;\n}}\n")
    assert caught.value.line == line


def test_text_that_ends_too_early() -> None:
    with pytest.raises(PtxSyntaxError, match=r"PTX line 6: .*closing } is missing"):
        parse(f"{HEADER}.visible .entry k() {{\nret;\n")
    with pytest.raises(PtxSyntaxError, match="middle of a statement"):
        parse(f"{HEADER}.visible .entry k() {{ .reg .b32 %r1; mov.u32 %r1,")
    assert parse("").functions == {}


@pytest.mark.parametrize("text", [".alias f, g;", ".visible .entry k() { .strange 5; ret; }"])
def test_unknown_directives(text) -> None:
    with pytest.raises(UnsupportedPtx, match="PTX line 4: "):
        parse(HEADER + text)


@pytest.mark.parametrize(
    "text",
    [
        '.file 0x "a.cu"', ".global .v2x .u32 x;",
        ".global .align 16. .b8 x[4];", ".global .u32 x[1.5];", '.file 1. "a"',
            ".visible .entry k() { .loc 1 26. 0 ret; }", ".visible .entry k() { .loc 1 2 5. ret; }",
            ".visible .entry k() { .reg .b32 %r<1.5>; ret; }",
    ],
)  # fmt: skip
def test_numbers_of_the_wrong_kind(text) -> None:
    with pytest.raises((PtxSyntaxError, UnsupportedPtx), match="PTX line 4: "):
        parse(HEADER + text)


@pytest.mark.parametrize(
    "text",
    [
        "call;", "bar.sync;",
        "bra;", "bra %r1;", "bra 5;", "ld.global.u32 %r1;", "st.global.u32;",
            "st.global.u32 [%d1];", "cvta.to.global.u64 %d1;", "atom.global.add.u32;",
            "atom.global.add.u32 %r1, %r2, %r3;", "atom.global.add.u32 %r1, [%d1];",
            "shfl.sync.idx.b32 %r1, %r1;", "vote.sync.any.pred %p1;",
            "mov.b64 {%r1, %r2, %r3}, %d1;", "isspacep.global %p1;", "activemask.b32;",
            "mov.b64 %d1, {};",
    ],
)  # fmt: skip
def test_instructions_that_lack_operands(text) -> None:
    code = f".reg .pred %p<3>; .reg .b32 %r<4>; .reg .b64 %d<3>;\n{text}"
    with pytest.raises((UnsupportedPtx, PtxSyntaxError), match="PTX line 7: "):
        run_ptx(body(code), [])


def test_a_register_count_beyond_reason() -> None:
    with pytest.raises((PtxSyntaxError, UnsupportedPtx)):
        parse(body(".reg .b32 %r<300000>;"))
