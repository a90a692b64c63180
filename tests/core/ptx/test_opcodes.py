"""The table of opcodes, what it says of whole instructions, and docs/ptx.md, written from it.

What is not executed is refused with its line and its text, never done wrongly in silence.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from core.emulator import decode
from core.emulator.decode import decoded_opcodes
from core.errors import TilescopeError, UnsupportedPtx
from core.ptx import opcodes
from core.ptx.dataflow import reads, results
from core.ptx.opcodes import OPCODES, changes_memory, opcode_of
from core.ptx.parser import parse
from tests.core.emulator.machines import HEADER, run_ptx

OPENING = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k()
{
    .reg .pred %p<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %d<9>;
"""


def instruction(text: str):
    """The parsed instruction."""
    return parse(f"{OPENING}    {text}\n}}\n").instructions[0]


@pytest.mark.parametrize(
    ("text", "written", "read"),
    [
        ("mul.lo.u32 %r1, %r2, %r3;", "%r1", "%r2 %r3"),
        ("@%p1 setp.lt.s32 %p2|%p3, %r1, 4;", "%p2 %p3", "%r1 %p1"),
        ("ld.shared.v2.f32 {%f1, %f2}, [%r1+8];", "%f1 %f2", "%r1"),
        ("st.global.v2.f32 [%d1], {%f1, %f2};", "", "%d1 %f1 %f2"),
        ("red.global.add.u32 [%d1], %r1;", "", "%d1 %r1"),
        ("atom.global.add.u32 %r1, [%d1], %r2;", "%r1", "%d1 %r2"),
        ("cp.async.ca.shared.global [%r1], [%d1], 4;", "", "%r1 %d1"),
        ("bar.sync %r1, %r2;", "", "%r1 %r2"),
        ("barrier.cta.red.popc.u32 %r1, 0, %p1;", "%r1", "%p1"),
        ("nanosleep.u32 %r1;", "", "%r1"),
        ("prefetch.global.L2 [%d1];", "", "%d1"),
        ("applypriority.global.L2::evict_normal [%d1], 128;", "", "%d1"),
        ("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%r2};", "", "%r1 %r2"),
        ("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r2];", "%r1", "%r2"),
        ("wmma.store.d.sync.aligned.row.m8n32k16.f32 [%d1], {%f1}, %r1;", "", "%d1 %f1 %r1"),
        ("wmma.load.c.sync.aligned.row.m8n32k16.f32 {%f1}, [%d1], %r1;", "%f1", "%d1 %r1"),
        ("mbarrier.init.shared.b64 [%r1], %r2;", "", "%r1 %r2"),
        ("mbarrier.arrive.shared.b64 %d1, [%r1];", "%d1", "%r1"),
        ("call (%r1), %d1, (%r2), P;", "%r1", "%d1 %r2"),
        ("call %d1, (%r2), P;", "", "%d1 %r2"),
        ("bra L; L:", "", ""),
    ],
)
def test_what_an_instruction_writes_and_reads(text, written, read) -> None:
    assert results(instruction(text)) == set(written.split())
    assert reads(instruction(text)) == set(read.split())


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("ld.shared.f32 %f1, [%r1];", False),
        ("st.shared.f32 [%r1], %f1;", True),
        ("cp.async.wait_all;", True),
        ("bar.warp.sync %r1;", True),
        ("mbarrier.test_wait.shared.b64 %p1, [%r1], %d1;", True),
        ("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%r2};", True),
        ("wmma.load.c.sync.aligned.row.m8n32k16.f32 {%f1}, [%d1], %r1;", False),
        ("wmma.store.d.sync.aligned.row.m8n32k16.f32 [%d1], {%f1}, %r1;", True),
        ("prefetch.global.L2 [%d1];", False),
        ("discard.global.L2 [%d1], 128;", True),
        ("shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;", False),
    ],
)
def test_what_changes_memory(text, changes) -> None:
    assert changes_memory(instruction(text)) is changes


@pytest.mark.parametrize(
    ("text", "ends", "falls"),
    [
        ("bra L; L:", True, False), ("ret;", True, False), ("trap;", True, False),
        ("call %d1, (), P;", True, True), ("brkpt;", False, True), ("bar.sync 0;", False, True),
    ],
)  # fmt: skip
def test_where_control_goes(text, ends, falls) -> None:
    row = opcode_of(instruction(text))
    assert (row.ends_block, row.falls_through) == (ends, falls)


def test_a_word_that_is_no_opcode_is_left_out() -> None:
    assert not opcode_of(instruction("nonsense.u32 %r1, %r2;")).is_executed


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


REGISTERS = """.visible .entry k()
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
    ptx = f"{HEADER}{REGISTERS}    {text}\n    ret;\n}}\n"
    with pytest.raises(UnsupportedPtx) as caught:
        run_ptx(ptx, [])
    assert caught.value.text == text
    assert caught.value.line == 9
    assert f"PTX line 9: `{text}`" in str(caught.value)
