"""What a row of the ladder says of one parameter, one condition or one argument."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from core.errors import ParameterError
from core.ladder.expressions import IntExpression
from core.ladder.input_arrays import MAKERS, Inputs, poisoned
from core.launch import ArrayArgument, Dim3, Role, ScalarArgument
from core.tensor_maps import TensorMap, kind_of


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

    def make(self, data: NDArray[Any], values: Mapping[str, int]) -> TensorMap:
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
        self, values: Mapping[str, int], generator: Generator | None, inputs: Inputs = "random"
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
        self, values: Mapping[str, int], _generator: Generator | None, _inputs: Inputs = "random"
    ) -> ScalarArgument:
        """The argument."""
        return ScalarArgument(self.name, self.dtype.type(self.value.evaluate(values)))


def dim3(extents: tuple[IntExpression, ...], values: Mapping[str, int]) -> Dim3:
    """A size in blocks or threads."""
    return Dim3(*(extent.evaluate(values) for extent in extents))


def listing(names: list[str], word: Literal["and", "or"] = "and") -> str:
    """'a, b and c'."""
    return f" {word} ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def assignments(values: Mapping[str, Any]) -> str:
    """'n = 64, tile = 8'."""
    return ", ".join(f"{name} = {value}" for name, value in values.items())
