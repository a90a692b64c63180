"""The operands of a function's instructions: which slots they are, and how they are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from core.emulator import memory
from core.emulator.program import Kind, Op, Reader, Writer
from core.emulator.registers import SlotTable, address_reader
from core.ptx.arithmetic.integer import CARRY, uses_carry
from core.ptx.arithmetic.operation import unsupported
from core.ptx.ast import Address, Function, Instruction, Module, Operand, Register
from core.ptx.types import PRED, TYPES, PtxType

WINDOWS = {
    "shared": memory.SHARED_WINDOW,
    "local": memory.LOCAL_WINDOW,
    "param": memory.PARAMETER_WINDOW,
}
_NARROW = 32  # bits of a register that shared and local memory may be addressed by


class OperandDecoder:
    """Decodes the operands of one function of a module."""

    def __init__(self, module: Module, function: Function, addresses: Mapping[str, int]) -> None:
        """`addresses` gives each variable's address in its own space."""
        self.module, self.function = module, function
        self.local_offsets, self.local_bytes = _local_layout(function)
        self.addresses = dict(addresses)
        self.instructions = module.instructions[function.first_pc : function.end_pc]
        registers = dict(function.registers)
        if any(uses_carry(instruction) for instruction in self.instructions):
            registers[CARRY] = PRED
        self.table = SlotTable(registers, self.addresses, self.local_offsets)

    def op(
        self,
        kind: Kind,
        instruction: Instruction,
        payload: object,
        destinations: tuple[Operand, ...] = (),
        types: tuple[PtxType, ...] = (),
    ) -> Op:
        """An instruction with results of these types."""
        slots, writers = self.writers(instruction, destinations, types)
        return Op(kind, instruction, destinations=slots, writers=plain(writers), payload=payload)

    def action(
        self,
        instruction: Instruction,
        action: Callable[..., bool],
        destinations: tuple[Operand, ...] = (),
        types: tuple[PtxType, ...] = (),
    ) -> Op:
        """An instruction that is an `Action` (`core.emulator.machine`)."""
        return self.op(Kind.ACTION, instruction, action, destinations, types)

    def writers(
        self,
        instruction: Instruction,
        destinations: tuple[Operand, ...],
        kinds: tuple[PtxType, ...],
    ) -> tuple[tuple[int, ...], tuple[Writer | None, ...]]:
        """The slots of destinations, and what converts their values (None: nothing)."""
        pairs = [
            self.table.write(instruction, operand, kind)
            for operand, kind in zip(destinations, kinds, strict=True)
        ]
        return tuple(slot for slot, _ in pairs), tuple(writer for _, writer in pairs)

    def address(self, instruction: Instruction, address: Address, space: str) -> Reader:
        """A reader of the generic address that an access in `space` ("": generic) goes to."""
        read = address_reader(self.table, instruction, address, self.addresses)
        window = WINDOWS.get(space)
        if window is None:
            return read
        base = np.array([window], np.int64)
        register = address.base
        narrow = isinstance(register, Register) and self._bits(register) == _NARROW
        if narrow and address.offset:  # the sum has 32 bits, too
            half, mask = np.int64(1 << (_NARROW - 1)), np.int64((1 << _NARROW) - 1)
            below = base - half
            return lambda regs: ((read(regs) + half) & mask) + below
        return lambda regs: read(regs) + base

    def members(self, instruction: Instruction) -> Reader:
        """The member mask of a `.sync` instruction, its last operand."""
        return self.table.read(instruction, instruction.operands[-1], TYPES["u32"])

    def _bits(self, register: Register) -> int:
        return self.table.declared(register.name).bits

    def label(self, instruction: Instruction, name: str, does: str) -> int:
        """The pc of a label of this function."""
        target = self.module.labels.get(name)
        if target is None or not self.function.first_pc <= target < self.function.end_pc:
            raise unsupported(instruction, f"{does} {name}, which is not there")
        return target


def plain(writers: tuple[Writer | None, ...]) -> tuple[Writer, ...]:
    """The same with a function in place of each None."""
    return tuple(w if w is not None else lambda x: x for w in writers)


def _local_layout(function: Function) -> tuple[dict[str, int], int]:
    offsets: dict[str, int] = {}
    size = 0
    for variable in function.variables:
        if variable.space == "local":
            size = -(-size // variable.align) * variable.align
            offsets[variable.name] = size
            size += variable.nbytes
    return offsets, -(-size // 16) * 16
