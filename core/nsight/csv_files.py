"""Nsight Compute's CSV: a column a metric (`--page raw`), or a row a metric (`--page details`).

What `ncu --csv` prints while it profiles is of the second kind, among lines that begin with "==".
Numbers have commas between thousands. A row of units stands under the heads of the first kind, a
column of them in the second; sizes of counters may be in thousands ("Ksector").
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from core.errors import TilescopeError
from core.launch import Dim3
from core.nsight.profile import ProfiledLaunch

_MOST_BYTES = 256 << 20
_PREFIXES = {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_SCALED = re.compile(r"([KMGT])(?=inst|sector|request|byte|cycle)")
_NAME, _VALUE, _UNIT = "Metric Name", "Metric Value", "Metric Unit"
_METRIC = re.compile(r"\w+__\w+(\.\w+)*|memory_\w+|inst_executed\w*|thread_inst_executed\w*")


def read_csv(path: Path) -> tuple[ProfiledLaunch, ...]:
    """The launches in a CSV file of ncu; raises TilescopeError where it is none."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise TilescopeError(f"{path} is too large for a profile's CSV.")
        text = path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise TilescopeError(f"{path} cannot be read: {error.strerror or error}.") from error
    csv.field_size_limit(1 << 24)
    try:
        rows = list(csv.reader(_table_lines(text), strict=True))
    except csv.Error as error:
        raise TilescopeError(f"{path} is not a CSV file: {error}.") from None
    if rows and rows[0][:1] == ["Kernel Name"]:
        raise TilescopeError(
            f"{path} is the source page: export the metrics with `ncu --import REPORT.ncu-rep "
            "--page raw --csv`, or give the report itself."
        )
    if not rows or "ID" not in rows[0] or "Kernel Name" not in rows[0]:
        raise TilescopeError(
            f"{path} is no CSV of Nsight Compute: write one with `ncu --csv --page raw`."
        )
    heads = rows[0]  # rows of metrics leave out the last columns, which are those of rules
    least = max(heads.index("ID"), heads.index("Kernel Name"))  # less is what a program printed
    table = [
        dict(zip(heads, row, strict=False)) for row in rows[1:] if least < len(row) <= len(heads)
    ]
    launches = _long(table) if _NAME in heads else _wide(table)
    if not launches:
        raise TilescopeError(f"{path} has no launch: profile with `ncu --csv --page raw`.")
    return launches


def _table_lines(text: str) -> Iterator[str]:
    """The lines from the heads on, without what ncu and the program printed around the table."""
    begun = False
    for line in text.splitlines(keepends=True):
        begun = begun or line.lstrip().startswith(('"ID"', "ID,", '"Kernel Name"'))
        if begun and not line.startswith("==") and line.strip():
            yield line


def _wide(table: Sequence[Mapping[str, str]]) -> tuple[ProfiledLaunch, ...]:
    units: Mapping[str, str] = {}
    found = []
    for row in table:
        if not row["ID"].strip().isdecimal():
            units = row
            continue
        metrics = {
            name: value
            for name, text in row.items()
            if _METRIC.fullmatch(name) and (value := _number(text, units.get(name, ""))) is not None
        }
        found.append(_launch(row, metrics))
    return tuple(found)


def _long(table: Sequence[Mapping[str, str]]) -> tuple[ProfiledLaunch, ...]:
    metrics: dict[str, dict[str, float]] = {}
    first: dict[str, Mapping[str, str]] = {}
    for row in table:
        number = row["ID"]
        if not number.isdecimal():
            continue
        first.setdefault(number, row)
        value = _number(row.get(_VALUE, ""), row.get(_UNIT, ""))
        if value is not None:
            metrics.setdefault(number, {})[row[_NAME]] = value
    return tuple(_launch(row, metrics.get(number, {})) for number, row in first.items())


def _launch(row: Mapping[str, str], metrics: Mapping[str, float]) -> ProfiledLaunch:
    return ProfiledLaunch(
        number=int(row["ID"]),
        kernel=row["Kernel Name"],
        grid=_size(row.get("Grid Size", "")),
        block=_size(row.get("Block Size", "")),
        capability=row.get("CC", ""),
        metrics=metrics,
    )


def _size(text: str) -> Dim3 | None:
    """(8, 8, 1) as a size, None where it is none: metrics of that name are one number."""
    numbers = re.fullmatch(r"\(\s*(\d+),\s*(\d+),\s*(\d+)\s*\)", text.strip())
    return None if numbers is None else Dim3(*(int(one) for one in numbers.groups()))


def _number(text: str, unit: str) -> float | None:
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None
    if not math.isfinite(value):
        return None
    scaled = _SCALED.match(unit)
    return value * _PREFIXES[scaled[1]] if scaled else value
