"""Which work may wait for one of the next frames or events.

Pictures move in every frame. What is read (tables, sources, captions) need not change sixty times
a second: while the clock plays, each piece of it takes its turn, some in every frame and each at
least fifteen times a second. A single step, a pause and the end of play show everything at once.

A new trace changes everything. What is read then follows the pictures in events of their own, so
that none is long, and the window paints only when all of it is there.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from math import ceil
from typing import Protocol

LEAST_A_SECOND = 15
"""How often what is read is brought up to date while the clock plays."""
FRAME = frozenset({"step"})
"""What changes in a frame of play; nobody waits for a turn when anything else does."""
UNHURRIED = frozenset({"hover", "configuration"})
"""What says nothing of what is shown: pointing, and asking for another launch."""

Work = Callable[[], object]


class Stage(Protocol):
    """The window, as far as a change that is shown in several events needs it."""

    def hold(self, works: Iterator[object]) -> None:
        """Paint nothing until `release`, and do the works, one `next` each, in later events."""

    def release(self) -> None:
        """Everything is shown as it is now: paint it."""


class Turns:
    """The works that wait, the one that has waited longest first.

    `pace()` gives the frames a second while the clock plays, and 0 while it stands.
    """

    def __init__(self, pace: Callable[[], float]) -> None:
        self._pace = pace
        self._waiting: dict[Hashable, Work] = {}
        self._may_wait = False
        self._depth = 0
        self.stage: Stage | None = None
        """Set by the window; without one nothing is shown in several events."""
        self._opening = False
        self._then: list[Work] = []

    @property
    def waiting(self) -> int:
        """How many works wait for their turn."""
        return len(self._waiting)

    def offer(self, who: Hashable, work: Work) -> None:
        """Do a work: in a frame of play or at a new trace when its turn comes, otherwise now.

        Somebody's newer work takes the place of the older one in the queue, so that nobody who
        changes often comes later for it.
        """
        if self._may_wait:
            self._waiting[who] = work
        else:
            self._waiting.pop(who, None)
            work()

    @contextmanager
    def change(self, names: frozenset[str]) -> Iterator[None]:
        """A change of what is named, within which works are offered; at its end it is shared out.

        A change within another, as of the other side of a comparison, belongs to the outer one.
        """
        frame = names == FRAME and self._pace() > 0
        outer, self._may_wait = self._may_wait, frame or self._opening
        self._depth += 1
        try:
            yield
        finally:
            self._may_wait = outer
            self._depth -= 1
        if self._depth or self._opening:
            return
        pace = self._pace()
        if frame and pace > 0:  # play may have ended within the frame
            self._do(ceil(len(self._waiting) * LEAST_A_SECOND / pace))
        elif not names <= UNHURRIED:
            self.finish()

    @contextmanager
    def in_several_events(self, then: Work) -> Iterator[None]:
        """What changes within is shown in several events, and painted as one; `then` follows.

        Any other change before the last of them shows all at once.
        """
        self._opening = self.stage is not None
        try:
            yield
        finally:
            self._opening = False
            self._then.append(then)
            if self.stage is not None:
                self.stage.hold(iter(self._do_one, False))  # it goes on after a fault in a work
            else:
                self.finish()

    def finish(self) -> None:
        """Do everything that waits: what is on the screen is then exact."""
        self._do(len(self._waiting))
        self._settle()

    def _do_one(self) -> bool:
        """Do what has waited longest; False when nothing waits any more."""
        if self._waiting:
            self._do(1)
            return True
        self._settle()
        return False

    def _do(self, count: int) -> None:
        for who in list(self._waiting)[:count]:
            work = self._waiting.pop(who, None)
            if work is not None:  # one before it may have done it by an offer or a change
                work()

    def _settle(self) -> None:
        """Have painted what was shown in several events, and go on to what follows it."""
        then, self._then = self._then, []
        if then and self.stage is not None:
            self.stage.release()
        for work in then:
            work()
