"""Lanes of a warp that no longer wait for each other.

Lanes that have parted meet where their ways meet again: those that come first wait there. But those
that wait for lanes that yield go on without them, so that either may wait for what the others do
(`core.assembler.reconvergence`). From then on the warp runs as several *parties*, and each of them
makes requests of its own, until its lanes meet at a barrier, a `__syncwarp` or a shuffle.

NVIDIA does not document this; the rules were read off the lanes that an H200 ran together
(docs/evidence.md, "Lanes that yield"):

- Lanes that yield wait while others of their warp go on: those that have not come to wait yet; or
  else those that have yielded to them before, unless they sleep (`nanosleep`); or else those that
  wait furthest out. These no longer wait for them.
- If they yield in their turn, at the instruction at which the first still wait, no more lanes part.
  All of them wait for each other again, unless they have come past the place where they would.

Lanes that come to code one after another, where nothing has them wait, are *parts* of a party
(`core.assembler.reconvergence`), until they meet those that were of their part where they began to
wait.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from core.emulator.control_flow import must_pass, reaches
from core.emulator.events import Mask
from core.emulator.machine_state import Group, MachineState
from core.launch import WARP

Lanes = NDArray[np.intp]


class Parties:
    """The party of each lane, as a number within its warp. At first a warp is one, number 0."""

    def __init__(self, state: MachineState) -> None:
        self.is_open = False  # whether any lane has yielded
        self._state, self._geometry = state, state.geometry
        self._number = np.zeros(0, np.int32)
        self._elder = np.zeros(0, np.int32)  # the party that a lane's was parted from, -1 for none
        self._waits = np.zeros(0, bool)  # it has yielded, and not gone on since
        self._warp = np.zeros(0, np.int64)  # of each lane, in the machine
        self._made = np.zeros(0, np.int32)  # the highest number so far, by warp
        self._part_of = np.zeros(0, np.int32)  # of lanes that came apart, within their party
        self._begun = dict[tuple[int, int], NDArray[np.int32]]()  # parts, where lanes part further

    def number(self, group: Group) -> tuple[int, int]:
        """The party and part of a group that has `entered`. Of several the last one runs first."""
        if not self.is_open:
            return 0, 0
        lane = group.lanes(self._geometry.lanes)[0]
        return int(self._number[lane]), int(self._part_of[lane])

    def entered(self, group: Group, joins: int = 0) -> Iterator[Group]:
        """A group as groups of one part each.

        Lanes of one warp that come together have met: they are one party again. `joins` is of the
        instruction to which they come.
        """
        if not self.is_open:
            yield group
            return
        self.join(group.mask)
        if joins:
            self.joins(group, joins)
        yield from self._split(group)

    def join(self, mask: Mask | None) -> None:
        """The lanes of a mask have met, warp by warp."""
        if not self.is_open:
            return
        lanes = slice(None) if mask is None else np.flatnonzero(mask)
        least = np.full(len(self._made), np.iinfo(np.int32).max, np.int32)
        np.minimum.at(least, self._warp[lanes], self._number[lanes])
        met = least[self._warp[lanes]]
        self._elder[lanes] = np.where(self._number[lanes] != met, -1, self._elder[lanes])
        self._number[lanes] = met
        least[:] = np.iinfo(np.int32).max
        np.minimum.at(least, self._warp[lanes], self._part_of[lanes])
        self._part_of[lanes] = least[self._warp[lanes]]

    def yields(self, group: Group, mask: Mask | None, groups: list[Group]) -> list[Group] | None:
        """The lanes of a mask, all of the group, yield: the `groups` beside it, as they are then.

        None where nobody goes on in their stead.
        """
        others = [g for g in groups if g.mask is not None]
        if not others or mask is None:
            return None
        if not self.is_open:
            self._open()
        lanes = np.flatnonzero(mask)
        same = [g for g in others if g.yielded and (g.pc, g.depth) == (group.pc, group.depth)]
        awaiting = np.zeros(len(self._made), bool)
        for other in same:
            before = other.lanes(self._geometry.lanes)
            awaiting[self._warp[before[self._waits[before]]]] = True
        too = awaiting[self._warp[lanes]]
        changed = False
        if too.any():
            changed = self._rejoin(lanes[too], group, same)
            self._waits &= ~awaiting[self._warp]
        if not too.all():
            changed |= self._part(lanes[~too], group, others)
        return [part for one in groups for part in self._split(one)] if changed else None

    def go_on(self, mask: Mask | None) -> None:
        """Lanes that have yielded go on themselves."""
        self._waits[slice(None) if mask is None else mask] = False

    def goes_alone(self, group: Group, alive: Mask) -> None:
        """A group that has come apart from others of its part is one of its own."""
        if not self.is_open:
            self._open()
        lanes = group.lanes(self._geometry.lanes)
        beside = alive.copy()
        beside[lanes] = False
        part = self._by_warp(lanes, self._part_of)
        has_others = np.zeros(len(self._made), bool)
        has_others[self._warp[beside & (self._part_of == part[self._warp])]] = True
        lanes = lanes[has_others[self._warp[lanes]]]
        if len(lanes):
            self._part_of[lanes] = self._made[self._warp[lanes]] = self._made.max() + 1

    def begins(self, group: Group, line: int) -> None:
        """Lanes that are one part here are one again where they meet."""
        if self.is_open:
            lanes = group.lanes(self._geometry.lanes)
            known = self._begun.setdefault((line, group.depth), np.zeros_like(self._part_of))
            known[lanes] = self._part_of[lanes]

    def joins(self, group: Group, line: int) -> bool:
        """Lanes meet those that were of their part at a line; False if they are of it still."""
        if not self.is_open:
            return False
        lanes = group.lanes(self._geometry.lanes)
        known = self._begun.get((line, group.depth))
        was = np.zeros(len(lanes), np.int32) if known is None else known[lanes]
        changed = bool((self._part_of[lanes] != was).any())
        self._part_of[lanes] = was
        return changed

    def _open(self) -> None:
        geometry = self._geometry
        lane = np.arange(geometry.lanes)
        block, thread = lane // geometry.threads, lane % geometry.threads
        self._warp = block * geometry.warps + thread // WARP
        self._number = np.zeros(geometry.lanes, np.int32)
        self._part_of = np.zeros(geometry.lanes, np.int32)
        self._elder = np.full(geometry.lanes, -1, np.int32)
        self._waits = np.zeros(geometry.lanes, bool)
        self._made = np.zeros(len(geometry.blocks) * geometry.warps, np.int32)
        self.is_open = True

    def _part(self, lanes: Lanes, group: Group, others: list[Group]) -> bool:
        """Others of these lanes' party go on; False where there are none."""
        party = self._by_warp(lanes, self._number)
        coming: dict[int, list[Lanes]] = {}  # by warp
        furthest: dict[int, tuple[tuple[int, int], Lanes]] = {}
        for other in others:
            beside = other.lanes(self._geometry.lanes)
            beside = beside[party[self._warp[beside]] == self._number[beside]]
            for warp in np.unique(self._warp[beside]).tolist():
                mine = beside[self._warp[beside] == warp]
                if not self._is_ahead(other, group, int(lanes[self._warp[lanes] == warp][0])):
                    coming.setdefault(warp, []).append(mine)
                    continue
                out = -other.depth, other.pc
                if warp not in furthest or out > furthest[warp][0]:
                    furthest[warp] = out, mine
        turns = self._turns(lanes, others)
        for warp in coming.keys() | turns.keys() | furthest.keys():
            if warp in coming:
                left = np.concatenate(coming[warp])
            else:
                left = turns[warp] if warp in turns else furthest[warp][1]
            self._made[warp] += 1
            self._elder[left] = party[warp]
            self._number[left] = self._made[warp]
            self._waits[lanes[self._warp[lanes] == warp]] = True
        return bool(coming or turns or furthest)

    def _turns(self, lanes: Lanes, others: list[Group]) -> dict[int, Lanes]:
        """By warp the lanes that have yielded to these, and whose turn it is now."""
        party = self._by_warp(lanes, self._number)
        found = {}
        for other in others:
            if other.yielded and self._state.op_at(other.pc).instruction.opcode != "nanosleep":
                beside = other.lanes(self._geometry.lanes)
                beside = beside[party[self._warp[beside]] > self._number[beside]]
                for warp in np.unique(self._warp[beside]).tolist():
                    found[warp] = beside[self._warp[beside] == warp]
        return found

    def _is_ahead(self, other: Group, group: Group, lane: int) -> bool:
        """Whether a group stands where this one has to come, and so waits for it."""
        if other.depth > group.depth:
            return False
        here = self._state.place_of(group.pc, group.depth, lane, other.depth)
        return self._state.image.has_way(must_pass, here, other.pc)

    def _rejoin(self, lanes: Lanes, group: Group, others: list[Group]) -> bool:
        """Lanes yield where others have: who has not come past these waits for them."""
        here = self._state.place_of(group.pc, group.depth, int(lanes[0]), 0)
        own = self._by_warp(lanes, self._number)
        changed = False
        for other in others:
            before = other.lanes(self._geometry.lanes)
            before = before[self._waits[before] & (own[self._warp[before]] >= 0)]
            if not len(before):
                continue
            there = self._state.place_of(other.pc, other.depth, int(before[0]), 0)
            has_way = self._state.image.has_way
            if has_way(reaches, there, here) and not has_way(reaches, here, there):
                continue
            number = self._by_warp(before, self._number)
            mine = (self._elder >= 0) & (self._elder == number[self._warp])
            self._number[mine] = self._elder[mine]
            self._elder[mine] = -1
            changed |= bool(mine.any())
        return changed

    def _by_warp(self, lanes: Lanes, values: NDArray[np.int32]) -> NDArray[np.int32]:
        """The value of each warp that has some of these lanes; -2 for the others."""
        found = np.full(len(self._made), -2, np.int32)
        found[self._warp[lanes]] = values[lanes]
        return found

    def _split(self, group: Group) -> Iterator[Group]:
        lanes = group.lanes(self._geometry.lanes)
        numbers = self._number[lanes].astype(np.int64) << 32 | self._part_of[lanes]
        if (numbers == numbers[0]).all():
            yield group
            return
        for number in np.unique(numbers):
            mask = np.zeros(self._geometry.lanes, bool)
            mask[lanes[numbers == number]] = True
            yield replace(group, mask=mask, _lanes=None)
