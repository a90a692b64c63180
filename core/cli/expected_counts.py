"""What a team writes down of its launches' counters: at most so many sectors and conflicts.

A TOML file has one `[[launch]]` for each: the `file` (as it is checked, or how its path ends) and
its `kernel`, the launch's sizes if they shall not be guessed, and counters with the most that they
may be.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from core.errors import TilescopeError
from core.files import replace_file
from core.own_files.sources_and_headers import read_plain
from core.rules.counters import COUNTERS

_TEXTS = ("file", "kernel", "grid", "block")
_LISTS = ("define", "arg")
_MOST_BYTES = 1 << 20


@dataclass(frozen=True)
class Expected:
    """What is expected of one launch; `options` set it, as on the command line."""

    file: str
    kernel: str
    options: Mapping[str, Any]
    most: Mapping[str, int]

    def is_of(self, file: PurePath, kernel: str) -> bool:
        """Whether a kernel of a file is meant."""
        wanted = PurePath(self.file).parts
        same = self.kernel == kernel or self.kernel == kernel.partition("<")[0]
        return same and file.parts[len(file.parts) - len(wanted) :] == wanted

    def exceeded(self, counters: Mapping[str, int]) -> Iterable[str]:
        """A sentence for each counter that is above what is expected."""
        for name, most in self.most.items():
            if counters[name] > most:
                yield f"{name} is {counters[name]:,}, and at most {most:,} is expected."


def read_expected(path: Path) -> tuple[Expected, ...]:
    """The launches in a file; TilescopeError, saying what is wrong, where it is not one."""
    try:
        data = tomllib.loads(read_plain(path, _MOST_BYTES).decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TilescopeError(f"{path} is not TOML: {error}.") from None
    launches = data.get("launch")
    if set(data) != {"launch"} or not isinstance(launches, list):
        raise TilescopeError(f"{path} has no launches: write [[launch]], file and kernel.")
    return tuple(_expected(path, number, row) for number, row in enumerate(launches, 1))


def _expected(path: Path, number: int, row: Any) -> Expected:
    where = f"[[launch]] {number} of {path}"
    if not isinstance(row, dict) or not all(isinstance(row.get(n), str) for n in _TEXTS[:2]):
        raise TilescopeError(f'{where} needs a file and a kernel: file = "a.cu", kernel = "k".')
    options: dict[str, Any] = {}
    most: dict[str, int] = {}
    for name, value in row.items():
        if name in COUNTERS and type(value) is int and value >= 0:
            most[name] = value
        elif name in COUNTERS:
            raise TilescopeError(f"{where}: {name} is a whole number from 0 on, not {value!r}.")
        elif _is_option(name, value):
            options[name] = value
        else:
            raise TilescopeError(
                f"{where}: {name} is neither a counter nor an option with such a value; there are "
                f"{', '.join((*_TEXTS, 'shared', *_LISTS))} and the counters of docs/counting.md."
            )
    return Expected(options.pop("file"), options["kernel"], options, most)


def _is_option(name: str, value: Any) -> bool:
    if name in _LISTS:
        return isinstance(value, list) and all(isinstance(one, str) for one in value)
    return (name in _TEXTS and isinstance(value, str)) or (name == "shared" and type(value) is int)


Launch = tuple[PurePath, tuple[Mapping[str, Any], Mapping[str, int]]]
"""A launch's file, the options that set it, and its counters."""


def write_expected(path: Path, launches: Iterable[Launch]) -> None:
    """Write launches with their counters, so that `read_expected` reads them.

    Counters of what a launch does not do are left out, other than conflicts. Raises TilescopeError
    where the file cannot be written.
    """
    parts = ["# tilescope check --expect: at most these counts.\n"]
    for file, (options, counters) in launches:
        parts.append("\n[[launch]]\n")
        parts.append(f"file = {json.dumps(file.as_posix())}\n")
        parts += [f"{name} = {json.dumps(value)}\n" for name, value in options.items()]
        parts += [
            f"{name} = {value}\n"
            for name, value in counters.items()
            if value or name.endswith("_conflicts")
        ]
    replace_file(path, "".join(parts).encode())
