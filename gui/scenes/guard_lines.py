"""Places of threads that did not access memory, from the places of those that did. No Qt here.

Places are integers (threads, axes): row and column, or the index into a 1-D array.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gui.scenes.loads import Ints

Bools = NDArray[np.bool_]
Slopes = NDArray[np.float64]
"""float64 (inputs, axes): how each axis of a place changes with each input."""


def fit(inputs: Ints, live: Ints, places: Ints) -> Slopes | None:
    """The straight line from inputs (threads, n) to the places (live, axes) of the live threads.

    None where there is none, or where the live threads do not say which of several it is: there
    must be one more of them than any places would fit.
    """
    varied = np.ptp(inputs, axis=0) > 0 if len(inputs) else np.zeros(0, bool)
    terms = np.column_stack([inputs[live][:, varied], np.ones(len(live))]).astype(np.float64)
    if len(live) <= terms.shape[1] or np.linalg.matrix_rank(terms) < terms.shape[1]:
        return None
    line, *_ = np.linalg.lstsq(terms, places.astype(np.float64), rcond=None)
    line = np.rint(line)
    if not np.array_equal(terms @ line, places):
        return None
    slopes = np.zeros((inputs.shape[1], places.shape[1]))
    slopes[varied] = line[:-1]
    return slopes


def along(slopes: Slopes, inputs: Ints, anchor: int, place: Ints) -> Ints:
    """Every thread's place on the line through the place of one of them, the anchor."""
    moved: Ints = np.rint(place + (inputs - inputs[anchor]) @ slopes).astype(np.int64)
    return moved


@dataclass
class Pattern:
    """Where threads stand to each other in the accesses of one instruction, as far as was seen.

    `broken` when two accesses disagree: then nothing follows from one for another.
    """

    offsets: Ints
    known: Bools
    broken: bool = False
    seen: set[int] = field(default_factory=set)
    """The blocks that were learnt from."""

    @classmethod
    def of(cls, threads: int, axes: int) -> Pattern:
        """One of which nothing is known."""
        return cls(np.zeros((threads, axes), np.int64), np.zeros(threads, bool))

    def learn(self, live: Ints, places: Ints) -> None:
        """Take in where the live threads (ascending) of one access stood."""
        if self.broken or not len(live):
            return
        common = self.known[live]
        if not common.any() and self.known.any():
            return  # no thread says how the two stand to each other
        shift = places[common] - self.offsets[live[common]] if common.any() else places[:1]
        if (shift != shift[0]).any():
            self.broken = True
            return
        self.offsets[live] = places - shift[0]
        self.known[live] = True

    def places(self, live: Ints, places: Ints) -> Ints | None:
        """Every thread's place, of those that are `known`; None where it does not follow."""
        common = self.known[live] if len(live) else np.zeros(0, bool)
        if self.broken or not common.any():
            return None
        shift = places[common] - self.offsets[live[common]]
        return None if (shift != shift[0]).any() else self.offsets + shift[0]

    def agrees(self, slopes: Slopes, inputs: Ints) -> bool:
        """Whether the known threads stand to each other as on a line."""
        known = np.flatnonzero(self.known)
        if self.broken or not len(known):
            return False
        line = along(slopes, inputs[known], 0, self.offsets[known[0]])
        return np.array_equal(line, self.offsets[known])
