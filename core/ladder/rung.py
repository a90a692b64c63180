"""A rung of the ladder: one kernel, what may be chosen for it, and the launch that follows.

What a row of the registry says of a parameter, a condition or an argument comes first, then the
rung, then what CUDA and this machine's memory allow its launches.
"""

from __future__ import annotations

import operator
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from core.errors import ParameterError, TilescopeError
from core.ladder.expressions import IntExpression, MatrixExpression, fill_in
from core.ladder.input_arrays import MAKERS, Inputs, poisoned
from core.launch import (
    MAX_ARRAY_BYTES,
    MAX_BLOCK,
    MAX_GRID,
    MAX_SHARED_BYTES,
    MAX_STATIC_SHARED,
    MAX_THREADS_PER_BLOCK,
    Arithmetic,
    ArrayArgument,
    Dim3,
    Launch,
    MatrixLayout,
    Role,
    ScalarArgument,
    Workload,
)
from core.tensor_maps import TensorMap, kind_of
from core.wording import listing

DEFAULT_SEED = 7
Values = Mapping[str, int]


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
class MapRule:
    """The tensor map that a kernel gets instead of an array's pointer: its box and swizzle."""

    box: tuple[IntExpression, ...]  # elements, the innermost dimension first
    swizzle: int  # bytes

    def make(self, data: NDArray[Any], values: Values) -> TensorMap:
        """Of one array. Raises LaunchError where the driver would refuse it."""
        box = [side.evaluate(values) for side in self.box]
        kind = kind_of(data.dtype)
        return TensorMap.of_array(data.shape, data.itemsize, box, self.swizzle, kind=kind)


@dataclass(frozen=True)
class ArrayRule:
    """How one array argument of a rung is made."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[IntExpression, ...]
    role: Role
    zeroed: bool = False  # rather than filled with inputs
    map: MapRule | None = None  # what the kernel gets instead of a pointer

    def make(
        self, values: Values, generator: Generator | None, inputs: Inputs = "random"
    ) -> ArrayArgument:
        """The argument: as `inputs` says where the kernel reads it, poisoned where it only writes.

        Without a generator it is all zeros, which costs no time at any size.
        """
        shape = tuple(extent.evaluate(values) for extent in self.shape)
        if generator is None or self.zeroed:
            data: NDArray[Any] = np.zeros(shape, self.dtype)
        elif self.role == "output":
            data = poisoned(self.dtype, shape)
        else:
            data = MAKERS[inputs](generator, self.dtype, shape)
        tensor_map = self.map.make(data, values) if self.map else None
        return ArrayArgument(self.name, data, self.role, map=tensor_map)

    def nbytes(self, values: Values) -> int:
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
        self, values: Values, _generator: Generator | None, _inputs: Inputs = "random"
    ) -> ScalarArgument:
        """The argument."""
        return ScalarArgument(self.name, self.dtype.type(self.value.evaluate(values)))


def dim3(extents: tuple[IntExpression, ...], values: Values) -> Dim3:
    """A size in blocks or threads."""
    return Dim3(*(extent.evaluate(values) for extent in extents))


Way = Literal["columns", "rows"]
WAYS: tuple[Way, ...] = get_args(Way)


@dataclass(frozen=True)
class Orientation:
    """What neighbouring values of threadIdx.x choose, and the rung in which they choose the other.

    `x` is "columns" where a warp runs along a row of the result, from column to column, and "rows"
    where it runs down a column.
    """

    x: Way
    other: str

    def __post_init__(self) -> None:
        if self.x not in WAYS:
            raise TilescopeError(f"mapping.x is {self.x!r}, and has to be {' or '.join(WAYS)}.")

    def rungs(self, name: str) -> Mapping[Way, str]:
        """The rung of each way, that of `name` with them."""
        return {way: name if way == self.x else self.other for way in WAYS}


@dataclass(frozen=True)
class Limit:
    """A condition that parameters must meet, and what to say where they do not."""

    fits: Callable[[Values], bool]
    sentence: Callable[[Values], str]


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
    tuned: tuple[Mapping[str, int], ...] = ()  # sets of parameters that are fast on a GPU
    cost: IntExpression | None = None  # by which one of them is chosen
    arithmetic: Arithmetic = "float32"
    nbytes: IntExpression | None = None  # read and written at least, if not every array whole
    mapping: Orientation | None = None  # which way x runs, and the rung where it runs the other

    @cached_property
    def defaults(self) -> Mapping[str, int]:
        """Each parameter's default."""
        return MappingProxyType({p.name: p.default for p in self.parameters})

    @cached_property
    def limits(self) -> tuple[Limit, ...]:
        """What CUDA and this machine's memory allow."""
        return _limits_of(self)

    def tuned_for(self, **parameters: int) -> Mapping[str, int]:
        """Parameters that are fast on a GPU at these sizes; what is not given is as by default.

        Of several sets it is the one of least cost, the first of equals.
        """
        if not self.tuned:
            return MappingProxyType({})
        known = {k: v for k, v in parameters.items() if k in self.defaults}
        if self.cost is None:
            return self.tuned[0]
        cost = self.cost.evaluate
        return min(self.tuned, key=lambda one: cost({**self.defaults, **known, **one}))

    def check(self, **parameters: int) -> Mapping[str, int]:
        """All parameters, checked, defaults filled in and shorthands spelt out.

        Raises ParameterError with one sentence that says what would work.
        """
        values = self._complete(parameters)
        for constraint in self.constraints:
            if not constraint.require.evaluate(values):
                raise ParameterError(fill_in(constraint.message, values))
        for limit in self.limits:
            if not limit.fits(values):
                raise ParameterError(limit.sentence(values))
        return MappingProxyType(values)

    def accepts(self, **parameters: int) -> bool:
        """Whether `check` would pass; quicker where it would not, for it words no reason."""
        try:
            values = self._complete(parameters)
        except ParameterError:
            return False
        return all(c.require.evaluate(values) for c in self.constraints) and all(
            limit.fits(values) for limit in self.limits
        )

    def workload(self, seed: int = DEFAULT_SEED, **parameters: int) -> Workload:
        """One launch with these parameters; inputs are random, outputs poisoned.

        Raises ParameterError as `check` does.
        """
        return self.workload_of("random", seed, **parameters)

    def workload_of(self, inputs: Inputs, seed: int = DEFAULT_SEED, **parameters: int) -> Workload:
        """The same launch, of arrays that hold what `inputs` says."""
        return self._workload(self.check(**parameters), np.random.default_rng(seed), inputs)

    def blank_workload(self, **parameters: int) -> Workload:
        """The same launch over arrays of zeros: enough where only addresses matter, at any size."""
        return self._workload(self.check(**parameters), None)

    def _workload(
        self,
        values: Values,
        generator: np.random.Generator | None,
        inputs: Inputs = "random",
    ) -> Workload:
        launch = Launch(
            grid=dim3(self.grid, values),
            block=dim3(self.block, values),
            arguments=tuple(rule.make(values, generator, inputs) for rule in self.arguments),
            shared_bytes=self.dynamic_shared_bytes.evaluate(values),
        )
        arrays = {array.name: array.data for array in launch.arrays}

        def truth() -> Mapping[str, NDArray[np.float64]]:
            return {name: rule.evaluate(arrays, values) for name, rule in self.expected.items()}

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
            expected=truth if self.expected else None,
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
        import difflib  # which is large, for mistakes alone

        names = [*self.defaults, *self.shorthands]
        close = difflib.get_close_matches(name, names, 1)
        hint = f": did you mean {close[0]}? It" if close else ": it"
        return f"{self.name} has no parameter {name}{hint} has {listing(names)}."


# What CUDA and this machine's memory allow a launch, and sentences for launches beyond that.


def _limits_of(rung: Rung) -> tuple[Limit, ...]:
    """All limits of a rung's launches, in the order in which they are checked."""
    return (
        _threads(rung),
        _block(rung),
        _shared(rung, rung.shared_bytes, MAX_STATIC_SHARED),
        _shared(rung, rung.dynamic_shared_bytes, MAX_SHARED_BYTES),
        _grid(rung),
        _memory(rung),
    )


def _threads(rung: Rung) -> Limit:
    def fits(values: Values) -> bool:
        return dim3(rung.block, values).count <= MAX_THREADS_PER_BLOCK

    def sentence(values: Values) -> str:
        block = dim3(rung.block, values)
        return (
            f"A block of {block} is {block.count} threads and CUDA allows "
            f"{MAX_THREADS_PER_BLOCK}: {_remedy(rung, rung.block, values, fits)}."
        )

    return Limit(fits, sentence)


def _block(rung: Rung) -> Limit:
    return Limit(
        lambda values: not _exceeds(dim3(rung.block, values), MAX_BLOCK),
        lambda values: (
            f"A block of {dim3(rung.block, values)} is too long: CUDA allows {MAX_BLOCK}."
        ),
    )


def _shared(rung: Rung, used: IntExpression, most: int) -> Limit:
    def fits(values: Values) -> bool:
        return used.evaluate(values) <= most

    def sentence(values: Values) -> str:
        return (
            f"A block would need {used.evaluate(values)} bytes of shared memory and has {most}: "
            f"{_remedy(rung, (used,), values, fits)}."
        )

    return Limit(fits, sentence)


def _grid(rung: Rung) -> Limit:
    return Limit(
        lambda values: not _exceeds(dim3(rung.grid, values), MAX_GRID),
        lambda values: (
            f"A grid of {dim3(rung.grid, values)} blocks is too large (CUDA allows {MAX_GRID}): "
            "use larger blocks or smaller arrays."
        ),
    )


def _memory(rung: Rung) -> Limit:
    rules = [rule for rule in rung.arguments if isinstance(rule, ArrayRule)]
    extents = tuple(extent for rule in rules for extent in rule.shape)

    def needed(values: Values) -> int:
        return sum(rule.nbytes(values) for rule in rules)

    def fits(values: Values) -> bool:
        return needed(values) <= MAX_ARRAY_BYTES

    def sentence(values: Values) -> str:
        return (
            f"The arrays would take {needed(values) / 1e9:.1f} GB and at most "
            f"{MAX_ARRAY_BYTES / 1e9:.0f} GB are allowed: {_remedy(rung, extents, values, fits)}."
        )

    return Limit(fits, sentence)


def _remedy(
    rung: Rung, causes: tuple[IntExpression, ...], values: Values, fits: Callable[[Values], bool]
) -> str:
    """'use n of at most 18257', or which parameters to make smaller where there are several."""
    used = frozenset[str]().union(*(cause.names for cause in causes))
    blamed = [p for p in rung.parameters if p.name in used]
    if len(blamed) == 1:
        (one,) = blamed
        tried = range(one.minimum, values[one.name] + 1)
        most = bisect_left(tried, True, key=lambda v: not fits({**values, one.name: v}))
        if most > 0:
            return f"use {one.name} of at most {tried[most - 1]}"
    return f"make {listing([p.name for p in blamed], 'or')} smaller"


def _exceeds(size: Dim3, limit: Dim3) -> bool:
    return size.x > limit.x or size.y > limit.y or size.z > limit.z


# Two rungs that differ in one thing: along which way of the matrices threadIdx.x runs.


def check_pairs(rungs: Mapping[str, Rung]) -> None:
    """Raise TilescopeError where a rung and the one with the other mapping do not agree."""
    for rung in rungs.values():
        if rung.mapping is not None:
            wrong = _disagreement(rung, rungs.get(rung.mapping.other), rung.mapping)
            if wrong:
                raise TilescopeError(f"rung {rung.name}, mapping: {wrong}.")


def _disagreement(rung: Rung, other: Rung | None, mapping: Orientation) -> str:
    if other is None:
        return f"there is no rung {mapping.other}"
    if other is rung:
        return "the other rung is this one"
    if other.mapping is None or other.mapping.other != rung.name:
        return f"{other.name} does not name {rung.name} as its other one"
    if other.mapping.x == mapping.x:
        return f"x runs along {mapping.x} in {other.name} as well"
    for what in ("parameters", "shorthands", "arguments", "layout", "expected"):
        if getattr(rung, what) != getattr(other, what):
            return f"{other.name} has other {what}"
    return ""


# Blocks of fewer threads: which parameters of a rung make them.


def smaller_block(
    rung: Rung, parameters: Mapping[str, int], most: int
) -> tuple[Dim3, Mapping[str, int]] | None:
    """The largest block of at most `most` threads, and all parameters with which it is made.

    Only what the block's shape depends on is changed, to no more than the largest of these now; of
    blocks alike the squarest is taken. None where there is no such block, or the present one is
    small enough.
    """
    now = rung.check(**parameters)
    if dim3(rung.block, now).count <= most:
        return None
    names = set().union(*(side.names for side in rung.block))
    changed = [p for p in rung.parameters if p.name in names]
    high = max(now[p.name] for p in changed) if changed else 0
    values = [[v for v in p.choices or _doublings(p.minimum, high) if v <= high] for p in changed]
    found = []
    for chosen in product(*values):
        one = {**now, **{p.name: v for p, v in zip(changed, chosen, strict=True)}}
        if rung.accepts(**one) and (block := dim3(rung.block, one)).count <= most:
            found.append(((block.count, -max(block)), block, one))
    return max(found, key=lambda row: row[0])[1:] if found else None


def _doublings(low: int, high: int) -> list[int]:
    """1, 2, 4 and so on, from `low` to `high`."""
    return [1 << power for power in range(high.bit_length()) if low <= 1 << power <= high]
