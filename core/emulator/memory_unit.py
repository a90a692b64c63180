"""The memory unit: does loads, stores and atomics, and catches those that no buffer can serve."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.access_pattern import Pattern
from core.emulator.address_spaces import (
    FAR,
    LOCAL_WINDOW,
    RANK_BITS,
    SHARED_WINDOW,
    AddressMap,
    Region,
    zeros,
)
from core.emulator.events import (
    AccessEvent,
    FaultEvent,
    Indices,
    Ints,
    Mask,
    Observer,
)
from core.emulator.geometry import Geometry
from core.emulator.heap import HEAP_NAME
from core.emulator.launch_image import Image
from core.emulator.program import MemoryAccess, Op, Registers
from core.ptx.arithmetic.floating import extremum2
from core.ptx.arithmetic.formats_and_rounding import canonical, codec, flush, round_to, sum_to_odd
from core.ptx.types import PtxType

_NARROW = 1024  # a machine of so few lanes looks addresses up instead of comparing them
MOST_MISSES = 32  # of one instruction in a row, after which its patterns are no longer sought
_MOST_PATTERNS = 4096  # that are kept

Values = tuple[NDArray[Any], ...]
Update = Callable[..., Any]


class MemoryUnit:
    """Serves the accesses of one machine. Shared and local memory are its own."""

    def __init__(self, image: Image, geometry: Geometry, observers: tuple[Observer, ...]) -> None:
        self.image, self.geometry, self.observers = image, geometry, observers
        self.count = geometry.lanes
        blocks = len(geometry.blocks)
        size = image.shared_bytes
        stride = image.shared_stride
        offsets = np.repeat(np.arange(blocks, dtype=np.int64) * stride, geometry.threads)
        self.shared = Region(
            "shared memory", "shared", SHARED_WINDOW, size, zeros(blocks * stride), offsets
        )
        self.remote = self._of_cluster(stride)
        self.alive: Mask | None = None  # the lanes that have not exited, set by the machine's state
        self.local = Region("local memory", "local", LOCAL_WINDOW, 0, zeros(0))
        self._local_stride = 0
        self._local_valid = np.zeros(0, bool)  # bytes of a stack that belong to a frame
        self.changes = 0  # stores, and atomics that changed something, so far
        self._map = self._new_map()
        self._guess: dict[int, Region] = {}  # region that each instruction used last
        self._patterns: dict[Hashable, Pattern] = {}  # what an access was like, by `_key`
        self._misses: dict[int, int] = {}  # accesses in a row that were like none before
        self._narrow = self.count <= _NARROW

    def _new_map(self) -> AddressMap:
        own = (self.shared, *self.remote, self.local)
        return AddressMap([*self.image.memory.regions, *own])

    def _of_cluster(self, stride: int) -> tuple[Region, ...]:
        """The shared memory of each rank of a cluster, as the cluster's lanes see it."""
        geometry = self.geometry
        found = []
        for rank in range(geometry.cluster.count if geometry.cluster.count > 1 else 0):
            place = np.maximum(geometry.peers[:, rank], 0)
            offsets = np.repeat(place * stride, geometry.threads)
            base = SHARED_WINDOW + ((rank + 1) << RANK_BITS)
            size = self.image.shared_bytes
            found.append(Region("shared memory", "cluster", base, size, self.shared.data, offsets))
        return tuple(found)

    # -- what asynchronous copies and mbarriers ask ---------------------------------------------

    def shared_offset(self, address: Ints) -> Ints:
        """Where shared addresses, one a lane, lie among the bytes of all blocks; -1: nowhere."""
        found = np.full(len(address), -1, np.int64)
        for region in (self.shared, *self.remote):
            assert region.lane_offset is not None
            offset = address - region.base
            inside = (offset >= 0) & (offset < region.nbytes)
            found = np.where(inside, offset + region.lane_offset, found)
        return found

    def shared_bytes(
        self, lane: int, address: int, nbytes: int, rank: int | None = None
    ) -> tuple[Region, int] | None:
        """Shared memory from an address of a lane on, and the place of its first byte in there.

        `rank`: in that block of the lane's cluster. None where there are no `nbytes` bytes.
        """
        tag, offset = divmod(address - SHARED_WINDOW, 1 << RANK_BITS)
        ranks = self.geometry.cluster.count
        wanted = rank if rank is not None else tag - 1
        if tag < 0 or offset + nbytes > self.shared.nbytes or wanted >= ranks:
            return None
        block = lane // self.geometry.threads
        place = block if wanted < 0 else int(self.geometry.peers[block, wanted])
        return self.shared, place * self.image.shared_stride + offset

    def have_ended(self, places: Ints) -> Mask:
        """Whether bytes of shared memory are those of blocks that have ended.

        `places` are theirs in the memory of all blocks, as `shared_offset` gives them.
        """
        assert self.alive is not None
        blocks = len(self.geometry.blocks)
        gone = ~np.logical_or.reduce(self.alive.reshape(blocks, -1), axis=1)
        found: Mask = gone[np.clip(places // self.image.shared_stride, 0, blocks - 1)]
        return found

    def global_bytes(self, address: int, nbytes: int) -> tuple[Region, int] | None:
        """The region that holds so many bytes from an address on, and the place of the first."""
        region = self._map.single(np.array([address]), nbytes, None)
        if region is None or region.lane_offset is not None:
            return None
        return region, address - region.base

    def see_new_regions(self) -> None:
        """Looks again at what regions global memory has."""
        if len(self._map.regions) != len(self.image.memory.regions) + 2 + len(self.remote):
            self._map = self._new_map()

    def need_local(self, nbytes: int) -> None:
        """Makes each thread's stack at least `nbytes` long; its content is kept."""
        if nbytes <= self._local_stride:
            return
        stride = -(-max(nbytes, 2 * self._local_stride) // 16) * 16
        data = np.zeros((self.count, stride), np.uint8)
        if self._local_stride:
            old = self.local.data[: self.count * self._local_stride]
            data[:, : self._local_stride] = old.reshape(self.count, -1)
        offsets = np.arange(self.count, dtype=np.int64) * stride
        self.local = Region(
            "local memory", "local", LOCAL_WINDOW, stride, data.reshape(-1), offsets
        )
        self._local_stride = stride
        self._map = self._new_map()
        self._guess.clear()
        self._patterns.clear()

    # -- one instruction ---------------------------------------------------------------------

    def open_frame(self, base: int, nbytes: int) -> None:
        """Bytes from `base` on belong to a function's frame: they may be accessed."""
        if len(self._local_valid) < base + nbytes:
            missing = base + nbytes - len(self._local_valid)
            self._local_valid = np.pad(self._local_valid, (0, missing))
        self._local_valid[base : base + nbytes] = True

    def _outside_frames(self, address: Ints, width: int) -> Mask:
        """Which local addresses lie in no function's frame."""
        first = address - LOCAL_WINDOW
        inside = (first >= 0) & (first + width <= len(self._local_valid))
        place = np.where(inside, first, 0)
        valid = self._local_valid
        if not inside.any():
            return ~inside
        last = np.where(inside, first + width - 1, 0)
        good: Mask = inside & valid[place] & valid[last]
        return ~good

    def execute(
        self, op: Op, registers: Registers, mask: Mask | None, tick: int, site: int = -1
    ) -> Values:
        """Does the access for the lanes of `mask` and returns what was loaded.

        Lanes outside the mask hold anything. An illegal access is reported and has no effect; it
        loads zeros. `site` is where findings point (see `AccessEvent`).
        """
        self._site = op.instruction.pc if site < 0 else site
        access: MemoryAccess = op.payload
        pc = op.instruction.pc
        width = access.width
        address = access.address(registers)
        if mask is not None:
            address = self._only_active(address, mask)
        key = self._key(pc, address, mask)
        pattern = self._patterns.get(key)
        if pattern is not None:
            shift = self._shift(pattern, access, address, mask)
            if shift is not None:
                self._misses[pc] = 0
                first = pattern.first
                if shift:
                    first = first + (shift >> _log2(access.type.dtype.itemsize))
                return self._access(
                    op, registers, mask, tick, address, pattern.region, first, pattern, shift
                )
        region = self._map.single(address, width, self._guess.get(pc))
        misaligned = int(np.bitwise_or.reduce(address)) & (width - 1)
        if region is self.local and self._outside_frames(address, width).any():
            region = None
        heap = self.image.heap
        if heap is not None and region is heap.region and heap.outside(address, width).any():
            region = None
        if region is None or misaligned:
            return self._piecewise(op, registers, mask, tick, address, width)
        self._guess[pc] = region
        first = _places_of(region, address, access)
        pattern = self._new_pattern(key, pc, access, region, mask, address, first)
        return self._access(op, registers, mask, tick, address, region, first, pattern)

    def _key(self, pc: int, address: Ints, mask: Mask | None) -> Hashable:
        """The key of an access's pattern; a narrow machine keeps them all.

        On a stack few places are used again and again: each has a pattern of its own.
        """
        is_local = self._guess.get(pc) is self.local
        if not self._narrow and not (is_local and address.size == 1):
            return pc
        where = address if is_local else address - address[0]
        return pc, where.tobytes(), None if mask is None else mask.tobytes()

    def _shift(
        self, pattern: Pattern, access: MemoryAccess, address: Ints, mask: Mask | None
    ) -> int | None:
        """How far an access lies from the pattern of its key, None if it is not like it."""
        if not self._narrow:
            shift = pattern.shift(access, address, mask)
        elif access is pattern.access and address.size == pattern.address.size:
            shift = pattern.moved_by(int(address[0]) - int(pattern.address[0]))
        else:
            shift = None
        return None if shift and pattern.region is self.local else shift  # perhaps in no frame

    def _new_pattern(
        self,
        key: Hashable,
        pc: int,
        access: MemoryAccess,
        region: Region,
        mask: Mask | None,
        address: Ints,
        first: Ints,
    ) -> Pattern | None:
        """Keeps the access as a pattern where a similar one is likely to follow."""
        misses = self._misses[pc] = self._misses.get(pc, -1) + 1
        if access.kind == "atomic" or region.name == HEAP_NAME:  # a heap's pieces come and go
            return None
        if misses > MOST_MISSES and region is not self.local:
            self._patterns.pop(key, None)
            return None
        if len(self._patterns) >= _MOST_PATTERNS:
            self._patterns.clear()
        low, high = int(address.min()), int(address.max()) + access.width
        pattern = Pattern(access, region, mask, address, low, high, first)
        self._patterns[key] = pattern
        return pattern

    @staticmethod
    def _only_active(address: Ints, mask: Mask) -> Ints:
        """The addresses with those of idle lanes replaced by a legal one."""
        if address.size == 1:
            return address
        return np.where(mask, address, address[int(mask.argmax())])

    def _access(
        self,
        op: Op,
        registers: Registers,
        mask: Mask | None,
        tick: int,
        address: Ints,
        region: Region,
        first: Ints,
        pattern: Pattern | None = None,
        shift: int = 0,
    ) -> Values:
        """An access that lies in one region; `first` are the places of its first elements."""
        access: MemoryAccess = op.payload
        operands: Values = ()
        if access.kind == "load":
            values = _gather(region, first, access)
        elif access.kind == "store":
            values = tuple(read(registers) for read in access.values)
            _scatter(region, first, access, values, mask)
            self.changes += 1
        else:
            operands = tuple(read(registers) for read in access.values)
            values = self._atomics(region, first, access, operands, mask)
        event = AccessEvent(
            tick,
            op.instruction.pc,
            access.kind,
            region,
            access.width,
            address if pattern is None else pattern.address,
            mask,
            values,
            self._site,
            shift,
            pattern,
            address if shift else None,
            operands,
        )
        for observer in self.observers:
            observer.on_access(event)
        if region.space == "cluster":
            self._must_live(op, tick, mask, region, address, values)
        return values

    def _must_live(
        self, op: Op, tick: int, mask: Mask | None, region: Region, address: Ints, values: Values
    ) -> None:
        """A fault is told of lanes that access the memory of a block that has ended."""
        assert region.lane_offset is not None
        bad = self.have_ended(region.lane_offset)
        if mask is not None:
            bad &= mask
        if bad.any():
            where = np.broadcast_to(address, self.count)
            self._fault(op, tick, "remote_exit", bad, where, op.payload.width, values)

    def _atomics(
        self, region: Region, first: Ints, access: MemoryAccess, operands: Values, mask: Mask | None
    ) -> Values:
        """An atomic, or one on each element of a vector."""
        if access.count == 1:
            return (self._atomic(region, first, access, operands, mask),)
        return tuple(
            self._atomic(region, first + i, access, (value,), mask)
            for i, value in enumerate(operands)
        )

    def _atomic(
        self, region: Region, first: Ints, access: MemoryAccess, operands: Values, mask: Mask | None
    ) -> NDArray[Any]:
        """Updates the cells; lanes that share a cell go in the order of their numbers."""
        dtype = access.type.dtype
        view = region.writable(dtype)
        lanes = np.arange(self.count) if mask is None else np.flatnonzero(mask)
        places = np.broadcast_to(first, self.count)
        full = [np.broadcast_to(o, self.count) for o in operands]
        old = np.zeros(self.count, dtype)
        change = update(access.operation, access.type, region.space)
        for turn in _turns(places[lanes]):
            now = lanes[turn]
            before = view[places[now]]
            old[now] = before
            after = view[places[now]] = change(before, *(o[now] for o in full))
            self.changes += not np.array_equal(before, after)
        return old

    # -- accesses that do not lie in one region -----------------------------------------------

    def _piecewise(
        self, op: Op, registers: Registers, mask: Mask | None, tick: int, address: Ints, width: int
    ) -> Values:
        """Splits an access by region; a lane outside all regions, or misaligned, is at fault."""
        access: MemoryAccess = op.payload
        address = np.broadcast_to(address, self.count)
        active = np.ones(self.count, bool) if mask is None else mask
        owner = self._map.owners(address, width)
        local = (owner >= 0) & (address >= LOCAL_WINDOW) & (address < 2 * LOCAL_WINDOW)
        if local.any():
            owner = np.where(local & self._outside_frames(address, width), -1, owner)
        freed = self._not_in_a_piece(address, width, owner)
        misaligned = (address & (width - 1)) != 0
        good = active & (owner >= 0) & ~misaligned
        results = [np.zeros(self.count, access.type.dtype) for _ in range(access.count)]
        for number in np.unique(owner[good]):
            here = good & (owner == number)
            region = self._guess[op.instruction.pc] = self._map.regions[number]
            part = self._only_active(address, here)
            first = _places_of(region, part, access)
            values = self._access(op, registers, here, tick, part, region, first)
            for result, value in zip(results, values, strict=False):
                np.copyto(result, value, where=here)
        if not np.array_equal(good, active):
            values = tuple(results)
            if access.kind == "store":
                values = tuple(read(registers) for read in access.values)
            bad = {
                "use_after_free": active & freed,
                "out_of_bounds": active & (owner < 0) & ~freed,
                "misaligned": active & misaligned,
            }
            for kind, lanes in bad.items():
                self._fault(op, tick, kind, lanes, address, width, values)
        return tuple(results)

    def _not_in_a_piece(self, address: Ints, width: int, owner: Indices) -> Mask:
        """Clears `owner` where `malloc` gave nothing; returns the lanes that use freed memory."""
        heap = self.image.heap
        if heap is None:
            return np.zeros(self.count, bool)
        place = self._map.regions.index(heap.region)
        here = np.flatnonzero(owner == place)
        bad = here[heap.outside(address[here], width)]
        owner[bad] = -1
        freed = np.zeros(self.count, bool)
        freed[bad] = heap.freed(address[bad])
        return freed

    def _fault(
        self, op: Op, tick: int, kind: str, lanes: Mask, address: Ints, width: int, values: Values
    ) -> None:
        where = np.flatnonzero(lanes)
        if not len(where):
            return
        first, heap = int(address[where[0]]), self.image.heap
        piece = heap.piece_at(first) if heap is not None else None
        region = (
            self.meant(op.instruction.pc, first) if heap is None or piece is None else heap.region
        )
        event = FaultEvent(
            tick,
            op.instruction.pc,
            kind,
            where,
            address[where].copy(),
            width,
            region,
            site=self._site,
            access=op.payload.kind,
            values=values,
            piece=piece,
        )
        for observer in self.observers:
            observer.on_fault(event)

    def meant(self, pc: int, address: int) -> Region | None:
        """The region that an illegal access probably meant: its instruction's, or the nearest."""
        guess = self._guess.get(pc)
        if guess is not None and abs(address - guess.base) < FAR:
            return guess
        return self.nearest(address)

    def nearest(self, address: int) -> Region | None:
        """The region at an address, or else the closest one."""
        return self._map.nearest(address)


# Data between registers and the bytes of a region.


def _log2(size: int) -> int:
    """Of a power of two."""
    return size.bit_length() - 1


def _places_of(region: Region, address: Ints, access: MemoryAccess) -> Ints:
    """The places of the first elements in the region's data, seen as elements of the type."""
    index = address - region.base
    if region.lane_offset is not None:
        index = index + region.lane_offset
    return index >> _log2(access.type.dtype.itemsize)


def _gather(region: Region, first: Ints, access: MemoryAccess) -> Values:
    """The values at these places, one array for each element of a vector."""
    view = region.view(access.type.dtype)
    if access.count == 1:
        return (view.take(first),)
    return tuple(view.take(first + i) for i in range(access.count))


def _scatter(
    region: Region, first: Ints, access: MemoryAccess, values: Values, mask: Mask | None
) -> None:
    """Stores; where lanes meet, the last one wins (PTX leaves open which)."""
    view = region.writable(access.type.dtype)
    for i, value in enumerate(values):
        place = first + i if i else first
        if mask is not None and place.size > 1:
            lanes = np.flatnonzero(mask)
            view[place[lanes]] = value if value.size == 1 else value[lanes]
        elif place.size == 1 and value.size > 1:
            view[place] = value[-1:] if mask is None else value[np.flatnonzero(mask)[-1:]]
        else:
            view[place] = value


def _turns(places: Ints) -> Iterator[Indices]:
    """Lanes in turns: no two of a turn share a place, and those that share one keep their order."""
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    rank = np.arange(len(order)) - np.repeat(first, np.diff(np.r_[first, len(order)]))
    by_rank = np.argsort(rank, kind="stable")
    ends = np.cumsum(np.bincount(rank))
    for start, end in zip(np.r_[0, ends[:-1]], ends, strict=True):
        yield order[by_rank[start:end]]


# What each atomic operation makes of the old value (PTX ISA, "atom" and "red").


_PLAIN: dict[str, Update] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "exch": lambda old, new: new,
    "cas": lambda old, compare, new: np.where(old == compare, new, old),
    "inc": lambda old, limit: np.where(old >= limit, 0, old + 1).astype(old.dtype),
    "dec": lambda old, limit: np.where((old == 0) | (old > limit), limit, old - 1).astype(
        old.dtype
    ),
}


def update(operation: str, kind: PtxType, space: str) -> Update:
    """The new value from the old one and the operands.

    A float32 sum in global memory flushes subnormals to zero, in shared memory it does not.
    """
    if operation in ("add", "min", "max") and (kind.kind == "x" or kind.name == "f16"):
        return _narrow(operation, kind)
    if operation == "add" and kind.is_float:
        if kind.bits == 32 and space != "shared":
            return lambda old, value: flush(canonical(flush(old) + flush(value)))
        return lambda old, value: canonical(old + value)
    return _PLAIN[operation]


def _narrow(operation: str, kind: PtxType) -> Update:
    """Half precision: each element rounded once."""
    form = codec(kind)
    functions: dict[str, Update] = {
        "add": sum_to_odd,
        "min": partial(extremum2, smallest=True),
        "max": partial(extremum2, smallest=False),
    }
    exact = functions[operation]

    def function(old: NDArray[Any], value: NDArray[Any]) -> NDArray[Any]:
        total = exact(form.decode(old), form.decode(value))
        return form.encode(round_to(total, form.form, "rn"))

    return function
