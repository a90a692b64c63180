"""docs/ptx.md says what is executed and what is not; both halves are checked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from core.emulator.decode import executed_opcodes
from core.errors import TilescopeError
from tests.core.emulator.machines import HEADER, run_ptx

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "ptx.md").read_text(encoding="utf-8")
DECLARATIONS = """.visible .entry k()
{
    .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .f32 %f<9>;
    .reg .b64 %d<9>; .reg .f64 %g<9>;
"""
LEFT_OUT = re.findall(r"^\| `(.+?;)` \|", PAGE, re.MULTILINE)


def test_the_opcodes_are_the_programs() -> None:
    listed = PAGE.partition("these opcodes:")[2].partition("Special registers")[0]
    assert set(re.findall(r"`(\w+)`", listed)) == executed_opcodes()


# PTX ISA 9.0, "Instruction Set": every opcode there is.
OPCODES = """
abs activemask add addc alloca and applypriority atom bar barrier bfe bfi bfind bmsk bra brev
brkpt brx call clusterlaunchcontrol clz cnot copysign cos cp createpolicy cvt cvta discard div
dp2a dp4a elect ex2 exit fence fma fns getctarank griddepcontrol isspacep istypep ld ldmatrix
ldu lg2 lop3 mad mad24 madc mapa match max mbarrier membar min mma mov movmatrix mul mul24
multimem nanosleep neg not or pmevent popc prefetch prefetchu prmt rcp red redux rem ret rsqrt
sad selp set setmaxnreg setp shf shfl shl shr sin slct sqrt st stackrestore stacksave stmatrix
sub subc suld suq sured sust szext tanh tcgen05 tensormap testp tex tld4 trap txq vabsdiff
vabsdiff2 vabsdiff4 vadd vadd2 vadd4 vavrg2 vavrg4 vmad vmax vmax2 vmax4 vmin vmin2 vmin4 vote
vset vset2 vset4 vshl vshr vsub vsub2 vsub4 wgmma wmma xor
"""
EVERY = frozenset(re.findall(r"\w+", OPCODES))


def test_every_opcode_of_the_isa_is_executed_or_in_the_table() -> None:
    left_out = {re.split(r"\W", text)[0] for text in LEFT_OUT}
    assert executed_opcodes() <= EVERY
    assert EVERY - executed_opcodes() <= left_out


def test_the_table_is_there() -> None:
    assert len(LEFT_OUT) >= 15


@pytest.mark.parametrize("text", LEFT_OUT)
def test_what_is_left_out_is_refused(text) -> None:
    with pytest.raises(TilescopeError) as caught:
        run_ptx(f"{HEADER}{DECLARATIONS}    {text}\n    ret;\n}}\n", [])
    assert "PTX line 8" in str(caught.value)
