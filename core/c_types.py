"""The number types of CUDA C++ by their names, and its vectors of them, as NumPy calls them.

It imports no NumPy: the process that compiles has this module, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

NUMBERS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("char", "signed char"), "int8"),
        **dict.fromkeys(("unsigned char", "uchar"), "uint8"),
        **dict.fromkeys(("unsigned short", "ushort"), "uint16"),
        **dict.fromkeys(("unsigned", "unsigned int", "uint"), "uint32"),
        **dict.fromkeys(("long", "long long", "ptrdiff_t", "clock_t"), "int64"),
        **dict.fromkeys(("unsigned long", "ulong", "unsigned long long", "size_t"), "uint64"),
        **{f"{u}int{bits}_t": f"{u}int{bits}" for u in ("", "u") for bits in (8, 16, 32, 64)},
        "bool": "bool",
        "short": "int16",
        "int": "int32",
        "half": "float16",
        "__half": "float16",
        "float": "float32",
        "double": "float64",
    }
)
"""NumPy's names by C's, where a long has eight bytes, as on Linux."""
VECTOR_BASES = (
    *("char", "uchar", "short", "ushort", "int", "uint"),
    *("longlong", "ulonglong", "float", "double"),
)
VECTOR = re.compile(f"({'|'.join(VECTOR_BASES)})([1-4])")  # CUDA's vector types: `float4`, `uchar2`


def numbers_in(name: str) -> tuple[str, int] | None:
    """NumPy's name of a type of numbers or vectors, and how many there are; None for any other."""
    if name in NUMBERS:
        return NUMBERS[name], 1
    found = VECTOR.fullmatch(name)
    if found is None:
        return None
    base = found[1].replace("longlong", "long long").replace("ulong", "unsigned long")
    return NUMBERS[base], int(found[2])


def bytes_of(name: str) -> int | None:
    """The size of a number or a vector; None for any other type."""
    found = numbers_in(name)
    if found is None:
        return None
    kind, count = found
    bits = re.search(r"\d+", kind)
    return count * (int(bits[0]) // 8 if bits is not None else 1)
