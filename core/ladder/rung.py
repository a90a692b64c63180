"""A rung of the ladder: one kernel, what may be chosen for it, and the launch that follows."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import ParameterError
from core.ladder.buffers import Inputs
from core.ladder.expressions import IntExpression, MatrixExpression, fill_in
from core.ladder.limits import Limit, limits_of
from core.ladder.orientation import Orientation
from core.ladder.rules import ArrayRule, Constraint, Parameter, ScalarRule, dim3, listing
from core.launch import Arithmetic, Launch, MatrixLayout, Workload

DEFAULT_SEED = 7


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
        return limits_of(self)

    def tuned_for(self, **parameters: int) -> Mapping[str, int]:
        """Parameters that are fast on a GPU at these sizes; what is not given is as by default.

        Of several sets it is the one of least cost, the first of equals.
        """
        if not self.tuned:
            return MappingProxyType({})
        known = {k: v for k, v in parameters.items() if k in self.defaults}
        return min(self.tuned, key=lambda one: self._cost({**self.defaults, **known, **one}))

    def _cost(self, values: Mapping[str, int]) -> int:
        return self.cost.evaluate(values) if self.cost else 0

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
        values: Mapping[str, int],
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
            expected=(lambda: _evaluate_all(self.expected, arrays, values))
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


def _evaluate_all(
    rules: Mapping[str, MatrixExpression],
    arrays: Mapping[str, NDArray[Any]],
    values: Mapping[str, int],
) -> Mapping[str, NDArray[np.float64]]:
    return {name: rule.evaluate(arrays, values) for name, rule in rules.items()}
