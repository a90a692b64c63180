"""PTX's fundamental types and the NumPy types that hold them (PTX ISA, "Fundamental Types")."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

import numpy as np


@dataclass(frozen=True)
class PtxType:
    """One type suffix: `s32`, `f64`, `pred`, …

    `kind` is "u", "s", "f", "b" (untyped bits), "p" (predicate) or "x" (packed, or a float that
    NumPy lacks); `bits` its width.
    `dtype` is how a lane's value is held: untyped bits as signed integers of that width, 128 of
    them as two halves.
    """

    name: str
    kind: str
    bits: int
    dtype: np.dtype[np.generic]

    @property
    def nbytes(self) -> int:
        """Bytes in memory (a predicate has none; 1 is returned)."""
        return max(1, self.bits // 8)

    @property
    def is_float(self) -> bool:
        """True for f16, f32 and f64."""
        return self.kind == "f"

    @property
    def is_signed(self) -> bool:
        """True for s8 … s64."""
        return self.kind == "s"


# Floats that NumPy has no type for, and pairs in one register: held as bits.
_PACKED = {
    "bf16": 16,
    "tf32": 32,
    "f16x2": 32,
    "bf16x2": 32,
    "f32x2": 64,
    "s16x2": 32,
    "u16x2": 32,
    "e4m3x2": 16,
    "e5m2x2": 16,
    "e2m1x2": 8,
    "e2m3x2": 16,
    "e3m2x2": 16,
    "ue8m0x2": 16,
}


def _table() -> dict[str, PtxType]:
    types = [PtxType("pred", "p", 1, np.dtype(np.bool_))]
    for bits in (8, 16, 32, 64):
        signed, unsigned = np.dtype(f"i{bits // 8}"), np.dtype(f"u{bits // 8}")
        types.append(PtxType(f"s{bits}", "s", bits, signed))
        types.append(PtxType(f"u{bits}", "u", bits, unsigned))
        types.append(PtxType(f"b{bits}", "b", bits, signed))
    types.extend(PtxType(f"f{bits}", "f", bits, np.dtype(f"f{bits // 8}")) for bits in (16, 32, 64))
    types.extend(
        PtxType(name, "x", bits, np.dtype(f"i{bits // 8}")) for name, bits in _PACKED.items()
    )
    types.append(PtxType("b128", "b", 128, np.dtype([("low", "<u8"), ("high", "<u8")])))
    return {t.name: t for t in types}


TYPES = MappingProxyType(_table())
PRED = TYPES["pred"]


def bits_of(nbytes: int) -> PtxType:
    """The untyped type of `nbytes` bytes (1, 2, 4 or 8)."""
    return TYPES[f"b{8 * nbytes}"]
