"""Results in files, by the name's ending: .json, .jsonl, .csv, .parquet, and .md for people.

All but the last are read again: results exported on one machine are shown on another. Some come
with the program.
"""

from __future__ import annotations

import csv
import importlib
import io
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, fields
from functools import cache
from itertools import groupby
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from core.atomic_files import replace_file, replacing
from core.errors import TilescopeError
from core.gpu.benchmark_result import (
    FORMAT,
    BenchmarkResult,
    DeviceReport,
    Readings,
)
from core.wording import assignments

if TYPE_CHECKING:
    from core.gpu.sweep import Outcome

WRITTEN = (".json", ".jsonl", ".csv", ".parquet", ".md")
READ = (".json", ".jsonl", ".csv", ".parquet")
_NO_ARROW = (
    "Parquet needs the package pyarrow: `pip install pyarrow`, or choose .csv or .json instead."
)
_JSON = ("checks", "notes", "grid", "block", "software")
_PARAMETER = "parameter."
_NESTED = ("device", "readings", "parameters")
_WORDS = {int: "a whole number", float: "a number", bool: "True or False", str: "text"}

Row = dict[str, Any]
_HEADS = ("kernel", "parameters", "GFLOPS", "p5 to p95", "median ms", "GB/s", "launches", "result")


def write_results(path: Path, results: Sequence[BenchmarkResult]) -> None:
    """Writes results as the name's ending says; raises TilescopeError."""
    writers: dict[str, Callable[[Path, tuple[BenchmarkResult, ...]], object]] = {
        ".json": save_results,
        ".jsonl": _write_lines,
        ".csv": _write_csv,
        ".parquet": _write_parquet,
        ".md": lambda p, r: replace_file(p, report(r)),
    }
    write = writers.get(path.suffix.lower())
    if write is None:
        raise TilescopeError(f"{path.name} has an unknown ending: use {', '.join(WRITTEN)}.")
    write(path, tuple(results))


def read_results(path: Path) -> tuple[BenchmarkResult, ...]:
    """The results in a file that `write_results` or a sweep's journal wrote.

    Raises TilescopeError where it is something else.
    """
    ending = path.suffix.lower()
    if ending not in READ:
        raise TilescopeError(f"{path.name} has an unknown ending: use {', '.join(READ)}.")
    try:
        if ending == ".json":
            return load_results(path)
        if ending == ".jsonl":
            return tuple(result for _, result in read_journal(path) if result is not None)
        rows = _read_csv(path) if ending == ".csv" else _read_parquet(path)
        return tuple(_result(row, number) for number, row in enumerate(rows, 1))
    except OSError as error:
        raise TilescopeError(f"{path} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise TilescopeError(f"{path} is not a text file in UTF-8.") from error


@cache
def load_recorded() -> tuple[BenchmarkResult, ...]:
    """The results that come with the program, measured on other machines, by their files' names.

    They are read once. Raises TilescopeError where a file is damaged.
    """
    folder = Path(__file__).resolve().parents[2] / "resources" / "recorded"
    paths = sorted(folder.glob("*.json"))
    return tuple(result for path in paths for result in load_results(path))


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
        """Nothing more is written; `keep` has told of what could not be."""
        with suppress(OSError):  # a full disk still has the last line before it
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
        except RecursionError:
            raise TilescopeError(
                f"{path}, line {number} is not a result: it is nested too deeply."
            ) from None
        if not isinstance(data, dict):
            raise TilescopeError(f"{path}, line {number} is not a result.")
        result = data.get("result") if "point" in data else data
        key = str(data.get("point", ""))
        found.append((key, None if result is None else BenchmarkResult.from_json(result)))
    return found


def load_results(path: Path) -> tuple[BenchmarkResult, ...]:
    """The results in a file that `tilescope bench --json` or `save_results` wrote."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TilescopeError(f"{path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise TilescopeError(f"{path} is not JSON: {error}.") from error
    except RecursionError:
        raise TilescopeError(f"{path} holds no results: it is nested too deeply.") from None
    rows = data.get("results", [data]) if isinstance(data, dict) else [data]
    if not isinstance(rows, list):
        raise TilescopeError(f"{path} holds no list of results.")
    return tuple(BenchmarkResult.from_json(row) for row in rows)


def save_results(path: Path, results: tuple[BenchmarkResult, ...]) -> None:
    """Writes results to a JSON file that `load_results` reads, a result a line."""
    rows = ",\n".join(json.dumps(r.to_json(), allow_nan=False) for r in results)
    replace_file(path, f'{{"results": [\n{rows}\n]}}\n')


def _write_lines(path: Path, results: Sequence[BenchmarkResult]) -> None:
    replace_file(path, "".join(json.dumps(r.to_json(), allow_nan=False) + "\n" for r in results))


def _write_csv(path: Path, results: Sequence[BenchmarkResult]) -> None:
    rows = _to_rows(results)
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]) if rows else [])
    writer.writeheader()
    for row in rows:
        writer.writerow({**row, "samples_ms": json.dumps(row["samples_ms"])})
    replace_file(path, text.getvalue())


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
    table = _arrow("pyarrow").Table.from_pylist(_to_rows(results))
    with replacing(path) as file:
        _arrow("pyarrow.parquet").write_table(table, file)


def _read_parquet(path: Path) -> list[dict[str, Any]]:
    try:
        rows: list[dict[str, Any]] = _arrow("pyarrow.parquet").read_table(str(path)).to_pylist()
    except _arrow("pyarrow").ArrowInvalid as error:
        raise TilescopeError(f"{path} is no Parquet file: {error}.") from error
    return rows


# -- results as rows of plain columns: for CSV and Parquet, both ways ------------------------------
#
# A column is a field's name; those of the device, the sensors and the parameters have the prefixes
# `device.`, `readings.` and `parameter.`. What a column cannot hold is JSON in it. `effective_gbs`
# and `ok` are computed, and ignored when read.


def _to_rows(results: Sequence[BenchmarkResult]) -> list[Row]:
    """A row a result, all with the same columns in the same order; None where there is nothing."""
    rows = [_row(result) for result in results]
    columns = dict.fromkeys(name for row in rows for name in row)
    return [{name: row.get(name) for name in columns} for row in rows]


def _row(result: BenchmarkResult) -> Row:
    data = result.to_json()
    row: Row = {name: data[name] for name in ("title", "rung", "kernel", "source_name")}
    row |= {_PARAMETER + name: value for name, value in result.parameters.items()}
    row |= {"gflops": data["gflops"], "effective_gbs": result.effective_gbs, "ok": result.ok}
    for name, value in data.items():
        if name in ("device", "readings"):
            row |= {f"{name}.{key}": _plain(inner) for key, inner in value.items()}
        elif name in _JSON:
            row[name] = json.dumps(value, allow_nan=False)
        elif name not in ("parameters", "format"):
            row.setdefault(name, list(value) if name == "samples_ms" else value)
    return row


def _plain(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, (list, tuple)) else value


def _result(row: Mapping[str, Any], number: int) -> BenchmarkResult:
    data: dict[str, Any] = {"format": FORMAT, **_read(row, BenchmarkResult, "", number)}
    data["device"] = _read(row, DeviceReport, "device.", number)
    data["readings"] = _read(row, Readings, "readings.", number)
    data["parameters"] = {
        column.removeprefix(_PARAMETER): _convert(value, int, column, number)
        for column, value in row.items()
        if column.startswith(_PARAMETER) and value not in (None, "")
    }
    return BenchmarkResult.from_json(data)


def _read(row: Mapping[str, Any], kind: type, prefix: str, number: int) -> dict[str, Any]:
    """The fields of a dataclass that have a column; those without fall back on their defaults."""
    found: dict[str, Any] = {}
    hints = get_type_hints(kind)
    for one in fields(kind):
        if one.name in _NESTED:
            continue
        value, (wanted, optional) = row.get(prefix + one.name), _type(hints[one.name])
        if value is not None and (value != "" or (wanted is str and not optional)):
            found[one.name] = _convert(value, wanted, prefix + one.name, number)
        elif optional:
            found[one.name] = None
        elif one.default is MISSING and one.default_factory is MISSING:
            raise TilescopeError(
                f"Row {number} lacks the column {prefix}{one.name}: this is not a table of "
                "benchmark results."
            )
    return found


def _type(hint: Any) -> tuple[type | None, bool]:
    """A field's plain type (None: JSON), and whether it may be empty."""
    options = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    plain = next(option for option in options if option is not NoneType)
    return (plain if plain in (int, float, bool, str) else None), NoneType in options


def _convert(value: Any, wanted: type | None, column: str, number: int) -> Any:
    try:
        if wanted is None:
            return json.loads(value) if isinstance(value, str) else list(value)
        if wanted is bool:
            return {"true": True, "false": False}[str(value).lower()]
        return wanted(value)
    except (ValueError, TypeError, KeyError) as error:
        kind = "JSON" if wanted is None else _WORDS[wanted]
        raise TilescopeError(
            f"Row {number}, column {column}: `{str(value)[:40]}` is not {kind}."
        ) from error


# -- results as a report in Markdown: machine and versions, a table, how it was timed -------------


def report(
    results: Sequence[BenchmarkResult],
    *,
    failures: Sequence[tuple[str, str]] = (),
    pictures: Mapping[str, str] | None = None,
    ceilings: Mapping[int, tuple[str, float]] | None = None,
) -> str:
    """The report of results, in their order.

    failures: what failed and why. pictures: a title and a file's name. ceilings: the binding
    ceiling's name and GFLOPS, by the result's place.
    """
    lines = ["# GPU benchmark", ""]
    numbered = list(enumerate(results))
    for origin, group in groupby(numbered, lambda item: machine(item[1])):
        lines += [f"## {origin}", "", *_table(list(group), ceilings or {}), ""]
    if failures:
        lines += ["## Failed", ""]
        lines += [f"- {_cell(text)}: {_cell(why)}" for text, why in failures]
        lines.append("")
    for title, file in (pictures or {}).items():
        lines += [f"![{title}]({file})", ""]
    return "\n".join([*lines, *_method(results)]) + "\n"


def machine(result: BenchmarkResult) -> str:
    """Where and with what it was measured: "NVIDIA H200, 2026-11-21, driver 580.1 …"."""
    device = result.device
    parts = [device.name, result.date[:10], f"driver {device.driver} (CUDA {device.cuda_driver})"]
    parts += [f"NVRTC {result.nvrtc}"] if result.architecture != "cuBLAS" else []
    parts += [f"{name} {version}" for name, version in result.software.items() if name == "pycuda"]
    return ", ".join(parts)


def _table(
    group: Sequence[tuple[int, BenchmarkResult]], ceilings: Mapping[int, tuple[str, float]]
) -> Iterator[str]:
    known = any(place in ceilings for place, _ in group)
    heads = [*_HEADS, *(["of the binding ceiling"] if known else [])]
    yield "| " + " | ".join(heads) + " |"
    yield "|---|---|" + "---:|" * 5 + "---|" + ("---:|" if known else "")
    for place, result in group:
        cells = _cells(result)
        if known:
            name, gflops = ceilings.get(place, ("", 0.0))
            fair = gflops and result.gflops and not result.clock_fell
            share = f"{result.gflops / gflops:.1%}" if fair and result.gflops else ""
            cells.append(f"{share} ({name})" if share else "")
        yield "| " + " | ".join(_cell(text) for text in cells) + " |"


def _cells(result: BenchmarkResult) -> list[str]:
    parameters = assignments(result.parameters)
    spread = ""
    if result.gflops_p5 is not None and result.gflops_p95 is not None:
        spread = f"{result.gflops_p5:,.0f} to {result.gflops_p95:,.0f}"
    return [
        result.title,
        parameters,
        _number(result.gflops, 0) + (" (clock fell)" if result.clock_fell else ""),
        spread,
        _number(result.median_ms, 4),
        _number(result.effective_gbs, 1),
        str(len(result.samples_ms)),
        "not checked" if result.ok is None else "right" if result.ok else "WRONG",
    ]


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:,.{digits}f}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _method(results: Sequence[BenchmarkResult]) -> Iterator[str]:
    timed = [r for r in results if r.samples_ms]
    if not timed:
        return
    flushed = {r.l2_flushed for r in timed}
    cache = {
        frozenset({True}): "The L2 cache was flushed before every launch",
        frozenset({False}): "The L2 cache was not flushed between launches",
    }.get(frozenset(flushed), "The L2 cache was flushed before the launches of some of them")
    yield (
        "Each result was compared with float64 before it was timed, unless the table says that it "
        f"was not checked. {cache}; times are between two CUDA events around one launch, the "
        f"median of all launches after {max(r.warm_up for r in timed)} to warm up; 5 % are below "
        "p5 and 5 % above p95. A multiply-add counts as two operations. GB/s is the effective "
        "bandwidth: each array's bytes once, over the median time."
    )
    clocks = sorted({r.readings.sm_mhz for r in timed if r.readings.sm_mhz is not None})
    if clocks:
        span = f"{clocks[0]:,.0f}" + (f" to {clocks[-1]:,.0f}" if clocks[1:] else "")
        yield ""
        yield f"The SM clock read {span} MHz at the end of the timings."
    ran = sorted(r.readings.launch_mhz for r in timed if r.readings.launch_mhz is not None)
    if ran:
        span = f"{ran[0]:,.0f}" + (f" to {ran[-1]:,.0f}" if ran[1:] else "")
        yield ""
        yield f"During the launches the SMs' own counters said {span} MHz."
    if any(r.clock_fell for r in timed):
        yield ""
        yield (
            "Clock fell: the SM clock was below the GPU's highest while this was timed; that rate "
            "is compared with no ceiling."
        )
