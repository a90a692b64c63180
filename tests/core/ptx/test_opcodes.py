"""What the table of opcodes says of whole instructions: what they read, write and do to memory."""

from __future__ import annotations

import pytest

from core.ptx.dataflow import reads, results
from core.ptx.opcodes import changes_memory, opcode_of
from core.ptx.parser import parse

HEADER = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k()
{
    .reg .pred %p<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %d<9>;
"""


def instruction(text: str):
    """The parsed instruction."""
    return parse(f"{HEADER}    {text}\n}}\n").instructions[0]


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
