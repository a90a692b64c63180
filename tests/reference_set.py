"""The reference set: kernels and launches whose counters and outputs were taken on a GPU.

`tests/data/reference/launches.toml` lists the launches; `load_launches` makes each into a
`Workload`. Inputs come from a formula (a 64-bit mix of position and seed), so that a GPU machine
and this one start from the same bytes whatever their NumPy.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from core.ladder.expressions import IntExpression
from core.ladder.input_arrays import poisoned
from core.launch import ArrayArgument, Dim3, Launch, ScalarArgument, Workload

FOLDER = Path(__file__).parent / "data" / "reference"
Suite = Literal["kernels", "wide", "atomics"]
_ARRAY = re.compile(r"(?P<dtype>\w+)\[(?P<size>\d+)\] (?P<fill>.+)")
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


@dataclass(frozen=True)
class ReferenceLaunch:
    """One launch. `free` are outputs whose bits the order of atomics decides.

    `approximate` says how far a function with a documented error may be off, in units in the last
    place. The suite "kernels" holds whole kernels; "wide" and "atomics" hold one warp's accesses in
    many patterns, 8 or 16 bytes a lane to shared memory, and atomics.
    """

    name: str
    suite: Suite
    workload: Workload
    free: frozenset[str] = frozenset()
    approximate: float | None = None

    @property
    def outputs(self) -> tuple[ArrayArgument, ...]:
        """The arrays that the kernel writes."""
        return tuple(a for a in self.workload.launch.arrays if a.role != "input")


@cache
def load_launches(folder: Path = FOLDER) -> tuple[ReferenceLaunch, ...]:
    """All launches, in the table's order; their names are unique."""
    table = tomllib.loads((folder / "launches.toml").read_text(encoding="utf-8"))
    found = tuple(_launches(table, folder))
    names = [launch.name for launch in found]
    if len(set(names)) != len(names):
        raise ValueError(f"launches.toml uses a name twice: {sorted(names)}")
    return found


def _launches(table: Mapping[str, Any], folder: Path) -> Iterator[ReferenceLaunch]:
    for row in table["launch"]:
        yield _launch(row["name"], "kernels", row, folder)
    suite: Suite
    for suite in ("wide", "atomics"):
        for row in table.get(suite, ()):
            for name, formula in table[f"{suite}_patterns"].items():
                index = {"index": f"int32[{row['block'][0]}] = {formula}"}
                one = {**row, "arguments": {**index, **row["arguments"]}}
                yield _launch(f"{row['name']}-{name}", suite, one, folder)


def _launch(name: str, suite: Suite, row: Mapping[str, Any], folder: Path) -> ReferenceLaunch:
    source = folder / row["file"]
    arguments = tuple(
        _argument(argument, text, seed)
        for seed, (argument, text) in enumerate(row["arguments"].items())
    )
    launch = Launch(Dim3(*row["grid"]), Dim3(*row["block"]), arguments, row.get("shared", 0))
    workload = Workload(
        title=name,
        source=source.read_text(encoding="utf-8"),
        source_name=source.name,
        kernel=row.get("kernel", source.stem),
        launch=launch,
        defines={key: str(value) for key, value in row.get("defines", {}).items()},
    )
    free = frozenset(row.get("free", ()))
    return ReferenceLaunch(name, suite, workload, free, row.get("approximate"))


def _argument(name: str, text: str, seed: int) -> ArrayArgument | ScalarArgument:
    """`float32[400] random`, `int32[64] = i // 2`, `int32[8] output`, `int32 384`."""
    match = _ARRAY.fullmatch(text)
    if match is None:
        kind, value = text.split()
        return ScalarArgument(name, np.dtype(kind).type(value))
    dtype, size, fill = np.dtype(match["dtype"]), int(match["size"]), match["fill"]
    if fill == "output":
        return ArrayArgument(name, poisoned(dtype, (size,)), "output")
    if fill == "zeros":
        return ArrayArgument(name, np.zeros(size, dtype), "inout")
    role: Literal["input", "inout"] = "inout" if fill.startswith("inout ") else "input"
    return ArrayArgument(name, _filled(dtype, size, fill.removeprefix("inout "), seed), role)


@cache
def _filled(dtype: np.dtype[Any], size: int, fill: str, seed: int) -> NDArray[Any]:
    if fill.startswith("= "):
        expression = IntExpression(fill[2:])
        return np.array([expression.evaluate({"i": i}) for i in range(size)], dtype)
    if fill == "permutation":
        return np.argsort(mixed(size, seed), kind="stable").astype(dtype)
    bits = mixed(size, seed)
    if dtype.kind == "f":  # exact: 23 or 52 random bits, in [-1, 1)
        drop, scale = (11, 2.0**52) if dtype.itemsize == 8 else (40, 2.0**23)
        return ((bits >> np.uint64(drop)) / scale - 1).astype(dtype)
    low, high = (int(word) for word in fill.removeprefix("random ").split(".."))
    return (low + (bits % np.uint64(high - low + 1)).astype(np.int64)).astype(dtype)


def mixed(size: int, seed: int) -> NDArray[np.uint64]:
    """64 random bits for each position: the finalizer of SplitMix64 (Steele, Lea, Flood 2014)."""
    x = np.arange(1, size + 1, dtype=np.uint64) + np.uint64(seed << 32)
    x = x * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * _MIX[0]
    x = (x ^ (x >> np.uint64(27))) * _MIX[1]
    return x ^ (x >> np.uint64(31))
