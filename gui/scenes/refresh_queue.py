"""Which work may wait for one of the next frames.

Pictures move in every frame. What is read (tables, sources, captions) need not change sixty times
a second: while the clock plays, each piece of it takes its turn, some in every frame and each at
least fifteen times a second. A single step, a pause and the end of play show everything at once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from math import ceil

LEAST_A_SECOND = 15
"""How often what is read is brought up to date while the clock plays."""
FRAME = frozenset({"step"})
"""What changes in a frame of play; nobody waits for a turn when anything else does."""
UNHURRIED = frozenset({"hover", "configuration"})
"""What says nothing of what is shown: pointing, and asking for another launch."""

Work = Callable[[], object]


class Turns:
    """The works that wait, the one that has waited longest first.

    `pace()` gives the frames a second while the clock plays, and 0 while it stands.
    """

    def __init__(self, pace: Callable[[], float]) -> None:
        self._pace = pace
        self._waiting: dict[Hashable, Work] = {}
        self._may_wait = self._together = False
        self._depth = 0

    @property
    def waiting(self) -> int:
        """How many works wait for their turn."""
        return len(self._waiting)

    def offer(self, who: Hashable, work: Work) -> None:
        """Do a work: in a frame of play when its turn comes, within `together` last, else now.

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
        outer, self._may_wait = self._may_wait, frame or self._together
        self._depth += 1
        try:
            yield
        finally:
            self._may_wait = outer
            self._depth -= 1
        if self._depth or self._together:
            return
        pace = self._pace()
        if frame and pace > 0:  # play may have ended within the frame
            self._do(ceil(len(self._waiting) * LEAST_A_SECOND / pace))
        elif not names <= UNHURRIED:
            self.finish()

    @contextmanager
    def together(self) -> Iterator[None]:
        """What is read follows several changes once, at the end."""
        self._together = True
        try:
            yield
        finally:
            self._together = False
            self.finish()

    def finish(self) -> None:
        """Do everything that waits: what is on the screen is then exact."""
        self._do(len(self._waiting))

    def _do(self, count: int) -> None:
        for who in list(self._waiting)[:count]:
            work = self._waiting.pop(who, None)
            if work is not None:  # one before it may have done it by an offer or a change
                work()
