"""Counts of a whole launch: by memory instruction, summed up by array, source line and in total.

The names are those of `COUNTERS`; where Nsight Compute has the counter, its metric defines it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Count:
    """A counter's value, and the least it could be for the same data asked for."""

    value: int = 0
    ideal: int = 0

    @property
    def excessive(self) -> int:
        """value - ideal."""
        return self.value - self.ideal

    def __add__(self, other: Count) -> Count:
        return Count(self.value + other.value, self.ideal + other.ideal)


# What is measured is a row of `MEASURES`; a counter is a measure of the accesses in one way, or of
# other events. The tables of the command line, of the window and of files follow from the rows.

FIGURES = ("requests", "units", "ideal", "conflicts")
"""What the observer finds for every access: a row's `figure` and `ideal` are two of these."""
_ALL_WAYS = ("ld", "st", "atom", "red")
_BULK = ("tma_ld", "tma_st", "tma_red")  # what bulk copies load, store and reduce


@dataclass(frozen=True)
class Measure:
    """What is measured of accesses to a space of memory ("" for other events), in some ways.

    `figure` is summed up, `ideal` is the figure of the least that would do ("": none at all).
    `metric` is Nsight Compute's, with {} for the way; "" where it has none. `noun` is for tables,
    `rule` a sentence.
    """

    name: str
    space: str
    ways: tuple[str, ...]
    figure: str
    ideal: str
    metric: str
    noun: str
    rule: str
    own: tuple[tuple[str, str], ...] = ()  # metrics of ways that have another than `metric`


MEASURES: tuple[Measure, ...] = (
    Measure(
        name="requests",
        space="global",
        ways=(*_ALL_WAYS, *_BULK),
        figure="requests",
        ideal="requests",
        metric="l1tex__t_requests_pipe_lsu_mem_global_op_{}.sum",
        noun="requests",
        rule="Memory instructions of a warp, and bulk copies.",
        own=tuple((way, "") for way in _BULK),
    ),
    Measure(
        name="sectors",
        space="global",
        ways=(*_ALL_WAYS, *_BULK),
        figure="units",
        ideal="ideal",
        metric="l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum",
        noun="sectors",
        rule="32-byte sectors, summed over the requests.",
        own=(
            ("tma_ld", "l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld.sum"),
            *(
                (way, f"l1tex__m_l1tex2xbar_write_sectors_mem_global_op_{way}.sum")
                for way in _BULK[1:]
            ),
        ),
    ),
    Measure(
        name="requests",
        space="shared",
        ways=(*_ALL_WAYS[:3], "gmma"),
        figure="requests",
        ideal="requests",
        metric="smsp__sass_inst_executed_op_shared_{}.sum",
        noun="requests",
        rule="Memory instructions of a warp, and its matrix products.",
        own=(("gmma", "l1tex__lsuin_requests_op_gmma.sum"),),
    ),
    Measure(
        name="wavefronts",
        space="shared",
        ways=(*_ALL_WAYS[:3], "gmma"),
        figure="units",
        ideal="ideal",
        metric="l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum",
        noun="wavefronts",
        rule="Turns that the 32 banks take, summed over the requests.",
    ),
    Measure(
        name="conflicts",
        space="shared",
        ways=(*_ALL_WAYS[:3], "gmma"),
        figure="conflicts",
        ideal="",
        metric="l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum",
        noun="bank conflicts",
        rule="Wavefronts that only bank conflicts cause, summed over the requests.",
    ),
    Measure(
        name="requests",
        space="local",
        ways=_ALL_WAYS[:2],
        figure="requests",
        ideal="requests",
        metric="l1tex__t_requests_pipe_lsu_mem_local_op_{}.sum",
        noun="requests",
        rule="Memory instructions of a warp, one for each 4 bytes of a lane.",
    ),
    Measure(
        name="sectors",
        space="local",
        ways=_ALL_WAYS[:2],
        figure="units",
        ideal="ideal",
        metric="l1tex__t_sectors_pipe_lsu_mem_local_op_{}.sum",
        noun="sectors",
        rule="32-byte sectors, summed over the requests: the same word of all lanes lies together.",
    ),
    Measure(
        name="barriers",
        space="",
        ways=("",),
        figure="requests",
        ideal="requests",
        metric="",
        noun="barriers",
        rule="Barriers of a block that a warp came to, summed over the warps.",
    ),
)


@dataclass(frozen=True)
class Counter:
    """One measure of accesses in one way."""

    measure: Measure
    way: str

    @property
    def of(self) -> str:
        """What it counts of, as `Tally.add` has it: "global_ld"; "" for other events."""
        return f"{self.measure.space}_{self.way}" if self.way else ""

    @property
    def name(self) -> str:
        """Such as "global_ld_sectors", or "barriers"."""
        return f"{self.of}_{self.measure.name}" if self.way else self.measure.name

    @property
    def metric(self) -> str:
        """Nsight Compute's name, "" where it has none."""
        return dict(self.measure.own).get(self.way, self.measure.metric.format(self.way))

    def count(self, figures: Mapping[str, int]) -> Count:
        """The counter's value, given sums of `FIGURES`."""
        return Count(figures[self.measure.figure], figures.get(self.measure.ideal, 0))


COUNTERS: Mapping[str, Counter] = {
    counter.name: counter for m in MEASURES for way in m.ways for counter in (Counter(m, way),)
}
METRICS: Mapping[str, str] = {name: c.metric for name, c in COUNTERS.items() if c.metric}
"""The counters that Nsight Compute has as well, with its names."""

WAYS: Mapping[str, str] = {
    "ld": "load",
    "st": "store",
    "atom": "atomic",
    "red": "reduction",
    "tma_ld": "bulk load",
    "tma_st": "bulk store",
    "tma_red": "bulk reduction",
    "gmma": "matrix product",
}
"""Ways to access memory, as the counters' names have them, and in words.

A reduction is an atomic whose old value nobody asks for.
"""


@dataclass(frozen=True)
class Space:
    """A space of memory: its title, and the measure (`unit`) of what requests to it cost."""

    title: str
    unit: str
    unit_title: str


SPACES: Mapping[str, Space] = {
    "global": Space("Global memory", "sectors", "32-byte sectors"),
    "shared": Space("Shared memory", "wavefronts", "wavefronts"),
    "local": Space("Local memory", "sectors", "32-byte sectors"),
}
UNITS: Mapping[str, str] = {name: space.unit for name, space in SPACES.items()}
"""What requests to a space of memory cost."""


def measures_of(space: str) -> tuple[Measure, ...]:
    """What is measured of accesses to a space."""
    return tuple(measure for measure in MEASURES if measure.space == space)


def counters_of(space: str, measure: str) -> tuple[str, ...]:
    """The counters of one measure of a space, a way of access each."""
    return tuple(
        name
        for name, counter in COUNTERS.items()
        if (counter.measure.space, counter.measure.name) == (space, measure)
    )


Counts = Mapping[str, Count]


@dataclass(frozen=True)
class Counters:
    """All counters of a launch. `by_line` is keyed by source line, `by_array` by array name."""

    totals: Counts
    by_array: Mapping[str, Counts]
    by_line: Mapping[int, Counts]


@dataclass
class Tally:
    """Running sums of `FIGURES` for each instruction and array ("": of none).

    Accesses of a header's function count for the instruction that calls it.
    """

    sums: dict[tuple[int, str, str], NDArray[np.int64]] = field(default_factory=dict)

    def add(self, pc: int, array: str, name: str, values: NDArray[np.int64]) -> None:
        """Adds to the sums of an instruction; `name` is such as "global_ld"."""
        key = (pc, array, name)
        if key in self.sums:
            self.sums[key] += values
        else:
            self.sums[key] = values.copy()

    def counters(self, line_of: Callable[[int], int]) -> Counters:
        """The sums as counters; `line_of` gives the source line of a pc."""
        total = _Sums()
        by_array: defaultdict[str, _Sums] = defaultdict(_Sums)
        by_line: defaultdict[int, _Sums] = defaultdict(_Sums)
        for (pc, array, name), values in self.sums.items():
            for sums in (total, by_line[line_of(pc)], *((by_array[array],) if array else ())):
                sums[name] += values
        return Counters(
            _counts(total),
            {array: _counts(sums) for array, sums in by_array.items()},
            {line: _counts(sums) for line, sums in sorted(by_line.items())},
        )


class _Sums(defaultdict[str, NDArray[np.int64]]):
    """Sums of `FIGURES` by what they are of, such as "global_ld"."""

    def __init__(self) -> None:
        super().__init__(figures)


def figures(**found: int) -> NDArray[np.int64]:
    """Figures by name as the row that a tally adds up, int64 (figures,); the others are 0."""
    return np.array([found.get(name, 0) for name in FIGURES], np.int64)


def _counts(sums: _Sums) -> Counts:
    found = {of: dict(zip(FIGURES, values.tolist(), strict=True)) for of, values in sums.items()}
    return {
        name: counter.count(found[counter.of]) if counter.of in found else Count()
        for name, counter in COUNTERS.items()
    }
