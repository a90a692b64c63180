"""What `tilescope trace` prints: one JSON object, or tables by array and by source line."""

from __future__ import annotations

import hashlib
import math
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from core.analysis.counters import UNITS, WAYS
from core.errors import TilescopeError

if TYPE_CHECKING:
    from core.counting import Counted
    from core.trace import Trace

_FILE_WIDTH = 120
_NARROW = 100  # columns; below, tables by line leave what can be worked out to the source


def as_json(trace: Trace, seed: int) -> dict[str, Any]:
    """The result as plain data. `counters` and `ideal` have the same keys."""
    return {
        **_launch_json(trace, seed),
        "hazards": [_hazard(finding) for finding in trace.findings],
        "outputs": {name: _fingerprint(data) for name, data in outputs(trace).items()},
        "error": {name: _finite(error) for name, error in errors(trace).items()},
        "printed": list(trace.printed),
    }


def counted_json(counted: Counted, seed: int) -> dict[str, Any]:
    """The counts as plain data, and how many blocks of which kind were run for them."""
    kinds = [{"block": kind.block, "count": kind.count} for kind in counted.kinds]
    return {**_launch_json(counted, seed), "block_kinds": kinds, "note": counted.note}


def _launch_json(result: Trace | Counted, seed: int) -> dict[str, Any]:
    workload, counters = result.workload, result.counters
    grid, block = workload.launch.grid, workload.launch.block
    return {
        "kernel": workload.kernel,
        "source": workload.source_name,
        "rung": workload.rung,
        "parameters": dict(workload.parameters),
        "defines": dict(workload.defines),
        "grid": [grid.x, grid.y, grid.z],
        "block": [block.x, block.y, block.z],
        "shared_bytes": workload.launch.shared_bytes,
        "seed": seed,
        "build": result.build.kind,
        "counters": {name: int(count.value) for name, count in counters.totals.items()},
        "ideal": {name: int(count.ideal) for name, count in counters.totals.items()},
        "by_array": {name: _counts(row) for name, row in counters.by_array.items()},
        "by_line": {str(line): _counts(row) for line, row in sorted(counters.by_line.items())},
    }


def outputs(trace: Trace) -> Mapping[str, np.ndarray[Any, Any]]:
    """The final contents of the arrays that the kernel may write."""
    written = [a.name for a in trace.workload.launch.arrays if a.role != "input"]
    return {name: trace.outputs[name] for name in written}


def errors(trace: Trace) -> Mapping[str, float]:
    """Largest difference of each output from its true value, NaN where an element is NaN.

    Empty where blocks were left out: their elements were never computed.
    """
    expected = trace.workload.expected
    if expected is None or not trace.complete:
        return {}
    return {
        name: float(np.max(np.abs(trace.outputs[name].astype(np.float64) - truth)))
        for name, truth in expected().items()
    }


def save_outputs(trace: Trace, folder: Path) -> None:
    """Write each output to `folder`/NAME.npy, making the folder."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in outputs(trace).items():
            np.save(folder / f"{name}.npy", data)
    except OSError as error:
        raise TilescopeError(f"Outputs cannot be saved in {folder}: {error.strerror}.") from None


def show(trace: Trace, console: Console | None = None) -> None:
    """Print the tables for people."""
    console = console or standard_console()
    console.print(_headline(trace), soft_wrap=True)
    for table in _tables(trace, console.width):
        console.print(table)
    if trace.printed:
        console.print("Printed by the kernel:", style="bold")
        for text in trace.printed:
            console.print(Text(text), soft_wrap=True)
    for line in _verdict(trace):
        console.print(line, soft_wrap=True)


def show_counted(counted: Counted, console: Console | None = None) -> None:
    """Print the tables of a launch that was only counted."""
    console = console or standard_console()
    console.print(_headline(counted), soft_wrap=True)
    for table in _tables(counted, console.width):
        console.print(table)
    blocks = counted.workload.launch.grid.count
    ran = len(counted.kinds)
    note = counted.note or (
        f"Exact for all {blocks:,} blocks: they are of {ran} kind{'s' * (ran != 1)}, "
        f"and one of each was run."
    )
    console.print(note, soft_wrap=True)


def standard_console() -> Console:
    """Standard output; wide enough for the source where it is a file or a pipe."""
    if sys.stdout.isatty() or "COLUMNS" in os.environ:
        return Console()
    return Console(width=_FILE_WIDTH)


def _counts(row: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    return {
        name: {"value": int(count.value), "ideal": int(count.ideal)} for name, count in row.items()
    }


def _hazard(finding: Any) -> dict[str, Any]:
    names = ("kind", "message", "block", "thread", "line", "step", "array", "index")
    return {name: _plain(getattr(finding, name)) for name in names}


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return [_plain(part) for part in value] if isinstance(value, tuple) else value


def _fingerprint(data: np.ndarray[Any, Any]) -> dict[str, Any]:
    digest = hashlib.sha256(np.ascontiguousarray(data).tobytes()).hexdigest()
    return {"shape": list(data.shape), "dtype": data.dtype.name, "sha256": digest}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


# --- tables ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Row:
    label: tuple[str | Text, ...]
    counts: Mapping[str, Any]

    def value(self, counter: str) -> int:
        count = self.counts.get(counter)
        return 0 if count is None else int(count.value)

    def ideal(self, counter: str) -> int:
        count = self.counts.get(counter)
        return 0 if count is None else int(count.ideal)


def _headline(trace: Trace | Counted) -> Text:
    workload = trace.workload
    sizes = ", ".join(f"{name} = {value}" for name, value in workload.parameters.items())
    build = trace.build.kind.replace("_", " ")
    parts = [f"grid {workload.launch.grid}", f"block {workload.launch.block}", f"built {build}"]
    return Text.assemble(
        (workload.title, "bold"), ": ", ", ".join([*filter(None, [sizes]), *parts])
    )


def _tables(trace: Trace | Counted, width: int) -> Iterator[Table]:
    counters = trace.counters
    arrays = [_Row((name,), row) for name, row in counters.by_array.items()]
    total = _Row(("all",), counters.totals)
    yield from _pair("by array", ("array",), arrays, total, _HEADS)
    source = trace.workload.source.splitlines()
    lines = [
        _Row((str(line), Text(_code(source, line), overflow="ellipsis", no_wrap=True)), row)
        for line, row in sorted(counters.by_line.items())
    ]
    heads = _NARROW_HEADS if width < _NARROW else _HEADS
    yield from _pair("by source line", ("line", "source"), lines, None, heads)


def _code(source: list[str], line: int) -> str:
    return source[line - 1].strip() if 1 <= line <= len(source) else ""


def _pair(
    title: str,
    labels: tuple[str, ...],
    rows: list[_Row],
    total: _Row | None,
    heads: Mapping[str, tuple[str, ...]],
) -> Iterator[Table]:
    """One table for global memory and one for shared memory, where there is anything to show."""
    for space in ("global", "shared"):
        body = list(_filled(rows, space))
        if not body:
            continue
        title_text = f"{space.capitalize()} memory {title}"
        table = Table(title=title_text, title_justify="left", box=box.SIMPLE_HEAD)
        for label in labels:
            table.add_column(label, justify="right" if label == "line" else "left")
        table.add_column("", no_wrap=True)
        for head in heads[space]:
            table.add_column(head, justify="right", no_wrap=True)
        for row, op in body:
            table.add_row(*row.label, WAYS[op], *_cells(row, op, space, heads))
        if total is not None and len(body) > 1:
            table.add_section()
            for row, op in _filled([total], space):
                table.add_row(*row.label, WAYS[op], *_cells(row, op, space, heads))
        yield table


def _filled(rows: list[_Row], space: str) -> Iterator[tuple[_Row, str]]:
    """The rows with the ways in which they made requests in this memory space."""
    return ((row, op) for row in rows for op in WAYS if row.value(f"{space}_{op}_requests"))


_HEADS = {
    "global": ("requests", "sectors", "ideal", "per request", "excess"),
    "shared": ("requests", "wavefronts", "ideal", "conflicts"),
}
_NARROW_HEADS = {
    "global": ("requests", "sectors", "ideal"),
    "shared": ("requests", "wavefronts", "ideal"),
}


def _cells(
    row: _Row, op: str, space: str, heads: Mapping[str, tuple[str, ...]]
) -> Iterator[str | Text]:
    """What stands under the heads of a space's table."""
    requests, unit = row.value(f"{space}_{op}_requests"), UNITS[space]
    moved, ideal = row.value(f"{space}_{op}_{unit}"), row.ideal(f"{space}_{op}_{unit}")
    conflicts = row.value(f"{space}_{op}_conflicts")
    narrow = heads is _NARROW_HEADS
    cells: dict[str, str | Text] = {
        "requests": f"{requests:,}",
        unit: _coloured(moved, moved > ideal) if narrow else f"{moved:,}",
        "ideal": f"{ideal:,}",
        "per request": f"{moved / requests:.3g}",
        "excess": _coloured(moved - ideal, moved > ideal),
        "conflicts": _coloured(conflicts, conflicts > 0),
    }
    return (cells[head] for head in heads[space])


def _coloured(amount: int, bad: bool) -> Text:
    return Text(f"{amount:,}", style="bold red" if bad else "green")


def _verdict(trace: Trace) -> Iterator[Text]:
    if not trace.complete:
        yield Text(trace.note, "yellow")
    for diagnostic in trace.build.diagnostics:
        if diagnostic.severity == "warning":
            yield Text(f"warning, line {diagnostic.line}: {diagnostic.message}", "yellow")
    for finding in trace.findings:
        kind = f"{finding.kind.replace('_', ' ')}: "
        yield Text.assemble((kind, "bold red"), finding.message)
    if not trace.findings:
        clean = "No races, uninitialised reads or accesses out of bounds."
        part = "No accesses out of bounds; races and uninitialised reads were not looked for."
        yield Text(clean if trace.checked else part, "green")
    for name, error in errors(trace).items():
        yield Text(f"{name} differs from NumPy in float64 by at most {error:.3g}.")
