"""Comparison and selection (PTX ISA, "Comparison and Selection Instructions")."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from core.ptx.arithmetic.formats_and_rounding import NARROW, Codec, codec, flush, flush_below
from core.ptx.arithmetic.operation import (
    Array,
    Operation,
    opcode,
    type_of,
    types_of,
    unsupported,
)
from core.ptx.ast import Instruction, Operand, Pair
from core.ptx.types import PRED, TYPES, PtxType

Comparison = Callable[[Array, Array], Array]
Sources = tuple[tuple[Operand, PtxType], ...]

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


def _comparison(instruction: Instruction, kind: PtxType) -> Comparison:
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


def _combination(instruction: Instruction) -> Callable[[Array, Array], Array] | None:
    """The Boolean operation that a comparison's result goes into with a third operand."""
    return next((_COMBINE[m] for m in instruction.modifiers if m in _COMBINE), None)


@opcode("setp", "set")
def setp(instruction: Instruction) -> Operation:
    """Compares; `setp` gives predicates, `set` all ones (or 1.0) for true."""
    kinds = types_of(instruction)
    kind = kinds[-1]
    if kind.kind == "b" and any(m in instruction.modifiers for m in ("lo", "ls", "hi", "hs")):
        kind = TYPES[f"u{kind.bits}"]
    compare = _comparison(instruction, kind)
    if "ftz" in instruction.modifiers:
        exact = compare
        compare = lambda a, b: exact(flush(a), flush(b))  # noqa: E731
    combine = _combination(instruction)
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
    sources: Sources,
) -> Operation:
    true = np.array(1.0 if result.is_float else -1).astype(result.dtype)
    zero = np.zeros((), result.dtype)

    def function(a: Array, b: Array, *c: Array) -> Array:
        truth = compare(a, b) if combine is None else combine(compare(a, b), c[0])
        return np.where(truth, true, zero)

    return Operation(function, sources, (result,))


_ONE = {"f16": 0x3C00, "bf16": 0x3F80}  # 1.0


@opcode("setp", "set", types=NARROW)
def narrow_setp(instruction: Instruction) -> Operation:
    """Compares; of a pair, `setp` gives two predicates, `set` a mask or 1.0 in each half."""
    kinds = types_of(instruction)
    kind = kinds[-1]
    form = codec(kind)
    test = _comparison(instruction, TYPES["f32"])
    combine = _combination(instruction)
    ftz = "ftz" in instruction.modifiers

    def plain(a: Array, b: Array) -> Array:
        x, y = form.decode(a), form.decode(b)
        if ftz:
            x, y = (flush_below(v, form.form) for v in (x, y))
        return test(x, y)

    def truth(a: Array, b: Array, *c: Array) -> Array:
        true = plain(a, b)
        return true if combine is None else combine(true, c[0].reshape(-1, 1))

    sources = tuple((o, kind if i < 2 else PRED) for i, o in enumerate(instruction.operands[1:]))
    if instruction.opcode == "set":
        return _narrow_set(kinds[0], form, truth, sources)
    if not isinstance(instruction.operands[0], Pair):
        if form.lanes == 2:
            raise unsupported(instruction, "needs two predicates as its result")
        return Operation(lambda *args: truth(*args)[:, 0], sources, (PRED,))

    def both(a: Array, b: Array, *c: Array) -> tuple[Array, Array]:
        if form.lanes == 2:
            found = truth(a, b, *c)
            return found[:, 0], found[:, 1]
        true = plain(a, b)[:, 0]
        return (true, ~true) if combine is None else (combine(true, c[0]), combine(~true, c[0]))

    return Operation(both, sources, (PRED, PRED))


def _narrow_set(
    result: PtxType, form: Codec, truth: Callable[..., Array], sources: Sources
) -> Operation:
    """All ones or 1.0 for true; a pair compared into u32 or s32 gives a mask in each half."""
    lanes = form.lanes
    width = 8 * result.nbytes // lanes
    base = result.name.removesuffix("x2")
    if base in _ONE:
        true = _ONE[base]
    elif result.is_float:
        true = int(np.array(1.0, result.dtype).view(f"u{result.nbytes}"))
    else:
        true = (1 << width) - 1
    word = np.dtype(f"u{width // 8}")

    def function(*args: Array) -> Array:
        bits = np.where(truth(*args), word.type(true), word.type(0))
        return np.ascontiguousarray(bits).view(result.dtype).reshape(-1)

    return Operation(function, sources, (result,))


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
