"""What the machine tells its observers. Arrays cover every lane of the machine.

A *lane* here is a thread's place in the machine: the threads of the blocks that run together, block
by block, in order of their linear threadIdx. `mask` says which lanes take part; None means all.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.access_pattern import Pattern
from core.emulator.address_spaces import Region
from core.emulator.heap import Piece

Mask = NDArray[np.bool_]
Indices = NDArray[np.intp]
Ints = NDArray[np.int64]


@dataclass(eq=False, slots=True)  # never changed; frozen it would take four times as long to make
class AccessEvent:
    """One memory instruction, executed for all the lanes of a group at once.

    `address` is int64 of shape (lanes,), or (1,) where all lanes have the same. In shared and local
    memory it is the generic address. It is kept as `base`, which many accesses may share, plus
    `shift`, with a `pattern` whose address `base` is; `moved` holds the sum where it is already
    computed. `values` has one array for each element of a vector access. Of an atomic they are the
    old values, and `operands` what it was given.
    """

    tick: int
    pc: int
    kind: str  # "load", "store", "atomic"
    region: Region
    width: int  # bytes a lane, the whole vector
    base: NDArray[np.int64]
    mask: Mask | None
    values: tuple[NDArray[Any], ...]
    site: int = -1  # `pc`, or the call that led there from code with source lines
    shift: int = 0
    pattern: Pattern | None = None
    moved: NDArray[np.int64] | None = None
    operands: tuple[NDArray[Any], ...] = ()

    @property
    def address(self) -> NDArray[np.int64]:
        """The lanes' addresses."""
        if self.moved is not None:
            return self.moved
        return self.base + self.shift if self.shift else self.base

    def compact(self) -> AccessEvent:
        """The same without what can be computed again."""
        if self.moved is None and self.pattern is None:
            return self
        return AccessEvent(
            self.tick,
            self.pc,
            self.kind,
            self.region,
            self.width,
            self.base,
            self.mask,
            self.values,
            self.site,
            self.shift,
        )


@dataclass(frozen=True, slots=True)
class BarrierEvent:
    """Lanes arrive at a barrier; `released` are the blocks (places in the machine) let through.

    `met` are the lanes that go on together at a barrier with a thread count of its own.
    `executed` is False where nobody comes to a block's barrier now: the end of other threads lets
    lanes through that came before.
    """

    tick: int
    pc: int
    mask: Mask | None
    released: NDArray[np.intp]
    met: Mask | None = None
    executed: bool = True


@dataclass(frozen=True, slots=True)
class SyncEvent:
    """Lanes of one or more warps met (`warp`), or passed a memory fence (`fence`).

    "proxy", "proxy global" and "proxy shared" are fences between threads and asynchronous
    operations, for all memory or that space alone; "product": between registers and products.
    """

    tick: int
    pc: int
    kind: str
    mask: Mask | None


@dataclass(frozen=True, eq=False)
class Span:
    """Pieces of a region that an asynchronous operation touches.

    `place` int64: the first byte of each in the region's data; `width` bytes each. `swizzle` is how
    the tile that they belong to is laid out in shared memory: 0 (not at all), 32, 64 or 128; -1
    where nothing says so. `is_within`: the tile begins in the middle of that swizzle's pattern. Of
    a box that is loaded, `row` is the row that each piece belongs to, and `number` its place among
    the pieces written, of which some may lie outside the array.
    """

    region: Region
    place: NDArray[np.int64]
    width: int
    swizzle: int = -1
    row: NDArray[np.int64] | None = None
    number: NDArray[np.int64] | None = None
    is_within: bool = False


Read = tuple[Span, frozenset[int]]
"""What a matrix product reads, and the warps whose part of a factor it is."""


@dataclass(frozen=True, eq=False)
class TransferEvent:
    """An asynchronous operation begins: a bulk copy, or a warpgroup's matrix product.

    `kind` is "load" (global to shared memory), "store", "shared" (from block to block) or
    "product". `lanes` are those that begin it: one, or the first of each warp. Operations of one
    `agent` end in their order; `number` counts all of them. `barrier` is the mbarrier that hears of
    the end, by its place among the 64-bit words of shared memory, or -1. `outside` are the bytes of
    each row of a box that lie outside its map. `is_multicast`: one instruction copies the box to
    several blocks of a cluster, and this is the copy to one of them. `homes` are the places, bytes
    in a thread's own memory, from which a product's registers were loaded. `is_update`: the copy
    reduces, and updates each element of its `writes` atomically.
    """

    tick: int
    pc: int
    site: int
    kind: str
    lanes: NDArray[np.intp]
    reads: tuple[Span, ...]
    writes: tuple[Span, ...]
    agent: Hashable
    number: int
    barrier: int = -1
    outside: NDArray[np.int64] | None = None
    is_multicast: bool = False
    homes: tuple[int, ...] = ()
    is_update: bool = False


@dataclass(frozen=True, eq=False)
class LandEvent:
    """What a bulk copy brings is there: `data` uint8 (pieces, bytes) of its `writes`, in order.

    `number` is that of its `TransferEvent`. A copy to global memory is not told.
    """

    tick: int
    number: int
    data: NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class AwaitEvent:
    """Lanes know now that all operations of an agent up to `number` are done.

    `reads_only`: that they have read what they read; what they write may come later.
    """

    lanes: NDArray[np.intp]
    agent: Hashable
    number: int
    reads_only: bool = False


@dataclass(frozen=True, eq=False)
class PhaseEvent:
    """What happens to mbarriers; `places` are theirs among the 64-bit words of shared memory.

    `kind`: lanes "init" or "inval" objects; lanes "arrive"; a phase is at its "end"; lanes "block"
    until it is; lanes know that it has ended, and "wait" no more; in a record, lanes have objects
    "track" their `cp.async`. But for "end" there is one place a lane. A place less than 0 is the
    barrier of a cluster, -1 that of the first. `pc` is the lanes' instruction, -1 at an "end".
    `is_relaxed`: lanes arrive without releasing what they did before. `site` as in `AccessEvent`.
    """

    kind: str
    places: NDArray[np.intp]
    lanes: NDArray[np.intp]
    tick: int = -1
    pc: int = -1
    is_relaxed: bool = False
    site: int = -1


@dataclass(frozen=True, eq=False)
class CopiesEvent:
    """What lanes say of the `cp.async` that they have issued, whose accesses have been told.

    `kind`: "commit" closes a group; lanes "wait" until at most `left` of their groups are pending;
    "track": the phases of mbarriers at `places`, one a lane as in `PhaseEvent`, will tell of their
    end. `site` as in `AccessEvent`.
    """

    kind: str
    lanes: NDArray[np.intp]
    site: int
    left: int = 0
    places: NDArray[np.intp] | None = None
    tick: int = -1
    pc: int = -1


@dataclass(frozen=True, slots=True)
class CallEvent:
    """Lanes enter a function; `base` is where its frame of `nbytes` starts in local memory."""

    tick: int
    pc: int
    mask: Mask | None
    base: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class SaveEvent:
    """Lanes store `registers` on the stack, or load them, where no PTX shows it.

    A function saves those of its caller, a call passes parameters, a kernel spills what it has no
    room for. `kind`: "store", "load". `site` as in `AccessEvent`.
    """

    kind: str
    site: int
    mask: Mask | None
    registers: int


@dataclass(frozen=True, slots=True)
class FaultEvent:
    """Lanes did something a GPU would stop the kernel for; their access has no effect."""

    tick: int
    pc: int
    kind: str  # see `core.trace.finding.Finding`
    lanes: NDArray[np.intp]
    address: NDArray[np.int64]
    width: int
    region: Region | None  # the region that was probably meant
    detail: str = ""
    site: int = -1  # as in `AccessEvent`
    others: NDArray[np.intp] | None = None  # the other lanes involved
    other_pc: int = -1  # where those are, if anywhere
    access: str = ""  # of an illegal access: "load", "store" or "atomic"
    values: tuple[NDArray[Any], ...] = ()  # what is loaded instead, or was meant to be stored
    piece: Piece | None = None  # the piece of the device heap involved


class Observer:
    """Hears of what the machine does to memory; the machine knows nothing of it.

    A subclass has the methods for the events that it wants; the others do nothing.
    """

    def on_access(self, event: AccessEvent) -> None:
        """A load, store or atomic was done."""

    def on_barrier(self, event: BarrierEvent) -> None:
        """Lanes arrived at a barrier."""

    def on_fault(self, event: FaultEvent) -> None:
        """Lanes did something illegal; an illegal access has no effect."""

    def on_sync(self, event: SyncEvent) -> None:
        """Lanes of warps met, or passed a fence."""

    def on_transfer(self, event: TransferEvent) -> None:
        """An asynchronous operation began."""

    def on_land(self, event: LandEvent) -> None:
        """What a bulk copy brings to shared memory is there."""

    def on_await(self, event: AwaitEvent) -> None:
        """Lanes know of the end of asynchronous operations."""

    def on_phase(self, event: PhaseEvent) -> None:
        """Lanes came to mbarriers, or a phase of one is over."""

    def on_copies(self, event: CopiesEvent) -> None:
        """Lanes closed a group of `cp.async`, or waited for groups, or let mbarriers do so."""

    def on_call(self, event: CallEvent) -> None:
        """Lanes entered a function."""

    def on_save(self, event: SaveEvent) -> None:
        """Lanes kept registers on the stack, or took them back."""

    def on_reuse(self, region: Region, start: int, nbytes: int) -> None:
        """`malloc` gives bytes of a region again that were freed before."""


@dataclass(frozen=True)
class Printed:
    """What one thread printed by one call of `printf`, in order of time."""

    block: int  # linear index
    thread: int  # linear index in the block
    text: str
