"""Instructions by which the lanes of a warp see each other: shuffles and votes.

Their functions get the register values as rows of a warp, shape (warps, 32), and the mask of the
lanes that take part, and return rows (PTX ISA, "shfl.sync", "vote.sync", "activemask").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.ptx.arithmetic.operation import Array, Operation, type_of, unsupported
from core.ptx.ast import Instruction, Operand, Pair
from core.ptx.opcodes import opcode_of
from core.ptx.types import PRED, TYPES, PtxType

Rows = NDArray[Any]
_U32, _B32 = TYPES["u32"], TYPES["b32"]
_LANES = np.arange(32, dtype=np.int64)


def cross_lane(instruction: Instruction) -> Operation:
    """The operation; its function takes `(active, *sources)` as rows of 32 lanes."""
    builders: dict[str, Callable[[Instruction], Operation]] = {
        "shfl": _shuffle,
        "vote": _vote,
        "activemask": lambda _: Operation(mask_bits, (), (_U32,)),
        "redux": _reduce,
        "match": _match,
        "elect": _elect,
    }
    if opcode_of(instruction).must_sync and "sync" not in instruction.modifiers:
        raise unsupported(instruction, "needs .sync")
    return builders[instruction.opcode](instruction)


def mask_bits(rows: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """Each row of 32 booleans as the bits of a word, lane 0 lowest, repeated for every lane."""
    words = np.packbits(rows, axis=1, bitorder="little").view(np.uint32)
    return np.repeat(words, 32, axis=1)


def _shuffle(instruction: Instruction) -> Operation:
    """Lane i reads the value of a lane computed from i, b and the segment in c."""
    mode = next((m for m in instruction.modifiers if m in ("up", "down", "bfly", "idx")), "")
    if not mode:
        raise unsupported(instruction, "does not say which lane is read")
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
    if not mode:
        raise unsupported(instruction, "does not say what is voted on")

    def function(active: Rows, predicate: Array, *members: Array) -> Array:
        true = _among(mask_bits(predicate & active), members)
        if mode == "ballot":
            return true
        false = _among(mask_bits(~predicate & active), members)
        truths = {"all": false == 0, "any": true != 0, "uni": (true == 0) | (false == 0)}
        return np.asarray(truths[mode])

    result = _U32 if mode == "ballot" else PRED
    source = ((instruction.operands[1], PRED),)
    return Operation(function, (*source, *_members(instruction)), (result,))


def _members(instruction: Instruction) -> tuple[tuple[Operand, PtxType], ...]:
    """The member mask as a source, where the instruction has one.

    Lanes with different masks execute it side by side and see only those of their own.
    """
    return ((instruction.operands[-1], _U32),) if "sync" in instruction.modifiers else ()


def _among(words: Array, members: tuple[Array, ...]) -> Array:
    """The bits of `words` that the member mask names."""
    return words & members[0] if members else words


def _reduce(instruction: Instruction) -> Operation:
    """`redux.sync`: a reduction over the participating lanes."""
    kind = type_of(instruction)
    ufuncs = {
        "add": np.add,
        "min": np.minimum,
        "max": np.maximum,
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
    }
    name = next((m for m in instruction.modifiers if m in ufuncs), "")
    if not name or kind.is_float:
        raise unsupported(instruction)
    ufunc = ufuncs[name]

    def function(active: Rows, value: Array, members: Array) -> Array:
        result = np.zeros_like(value)
        for row in np.flatnonzero(active.any(axis=1)):
            for mask in np.unique(members[row][active[row]]):
                inside = active[row] & ((mask >> _LANES.astype(np.uint32)) & np.uint32(1) == 1)
                total = ufunc.reduce(value[row][inside], dtype=value.dtype)
                result[row][active[row] & (members[row] == mask)] = total
        return result

    source = ((instruction.operands[1], kind),)
    return Operation(function, (*source, *_members(instruction)), (kind,))


def _match(instruction: Instruction) -> Operation:
    """`match.sync`: which lanes have the same value; `.all`: whether all have."""
    kind = TYPES[f"b{type_of(instruction).bits}"]
    two = isinstance(instruction.operands[0], Pair)

    def any_of(active: Rows, value: Array, members: Array) -> Array:
        same = (value[:, :, None] == value[:, None, :]) & active[:, None, :]
        words = np.packbits(same, axis=2, bitorder="little").view(np.uint32)
        return words[:, :, 0] & members

    def all_of(active: Rows, value: Array, members: Array) -> Any:
        same = any_of(active, value, members)
        present = mask_bits(active) & members
        alike = same == present
        words = np.where(alike, present, np.uint32(0))
        return (words, alike) if two else words

    source = ((instruction.operands[1], kind), *_members(instruction))
    if "all" in instruction.modifiers:
        return Operation(all_of, source, (_U32, PRED) if two else (_U32,))
    return Operation(any_of, source, (_U32,))


def _elect(instruction: Instruction) -> Operation:
    """`elect.sync`: the lowest lane that takes part is chosen."""

    def function(active: Rows, members: Array) -> Any:
        present = mask_bits(active) & members
        lowest = present & (~present + np.uint32(1))
        leader = np.bitwise_count(lowest - np.uint32(1)).astype(np.uint32)
        return leader, (leader == _LANES) & active

    if not isinstance(instruction.operands[0], Pair):
        raise unsupported(instruction, "needs a predicate for its result")
    return Operation(function, _members(instruction), (_U32, PRED))
