"""`cvt` (PTX ISA, "Data Movement and Conversion Instructions: cvt")."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from core.ptx.arithmetic import rounding
from core.ptx.arithmetic.narrow import packed_conversion
from core.ptx.arithmetic.operation import Array, Operation, opcode, refuse, types_of, unsupported
from core.ptx.arithmetic.rounding import (
    FORMATS,
    TO_INTEGER,
    canonical,
    float_to_integer,
    flush,
    integer_to_odd,
    limits,
    mode_of,
    round_to,
)
from core.ptx.ast import Instruction
from core.ptx.types import TYPES, PtxType


def integer_to_integer(x: Array, to: PtxType, source: PtxType, saturate: bool) -> Array:
    """Extends or truncates; with `.sat` clamps instead."""
    if saturate:
        low, high = limits(to)
        source_low, source_high = limits(source)
        x = np.clip(x, max(low, source_low), min(high, source_high))
    return x.astype(to.dtype)


@opcode("cvt")
def cvt(instruction: Instruction) -> Operation:
    """Conversion between integer and float types of any width."""
    kinds = types_of(instruction)
    if "pack" in instruction.modifiers:
        return _pack_integers(instruction, kinds)
    if any(kind.kind == "x" or (kind.is_float and kind.bits == 16) for kind in kinds):
        return packed_conversion(instruction, kinds)
    if len(kinds) != 2 or len(instruction.operands) != 2:
        raise unsupported(instruction, "converts a type that is not supported")
    to, source = kinds
    saturate = "sat" in instruction.modifiers
    if source.is_float and to.is_float:
        function = _float_to_float(instruction, to, source)
    elif source.is_float:
        name = next((m for m in instruction.modifiers if m in TO_INTEGER), "rzi")

        def function(x: Array) -> Array:
            return float_to_integer(
                flush(x) if "ftz" in instruction.modifiers else x, to, TO_INTEGER[name]
            )

    elif to.is_float:
        function = _integer_to_float(to, mode_of(instruction), saturate)
    else:
        function = lambda x: integer_to_integer(x, to, source, saturate)  # noqa: E731
    return Operation(function, ((instruction.operands[1], source),), (to,))


def _integer_to_float(to: PtxType, mode: str, saturate: bool) -> Callable[[Array], Array]:
    def function(x: Array) -> Array:
        if saturate:
            x = np.clip(x, 0, 1)
        if mode == "rn":
            return x.astype(to.dtype)
        if to.bits == 64:
            return rounding.from_integer(x, mode)
        return round_to(integer_to_odd(x), FORMATS[to.name], mode).astype(to.dtype)

    return function


def _pack_integers(instruction: Instruction, kinds: list[PtxType]) -> Operation:
    """`cvt.pack.sat`: two saturated values side by side, the second lowest, above the old c."""
    to, source = kinds[:2]
    low, high = limits(to)
    word = np.uint64
    mask = word((1 << to.bits) - 1)

    def function(a: Array, b: Array, *c: Array) -> Array:
        halves = (np.clip(x, max(low, limits(source)[0]), high).astype(np.int64) for x in (a, b))
        upper, lower = (h.view(word) & mask for h in halves)
        result = (upper << word(to.bits)) | lower
        if c:
            result = result | (c[0].view(np.uint32).astype(word) << word(2 * to.bits))
        return result.astype(np.uint32)

    a, b, *c = instruction.operands[1:]
    extra = tuple((o, TYPES["b32"]) for o in c)
    return Operation(function, ((a, source), (b, source), *extra), (TYPES["u32"],))


def _float_to_float(
    instruction: Instruction, to: PtxType, source: PtxType
) -> Callable[[Array], Array]:
    refuse(instruction, "relu", "satfinite")
    mode = mode_of(instruction) if to.bits < source.bits else "rn"
    rounding = next((TO_INTEGER[m] for m in instruction.modifiers if m in TO_INTEGER), None)
    saturate, ftz = "sat" in instruction.modifiers, "ftz" in instruction.modifiers

    def function(x: Array) -> Array:
        if ftz and x.dtype.itemsize == 4:
            x = canonical(flush(x))
        if rounding is not None:
            x = rounding(x)
        if mode == "rn":
            result = x.astype(to.dtype)
        else:
            result = round_to(x.astype(np.float64), FORMATS[to.name], mode).astype(to.dtype)
        if saturate:
            result = np.where(result > 0, np.minimum(result, 1), 0).astype(to.dtype)
        if ftz and to.bits == 32:
            result = flush(result)
        # Between f32 and f64 a NaN keeps the upper bits of its fraction (seen on an H200).
        return canonical(result) if to.bits == source.bits == 32 else result

    return function
