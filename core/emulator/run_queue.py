"""Which group of lanes runs next."""

from __future__ import annotations

import numpy as np

from core.emulator.groups import Group
from core.emulator.spinning import FAIR, NEVER
from core.emulator.state import MachineState


class RunQueue(MachineState):
    """The groups that can run, those held for their warp, and those that spin."""

    def _unblock(self) -> bool:
        """Nobody can run: wakes who spins, lets go who waits in vain; False at the end."""
        for group, changes in self.parked[:]:
            if changes not in (NEVER, self.unit.changes):
                self.parked.remove((group, changes))
                self.groups.append(group)
        if not self.groups and self.held:
            group = min(self.held, key=lambda g: g.pc)
            self.held.remove(group)
            group.forced = True
            self.groups.append(group)
        if not self.groups:
            self._give_up()
        return bool(self.groups)

    def _give_up(self) -> None:
        """The threads that are left can never go on: a GPU would hang."""
        for group, _ in self.parked:
            lanes = group.lanes(self.count)
            self._fault("livelock", group.pc, group.depth, lanes, tick=group.since)
        waiting = [mask for mask in self.waiting.values() if mask.any()]
        for mask in waiting:
            lanes = np.flatnonzero(mask)
            others = np.flatnonzero(self.alive & ~mask & self._in_block_of(int(lanes[0])))
            at = int(self.resume_at[lanes[0]]) - 1
            depth, tick = int(self.resume_depth[lanes[0]]), int(self.arrived_at[lanes[0]])
            self._fault("deadlock", at, depth, lanes, others, tick=tick)
        self.stuck = bool(waiting) or any(seen != NEVER for _, seen in self.parked)
        self.parked.clear()
        self.waiting.clear()

    def _pick(self) -> Group:
        groups = self.groups
        if self.schedule is not None:
            warp, self._turn = self.schedule.turn(sorted({g.warp for g in groups}))
            groups = [g for g in groups if g.warp == warp]
        elif len(groups) > 1 and (starved := self._starved()) is not None:
            return starved
        group = max(groups, key=lambda g: (g.depth, -g.pc))
        for other in [g for g in groups if g is not group]:
            if other.pc == group.pc and other.depth == group.depth:
                self.groups.remove(other)
                self.groups.remove(group)
                assert group.mask is not None
                assert other.mask is not None
                group = self._enter(
                    Group(group.pc, group.depth, group.mask | other.mask, group.warp)
                )
        return group

    def _starved(self) -> Group | None:
        """A group that could have run for long."""
        oldest = min(self.groups, key=lambda g: g.since)
        return oldest if self.tick - oldest.since > FAIR else None

    def _enter(self, group: Group) -> Group:
        """Puts a group among those that can run."""
        group.since = self.tick
        if self.schedule is None or group.warp >= 0:
            self.groups.append(group)
            return group
        lanes = group.lanes(self.count)
        for warp in np.unique(self._warp_of_lane[lanes]):
            mask = self._warp_of_lane == warp
            mask = mask if group.mask is None else mask & group.mask
            self.groups.append(Group(group.pc, group.depth, mask, int(warp), self.tick))
        return group

    def _peers(self, group: Group) -> list[Group]:
        """The groups that this one may meet: all, or those of its warp."""
        if self.schedule is None:
            return self.groups
        return [g for g in self.groups if g.warp == group.warp]

    def _boundary(self, group: Group) -> int:
        """The lowest pc ahead at which another group of the same depth stands."""
        peers = self._peers(group)
        ahead = [g.pc for g in peers if g.depth == group.depth and g.pc > group.pc]
        return min(ahead, default=1 << 60)
