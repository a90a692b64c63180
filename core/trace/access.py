"""One memory access of a block, and one warp's share of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.launch import WARP
from core.rules import atomics, global_memory, shared_memory

if TYPE_CHECKING:
    from core.launch import Role
    from core.rules.shared_memory import Group

# The arrays of a launch: buffers in global memory, and the `__shared__` arrays of a block.


class _Shaped:
    """An array of a shape and a type."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return math.prod(self.shape) * self.dtype.itemsize

    def index(self, flat: int) -> tuple[int, ...]:
        """The index of the element at place `flat` in row-major order."""
        return tuple(int(i) for i in np.unravel_index(flat, self.shape))


@dataclass(frozen=True)
class Array(_Shaped):
    """A buffer in global memory. `base` is its address in the emulator, a multiple of 256.

    `fields` names the places of the last axis where the rows are structures; else it is empty.
    Where these are of several types the numbers are bytes, and `types` says of which type each
    byte's field is.
    """

    name: str
    base: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    role: Role = "input"
    fields: tuple[str, ...] = ()
    types: tuple[np.dtype[Any] | None, ...] = ()

    def field_at(self, flat: int) -> tuple[int, np.dtype[Any]] | None:
        """Where the field begins that a byte belongs to (flat), and its type.

        None where a number is a field by itself, and where a field is not a number.
        """
        if not self.types:
            return None
        row, place = divmod(int(flat), self.shape[-1])
        kind, name = self.types[place], self.fields[place]
        first = place
        while first and self.fields[first - 1] == name:
            first -= 1
        if kind is None or not name:
            return None
        whole = self.fields[first : first + kind.itemsize] == (name,) * kind.itemsize
        return (row * self.shape[-1] + first, kind) if whole else None


@dataclass(frozen=True)
class SharedArray(_Shaped):
    """A `__shared__` array; `offset` is where it starts in the block's shared memory, in bytes."""

    name: str
    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


@dataclass(frozen=True)
class SharedState:
    """What a shared array holds at some step.

    `values` has the array's shape and type (zero where nothing was written), `written` bool, and
    `last_writer` int32 the linear thread that wrote each element last, -1 for none.
    """

    values: NDArray[Any]
    written: NDArray[np.bool_]
    last_writer: NDArray[np.int32]


def owner_of(arrays: tuple[SharedArray, ...], offset: int) -> SharedArray | None:
    """The shared array at a byte offset."""
    for array in arrays:
        if array.offset <= offset < array.offset + array.nbytes:
            return array
    return None


def label(name: str, index: tuple[int, ...], fields: tuple[str, ...] = ()) -> str:
    """An element as the source writes it: `A[0,4]`, `p[3].vx` with the structure's `fields`."""
    if fields and len(index) > 1 and fields[index[-1]]:
        return f"{label(name, index[:-1])}.{fields[index[-1]]}"
    return f"{name}[{','.join(str(i) for i in index)}]"


def fields_of(array: Array | SharedArray) -> tuple[str, ...]:
    """The fields of an array of structures, none of any other."""
    return array.fields if isinstance(array, Array) else ()


@dataclass(frozen=True)
class Access:
    """A memory instruction that a step executed for a block.

    Arrays have one place a thread, padded to whole warps (n_warps * 32); what idle threads hold in
    `addresses` and `values` means nothing. `array` is None where no array is known (local memory).
    """

    step: int
    kind: str  # "load", "store", "atomic"
    space: str  # "global", "shared", "local", "const", "param"
    width: int  # bytes a lane
    line: int
    array: Array | SharedArray | None
    addresses: NDArray[np.int64]
    active: NDArray[np.bool_]
    values: NDArray[Any]
    sharing: shared_memory.Sharing = "grouped"
    variable: str = ""  # of the source, where it is not an array of the launch: a __constant__ one
    exchanges: bool = False  # an atomic that is a compare-and-swap
    wrong: NDArray[np.bool_] | None = None  # see `faulty`; None where no thread is
    fault: str = ""  # "out_of_bounds", "misaligned" or "use_after_free", where a thread is faulty
    origin: int = 0  # the address at which the variable, or the thread's local memory, begins
    pc: int = -1  # of the instruction
    led: str = ""  # as the instruction is
    is_copy: bool = False  # of a `cp.async`, which loads in one step and stores in the next
    is_reduction: bool = False  # an atomic of global memory whose old value nobody uses

    @cached_property
    def faulty(self) -> NDArray[np.bool_]:
        """Threads whose access is illegal: bool, a place a thread. It has no effect and loads zero.

        They are not `active`, and `addresses` says where they wanted to go.
        """
        return np.zeros(self.active.shape, bool) if self.wrong is None else self.wrong

    def wanted(self, thread: int) -> int | None:
        """Flat index in `array` that a faulty thread wanted, which may be negative or too large.

        None where no array is known, and for other threads.
        """
        if self.array is None or not self.faulty[thread]:
            return None
        return int(self.addresses[thread] - self._start) // self.array.dtype.itemsize

    @property
    def _start(self) -> int:
        return self.array.offset if isinstance(self.array, SharedArray) else self.array.base  # type: ignore[union-attr]

    @property
    def target(self) -> str:
        """What is accessed, in words: the array, else the variable, else "local memory"."""
        if self.array is not None:
            return self.array.name
        return self.variable or f"{self.space} memory"

    @cached_property
    def elements(self) -> NDArray[np.int64]:
        """Flat index of each thread's (first) element in `array`, -1 where idle."""
        if self.array is None:
            return np.full(self.addresses.shape, -1, np.int64)
        place = (self.addresses - self._start) // self.array.dtype.itemsize
        inside = (place >= 0) & (place < self.array.nbytes // self.array.dtype.itemsize)
        return np.where(self.active & inside, place, -1)

    def element(self, thread: int) -> tuple[int, ...] | None:
        """The index of the element that a thread accesses; None if it is idle."""
        flat = int(self.elements[thread])
        return None if flat < 0 or self.array is None else self.array.index(flat)

    @property
    def warps(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Addresses of each warp, and the lanes that count (`WarpAccess`): both (n_warps, 32)."""
        addresses, active = self.addresses.reshape(-1, WARP), self.active.reshape(-1, WARP)
        return addresses, atomics.leaders(addresses, active, self.led) if self.led else active

    @property
    def warp_sectors(self) -> NDArray[np.int64]:
        """Sectors of global or local memory that each warp's access moves: int64 (n_warps,)."""
        addresses, active = self.warps
        if self.space == "local":
            return global_memory.local_sectors(addresses - self.origin, active, self.width)
        if self.kind == "atomic":
            return atomics.sectors(addresses, active, self.width, exchange_if_equal=self.exchanges)
        return global_memory.sectors(addresses, active)

    def warp(self, warp: int) -> WarpAccess:
        """One warp's lanes."""
        lanes = slice(warp * WARP, (warp + 1) * WARP)
        parts = {one.name: getattr(self, one.name) for one in fields(self)}
        for name in ("addresses", "active", "values", "wrong"):
            parts[name] = None if parts[name] is None else parts[name][lanes]
        return WarpAccess(**parts)


@dataclass(frozen=True)
class WarpAccess(Access):
    """One warp's part of an access: 32 lanes, and what they cost together."""

    @cached_property
    def counted(self) -> NDArray[np.bool_]:
        """The active lanes, or the one that does the atomic for all of them; bool (32,)."""
        lanes: NDArray[np.bool_] = self.warps[1][0]
        return lanes

    @cached_property
    def _live(self) -> NDArray[np.int64]:
        return self.addresses[self.active]

    @cached_property
    def _used(self) -> dict[int, int]:
        return global_memory.used_bytes(self._live, self.width) if self.active.any() else {}

    @property
    def sectors(self) -> NDArray[np.int64]:
        """Addresses of the distinct 32-byte sectors touched, ascending; int64 (k,)."""
        return np.fromiter(self._used, np.int64, len(self._used))

    @property
    def bytes_used(self) -> NDArray[np.uint32]:
        """How many bytes of each of `sectors` the lanes ask for; uint32 (k,)."""
        return np.fromiter(self._used.values(), np.uint32, len(self._used))

    @property
    def lines(self) -> NDArray[np.int64]:
        """Addresses of the distinct 128-byte lines touched, ascending."""
        return np.unique(self.sectors & ~np.int64(global_memory.LINE - 1))

    @cached_property
    def n_sectors(self) -> int:
        """Sectors the request moves; an atomic's as often as its passes visit them."""
        if self.kind != "atomic" or self.space != "global":
            return len(self._used)
        return int(self.warp_sectors[0])

    @property
    def ideal_sectors(self) -> int:
        """Sectors if the active lanes' bytes lay side by side, at most the actual."""
        return min(self.n_sectors, -(-self._bytes_asked // global_memory.SECTOR))

    @property
    def banks(self) -> NDArray[np.int64]:
        """The bank of each lane's (first) word, -1 where idle; int64 (32,)."""
        return np.where(self.active, self.addresses // shared_memory.WORD % shared_memory.BANKS, -1)

    @property
    def groups(self) -> tuple[Group, ...]:
        """The lanes of an access to shared memory that go together."""
        return shared_memory.groups(self.addresses, self.counted, self.width, self.sharing)

    @property
    def ways(self) -> NDArray[np.int64]:
        """Passes that each bank takes at most for lanes that go together; int64 (32,).

        In an n-way conflict there are n.
        """
        most = np.zeros(shared_memory.BANKS, np.int64)
        for group in self.groups:
            most = np.maximum(most, group.passes)
        return most

    @property
    def wavefronts(self) -> int:
        """Wavefronts that shared memory needs for the request; a compare-and-swap goes twice."""
        return self._passes * (2 if self.exchanges else 1)

    @cached_property
    def _passes(self) -> int:
        return int(self._rows(shared_memory.wavefronts))

    @property
    def ideal_wavefronts(self) -> int:
        """Wavefronts if the active lanes' bytes lay side by side, at most the actual."""
        return min(
            self.wavefronts, -(-self._bytes_asked // (shared_memory.BANKS * shared_memory.WORD))
        )

    @property
    def conflicts(self) -> int:
        """Wavefronts beyond those of an access in which no two lanes meet in a bank."""
        return self._passes - int(self._rows(shared_memory.conflict_free_wavefronts))

    @property
    def _bytes_asked(self) -> int:
        return int(np.count_nonzero(self.counted)) * self.width

    def _rows(self, count: Any) -> Any:
        return count(*self.warps, self.width, self.sharing)[0]
