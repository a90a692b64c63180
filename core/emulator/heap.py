"""The device heap: what a kernel's `malloc` returned, to which thread, and what `free` took back.

It has CUDA's default size, `cudaLimitMallocHeapSize` (CUDA C++ Programming Guide, "Dynamic Global
Memory Allocation and Operations": 8 MB; pointers are aligned to 16 bytes). Memory that was freed is
given again as late as possible, so that a use after `free` is found.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.emulator.address_spaces import Region

HEAP_NAME = "device heap"
HEAP_BYTES = 8 << 20
_ALIGNED = 16
_NEAR = 1 << 10  # granules: an address further behind a piece does not belong to it


@dataclass
class Piece:
    """What one call of `malloc` gave: its offset in the heap, and the bytes asked for.

    `given_at` and `freed_at` are pcs of the calls (-1: not freed), `freed_by` the block and the
    thread that freed it, by their linear indices. `again`: some of its bytes had been freed before.
    """

    start: int
    nbytes: int
    given_at: int
    freed_at: int = -1
    freed_by: tuple[int, int] = (-1, -1)
    again: bool = False

    @property
    def room(self) -> int:
        """The bytes it takes up."""
        return max(-(-self.nbytes // _ALIGNED), 1) * _ALIGNED

    @property
    def is_freed(self) -> bool:
        """Whether it must not be touched any more."""
        return self.freed_at >= 0


class Heap:
    """The heap of one launch; `region` is its place in global memory."""

    def __init__(self, region: Region) -> None:
        self.region = region
        self._pieces: list[Piece] = []
        self._newest = np.zeros(HEAP_BYTES // _ALIGNED, np.int32)  # its number + 1, by the granule
        self._valid = np.zeros(HEAP_BYTES, bool)  # bytes of pieces that are not freed
        self._live: list[int] = []  # starts of the pieces that are not freed
        self._next = self._taken = 0

    def allocate(self, nbytes: int, pc: int) -> Piece | None:
        """`malloc(nbytes)`, called at `pc`; None where there is no room."""
        piece = Piece(0, nbytes, pc)
        start = None if self._taken + piece.room > HEAP_BYTES else self._gap(piece.room)
        if start is None:
            return None
        piece.start, end = start, start + piece.room
        granules = slice(start // _ALIGNED, end // _ALIGNED)
        piece.again = bool(self._newest[granules].any())
        self._pieces.append(piece)
        self._newest[granules] = len(self._pieces)
        self._valid[start : start + nbytes] = True
        insort(self._live, start)
        self._next, self._taken = end, self._taken + piece.room
        return piece

    def _gap(self, room: int) -> int | None:
        """A place with enough room: behind the latest piece, or else the first from the start."""
        for start in (self._next, 0):
            at = start
            for live in self._live[bisect_left(self._live, at) :]:
                if live - at >= room:
                    return at
                at = live + self._at(live).room
            if HEAP_BYTES - at >= room:
                return at
        return None

    def _at(self, offset: int) -> Piece:
        return self._pieces[int(self._newest[offset // _ALIGNED]) - 1]

    def free(self, address: int, pc: int, by: tuple[int, int]) -> bool:
        """`free(address)`; False unless `malloc` returned the pointer and it is not freed yet."""
        piece = self.piece_at(address)
        if piece is None or piece.is_freed or address != self.region.base + piece.start:
            return False
        piece.freed_at, piece.freed_by = pc, by
        self._valid[piece.start : piece.start + piece.nbytes] = False
        del self._live[bisect_left(self._live, piece.start)]
        self._taken -= piece.room
        return True

    def piece_at(self, address: int) -> Piece | None:
        """The piece at an address, now or at last; else the nearest piece before it."""
        granule = (address - self.region.base) // _ALIGNED
        if not 0 <= granule < len(self._newest):
            return None
        before = np.flatnonzero(self._newest[: granule + 1][::-1][:_NEAR])
        return self._at(_ALIGNED * int(granule - before[0])) if len(before) else None

    def outside(self, address: NDArray[np.int64], width: int) -> NDArray[np.bool_]:
        """Which of these accesses, all in the heap's region, touch bytes of no live piece."""
        first = address - self.region.base
        good: NDArray[np.bool_] = self._valid[first] & self._valid[first + width - 1]
        return ~good

    def freed(self, address: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of these addresses lie in the heap, in a piece that was freed."""
        first = address - self.region.base
        inside = (first >= 0) & (first < HEAP_BYTES)
        owners = np.where(inside, self._newest[np.where(inside, first, 0) // _ALIGNED], 0)
        return np.isin(owners, [o for o in np.unique(owners) if o and self._pieces[o - 1].is_freed])
