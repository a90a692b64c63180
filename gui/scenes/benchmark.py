"""The benchmark page's table: results and failures as comparable rows. No Qt here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gui.scenes.bench_measured import HERE, Measured, parameters_text
from gui.scenes.text import grouped

if TYPE_CHECKING:
    from core.gpu.updates import Outcome
    from core.ladder import Rung

SIZES = (512, 1024, 2048, 4096, 8192)
SIZE_NAMES = ("m", "n", "k")


@dataclass(frozen=True)
class ResultRow:
    """One measured kernel. `gflops` is at the median; `low` and `high` bound 90 % of samples.

    `trouble` says in two or three words what went wrong; `measured` is None where nothing was.
    """

    title: str
    details: str
    gflops: float | None
    low: float | None
    high: float | None
    gbs: float | None
    notes: str
    trouble: str = ""
    measured: Measured | None = None

    @property
    def rate_text(self) -> str:
        """The rate, or why there is none."""
        if self.gflops is None:
            return self.trouble or "–"
        return grouped(round(self.gflops))

    @property
    def bandwidth_text(self) -> str:
        """The effective bandwidth."""
        return "–" if self.gbs is None else grouped(round(self.gbs))


def result_row(measured: Measured) -> ResultRow:
    """A result as a row."""
    result = measured.result
    block = " × ".join(str(n) for n in result.block if n > 1) or "1"
    trouble = "wrong result" if result.ok is False else ""
    if measured.failure is not None:
        trouble = measured.failure.title
    return ResultRow(
        title=result.title,
        details=parameters_text(result.parameters) or f"block {block}",
        gflops=None if result.ok is False else result.gflops,
        low=result.gflops_p5,
        high=result.gflops_p95,
        gbs=result.effective_gbs,
        notes=_notes(measured),
        trouble=trouble,
        measured=measured,
    )


def _notes(measured: Measured) -> str:
    result = measured.result
    notes = [f"{result.architecture}, {result.registers} registers a thread", *result.notes]
    if result.median_ms is not None:
        launches = len(result.samples_ms)
        notes.insert(0, f"median {result.median_ms:.4g} ms of {launches} launches ({result.ended})")
    notes += [check.method for check in result.checks]
    if measured.failure is not None:
        notes.append(measured.failure.message)
    return "; ".join([*notes, f"GPU {result.device.ordinal}", result.date[:10]])


def failure_row(outcome: Outcome) -> ResultRow:
    """A point that gave nothing, as a row."""
    assert outcome.failure is not None
    details = parameters_text(outcome.point.parameters)
    return ResultRow(
        title=outcome.point.title,
        details=details,
        gflops=None,
        low=None,
        high=None,
        gbs=None,
        notes=f"{outcome.failure.message} ({outcome.lane})",
        trouble=outcome.failure.title,
    )


def rows_of(measured: Sequence[Measured], failed: Iterable[Outcome]) -> tuple[ResultRow, ...]:
    """What failed, then results by falling rate."""
    lost = [failure_row(outcome) for outcome in failed if outcome.result is None]
    rows = [result_row(m) for m in measured]
    return (*lost, *sorted(rows, key=lambda row: -(row.gflops or 0.0)))


def row_of(rows: Sequence[ResultRow], measured: Measured) -> int | None:
    """The place of a result among rows."""
    return next((i for i, row in enumerate(rows) if row.measured is measured), None)


def best_row(rows: Sequence[ResultRow], rung: str) -> int | None:
    """The place of a rung's first, hence fastest, row; None if it has none."""
    for place, row in enumerate(rows):
        if row.measured is not None and row.measured.result.rung == rung and row.gflops:
            return place
    return None


def table_sentence(rows: Sequence[ResultRow], measured: Sequence[Measured]) -> str:
    """What the table holds."""
    if not rows:
        return "Nothing has been measured yet."
    here = sum(m.origin == HERE for m in measured)
    lost = sum(row.measured is None for row in rows)
    parts = [f"{here} measured here"] if here else []
    parts += [f"{len(measured) - here} recorded"] if len(measured) > here else []
    parts += [f"{lost} failed"] if lost else []
    return ", ".join(parts) + "; bars at the median, lines from the 5th to the 95th percentile."


def size_parameters(rung: Rung) -> tuple[str, ...]:
    """The parameters of a rung that set how large its arrays are (not its blocks)."""
    return tuple(p.name for p in rung.parameters if p.name in SIZE_NAMES)
