"""Which group of lanes runs next, and the order in which warps advance."""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np

from core.emulator.endless_loops import FAIR, NEVER, Spinning
from core.emulator.events import Mask
from core.emulator.machine_state import FAIR_STEP, Group, MachineState
from core.emulator.program import Kind
from core.emulator.warp_divergence import Parties
from core.errors import ParameterError
from core.launch import WARP
from core.ptx.ast import Instruction

# Hardware promises no order between barriers. In lock step (the default) all warps of the machine
# go together, which is fast and hides races; the other orders let one warp of each block advance at
# a time, so that a kernel that races gives other results.


WarpOrder = Literal["lockstep", "round_robin", "warp_by_warp", "random"]
ORDERS: tuple[WarpOrder, ...] = get_args(WarpOrder)
_LONGEST_TURN = 16  # memory accesses


class Schedule:
    """Picks the warp that advances next, and for how many memory accesses (0: until it waits)."""

    def __init__(self, order: WarpOrder, seed: int) -> None:
        """Raises `ParameterError` for an unknown order."""
        if order not in ORDERS:
            raise ParameterError(f"There is no order {order!r}: use {', '.join(ORDERS)}.")
        self._order = order
        self._random = np.random.default_rng(seed)
        self._last = -1

    def turn(self, ready: list[int]) -> tuple[int, int]:
        """One of the `ready` warps (ascending numbers), and the length of its turn."""
        if self._order == "random":
            warp = ready[int(self._random.integers(len(ready)))]
            return warp, int(self._random.integers(1, _LONGEST_TURN + 1))
        if self._order == "round_robin":
            self._last = next((w for w in ready if w > self._last), ready[0])
            return self._last, 1
        return ready[0], 0


class RunQueue:
    """The groups that can run, those held for their warp, and those that spin."""

    def __init__(self, state: MachineState, schedule: Schedule | None = None) -> None:
        """`schedule` None is lock step: all warps advance together."""
        self.state, self.schedule = state, schedule
        self.groups: list[Group] = []
        self.held: list[Group] = []  # wait for lanes of their warp or warpgroup
        self.parked: list[tuple[Group, int]] = []  # spin; and the changes of memory they had seen
        self.stuck = False  # whether threads were left that could not go on
        self.spinning = Spinning()
        self.parts: list[MachinePart] = []
        self.parties = Parties(state)
        self._fair_step = 0
        self.turn_left = 0  # memory accesses left of a warp's turn, 0 for no limit
        # In its block: the warps of one number of all blocks take their turns together.
        self._warp_of_lane = np.arange(state.count) % state.geometry.threads // WARP

    def unblock(self) -> bool:
        """No group can run: wakes or releases some; False where none is left."""
        if self._parts_wait() or self.parked:
            done = [part.unblock() for part in self.parts]
            if any(done) and self.groups:
                return True
        for group, changes in self.parked[:]:
            if changes not in (NEVER, self.state.unit.changes):
                self.parked.remove((group, changes))
                self.groups.append(group)
        if not self.groups and self.held:
            # Those come last that wait for other warps, which may be held for lanes of their own.
            group = min(self.held, key=lambda g: (self.state.op_at(g.pc).kind is Kind.ACTION, g.pc))
            self.held.remove(group)
            group.forced = True
            self.groups.append(group)
        if not self.groups:
            self._give_up()
        return bool(self.groups)

    def _give_up(self) -> None:
        """The threads that are left can never go on: a GPU would hang."""
        asleep = self._parts_wait()
        for part in self.parts:
            part.give_up()
        for group, _ in self.parked:
            lanes = group.lanes(self.state.count)
            self.state.fault("livelock", group.pc, group.depth, lanes, tick=group.since)
        waiting = [mask for mask in self.state.waiting.values() if mask.any()]
        for mask in waiting:
            lanes, threads = np.flatnonzero(mask), self.state.geometry.threads
            first = int(lanes[0])
            in_block = np.arange(self.state.count) // threads == first // threads
            others = np.flatnonzero(self.state.alive & ~mask & in_block)
            at, tick = int(self.state.resume_at[first]) - 1, int(self.state.arrived_at[first])
            depth = int(self.state.resume_depth[first])
            self.state.fault("deadlock", at, depth, lanes, others, tick=tick)
        self.stuck = bool(waiting) or asleep or any(seen != NEVER for _, seen in self.parked)
        self.parked.clear()
        self.state.waiting.clear()

    def pick(self) -> Group:
        """The group to run next, merged with those at the same instruction."""
        groups = self.groups
        if self.schedule is not None:
            warp, self.turn_left = self.schedule.turn(sorted({g.warp for g in groups}))
            groups = [g for g in groups if g.warp == warp]
        elif len(groups) > 1 and (starved := self.starved()) is not None:
            return starved
        number = self.parties.number
        group = max(groups, key=lambda g: (number(g), g.depth, -g.stands))
        party = number(group)
        here = self.state.op_at(group.pc).instruction
        if here.apart:
            at = group.pc, group.depth
            others = any((g.pc, g.depth) == at for g in groups if g is not group)
            if here.parts and (others or not group.paused):
                self.parties.goes_alone(group, self.state.alive)
            return group
        for other in [g for g in groups if g is not group]:
            if (other.pc, other.depth, other.latch) != (group.pc, group.depth, group.latch):
                continue
            if number(other) == party and other.yielded == group.yielded:
                self.groups.remove(other)
                self.groups.remove(group)
                assert group.mask is not None
                assert other.mask is not None
                mask = group.mask | other.mask
                met = Group(group.pc, group.depth, mask, group.warp, latch=group.latch)
                met.yielded = group.yielded
                group = self.enter(met)
        return group

    def gives_way(self) -> bool:
        """Whether the group that runs stops for one that has waited too long.

        This is decided once in so many instructions, and not whenever the budget is looked at,
        which the clock says: a launch runs in the same order each time.
        """
        step = self.state.tick // FAIR_STEP
        if step == self._fair_step:
            return False
        self._fair_step = step
        return bool(self.groups) and self.starved() is not None

    def starved(self) -> Group | None:
        """A group that has waited too long for its turn."""
        oldest = min(self.groups, key=lambda g: g.since)
        return oldest if self.state.tick - oldest.since > FAIR else None

    def enter(self, group: Group) -> Group:
        """Puts a group among those that can run."""
        group.since = self.state.tick
        if self.schedule is None or group.warp >= 0:
            if not self.parties.is_open:  # nearly always
                self.groups.append(group)
                return group
            line = self.state.op_at(group.pc).instruction.joins
            parts = [*self.parties.entered(group, line)]
            self.groups += parts
            return parts[0]
        lanes = group.lanes(self.state.count)
        for warp in np.unique(self._warp_of_lane[lanes]):
            mask = self._warp_of_lane == warp
            mask = mask if group.mask is None else mask & group.mask
            one = Group(group.pc, group.depth, mask, int(warp), latch=group.latch)
            self.groups += self.parties.entered(one)
        return group

    def yields(self, group: Group, mask: Mask | None) -> bool:
        """The lanes of a mask yield, at the group's pc: whether the group waits its turn there."""
        if group.yielded:
            group.yielded = False
            self.parties.go_on(mask)
            return False
        parted = self.parties.yields(group, mask, self.groups)
        if parted is not None:
            self.groups = parted
        return parted is not None

    def joins(self, group: Group, one: Instruction) -> bool:
        """Whether a group waits here for lanes that were with it where they began to part."""
        has_met = self.parties.joins(group, one.joins) if one.joins else False
        if one.begins:
            self.parties.begins(group, one.begins)
        return has_met and bool(self.groups)

    def peers(self, group: Group) -> list[Group]:
        """The groups that this one may meet: all, or those of its warp."""
        if self.schedule is None:
            return self.groups
        return [g for g in self.groups if g.warp == group.warp]

    def boundary(self, group: Group) -> int:
        """The lowest pc ahead at which another group of the same depth stands.

        One that stays apart at the same pc comes along instruction by instruction.
        """
        peers = self.peers(group)
        ahead = [math.ceil(g.stands) for g in peers if g.depth == group.depth]
        ahead += [pc + 1 for pc in ahead if pc == group.pc]
        return min((pc for pc in ahead if pc > group.pc), default=1 << 60)

    def alone(self) -> bool:
        """Whether there is no other group."""
        return not self.groups and self.nobody_waits()

    def nobody_waits(self) -> bool:
        """Whether there is no group that waits for anything but its turn."""
        return not (self.state.waiting or self.held or self.parked or self._parts_wait())

    def _parts_wait(self) -> bool:
        return bool(self.parts) and any(part.is_awaited for part in self.parts)


class MachinePart:
    """Something of a machine that only some instructions need: the first of them makes it.

    The run queue asks it when no lane can go on, and tells it of the end of lanes.
    """

    def __init__(self, state: MachineState) -> None:
        self.state = state
        state.part(RunQueue).parts.append(self)

    @property
    def is_awaited(self) -> bool:
        """Whether lanes wait for it."""
        return False

    def exited(self) -> None:
        """Threads have ended."""

    def unblock(self) -> bool:
        """Nobody can go on: whether it has done something about that."""
        return False

    def give_up(self) -> None:
        """Nobody can ever go on: says what those wait for that wait for it."""

    def finish(self, *, stuck: bool) -> None:
        """All threads have ended, but those that are `stuck`."""
