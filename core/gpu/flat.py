"""Benchmark results as rows of plain columns: for CSV and Parquet, both ways.

A column is a field's name; those of the device, the sensors and the parameters have the prefixes
`device.`, `readings.` and `parameter.`. What a column cannot hold is JSON in it. `effective_gbs`
and `ok` are computed, and ignored when read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from types import NoneType, UnionType
from typing import Any, get_args, get_type_hints

from core.errors import TilescopeError
from core.gpu.result import FORMAT, BenchmarkResult, DeviceReport, Readings

_JSON = ("checks", "notes", "grid", "block", "software")
_PARAMETER = "parameter."
_NESTED = ("device", "readings", "parameters")
_WORDS = {int: "whole number", float: "number", bool: "True or False", str: "text"}

Row = dict[str, Any]


def to_rows(results: Sequence[BenchmarkResult]) -> list[Row]:
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


def from_rows(rows: Sequence[Mapping[str, Any]]) -> tuple[BenchmarkResult, ...]:
    """The inverse of `to_rows`, also of rows whose cells are texts.

    Raises TilescopeError, naming the row and the column, for anything else.
    """
    return tuple(_result(row, number) for number, row in enumerate(rows, 1))


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
                f"Row {number} has nothing in the column {prefix}{one.name}: this is no table of "
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
            f"Row {number}, column {column}: `{str(value)[:40]}` is no {kind}."
        ) from error
