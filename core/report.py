"""A launch as a document: what a report says, as data, and the same as HTML and as Markdown.

HTML is one file that needs nothing else. A warp's access is a small SVG: lanes above, the sectors
or banks that they ask for below.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

import numpy as np

from core.atomic_files import replace_file
from core.control_characters import visible
from core.devices.device_table import Device
from core.errors import TilescopeError
from core.gpu.benchmark_result import BenchmarkResult
from core.gpu.result_files import load_recorded
from core.guessing.findings_in_doubt import caveats, in_doubt, left_open
from core.ladder import all_kernels, load_ladder
from core.launch import ArrayArgument, ScalarArgument
from core.models.ceiling_counts import Counts, measure, measure_rung
from core.models.ceilings import ceilings
from core.recording.count_launch import Counted
from core.rules.counters import COUNTERS, SPACES, UNITS, WAYS, Count, Counters
from core.rules.global_memory import SECTOR
from core.trace import Trace
from core.trace.access import Access, WarpAccess
from core.trace.finding import KINDS, Finding
from core.wording import assignments, counted, in_number, ranges

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


PdfOf = Callable[[str, str], bytes]
"""Makes a PDF of HTML and a title."""


def write_report(report: Report, path: Path, pdf_of: PdfOf | None = None) -> Path:
    """Write it as the path's ending says: .md, .pdf, or HTML for any other; returns the path.

    Without `pdf_of` there is no PDF. Raises TilescopeError where it cannot be written.
    """
    suffix = path.suffix.lower()
    if suffix == ".md":
        return replace_file(path, as_markdown(report))
    html = as_html(report)
    if suffix == ".pdf" and pdf_of is not None:
        return replace_file(path, pdf_of(html, report.title))
    return replace_file(path, html)


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
        found = f"{certain} {in_number('fault', certain)} found" if certain else "No certain fault"
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


_CELL, _HIGH = 20, 132
_WIDE = 32 * _CELL + 2
_USED, _WASTE, _IDLE, _TEXT, _LINK = "#0072b2", "#dcc0c0", "#dfe2e7", "#1b2330", "#8fa3b8"
_WRONG = "#b3261e"
MOST_SECTORS = 64


def warp_svg(access: Access, warp: int = 0) -> str:
    """The picture of a warp's access to global or shared memory, "" for any other space.

    Each lane is linked to the 32-byte sector, or the bank, of its first byte; what of a sector no
    lane asks for is shaded. A lane whose access is illegal is red and crossed out.
    """
    one = access.warp(warp)
    if access.space == "global":
        boxes, places, title = _sectors(one)
    elif access.space == "shared":
        boxes, places, title = _banks(one)
    else:
        return ""
    both = one.active.tolist(), one.faulty.tolist()
    lanes = "".join(
        f'<rect x="{1 + lane * _CELL}" y="1" width="{_CELL - 1}" height="18" '
        f'fill="{_WRONG if wrong else _USED if on else _IDLE}"/>'
        f'<text x="{1 + lane * _CELL + _CELL / 2:g}" y="14" text-anchor="middle" '
        f'fill="{"#fff" if on or wrong else _TEXT}">{lane}</text>'
        + (f'<path d="M{1 + lane * _CELL} 20l{_CELL - 1} -19" stroke="#fff"/>' if wrong else "")
        for lane, (on, wrong) in enumerate(zip(*both, strict=True))
    )
    links = "".join(
        f'<path d="M{1 + lane * _CELL + _CELL / 2:g} 20C{1 + lane * _CELL + _CELL / 2:g} 50 '
        f'{x:g} 50 {x:g} 80" stroke="{_LINK}" fill="none"/>'
        for lane, x in places.items()
    )
    words = escape(f"Warp {warp} {access.kind}s {access.target}: {title}{_at_fault(access, one)}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDE} {_HIGH}" '
        f'width="{_WIDE}" height="{_HIGH}" role="img" aria-label="{words}" '
        f'font-family="sans-serif" font-size="10"><title>{words}</title>{links}{lanes}{boxes}'
        f'<text x="1" y="{_HIGH - 6}" font-size="12" fill="{_TEXT}">{words}</text></svg>'
    )


def _sectors(one: WarpAccess) -> tuple[str, dict[int, float], str]:
    sectors = one.sectors[:MOST_SECTORS]
    wide = min((_WIDE - 2) / max(len(sectors), 1) - 2, 96)
    left = {int(sector): 1 + place * (wide + 2) for place, sector in enumerate(sectors.tolist())}
    boxes = "".join(
        f'<rect x="{x:.1f}" y="80" width="{wide:.1f}" height="22" fill="{_WASTE}"/>'
        for x in left.values()
    )
    for first, end in _stretches(one):
        sector = first // SECTOR * SECTOR
        if sector in left:
            x = left[sector] + wide * (first - sector) / SECTOR
            boxes += (
                f'<rect x="{x:.1f}" y="80" width="{wide * (end - first) / SECTOR:.1f}" '
                f'height="22" fill="{_USED}"/>'
            )
    places = {}
    for lane in np.flatnonzero(one.active).tolist():
        address = int(one.addresses[lane])
        sector = address // SECTOR * SECTOR
        if sector in left:
            places[lane] = left[sector] + wide * (address - sector + one.width / 2) / SECTOR
    what = counted(one.n_sectors, "sector")
    return boxes, places, what + _would_do(one.n_sectors, one.ideal_sectors)


def _stretches(one: WarpAccess) -> list[tuple[int, int]]:
    """The bytes that lanes ask for: begin and end of each stretch that lies in one sector."""
    asked = one.addresses[one.active][:, None] + np.arange(one.width)
    places = np.unique(asked)
    gaps = np.flatnonzero((np.diff(places) > 1) | (places[1:] % SECTOR == 0)) + 1
    return [(int(part[0]), int(part[-1]) + 1) for part in np.split(places, gaps) if len(part)]


def _banks(one: WarpAccess) -> tuple[str, dict[int, float], str]:
    ways = one.ways.tolist()
    boxes = "".join(
        f'<rect x="{1 + bank * _CELL}" y="80" width="{_CELL - 1}" height="22" '
        f'fill="{_USED if passes else _IDLE}"/>'
        f'<text x="{1 + bank * _CELL + _CELL / 2:g}" y="95" text-anchor="middle" '
        f'fill="{"#fff" if passes else _TEXT}">{f"×{passes}" if passes > 1 else bank}</text>'
        for bank, passes in enumerate(ways)
    )
    banks = one.banks.tolist()
    places = {
        lane: 1 + banks[lane] * _CELL + _CELL / 2 for lane in np.flatnonzero(one.active).tolist()
    }
    what = counted(one.wavefronts, "wavefront")
    return boxes, places, what + _would_do(one.wavefronts, one.ideal_wavefronts)


def _would_do(count: int, ideal: int) -> str:
    return f" where {ideal:,} would do" if ideal < count else ", and no fewer would do"


def _at_fault(access: Access, one: WarpAccess) -> str:
    """Which lanes are at fault, and in what way."""
    lanes = np.flatnonzero(one.faulty).tolist()
    if not lanes:
        return ""
    told = f"lane{'s' * (len(lanes) > 1)} {ranges(lanes, ' to ')}"
    return f"; {told}: {access.fault.replace('_', ' ')}"


_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;color:#1b2330;background:#fff}
body{max-width:60rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem;margin:0}h2{font-size:1.1rem;margin:2rem 0 .4rem}
table{border-collapse:collapse;width:100%;font-size:.9rem}
th,td{text-align:left;padding:.2rem .7rem .2rem 0;vertical-align:top}
th,td{border-bottom:1px solid #e3e6eb}
th{color:#566071;font-weight:600}.r{text-align:right}code,.code{font-family:ui-monospace,monospace;white-space:pre-wrap}
.fault{border-left:4px solid #b3261e;padding:.2rem .8rem;margin:.8rem 0}.verdict{font-size:1.05rem}
.facts th{width:12rem}svg{max-width:100%;height:auto;margin:.4rem 0}.note{color:#566071}
"""
_CODE = ("code", "counter", "Nsight Compute's name")


def as_html(report: Report) -> str:
    """The report as a page."""
    body = "\n".join(_html(report))
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(report.title)}</title><style>{_STYLE}</style></head>\n"
        f"<body>\n{body}\n</body></html>\n"
    )


def _html(report: Report) -> Iterator[str]:
    yield f"<h1>{safe(report.title)}</h1>"
    yield f'<p class="verdict">{safe(report.verdict)}</p>'
    yield '<h2>Launch</h2><table class="facts">'
    yield "".join(f"<tr><th>{safe(k)}</th><td>{safe(v)}</td></tr>" for k, v in report.facts)
    yield "</table>"
    if report.faults:
        yield "<h2>Findings</h2>"
        yield from map(_fault_html, report.faults)
    for table in report.tables:
        yield html_table(table)
        if table.heading == "By line" and report.pictures:
            yield from report.pictures
    yield from (f'<p class="note">{safe(note)}</p>' for note in report.notes)
    yield "<h2>Source</h2><p class='code'>"
    yield "<br>".join(
        f"{number:>4}&nbsp; {safe(line).replace('  ', '&nbsp; ')}"
        for number, line in enumerate(report.source, start=1)
    )
    yield "</p>"


def html_table(table: Table) -> str:
    """One table with its heading."""
    heads = "".join(
        f'<th class="r">{safe(c)}</th>' if i in table.right else f"<th>{safe(c)}</th>"
        for i, c in enumerate(table.columns)
    )
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td{_class(table, i)}>{safe(cell) or '&nbsp;'}</td>" for i, cell in enumerate(row)
        )
        + "</tr>"
        for row in table.rows
    )
    note = f'<p class="note">{safe(table.note)}</p>' if table.note else ""
    return f"<h2>{safe(table.heading)}</h2><table><tr>{heads}</tr>{rows}</table>{note}"


def _class(table: Table, column: int) -> str:
    if column in table.right:
        return ' class="r"'
    return ' class="code"' if table.columns[column] in _CODE else ""


def _fault_html(fault: Fault) -> str:
    place = f"<br><code>{fault.line}: {safe(fault.code)}</code>" if fault.line > 0 else ""
    words = f"<b>{safe(fault.title)}</b><br>{safe(fault.sentence)}{place}"
    if fault.caveat:
        words += f'<br><span class="note">{safe(fault.caveat)}</span>'
    return f'<div class="fault">{words}<div>{fault.picture}</div></div>'


def safe(text: str) -> str:
    """A text that HTML takes for nothing else, and in which nothing acts unseen."""
    return escape(visible(text))


def as_markdown(report: Report) -> str:
    """The report for a pull request or a notebook's text; its pictures are left out."""
    return "\n".join(_markdown(report)).rstrip() + "\n"


def _markdown(report: Report) -> Iterator[str]:
    yield from (f"# {_plain(report.title)}", "", _plain(report.verdict), "", "## Launch", "")
    yield from _rows(("", ""), report.facts, frozenset())
    if report.faults:
        yield from ("", "## Findings", "")
        for fault in report.faults:
            place = f" Line {fault.line}: {_code(fault.code)}" if fault.line > 0 else ""
            caveat = f" {_plain(fault.caveat)}" if fault.caveat else ""
            yield f"- **{_plain(fault.title)}** {_plain(fault.sentence)}{place}{caveat}"
    for table in report.tables:
        yield from ("", f"## {_plain(table.heading)}", "")
        yield from _rows(table.columns, table.rows, table.right)
        if table.note:
            yield from ("", _plain(table.note))
    for note in report.notes:
        yield from ("", _plain(note))


def _rows(
    columns: tuple[str, ...], rows: tuple[tuple[str, ...], ...], right: frozenset[int]
) -> Iterator[str]:
    yield f"| {' | '.join(map(_plain, columns))} |"
    yield f"|{'|'.join('--:' if i in right else '---' for i in range(len(columns)))}|"
    for row in rows:
        cells = (
            _code(cell) if columns[i] in _CODE and cell else _plain(cell)
            for i, cell in enumerate(row)
        )
        yield f"| {' | '.join(cells)} |"


def _plain(text: str) -> str:
    """A text that Markdown takes for nothing else."""
    return re.sub(r"([\\`*_{}\[\]<>#|])", r"\\\1", visible(text).replace("\n", " "))


def _code(text: str) -> str:
    return f"`{visible(text).replace('`', chr(39)).replace('|', chr(0x2502))}`"
