"""The benchmark page's content: results as comparable rows, and sentences. No Qt here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from gui.scenes.text import grouped

if TYPE_CHECKING:
    from core.gpu.result import BenchmarkResult
    from core.ladder import Rung

SIZES = (512, 1024, 2048, 4096, 8192)
SIZE_NAMES = ("m", "n", "k")


@dataclass(frozen=True)
class ResultRow:
    """One measured kernel. `gflops` is at the median; `low` and `high` bound 90 % of samples.

    `samples` are the rates of the launches in GFLOPS, in their order; empty if the work is unknown.
    """

    title: str
    details: str
    device: str
    gflops: float | None
    low: float | None
    high: float | None
    ok: bool | None
    recorded: bool
    notes: str
    rung: str | None = None
    samples: tuple[float, ...] = ()

    @property
    def rate_text(self) -> str:
        """The rate, or why there is none."""
        if self.ok is False:
            return "wrong result"
        return f"{grouped(round(self.gflops))}" if self.gflops is not None else "–"


def result_row(result: BenchmarkResult, recorded: bool) -> ResultRow:
    """A result as a row."""
    parameters = ", ".join(f"{k} = {grouped(v)}" for k, v in result.parameters.items())
    block = " × ".join(str(n) for n in result.block if n > 1) or "1"
    notes = [f"{result.architecture}, {result.registers} registers a thread", *result.notes]
    if result.median_ms is not None:
        notes.insert(0, f"median {result.median_ms:.4g} ms of {len(result.samples_ms)} launches")
    return ResultRow(
        result.title,
        parameters or f"block {block}",
        result.device.name,
        result.gflops,
        result.gflops_p5,
        result.gflops_p95,
        result.ok,
        recorded,
        "; ".join(notes) + f"; {result.date[:10]}",
        result.rung,
        _rates(result),
    )


def _rates(result: BenchmarkResult) -> tuple[float, ...]:
    if result.flops is None:
        return ()
    return tuple(result.flops / (ms * 1e6) for ms in result.samples_ms if ms > 0)


def best_row(rows: Sequence[ResultRow], rung: str) -> int | None:
    """The place of a rung's first, hence fastest, row in ranked rows; None if it has none."""
    return next((i for i, r in enumerate(rows) if r.rung == rung and r.samples), None)


def row_sentence(row: ResultRow) -> str:
    """What the plot of a row's samples shows."""
    when = "recorded on" if row.recorded else "measured on"
    return f"{row.title} ({row.details}), {when} an {row.device}: {len(row.samples)} launches."


def rank(rows: Iterable[ResultRow]) -> tuple[ResultRow, ...]:
    """This session's results first, each group by falling rate."""
    return tuple(sorted(rows, key=lambda r: (r.recorded, -(r.gflops or 0.0))))


def running_median(samples: Sequence[float]) -> float | None:
    """The median so far, None before the first sample."""
    return median(samples) if samples else None


def size_parameters(rung: Rung) -> tuple[str, ...]:
    """The parameters of a rung that set how large its arrays are (not its blocks)."""
    return tuple(p.name for p in rung.parameters if p.name in SIZE_NAMES)


def benchmark_parameters(
    rung: Rung, configured: Mapping[str, int], size: int | None
) -> dict[str, int]:
    """The configured parameters, with every size replaced by `size` unless it is None."""
    values = {p.name: configured.get(p.name, p.default) for p in rung.parameters}
    if size is not None:
        values.update(dict.fromkeys(size_parameters(rung), size))
    return values


def result_sentence(result: BenchmarkResult) -> str:
    """What came out, in one sentence."""
    if result.ok is False:
        return f"{result.title} gave a wrong result on the {result.device.name}; it was not timed."
    if result.gflops is None or result.median_ms is None:
        return f"{result.title} ran on the {result.device.name}; its work is not known."
    checked = "checked against float64, " if result.ok else ""
    return (
        f"{result.title} reaches {grouped(round(result.gflops))} GFLOPS on the "
        f"{result.device.name}: {checked}{len(result.samples_ms)} launches, "
        f"median {result.median_ms:.4g} ms."
    )
