"""What is worked out once for a record and kept for as long as the record is."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

K = TypeVar("K")
V = TypeVar("V")
P = ParamSpec("P")


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


def last_for_each(make: Callable[Concatenate[K, P], V]) -> Callable[Concatenate[K, P], V]:
    """`make`, which remembers its last answer about each object, its first argument.

    The other arguments are compared as values. Neither they nor the answer may hold the object.
    """

    @once_for_each
    def kept(_: K) -> list[tuple[object, V]]:
        return []

    @wraps(make)
    def answer(of: K, /, *args: P.args, **kwargs: P.kwargs) -> V:
        found, asked = kept(of), (args, kwargs)
        if not found or found[0][0] != asked:
            found[:] = [(asked, make(of, *args, **kwargs))]
        return found[0][1]

    return answer
