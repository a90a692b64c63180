"""Comparison and selection (PTX ISA, "Comparison and Selection Instructions")."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from core.ptx.arithmetic.operation import (
    Array,
    Operation,
    opcode,
    same_type,
    type_of,
    types_of,
    unsupported,
)
from core.ptx.arithmetic.rounding import flush
from core.ptx.ast import Instruction, Pair
from core.ptx.types import PRED, TYPES, PtxType

Comparison = Callable[[Array, Array], Array]

_ORDERED: dict[str, Comparison] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lo": np.less,
    "ls": np.less_equal,
    "hi": np.greater,
    "hs": np.greater_equal,
}
# A comparison that is also true when an operand is a NaN is the opposite one, negated.
_UNORDERED = {"neu": "eq", "equ": "ne", "ltu": "ge", "leu": "gt", "gtu": "le", "geu": "lt"}
_COMBINE = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


def _unordered(name: str) -> Comparison:
    if name == "equ":
        return lambda a, b: (a == b) | np.isnan(a) | np.isnan(b)
    if name == "neu":
        return np.not_equal
    opposite = _ORDERED[_UNORDERED[name]]
    return lambda a, b: ~opposite(a, b)


def comparison(instruction: Instruction, kind: PtxType) -> Comparison:
    """The comparison that the instruction's modifiers name."""
    for name in instruction.modifiers:
        if name in _ORDERED:
            if name == "ne" and kind.is_float:  # NumPy's != is true for NaN, PTX's `ne` is not
                return lambda a, b: (a < b) | (a > b)
            return _ORDERED[name]
        if name in _UNORDERED:
            return _unordered(name)
        if name in ("num", "nan"):
            wanted = name == "nan"
            return lambda a, b: (np.isnan(a) | np.isnan(b)) == wanted
    raise unsupported(instruction, "has no comparison that is supported")


def combination(instruction: Instruction) -> Callable[[Array, Array], Array] | None:
    """The Boolean operation that a comparison's result goes into with a third operand."""
    return next((_COMBINE[m] for m in instruction.modifiers if m in _COMBINE), None)


@opcode("setp", "set")
def setp(instruction: Instruction) -> Operation:
    """Compares; `setp` gives predicates, `set` all ones (or 1.0) for true."""
    kinds = types_of(instruction)
    kind = kinds[-1]
    if kind.kind == "b" and any(m in instruction.modifiers for m in ("lo", "ls", "hi", "hs")):
        kind = TYPES[f"u{kind.bits}"]
    compare = comparison(instruction, kind)
    if "ftz" in instruction.modifiers:
        exact = compare
        compare = lambda a, b: exact(flush(a), flush(b))  # noqa: E731
    combine = combination(instruction)
    operands = instruction.operands[1:]
    if len(operands) != (2 if combine is None else 3):
        raise unsupported(instruction, "has the wrong number of operands")
    sources = tuple((o, kind if i < 2 else PRED) for i, o in enumerate(operands))
    if instruction.opcode == "set":
        return _set(kinds[0], compare, combine, sources)
    if not isinstance(instruction.operands[0], Pair):
        if combine is None:
            return Operation(compare, sources, (PRED,))
        return Operation(lambda a, b, c: combine(compare(a, b), c), sources, (PRED,))

    def both(a: Array, b: Array, *c: Array) -> tuple[Array, Array]:
        first = compare(a, b)
        if combine is None:
            return first, ~first
        return combine(first, c[0]), combine(~first, c[0])

    return Operation(both, sources, (PRED, PRED))


def _set(
    result: PtxType,
    compare: Comparison,
    combine: Callable[[Array, Array], Array] | None,
    sources: tuple[tuple[object, PtxType], ...],
) -> Operation:
    true = np.array(1.0 if result.is_float else -1).astype(result.dtype)
    zero = np.zeros((), result.dtype)

    def function(a: Array, b: Array, *c: Array) -> Array:
        truth = compare(a, b) if combine is None else combine(compare(a, b), c[0])
        return np.where(truth, true, zero)

    return Operation(function, sources, (result,))  # type: ignore[arg-type]


@opcode("selp")
def selp(instruction: Instruction) -> Operation:
    """c ? a : b."""
    kind = type_of(instruction)
    a, b, c = instruction.operands[1:4]
    return Operation(lambda x, y, p: np.where(p, x, y), ((a, kind), (b, kind), (c, PRED)), (kind,))


@opcode("slct")
def slct(instruction: Instruction) -> Operation:
    """c >= 0 ? a : b."""
    kind, condition = types_of(instruction)
    a, b, c = instruction.operands[1:4]
    ftz = "ftz" in instruction.modifiers

    def choose(x: Array, y: Array, z: Array) -> Array:
        return np.where((flush(z) if ftz else z) >= 0, x, y)

    return Operation(choose, ((a, kind), (b, kind), (c, condition)), (kind,))


@opcode("mov")
def mov(instruction: Instruction) -> Operation:
    """A copy; arrays are never written in place, so the copy is the array itself."""
    return same_type(instruction, lambda a: a)
