"""Results in files, by the name's ending: .json, .jsonl, .csv, .parquet, and .md for people.

All but the last are read again: results exported on one machine are shown on another.
"""

from __future__ import annotations

import csv
import importlib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from core.errors import TilescopeError
from core.gpu.flat import from_rows, to_rows
from core.gpu.markdown import report
from core.gpu.result import BenchmarkResult, load_results, save_results
from core.gpu.updates import Outcome

WRITTEN = (".json", ".jsonl", ".csv", ".parquet", ".md")
READ = (".json", ".jsonl", ".csv", ".parquet")
_NO_ARROW = (
    "Parquet needs the package pyarrow: `pip install pyarrow`, or choose .csv or .json instead."
)


def write_results(path: Path, results: Sequence[BenchmarkResult]) -> None:
    """Writes results as the name's ending says; raises TilescopeError."""
    writers: dict[str, Callable[[Path, tuple[BenchmarkResult, ...]], None]] = {
        ".json": save_results,
        ".jsonl": _write_lines,
        ".csv": _write_csv,
        ".parquet": _write_parquet,
        ".md": lambda p, r: _write_text(p, report(r)),
    }
    write = writers.get(path.suffix.lower())
    if write is None:
        raise TilescopeError(
            f"{path.name} ends in none of {', '.join(WRITTEN)}: the ending says the format."
        )
    try:
        write(path, tuple(results))
    except OSError as error:
        raise TilescopeError(f"{path} cannot be written: {error.strerror}.") from error


def read_results(path: Path) -> tuple[BenchmarkResult, ...]:
    """The results in a file that `write_results` or a sweep's journal wrote.

    Raises TilescopeError where it is something else.
    """
    ending = path.suffix.lower()
    if ending not in READ:
        raise TilescopeError(f"{path.name} ends in none of {', '.join(READ)}: these are read.")
    try:
        if ending == ".json":
            return load_results(path)
        if ending == ".jsonl":
            return tuple(result for _, result in read_journal(path) if result is not None)
        return from_rows(_read_csv(path) if ending == ".csv" else _read_parquet(path))
    except OSError as error:
        raise TilescopeError(f"{path} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise TilescopeError(f"{path} is not a text file in UTF-8.") from error


class Journal:
    """A sweep's outcomes, a JSON object a line, each on the disk before the next is measured."""

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("a", encoding="utf-8")
        except OSError as error:
            raise TilescopeError(f"{path} cannot be written: {error.strerror}.") from error
        self.path = path

    def keep(self, outcome: Outcome) -> None:
        """Writes one outcome."""
        line: dict[str, Any] = {"point": outcome.point.key, "text": outcome.point.text}
        line |= {"gpu": outcome.lane, "seconds": round(outcome.seconds, 3)}
        if outcome.failure is not None:
            line["failure"] = {"kind": outcome.failure.kind, "message": outcome.failure.message}
        if outcome.result is not None:
            line["result"] = outcome.result.to_json()
        self._file.write(json.dumps(line, allow_nan=False) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Nothing more is written."""
        self._file.close()


def read_journal(path: Path) -> list[tuple[str, BenchmarkResult | None]]:
    """Each line's point and its result, None where it failed. A last line cut short is left out.

    Lines may also be results alone. Raises TilescopeError for other lines.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise TilescopeError(f"{path} cannot be read: {error.strerror}.") from error
    found: list[tuple[str, BenchmarkResult | None]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
        except ValueError as error:
            if number == len(lines):
                break  # the machine stopped while it was written
            raise TilescopeError(f"{path}, line {number} is not JSON: {error}.") from error
        if not isinstance(data, dict):
            raise TilescopeError(f"{path}, line {number} is no result.")
        result = data.get("result") if "point" in data else data
        key = str(data.get("point", ""))
        found.append((key, None if result is None else BenchmarkResult.from_json(result)))
    return found


def _write_lines(path: Path, results: Sequence[BenchmarkResult]) -> None:
    _write_text(path, "".join(json.dumps(r.to_json(), allow_nan=False) + "\n" for r in results))


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _write_csv(path: Path, results: Sequence[BenchmarkResult]) -> None:
    rows = to_rows(results)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]) if rows else [])
        writer.writeheader()
        for row in rows:
            writer.writerow({**row, "samples_ms": json.dumps(row["samples_ms"])})


def _read_csv(path: Path) -> list[dict[str, Any]]:
    csv.field_size_limit(1 << 24)  # thousands of samples stand in one cell
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _arrow(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise TilescopeError(_NO_ARROW) from error


def _write_parquet(path: Path, results: Sequence[BenchmarkResult]) -> None:
    table = _arrow("pyarrow").Table.from_pylist(to_rows(results))
    _arrow("pyarrow.parquet").write_table(table, str(path))


def _read_parquet(path: Path) -> list[dict[str, Any]]:
    try:
        rows: list[dict[str, Any]] = _arrow("pyarrow.parquet").read_table(str(path)).to_pylist()
    except _arrow("pyarrow").ArrowInvalid as error:
        raise TilescopeError(f"{path} is no Parquet file: {error}.") from error
    return rows
