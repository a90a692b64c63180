"""A rung of the ladder: one kernel, what may be chosen for it, and the launch that follows."""

from __future__ import annotations

import difflib
import operator
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from core.errors import ParameterError
from core.ladder.buffers import poisoned, random_array
from core.ladder.expressions import IntExpression, MatrixExpression, fill_in
from core.ladder.orientation import Orientation
from core.launch import (
    Arithmetic,
    ArrayArgument,
    Dim3,
    Launch,
    MatrixLayout,
    Role,
    ScalarArgument,
    Workload,
)

DEFAULT_SEED = 7
MAX_ARRAY_BYTES = 4 * 10**9  # the arrays of one launch, on this machine
# CUDA C++ Programming Guide, "Technical Specifications per Compute Capability" (5.0 to 12.x).
MAX_THREADS_PER_BLOCK = 1024
MAX_STATIC_SHARED_BYTES = 48 * 1024
MAX_SHARED_BYTES = 227 * 1024  # a block's dynamic shared memory on compute capability 9.0
MAX_BLOCK = Dim3(1024, 1024, 64)
MAX_GRID = Dim3(2**31 - 1, 65535, 65535)


_Fits = Callable[[Mapping[str, int]], bool]


@dataclass(frozen=True)
class Parameter:
    """A whole number that a rung lets one choose.

    `choices`, where given, are the values that a form offers; any from `minimum` to `maximum` work
    unless a constraint of the rung says otherwise.
    """

    name: str
    label: str
    default: int
    minimum: int
    maximum: int
    choices: tuple[int, ...] | None = None
    why: str = ""

    def check(self, value: Any) -> int:
        """`value` as an int. Raises ParameterError with what would work."""
        try:
            if isinstance(value, bool):
                raise TypeError
            number = operator.index(value)
        except TypeError:
            raise ParameterError(f"{self.name} = {value!r} is not a whole number.") from None
        if self.minimum <= number <= self.maximum:
            return number
        small = number < self.minimum
        reason = f" ({self.why})" if self.why and not small else ""
        raise ParameterError(
            f"{self.name} = {number} is too {'small' if small else 'large'}: "
            f"use {self.minimum} to {self.maximum}{reason}."
        )


@dataclass(frozen=True)
class Constraint:
    """A condition between parameters, and the sentence for those who break it."""

    require: IntExpression
    message: str


@dataclass(frozen=True)
class ArrayRule:
    """How one array argument of a rung is made."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[IntExpression, ...]
    role: Role

    def make(
        self, values: Mapping[str, int], generator: np.random.Generator | None
    ) -> ArrayArgument:
        """The argument: random where the kernel reads it, poisoned where it only writes.

        Without a generator it is all zeros, which costs no time at any size.
        """
        shape = tuple(extent.evaluate(values) for extent in self.shape)
        if generator is None:
            return ArrayArgument(self.name, np.zeros(shape, self.dtype), self.role)
        data = (
            poisoned(self.dtype, shape)
            if self.role == "output"
            else random_array(generator, self.dtype, shape)
        )
        return ArrayArgument(self.name, data, self.role)

    def nbytes(self, values: Mapping[str, int]) -> int:
        """Its size in bytes."""
        size = int(self.dtype.itemsize)
        for extent in self.shape:
            size *= extent.evaluate(values)
        return size


@dataclass(frozen=True)
class ScalarRule:
    """How one scalar argument of a rung is computed."""

    name: str
    dtype: np.dtype[Any]
    value: IntExpression

    def make(
        self, values: Mapping[str, int], _generator: np.random.Generator | None
    ) -> ScalarArgument:
        """The argument."""
        return ScalarArgument(self.name, self.dtype.type(self.value.evaluate(values)))


@dataclass(frozen=True)
class Rung:
    """One kernel of the ladder: its source, what may be chosen, and how it is launched."""

    number: int
    name: str
    title: str
    summary: str
    source_file: Path
    source: str
    kernel: str
    parameters: tuple[Parameter, ...]
    block: tuple[IntExpression, ...]
    grid: tuple[IntExpression, ...]
    arguments: tuple[ArrayRule | ScalarRule, ...]
    shorthands: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    constraints: tuple[Constraint, ...] = ()
    defines: Mapping[str, IntExpression] = field(default_factory=dict)
    shared_bytes: IntExpression = field(default_factory=lambda: IntExpression("0"))
    dynamic_shared_bytes: IntExpression = field(default_factory=lambda: IntExpression("0"))
    layout: MatrixLayout | None = None
    flops: IntExpression | None = None
    expected: Mapping[str, MatrixExpression] = field(default_factory=dict)
    group: str = "ladder"
    faults: tuple[str, ...] = ()  # kinds of findings with the default parameters
    tuned: Mapping[str, int] = field(default_factory=dict)  # parameters that are fast on a GPU
    arithmetic: Arithmetic = "float32"
    nbytes: IntExpression | None = None  # read and written at least, if not every array whole
    mapping: Orientation | None = None  # which way x runs, and the rung where it runs the other

    @property
    def manual(self) -> str:
        """The comment at the head of the source, without its comment marks."""
        lines = []
        for line in self.source.splitlines():
            if not line.startswith("//"):
                break
            lines.append(line.removeprefix("//").removeprefix(" "))
        return "\n".join(lines)

    @cached_property
    def defaults(self) -> Mapping[str, int]:
        """Each parameter's default."""
        return MappingProxyType({p.name: p.default for p in self.parameters})

    def check(self, **parameters: int) -> Mapping[str, int]:
        """All parameters, checked, defaults filled in and shorthands spelt out.

        Raises ParameterError with one sentence that says what would work.
        """
        values = self._complete(parameters)
        for constraint in self.constraints:
            if not constraint.require.evaluate(values):
                raise ParameterError(fill_in(constraint.message, values))
        self._check_threads(values)
        self._check_shared(values)
        self._check_grid(values)
        self._check_memory(values)
        return MappingProxyType(values)

    def accepts(self, **parameters: int) -> bool:
        """Whether `check` would pass; quicker where it would not, for it words no reason."""
        try:
            values = self._complete(parameters)
        except ParameterError:
            return False
        if not all(constraint.require.evaluate(values) for constraint in self.constraints):
            return False
        block, grid = _dim3(self.block, values), _dim3(self.grid, values)
        arrays = (rule for rule in self.arguments if isinstance(rule, ArrayRule))
        return (
            block.count <= MAX_THREADS_PER_BLOCK
            and not _exceeds(block, MAX_BLOCK)
            and not _exceeds(grid, MAX_GRID)
            and self.shared_bytes.evaluate(values) <= MAX_STATIC_SHARED_BYTES
            and sum(rule.nbytes(values) for rule in arrays) <= MAX_ARRAY_BYTES
        )

    def workload(self, seed: int = DEFAULT_SEED, **parameters: int) -> Workload:
        """One launch with these parameters; inputs are random, outputs poisoned.

        Raises ParameterError as `check` does.
        """
        return self._workload(self.check(**parameters), np.random.default_rng(seed))

    def blank_workload(self, **parameters: int) -> Workload:
        """The same launch over arrays of zeros: enough where only addresses matter, at any size."""
        return self._workload(self.check(**parameters), None)

    def _workload(
        self, values: Mapping[str, int], generator: np.random.Generator | None
    ) -> Workload:
        launch = Launch(
            grid=_dim3(self.grid, values),
            block=_dim3(self.block, values),
            arguments=tuple(rule.make(values, generator) for rule in self.arguments),
            shared_bytes=self.dynamic_shared_bytes.evaluate(values),
        )
        inputs = {array.name: array.data for array in launch.arrays}
        return Workload(
            title=self.title,
            source=self.source,
            source_name=self.source_file.name,
            kernel=self.kernel,
            launch=launch,
            defines=MappingProxyType(
                {name: str(rule.evaluate(values)) for name, rule in self.defines.items()}
            ),
            parameters=values,
            layout=self.layout,
            flops=self.flops.evaluate(values) if self.flops else None,
            expected=(lambda: _evaluate_all(self.expected, inputs, values))
            if self.expected
            else None,
            rung=self.name,
            arithmetic=self.arithmetic,
            nbytes=self.nbytes.evaluate(values) if self.nbytes else None,
        )

    def _complete(self, given: Mapping[str, Any]) -> dict[str, int]:
        wanted: dict[str, Any] = {}
        for name, value in given.items():
            for target in self.shorthands.get(name, (name,)):
                if target not in self.defaults:
                    raise ParameterError(self._unknown(name))
                if target in wanted:
                    raise ParameterError(f"{target} is given twice, once through a shorthand.")
                wanted[target] = value
        return {p.name: p.check(wanted.get(p.name, p.default)) for p in self.parameters}

    def _unknown(self, name: str) -> str:
        names = [*self.defaults, *self.shorthands]
        close = difflib.get_close_matches(name, names, 1)
        hint = f": did you mean {close[0]}? It" if close else ": it"
        return f"{self.name} has no parameter {name}{hint} has {listing(names)}."

    def _check_threads(self, values: Mapping[str, int]) -> None:
        block = _dim3(self.block, values)
        if block.count > MAX_THREADS_PER_BLOCK:
            fits: _Fits = lambda v: _dim3(self.block, v).count <= MAX_THREADS_PER_BLOCK  # noqa: E731
            raise ParameterError(
                f"A block of {block} is {block.count} threads and CUDA allows "
                f"{MAX_THREADS_PER_BLOCK}: {self._remedy(self.block, values, fits)}."
            )
        if _exceeds(block, MAX_BLOCK):
            raise ParameterError(f"A block of {block} is too long: CUDA allows {MAX_BLOCK}.")

    def _check_shared(self, values: Mapping[str, int]) -> None:
        for rule, most in (
            (self.shared_bytes, MAX_STATIC_SHARED_BYTES),
            (self.dynamic_shared_bytes, MAX_SHARED_BYTES),
        ):
            used = rule.evaluate(values)
            if used > most:
                fits: _Fits = lambda v, r=rule, m=most: r.evaluate(v) <= m  # type: ignore[misc] # noqa: E731
                raise ParameterError(
                    f"A block would need {used} bytes of shared memory and has {most}: "
                    f"{self._remedy((rule,), values, fits)}."
                )

    def _check_grid(self, values: Mapping[str, int]) -> None:
        grid = _dim3(self.grid, values)
        if _exceeds(grid, MAX_GRID):
            raise ParameterError(
                f"A grid of {grid} blocks is too large (CUDA allows {MAX_GRID}): "
                "use larger blocks or smaller arrays."
            )

    def _check_memory(self, values: Mapping[str, int]) -> None:
        rules = [rule for rule in self.arguments if isinstance(rule, ArrayRule)]
        needed = sum(rule.nbytes(values) for rule in rules)
        if needed > MAX_ARRAY_BYTES:
            fits: _Fits = lambda v: sum(r.nbytes(v) for r in rules) <= MAX_ARRAY_BYTES  # noqa: E731
            extents = tuple(extent for rule in rules for extent in rule.shape)
            raise ParameterError(
                f"The arrays would take {needed / 1e9:.1f} GB and at most "
                f"{MAX_ARRAY_BYTES / 1e9:.0f} GB are allowed: "
                f"{self._remedy(extents, values, fits)}."
            )

    def _remedy(
        self, causes: tuple[IntExpression, ...], values: Mapping[str, int], fits: _Fits
    ) -> str:
        """'use n of at most 18257', or which parameters to make smaller where there are several."""
        used = frozenset[str]().union(*(cause.names for cause in causes))
        blamed = [p for p in self.parameters if p.name in used]
        if len(blamed) == 1:
            (one,) = blamed
            tried = range(one.minimum, values[one.name] + 1)
            most = bisect_left(tried, True, key=lambda v: not fits({**values, one.name: v}))
            if most > 0:
                return f"use {one.name} of at most {tried[most - 1]}"
        return f"make {listing([p.name for p in blamed], 'or')} smaller"


def _dim3(extents: tuple[IntExpression, ...], values: Mapping[str, int]) -> Dim3:
    return Dim3(*(extent.evaluate(values) for extent in extents))


def _exceeds(size: Dim3, limit: Dim3) -> bool:
    return size.x > limit.x or size.y > limit.y or size.z > limit.z


def listing(names: list[str], word: Literal["and", "or"] = "and") -> str:
    """'a, b and c'."""
    return f" {word} ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _evaluate_all(
    rules: Mapping[str, MatrixExpression],
    arrays: Mapping[str, NDArray[Any]],
    values: Mapping[str, int],
) -> Mapping[str, NDArray[np.float64]]:
    return {name: rule.evaluate(arrays, values) for name, rule in rules.items()}
