"""Comparison and selection (PTX ISA, "Comparison and Selection Instructions")."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from core.ptx.arithmetic.formats_and_rounding import NARROW, codec, flush, flush_below
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

ORDERED: dict[str, Comparison] = {
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


def _ordered(name: str, *, floats: bool) -> Comparison:
    if name == "ne" and floats:  # NumPy's != is true for NaN, PTX's `ne` is not
        return lambda a, b: (a < b) | (a > b)
    return ORDERED[name]


def _comparison(instruction: Instruction, *, floats: bool) -> Comparison:
    """The comparison that the instruction's modifiers name."""
    for name in instruction.modifiers:
        if name in ORDERED:
            return _ordered(name, floats=floats)
        if name in _UNORDERED:
            opposite = _ordered(_UNORDERED[name], floats=True)
            return lambda a, b: ~opposite(a, b)
        if name in ("num", "nan"):
            wanted = name == "nan"
            return lambda a, b: (np.isnan(a) | np.isnan(b)) == wanted
    raise unsupported(instruction, "has no comparison that is supported")


def _compared(instruction: Instruction, kind: PtxType) -> Comparison:
    """The comparison of two registers: one truth a lane, or two, (lanes, 2), of a pair."""
    is_narrow, ftz = kind.name in NARROW, "ftz" in instruction.modifiers
    test = _comparison(instruction, floats=kind.is_float or is_narrow)
    if not is_narrow:
        return (lambda a, b: test(flush(a), flush(b))) if ftz else test
    form = codec(kind)

    def compare(a: Array, b: Array) -> Array:
        x, y = form.decode(a), form.decode(b)
        if ftz:
            x, y = (flush_below(v, form.form) for v in (x, y))
        found = test(x, y)
        return found if form.lanes == 2 else found[:, 0]

    return compare


@opcode("setp", "set")
def setp(instruction: Instruction) -> Operation:
    """Compares; `setp` gives predicates, `set` all ones (or 1.0) for true, in each half of a pair.

    Of a pair `setp` gives two predicates.
    """
    kinds = types_of(instruction)
    kind = kinds[-1]
    if kind.kind == "b" and any(m in instruction.modifiers for m in ("lo", "ls", "hi", "hs")):
        kind = TYPES[f"u{kind.bits}"]
    compare, of_pair = _compared(instruction, kind), kind.name.endswith("x2")
    combine = next((_COMBINE[m] for m in instruction.modifiers if m in _COMBINE), None)
    operands = instruction.operands[1:]
    if len(operands) != (2 if combine is None else 3):
        raise unsupported(instruction, "has the wrong number of operands")
    sources = tuple((o, kind if i < 2 else PRED) for i, o in enumerate(operands))

    def truth(a: Array, b: Array, *c: Array) -> Array:
        if combine is None:
            return compare(a, b)
        return combine(compare(a, b), c[0].reshape(-1, 1) if of_pair else c[0])

    if instruction.opcode == "set":
        return _set(kinds[0], truth, sources, lanes=2 if of_pair else 1)
    if not isinstance(instruction.operands[0], Pair):
        if of_pair:
            raise unsupported(instruction, "needs two predicates as its result")
        return Operation(compare if combine is None else truth, sources, (PRED,))

    def both(a: Array, b: Array, *c: Array) -> tuple[Array, Array]:
        if of_pair:
            found = truth(a, b, *c)
            return found[:, 0], found[:, 1]
        first = compare(a, b)
        if combine is None:
            return first, ~first
        return combine(first, c[0]), combine(~first, c[0])

    return Operation(both, sources, (PRED, PRED))


_ONE = {"f16": 0x3C00, "bf16": 0x3F80}  # 1.0


def _set(
    result: PtxType, truth: Callable[..., Array], sources: Sources, *, lanes: int
) -> Operation:
    """All ones or 1.0 for true; a pair compared into u32 or s32 gives a mask in each half."""
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
