"""Which registers an instruction reads and writes, what made a value, and whether it is used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from core.ptx.ast import Address, Instruction, Operand, Register, elements, registers
from core.ptx.opcodes import has_result


def sources(instruction: Instruction) -> tuple[Operand, ...]:
    """The operands that it reads."""
    return instruction.operands[1 if has_result(instruction) else 0 :]


def results(instruction: Instruction) -> frozenset[str]:
    """The registers that it writes, all or in part."""
    written = instruction.operands[:1] if has_result(instruction) else ()
    return frozenset(registers(*written))


def reads(instruction: Instruction, *, addresses: bool = True) -> frozenset[str]:
    """The registers that it reads, its guard among them; those of addresses only if asked for."""
    operands = (o for o in sources(instruction) if addresses or not isinstance(o, Address))
    guard = () if instruction.guard is None else (instruction.guard,)
    return frozenset(registers(*operands, *guard))


def mentioned(instruction: Instruction) -> Iterator[str]:
    """The registers among all its operands, written ones too, and its guard."""
    guard = () if instruction.guard is None else (instruction.guard,)
    return registers(*instruction.operands, *guard)


def is_used(instruction: Instruction, own: Sequence[Instruction]) -> bool:
    """Whether the first operand of an instruction is read in its function, or guards anything."""
    names = frozenset(registers(instruction.operands[0]))
    return any(names & reads(other) for other in own)


class Makers:
    """What makes the values of one function's registers, past plain moves.

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
