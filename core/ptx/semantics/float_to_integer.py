"""Floats to integers: rounding, then the limits of the integer type."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from core.ptx.semantics.operation import Array
from core.ptx.types import PtxType

TO_INTEGER: dict[str, Callable[[Array], Array]] = {
    "rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil,
}  # fmt: skip


def limits(kind: PtxType) -> tuple[int, int]:
    """The least and the greatest value of an integer type."""
    if kind.is_signed:
        return -(1 << (kind.bits - 1)), (1 << (kind.bits - 1)) - 1
    return 0, (1 << kind.bits) - 1


def float_to_integer(x: Array, to: PtxType, rounding: Callable[[Array], Array]) -> Array:
    """Rounds, then clamps to the range of `to`; NaN gives 0, or the top bit where 64 bits meet."""
    low, high = limits(to)
    rounded = rounding(x.astype(np.float64))
    nan = 0 if x.dtype.itemsize < 8 and to.bits < 64 else 1 << (to.bits - 1)
    inside = np.where((rounded >= low) & (rounded < float(high)), rounded, 0).astype(to.dtype)
    result = np.where(rounded >= float(high), np.array(high).astype(to.dtype), inside)
    result = np.where(rounded < low, np.array(low).astype(to.dtype), result)
    bits = np.array(nan, dtype=f"u{to.nbytes}").view(to.dtype)
    return np.where(np.isnan(x), bits, result)
