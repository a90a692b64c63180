"""The operands of a function's instructions: their slots, and how they are read and written.

The register file has a slot for each register, constant and special register. Each slot has one
NumPy type, that of most of its uses; the others read the same bits through a view.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.address_spaces import WINDOWS
from core.emulator.program import Kind, Op, Reader, Writer
from core.ptx.arithmetic.integer import CARRY, uses_carry
from core.ptx.arithmetic.operation import unsupported
from core.ptx.ast import (
    Address,
    Function,
    Immediate,
    Instruction,
    Module,
    Negated,
    Operand,
    Register,
    Special,
    Symbol,
)
from core.ptx.types import PRED, TYPES, PtxType


class SlotTable:
    """Hands out slots, and makes readers and writers that convert between types.

    Built in two passes: `vote` while the instructions are looked at, then `read` and `write`.
    """

    def __init__(
        self,
        registers: Mapping[str, PtxType],
        addresses: Mapping[str, int],
        stack: Mapping[str, int],
    ) -> None:
        self.slots: dict[str, int] = {name: i for i, name in enumerate(registers)}
        self._declared = list(registers.values())
        self._votes: list[Counter[np.dtype[Any]]] = [Counter() for _ in registers]
        self._addresses, self.stack = addresses, stack
        self._constants: dict[tuple[Any, str], int] = {}
        self._specials: dict[str, int] = {}
        self.dtypes: list[np.dtype[Any]] = []
        self.constants: list[tuple[int, NDArray[Any]]] = []
        self.specials: list[tuple[int, str]] = []

    def declared(self, name: str) -> PtxType:
        """The type a register is declared with."""
        return self._declared[self.slots[name]]

    def vote(self, operand: Operand, kind: PtxType) -> None:
        """Notes that the register is used as `kind`."""
        if isinstance(operand, Negated):
            operand = operand.operand
        if isinstance(operand, Register):
            slot = self.slots[operand.name]
            if self._declared[slot].bits == kind.bits:
                self._votes[slot][kind.dtype] += 1

    def slots_of(self, operands: Iterable[Operand]) -> tuple[int, ...]:
        """Slots of the registers and special registers among the operands."""
        found = []
        for operand in operands:
            inner = operand.operand if isinstance(operand, Negated) else operand
            if isinstance(inner, Register):
                found.append(self.slots[inner.name])
            elif isinstance(inner, Special):
                found.append(self._special(inner.name)[0])
        return tuple(found)

    def close_votes(self) -> None:
        """Fixes each register's NumPy type."""
        for declared, votes in zip(self._declared, self._votes, strict=True):
            best = votes.most_common(1)
            self.dtypes.append(best[0][0] if best else declared.dtype)

    def read(self, instruction: Instruction, operand: Operand, kind: PtxType) -> Reader:
        """A function that gets the operand's value as `kind` from the registers."""
        if isinstance(operand, Negated):
            if kind is not PRED:
                raise unsupported(instruction, "negates an operand that is not a predicate")
            inner = self.read(instruction, operand.operand, PRED)
            return lambda regs: ~inner(regs)
        slot, have = self.locate(instruction, operand, kind)
        convert = _conversion(have, kind)
        if convert is None:
            return itemgetter(slot)
        return lambda regs: convert(regs[slot])

    def locate(
        self, instruction: Instruction, operand: Operand, kind: PtxType
    ) -> tuple[int, np.dtype[Any]]:
        """The slot that holds the operand, and its type."""
        if isinstance(operand, Register):
            slot = self.predicate(instruction, operand, kind)
            return slot, self.dtypes[slot]
        if isinstance(operand, Special):
            return self._special(operand.name)
        if isinstance(operand, Immediate):
            return self._constant(_constant(instruction, operand, kind))
        if isinstance(operand, Symbol) and operand.name in self.stack and not operand.offset:
            return self._special(operand.name)  # its place depends on the depth of calls
        if isinstance(operand, Symbol) and operand.name in self._addresses:
            value = self._addresses[operand.name] + operand.offset
            return self._constant(np.array([value]).astype(TYPES[f"u{kind.bits}"].dtype))
        raise unsupported(instruction, "has an operand that is not supported")

    def predicate(self, instruction: Instruction, register: Register, kind: PtxType = PRED) -> int:
        """The slot of a register, which must be a predicate where `kind` is, and only there."""
        slot = self.slots[register.name]
        if (self._declared[slot] is PRED) != (kind is PRED):
            what = "no predicate" if kind is PRED else "a predicate"
            raise unsupported(instruction, f"cannot use {register.name}, which is {what}")
        return slot

    def _constant(self, value: NDArray[Any]) -> tuple[int, np.dtype[Any]]:
        key = (value.tobytes(), value.dtype.str)
        slot = self._constants.get(key)
        if slot is None:
            slot = self._constants[key] = self._new_slot(value.dtype)
            self.constants.append((slot, value))
        return slot, value.dtype

    def _special(self, name: str) -> tuple[int, np.dtype[Any]]:
        slot = self._specials.get(name)
        wide = name in ("%clock64", "%globaltimer") or name in self.stack
        dtype = np.dtype(np.int64 if wide else np.int32)
        if slot is None:
            slot = self._specials[name] = self._new_slot(dtype)
            self.specials.append((slot, name))
        return slot, dtype

    def _new_slot(self, dtype: np.dtype[Any]) -> int:
        self.dtypes.append(dtype)
        return len(self.dtypes) - 1

    def write(
        self, instruction: Instruction, operand: Operand, kind: PtxType
    ) -> tuple[int, Writer | None]:
        """The slot a result goes to, and the conversion it needs (None: as it is)."""
        if isinstance(operand, Symbol) and operand.name == "_":
            return -1, None
        if not isinstance(operand, Register):
            raise unsupported(instruction, "has a destination that is not supported")
        slot = self.predicate(instruction, operand, kind)
        return slot, _store_conversion(kind, self.dtypes[slot])


def _constant(instruction: Instruction, operand: Immediate, kind: PtxType) -> NDArray[Any]:
    """The immediate as a one-element array of `kind`."""
    if operand.float_bits:
        bits = np.array([operand.value], dtype=f"u{operand.float_bits // 8}")
        value = bits.view(f"f{operand.float_bits // 8}")
        if operand.float_bits == kind.bits and not kind.is_float:
            return bits.view(kind.dtype)
        return _real(instruction, value, kind)
    if isinstance(operand.value, float) or kind.is_float:
        return _real(instruction, np.array([operand.value], np.float64), kind)
    if kind is PRED:
        return np.array([operand.value != 0])
    if not -(2**63) <= operand.value < 2**64:
        raise unsupported(instruction, "has a constant of more than 64 bits")
    value = np.array([operand.value & (2**64 - 1)], np.uint64)
    return value.astype(f"u{kind.nbytes}").view(kind.dtype)


def _real(instruction: Instruction, value: NDArray[Any], kind: PtxType) -> NDArray[Any]:
    """A constant that is a float, for an operand of type `kind`."""
    if not kind.is_float:
        raise unsupported(instruction, "has a float for an operand that is none")
    with np.errstate(over="ignore", under="ignore"):  # a value out of range becomes inf or 0
        return value.astype(kind.dtype)


def _conversion(have: np.dtype[Any], want: PtxType) -> Writer | None:
    """How a slot's bits are read as `want`: None, a view, or the low bits of a wider register."""
    dtype = want.dtype
    if have == dtype:
        return None
    if have.itemsize == dtype.itemsize:
        return lambda x: x.view(dtype)
    unsigned = np.dtype(f"u{have.itemsize}")
    if dtype.itemsize > have.itemsize:  # `cvt` from a narrow register read as wide: zero-extended
        bits = np.dtype(f"u{dtype.itemsize}")
        return lambda x: x.view(unsigned).astype(bits).view(dtype)
    narrow = np.dtype(f"u{dtype.itemsize}")
    return lambda x: x.view(unsigned).astype(narrow).view(dtype)


def _store_conversion(kind: PtxType, have: np.dtype[Any]) -> Writer | None:
    """How a result of type `kind` fills a slot: signed types are sign-extended, others not."""
    if have == kind.dtype:
        return None
    if have.itemsize == kind.dtype.itemsize:
        return lambda x: x.view(have)
    letter = "i" if kind.is_signed else "u"
    source = np.dtype(f"{letter}{kind.dtype.itemsize}")
    wide = np.dtype(f"{letter}{have.itemsize}")
    return lambda x: x.view(source).astype(wide).view(have)


_HALF, _WORD = np.int64(1 << 31), np.int64((1 << 32) - 1)


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
        """An instruction that is an `Action` (`core.emulator.machine_state`)."""
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

    def address(self, instruction: Instruction, address: Operand, space: str) -> Reader:
        """A reader of the generic address that an access in `space` ("": generic) goes to."""
        if not isinstance(address, Address):
            raise unsupported(instruction, "has no address")
        base, window = address.base, WINDOWS.get(space, 0)
        further = np.array([address.offset + window], np.int64)
        if isinstance(base, Symbol) and base.name not in self.table.stack:
            if base.name not in self.addresses:
                raise unsupported(instruction, f"names {base.name}, which is not declared")
            further = further + self.addresses[base.name]
            base = None
        if base is None:
            return lambda regs: further
        wide = (
            isinstance(base, Symbol) or self.table.dtypes[self.table.slots[base.name]].itemsize == 8
        )
        read = self.table.read(instruction, base, TYPES["s64" if wide else "u32"])
        if wide:
            return (lambda regs: read(regs) + further) if further.any() else read
        if not window or not address.offset:
            return lambda regs: read(regs).astype(np.int64) + further
        ahead, below = address.offset + _HALF, window - _HALF  # the sum has 32 bits, too
        return lambda regs: ((read(regs).astype(np.int64) + ahead) & _WORD) + below

    def members(self, instruction: Instruction) -> Reader:
        """The member mask of a `.sync` instruction, its last operand."""
        return self.table.read(instruction, instruction.operands[-1], TYPES["u32"])

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
