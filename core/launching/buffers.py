"""An array from its text: what it is filled with, its type and its shape, or the file it lies in.

`float32[64,64]` (random), `zeros:int32[8]`, `@b.npy`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.cuda.signature import SignatureParameter
from core.errors import ArgumentError
from core.ladder.buffers import MAKERS, Maker, filled, poisoned
from core.ladder.limits import MAX_ARRAY_BYTES
from core.ladder.rules import listing
from core.launching.plain_files import load_array

DTYPES = [
    *("float16", "float32", "float64", "bool"),
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
]
_MOST_AXES = 16  # of an array
_BFLOAT16 = "bfloat16"
_BUFFER = re.compile(r"(?:(?P<fill>\w+):)?(?P<dtype>[A-Za-z]\w*)\[(?P<shape>[^\]]*)\]")
FILLS: Mapping[str, Maker] = {
    **dict[str, Maker](MAKERS.items()),
    "zeros": lambda _, dtype, shape: np.zeros(shape, dtype),
    "ones": lambda _, dtype, shape: filled(dtype, shape, lambda start, end: 1),
    "range": lambda _, dtype, shape: filled(dtype, shape, np.arange),
    "index": lambda generator, dtype, shape: filled(
        dtype, shape, lambda start, end: generator.integers(0, shape[0], end - start)
    ),
    "poison": lambda _, dtype, shape: poisoned(dtype, shape),
}
"""What an array may hold before the launch, by name."""


def make_buffer(
    parameter: SignatureParameter, value: str, generator: np.random.Generator, room: int
) -> NDArray[Any]:
    """The array of a parameter from its text, of at most `room` bytes; or ArgumentError.

    Its type must be the one that the kernel's pointer has, where it has one.
    """
    if value.startswith("@"):
        data = _load(Path(value[1:]), room)
    elif match := _BUFFER.fullmatch(value):
        data = _make(match, value, generator, room)
    else:
        raise ArgumentError(
            f"{parameter.name} is a pointer ({parameter.type}) and `{value}` is not a buffer: "
            f"write {parameter.name}=float32[64,64], zeros:float32[64] or @file.npy."
        )
    if parameter.dtype is not None and data.dtype != parameter.dtype:
        raise ArgumentError(
            f"{parameter.name} is {parameter.type} in the kernel, which is {parameter.dtype}, "
            f"but the buffer is {data.dtype}: make them agree."
        )
    return data


def _make(
    match: re.Match[str], value: str, generator: np.random.Generator, room: int
) -> NDArray[Any]:
    fill, dtype = match["fill"] or "random", match["dtype"]
    if fill not in FILLS:
        raise ArgumentError(f"`{value}`: {fill} is none of {listing(list(FILLS), 'or')}.")
    if dtype not in (*DTYPES, _BFLOAT16):
        raise ArgumentError(f"`{value}`: {dtype} is none of {listing(DTYPES, 'or')}.")
    sizes = [size.strip() for size in match["shape"].split(",")]
    if not all(re.fullmatch(r"0*[1-9][0-9]{0,14}", size) for size in sizes):
        raise ArgumentError(f"`{value}`: a shape is whole numbers above 0, such as [64,64].")
    if len(sizes) > _MOST_AXES:
        raise ArgumentError(f"`{value}`: a shape has at most {_MOST_AXES} numbers.")
    shape = tuple(int(size) for size in sizes)
    kind = np.dtype("float32" if dtype == _BFLOAT16 else dtype)
    count = kind.itemsize
    for size in shape:
        count *= size
    _check_room(value, count, room)
    made = FILLS[fill](generator, kind, shape)
    return _as_bfloat16(made) if dtype == _BFLOAT16 else made


def _check_room(value: str, count: int, room: int) -> None:
    if count > room:
        others = ", with the arrays before it," if room < MAX_ARRAY_BYTES else ""
        whole = (count + MAX_ARRAY_BYTES - room) / 1e9
        said = f"{whole:.1f}" if whole < 1e6 else f"{whole:.1e}"
        raise ArgumentError(
            f"`{value}` takes{others} {said} GB: at most {MAX_ARRAY_BYTES / 1e9:.0f} GB work."
        )


def _as_bfloat16(values: NDArray[Any]) -> NDArray[Any]:
    """The bits of bfloat16 numbers, rounded to nearest even: NumPy has no such type."""

    def rounded(start: int, end: int) -> NDArray[Any]:
        bits = flat[start:end]
        return (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16

    flat = values.astype(np.float32, copy=False).reshape(-1).view(np.uint32)
    return filled(np.uint16, values.shape, rounded)


def _load(path: Path, room: int) -> NDArray[Any]:
    data = load_array(path)
    _check_room(f"@{path}", data.nbytes, room)
    if data.size == 0 or data.dtype.name not in DTYPES:
        raise ArgumentError(f"{path} does not hold one array of numbers with something in it.")
    return data
