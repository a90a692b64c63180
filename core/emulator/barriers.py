"""Barriers of a block, and the end of threads, which barriers must hear of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.emulator.events import BarrierEvent, Mask
from core.emulator.groups import Group
from core.emulator.named_barriers import NAMED
from core.emulator.program import Kind, Op
from core.emulator.run_queue import RunQueue


class Barriers(RunQueue):
    """Lanes that wait at a barrier until all the living threads of their block have come."""

    def _place(self, pc: int, depth: int, mask: Mask | None) -> None:
        """Puts lanes at a pc.

        Lanes about to return from the kernel do so at once: nothing can come between, and nobody
        has to wait for them.
        """
        code = self.image.code_at(pc)
        op = code.ops[pc - code.first_pc]
        group = Group(pc, depth, mask)
        if depth == 0 and op.kind is Kind.RETURN and op.guard < 0:
            self.tick += 1
            self._exit(group)
            self._segment(self.tick - 1, pc, pc + 1, group)
        else:
            self._enter(group)

    def _exit(self, group: Group) -> None:
        """Threads end; those that wait for them at a barrier may go on."""
        if group.mask is None:
            self.alive[:] = False
        else:
            self.alive &= ~group.mask
        self.named.after_exit()
        for number in [n for n in self.waiting if n < NAMED]:
            arrived = self.waiting[number]
            complete = self._complete(arrived)
            if len(complete):
                self._check_barrier(arrived, complete)
                self._tell_barrier(int(self.resume_at[arrived.argmax()]) - 1, arrived, complete)
                del self.waiting[number]
                self._release(number, arrived, complete)

    def _barrier(self, group: Group, op: Op, pc: int) -> bool:
        """Arrives; True if the whole group may go on at once."""
        number = op.payload
        mask = np.ones(self.count, bool) if group.mask is None else group.mask
        waiting = self.waiting.pop(number, None)
        arrived = mask if waiting is None else mask | waiting
        self.resume_at[mask] = pc + 1
        self.resume_depth[mask] = group.depth
        self.arrived_at[mask] = self.tick - 1
        complete = self._complete(arrived)
        if len(complete):
            self._check_barrier(arrived, complete)
        self._notify_barrier(pc, group.mask, complete)
        if waiting is None and len(complete) == len(self.geometry.blocks):
            return True
        self._release(number, arrived, complete)
        return False

    def _complete(self, arrived: Mask) -> NDArray[np.intp]:
        """The blocks all of whose living threads have arrived (and at least one has)."""
        shape = (len(self.geometry.blocks), self.geometry.threads)
        here = arrived.reshape(shape)
        return np.flatnonzero((here | ~self.alive.reshape(shape)).all(1) & here.any(1))

    def _check_barrier(self, arrived: Mask, complete: NDArray[np.intp]) -> None:
        """A barrier let a block through: every thread of it must have come to the same one."""
        shape = (len(self.geometry.blocks), self.geometry.threads)
        through = np.zeros(shape, bool)
        through[complete] = True
        here: Mask = arrived & through.reshape(-1)
        gone: Mask = ~self.alive & through.reshape(-1)
        if gone.any():
            affected = np.repeat(gone.reshape(shape).any(axis=1), shape[1])
            self._barrier_fault(np.flatnonzero(here & affected), np.flatnonzero(gone))
        first = here.reshape(shape).argmax(axis=1) + np.arange(shape[0]) * shape[1]
        same = self.resume_at == np.repeat(self.resume_at[first], shape[1])
        elsewhere = here & ~same
        if elsewhere.any():
            affected = np.repeat(elsewhere.reshape(shape).any(axis=1), shape[1])
            others = np.flatnonzero(elsewhere)
            at = int(self.resume_at[others[0]]) - 1
            self._barrier_fault(np.flatnonzero(here & same & affected), others, at)

    def _barrier_fault(
        self, lanes: NDArray[np.intp], others: NDArray[np.intp], other_pc: int = -1
    ) -> None:
        pc, depth = int(self.resume_at[lanes[0]]) - 1, int(self.resume_depth[lanes[0]])
        tick = int(self.arrived_at[lanes[0]])
        self._fault("divergent_barrier", pc, depth, lanes, others, other_pc, tick=tick)

    def _release(self, number: int, arrived: Mask, complete: NDArray[np.intp]) -> None:
        free = np.zeros((len(self.geometry.blocks), self.geometry.threads), bool)
        free[complete] = True
        go = free.reshape(-1) & arrived
        stay = arrived & ~go
        if stay.any():
            self.waiting[number] = stay
        for pc in np.unique(self.resume_at[go]):
            for depth in np.unique(self.resume_depth[go]):
                mask = go & (self.resume_at == pc) & (self.resume_depth == depth)
                if mask.any():
                    self._place(int(pc), int(depth), mask)

    def _notify_barrier(self, pc: int, mask: Mask | None, complete: NDArray[np.intp]) -> None:
        event = self._tell_barrier(pc, mask, complete)
        if self.record is not None:
            self.record.barrier(event)

    def _tell_barrier(self, pc: int, mask: Mask | None, complete: NDArray[np.intp]) -> BarrierEvent:
        event = BarrierEvent(self.tick - 1, pc, mask, complete)
        for observer in self.observers:
            observer.on_barrier(event)
        return event
