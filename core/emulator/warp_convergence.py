"""What the lanes of a warp do together: shuffles, votes and `__syncwarp`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.emulator import lane_groups
from core.emulator.barriers import Barriers
from core.emulator.call_frames import Frame
from core.emulator.events import Mask, SyncEvent
from core.emulator.lane_groups import Group, lanes_of_rows, warp_rows
from core.emulator.loop_exits import may_end_apart
from core.emulator.program import Kind, Op
from core.emulator.scheduling import RunQueue
from core.emulator.state import MachineState
from core.ptx.opcodes import opcode_of


class WarpSync:
    """Holds lanes until the lanes that their member mask names have come."""

    def __init__(self, state: MachineState, queue: RunQueue, barriers: Barriers) -> None:
        self.state, self.queue, self.barriers = state, queue, barriers
        self.on_exchange: Callable[[Frame, Op], None] | None = None  # told of every exchange

    def cross_lane(self, frame: Frame, group: Group, op: Op, pc: int, mask: Mask | None) -> bool:
        """A shuffle or vote; False if only some of the lanes go on."""
        members = op.payload[2]
        if members is None or op.guard >= 0:
            self._exchange(frame, group, op, mask)
            return True
        whole = self._gather(group, pc)
        self._check_members(members(frame.registers), whole, pc)
        ready = self._those_ready(members(frame.registers), whole, pc)
        if ready is not None:
            if not ready.any():
                return False
            self._exchange(frame, Group(pc, group.depth, ready), op, ready)
            self.tell("warp", pc, ready, members(frame.registers))
            self.barriers.place(pc + 1, group.depth, ready)
            return False
        self._exchange(frame, whole, op, whole.mask)
        self.tell("warp", pc, whole.mask, members(frame.registers))
        if whole is group:
            return True
        assert whole.mask is not None
        self.barriers.place(pc + 1, group.depth, whole.mask)
        return False

    def _check_members(self, members: NDArray[Any], group: Group, pc: int) -> None:
        """A lane must be named by its own member mask (PTX ISA, "shfl.sync")."""
        words = members.view(np.uint32)
        if words.size == 1 and words[0] == 0xFFFFFFFF:
            return
        mask = np.ones(self.state.count, bool) if group.mask is None else group.mask
        outside = lane_groups.strangers(words, mask, self.state.geometry)
        if outside.any():
            lanes = np.flatnonzero(outside)
            self.state.fault("inactive_lane", pc, group.depth, lanes, detail="not a member")

    def _gather(self, group: Group, pc: int) -> Group:
        """The group with those that are held at the same instruction."""
        mates = [
            h
            for h in self.queue.held
            if h.pc == pc and h.depth == group.depth and h.warp == group.warp
        ]
        if not mates or group.mask is None:
            return group
        mask = group.mask
        for mate in mates:
            self.queue.held.remove(mate)
            assert mate.mask is not None
            mask = mask | mate.mask
        first = next((m for m in (group, *mates) if m.expected is not None), group)
        return Group(
            pc,
            group.depth,
            mask,
            group.warp,
            forced=group.forced,
            expected=first.expected,
            places=first.places,
        )

    def _those_ready(
        self, members: NDArray[Any], group: Group, pc: int, also: Mask | None = None
    ) -> Mask | None:
        """None if all may go on; else the lanes that may, while the others are held.

        `also` are lanes that wait in another place and count as present.
        """
        if group.mask is None:
            return None
        members = members.view(np.uint32)
        present = group.mask if also is None else group.mask | also
        expected = self.state.alive.copy() if group.expected is None else group.expected
        lack = lane_groups.lacking(members, present, expected, self.state.geometry) & group.mask
        if not lack.any():
            return None
        missing = lane_groups.missing_lanes(members, group.mask, expected, self.state.geometry)
        if group.forced:
            if not self._left_for_good(group, pc, missing):
                lanes, others = np.flatnonzero(lack), np.flatnonzero(missing)
                self.state.fault("divergent_warp", pc, group.depth, lanes, others, tick=group.since)
            group.forced, group.expected = False, None
            return None
        self.state.exclusive = False
        places = self._places_of(missing) if group.expected is None else group.places
        self.queue.held.append(
            Group(
                pc,
                group.depth,
                lack,
                group.warp,
                self.state.tick - 1,
                expected=expected,
                places=places,
            )
        )
        return group.mask & ~lack

    def _places_of(self, lanes: Mask) -> frozenset[int] | None:
        """Where in the kernel's own code these lanes stand; None where some wait at a barrier."""
        found, left = set(), lanes.copy()
        parked = (group for group, _ in self.queue.parked)
        for group in (*self.queue.groups, *self.queue.held, *parked):
            here = left if group.mask is None else left & group.mask
            if here.any():
                found.add(self.state.kernel_pc(group.pc, group.depth, int(here.argmax())))
                left = left & ~here
        return None if left.any() else frozenset(found)

    def _left_for_good(self, group: Group, pc: int, missing: Mask) -> bool:
        """Whether a vote waited for lanes that have exited, without meeting it or what follows it.

        `vote.sync`, `match.sync` and `redux.sync` wait for "all non-exited threads" (PTX ISA).
        Lanes that meet the others again behind the instruction ought to have executed it, as far as
        the code is as written: the optimiser merges the ends of ways that have nothing in common.
        """
        if not opcode_of(self.state.op_at(pc).instruction).awaits_living:
            return False
        if group.places is None or (missing & self.state.alive).any():
            return False
        if "debug" not in self.state.image.module.target:
            return True
        here = self.state.kernel_pc(pc, group.depth, int(group.lanes(self.state.count)[0]))
        code = self.state.image.code_at(here)
        return all(may_end_apart(code, here, place) for place in group.places)

    def sync_warp(self, frame: Frame, group: Group, op: Op, pc: int) -> bool:
        """`__syncwarp`: lanes at different ones may meet."""
        mates = [h for h in self.queue.held if self.state.op_at(h.pc).kind is Kind.SYNC]
        masks = [mate.mask for mate in mates if mate.mask is not None]
        also: Mask | None = np.any(masks, axis=0) if masks else None
        members = op.payload(frame.registers)
        self._check_members(members, group, pc)
        ready = self._those_ready(members, group, pc, also)
        gone = np.ones(self.state.count, bool) if group.mask is None else group.mask
        if ready is not None:
            gone = ready
        met = False
        for mate in mates:
            assert mate.mask is not None
            words = (
                self.state.op_at(mate.pc).payload(self.state.frame(mate).registers).view(np.uint32)
            )
            present = mate.mask | (also if also is not None else mate.mask) | gone
            expected = self.state.alive if mate.expected is None else mate.expected
            lack = lane_groups.lacking(words, present, expected, self.state.geometry) & mate.mask
            free = mate.mask & ~lack
            if free.any():
                self.queue.held.remove(mate)
                if lack.any():
                    self.queue.held.append(replace(mate, mask=lack, expected=expected, _lanes=None))
                self.barriers.place(mate.pc + 1, mate.depth, free)
                gone = gone | free
                met = True
                self.state.exclusive = False
        if gone.any():
            self.tell("warp", pc, None if group.mask is None else gone, members)
        if ready is None and not met:
            return True
        if ready is None or ready.any():
            self.barriers.place(pc + 1, group.depth, group.mask if ready is None else ready)
        return False

    def tell(
        self, kind: str, pc: int, mask: Mask | None, members: NDArray[Any] | None = None
    ) -> None:
        """Tells which lanes met: those with the same member mask."""
        masks = [mask]
        if members is not None and members.size > 1:
            words = members.view(np.uint32)
            here = np.ones(self.state.count, bool) if mask is None else mask
            several = np.unique(words[here])
            masks = [here & (words == word) for word in several] if len(several) > 1 else [mask]
        for one in masks:
            if kind == "warp":
                self.queue.parties.join(one)
            for observer in self.state.observers:
                observer.on_sync(SyncEvent(self.state.tick - 1, pc, kind, one))

    def _exchange(self, frame: Frame, group: Group, op: Op, mask: Mask | None) -> None:
        function, sources, _ = op.payload
        active = np.ones(self.state.count, bool) if mask is None else mask
        rows = [warp_rows(active, self.state.geometry, 0)]
        for read in sources:
            value = read(frame.registers)
            if value.size == 1:
                value = np.repeat(value, self.state.count)
            rows.append(warp_rows(value, self.state.geometry, 0))
        if op.instruction.opcode == "shfl" and not rows[0].all():
            lonely = lane_groups.reading_nobody(function, active, rows[1:], self.state.geometry)
            if lonely.any():
                self.state.fault(
                    "inactive_lane", op.instruction.pc, group.depth, np.flatnonzero(lonely)
                )
        result = function(*rows)
        results = result if isinstance(result, tuple) else (result,)
        keep = None if op.guard < 0 and self.state.exclusive else mask
        for slot, write, value in zip(op.destinations, op.writers, results, strict=True):
            self.state.write(frame, slot, write(lanes_of_rows(value, self.state.geometry)), keep)
        if self.on_exchange is not None:
            self.on_exchange(frame, op)
