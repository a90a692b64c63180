"""What a benchmark measures: figures with their spread and goal, as a table or for docs."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.table import Table

HEADS = ("what", "median", "least to most", "processor time", "goal", "")


@dataclass(frozen=True)
class Times:
    """Seconds of several runs: on the clock, and of the process's own processor time."""

    wall: tuple[float, ...]
    processor: tuple[float, ...] = ()

    @property
    def median(self) -> float:
        """Median seconds on the clock."""
        return statistics.median(self.wall)


@dataclass(frozen=True)
class Figure:
    """One measurement: `values` in `unit`.

    `goal` is what they must stay under, or, with `at_least`, reach.

    `processor` is the median as processor time gives it, where that differs from the clock.
    """

    what: str
    values: tuple[float, ...]
    unit: str
    goal: float | None = None
    at_least: bool = False
    processor: float | None = None

    @property
    def median(self) -> float:
        """The median of the runs."""
        return statistics.median(self.values)

    @property
    def verdict(self) -> str:
        """Whether the goal is reached: on the clock, in processor time alone, or not at all."""
        if self.goal is None:
            return ""
        if self._reached(self.median):
            return "met"
        by_processor = self.processor is not None and self._reached(self.processor)
        return "met in processor time" if by_processor else "missed"

    @property
    def missed(self) -> bool:
        """Whether the goal is not reached either way; a NaN reaches none."""
        return self.verdict == "missed"

    def _reached(self, value: float) -> bool:
        assert self.goal is not None
        return value >= self.goal if self.at_least else value < self.goal

    def cells(self) -> tuple[str, ...]:
        """The row of a table, see `HEADS`."""
        spread = f"{_number(min(self.values))} to {_number(max(self.values))}"
        sign = "at least" if self.at_least else "under"
        return (
            self.what,
            f"{_number(self.median)} {self.unit}",
            spread if len(self.values) > 1 else "",
            "" if self.processor is None else f"{_number(self.processor)} {self.unit}",
            "" if self.goal is None else f"{sign} {_number(self.goal)} {self.unit}",
            self.verdict,
        )


def rates(what: str, work: float, times: Times, goal: float | None = None) -> Figure:
    """Millions of something a second, from the seconds that it took."""
    return Figure(
        what,
        tuple(work / seconds / 1e6 for seconds in times.wall),
        "M/s",
        goal,
        at_least=True,
        processor=work / statistics.median(times.processor) / 1e6 if times.processor else None,
    )


def timed(work: Callable[[], object], runs: int) -> Times:
    """Runs it once to warm up and then `runs` times."""
    work()
    wall, processor = [], []
    for _ in range(runs):
        started, spent = time.perf_counter(), time.process_time()
        work()
        wall.append(time.perf_counter() - started)
        processor.append(time.process_time() - spent)
    return Times(tuple(wall), tuple(processor))


def table(title: str, figures: Sequence[Figure]) -> Table:
    """For the terminal."""
    result = Table(title=title, title_justify="left")
    for head in HEADS:
        result.add_column(head, justify="left" if head in ("what", "") else "right")
    for figure in figures:
        style = "bold red" if figure.missed else None
        result.add_row(*figure.cells(), style=style)
    return result


def markdown(title: str, figures: Sequence[Figure]) -> str:
    """For a page of docs."""
    rows = [f"**{title}**", "", "| " + " | ".join(HEADS) + " |", "|---|---:|---:|---:|---:|---|"]
    rows += ["| " + " | ".join(figure.cells()) + " |" for figure in figures]
    return "\n".join(rows)


def _number(value: float) -> str:
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) < 10 else f"{value:.1f}"
