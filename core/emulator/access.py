"""The memory unit: does loads, stores and atomics, and catches those that no buffer can serve."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.atomics import update
from core.emulator.events import AccessEvent, FaultEvent, Mask, Observer
from core.emulator.groups import Geometry
from core.emulator.image import Image
from core.emulator.memory import FAR, LOCAL_WINDOW, SHARED_WINDOW, AddressMap, Region, zeros
from core.emulator.pattern import MOST_MISSES, Pattern
from core.emulator.program import MemoryAccess, Op, Registers
from core.emulator.transfer import Values, gather, log2, places_of, scatter, turns


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
        self.local = Region("local memory", "local", LOCAL_WINDOW, 0, zeros(0))
        self._local_stride = 0
        self._local_valid = np.zeros(0, bool)  # bytes of a stack that belong to a frame
        self.changes = 0  # stores, and atomics that changed something, so far
        self._map = self._new_map()
        self._guess: dict[int, Region] = {}  # region that each instruction used last
        self._patterns: dict[int, Pattern] = {}  # what each instruction's last new access was like
        self._misses: dict[int, int] = {}  # accesses in a row that were like none before

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
        if not inside.any():
            return ~inside
        last = np.where(inside, first + width - 1, 0)
        good: NDArray[np.bool_] = inside & valid[place] & valid[last]
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
        pattern = self._patterns.get(pc)
        if pattern is not None:
            shift = pattern.shift(access, address, mask)
            if shift is not None:
                self._misses[pc] = 0
                first = pattern.first
                if shift:
                    first = first + (shift >> log2(access.type.dtype.itemsize))
                return self._access(
                    op, registers, mask, tick, address, pattern.region, first, pattern, shift
                )
        region = self._map.single(address, width, self._guess.get(pc))
        misaligned = int(np.bitwise_or.reduce(address)) & (width - 1)
        if region is self.local and self._outside_frames(address, width).any():
            region = None
        if region is None or misaligned:
            return self._piecewise(op, registers, mask, tick, address, width)
        self._guess[pc] = region
        first = places_of(region, address, access)
        pattern = self._new_pattern(pc, access, region, mask, address, first)
        return self._access(op, registers, mask, tick, address, region, first, pattern)

    def _new_pattern(
        self,
        pc: int,
        access: MemoryAccess,
        region: Region,
        mask: Mask | None,
        address: NDArray[np.int64],
        first: NDArray[np.int64],
    ) -> Pattern | None:
        """Remembers the access as a pattern, if it may well come again."""
        misses = self._misses[pc] = self._misses.get(pc, -1) + 1
        if access.kind == "atomic" or address.size == 1 or region is self.local:
            return None
        if misses > MOST_MISSES:
            self._patterns.pop(pc, None)
            return None
        low, high = int(address.min()), int(address.max()) + access.type.nbytes * access.count
        pattern = Pattern(access, region, mask, address, low, high, first)
        self._patterns[pc] = pattern
        return pattern

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
        first: NDArray[np.int64],
        pattern: Pattern | None = None,
        shift: int = 0,
    ) -> Values:
        """An access that lies in one region; `first` are the places of its first elements."""
        access: MemoryAccess = op.payload
        operands: Values = ()
        if access.kind == "load":
            values = gather(region, first, access)
        elif access.kind == "store":
            values = tuple(read(registers) for read in access.values)
            scatter(region, first, access, values, mask)
            self.changes += 1
        else:
            operands = tuple(read(registers) for read in access.values)
            values = self._atomics(region, first, access, operands, mask)
        width = access.type.nbytes * access.count
        event = AccessEvent(
            tick, op.instruction.pc, access.kind, region, width,
            address if pattern is None else pattern.address, mask, values, self._site, shift,
            pattern, address if shift else None, operands,
        )  # fmt: skip
        for observer in self.observers:
            observer.on_access(event)
        return values

    def _atomics(
        self,
        region: Region,
        first: NDArray[np.int64],
        access: MemoryAccess,
        operands: Values,
        mask: Mask | None,
    ) -> Values:
        """An atomic, or one on each element of a vector."""
        if access.count == 1:
            return (self._atomic(region, first, access, operands, mask),)
        return tuple(
            self._atomic(region, first + i, access, (value,), mask)
            for i, value in enumerate(operands)
        )

    def _atomic(
        self,
        region: Region,
        first: NDArray[np.int64],
        access: MemoryAccess,
        operands: Values,
        mask: Mask | None,
    ) -> NDArray[Any]:
        """Lanes one after another where they meet, in order of their number."""
        dtype = access.type.dtype
        view = region.writable(dtype)
        lanes = np.arange(self.count) if mask is None else np.flatnonzero(mask)
        places = np.broadcast_to(first, self.count)
        full = [np.broadcast_to(o, self.count) for o in operands]
        old = np.zeros(self.count, dtype)
        change = update(access.operation, access.type, region.space)
        for turn in turns(places[lanes]):
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
            first = places_of(region, part, access)
            values = self._access(op, registers, here, tick, part, region, first)
            for result, value in zip(results, values, strict=False):
                np.copyto(result, value, where=here)
        if not np.array_equal(good, active):
            values = tuple(results)
            if access.kind == "store":
                values = tuple(read(registers) for read in access.values)
            bad = {
                "out_of_bounds": active & (owner < 0),
                "misaligned": active & (owner >= 0) & misaligned,
            }
            for kind, lanes in bad.items():
                self._fault(op, tick, kind, lanes, address, width, values)
        return tuple(results)

    def _fault(
        self,
        op: Op,
        tick: int,
        kind: str,
        lanes: Mask,
        address: NDArray[np.int64],
        width: int,
        values: Values,
    ) -> None:
        where = np.flatnonzero(lanes)
        if not len(where):
            return
        region = self._meant(op.instruction.pc, int(address[where[0]]))
        event = FaultEvent(
            tick, op.instruction.pc, kind, where, address[where].copy(), width, region,
            site=self._site, access=op.payload.kind, values=values,
        )  # fmt: skip
        for observer in self.observers:
            observer.on_fault(event)

    def _meant(self, pc: int, address: int) -> Region | None:
        """The region that an illegal access probably meant: its instruction's, or the nearest."""
        guess = self._guess.get(pc)
        if guess is not None and abs(address - guess.base) < FAR:
            return guess
        return self._map.nearest(address)
