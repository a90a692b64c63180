"""The ladder of kernels, read from kernels/ladder.toml, whose head explains every field."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields, replace
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from core.errors import ParameterError, TilescopeError
from core.ladder.expressions import IntExpression, MatrixExpression
from core.ladder.rung import (
    DEFAULT_SEED,
    ArrayRule,
    Constraint,
    MapRule,
    Orientation,
    Parameter,
    Rung,
    ScalarRule,
    check_pairs,
)
from core.launch import MatrixLayout
from core.wording import listing

__all__ = [
    "DEFAULT_SEED",
    "Ladder",
    "Parameter",
    "Rung",
    "UnknownRungError",
    "all_kernels",
    "load_ladder",
    "rung_of",
]

KERNELS_FOLDER = Path(__file__).resolve().parents[2] / "kernels"
LESSON_KERNELS = KERNELS_FOLDER.parent / "resources" / "lessons" / "kernels"
LESSON = "lesson"  # the group of kernels that lessons name and no list shows
REGISTRY = "ladder.toml"

_ROLES = ("input", "output", "inout")


class Ladder(Mapping[str, Rung]):
    """The rungs in the order they are taught, by name."""

    def __init__(self, rungs: tuple[Rung, ...]) -> None:
        self._rungs = {rung.name: rung for rung in sorted(rungs, key=lambda r: r.number)}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the rungs that are listed, in order: not those of lessons alone."""
        return tuple(name for name, rung in self._rungs.items() if rung.group != LESSON)

    def __getitem__(self, name: str) -> Rung:
        try:
            return self._rungs[name]
        except KeyError:
            import difflib  # which is large, for mistakes alone

            close = difflib.get_close_matches(name, self._rungs, 1)
            hint = f": did you mean {close[0]}?" if close else "."
            raise UnknownRungError(
                f"There is no kernel called {name}{hint} "
                f"The ladder has {listing(list(self.names))}."
            ) from None

    def __contains__(self, name: object) -> bool:
        return name in self._rungs

    def __iter__(self) -> Iterator[str]:
        return iter(self._rungs)

    def __len__(self) -> int:
        return len(self._rungs)


class UnknownRungError(ParameterError, KeyError):
    """No rung has this name."""

    __str__ = TilescopeError.__str__  # KeyError would show the sentence in quotation marks


def load_ladder(folder: Path | None = None) -> Ladder:
    """The ladder in `folder` (default: this project's kernels/).

    Raises TilescopeError, naming the file and the rung, where the registry is wrong.
    """
    home = folder or KERNELS_FOLDER
    ladder = _read(home)
    try:
        check_pairs(ladder)
    except TilescopeError as error:
        raise TilescopeError(f"{home / REGISTRY}, {error}") from None
    return ladder


def _read(home: Path) -> Ladder:
    """A ladder whose pairs may not agree."""
    try:
        with os.scandir(home) as found:
            files = sorted((f.name, f.stat().st_size, f.stat().st_mtime_ns) for f in found)
    except OSError:
        raise TilescopeError(f"There is no {REGISTRY} in {home}.") from None
    return _loaded(home, tuple(files))


def rung_of(name: str) -> Rung:
    """One rung of the ladder, and no other is read. Raises as `load_ladder` and its look-up do.

    To read all takes longer than to trace a small one.
    """
    path = KERNELS_FOLDER / REGISTRY
    rows = path.read_text(encoding="utf-8").split("[[rung]]")[1:]
    row = next((row for row in rows if f'\nname = "{name}"\n' in row), None)
    if row is None:
        return load_ladder()[name]
    return _rung(tomllib.loads(row), KERNELS_FOLDER)


@lru_cache(maxsize=4)
def _loaded(home: Path, files: tuple[tuple[str, int, int], ...]) -> Ladder:
    """`_read`, once for the files as they are: name, size and date of each."""
    del files
    path = home / REGISTRY
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise TilescopeError(f"There is no {REGISTRY} in {home}.") from None
    except tomllib.TOMLDecodeError as error:
        raise TilescopeError(f"{path} is not valid TOML: {error}.") from None
    rungs = tuple(_rung(row, home) for row in table.get("rung", ()))
    for rung in rungs:
        _check_tuned(rung, f"{path}, rung {rung.name}")
    for field in ("number", "name"):
        values = [getattr(rung, field) for rung in rungs]
        if twice := {value for value in values if values.count(value) > 1}:
            raise TilescopeError(f"{path}: two rungs have the {field} {twice.pop()}.")
    return Ladder(rungs)


def all_kernels() -> Ladder:
    """The ladder, and the kernels of the program's own lessons, which links may name too.

    A lesson's kernel may be the other mapping of a rung.
    """
    rungs = {**load_ladder(), **_read(LESSON_KERNELS)}
    for name, rung in list(rungs.items()):
        if rung.mapping is not None and rung.group == LESSON:
            twin, ways = rungs[rung.mapping.other], rung.mapping.rungs(name)
            way = next(way for way, other in ways.items() if other == twin.name)
            rungs[twin.name] = replace(twin, mapping=Orientation(way, name))
    check_pairs(rungs)
    return Ladder(tuple(rungs.values()))


def _rung(row: Mapping[str, Any], home: Path) -> Rung:
    label = f"{home / REGISTRY}, rung {row.get('name', row.get('number', '?'))}"
    try:
        _check_fields(row)
        if Path(row["file"]).name != row["file"]:
            raise TilescopeError(f"file is {row['file']!r}: use the name of a file in {home}.")
        file = home / row["file"]
        given = {_FIELDS[name].name: _READERS.get(name, _same)(row[name]) for name in row}
        given |= {"source_file": file, "source": file.read_text(encoding="utf-8")}
        return Rung(**given)
    except FileNotFoundError as error:
        raise TilescopeError(f"{label}: there is no file {error.filename}.") from None
    except OSError as error:
        raise TilescopeError(f"{label}: {error.filename}: {error.strerror}.") from None
    except KeyError as error:
        raise TilescopeError(f"{label}: {error.args[0]} is missing.") from None
    except (TilescopeError, TypeError, ValueError, AttributeError) as error:
        raise TilescopeError(f"{label}: {error}") from error


def _check_fields(row: Mapping[str, Any]) -> None:
    for name in ("block", "grid"):
        if len(row.get(name, "x")) > 3:
            raise TilescopeError(f"{name} has more than three sizes.")
    required = [
        name for name, one in _FIELDS.items() if one.default is MISSING is one.default_factory
    ]
    if missing := [name for name in required if name not in row]:
        raise TilescopeError(f"{', '.join(missing)} missing.")
    if unknown := sorted(set(row) - set(_FIELDS)):
        raise TilescopeError(f"unknown field {', '.join(unknown)}.")


def _parameter(item: Mapping[str, Any]) -> Parameter:
    choices = item.get("choices")
    parameter = Parameter(**{**item, "choices": tuple(choices) if choices else None})
    parameter.check(parameter.default)
    return parameter


def _argument(item: Mapping[str, Any]) -> ArrayRule | ScalarRule:
    dtype = np.dtype(item["dtype"])
    if "value" in item:
        return ScalarRule(item["name"], dtype, _expression(item["value"]))
    if item["role"] not in _ROLES:
        raise TilescopeError(f"role {item['role']!r} is none of {', '.join(_ROLES)}.")
    fill = item.get("fill", "inputs")
    if fill not in ("inputs", "zeros"):
        raise TilescopeError(f"fill {fill!r} is neither inputs nor zeros.")
    shape = _expressions(item["shape"])
    given = item.get("map")
    tensor_map = MapRule(_expressions(given["box"]), given["swizzle"]) if given else None
    return ArrayRule(item["name"], dtype, shape, item["role"], fill == "zeros", tensor_map)


def _expression(value: str | int) -> IntExpression:
    return IntExpression(str(value))


def _expressions(values: list[str | int]) -> tuple[IntExpression, ...]:
    return tuple(_expression(value) for value in values)


def _check_tuned(rung: Rung, label: str) -> None:
    for one in rung.tuned:
        if unknown := sorted(set(one) - set(rung.defaults)):
            raise TilescopeError(f"{label}: tuned names no parameter by {', '.join(unknown)}.")
    if len(rung.tuned) > 1 and rung.cost is None:
        raise TilescopeError(f"{label}: several tuned sets need a cost to choose by.")


def _sets(given: Mapping[str, int] | list[Mapping[str, int]]) -> tuple[Mapping[str, int], ...]:
    sets = given if isinstance(given, list) else [given]
    return tuple(MappingProxyType(dict(one)) for one in sets)


def _each(make: Callable[[Any], Any]) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    return lambda table: MappingProxyType({name: make(value) for name, value in table.items()})


def _same(value: Any) -> Any:
    return value


_NAMES = {"source_file": "file", "nbytes": "bytes"}
_FIELDS = {_NAMES.get(one.name, one.name): one for one in fields(Rung) if one.name != "source"}
"""The fields of a rung, by their names in the registry."""
_READERS: Mapping[str, Callable[[Any], Any]] = {
    "parameters": lambda items: tuple(map(_parameter, items)),
    "block": _expressions,
    "grid": _expressions,
    "arguments": lambda items: tuple(map(_argument, items)),
    "shorthands": _each(tuple),
    "constraints": lambda items: tuple(
        Constraint(IntExpression(item["require"]), item["message"]) for item in items
    ),
    "defines": _each(_expression),
    "shared_bytes": _expression,
    "dynamic_shared_bytes": _expression,
    "layout": lambda row: MatrixLayout(**row),
    "flops": _expression,
    "expected": _each(MatrixExpression),
    "faults": tuple,
    "tuned": _sets,
    "cost": _expression,
    "bytes": _expression,
    "mapping": lambda row: Orientation(**row),
}
"""What makes a rung's field of what the registry says; others stay as they are."""
