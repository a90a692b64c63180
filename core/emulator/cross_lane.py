"""Instructions by which the lanes of a warp see each other: shuffles and votes.

Their functions get the register values as rows of a warp, shape (warps, 32), and the mask of the
lanes that take part, and return rows (PTX ISA, "shfl.sync", "vote.sync", "activemask").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.ptx.ast import Instruction, Pair
from core.ptx.semantics.operation import Array, Operation, type_of, unsupported
from core.ptx.types import PRED, TYPES

Rows = NDArray[Any]
CROSS_LANE = ("shfl", "vote", "activemask", "match", "redux", "elect")
_U32, _B32 = TYPES["u32"], TYPES["b32"]
_LANES = np.arange(32, dtype=np.int64)


def cross_lane(instruction: Instruction) -> Operation:
    """The operation; its function takes `(active, *sources)` as rows of 32 lanes."""
    builders: dict[str, Callable[[Instruction], Operation]] = {
        "shfl": _shuffle, "vote": _vote, "activemask": _active_mask, "redux": _reduce,
        "match": _match, "elect": _elect,
    }  # fmt: skip
    return builders[instruction.opcode](instruction)


def mask_bits(rows: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """Each row of 32 booleans as the bits of a word, lane 0 lowest, repeated for every lane."""
    words = np.packbits(rows, axis=1, bitorder="little").view(np.uint32)
    return np.repeat(words, 32, axis=1)


def _shuffle(instruction: Instruction) -> Operation:
    """Lane i reads the value of a lane computed from i, b and the segment in c."""
    mode = next((m for m in instruction.modifiers if m in ("up", "down", "bfly", "idx")), "")
    _, a, b, c, *_ = instruction.operands
    two = isinstance(instruction.operands[0], Pair)

    def function(_: Rows, value: Array, lane_b: Array, clamp: Array) -> Any:
        segment = (clamp >> 8).astype(np.int64) & 31
        limit = clamp.astype(np.int64) & 31
        move = lane_b.astype(np.int64) & 31
        lowest = _LANES & segment
        highest = lowest | (limit & ~segment)
        if mode == "up":
            source = _LANES - move
            inside = source >= highest
        elif mode == "down":
            source = _LANES + move
            inside = source <= highest
        elif mode == "bfly":
            source = _LANES ^ move
            inside = source <= highest
        else:
            source = lowest | (move & ~segment)
            inside = source <= highest
        chosen = np.where(inside, source, _LANES) & 31
        result = np.take_along_axis(value, chosen, axis=1)
        return (result, inside) if two else result

    sources = ((a, _B32), (b, _U32), (c, _U32))
    return Operation(function, sources, (_B32, PRED) if two else (_B32,))


def _vote(instruction: Instruction) -> Operation:
    """all, any, uni and ballot over the participating lanes."""
    mode = next((m for m in instruction.modifiers if m in ("all", "any", "uni", "ballot")), "")

    def function(active: Rows, predicate: Array) -> Array:
        true: Rows = predicate & active
        false: Rows = ~predicate & active
        if mode == "ballot":
            return mask_bits(true)
        some_true = true.any(axis=1, keepdims=True)
        some_false = false.any(axis=1, keepdims=True)
        truths = {"all": ~some_false, "any": some_true, "uni": ~some_true | ~some_false}
        return np.repeat(truths[mode], 32, axis=1)

    result = _B32 if mode == "ballot" else PRED
    return Operation(function, ((instruction.operands[1], PRED),), (result,))


def _active_mask(_: Instruction) -> Operation:
    return Operation(mask_bits, (), (_U32,))


def _reduce(instruction: Instruction) -> Operation:
    """`redux.sync`: a reduction over the participating lanes."""
    kind = type_of(instruction)
    ufuncs = {"add": np.add, "min": np.minimum, "max": np.maximum,
              "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}  # fmt: skip
    name = next((m for m in instruction.modifiers if m in ufuncs), "")
    if not name or kind.is_float:
        raise unsupported(instruction)
    ufunc = ufuncs[name]

    def function(active: Rows, value: Array) -> Array:
        result = np.zeros_like(value)
        for row in np.flatnonzero(active.any(axis=1)):
            result[row] = ufunc.reduce(value[row][active[row]], dtype=value.dtype)
        return result

    return Operation(function, ((instruction.operands[1], kind),), (kind,))


def _match(instruction: Instruction) -> Operation:
    """`match.sync`: which lanes have the same value; `.all`: whether all have."""
    kind = TYPES[f"b{type_of(instruction).bits}"]
    two = isinstance(instruction.operands[0], Pair)

    def any_of(active: Rows, value: Array) -> Array:
        same = (value[:, :, None] == value[:, None, :]) & active[:, None, :]
        words = np.packbits(same, axis=2, bitorder="little").view(np.uint32)
        return words[:, :, 0]

    def all_of(active: Rows, value: Array) -> Any:
        first = np.take_along_axis(value, active.argmax(axis=1)[:, None], axis=1)
        alike = ((value == first) | ~active).all(axis=1, keepdims=True)
        words = np.where(alike, mask_bits(active), np.uint32(0))
        return (words, np.repeat(alike, 32, axis=1)) if two else words

    source = ((instruction.operands[1], kind),)
    if "all" in instruction.modifiers:
        return Operation(all_of, source, (_U32, PRED) if two else (_U32,))
    return Operation(any_of, source, (_U32,))


def _elect(instruction: Instruction) -> Operation:
    """`elect.sync`: the lowest lane that takes part is chosen."""

    def function(active: Rows) -> Any:
        leader = active.argmax(axis=1).astype(np.uint32)[:, None]
        return np.repeat(leader, 32, axis=1), (leader == _LANES) & active

    if not isinstance(instruction.operands[0], Pair):
        raise unsupported(instruction, "needs a predicate for its result")
    return Operation(function, (), (_U32, PRED))
