"""Decodes loads, stores, atomics, accesses of parameters, and conversions of addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.emulator import memory
from core.emulator.program import Kind, MemoryAccess, Op, ParameterAccess, Reader
from core.ptx.ast import Address, Instruction, Operand, Symbol, Vector
from core.ptx.semantics.operation import Operation, type_of, unsupported
from core.ptx.types import PRED, TYPES, PtxType

if TYPE_CHECKING:
    from core.emulator.decode import Decoder

WINDOWS = {"shared": memory.SHARED_WINDOW, "local": memory.LOCAL_WINDOW}
_SPACES = ("global", "shared", "local", "const", "param")
_ATOMICS = ("add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec")


def space_of(instruction: Instruction) -> str:
    """The state space an access names, "" for a generic address."""
    for modifier in instruction.modifiers:
        name = modifier.split("::")[0]
        if name in _SPACES:
            return name
    return ""


def vector_length(instruction: Instruction) -> int:
    """Elements of a `.v2`, `.v4` or `.v8` access."""
    return next((int(m[1:]) for m in instruction.modifiers if m in ("v2", "v4", "v8")), 1)


def memory_type(instruction: Instruction) -> PtxType:
    """The type of one element of an access."""
    if "b128" in instruction.modifiers:
        raise unsupported(instruction, "uses .b128, which is not supported")
    kind = type_of(instruction)
    if kind is PRED:
        raise unsupported(instruction, "accesses memory as .pred, which has no bytes")
    return kind


def elements(operand: Operand) -> tuple[Operand, ...]:
    """The elements of a vector operand, or the operand itself."""
    return operand.elements if isinstance(operand, Vector) else (operand,)


def load_or_store(decoder: Decoder, instruction: Instruction) -> Op:
    """`ld`, `ldu` and `st`."""
    if "async" in instruction.modifiers:
        raise unsupported(instruction, "stores into another block, which is not supported")
    space = space_of(instruction)
    is_load = instruction.opcode in ("ld", "ldu")
    kind = memory_type(instruction)
    address = instruction.operands[1 if is_load else 0]
    if not isinstance(address, Address):
        raise unsupported(instruction, "has no address")
    value = elements(instruction.operands[0 if is_load else 1])
    if len(value) != vector_length(instruction):
        raise unsupported(instruction, "has as many registers as the vector says elements")
    slots, writers = (
        decoder.plain_writers(instruction, value, (kind,) * len(value)) if is_load else ((), ())
    )
    readers: tuple[Reader, ...] = ()
    if not is_load:
        readers = tuple(decoder.table.read(instruction, v, kind) for v in value)
    if space == "param" and isinstance(address.base, Symbol):
        key = address.base.name, address.offset
        parameter = ParameterAccess(is_load, key, kind, readers, writers)
        return Op(Kind.PARAMETER, instruction, destinations=slots, payload=parameter)
    access = MemoryAccess(
        "load" if is_load else "store", space, kind, len(value),
        decoder.address(instruction, address, space), readers, writers,
    )  # fmt: skip
    return Op(Kind.MEMORY, instruction, destinations=slots, payload=access)


def atomic(decoder: Decoder, instruction: Instruction) -> Op:
    """`atom` and `red`."""
    has_result = instruction.opcode == "atom"
    kind = memory_type(instruction)
    name = next((m for m in instruction.modifiers if m in _ATOMICS), "")
    if not name:
        raise unsupported(instruction)
    address, *operands = instruction.operands[1 if has_result else 0 :]
    if not isinstance(address, Address):
        raise unsupported(instruction, "has no address")
    count = vector_length(instruction)
    if count > 1:
        operands = operands[:1]  # a cache policy may follow
    elif any("cache_hint" in m for m in instruction.modifiers):
        operands = operands[:-1]
    values = tuple(e for operand in operands for e in elements(operand))
    wanted = count if count > 1 else 1 + (name == "cas")
    if len(values) != wanted:
        raise unsupported(instruction, "has the wrong number of operands")
    slots, writers = (
        decoder.plain_writers(instruction, elements(instruction.operands[0]), (kind,) * count)
        if has_result
        else ((), ())
    )
    space = space_of(instruction)
    access = MemoryAccess(
        "atomic", space, kind, count, decoder.address(instruction, address, space),
        tuple(decoder.table.read(instruction, v, kind) for v in values), writers, name,
    )  # fmt: skip
    return Op(Kind.MEMORY, instruction, destinations=slots, payload=access)


def address_conversion(instruction: Instruction) -> Operation:
    """`cvta` between a space's own addresses and generic ones, and `isspacep`."""
    space = space_of(instruction)
    source = instruction.operands[1]
    if instruction.opcode == "isspacep":
        low = WINDOWS.get(space, memory.GLOBAL_WINDOW)
        high = 2 * low if space in WINDOWS else 1 << 62
        return Operation(lambda a: (a >= low) & (a < high), ((source, TYPES["s64"]),), (PRED,))
    kind = type_of(instruction)
    window = WINDOWS.get(space, 0)
    if kind.bits == 32 and window:
        raise unsupported(instruction, "needs 64-bit addresses")
    move = np.array([-window if "to" in instruction.modifiers else window], np.int64)
    wide = TYPES["s64"] if kind.bits == 64 else kind
    if not window:
        return Operation(lambda a: a, ((source, wide),), (wide,))
    return Operation(lambda a: a + move, ((source, wide),), (wide,))
