"""What CUDA and this machine's memory allow a launch, and sentences for launches beyond that."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.ladder.expressions import IntExpression
from core.ladder.rung_rules import ArrayRule, dim3, listing
from core.launch import MAX_STATIC_SHARED, Dim3

if TYPE_CHECKING:
    from core.ladder.rung import Rung

MAX_ARRAY_BYTES = 4 * 10**9  # the arrays of one launch, on this machine
# CUDA C++ Programming Guide, "Technical Specifications per Compute Capability" (5.0 to 12.x).
MAX_THREADS_PER_BLOCK = 1024
MAX_SHARED_BYTES = 227 * 1024  # a block's dynamic shared memory on compute capability 9.0
MAX_BLOCK = Dim3(1024, 1024, 64)
MAX_GRID = Dim3(2**31 - 1, 65535, 65535)

Values = Mapping[str, int]


@dataclass(frozen=True)
class Limit:
    """A condition that parameters must meet, and what to say where they do not."""

    fits: Callable[[Values], bool]
    sentence: Callable[[Values], str]


def limits_of(rung: Rung) -> tuple[Limit, ...]:
    """All limits of a rung's launches, in the order in which they are checked."""
    return (
        _threads(rung),
        _block(rung),
        _shared(rung, rung.shared_bytes, MAX_STATIC_SHARED),
        _shared(rung, rung.dynamic_shared_bytes, MAX_SHARED_BYTES),
        _grid(rung),
        _memory(rung),
    )


def _threads(rung: Rung) -> Limit:
    def fits(values: Values) -> bool:
        return dim3(rung.block, values).count <= MAX_THREADS_PER_BLOCK

    def sentence(values: Values) -> str:
        block = dim3(rung.block, values)
        return (
            f"A block of {block} is {block.count} threads and CUDA allows "
            f"{MAX_THREADS_PER_BLOCK}: {_remedy(rung, rung.block, values, fits)}."
        )

    return Limit(fits, sentence)


def _block(rung: Rung) -> Limit:
    return Limit(
        lambda values: not _exceeds(dim3(rung.block, values), MAX_BLOCK),
        lambda values: (
            f"A block of {dim3(rung.block, values)} is too long: CUDA allows {MAX_BLOCK}."
        ),
    )


def _shared(rung: Rung, used: IntExpression, most: int) -> Limit:
    def fits(values: Values) -> bool:
        return used.evaluate(values) <= most

    def sentence(values: Values) -> str:
        return (
            f"A block would need {used.evaluate(values)} bytes of shared memory and has {most}: "
            f"{_remedy(rung, (used,), values, fits)}."
        )

    return Limit(fits, sentence)


def _grid(rung: Rung) -> Limit:
    return Limit(
        lambda values: not _exceeds(dim3(rung.grid, values), MAX_GRID),
        lambda values: (
            f"A grid of {dim3(rung.grid, values)} blocks is too large (CUDA allows {MAX_GRID}): "
            "use larger blocks or smaller arrays."
        ),
    )


def _memory(rung: Rung) -> Limit:
    rules = [rule for rule in rung.arguments if isinstance(rule, ArrayRule)]
    extents = tuple(extent for rule in rules for extent in rule.shape)

    def needed(values: Values) -> int:
        return sum(rule.nbytes(values) for rule in rules)

    def fits(values: Values) -> bool:
        return needed(values) <= MAX_ARRAY_BYTES

    def sentence(values: Values) -> str:
        return (
            f"The arrays would take {needed(values) / 1e9:.1f} GB and at most "
            f"{MAX_ARRAY_BYTES / 1e9:.0f} GB are allowed: {_remedy(rung, extents, values, fits)}."
        )

    return Limit(fits, sentence)


def _remedy(
    rung: Rung, causes: tuple[IntExpression, ...], values: Values, fits: Callable[[Values], bool]
) -> str:
    """'use n of at most 18257', or which parameters to make smaller where there are several."""
    used = frozenset[str]().union(*(cause.names for cause in causes))
    blamed = [p for p in rung.parameters if p.name in used]
    if len(blamed) == 1:
        (one,) = blamed
        tried = range(one.minimum, values[one.name] + 1)
        most = bisect_left(tried, True, key=lambda v: not fits({**values, one.name: v}))
        if most > 0:
            return f"use {one.name} of at most {tried[most - 1]}"
    return f"make {listing([p.name for p in blamed], 'or')} smaller"


def _exceeds(size: Dim3, limit: Dim3) -> bool:
    return size.x > limit.x or size.y > limit.y or size.z > limit.z
