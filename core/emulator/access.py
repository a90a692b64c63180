"""The memory unit: does loads, stores and atomics, and catches those that no buffer can serve."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.atomics import update
from core.emulator.events import AccessEvent, FaultEvent, Mask, Observer
from core.emulator.groups import Geometry
from core.emulator.image import Image
from core.emulator.memory import FAR, LOCAL_WINDOW, SHARED_WINDOW, AddressMap, Region, zeros
from core.emulator.program import MemoryAccess, Op, Registers

Values = tuple[NDArray[Any], ...]


class MemoryUnit:
    """Serves the accesses of one machine. Shared and local memory are its own."""

    def __init__(self, image: Image, geometry: Geometry, observers: tuple[Observer, ...]) -> None:
        self.image, self.geometry, self.observers = image, geometry, observers
        self.count = geometry.lanes
        blocks = len(geometry.blocks)
        size = image.shared_bytes
        stride = -(-max(size, 1) // 128) * 128
        offsets = np.repeat(np.arange(blocks, dtype=np.int64) * stride, geometry.threads)
        self.shared = Region(
            "shared memory", "shared", SHARED_WINDOW, size, zeros(blocks * stride), offsets
        )
        self.shared_stride = stride
        self.local = Region("local memory", "local", LOCAL_WINDOW, 0, zeros(0))
        self._local_stride = 0
        self._local_valid = np.zeros(0, bool)  # bytes of a stack that belong to a frame
        self.changes = 0  # stores, and atomics that changed something, so far
        self._map = self._new_map()
        self._guess: dict[int, Region] = {}  # region that each instruction used last

    def _new_map(self) -> AddressMap:
        return AddressMap([*self.image.memory.regions, self.shared, self.local])

    def see_new_regions(self) -> None:
        """Looks again at what regions global memory has."""
        if len(self._map.regions) != len(self.image.memory.regions) + 2:
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

    # -- one instruction ---------------------------------------------------------------------

    def open_frame(self, base: int, nbytes: int) -> None:
        """Bytes from `base` on belong to a function's frame: they may be accessed."""
        if len(self._local_valid) < base + nbytes:
            missing = base + nbytes - len(self._local_valid)
            self._local_valid = np.pad(self._local_valid, (0, missing))
        self._local_valid[base : base + nbytes] = True

    def _outside_frames(self, address: NDArray[np.int64], width: int) -> NDArray[np.bool_]:
        """Which local addresses lie in no function's frame."""
        first = address - LOCAL_WINDOW
        inside = (first >= 0) & (first + width <= len(self._local_valid))
        place = np.where(inside, first, 0)
        valid = self._local_valid
        good: NDArray[np.bool_] = inside & valid[place] & valid[place + width - 1]
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
        width = access.type.nbytes * access.count
        address = access.address(registers)
        if mask is not None:
            address = self._only_active(address, mask)
        region = self._map.single(address, width, self._guess.get(pc))
        misaligned = int(np.bitwise_or.reduce(address)) & (width - 1)
        if region is self.local and self._outside_frames(address, width).any():
            region = None
        if region is None or misaligned:
            return self._piecewise(op, registers, mask, tick, address, width)
        self._guess[pc] = region
        return self._access(op, registers, mask, tick, address, region)

    @staticmethod
    def _only_active(address: NDArray[np.int64], mask: Mask) -> NDArray[np.int64]:
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
        address: NDArray[np.int64],
        region: Region,
    ) -> Values:
        access: MemoryAccess = op.payload
        index = address - region.base
        if region.lane_offset is not None:
            index = index + region.lane_offset
        if access.kind == "load":
            values = _gather(region, index, access)
        elif access.kind == "store":
            values = tuple(read(registers) for read in access.values)
            _scatter(region, index, access, values, mask, self.count)
            self.changes += 1
        else:
            operands = tuple(read(registers) for read in access.values)
            values = self._atomics(region, index, access, operands, mask)
        width = access.type.nbytes * access.count
        event = AccessEvent(
            tick, op.instruction.pc, access.kind, region, width, address, mask, values, self._site
        )
        for observer in self.observers:
            observer.on_access(event)
        return values

    def _atomics(
        self,
        region: Region,
        index: NDArray[np.int64],
        access: MemoryAccess,
        operands: Values,
        mask: Mask | None,
    ) -> Values:
        """An atomic, or one on each element of a vector."""
        if access.count == 1:
            return (self._atomic(region, index, access, operands, mask),)
        return tuple(
            self._atomic(region, index + i * access.type.nbytes, access, (value,), mask)
            for i, value in enumerate(operands)
        )

    def _atomic(
        self,
        region: Region,
        index: NDArray[np.int64],
        access: MemoryAccess,
        operands: Values,
        mask: Mask | None,
    ) -> NDArray[Any]:
        """Lanes one after another where they meet, in order of their number."""
        dtype = access.type.dtype
        view = region.view(dtype)
        lanes = np.arange(self.count) if mask is None else np.flatnonzero(mask)
        places = np.broadcast_to(index // dtype.itemsize, self.count)
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
        self,
        op: Op,
        registers: Registers,
        mask: Mask | None,
        tick: int,
        address: NDArray[np.int64],
        width: int,
    ) -> Values:
        """Splits an access by region; what lies in none, or is misaligned, is a fault."""
        access: MemoryAccess = op.payload
        address = np.broadcast_to(address, self.count)
        active = np.ones(self.count, bool) if mask is None else mask
        owner = self._map.owners(address, width)
        local = (owner >= 0) & (address >= LOCAL_WINDOW) & (address < 2 * LOCAL_WINDOW)
        if local.any():
            owner = np.where(local & self._outside_frames(address, width), -1, owner)
        misaligned = (address & (width - 1)) != 0
        good = active & (owner >= 0) & ~misaligned
        results = [np.zeros(self.count, access.type.dtype) for _ in range(access.count)]
        for number in np.unique(owner[good]):
            here = good & (owner == number)
            region = self._guess[op.instruction.pc] = self._map.regions[number]
            part = self._only_active(address, here)
            values = self._access(op, registers, here, tick, part, region)
            for result, value in zip(results, values, strict=False):
                np.copyto(result, value, where=here)
        self._fault(op, tick, "out_of_bounds", active & (owner < 0), address, width)
        self._fault(op, tick, "misaligned", active & (owner >= 0) & misaligned, address, width)
        return tuple(results)

    def _fault(
        self, op: Op, tick: int, kind: str, lanes: Mask, address: NDArray[np.int64], width: int
    ) -> None:
        where = np.flatnonzero(lanes)
        if not len(where):
            return
        region = self._meant(op.instruction.pc, int(address[where[0]]))
        event = FaultEvent(
            tick, op.instruction.pc, kind, where, address[where].copy(), width, region,
            site=self._site,
        )  # fmt: skip
        for observer in self.observers:
            observer.on_fault(event)

    def _meant(self, pc: int, address: int) -> Region | None:
        """The region that an illegal access probably meant: its instruction's, or the nearest."""
        guess = self._guess.get(pc)
        if guess is not None and abs(address - guess.base) < FAR:
            return guess
        return self._map.nearest(address)


def _gather(region: Region, index: NDArray[np.int64], access: MemoryAccess) -> Values:
    dtype = access.type.dtype
    view = region.view(dtype)
    first = index >> (dtype.itemsize.bit_length() - 1)
    if access.count == 1:
        return (view.take(first),)
    return tuple(view.take(first + i) for i in range(access.count))


def _scatter(
    region: Region,
    index: NDArray[np.int64],
    access: MemoryAccess,
    values: Values,
    mask: Mask | None,
    count: int,
) -> None:
    """Stores; where lanes meet, the last one wins (PTX leaves open which)."""
    dtype = access.type.dtype
    view = region.view(dtype)
    first = index >> (dtype.itemsize.bit_length() - 1)
    for i, value in enumerate(values):
        place = first + i if i else first
        if mask is not None and place.size > 1:
            lanes = np.flatnonzero(mask)
            view[place[lanes]] = value if value.size == 1 else value[lanes]
        elif place.size == 1 and value.size > 1:
            view[place] = value[-1:] if mask is None else value[np.flatnonzero(mask)[-1:]]
        else:
            view[place] = value


def _turns(places: NDArray[np.int64]) -> Iterator[NDArray[np.intp]]:
    """Lanes in turns, so that no two of a turn meet and those that do come in order."""
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    rank = np.arange(len(order)) - np.repeat(first, np.diff(np.r_[first, len(order)]))
    by_rank = np.argsort(rank, kind="stable")
    ends = np.cumsum(np.bincount(rank))
    for start, end in zip(np.r_[0, ends[:-1]], ends, strict=True):
        yield order[by_rank[start:end]]
