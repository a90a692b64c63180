"""Decodes what steers threads: branches, calls, barriers, and what the lanes of a warp exchange."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.emulator.cross_lane import cross_lane
from core.emulator.named_barriers import named_barrier
from core.emulator.program import Call, Kind, Op, Reader
from core.ptx.ast import Group, Instruction, Pair, Register, Symbol
from core.ptx.semantics.operation import immediate, unsupported
from core.ptx.types import TYPES

if TYPE_CHECKING:
    from core.emulator.decode import Decoder


def branch(decoder: Decoder, instruction: Instruction) -> Op:
    """`bra`: to a label of the same function."""
    label = instruction.operands[0]
    if not isinstance(label, Symbol):
        raise unsupported(instruction, "names no label")
    return Op(
        Kind.BRANCH, instruction, target=decoder.label(instruction, label.name, "branches to")
    )


def call(decoder: Decoder, instruction: Instruction) -> Op:
    """`call (results), function, (arguments)`, of a function or of its address."""
    operands = list(instruction.operands)
    results = operands.pop(0) if isinstance(operands[0], Group) else Group(())
    target, *rest = operands
    arguments = next((o for o in rest if isinstance(o, Group)), Group(()))
    assert isinstance(results, Group)
    pointer, name = None, ""
    if isinstance(target, Symbol) and target.name in decoder.module.functions:
        name = target.name
        callee = decoder.module.functions[name]
        if len(arguments.elements) != len(callee.parameters):
            raise unsupported(
                instruction,
                f"has {len(arguments.elements)} arguments; {name} takes {len(callee.parameters)}",
            )
        if len(results.elements) != len(callee.returns):
            raise unsupported(
                instruction,
                f"takes {len(results.elements)} results; {name} gives {len(callee.returns)}",
            )
    elif isinstance(target, Register):
        pointer = decoder.table.read(instruction, target, TYPES["s64"])
    else:
        raise unsupported(instruction, "calls a function that is not there")
    payload = Call(
        name, _names(results, "result"), _names(arguments, "argument"), pointer,
        _argument_values(decoder, instruction, arguments), _result_slots(decoder, results),
    )  # fmt: skip
    return Op(Kind.CALL, instruction, payload=payload)


def _names(group: Group, role: str) -> tuple[str, ...]:
    """A name for each actual parameter; those that are no variables get one of their own."""
    return tuple(
        o.name if isinstance(o, Symbol) else f"{role} {i}" for i, o in enumerate(group.elements)
    )


def _argument_values(
    decoder: Decoder, instruction: Instruction, group: Group
) -> tuple[tuple[str, Reader], ...]:
    """Arguments that are registers or constants, with the name they go under."""
    found = []
    for name, operand in zip(_names(group, "argument"), group.elements, strict=True):
        if isinstance(operand, Register):
            kind = decoder.table.declared(operand.name)
            found.append((name, decoder.table.read(instruction, operand, kind)))
        elif not isinstance(operand, Symbol):
            found.append((name, decoder.table.read(instruction, operand, TYPES["b32"])))
    return tuple(found)


def _result_slots(decoder: Decoder, group: Group) -> tuple[tuple[str, int], ...]:
    return tuple(
        (name, decoder.table.slots[operand.name])
        for name, operand in zip(_names(group, "result"), group.elements, strict=True)
        if isinstance(operand, Register)
    )


def leave(_: Decoder, instruction: Instruction) -> Op:
    """`ret` and `exit`."""
    return Op(Kind.RETURN, instruction, payload=instruction.opcode == "exit")


def trap(_: Decoder, instruction: Instruction) -> Op:
    """`trap` and `brkpt`."""
    return Op(Kind.TRAP, instruction)


def fence(_: Decoder, instruction: Instruction) -> Op:
    """`membar` and `fence`."""
    return Op(Kind.FENCE, instruction)


def barrier(decoder: Decoder, instruction: Instruction) -> Op:
    """`bar` and `barrier`: of a warp, of the whole block, or of some warps of it."""
    if "warp" in instruction.modifiers:
        return Op(Kind.SYNC, instruction, payload=_members(decoder, instruction))
    number = immediate(instruction.operands[0])
    plain = len(instruction.operands) == 1 and number is not None
    if plain and not {"red", "arrive", "cluster"} & set(instruction.modifiers):
        return Op(Kind.BARRIER, instruction, payload=number)
    return named_barrier(decoder, instruction)


def exchange(decoder: Decoder, instruction: Instruction) -> Op:
    """`shfl`, `vote`, `match`, `redux`, `elect` and `activemask`."""
    found = cross_lane(instruction)
    sources = tuple(decoder.table.read(instruction, o, kind) for o, kind in found.sources)
    first = instruction.operands[0]
    into = (first.first, first.second) if isinstance(first, Pair) else (first,)
    slots, writers = decoder.plain_writers(instruction, into, found.results)
    members = _members(decoder, instruction) if "sync" in instruction.modifiers else None
    payload = (found.function, sources, writers, members)
    return Op(Kind.CROSS_LANE, instruction, destinations=slots, payload=payload)


def _members(decoder: Decoder, instruction: Instruction) -> Reader:
    """The member mask of a `.sync` instruction, its last operand."""
    return decoder.table.read(instruction, instruction.operands[-1], TYPES["u32"])
