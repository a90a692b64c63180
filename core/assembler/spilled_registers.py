"""Registers that a kernel keeps in local memory, as it has too few: read off its machine code.

ptxas stores them there (`STL`) and loads them again (`LDL`). No PTX shows this, and each word is a
request, as one of a local array is.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from core.assembler.machine_accesses import Loop, around, attributed, loops_of
from core.compiler.cubin import MachineAccess
from core.ptx.ast import Instruction, Module
from core.ptx.opcodes import opcode_of


def spilling(module: Module, kernel: str, accesses: Sequence[MachineAccess]) -> Module:
    """The module whose instructions keep and take back registers where its machine code does.

    Of a loop that the assembler takes several turns at a time nothing is noted.
    """
    found: dict[int, Counter[str]] = {}
    for pc, spill in _Places(module, kernel, accesses).spills():
        found.setdefault(pc, Counter())[spill.name] += spill.words
    code = list(module.instructions)
    for pc, words in found.items():
        code[pc] = replace(code[pc], spills=(words["STL"], words["LDL"]))
    return replace(module, instructions=tuple(code))


class _Places:
    """Where in the PTX the machine code's accesses stand."""

    def __init__(self, module: Module, kernel: str, accesses: Sequence[MachineAccess]) -> None:
        self._accesses = accesses
        self._by_line: dict[int, Instruction] = {}
        self._loops: list[Loop] = []
        for function in module.functions.values():
            if function.name == kernel or not function.is_entry:
                self._loops += loops_of(module, function)
                for one in module.instructions[function.first_pc : function.end_pc]:
                    self._by_line.setdefault(one.ptx_line, one)
        ends = (one.pc + 1 for one in module.instructions if opcode_of(one).ends_block)
        self._starts = sorted({*module.labels.values(), *ends})
        self._staged = {a.loops[-1][0] for a in accesses if a.is_staged}
        self._turns = self._turns_of(attributed(module, kernel, accesses))

    def spills(self) -> list[tuple[int, MachineAccess]]:
        """Those whose place is known, with the pc of an instruction that runs as often."""
        spills = (one for one in self._accesses if one.is_spill and not self._is_joined(one))
        found = ((self._place(one), one) for one in spills)
        return [(pc, one) for pc, one in found if pc is not None]

    def _around(self, one: Instruction) -> tuple[int, ...]:
        return tuple(loop.jump.ptx_line for loop in around(self._loops, one.pc))

    def _is_joined(self, spill: MachineAccess) -> bool:
        """Whether its loop is taken several turns at a time."""
        return spill.is_staged or (bool(spill.loops) and self._turns.get(spill.loops[-1], 1) > 1)

    def _place(self, spill: MachineAccess) -> int | None:
        """The pc of a spill, in the block of PTX that its machine code comes from."""
        home = self._by_line.get(spill.middle)
        if home is None:
            return None
        lines, around_home = tuple(line for line, _ in spill.loops), self._around(home)
        if around_home == lines:
            own = self._by_line.get(spill.line, home)
            return own.pc if self._block(own) == self._block(home) else home.pc
        for loop in around(self._loops, home.pc):  # the loop is unrolled whole
            if loop.jump.ptx_line not in lines:
                return None if loop.jump.ptx_line in self._staged else loop.first - 1
        return None

    def _block(self, one: Instruction) -> int:
        return bisect_right(self._starts, one.pc)

    def _turns_of(self, known: Sequence[MachineAccess]) -> Mapping[tuple[int, int], int]:
        """How many turns the machine code of a loop takes at a time."""
        found: dict[tuple[int, int], Counter[int]] = {}
        for access in known:
            one = self._by_line.get(access.line)
            if access.loops and one is not None and self._around(one)[-1:] == access.loops[-1][:1]:
                found.setdefault(access.loops[-1], Counter())[access.line] += 1
        return {loop: max(lines.values()) for loop, lines in found.items()}
