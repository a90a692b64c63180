"""Replaces instructions of a module, whose pcs are numbered anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from core.ptx.ast import (
    Address,
    Function,
    Group,
    Instruction,
    Module,
    Negated,
    Operand,
    Pair,
    Register,
    Selected,
    Vector,
)
from core.ptx.types import PtxType


class Rewriting:
    """Collects what takes the place of instructions; `module` makes the new module."""

    def __init__(self, module: Module) -> None:
        self._old = module
        self._instead: dict[int, Sequence[Instruction]] = {}
        self._registers: dict[str, dict[str, PtxType]] = {}

    def replace(self, pc: int, instructions: Sequence[Instruction]) -> None:
        """The instruction at `pc` becomes these, or none. Their own pcs do not matter."""
        self._instead[pc] = instructions

    def declare(self, function: str, register: str, kind: PtxType) -> None:
        """A register that a function did not have."""
        self._registers.setdefault(function, {})[register] = kind

    def module(self) -> Module:
        """The module with everything replaced. Labels stay before what followed them."""
        old = self._old
        if not self._instead:
            return old
        made: list[Instruction] = []
        place: list[int] = []  # by old pc
        for instruction in old.instructions:
            place.append(len(made))
            for new in self._instead.get(instruction.pc, (instruction,)):
                made.append(replace(new, pc=len(made)))
        place.append(len(made))
        return replace(
            old,
            instructions=tuple(made),
            labels=MappingProxyType({name: place[pc] for name, pc in old.labels.items()}),
            used_bytes={place[pc]: used for pc, used in old.used_bytes.items()},
            functions=MappingProxyType(
                {name: self._function(f, place) for name, f in old.functions.items()}
            ),
        )

    def _function(self, function: Function, place: Sequence[int]) -> Function:
        registers: Mapping[str, PtxType] = function.registers
        if more := self._registers.get(function.name):
            registers = MappingProxyType({**registers, **more})
        return replace(
            function,
            first_pc=place[function.first_pc],
            end_pc=place[function.end_pc],
            registers=registers,
        )


_NO_RESULT = frozenset({"st", "red", "bra", "brx", "ret", "exit", "trap", "bar", "barrier", "fence",
                        "membar", "cp", "prefetch", "discard", "call"})  # fmt: skip


def results(instruction: Instruction) -> frozenset[str]:
    """The registers that it writes, all or in part."""
    if instruction.opcode in _NO_RESULT and instruction.opcode != "call":
        return frozenset()
    return frozenset(name for operand in instruction.operands[:1] for name in registers(operand))


def reads(instruction: Instruction) -> frozenset[str]:
    """The registers that it reads, its guard among them."""
    start = 0 if instruction.opcode in _NO_RESULT else 1
    names = {name for operand in instruction.operands[start:] for name in registers(operand)}
    if instruction.guard is not None:
        names.add(instruction.guard.name)
    return frozenset(names)


def registers(operand: Operand) -> Iterator[str]:
    """The registers that an operand names."""
    if isinstance(operand, Register):
        yield operand.name
    elif isinstance(operand, Address):
        if isinstance(operand.base, Register):
            yield operand.base.name
    elif isinstance(operand, Vector | Group):
        for element in operand.elements:
            yield from registers(element)
    elif isinstance(operand, Pair):
        yield from registers(operand.first)
        yield from registers(operand.second)
    elif isinstance(operand, Negated | Selected):
        yield from registers(operand.operand)


def jump_targets(module: Module) -> frozenset[int]:
    """The pcs that a branch may go to."""
    names = {
        name
        for instruction in module.instructions
        if instruction.opcode in ("bra", "brx")
        for operand in instruction.operands
        for name in (getattr(operand, "name", ""),)
    }
    names |= {target for table in module.branch_targets.values() for target in table}
    return frozenset(pc for name, pc in module.labels.items() if name in names)
