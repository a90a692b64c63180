"""Tensor maps: what the tensor memory accelerator is told of an array, in 128 opaque bytes.

The bytes that NVIDIA's driver makes (`cuTensorMapEncodeTiled`) are secret; ours hold the same
facts, and `encoded` asks the driver for its own. Dimensions go from the innermost to the outermost,
as the driver has them. Limits are those of the CUDA driver API's page on `cuTensorMapEncodeTiled`,
of maps that are tiled and not interleaved.
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import LaunchError, TilescopeError

BYTES, ALIGNMENT = 128, 64  # of a map
SWIZZLES = (0, 32, 64, 128)
MOST_DIMENSIONS = 5
_MOST_BOX, _MOST_STEP, _CHUNK = 256, 8, 16
_MAGIC = b"tensmap1"
_LAYOUT = struct.Struct("<8sQBBBB4x5Q4Q5H5B")
KINDS = ("u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16")
"""What elements may be, by PTX's names, in the order of `CUtensorMapDataType`."""


def kind_of(dtype: np.dtype[Any]) -> str:
    """The kind of an array's elements; "" where a map has none of that sort."""
    name = f"{'s' if dtype.kind == 'i' else dtype.kind}{8 * dtype.itemsize}"
    return name if name in KINDS else ""


@dataclass(frozen=True)
class TensorMap:
    """An array in global memory and the box of it that one copy moves.

    `sizes` and `box` in elements, `strides` in bytes, of all dimensions but the innermost; `steps`:
    only every so-manieth element of the box is copied. `nbytes` of an element. `swizzle` 0, 32, 64
    or 128. Elements of the box outside the array become 0. `kind`, one of `KINDS`, says what a
    reduction computes with; copies do not mind.
    """

    address: int
    nbytes: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    steps: tuple[int, ...]
    swizzle: int = 0
    kind: str = ""  # unsigned where none is given

    def __post_init__(self) -> None:
        if not self.kind:
            object.__setattr__(self, "kind", f"u{8 * self.nbytes}")

    @classmethod
    def of_array(
        cls,
        shape: Sequence[int],
        nbytes: int,
        box: Sequence[int],
        swizzle: int = 0,
        steps: Sequence[int] = (),
        strides: Sequence[int] = (),
        kind: str = "",
    ) -> TensorMap:
        """Of an array, row-major but for `strides`; `shape` has the outermost axis first."""
        sizes = tuple(reversed(shape))
        dense = tuple(nbytes * math.prod(sizes[:i]) for i in range(1, len(sizes)))
        every = tuple(steps) or (1,) * len(sizes)
        apart = tuple(strides) or dense
        return cls(0, nbytes, sizes, apart, tuple(box), every, swizzle, kind).checked()

    def checked(self) -> TensorMap:
        """Itself; raises LaunchError where the driver would refuse it."""
        rank, sides = len(self.sizes), "x".join(map(str, self.box))
        inner = self.box[0] * self.nbytes if self.box else 0
        strides = ", ".join(map(str, self.strides))
        rows = f"has a box whose rows have {inner} bytes"
        wrong = (
            (not 1 <= rank <= MOST_DIMENSIONS, f"has {rank} dimensions; it can have 1 to 5"),
            (len(self.box) != rank, f"has the box {sides} for an array of {rank} dimensions"),
            (len(self.steps) != rank, f"has {len(self.steps)} steps for {rank} dimensions"),
            (
                any(not 1 <= side <= _MOST_BOX for side in self.box),
                f"has the box {sides}; each side can be 1 to {_MOST_BOX}",
            ),
            (inner % _CHUNK != 0, f"{rows}: take a multiple of {_CHUNK}"),
            (
                self.swizzle not in SWIZZLES,
                f"swizzles {self.swizzle} bytes: take none, 32B, 64B or 128B",
            ),
            (
                len(self.strides) != rank - 1,
                f"has {len(self.strides)} strides for {rank} dimensions; the innermost has none",
            ),
            (0 < self.swizzle < inner, f"{rows}, more than its swizzle of {self.swizzle}"),
            (
                any(stride % _CHUNK for stride in self.strides),
                f"has strides of {strides} bytes: take multiples of {_CHUNK}",
            ),
            (
                self.address % _CHUNK != 0,
                f"begins at {self.address:#x}, which is not a multiple of {_CHUNK}",
            ),
            (
                any(not 1 <= step <= _MOST_STEP for step in self.steps),
                f"takes every {max(self.steps, default=1)}th element; the most is {_MOST_STEP}",
            ),
        )
        for applies, sentence in wrong:
            if applies:
                raise LaunchError(f"The tensor map {sentence}.")
        return self

    def at(self, address: int) -> TensorMap:
        """The same of an array at this address."""
        return replace(self, address=address)

    def encoded(self) -> bytes:
        """Its 128 bytes."""

        def five(values: Sequence[int], count: int = MOST_DIMENSIONS) -> list[int]:
            return [*values, *([0] * (count - len(values)))]

        raw = _LAYOUT.pack(
            _MAGIC,
            self.address,
            len(self.sizes),
            self.nbytes,
            self.swizzle,
            KINDS.index(self.kind),
            *five(self.sizes),
            *five(self.strides, MOST_DIMENSIONS - 1),
            *five(self.box),
            *five(self.steps),
        )
        return raw.ljust(BYTES, b"\0")

    @classmethod
    def decoded(cls, raw: bytes) -> TensorMap | None:
        """The map from its bytes; None where these are none of ours."""
        magic, address, rank, nbytes, swizzle, kind, *rest = _LAYOUT.unpack(raw[: _LAYOUT.size])
        if magic != _MAGIC:
            return None
        return cls(
            address,
            nbytes,
            tuple(rest[:rank]),
            tuple(rest[5 : 4 + rank]),
            tuple(rest[9 : 9 + rank]),
            tuple(rest[14 : 14 + rank]),
            swizzle,
            KINDS[kind] if KINDS[kind].endswith(f"{8 * nbytes}") else "",  # an older file's
        )

    @property
    def counts(self) -> tuple[int, ...]:
        """Elements that a copy moves, by dimension."""
        steps = (1, *self.steps[1:])  # the innermost dimension has none
        return tuple(-(-side // step) for side, step in zip(self.box, steps, strict=True))

    @property
    def pitch(self) -> int:
        """Bytes from one row of a box to the next in shared memory: of a swizzle, its width."""
        return self.swizzle or self.counts[0] * self.nbytes

    @property
    def extent(self) -> int:
        """Bytes of shared memory that a box spans."""
        return math.prod(self.counts[1:]) * self.pitch

    @property
    def box_bytes(self) -> int:
        """Bytes that a copy moves, those outside the array among them, as an mbarrier counts."""
        return math.prod(self.counts) * self.nbytes

    @property
    def extent_in_memory(self) -> int:
        """Bytes from the first to the last element of the whole array."""
        strides = (self.nbytes, *self.strides)
        last = sum((size - 1) * step for size, step in zip(self.sizes, strides, strict=True))
        return last + self.nbytes

    def elements(self, corner: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the elements of the box at `corner` lie, in bytes from the array's begin.

        -1 for those outside the array; and where they go in shared memory, before the swizzle.
        """
        place = np.zeros(1, np.int64)
        inside = np.ones(1, bool)
        strides = (self.nbytes, *self.strides)
        steps = (1, *self.steps[1:])
        for size, stride, count, step, first in zip(
            self.sizes, strides, self.counts, steps, corner, strict=True
        ):
            index = int(first) + step * np.arange(count, dtype=np.int64)
            place = (index[:, None] * stride + place).reshape(-1)
            good = (index >= 0) & (index < size)
            inside = (good[:, None] & inside).reshape(-1)
        number = np.arange(len(place), dtype=np.int64)
        row, column = number // self.counts[0], number % self.counts[0]
        return np.where(inside, place, -1), row * self.pitch + column * self.nbytes


def swizzled(address: NDArray[np.int64], mode: int) -> NDArray[np.int64]:
    """Where what belongs at an address in shared memory lies: pieces of 16 bytes change places.

    The number of the 128-byte row is exclusive-ored to that of the piece: one bit of it with a
    swizzle of 32 bytes, two with 64, three with 128 (PTX ISA, "Tensor swizzling modes").
    """
    if not mode:
        return address
    return address ^ ((address >> 7 & (mode // _CHUNK - 1)) << 4)


# CUtensorMapSwizzle and CUtensorMapL2promotion of cuda.h.
_SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}
_L2_128 = 2


def encoded(driver: Any, what: TensorMap) -> bytes:
    """The bytes of a map, by `driver`: libcuda as ctypes loads it, in a current context.

    Raises TilescopeError where the driver refuses the map.
    """
    rank = len(what.sizes)
    raw = (ctypes.c_byte * (BYTES + ALIGNMENT))()
    start = -(-ctypes.addressof(raw) // ALIGNMENT) * ALIGNMENT
    status = driver.cuTensorMapEncodeTiled(
        ctypes.c_void_p(start),
        ctypes.c_int(KINDS.index(what.kind)),
        ctypes.c_uint32(rank),
        ctypes.c_void_p(what.address),
        (ctypes.c_uint64 * rank)(*what.sizes),
        (ctypes.c_uint64 * max(rank - 1, 1))(*what.strides),
        (ctypes.c_uint32 * rank)(*what.box),
        (ctypes.c_uint32 * rank)(*what.steps),
        ctypes.c_int(0),
        ctypes.c_int(_SWIZZLES[what.swizzle]),
        ctypes.c_int(_L2_128),
        ctypes.c_int(0),
    )
    if status:
        raise TilescopeError(f"The driver refuses the tensor map with status {status}.")
    return ctypes.string_at(start, BYTES)
