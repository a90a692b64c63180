"""What each atomic operation makes of the old value (PTX ISA, "atom" and "red")."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.ptx.semantics import rounding
from core.ptx.semantics.ieee import canonical, flush
from core.ptx.semantics.narrow import codec
from core.ptx.types import PtxType

Update = Callable[..., Any]
Values = NDArray[Any]


def _increment(old: Values, limit: Values) -> Values:
    return np.where(old >= limit, 0, old + 1).astype(old.dtype)


def _decrement(old: Values, limit: Values) -> Values:
    return np.where((old == 0) | (old > limit), limit, old - 1).astype(old.dtype)


_PLAIN: dict[str, Update] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "exch": lambda old, new: new,
    "cas": lambda old, compare, new: np.where(old == compare, new, old),
    "inc": _increment,
    "dec": _decrement,
}


def update(operation: str, kind: PtxType, space: str) -> Update:
    """The new value from the old one and the operands.

    A float32 sum in global memory flushes subnormals to zero, in shared memory it does not.
    """
    if operation in ("add", "min", "max") and (kind.kind == "x" or kind.name == "f16"):
        return _narrow(operation, kind)
    if operation == "add" and kind.is_float:
        if kind.bits == 32 and space != "shared":
            return lambda old, value: flush(canonical(flush(old) + flush(value)))
        return lambda old, value: canonical(old + value)
    return _PLAIN[operation]


def _narrow(operation: str, kind: PtxType) -> Update:
    """Half precision: each element rounded once."""
    form = codec(kind)
    functions: dict[str, Update] = {"add": rounding.add, "min": np.fmin, "max": np.fmax}
    exact = functions[operation]

    def function(old: Values, value: Values) -> Values:
        total = exact(form.decode(old), form.decode(value))
        return form.encode(rounding.round_to(total, form.form, "rn"))

    return function
