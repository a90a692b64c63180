"""Address spaces: global buffers, shared and local memory, and how an address finds its bytes.

Every space is a window of the 64-bit generic address space (PTX ISA, "Generic Addressing"); the
windows below are ours, since counts depend on the lower part of an address alone. In that part
global buffers start where the first cudaMalloc calls of a program put them; they lie far apart, so
that an index that runs off a buffer hits nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.cancelling import check
from core.large_arrays import must_fit, zeroed

SHARED_WINDOW = 1 << 40
RANK_BITS = 24  # of a shared address: above them stands the rank of the block, plus 1
LOCAL_WINDOW = 1 << 41
PARAMETER_WINDOW = 1 << 42
GLOBAL_WINDOW = 1 << 46
WINDOWS = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW, "param": PARAMETER_WINDOW}
FAR = 1 << 36  # an address further from a region than this does not mean it
_GUARD = 1 << 32  # least distance between two buffers, in bytes: an index off by far hits nothing
_ALIGNED = 512  # bytes: where cudaMalloc begins one small buffer after another (seen on an H200)
_SLAB = 1 << 21  # size of the slabs that hold them; a buffer of half of it and more has its own
_STRETCH = 1 << 20  # bytes that are copied, or found to be zero, at a time
_GRAIN = 16  # sizes are padded to the widest access, so that every typed view fits


class Region:
    """A stretch of the address space with bytes behind it.

    `data` is uint8; `lane_offset` (int64, one a lane) is added where each lane or block has a copy
    of its own behind the same addresses (shared and local memory), and None elsewhere.
    """

    def __init__(
        self,
        name: str,
        space: str,
        base: int,
        nbytes: int,
        data: NDArray[np.uint8],
        lane_offset: NDArray[np.int64] | None = None,
    ) -> None:
        """Read-only `data` is copied when it is first written to (`writable`)."""
        self.name, self.space, self.base, self.nbytes = name, space, base, nbytes
        self.data, self.lane_offset = data, lane_offset
        self._views: dict[np.dtype[Any], NDArray[Any]] = {}

    @property
    def end(self) -> int:
        """First address after the region."""
        return self.base + self.nbytes

    def view(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        """The bytes as an array of `dtype`."""
        found = self._views.get(dtype)
        if found is None:
            found = self._views[dtype] = self.data.view(dtype)
        return found

    def writable(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        """The bytes as an array of `dtype` that may be written to."""
        if not self.data.flags.writeable:
            self.data = copied(self.data, self.data.size)
            self._views.clear()
        return self.view(dtype)


def padded(nbytes: int) -> int:
    """`nbytes` rounded up so that a view of any type fits."""
    return -(-nbytes // _GRAIN) * _GRAIN


def zeros(nbytes: int) -> NDArray[np.uint8]:
    """Zeroed storage of at least `nbytes`."""
    return zeroed(np.dtype(np.uint8), max(padded(nbytes), _GRAIN))


def copied(raw: NDArray[np.uint8], nbytes: int) -> NDArray[np.uint8]:
    """Storage of at least `nbytes` that begins with `raw`.

    Stretches of zeros are not written, so that a large blank array takes no memory. Raises
    TilescopeError where there is no memory for another.
    """
    data = zeros(nbytes)
    if raw[:_STRETCH].any():
        must_fit(nbytes)
    for start in range(0, raw.size, _STRETCH):
        check()
        part = raw[start : start + _STRETCH]
        if part.any() if part.size % 8 else part.view(np.uint64).any():
            data[start : start + part.size] = part
    return data


class GlobalMemory:
    """The buffers of a launch, laid out at fixed addresses."""

    def __init__(self) -> None:
        self._next, self._taken = GLOBAL_WINDOW, 0
        self.regions: list[Region] = []

    def allocate(
        self,
        name: str,
        content: NDArray[Any],
        space: str = "global",
        nbytes: int = 0,
        place: int | None = None,
    ) -> Region:
        """A buffer with a copy of `content`, after a guard gap.

        It is at least `nbytes` long; what `content` does not fill is zero. Read-only content is
        copied when it is first written to. The lower part of its address is `place`, or where
        cudaMalloc would put it.
        """
        raw = np.ascontiguousarray(content).reshape(-1).view(np.uint8)
        nbytes = max(nbytes, raw.size)
        lent = not raw.flags.writeable and raw.size and raw.size == padded(nbytes)
        data = raw if lent else copied(raw, nbytes)
        begin = self._next + (self._place(nbytes) if place is None else place)
        region = Region(name, space, begin, nbytes, data)
        self._next += -(-(nbytes + _SLAB + _GUARD) // _GUARD) * _GUARD
        self.regions.append(region)
        return region

    def _place(self, nbytes: int) -> int:
        """Where in its slab a buffer begins."""
        room = max(-(-nbytes // _ALIGNED), 1) * _ALIGNED
        if room >= _SLAB // 2:
            return 0
        place = self._taken % _SLAB
        if place + room > _SLAB:
            place = 0
        self._taken = place + room
        return place


class AddressMap:
    """Finds the region of each address."""

    def __init__(self, regions: Iterable[Region]) -> None:
        self.regions = sorted(regions, key=lambda r: r.base)
        self._bases = np.array([r.base for r in self.regions], np.int64)

    def single(self, address: NDArray[np.int64], width: int, guess: Region | None) -> Region | None:
        """The region that holds all the accesses of `width` bytes, or None."""
        low, high = int(address.min()), int(address.max()) + width
        if guess is not None and guess.base <= low and high <= guess.end:
            return guess
        position = int(np.searchsorted(self._bases, low, "right")) - 1
        if position < 0:
            return None
        region = self.regions[position]
        return region if high <= region.end else None

    def owners(self, address: NDArray[np.int64], width: int) -> NDArray[np.intp]:
        """Index into `regions` of each address, -1 where the access is out of bounds."""
        owner = np.searchsorted(self._bases, address, "right") - 1
        ends = np.array([r.end for r in self.regions], np.int64)
        inside = (owner >= 0) & (address + width <= ends[np.maximum(owner, 0)])
        return np.where(inside, owner, -1)

    def nearest(self, address: int) -> Region | None:
        """The region an out-of-bounds address probably meant: the closest one."""

        def distance(region: Region) -> int:
            return max(region.base - address, address - region.end + 1, 0)

        near = min(self.regions, key=distance, default=None)
        return near if near is not None and distance(near) < FAR else None
