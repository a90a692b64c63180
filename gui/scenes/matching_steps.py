"""Which step of one block's record is the same moment as a step of another's.

Two launches of one algorithm pass through the same stages at different lengths: a tile of 8 takes
four phases where a tile of 32 takes one. Moments are matched from coarse to fine. Phases come
first: of two loops with 4 and 2 iterations, every second phase of the one begins with a phase of
the other, for both have then done the same share of the work. Between two such places barriers are
matched one by one, if there are as many, and between barriers accesses: one by one if there are as
many, otherwise load of A with load of A, at the same share of all of them. Steps between two
accesses follow one by one.

The counterpart of a later step is never an earlier one, and that of a step in an equal record is
the step itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gui.scenes.cached_per_object import once_for_each

if TYPE_CHECKING:
    from core.trace import BlockTrace


Steps = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Course:
    """The places that a record passes: all arrays hold steps, ascending.

    `keys` says of each access what is done to which array. A phase reaches from its place in
    `phases` to the next one, the last of them up to `tail`.
    """

    n_steps: int
    phases: Steps
    tail: int
    barriers: Steps
    accesses: Steps
    keys: tuple[str, ...]

    def inside(self, steps: Steps, span: tuple[int, int]) -> Steps:
        """Those of `steps` that lie in a span, its end excluded."""
        first, end = np.searchsorted(steps, span)
        return steps[first:end]


@once_for_each
def course_of(trace: BlockTrace) -> Course:
    """The course of one block, kept with its record."""
    from core.trace import EventKind

    kind = np.asarray(trace.kind)
    accesses = np.asarray(trace.access_steps)
    phases = trace.phases
    return Course(
        n_steps=trace.n_steps,
        phases=np.array([phase.first for phase in phases], np.intp),
        tail=phases[-1].last + 1 if phases else trace.n_steps,
        barriers=np.flatnonzero(kind == EventKind.BARRIER),
        accesses=accesses,
        keys=_keys(trace, accesses),
    )


def _keys(trace: BlockTrace, accesses: Steps) -> tuple[str, ...]:
    """One instruction always does the same, so that it is asked only once."""
    if not len(accesses):
        return ()
    _, first, which = np.unique(
        np.asarray(trace.pc)[accesses], return_index=True, return_inverse=True
    )
    names = []
    for place in first:
        access = trace.access(int(accesses[place]))
        assert access is not None
        array = access.array.name if access.array is not None else ""
        names.append(f"{access.kind} {access.space} {array}")
    return tuple(names[place] for place in which)


Span = tuple[int, int]


class Lockstep:
    """Finds the moments of `there` that belong to those of `here`."""

    def __init__(self, here: Course, there: Course) -> None:
        self.here, self.there = here, there
        self._span: tuple[Span, Span] | None = None
        self._targets: Steps = np.empty(0, np.intp)

    def counterpart(self, step: int) -> int:
        """The step of `there` that is the same moment as a step of `here`."""
        here, there = self.here, self.there
        if step <= 0 or there.n_steps <= 1:
            return 0
        if step >= here.n_steps - 1:
            return there.n_steps - 1
        span, other = self._between_barriers(step, *self._between_phases(step))
        return self._between_accesses(step, span, other)

    def _between_phases(self, step: int) -> tuple[Span, Span]:
        """The spans between the phases that begin together."""
        here, there = self.here, self.there
        ours, theirs = len(here.phases), len(there.phases)
        if not ours or not theirs:
            return (0, here.n_steps), (0, there.n_steps)
        if step < here.phases[0]:
            return (0, int(here.phases[0])), (0, int(there.phases[0]))
        if step >= here.tail:
            return (here.tail, here.n_steps), (there.tail, there.n_steps)
        shared = gcd(ours, theirs)
        phase = int(np.searchsorted(here.phases, step, "right")) - 1
        part = phase * shared // ours
        return _part(here, part, shared), _part(there, part, shared)

    def _between_barriers(self, step: int, span: Span, other: Span) -> tuple[Span, Span]:
        ours = self.here.inside(self.here.barriers, span)
        theirs = self.there.inside(self.there.barriers, other)
        if len(ours) != len(theirs):
            return span, other
        place = int(np.searchsorted(ours, step, "right"))
        return _cut(ours, place, span), _cut(theirs, place, other)

    def _between_accesses(self, step: int, span: Span, other: Span) -> int:
        ours = self.here.inside(self.here.accesses, span)
        theirs = self.there.inside(self.there.accesses, other)
        if other[0] >= other[1]:
            return min(other[0], self.there.n_steps - 1)
        before, start, following = span[0], other[0], 0
        place = int(np.searchsorted(ours, step, "right")) - 1
        targets = self._targets_of(span, other, ours, theirs)
        if place >= 0 and targets[place] >= 0:
            target = int(targets[place])
            earliest = int(np.searchsorted(targets, target))  # several of ours may be one of theirs
            before, start, following = int(ours[earliest]), int(theirs[target]), target + 1
        end = int(theirs[following]) if following < len(theirs) else other[1]
        return max(min(start + step - before, end - 1), start)

    def _targets_of(self, span: Span, other: Span, ours: Steps, theirs: Steps) -> Steps:
        """For each of our accesses in a span, which one of theirs it is; -1 for none yet."""
        if self._span != (span, other):
            self._span = (span, other)
            self._targets = self._match(ours, theirs)
        return self._targets

    def _match(self, ours: Steps, theirs: Steps) -> Steps:
        if len(ours) == len(theirs):
            return np.arange(len(ours))
        if not len(theirs):
            return np.full(len(ours), -1, np.intp)
        mine = _names(self.here, ours)
        wanted = _names(self.there, theirs)
        places = np.full(len(ours), -1, np.intp)
        for key in np.unique(mine):
            from_, to = np.flatnonzero(mine == key), np.flatnonzero(wanted == key)
            if len(to):
                places[from_] = to[np.arange(len(from_)) * len(to) // len(from_)]
        if (places < 0).all():  # nothing in common: at the same share
            places = np.arange(len(ours)) * len(theirs) // len(ours)
        return np.maximum.accumulate(places)


class Anchor:
    """Keeps one moment through a row of records, with nothing lost from one to the next.

    The moment is the last one that somebody chose: going from a tile of 8 to 32 and back ends at
    the step where it began, though several moments of the first are one of the second.
    """

    def __init__(self) -> None:
        self._course: Course | None = None
        self._step = 0
        self._carried: tuple[int, int] | None = None  # what it was last, and in how many steps

    def held(self, shown: BlockTrace, step: int) -> tuple[Course, int]:
        """The moment that is shown as a step of `shown`, where it was chosen: a course's step."""
        if self._course is None or self._carried != (step, shown.n_steps):
            return course_of(shown), step
        return self._course, self._step

    def carry(self, earlier: BlockTrace, step: int, later: BlockTrace) -> int:
        """The step of `later` for the moment that is shown as a step of `earlier`."""
        self._course, self._step = self.held(earlier, step)
        found = Lockstep(self._course, course_of(later)).counterpart(self._step)
        self._carried = (found, later.n_steps)
        return found


def _part(course: Course, part: int, parts: int) -> Span:
    """One of `parts` equal shares of the phases, as a span."""
    count = len(course.phases) // parts
    first, end = part * count, (part + 1) * count
    last = int(course.phases[end]) if end < len(course.phases) else course.tail
    return int(course.phases[first]), last


def _cut(barriers: Steps, place: int, span: Span) -> Span:
    """The piece of a span after `place` of its barriers."""
    first = int(barriers[place - 1]) if place else span[0]
    end = int(barriers[place]) if place < len(barriers) else span[1]
    return first, end


def _names(course: Course, steps: Steps) -> NDArray[np.str_]:
    first = int(np.searchsorted(course.accesses, steps[0])) if len(steps) else 0
    return np.array(course.keys[first : first + len(steps)], np.str_)


def same_place(place: int, here: tuple[int, int, int], there: tuple[int, int, int]) -> int:
    """The linear index at the same share of each side of another box: the block that has its part.

    `here` and `there` are grids in x, y, z; a grid of half as many blocks a side has twice as large
    a part of the matrix for each.
    """
    x, y, z = place % here[0], place // here[0] % here[1], place // (here[0] * here[1])
    i, j, k = (at * new // old for at, new, old in zip((x, y, z), there, here, strict=True))
    return i + there[0] * (j + there[1] * k)
