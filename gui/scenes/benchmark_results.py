"""Results of benchmarks: where they come from, how they are called, and their table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.gpu.sweep_plan import SIZE_NAMES
from gui.scenes.names_of_elements_and_threads import block_text
from gui.scenes.numbers_and_sentences import grouped, spaced

if TYPE_CHECKING:  # what it imports loads much: the window needs none of it to begin
    from core.gpu.benchmark_result import BenchmarkResult
    from core.gpu.sweep import Failure, Outcome
    from core.ladder import Ladder, Rung
    from gui.scenes.configuration import Configuration


HERE, RECORDED = "measured here", "recorded"
FAMILIES: Mapping[str, str] = {
    "float32": "float32 products",
    "tf32": "TF32 products",
    "float16": "F16 products",
    "other": "other kernels",
    "all": "all kernels",
}

CeilingKey = tuple[str, tuple[tuple[str, int], ...], str]


@dataclass(frozen=True)
class Measured:
    """A result and where it comes from: HERE, RECORDED, or a file's name."""

    result: BenchmarkResult
    origin: str = HERE
    failure: Failure | None = None

    @property
    def machine(self) -> str:
        """Results with an equal text stand in one plot."""
        return f"{self.result.device.name}, {self.when}"

    @property
    def when(self) -> str:
        """How it came here, in words."""
        day = self.result.date[:10]
        if self.origin == HERE:
            return HERE
        return f"{RECORDED} {day}" if self.origin == RECORDED else f"{day}, from {self.origin}"

    @property
    def n(self) -> int | None:
        """Its size; None where it has none."""
        return self.result.parameters.get("n")

    @property
    def tile(self) -> int | None:
        """The width of its tile or square block; None where it has neither."""
        values = self.result.parameters
        if "tile" in values:
            return values["tile"]
        x, y = values.get("block_x"), values.get("block_y")
        return x if x is not None and x == y else None

    @property
    def ceiling_key(self) -> CeilingKey | None:
        """Names the launch and the device; None for what is not a rung, or edited."""
        rung = self.result.rung
        if rung is None or self.result.gflops is None:
            return None
        return rung, tuple(sorted(self.result.parameters.items())), self.result.device.name


def neighbours(order: Sequence[str], chosen: str, most: int) -> tuple[str, ...]:
    """One of a series with `most` others next to it, the one before and those after; in order."""
    at = order.index(chosen) if chosen in order else 0
    first = max(0, min(at - 1, len(order) - most - 1))
    return tuple(order[first : first + most + 1])


def machines(measured: Iterable[Measured]) -> tuple[str, ...]:
    """The machines that results come from, those of this machine first."""
    found = dict.fromkeys(m.machine for m in sorted(measured, key=lambda m: m.origin != HERE))
    return tuple(found)


def family_of(measured: Measured, arithmetics: Mapping[str, str]) -> str:
    """Which results it is fair to stand beside: a key of FAMILIES.

    `arithmetics` says of the ladder's matrix products, by rung, what they compute with.
    """
    result = measured.result
    if result.rung is not None:
        return arithmetics.get(result.rung, "other")
    return "other" if result.flops is None else "float32"


def families(measured: Iterable[Measured], arithmetics: Mapping[str, str]) -> tuple[str, ...]:
    """The families there are, and all of them together where there are several."""
    there = {family_of(m, arithmetics) for m in measured}
    found = tuple(key for key in FAMILIES if key in there)
    return (*found, "all") if len(found) > 1 else found


def parameters_text(parameters: Mapping[str, int]) -> str:
    """Parameters in short: equal sizes as one, and what has x, y or m, n, k as a product."""
    left = dict(parameters)
    parts: list[str] = []
    names = [name for name in SIZE_NAMES if name in left]
    sizes = [left.pop(name) for name in names]
    if len(set(sizes)) == 1:
        parts.append(f"n = {grouped(sizes[0])}")
    elif sizes:
        parts.append(f"{' × '.join(names)} = {' × '.join(map(grouped, sizes))}")
    groups: dict[str, list[int]] = {}
    for name, value in left.items():
        stem, _, axis = name.rpartition("_")
        groups.setdefault(stem if axis in ("x", "y", *SIZE_NAMES) else name, []).append(value)
    parts += [
        f"{stem} {' × '.join(map(str, values))}" if len(values) > 1 else f"{stem} = {values[0]}"
        for stem, values in groups.items()
    ]
    return ", ".join(parts)


def launch_title(ladder: Ladder, shown: Configuration) -> str:
    """A launch in a line: its rung and parameters, or its file, kernel, grid and block."""
    if shown.own is not None:
        own = shown.own
        return f"{own.name}: {own.kernel}, grid {own.grid}, block {own.block}"
    edited = " (edited)" if shown.source is not None else ""
    return f"{ladder[shown.rung].title}{edited}: {parameters_text(shown.parameters)}"


def machine_sentence(measured: Sequence[Measured]) -> str:
    """Machine, date, driver and versions of results of one machine."""
    if not measured:
        return ""
    result, when = measured[-1].result, measured[-1].when
    device = result.device
    flushed = "L2 flushed" if result.l2_flushed else "L2 not flushed"
    versions = [f"driver {device.driver} (CUDA {device.cuda_driver})"]
    nvrtc = next((m.result.nvrtc for m in measured if m.result.architecture != "cuBLAS"), None)
    versions += [f"NVRTC {nvrtc}"] if nvrtc else []
    versions += [f"{n} {v}" for n, v in result.software.items() if n in ("pycuda", "cuda-bindings")]
    return f"{device.name}, {when}: {', '.join(versions)}; {flushed} before each launch."


# The rows of the results' table.


CLOCK_FELL = "clock fell"


@dataclass(frozen=True)
class ResultRow:
    """One measured kernel. `gflops` is at the median; `low` and `high` bound 90 % of samples.

    `trouble` says in two or three words what went wrong; `measured` is None where nothing was.
    """

    title: str
    details: str
    notes: str
    gflops: float | None = None
    low: float | None = None
    high: float | None = None
    gbs: float | None = None
    trouble: str = ""
    measured: Measured | None = None

    @property
    def rate_text(self) -> str:
        """The rate, or why there is none; an arrow where the SM clock fell meanwhile."""
        if self.gflops is None:
            return self.trouble or "–"
        return grouped(round(self.gflops)) + (" ↓" if self.trouble == CLOCK_FELL else "")

    @property
    def bandwidth_text(self) -> str:
        """The effective bandwidth."""
        return "–" if self.gbs is None else grouped(round(self.gbs))


def _result_row(measured: Measured) -> ResultRow:
    result = measured.result
    trouble = "wrong result" if result.ok is False else ""
    if measured.failure is not None:
        trouble = measured.failure.title
    elif result.clock_fell and not trouble:
        trouble = CLOCK_FELL
    return ResultRow(
        title=result.title,
        details=parameters_text(result.parameters) or block_text(result.block),
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
    if result.clock_fell:
        notes.append(f"{spaced(result.clock_text)}: compared with nothing")
    notes += [check.method for check in result.checks]
    if measured.failure is not None:
        notes.append(measured.failure.message)
    return "; ".join([*notes, f"GPU {result.device.ordinal}", result.date[:10]])


def _failure_row(outcome: Outcome) -> ResultRow:
    assert outcome.failure is not None
    return ResultRow(
        title=outcome.point.title,
        details=parameters_text(outcome.point.parameters),
        notes=f"{outcome.failure.message} ({outcome.lane})",
        trouble=outcome.failure.title,
    )


def rows_of(measured: Sequence[Measured], failed: Iterable[Outcome]) -> tuple[ResultRow, ...]:
    """What failed, then results by falling rate."""
    lost = [_failure_row(outcome) for outcome in failed if outcome.result is None]
    rows = [_result_row(m) for m in measured]
    return (*lost, *sorted(rows, key=lambda row: -(row.gflops or 0.0)))


def row_of(rows: Sequence[ResultRow], measured: Measured) -> int | None:
    """The place of a result among rows."""
    return next((i for i, row in enumerate(rows) if row.measured is measured), None)


def best_row(rows: Sequence[ResultRow], series: str) -> int | None:
    """The place of a kernel's first, hence fastest, row that was timed; None if it has none."""
    for place, row in enumerate(rows):
        result = row.measured.result if row.measured is not None else None
        if result is not None and result.series == series and result.samples_ms:
            return place
    return None


def series_of_launch(shown: Configuration) -> str:
    """What `BenchmarkResult.series` is for results of this kernel."""
    return f"{shown.own.name}:{shown.own.kernel}" if shown.own is not None else shown.rung


def unmeasured_sentence(ladder: Ladder, shown: Configuration, machine: str) -> str:
    """Why no launch of a kernel is shown among those of a machine, and what can be done."""
    title = f"{shown.own.name}: {shown.own.kernel}" if shown.own else ladder[shown.rung].title
    where = f" among the results of {machine}" if machine else ""
    return (
        f"{title} has no timed launch{where}. Run it on a GPU, choose another machine, or import "
        "results of it."
    )


def table_sentence(rows: Sequence[ResultRow], measured: Sequence[Measured], of: int = 0) -> str:
    """What the table holds; `of` is how many there are, where some are left out."""
    if not rows:
        return "Nothing has been measured yet."
    here = sum(m.origin == HERE for m in measured)
    lost = sum(row.measured is None for row in rows)
    parts = [f"{here} measured here"] if here else []
    parts += [f"{len(measured) - here} recorded"] if len(measured) > here else []
    parts += [f"{lost} failed"] if lost else []
    some = f" of {of}: the kernels of the plot, each at its fastest" if of > len(measured) else ""
    return (
        ", ".join(parts) + some + "; bars at the median, lines from the 5th to the 95th percentile."
    )


def size_parameters(rung: Rung) -> tuple[str, ...]:
    """The parameters of a rung that set how large its arrays are (not its blocks)."""
    return tuple(p.name for p in rung.parameters if p.name in SIZE_NAMES)


def rates_of(times_ms: Sequence[float], flops: int | None) -> list[float]:
    """GFLOPS of each launch, or its milliseconds where the work is not known."""
    return [flops / (ms * 1e6) if flops is not None else ms for ms in times_ms if ms > 0]
