"""What a report says, as data: facts, tables, findings; a writer puts them into its format."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from core.devices.device_table import Device
from core.errors import TilescopeError
from core.gpu.benchmark_result import BenchmarkResult, load_recorded
from core.guessing.findings_in_doubt import caveats, left_open
from core.ladder import all_kernels, load_ladder
from core.ladder.rung_rules import assignments
from core.launch import ArrayArgument, ScalarArgument
from core.models.ceilings import ceilings
from core.models.launch_counts import Counts, measure, measure_rung
from core.recording.count_launch import Counted
from core.report.warp_picture import warp_svg
from core.rules.counters import COUNTERS, SPACES, UNITS, WAYS, Count, Counters
from core.trace import Trace
from core.trace.finding import KINDS, Finding, in_doubt

MOST_PICTURES = 6


@dataclass(frozen=True)
class Table:
    """Rows of texts below a heading; `right` are the columns of figures."""

    heading: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[int] = frozenset()
    note: str = ""


@dataclass(frozen=True)
class Fault:
    """A finding: what it is, its sentence, the line, and a picture of the access (SVG).

    `caveat` says which guesses it owes to, "" where none.
    """

    title: str
    sentence: str
    line: int
    code: str
    picture: str = ""
    caveat: str = ""


@dataclass(frozen=True)
class Report:
    """A launch's report, in the order in which it is written."""

    title: str
    facts: tuple[tuple[str, str], ...]
    verdict: str
    tables: tuple[Table, ...]
    faults: tuple[Fault, ...]
    pictures: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())


def report_of(trace: Trace, counted: Counted | None = None, device: Device | None = None) -> Report:
    """The report of a recorded launch.

    `counted` has the counts of the whole launch, where `trace` holds only some blocks. With a
    `device` come its ceilings. Raises TilescopeError where the launch cannot be counted.
    """
    workload = trace.workload
    counters = (counted or trace).counters
    source = tuple(workload.source.split("\n"))
    tables = [_totals(counters), _arrays(counters), _lines(counters, source)]
    notes = [trace.note] if trace.note and counted is None else []
    if device is not None:
        try:
            tables += _ceilings(trace, device)
        except TilescopeError as error:
            notes.append(f"Ceilings are left out: {error}")
    tables += _recorded(trace)
    opened = left_open(trace)
    return Report(
        title=workload.title if workload.rung else workload.kernel,
        facts=tuple(_facts(trace)),
        verdict=_verdict(trace, counters, opened),
        tables=tuple(table for table in tables if table.rows),
        faults=tuple(_faults(trace, source, opened)),
        pictures=tuple(_pictures(trace)),
        source=source,
        notes=tuple(notes),
    )


def _facts(trace: Trace) -> Iterator[tuple[str, str]]:
    workload, launch = trace.workload, trace.workload.launch
    yield "kernel", workload.kernel
    yield "file", workload.source_name
    if workload.parameters:
        yield "parameters", assignments(workload.parameters)
    yield "grid", str(launch.grid)
    yield "block", str(launch.block)
    if launch.shared_bytes:
        yield "dynamic shared memory", f"{launch.shared_bytes:,} bytes"
    if workload.defines and not workload.rung:
        yield "macros", ", ".join(f"{k}={v}" for k, v in workload.defines.items())
    for argument in launch.arguments:
        if isinstance(argument, ArrayArgument):
            shape = " × ".join(map(str, argument.data.shape))
            yield argument.name, f"{argument.data.dtype.name}, {shape}"
        elif isinstance(argument, ScalarArgument):
            yield argument.name, str(argument.value)
    yield "build", trace.build.described


def _verdict(trace: Trace, counters: Counters, opened: Collection[Finding]) -> str:
    """One sentence: faults first, then waste."""
    if trace.findings:
        certain = len(trace.findings) - len(opened)
        kinds = [
            in_doubt(one.kind) if one in opened else one.kind.replace("_", " ")
            for one in sorted(trace.findings, key=lambda one: one in opened)
        ]
        times = {kind: kinds.count(kind) for kind in kinds}
        told = ", ".join(f"{kind} ({n} times)" if n > 1 else kind for kind, n in times.items())
        found = f"{certain} fault{'s' * (certain != 1)} found" if certain else "No certain fault"
        return f"{found}: {told}."
    wasted = []
    for space, unit in UNITS.items():
        total = _sum(counters.totals, space, unit)
        if total.excessive:
            wasted.append(f"{total.value:,} {space} {unit} where {total.ideal:,} would do")
    checked = "No fault was found" if trace.checked else "Faults were not looked for"
    return f"{checked}; {' and '.join(wasted) if wasted else 'nothing is wasted'}."


def _sum(counts: Mapping[str, Count], space: str, unit: str) -> Count:
    return sum((counts.get(f"{space}_{way}_{unit}", Count()) for way in WAYS), Count())


def _totals(counters: Counters) -> Table:
    rows = []
    for name, counter in COUNTERS.items():
        count = counters.totals.get(name, Count())
        if count.value:
            ideal = f"{count.ideal:,}" if counter.measure.ideal else ""
            rows.append((name, f"{count.value:,}", ideal, counter.metric))
    columns = ("counter", "value", "ideal", "Nsight Compute's name")
    return Table("Counters", columns, tuple(rows), frozenset({1, 2}))


def _arrays(counters: Counters) -> Table:
    rows = []
    for array, counts in counters.by_array.items():
        for space, unit in UNITS.items():
            for way, word in WAYS.items():
                requests = counts.get(f"{space}_{way}_requests", Count()).value
                cost = counts.get(f"{space}_{way}_{unit}", Count())
                if requests:
                    found = (f"{requests:,}", f"{cost.value:,} {unit}", f"{cost.ideal:,}")
                    rows.append((array, SPACES[space].title, word, *found))
    columns = ("array", "memory", "access", "requests", "cost", "ideal")
    return Table("By array", columns, tuple(rows), frozenset({3, 4, 5}))


def _lines(counters: Counters, source: Sequence[str]) -> Table:
    lines = {n: c for n, c in counters.by_line.items() if 0 < n <= len(source)}
    costs = {
        (n, space): cost
        for n, counts in lines.items()
        for space, unit in UNITS.items()
        if (cost := _sum(counts, space, unit)).value
    }
    spaces = [space for space in UNITS if any((n, space) in costs for n in lines)]
    rows = []
    for n in lines:
        found = [costs.get((n, space)) for space in spaces]
        if any(found):
            told = (f"{cost.value:,} / {cost.ideal:,}" if cost else "" for cost in found)
            rows.append((str(n), source[n - 1].strip(), *told))
    columns = ("line", "code", *(f"{space} {UNITS[space]} / ideal" for space in spaces))
    return Table("By line", columns, tuple(rows), frozenset({0, *range(2, len(columns))}))


def _ceilings(trace: Trace, device: Device) -> list[Table]:
    found = ceilings(_measured(trace), device)
    rows = []
    for name, one in sorted(found.ceilings.items(), key=lambda item: item[1].gflops):
        mark = "binds" if name == found.binding else ""
        of_peak = f"{one.gflops / device.peak_gflops:.2%}"
        rows.append((one.title, f"{one.gflops:,.1f}", of_peak, mark))
    heading = f"Ceilings on {device.name}"
    columns = ("ceiling", "GFLOPS", "of FP32 peak", "")
    return [Table(heading, columns, tuple(rows), frozenset({1, 2}), found.why)]


def _measured(trace: Trace) -> Counts:
    workload = trace.workload
    if workload.rung is not None:
        rung = all_kernels()[workload.rung]
        return measure_rung(rung, workload.parameters, source=workload.source)
    return measure(workload)


def _recorded(trace: Trace) -> list[Table]:
    """The times that were measured of the rung elsewhere, a table a device.

    None of a user's kernel, nor of a rung whose text was changed.
    """
    rung, ladder = trace.workload.rung, load_ladder()
    if rung is None or rung not in ladder or ladder[rung].source != trace.workload.source:
        return []
    rows: dict[str, list[tuple[str, ...]]] = {}
    for one in sorted(load_recorded(), key=lambda one: tuple(one.parameters.values())):
        if one.rung == rung:
            rows.setdefault(one.device.name, []).append(_result_row(one))
    columns = ("parameters", "median ms", "GFLOPS")
    return [
        Table(f"Measured on {device}", columns, tuple(there), frozenset({1, 2}))
        for device, there in rows.items()
    ]


def _result_row(one: BenchmarkResult) -> tuple[str, ...]:
    given = assignments(one.parameters)
    rate = f"{one.gflops:,.0f}" if one.gflops is not None else ""
    return given, f"{one.median_ms:.4f}" if one.median_ms is not None else "", rate


def _faults(trace: Trace, source: Sequence[str], opened: Collection[Finding]) -> Iterator[Fault]:
    said = caveats(trace, "--arg {}=…".format, "--arg {}={}".format)
    for number, finding in enumerate(trace.findings):
        picture = ""
        if finding.step >= 0 and number < MOST_PICTURES and finding.block in trace.recorded_blocks:
            access = trace.block(finding.block).access(finding.step)
            if access is not None and (access.active.any() or access.faulty.any()):
                picture = warp_svg(access, max(finding.thread, 0) // 32)
        code = source[finding.line - 1].strip() if 0 < finding.line <= len(source) else ""
        title = KINDS.get(finding.kind, finding.kind)
        if finding in opened:
            title = f"{in_doubt(finding.kind)}: {title}"
        yield Fault(title, finding.message, finding.line, code, picture, said.get(finding, ""))


def _pictures(trace: Trace) -> Iterator[str]:
    """The first access of each line that wastes most, at most a few."""
    if not trace.recorded_blocks:
        return
    block = trace.block(trace.recorded_blocks[0])
    seen: dict[int, int] = {}
    for step in block.access_steps.tolist():
        seen.setdefault(int(block.line[step]), step)

    def waste(line: int) -> int:
        counts = trace.counters.by_line.get(line, {})
        return sum(_sum(counts, space, unit).excessive for space, unit in UNITS.items())

    worst = sorted(seen, key=lambda line: -waste(line))
    for line in worst[:MOST_PICTURES]:
        access = block.access(seen[line])
        if access is not None and waste(line) > 0 and access.warp(0).active.any():
            yield warp_svg(access)
