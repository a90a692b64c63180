"""What a sweep measures: kernels times sizes times tiles, as a list of points.

An axis is a parameter's name and its values. `size` stands for all of a kernel's sizes (m, n and k
where it has them), `tile` also for a rung's shorthand of that name. A kernel that lacks an axis is
measured once for all its values.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from core.errors import ParameterError, TilescopeError
from core.gpu.benchmark_job import CublasSubject, FileSubject, RungSubject, Subject
from core.ladder import Rung
from core.ladder.rung import DEFAULT_SEED
from core.user_files.launch_texts import FileLaunch
from core.wording import listing

SIZE = "size"
SIZE_NAMES = ("m", "n", "k")
MOST_POINTS = 10_000
_VALUES = re.compile(r"(\d+)(?:\.\.(\d+)(?::(\d+))?)?")


class Kernel(Protocol):
    """Something that can be measured with different parameters."""

    @property
    def title(self) -> str:
        """For people."""

    def targets(self, axis: str) -> tuple[str, ...]:
        """The parameters that an axis sets; empty where this kernel does not have it."""

    def subject(self, values: Mapping[str, int], seed: int) -> Subject:
        """What to measure; raises TilescopeError where the values do not go together."""


def _set_by(axis: str, names: Sequence[str]) -> tuple[str, ...]:
    """Which of the parameters of a kernel an axis sets."""
    wanted = SIZE_NAMES if axis == SIZE else (axis,)
    return tuple(name for name in wanted if name in names)


@dataclass(frozen=True)
class RungKernel:
    """A rung of the ladder. `given` are the parameters that no axis sets; `source` is an edit.

    With `tuned`, those that are fast at a point's sizes take the place of the given ones.
    """

    rung: Rung
    given: Mapping[str, int] = field(default_factory=dict)
    source: str | None = None
    tuned: bool = False

    @property
    def title(self) -> str:
        """The rung's own."""
        return self.rung.title

    def targets(self, axis: str) -> tuple[str, ...]:
        """A parameter, a shorthand's parameters, or the sizes."""
        names = [p.name for p in self.rung.parameters]
        return self.rung.shorthands.get(axis) or _set_by(axis, names)

    def subject(self, values: Mapping[str, int], seed: int) -> Subject:
        """The rung with these parameters; raises ParameterError."""
        wanted = {**self.given, **values}
        if self.tuned:
            wanted = {**self.given, **self.rung.tuned_for(**wanted), **values}
        checked = self.rung.check(**wanted)
        return RungSubject(self.rung.name, dict(checked), seed, self.source)


@dataclass(frozen=True)
class FileKernel:
    """A kernel in a file; its parameters are the names in the braces of the launch's texts."""

    source: str
    launch: FileLaunch
    flops: str = ""
    expected: str = ""
    given: Mapping[str, int] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The file and the kernel in it."""
        return f"{self.launch.name}: {self.launch.kernel}"

    @property
    def names(self) -> tuple[str, ...]:
        """The names that the texts use, in their order."""
        launch = self.launch
        texts = [launch.grid, launch.block, launch.shared, launch.defines]
        texts += [text for _, text in launch.arguments]
        inner = [part for text in texts for part in re.findall(r"\{([^{}]*)\}", text)]
        found = re.findall(r"[A-Za-z_]\w*", " ".join([*inner, self.flops]))
        return tuple(
            dict.fromkeys(
                n for n in found if n not in ("ceil_div", "min", "max", "and", "or", "not")
            )
        )

    def targets(self, axis: str) -> tuple[str, ...]:
        """A name in the texts, or the sizes among them."""
        return _set_by(axis, self.names)

    def subject(self, values: Mapping[str, int], seed: int) -> Subject:
        """The launch with these values; raises TilescopeError where one is missing."""
        known = {**self.given, **values}
        if missing := [name for name in self.names if name not in known]:
            raise ParameterError(
                f"{self.title} needs values for {listing(missing)}: give them as sizes, tiles or "
                "other parameters of the sweep."
            )
        return FileSubject(
            self.source,
            self.launch,
            {name: known[name] for name in self.names},
            self.flops,
            self.expected,
            seed,
        )


@dataclass(frozen=True)
class CublasKernel:
    """NVIDIA's own product, as a yardstick."""

    @property
    def title(self) -> str:
        """As its results are called."""
        return "cuBLAS SGEMM"

    def targets(self, axis: str) -> tuple[str, ...]:
        """It has sizes only."""
        return ("n",) if axis == SIZE else _set_by(axis, SIZE_NAMES)

    def subject(self, values: Mapping[str, int], seed: int) -> Subject:
        """A product of these sizes."""
        if "n" not in values:
            raise ParameterError("cuBLAS needs a size: give n.")
        return CublasSubject(dict(values), seed)


@dataclass(frozen=True)
class Point:
    """One launch to measure."""

    subject: Subject
    title: str
    parameters: Mapping[str, int]

    @property
    def key(self) -> str:
        """Equal for equal work: kernel, text, parameters and seed."""
        subject = self.subject
        what: list[object] = [type(subject).__name__, self.title, subject.seed]
        what.append(sorted(self.parameters.items()))
        if isinstance(subject, FileSubject):
            what.append([subject.source, repr(subject.launch), subject.flops, subject.expected])
        elif isinstance(subject, RungSubject):
            what.append([subject.rung, subject.source])
        return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:16]

    @property
    def text(self) -> str:
        """The kernel and its parameters: "Tiled, n = 512, tile = 16"."""
        return ", ".join([self.title, *(f"{k} = {v}" for k, v in self.parameters.items())])


@dataclass(frozen=True)
class LeftOut:
    """A combination that cannot be launched, and why."""

    title: str
    parameters: Mapping[str, int]
    why: str


@dataclass(frozen=True)
class Plan:
    """A sweep's points, small sizes first, and what was left out of it."""

    points: tuple[Point, ...]
    left_out: tuple[LeftOut, ...] = ()

    def without(self, keys: frozenset[str]) -> Plan:
        """The plan less the points with these keys, which are measured already."""
        return replace(self, points=tuple(p for p in self.points if p.key not in keys))


def make_plan(
    kernels: Sequence[Kernel], axes: Mapping[str, Sequence[int]], seed: int = DEFAULT_SEED
) -> Plan:
    """Every kernel at every combination of the values of the axes that it has.

    Raises ParameterError where no kernel has an axis, where two axes set the same parameter, or
    where there would be too many points; and TilescopeError where no combination can be launched.
    """
    if not kernels:
        raise ParameterError("There is nothing to measure: choose a kernel.")
    for axis in axes:
        if not any(kernel.targets(axis) for kernel in kernels):
            titles = listing([kernel.title for kernel in kernels], "or")
            raise ParameterError(f"There is no parameter {axis} in {titles}.")
    points: dict[str, Point] = {}
    left_out: dict[str, LeftOut] = {}
    for kernel in kernels:
        for values in _combinations(kernel, axes):
            try:
                subject = kernel.subject(values, seed)
            except TilescopeError as error:
                left_out[f"{kernel.title} {values}"] = LeftOut(kernel.title, values, str(error))
                continue
            point = Point(subject, kernel.title, dict(subject.parameters))
            points[point.key] = point
    if not points:
        raise TilescopeError(next(iter(left_out.values())).why)
    order = sorted(points.values(), key=lambda p: max(_sizes(p), default=0))
    return Plan(tuple(order), tuple(left_out.values()))


def _combinations(kernel: Kernel, axes: Mapping[str, Sequence[int]]) -> list[dict[str, int]]:
    mine = {axis: targets for axis in axes if (targets := kernel.targets(axis))}
    every = [name for targets in mine.values() for name in targets]
    if len(every) != len(set(every)):
        twice = next(name for name in every if every.count(name) > 1)
        raise ParameterError(f"{twice} of {kernel.title} is set by two axes: leave out one.")
    sets = [axes[axis] for axis in mine]
    count = math.prod(map(len, sets))
    if count > MOST_POINTS:
        raise ParameterError(f"{count} launches of {kernel.title} are too many: choose fewer.")
    return [
        {
            name: value
            for (targets, value) in zip(mine.values(), chosen, strict=True)
            for name in targets
        }
        for chosen in itertools.product(*sets)
    ]


def _sizes(point: Point) -> list[int]:
    return [value for name, value in point.parameters.items() if name in SIZE_NAMES]


def parse_values(
    text: str, what: str, how: str = "512,1024 or 256..4096 (doubling) or 16..64:16 (steps of 16)"
) -> tuple[int, ...]:
    """`512,1024`, `256..4096` (doubling) or `16..64:16` (steps of 16) as numbers, in order.

    From 0 nothing doubles: `0..4` are 0, 1, 2, 3 and 4.

    Raises ParameterError; `what` names the axis in it, and `how` says what to write.
    """
    found: list[int] = []
    for part in re.split(r"[,;\s]+", text.strip()):
        match = _VALUES.fullmatch(part)
        if match is None:
            raise ParameterError(f"`{text}` is not a list of values for {what}: write {how}.")
        found += _spread(match[1], match[2], match[3], what)
    return tuple(dict.fromkeys(found))


def _spread(first: str, last: str | None, step: str | None, what: str) -> list[int]:
    low, high = int(first), int(last or first)
    if high < low or step == "0":
        raise ParameterError(f"`{first}..{last}` is not a range for {what}: count upwards.")
    if last is None:
        return [low]
    if step is None and low == 0:
        step = "1"
    if step is not None:
        if (high - low) // int(step) > MOST_POINTS:
            raise ParameterError(f"`{first}..{last}:{step}` are too many values for {what}.")
        return list(range(low, high + 1, int(step)))
    found = [low]
    while found[-1] * 2 <= high:
        found.append(found[-1] * 2)
    return found
