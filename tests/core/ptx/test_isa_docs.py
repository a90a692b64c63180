"""The table of opcodes, and docs/ptx.md, which is written from it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from core.emulator import decode
from core.emulator.decode import decoded_opcodes
from core.errors import TilescopeError
from core.ptx import opcodes
from core.ptx.opcodes import OPCODES
from tests.core.emulator.machines import HEADER, run_ptx

ROOT = Path(__file__).resolve().parents[3]
DECLARATIONS = """.visible .entry k()
{
    .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .f32 %f<9>;
    .reg .b64 %d<9>; .reg .f64 %g<9>;
"""
LEFT_OUT = [text for row in OPCODES.values() for text, _ in row.refused]


def test_the_page_is_that_of_the_table() -> None:
    script = ROOT / "scripts" / "opcodes_page.py"
    done = subprocess.run([sys.executable, script, "--check"], check=False)
    assert done.returncode == 0, "run scripts/opcodes_page.py"


def test_each_executed_opcode_has_a_function() -> None:
    rows = {row.name for row in OPCODES.values() if row.is_executed and row.kind != "hint"}
    assert rows == decoded_opcodes()


# PTX ISA 9.0, "Instruction Set": every opcode there is.
ISA = """
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
EVERY = frozenset(re.findall(r"\w+", ISA))


def test_every_opcode_of_the_isa_has_one_row() -> None:
    assert len(opcodes._ROWS) == len(OPCODES)
    assert OPCODES.keys() == EVERY


def test_what_has_no_function_says_why() -> None:
    for row in OPCODES.values():
        assert row.is_executed or row.refused
        assert all(re.split(r"\W", text)[0] == row.name for text, _ in row.refused)


@pytest.mark.parametrize("text", LEFT_OUT)
def test_what_is_left_out_is_refused(text) -> None:
    with pytest.raises(TilescopeError) as caught:
        run_ptx(f"{HEADER}{DECLARATIONS}    {text}\n    ret;\n}}\n", [])
    assert "PTX line 8" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "why"),
    [  # as NVIDIA's assembler accepts them
        ("st.bulk.shared::cta [%d1], 64, 0;", "fills by the bulk copy engine"),
    ],
)
def test_a_form_that_is_legal_is_refused_with_its_reason(text, why) -> None:
    with pytest.raises(TilescopeError) as caught:
        run_ptx(f"{HEADER}{DECLARATIONS}    {text}\n    ret;\n}}\n", [])
    assert re.search(rf"`{re.escape(text)}` is not executed \({why}", str(caught.value))


def test_what_the_decoder_names_is_there():
    for function in decode._SPECIAL.values():
        assert callable(decode._loaded(function))
