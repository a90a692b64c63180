"""Labels, whose names are local to the `{ … }` they stand in (PTX ISA, "Labels")."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from core.ptx.ast import Instruction, Operand, Symbol

_JUMPS = ("bra", "brx")


class Labels:
    """The labels of a module. A name that is taken already gets a suffix: `L`, `L#1`, …"""

    def __init__(self) -> None:
        self.pcs: dict[str, int] = {}
        self._branch_targets: dict[str, tuple[tuple[int, ...], tuple[str, ...]]] = {}
        self.branch_targets: dict[str, tuple[str, ...]] = {}
        self._unique: dict[tuple[tuple[int, ...], str], str] = {}
        self._paths: dict[int, tuple[int, ...]] = {}  # instruction -> the blocks it lies in
        self._path: list[int] = []
        self._blocks = 0

    def push(self) -> None:
        """Enters a `{`."""
        self._blocks += 1
        self._path.append(self._blocks)

    def pop(self) -> None:
        """Leaves a `}`."""
        self._path.pop()

    def _declare(self, name: str) -> str:
        unique, count = name, 0
        while unique in self.pcs or unique in self._branch_targets:
            count += 1
            unique = f"{name}#{count}"
        self._unique[tuple(self._path), name] = unique
        return unique

    def define(self, name: str, pc: int) -> None:
        """`name:` before the instruction at `pc`."""
        self.pcs[self._declare(name)] = pc

    def define_targets(self, name: str, targets: Iterable[str]) -> None:
        """`name: .branchtargets …`"""
        self._branch_targets[self._declare(name)] = tuple(self._path), tuple(targets)

    def note(self, pc: int) -> None:
        """Remembers where the instruction at `pc` stands."""
        self._paths[pc] = tuple(self._path)

    def _resolve(self, path: tuple[int, ...], name: str) -> str:
        for depth in range(len(path), -1, -1):
            if (path[:depth], name) in self._unique:
                return self._unique[path[:depth], name]
        return name

    def resolve(self, instructions: list[Instruction], first: int) -> None:
        """Gives the jumps from `first` on the unique names of the labels they mean."""
        for place in range(first, len(instructions)):
            instruction = instructions[place]
            if instruction.opcode in _JUMPS:
                path = self._paths[instruction.pc]
                operands = tuple(self._operand(path, o) for o in instruction.operands)
                if operands != instruction.operands:
                    instructions[place] = replace(instruction, operands=operands)
        for name, (path, targets) in self._branch_targets.items():
            if name not in self.branch_targets:
                self.branch_targets[name] = tuple(self._resolve(path, t) for t in targets)

    def reached(self, instructions: list[Instruction], first: int) -> set[int]:
        """The pcs that the jumps from `first` on, whose names are resolved, may go to."""
        names = [
            operand.name
            for instruction in instructions[first:]
            if instruction.opcode in _JUMPS
            for operand in instruction.operands
            if isinstance(operand, Symbol)
        ]
        targets = [t for name in names for t in self.branch_targets.get(name, (name,))]
        return {self.pcs[name] for name in targets if name in self.pcs}

    def _operand(self, path: tuple[int, ...], operand: Operand) -> Operand:
        if isinstance(operand, Symbol):
            return replace(operand, name=self._resolve(path, operand.name))
        return operand
