"""Replaces instructions of a module, whose pcs are numbered anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from core.ptx.ast import Function, Instruction, Module
from core.ptx.types import PtxType


class Rewriting:
    """Collects what takes the place of instructions; `module` makes the new module."""

    def __init__(self, module: Module) -> None:
        self._old = module
        self._instead: dict[int, Sequence[Instruction]] = {}
        self._registers: dict[str, dict[str, PtxType]] = {}
        self._labels: dict[str, tuple[int, int]] = {}

    def replace(self, pc: int, instructions: Sequence[Instruction]) -> None:
        """The instruction at `pc` becomes these, or none. Their own pcs do not matter."""
        self._instead[pc] = instructions

    def declare(self, function: str, register: str, kind: PtxType) -> None:
        """A register that a function did not have."""
        self._registers.setdefault(function, {})[register] = kind

    def label(self, name: str, pc: int, place: int) -> None:
        """A label before instruction number `place` of those that `pc` becomes."""
        self._labels[name] = pc, place

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
            labels=MappingProxyType(
                {name: place[pc] for name, pc in old.labels.items()}
                | {name: place[pc] + further for name, (pc, further) in self._labels.items()}
            ),
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


def jump_targets(module: Module) -> frozenset[int]:
    """The pcs that a branch may go to."""
    return frozenset(pc for one in module.instructions for pc in module.targets(one))
