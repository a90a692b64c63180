"""Code that several ways lead to, and before which the machine code has no lanes wait."""

from __future__ import annotations

from core.assembler.reconvergence import parting
from core.ptx.ast import Instruction
from core.ptx.parser import parse

PTX = """
.version 8.0
.target sm_90
.address_size 64
.entry k()
{
.reg .pred %p<3>;
.reg .b32 %r<3>;
@%p1 bra INTO;
TOP:
add.s32 %r1, %r1, 1;
INTO:
add.s32 %r2, %r2, 1;
@%p2 bra TOP;
END:
mov.u32 %r1, %r2;
ret;
}
"""
TOP, INTO, END = (PTX.splitlines().index(f"{label}:") + 2 for label in ("TOP", "INTO", "END"))


def _parted(led, met) -> dict[int, Instruction]:
    pairs = [(line, TOP) for line in met]
    return {one.ptx_line: one for one in parting(parse(PTX), led, pairs).instructions}


def _apart(led, met) -> set[int]:
    return {line for line, one in _parted(led, met).items() if one.apart}


def test_a_loop_with_two_ways_in_is_run_by_each_part_alone() -> None:
    assert _apart({INTO}, {END}) == {TOP, INTO, INTO + 1}


def test_nobody_parts_where_the_machine_code_waits() -> None:
    assert _apart({INTO}, {INTO, END}) == set()
    assert _apart((), ()) == set()


def test_what_follows_is_run_apart_up_to_where_lanes_wait() -> None:
    assert END in _apart({INTO}, ())


def test_without_a_recursion_nobody_is_apart_behind_such_code() -> None:
    found = _parted({INTO}, {END})
    assert not any(one.parts or one.joins or one.begins for one in found.values())
