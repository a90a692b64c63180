"""What is worked out once for a record and kept for as long as the record is."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


def once_for_each(make: Callable[[K], V]) -> Callable[[K], V]:
    """`make`, which remembers its answer about each object until the object is gone.

    Objects are told apart by identity. The answer must not hold the object, or neither ever goes.
    """
    kept: dict[int, tuple[weakref.ref[K], V]] = {}

    @wraps(make, updated=())
    def answer(of: K) -> V:
        key = id(of)
        if key not in kept:
            forget = weakref.ref(of, lambda _: kept.pop(key, None))
            kept[key] = forget, make(of)
        return kept[key][1]

    return answer
