"""Which bytes of a block's shared memory asynchronous copies are on their way to, at each step.

The emulator moves the bytes of a `cp.async` at once, and those of a bulk copy as late as it can. On
a GPU a `cp.async` is known to have landed when its own thread has waited for its group, or the
phase of an mbarrier is over that tracks it (PTX ISA, "cp.async"); until then anything may lie
there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from core.ptx.ast import immediate
from core.trace.steps import EventKind

if TYPE_CHECKING:
    from core.emulator.events import Ints, Span
    from core.ptx.ast import Instruction
    from core.trace.block import BlockTrace

_NEVER = np.iinfo(np.int64).max  # the step at which lands what nobody waits for


def is_copy(instruction: Instruction) -> bool:
    """Whether it is a `cp.async` that copies: not a bulk copy, and no commit or wait."""
    modifiers = set(instruction.modifiers)
    return instruction.opcode == "cp" and bool({"ca", "cg"} & modifiers)


def closes_group(instruction: Instruction) -> bool:
    """Whether it ends a group of `cp.async`."""
    if instruction.opcode != "cp" or "bulk" in instruction.modifiers:
        return False
    return bool({"commit_group", "wait_all", "mbarrier"} & set(instruction.modifiers))


def groups_left(instruction: Instruction) -> int | None:
    """Of a wait how many groups it leaves: -1 none of those that were begun; None for others."""
    modifiers = instruction.modifiers
    plain = instruction.opcode == "cp" and "bulk" not in modifiers
    if plain and "wait_all" in modifiers:
        return -1
    if "wait_group" in modifiers and (plain or instruction.opcode == "wgmma"):
        return immediate(instruction.operands[0]) if instruction.operands else None
    return None


@dataclass(frozen=True, eq=False)
class _Flight:
    """What some threads began to copy at a step: groups are numbered by thread, one of each."""

    step: int
    threads: NDArray[np.intp]
    groups: Ints
    place: int | None = None  # of the mbarrier that tracks it, -1: unknown; None: no mbarrier does


@dataclass(frozen=True, eq=False)
class _UnderWay:
    """A copy is under way from a step to before another.

    `what`: the threads that copy by the access of the first step; or where a bulk copy writes.
    """

    begin: int
    end: int
    what: NDArray[np.intp] | Span


class CopiesUnderWay:
    """Answers about one block, while its record is held."""

    def __init__(self, block: BlockTrace) -> None:
        self._size = 0
        if not any(_is_asynchronous(instruction) for instruction in block.instructions):
            return
        self._size = block.shared_stride
        self._copies = [*_small_copies(block), *_bulk_copies(block, self._size)]
        self._begin = np.array([copy.begin for copy in self._copies], np.int64)
        self._end = np.array([copy.end for copy in self._copies], np.int64)
        # There may be many that nobody waits for: the first to come to a byte is enough.
        self._for_ever = np.full(self._size, _NEVER)
        for number in np.flatnonzero(self._end == _NEVER).tolist():
            places = self._places(block, self._copies[number])
            self._for_ever[places] = np.minimum(self._for_ever[places], self._begin[number])

    @property
    def has_any(self) -> bool:
        """Whether there is any at any step."""
        return self._size > 0 and len(self._copies) > 0

    def at(self, block: BlockTrace, step: int) -> NDArray[np.bool_]:
        """The bytes of the block's shared memory to which copies are under way after a step.

        bool (bytes,), of no length where the kernel has no asynchronous copies.
        """
        found = np.zeros(self._size, bool)
        if not self._size:
            return found
        found |= self._for_ever <= step
        flying = (self._begin <= step) & (self._end > step) & (self._end < _NEVER)
        for number in np.flatnonzero(flying).tolist():
            found[self._places(block, self._copies[number])] = True
        return found

    def _places(self, block: BlockTrace, copy: _UnderWay) -> Ints:
        """The bytes of the block's shared memory that a copy writes."""
        what = copy.what
        if isinstance(what, np.ndarray):
            event = block.event_at(copy.begin)
            lanes = what + block.lanes.start
            address = event.address if event.address.size == 1 else event.address[lanes]
            first, width = address - event.region.base, event.width
        else:
            first, width = what.place - block.place * block.shared_stride, what.width
        places = (first[:, None] + np.arange(width)).reshape(-1)
        return places[(places >= 0) & (places < self._size)]


def _is_asynchronous(instruction: Instruction) -> bool:
    return instruction.opcode == "cp" or "async" in instruction.modifiers


def _small_copies(block: BlockTrace) -> Iterator[_UnderWay]:
    """`cp.async`: in the order of time, each thread's groups and what it has waited for."""
    committed = np.zeros(block.n_threads, np.int64)
    done = np.zeros(block.n_threads, np.int64)
    flying: list[_Flight] = []
    for tick, what in sorted(_happenings(block), key=lambda one: one[0]):
        if isinstance(what, int):
            threads = np.flatnonzero(block.active(what)[: block.n_threads])
            flying.append(_Flight(what, threads, committed[threads]))
            continue
        after = block.step_at(tick) + 1
        if isinstance(what, _Ended):
            ended = [f for f in flying if f.place in (-1, what.place) and f.place is not None]
            for flight in ended:
                yield _UnderWay(flight.step, after, flight.threads)
            flying = [f for f in flying if f not in ended]
            continue
        instruction, threads = what.instruction, what.threads
        if "mbarrier" in instruction.modifiers:
            flying = list(_tracked(flying, threads, what.place))
            continue
        committed[threads] += closes_group(instruction)
        left = groups_left(instruction)
        if left is None:
            continue
        done[threads] = np.maximum(done[threads], committed[threads] - max(left, 0))
        kept = []
        for flight in flying:
            over = flight.groups < done[flight.threads]
            if over.any():
                yield _UnderWay(flight.step, after, flight.threads[over])
            if not over.all():
                rest = ~over
                kept.append(
                    _Flight(flight.step, flight.threads[rest], flight.groups[rest], flight.place)
                )
        flying = kept
    for flight in flying:
        yield _UnderWay(flight.step, _NEVER, flight.threads)


@dataclass(frozen=True, eq=False)
class _Executed:
    """Threads close a group, wait, or have an mbarrier (at `place`, -1: unknown) track copies."""

    instruction: Instruction
    threads: NDArray[np.intp]
    place: int = -1


@dataclass(frozen=True)
class _Ended:
    """A phase of an mbarrier is over."""

    place: int


def _happenings(block: BlockTrace) -> Iterator[tuple[int, int | _Executed | _Ended]]:
    """What concerns `cp.async`, each with its tick: the step of a copy, or something else."""
    code = block.instructions
    copies = [i.pc for i in code if is_copy(i)]
    if not copies:
        return
    steps = block.access_steps
    stores = steps[np.isin(block.pc[steps], copies) & (block.kind[steps] == EventKind.STORE)]
    for step in stores.tolist():
        yield block.event_at(step).tick, step
    tracking: defaultdict[tuple[int, int], list[tuple[int, NDArray[np.intp]]]] = defaultdict(list)
    for event in block.record.phases:
        if event.kind in ("arrive", "track") and "async" in code[event.pc].modifiers:
            for place in np.unique(event.places).tolist():  # each warp may have its own
                told = place, event.lanes[event.places == place]
                tracking[event.tick, event.pc].append(told)
    for instruction in code:
        if instruction.opcode != "cp":
            continue
        if closes_group(instruction) or groups_left(instruction) is not None:
            for tick, lanes in block.executions(instruction.pc):
                # A record of an earlier version may not say which mbarrier tracks them.
                for place, who in tracking.get((tick, instruction.pc), [(-1, lanes)]):
                    mine = who[(who >= block.lanes.start) & (who < block.lanes.stop)]
                    yield tick, _Executed(instruction, mine - block.lanes.start, place)
    if any("mbarrier" in i.modifiers for i in code if i.opcode == "cp"):
        for event in block.record.phases:
            if event.kind == "end":
                yield event.tick, _Ended(int(event.places[0]))


def _tracked(flying: list[_Flight], threads: NDArray[np.intp], place: int) -> Iterator[_Flight]:
    """The flights, of which those that threads have begun are tracked by an mbarrier now."""
    for flight in flying:
        mine = np.isin(flight.threads, threads) & (flight.place is None)
        for part, where in ((mine, place), (~mine, flight.place)):
            if part.any():
                yield _Flight(flight.step, flight.threads[part], flight.groups[part], where)


def _bulk_copies(block: BlockTrace, size: int) -> Iterator[_UnderWay]:
    """Bulk copies and remote stores into this block's shared memory, whoever has begun them."""
    landed = {landing.number: landing.tick for landing in block.record.landings}
    first = block.place * block.shared_stride
    for event in block.record.transfers:
        if event.kind == "product":
            continue
        tick = landed.get(event.number)
        begin, end = block.step_at(event.tick), _NEVER
        if tick is not None:
            end = block.step_at(tick - 1) + 1  # what lands is there at the step of that tick
        for span in event.writes:
            here = span.region.space == "shared" and len(span.place)
            if here and first <= int(span.place[0]) < first + size and begin < end:
                yield _UnderWay(begin, end, span)
