"""Bits counted and found, fields of bits and bytes (PTX ISA, "Integer Arithmetic Instructions")."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from core.ptx.arithmetic.operation import Array, Operation, opcode, same_type, type_of
from core.ptx.ast import Instruction
from core.ptx.types import TYPES

_U32, _B32 = TYPES["u32"], TYPES["b32"]


@opcode("popc", "clz", "brev", "bfind")
def count_bits(instruction: Instruction) -> Operation:
    """Population count, leading zeros, bit reversal, and the highest set bit."""
    kind = type_of(instruction)
    bits = kind.bits
    unsigned = TYPES[f"u{bits}"]

    def reverse(x: Array) -> Array:
        out = np.zeros_like(x)
        for i in range(bits):
            out |= ((x >> x.dtype.type(i)) & x.dtype.type(1)) << x.dtype.type(bits - 1 - i)
        return out

    def length(x: Array) -> Array:
        """Bits needed to write x: 0 for 0."""
        n = np.zeros(x.shape, np.int64)
        for step in (32, 16, 8, 4, 2, 1):
            if step < bits:
                more = (x >> x.dtype.type(step)) != 0
                n += np.where(more, step, 0)
                x = np.where(more, x >> x.dtype.type(step), x)
        return np.asarray(n + (x != 0))

    def highest(x: Array) -> Array:
        if kind.is_signed:
            signed = x.view(kind.dtype)
            x = np.where(signed < 0, ~x, x)
        top = length(x) - 1
        if "shiftamt" in instruction.modifiers:
            top = np.where(top >= 0, bits - 1 - top, -1)
        return top.astype(np.uint32)

    source = instruction.operands[1]
    if instruction.opcode == "brev":
        return Operation(reverse, ((source, unsigned),), (unsigned,))
    functions: dict[str, Callable[[Array], Array]] = {
        "popc": lambda x: np.bitwise_count(x).astype(np.uint32),
        "clz": lambda x: (bits - length(x)).astype(np.uint32),
        "bfind": highest,
    }
    return Operation(functions[instruction.opcode], ((source, unsigned),), (_U32,))


@opcode("bfe")
def extract_field(instruction: Instruction) -> Operation:
    """`c & 255` bits of a from position `b & 255`, sign-extended for signed types."""
    kind = type_of(instruction)
    unsigned = TYPES[f"u{kind.bits}"]
    word: Any = unsigned.dtype.type
    top = kind.bits - 1

    def function(a: Array, position: Array, length: Array) -> Array:
        start, count = (position & 255).astype(np.int64), (length & 255).astype(np.int64)
        raw = a.view(unsigned.dtype)

        def bit_from(n: Array) -> Array:
            return np.asarray((raw >> np.minimum(n, top).astype(unsigned.dtype)) & word(1))

        shifted = np.where(start > top, word(0), raw >> np.minimum(start, top).astype(raw.dtype))
        full = count > top
        mask = (word(1) << np.minimum(count, top).astype(raw.dtype)) - 1
        field = np.where(full, shifted, shifted & mask.astype(raw.dtype))
        if not kind.is_signed:
            return np.asarray(field)
        last = np.minimum(start + count - 1, top)
        sign = np.where(count == 0, 0, bit_from(np.maximum(last, 0))).astype(bool)
        kept = np.minimum(count, np.maximum(top + 1 - start, 0))
        ones = np.where(kept > top, word(0), ~word(0) << np.minimum(kept, top).astype(raw.dtype))
        return np.asarray(np.where(sign, field | ones, field).astype(raw.dtype).view(kind.dtype))

    a, b, c = instruction.operands[1:4]
    return Operation(function, ((a, kind), (b, _U32), (c, _U32)), (kind,))


@opcode("bfi")
def insert_field(instruction: Instruction) -> Operation:
    """`d & 255` low bits of a replace those of b from position `c & 255`."""
    kind = TYPES[f"u{type_of(instruction).bits}"]
    word: Any = kind.dtype.type

    def function(a: Array, b: Array, position: Array, length: Array) -> Array:
        start, count = (position & 255).astype(np.int64), (length & 255).astype(np.int64)
        top = kind.bits - 1
        low = np.where(
            count > top, ~word(0), (word(1) << np.minimum(count, top).astype(kind.dtype)) - word(1)
        )
        mask = low << np.minimum(start, top).astype(kind.dtype)
        mask = np.where(start > top, word(0), mask).astype(kind.dtype)
        moved = a << np.minimum(start, top).astype(kind.dtype)
        return np.asarray((b & ~mask) | (moved & mask))

    a, b, c, d = instruction.operands[1:5]
    return Operation(function, ((a, kind), (b, kind), (c, _U32), (d, _U32)), (kind,))


# Which bytes of b:a the modes of prmt take, lowest first, for each value of c & 3.
_SELECTORS: dict[str, list[list[int]]] = {
    "f4e": [[i + j for j in range(4)] for i in range(4)],
    "b4e": [[(i - j) % 8 for j in range(4)] for i in range(4)],
    "rc8": [[i] * 4 for i in range(4)],
    "ecl": [[max(i, j) for j in range(4)] for i in range(4)],
    "ecr": [[min(i, j) for j in range(4)] for i in range(4)],
    "rc16": [[0, 1, 0, 1], [2, 3, 2, 3], [0, 1, 0, 1], [2, 3, 2, 3]],
}


def _permute_by_mode(instruction: Instruction, selectors: Array) -> Operation:
    def function(a: Array, b: Array, c: Array) -> Array:
        both = (b.astype(np.uint64) << np.uint64(32)) | a.astype(np.uint64)
        chosen = selectors[(c & np.uint32(3)).astype(np.intp)]
        result = np.zeros(1, np.uint64)
        for i in range(4):
            byte = (both >> (chosen[:, i] * np.uint64(8))) & np.uint64(0xFF)
            result = result | (byte << np.uint64(8 * i))
        return result.astype(np.uint32)

    return same_type(instruction, function, _U32)


@opcode("szext")
def extend_field(instruction: Instruction) -> Operation:
    """Sign- or zero-extends the low b bits of a."""
    kind = type_of(instruction)
    wrap = "wrap" in instruction.modifiers

    def function(a: Array, b: Array) -> Array:
        count = (b & np.uint32(31)) if wrap else np.minimum(b, np.uint32(32))
        value = a.view(np.uint32).astype(np.int64)
        size = count.astype(np.int64)
        field = value & ((np.int64(1) << size) - 1)
        if kind.is_signed:
            top = np.where(size > 0, (field >> np.maximum(size - 1, 0)) & 1, 0)
            field = field - (top << size)
        return field.astype(np.uint32).view(kind.dtype)

    a, b = instruction.operands[1:3]
    return Operation(function, ((a, kind), (b, _U32)), (kind,))


@opcode("bmsk")
def bit_mask(instruction: Instruction) -> Operation:
    """b ones from bit a on."""
    wrap = "wrap" in instruction.modifiers

    def function(a: Array, b: Array) -> Array:
        first, count = (
            (x & np.uint32(31) if wrap else np.minimum(x, np.uint32(32))).astype(np.uint64)
            for x in (a, b)
        )
        ones = (np.uint64(1) << count) - np.uint64(1)
        return (ones << first).astype(np.uint32)

    return same_type(instruction, function, _U32)


@opcode("fns")
def find_set(instruction: Instruction) -> Operation:
    """The offset-th set bit of a mask from a base bit up (offset > 0) or down (< 0)."""

    def function(mask: Array, base: Array, offset: Array) -> Array:
        shape = np.broadcast_shapes(mask.shape, base.shape, offset.shape)
        wide = [np.broadcast_to(x, shape).astype(np.int64) for x in (mask, base, offset)]
        left, at = np.abs(wide[2]), wide[1].copy()
        step = np.where(wide[2] < 0, -1, 1)
        left = np.where(wide[2] == 0, 1, left)
        stay = wide[2] == 0  # only the base bit itself is looked at
        result = np.full(shape, 0xFFFFFFFF, np.int64)
        for turn in range(32):
            inside = (at >= 0) & (at < 32) & (left > 0) & ~(stay & (turn > 0))
            hit = inside & ((wide[0] >> np.clip(at, 0, 31)) & 1 == 1)
            left = left - hit
            result = np.where(hit & (left == 0), at, result)
            at = at + step
        return result.astype(np.uint32)

    a, b, c = instruction.operands[1:4]
    return Operation(function, ((a, _U32), (b, _U32), (c, TYPES["s32"])), (_U32,))


@opcode("prmt")
def permute_bytes(instruction: Instruction) -> Operation:
    """Picks four of the eight bytes of b:a by the nibbles of c; bit 3 copies the sign."""
    mode = next((m for m in instruction.modifiers if m in _SELECTORS), None)
    if mode is not None:
        return _permute_by_mode(instruction, np.array(_SELECTORS[mode], np.uint64))

    def function(a: Array, b: Array, c: Array) -> Array:
        both = (b.astype(np.uint64) << np.uint64(32)) | a.astype(np.uint64)
        result = np.zeros(np.broadcast_shapes(a.shape, b.shape, c.shape), np.uint32)
        for i in range(4):
            nibble = (c >> np.uint32(4 * i)) & np.uint32(15)
            byte = (both >> ((nibble & np.uint32(7)).astype(np.uint64) * np.uint64(8))).astype(
                np.uint8
            )
            sign = np.where(byte & 0x80, 0xFF, 0).astype(np.uint8)
            chosen = np.where(nibble & np.uint32(8), sign, byte).astype(np.uint32)
            result |= chosen << np.uint32(8 * i)
        return result

    return same_type(instruction, function, _U32)
