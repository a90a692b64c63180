"""`cvt` (PTX ISA, "Data Movement and Conversion Instructions: cvt")."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from core.ptx.ast import Instruction
from core.ptx.semantics.floating import canonical, flush
from core.ptx.semantics.operation import Array, Operation, opcode, refuse, types_of, unsupported
from core.ptx.types import PtxType

_TO_INTEGER: dict[str, Callable[[Array], Array]] = {
    "rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil,
}  # fmt: skip


def _limits(kind: PtxType) -> tuple[int, int]:
    if kind.is_signed:
        return -(1 << (kind.bits - 1)), (1 << (kind.bits - 1)) - 1
    return 0, (1 << kind.bits) - 1


def float_to_integer(x: Array, to: PtxType, rounding: Callable[[Array], Array]) -> Array:
    """Rounds, then clamps to the range of `to`; NaN gives 0, or the top bit where 64 bits meet."""
    low, high = _limits(to)
    rounded = rounding(x.astype(np.float64))
    nan = 0 if x.dtype.itemsize < 8 and to.bits < 64 else 1 << (to.bits - 1)
    inside = np.where((rounded >= low) & (rounded < float(high)), rounded, 0).astype(to.dtype)
    result = np.where(rounded >= float(high), np.array(high).astype(to.dtype), inside)
    result = np.where(rounded < low, np.array(low).astype(to.dtype), result)
    bits = np.array(nan, dtype=f"u{to.nbytes}").view(to.dtype)
    return np.where(np.isnan(x), bits, result)


def integer_to_integer(x: Array, to: PtxType, source: PtxType, saturate: bool) -> Array:
    """Extends or truncates; with `.sat` clamps instead."""
    if saturate:
        low, high = _limits(to)
        source_low, source_high = _limits(source)
        x = np.clip(x, max(low, source_low), min(high, source_high))
    return x.astype(to.dtype)


@opcode("cvt")
def cvt(instruction: Instruction) -> Operation:
    """Conversion between integer and float types of any width."""
    kinds = types_of(instruction)
    if len(kinds) != 2 or len(instruction.operands) != 2:
        raise unsupported(instruction, "converts a type that is not supported")
    to, source = kinds
    saturate = "sat" in instruction.modifiers
    if source.is_float and to.is_float:
        function = _float_to_float(instruction, to, source)
    elif source.is_float:
        name = next((m for m in instruction.modifiers if m in _TO_INTEGER), "rzi")

        def function(x: Array) -> Array:
            return float_to_integer(flush(x) if "ftz" in instruction.modifiers else x, to,
                                    _TO_INTEGER[name])  # fmt: skip

    elif to.is_float:
        refuse(instruction, "rz", "rm", "rp")

        def function(x: Array) -> Array:
            return (np.clip(x, 0, 1) if saturate else x).astype(to.dtype)

    else:
        function = lambda x: integer_to_integer(x, to, source, saturate)  # noqa: E731
    return Operation(function, ((instruction.operands[1], source),), (to,))


def _float_to_float(
    instruction: Instruction, to: PtxType, source: PtxType
) -> Callable[[Array], Array]:
    refuse(instruction, "relu", "satfinite")
    if to.bits < source.bits:
        refuse(instruction, "rz", "rm", "rp")
    rounding = next((_TO_INTEGER[m] for m in instruction.modifiers if m in _TO_INTEGER), None)
    saturate, ftz = "sat" in instruction.modifiers, "ftz" in instruction.modifiers

    def function(x: Array) -> Array:
        if ftz and x.dtype.itemsize == 4:
            x = flush(x)
        if rounding is not None:
            x = rounding(x)
        result = x.astype(to.dtype)
        if saturate:
            result = np.where(result > 0, np.minimum(result, 1), 0).astype(to.dtype)
        if ftz and to.bits == 32:
            result = flush(result)
        return canonical(result)

    return function
