"""C++ types that are no structures of a source: numbers and CUDA's vectors, by any of their names.

Widths are those of 64-bit Linux, where `long` has 8 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

QUALIFIERS = {
    "const", "volatile", "__restrict__", "__restrict", "restrict", "struct", "class", "enum",
    "union", "typename", "__grid_constant__", "mutable", "constexpr", "inline", "__constant__",
    "__device__", "__managed__", "static", "extern",
}  # fmt: skip
SCALARS: Mapping[str, str] = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "__half": "float16",
    "__nv_bfloat16": "uint16",  # NumPy has none: its bits
    "nv_bfloat16": "uint16",
    "bool": "bool",
    "char": "int8",
    "unsigned char": "uint8",
    "uchar": "uint8",
    "short": "int16",
    "unsigned short": "uint16",
    "ushort": "uint16",
    "int": "int32",
    "unsigned int": "uint32",
    "uint": "uint32",
    "long": "int64",
    "unsigned long": "uint64",
    "ulong": "uint64",
    "long long": "int64",
    "unsigned long long": "uint64",
    "size_t": "uint64",
    "ptrdiff_t": "int64",
    "intptr_t": "int64",
    "uintptr_t": "uint64",
    "cudaTextureObject_t": "",
    "cudaSurfaceObject_t": "",
    **{f"{u}int{bits}_t": f"{u}int{bits}" for u in ("", "u") for bits in (8, 16, 32, 64)},
}
_VECTORS: Mapping[str, str] = {
    "char": "int8", "uchar": "uint8", "short": "int16", "ushort": "uint16", "int": "int32",
    "uint": "uint32", "long": "int64", "ulong": "uint64", "longlong": "int64",
    "ulonglong": "uint64", "float": "float32", "double": "float64",
}  # fmt: skip
# Name: component type, components, alignment where it is not that of CUDA's vectors.
_SPECIAL: Mapping[str, tuple[str, int, int]] = {
    "dim3": ("uint32", 3, 4),
    "half2": ("float16", 2, 4), "__half2": ("float16", 2, 4),
    "__nv_bfloat162": ("uint16", 2, 4), "nv_bfloat162": ("uint16", 2, 4),
    "cuComplex": ("float32", 2, 8), "cuFloatComplex": ("float32", 2, 8),
    "cuDoubleComplex": ("float64", 2, 16),
}  # fmt: skip


@dataclass(frozen=True)
class Leaf:
    """A number, a row of numbers (`count` above 1) or a pointer within a value.

    `path` is "" for a value that is nothing else; `dtype` that of what a pointer points to, None
    for `void*`. `lanes` are the numbers of one element that it points to: 4 for float4.
    """

    path: str
    type: str
    dtype: np.dtype[Any] | None
    offset: int = 0
    count: int = 1
    is_pointer: bool = False
    is_const: bool = False
    lanes: int = 1


@dataclass(frozen=True)
class TypeLayout:
    """Size and alignment in bytes, and what the type consists of."""

    nbytes: int
    align: int
    leaves: tuple[Leaf, ...]
    end: int = 0  # of the last member where padding follows it

    @property
    def used(self) -> int:
        """Bytes up to the end of the last member."""
        return self.end or self.nbytes


def plain_layout(name: str) -> TypeLayout | None:
    """The layout of a number or of one of CUDA's vectors; None of anything else."""
    if SCALARS.get(name):
        dtype = np.dtype(SCALARS[name])
        return TypeLayout(dtype.itemsize, dtype.itemsize, (Leaf("", name, dtype),))
    return _vector(name)


def _vector(plain: str) -> TypeLayout | None:
    match = re.fullmatch(r"([a-z]+)([1234])", plain)
    if match and match[1] in _VECTORS:
        dtype, lanes = np.dtype(_VECTORS[match[1]]), int(match[2])
        align = dtype.itemsize if lanes == 3 else min(16, dtype.itemsize * lanes)
    elif plain in _SPECIAL:
        kind, lanes, align = _SPECIAL[plain]
        dtype = np.dtype(kind)
    else:
        return None
    size = dtype.itemsize
    names = [""] if lanes == 1 else "xyzw"[:lanes]
    leaves = tuple(Leaf(name, dtype.name, dtype, i * size) for i, name in enumerate(names))
    return TypeLayout(size * lanes, align, leaves)


def plain_name(words: list[str]) -> str:
    """A type's one name: `const unsigned long int` and `long unsigned` are `unsigned long`."""
    return _canonical(_unqualified(words))


def _unqualified(words: list[str]) -> list[str]:
    kept = [word for word in words if word not in QUALIFIERS]
    joined = re.sub(r"\s*([<>,])\s*", r"\1", " ".join(kept))
    return [re.sub(r"^(?:::)?(?:cuda::)?std::", "", word) for word in joined.split()]


def _canonical(words: list[str]) -> str:
    built_in = {"signed", "unsigned", "char", "short", "int", "long"}
    if not words or not set(words) <= built_in:
        return " ".join(words)
    if "char" in words:
        return "unsigned char" if "unsigned" in words else "char"
    size = "short" if "short" in words else " ".join(["long"] * words.count("long")) or "int"
    return f"unsigned {size}" if "unsigned" in words else size
