"""Which instruction made the value of a register, past plain moves, and whether any uses it."""

from __future__ import annotations

from collections.abc import Sequence

from core.ptx.ast import Instruction, Register, elements, registers
from core.ptx.opcodes import reads, results


def is_used(instruction: Instruction, own: Sequence[Instruction]) -> bool:
    """Whether the first operand of an instruction is read in its function, or guards anything."""
    names = frozenset(registers(instruction.operands[0]))
    return any(names & reads(other) for other in own)


class Makers:
    """Who makes the values of one function's registers.

    `sums` are the registers that a warpgroup's matrix products add to.
    """

    def __init__(self, own: Sequence[Instruction]) -> None:
        """`own`: the function's instructions."""
        self.sums: set[str] = set()
        self._makers: dict[str, Instruction | None] = {}  # None: there are several
        for instruction in own:
            if "mma_async" in instruction.modifiers:
                self.sums.update(registers(*elements(instruction.operands[0])))
            else:
                for name in results(instruction):
                    self._makers[name] = None if name in self._makers else instruction

    def maker(self, name: str) -> tuple[Instruction, str] | None:
        """The instruction that makes a register's value, and what it calls it; None: unknown."""
        made = self._makers.get(name)
        while made is not None and made.opcode == "mov" and len(made.operands) == 2:
            source = made.operands[1]
            if not isinstance(source, Register):
                break
            name, made = source.name, self._makers.get(source.name)
        return None if made is None else (made, name)
