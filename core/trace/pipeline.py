"""How a block keeps shared memory filled ahead of its use: stages, who fills and who reads them.

Nothing here goes by names. A *filling* is what one group of writes brings: the bulk copies that one
phase of an mbarrier waits for, the `cp.async` of one group, else the stores between two barriers of
the block. Words that are filled together belong to one *stage*. Where there are asynchronous copies
these alone say what the stages are: a result that is stored into their memory later does not.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from core.cancelling import check
from core.launch import WARP
from core.rules.shared_memory import WORD
from core.trace.access import SharedArray, label, owner_of
from core.trace.copies_under_way import closes_group, groups_left
from core.wording import runs_of

if TYPE_CHECKING:
    from core.emulator.events import AccessEvent, Ints, PhaseEvent, Span, TransferEvent
    from core.ptx.ast import Instruction
    from core.trace.block import BlockTrace

Kind = Literal["fill", "land", "read", "block", "pass", "arrive", "meet", "await"]

MOST_ACCESSES = 300_000  # to shared memory, that are looked at
MOST_STAGES = 16
MOST_ACTORS = 6


@dataclass(frozen=True)
class Stage:
    """A part of shared memory that is filled as a whole: pieces (first byte, byte after it)."""

    pieces: tuple[tuple[int, int], ...]
    names: tuple[str, ...]  # the arrays that the pieces lie in

    @property
    def nbytes(self) -> int:
        """Bytes of all pieces."""
        return sum(end - first for first, end in self.pieces)


@dataclass(frozen=True)
class Moment:
    """Something that happens to the stages, or to those who fill and read them.

    `kind`: a stage is filled ("fill"), what copies bring is there ("land"), is "read"; warps
    "block" at an mbarrier, "pass" it, "arrive" there, "meet" at a barrier of the block, "await"
    what they began. Moments of one kind in a row are one; `count` says of how many instructions.
    """

    kind: Kind
    step: int
    how: str  # the instruction, as PTX calls it
    warps: tuple[int, ...] = ()
    stages: tuple[int, ...] = ()
    filling: int = -1  # of "fill" and "land": the number of the filling, from 0
    barrier: str = ""
    phase: int = -1  # of a barrier: how many of its phases were over before this one
    origin: int = -1  # of "fill": the block that began the copies, where that is another one
    count: int = 1
    last: int = -1  # the last step of those that are one moment


@dataclass(frozen=True)
class Filling:
    """One stage holds one filling: places among the moments.

    It is filled from `begin` on, there at `ready`, and overwritten at `end`; -1: never.
    """

    stage: int
    number: int
    begin: int
    ready: int
    end: int


@dataclass(frozen=True)
class Actor:
    """Warps that do the same at the same moments. `role`: "producer", "consumer" or neither."""

    warps: tuple[int, ...]
    role: str


@dataclass(frozen=True)
class Pipeline:
    """The stages of a block, and everything that happened to them, in order of time."""

    stages: tuple[Stage, ...]
    moments: tuple[Moment, ...]
    fillings: tuple[Filling, ...]
    actors: tuple[Actor, ...]

    @cached_property
    def steps(self) -> Ints:
        """The step of each moment, ascending."""
        return np.array([moment.step for moment in self.moments], np.int64)

    def at(self, step: int) -> int:
        """The place of the last moment that begins no later than a step, -1 before the first."""
        return int(np.searchsorted(self.steps, step, "right")) - 1

    def held(self, stage: int, place: int) -> Filling | None:
        """What a stage holds, or is being given, at a moment."""
        for filling in self.fillings:
            ended = filling.end >= 0 and filling.end <= place
            if filling.stage == stage and filling.begin <= place and not ended:
                return filling
        return None


def pipeline(block: BlockTrace, arrays: tuple[SharedArray, ...]) -> Pipeline | str:
    """The pipeline of a block, or a sentence that says why there is none to show.

    `arrays` are the `__shared__` arrays of the kernel, for names.
    """
    return _Reading(block, arrays).result()


@dataclass
class _Event:
    """A moment before it is known what stages there are: `words` of shared memory, (n,)."""

    tick: int
    moment: Moment
    words: Ints | None = None
    key: Hashable = None  # of a filling
    ready: tuple[Hashable, ...] = ()  # fillings that have come now


class _Reading:
    """Reads one block's record."""

    def __init__(self, block: BlockTrace, arrays: tuple[SharedArray, ...]) -> None:
        self.block, self.arrays, self.record = block, arrays, block.record
        self.lanes = block.lanes
        self.code = block.instructions
        self.first = block.place * block.shared_stride
        self.end = self.first + block.shared_stride
        self._closed: dict[int, Ints] = {}  # by lane

    def result(self) -> Pipeline | str:
        if not any(array.nbytes for array in self.arrays):
            return "This kernel uses no shared memory, so that there is no pipeline to show."
        steps = [s for s in self.block.access_steps.tolist() if self._is_shared(s)]
        if len(steps) > MOST_ACCESSES:
            return (
                f"This block accesses shared memory {len(steps):,} times, too often for a picture "
                f"of its pipeline: take a smaller launch, with at most {MOST_ACCESSES:,}."
            )
        events = [*self._transfers(), *self._accesses(steps), *self._barriers(), *self._awaits()]
        events += self._phases()
        events.sort(key=lambda event: event.tick)
        self._follow_barriers(events)
        number = self._stages(events)
        if not number.max(initial=-1) + 1:
            return "This kernel writes nothing into shared memory, so that there is no pipeline."
        fills = [e for e in events if e.moment.kind == "fill"]
        if len({e.key for e in fills}) < 2:
            return "Shared memory is filled only once here, so that there is no pipeline to show."
        if number.max() >= MOST_STAGES:
            return (
                f"{number.max() + 1} parts of shared memory are filled each by itself: that is no "
                "ring of stages."
            )
        return self._assembled(events, number)

    # -- events -----------------------------------------------------------------------------

    def _is_shared(self, step: int) -> bool:
        return self.block.event_at(step).region.space == "shared"

    def _warps(self, lanes: Ints | NDArray[np.intp]) -> tuple[int, ...]:
        """The warps of this block among lanes of the machine."""
        mine = lanes[(lanes >= self.lanes.start) & (lanes < self.lanes.stop)]
        return tuple(np.unique((mine - self.lanes.start) // WARP).tolist())

    def _mine(self, spans: Iterable[Span]) -> Ints:
        """The words of this block's shared memory that spans cover."""
        found = []
        for span in spans:
            if span.region.space != "shared":
                continue
            place = span.place[(span.place >= self.first) & (span.place < self.end)] - self.first
            pieces = np.arange(0, max(span.width, WORD), WORD)
            found.append(np.unique((place[:, None] + pieces).reshape(-1) // WORD))
        return np.unique(np.concatenate(found)) if found else np.zeros(0, np.int64)

    def _transfers(self) -> Iterator[_Event]:
        for event in self.record.transfers:
            written, read = self._mine(event.writes), self._mine(event.reads)
            instruction = self.code[event.pc]
            warps, step = self._warps(event.lanes), self.block.step_at(event.tick)
            if len(written):
                how = "TMA box" if "tensor" in instruction.modifiers else "bulk copy"
                if not event.reads:
                    how = _name(instruction)
                moment = Moment("fill", step, how, warps, origin=self._origin(event))
                yield _Event(event.tick, moment, written, ("barrier", event.barrier))
            if len(read) and event.kind == "product":
                yield _Event(event.tick, Moment("read", step, "wgmma", warps), read)
            elif len(read):
                how = "TMA reduction" if event.is_update else "TMA store"
                yield _Event(event.tick, Moment("read", step, how, warps), read)

    def _origin(self, event: TransferEvent) -> int:
        place = int(event.lanes[0]) // self.block.n_threads
        return -1 if place == self.block.place else int(self.record.geometry.blocks[place])

    def _accesses(self, steps: list[int]) -> Iterator[_Event]:
        releases = np.array(
            [e.tick for e in self.record.barriers if self.block.place in e.released], np.int64
        )
        for step in steps:
            check()
            event = self.block.event_at(step)
            if event.kind == "atomic":
                continue
            lanes, words = self._touched(event)
            if not len(lanes):
                continue
            instruction = self.code[event.pc]
            warps = self._warps(lanes)
            if event.kind == "load":
                yield _Event(event.tick, Moment("read", step, _name(instruction), warps), words)
                continue
            how = _name(instruction)
            if instruction.opcode == "cp":
                begun = int(np.searchsorted(self._commits(int(lanes[0])), event.tick))
                key: Hashable = ("group", begun)
            else:
                key = ("stores", int(np.searchsorted(releases, event.tick)))
            yield _Event(event.tick, Moment("fill", step, how, warps), words, key)

    def _touched(self, event: AccessEvent) -> tuple[NDArray[np.intp], Ints]:
        """The block's lanes that take part in an access, and the words that they touch."""
        every = np.arange(self.lanes.start, self.lanes.stop)
        lanes = every if event.mask is None else every[event.mask[self.lanes]]
        address = event.address if event.address.size == 1 else event.address[lanes]
        first = (address - event.region.base) // WORD
        if event.width > WORD:
            first = (first[:, None] + np.arange(event.width // WORD)).reshape(-1)
        return lanes, np.unique(first)

    def _commits(self, lane: int) -> Ints:
        """When a lane closed groups of `cp.async`."""
        if lane not in self._closed:
            ticks = [tick for tick, lanes in self._closings if lane in lanes]
            self._closed[lane] = np.array(ticks, np.int64)
        return self._closed[lane]

    @cached_property
    def _closings(self) -> list[tuple[int, NDArray[np.intp]]]:
        """When groups were closed, ascending, and the lanes that closed theirs."""
        pcs = [instruction.pc for instruction in self.code if closes_group(instruction)]
        closings = (one for pc in pcs for one in self.block.executions(pc))
        return sorted(closings, key=lambda one: one[0])

    def _barriers(self) -> Iterator[_Event]:
        number = 0
        for event in self.record.barriers:
            lanes = np.arange(self.lanes.start, self.lanes.stop)
            if event.mask is not None:
                lanes = lanes[event.mask[self.lanes]]
            if len(lanes) and event.executed:
                step = self.block.step_at(event.tick)
                meet = Moment("meet", step, "bar.sync", self._warps(lanes), phase=number)
                yield _Event(event.tick, meet)
            number += self.block.place in event.released

    def _awaits(self) -> Iterator[_Event]:
        """Waits for groups of `cp.async`, and for products."""
        for instruction in self.code:
            left = groups_left(instruction)
            if left is None:
                continue
            for tick, lanes in self.block.executions(instruction.pc):
                how = _name(instruction) + (f" {left}" if left >= 0 else "")
                moment = Moment("await", self.block.step_at(tick), how, self._warps(lanes))
                ready: tuple[Hashable, ...] = ()
                if instruction.opcode == "cp":
                    closed = np.searchsorted(self._commits(int(lanes[0])), tick, "right")
                    done = int(closed) - max(left, 0)  # `wait_all` closes a group, and awaits it
                    ready = tuple(("group", number) for number in range(max(done, 0)))
                yield _Event(tick, moment, ready=ready)

    def _phases(self) -> Iterator[_Event]:
        kinds: dict[str, Kind] = {"arrive": "arrive", "block": "block", "wait": "pass"}
        for event in self.record.phases:
            if event.kind == "track":
                continue
            for place in np.unique(event.places).tolist():
                if not self.first <= place * 8 < self.end:
                    continue
                lanes = event.lanes[event.places == place] if event.kind != "end" else event.lanes
                step = self.block.step_at(event.tick)
                how = "" if event.pc < 0 else _name(self.code[event.pc])
                kind = kinds.get(event.kind, "land")
                moment = Moment(kind, step, how, self._warps(lanes), barrier=self._called(place))
                yield _Event(event.tick, replace(moment, origin=self._far(event)), key=place)

    def _far(self, event: PhaseEvent) -> int:
        """The other block whose lanes these are, -1 where they are this one's."""
        if not len(event.lanes) or len(self._warps(event.lanes)):
            return -1
        return int(self.record.geometry.blocks[int(event.lanes[0]) // self.block.n_threads])

    def _called(self, place: int) -> str:
        offset = place * 8 - self.first
        array = owner_of(self.arrays, offset)
        if array is None:
            return f"the mbarrier at byte {offset:,}"
        flat = (offset - array.offset) // array.dtype.itemsize
        alone = array.nbytes <= array.dtype.itemsize
        return array.name if alone else label(array.name, array.index(flat))

    # -- phases, fillings and stages ----------------------------------------------------------

    def _follow_barriers(self, events: list[_Event]) -> None:
        """Counts the phases of mbarriers, and says which filling each copy belongs to."""
        heard = {e.key for e in events if _is_copy(e)}
        ends: dict[int, int] = {}  # by mbarrier: phases that are over
        told: dict[int, list[Hashable]] = {}  # by mbarrier: fillings under way
        kept = []
        for event in events:
            kind = event.moment.kind
            if _is_copy(event):
                place = event.key[1]  # type: ignore[index]
                event.key = (*event.key, ends.get(place, 0))  # type: ignore[misc]
                told.setdefault(place, []).append(event.key)
            elif kind in ("arrive", "block", "pass", "land"):
                place = int(event.key)  # type: ignore[call-overload]
                over = ends.get(place, 0)
                event.moment = replace(event.moment, phase=over - (kind == "pass"))
                if kind == "land":
                    ends[place] = over + 1
                    event.ready = tuple(told.pop(place, ()))
                    if not event.ready:
                        continue
                if kind == "arrive" and ("barrier", place) in heard:
                    continue  # who expects bytes arrives, too: the copies show it
            kept.append(event)
        events[:] = kept

    def _stages(self, events: list[_Event]) -> Ints:
        """The stage that each word belongs to, -1 for none."""
        number = np.full(self.block.shared_stride // WORD, -1, np.int64)
        by_key: dict[Hashable, list[Ints]] = {}
        for event in events:
            if event.moment.kind == "fill" and event.words is not None:
                by_key.setdefault(event.key, []).append(event.words)
        copies = {key: words for key, words in by_key.items() if key[0] != "stores"}  # type: ignore[index]
        parents: list[int] = []

        def root(place: int) -> int:
            while parents[place] != place:
                place = parents[place]
            return place

        for parts in (copies or by_key).values():
            words = np.concatenate(parts)
            known = {root(p) for p in np.unique(number[words]).tolist() if p >= 0}
            new = min(known, default=len(parents))
            if not known:
                parents.append(new)
            for place in known:
                parents[place] = new
            number[words] = new
        return _in_order(number, [root(p) for p in range(len(parents))])

    def _stage(self, words: Ints) -> Stage:
        pieces = tuple((a * WORD, (b + 1) * WORD) for a, b in runs_of(words.tolist()))
        owners = [owner_of(self.arrays, first) for first, _ in pieces]
        return Stage(pieces, tuple(dict.fromkeys(a.name for a in owners if a is not None)))

    # -- putting together -----------------------------------------------------------------------

    def _assembled(self, events: list[_Event], number: Ints) -> Pipeline:
        stages = tuple(
            self._stage(np.flatnonzero(number == s)) for s in range(int(number.max()) + 1)
        )
        order: dict[Hashable, int] = {}
        holds: dict[Hashable, set[int]] = {}
        moments: list[Moment] = []
        begun: dict[tuple[Hashable, int], int] = {}
        ready: dict[Hashable, int] = {}
        for event in events:
            moment = event.moment
            if event.words is not None:
                touched = np.unique(number[event.words])
                moment = replace(moment, stages=tuple(touched[touched >= 0].tolist()))
                if not moment.stages:
                    continue
            if moment.kind == "fill":
                moment = replace(moment, filling=order.setdefault(event.key, len(order)))
                holds.setdefault(event.key, set()).update(moment.stages)
            new = [key for key in event.ready if key in holds and key not in ready]
            if new:
                came = sorted({s for key in new for s in holds[key]})
                moment = replace(moment, stages=tuple(came), filling=order[new[-1]])
            if moment.kind == "meet" and (not moments or moments[-1].kind == "meet"):
                if moments and moments[-1].phase == moment.phase:
                    moments[-1] = _joined(moments[-1], moment)
                continue
            if moments and _alike(moments[-1], moment):
                moments[-1] = _joined(moments[-1], moment)
            else:
                moments.append(replace(moment, last=moment.step))
            place = len(moments) - 1
            for key in new:
                ready[key] = place
            if moment.kind == "fill":
                for stage in moment.stages:
                    begun.setdefault((event.key, stage), place)
        return Pipeline(stages, tuple(moments), _fillings(begun, ready, order), _actors(moments))


def _name(instruction: Instruction) -> str:
    """An instruction in a word or two: `cp.async`, `ldmatrix`, `ld.shared`, `mbarrier.try_wait`."""
    opcode, modifiers = instruction.opcode, instruction.modifiers
    if opcode == "cp":
        return ".".join(("cp", *modifiers[: 2 if "wait" in "".join(modifiers) else 1]))
    if opcode in ("mbarrier", "wgmma"):
        return f"{opcode}.{modifiers[0]}"
    if opcode == "wmma":
        return "wmma.load" if modifiers[0] == "load" else "wmma.store"
    return f"{opcode}.shared" if opcode in ("ld", "st") else opcode


def _is_copy(event: _Event) -> bool:
    """Whether an event is a bulk copy."""
    key = event.key
    return event.moment.kind == "fill" and isinstance(key, tuple) and key[0] == "barrier"


def _in_order(number: Ints, roots: list[int]) -> Ints:
    """Stages numbered by where they begin."""
    if not roots:
        return number
    found = np.where(number >= 0, np.array(roots)[number], -1)
    stages, firsts = np.unique(found, return_index=True)
    firsts, stages = firsts[stages >= 0], stages[stages >= 0]
    names = np.full(len(roots) + 1, -1, np.int64)
    names[stages[np.argsort(firsts)]] = np.arange(len(stages))
    return names[found]


def _alike(one: Moment, other: Moment) -> bool:
    """Whether two moments in a row are one."""
    names = ("kind", "how", "stages", "filling", "barrier", "phase", "origin")
    return all(getattr(one, name) == getattr(other, name) for name in names)


def _joined(one: Moment, other: Moment) -> Moment:
    warps = tuple(sorted({*one.warps, *other.warps}))
    return replace(one, warps=warps, count=one.count + 1, last=other.step)


def _fillings(
    begun: dict[tuple[Hashable, int], int], ready: dict[Hashable, int], order: dict[Hashable, int]
) -> tuple[Filling, ...]:
    found: list[Filling] = []
    latest: dict[int, int] = {}  # by stage: the place in `found`
    for (key, stage), begin in begun.items():
        if stage in latest:
            found[latest[stage]] = replace(found[latest[stage]], end=begin)
        latest[stage] = len(found)
        at = begin if key[0] == "stores" else ready.get(key, -1)  # type: ignore[index]
        found.append(Filling(stage, order[key], begin, at, -1))
    return tuple(found)


def _actors(moments: list[Moment]) -> tuple[Actor, ...]:
    """Warps that do the same; where there are too many sorts, those of one role."""
    warps = sorted({warp for moment in moments for warp in moment.warps})
    does = {w: tuple(i for i, m in enumerate(moments) if w in m.warps) for w in warps}
    by_doing: dict[Hashable, list[int]] = {}
    for warp in warps:
        by_doing.setdefault(does[warp], []).append(warp)
    if len(by_doing) > MOST_ACTORS:
        by_doing = {}
        for warp in warps:
            by_doing.setdefault(_role(moments, does[warp]), []).append(warp)
    found = [Actor(tuple(ws), _role(moments, does[ws[0]])) for ws in by_doing.values()]
    busy = [
        actor for actor in found if any(moments[i].kind != "meet" for i in does[actor.warps[0]])
    ]
    return tuple(sorted(busy, key=lambda a: (a.role != "producer", a.warps)))


def _role(moments: list[Moment], mine: tuple[int, ...]) -> str:
    kinds = {moments[i].kind for i in mine}
    if "fill" in kinds:
        return "" if "read" in kinds else "producer"
    return "consumer" if "read" in kinds else ""
