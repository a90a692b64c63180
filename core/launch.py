"""What is launched: grid, block and arguments, and the workload that a launch belongs to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Role = Literal["input", "output", "inout"]
# tf32: factors cut to 10 bits after the point; float16: factors of that type; sums in float32.
Arithmetic = Literal["float32", "tf32", "float16"]


@dataclass(frozen=True)
class Dim3:
    """CUDA's `dim3`: a size or an index in x, y and z."""

    x: int
    y: int = 1
    z: int = 1

    @property
    def count(self) -> int:
        """x * y * z."""
        return self.x * self.y * self.z

    def __str__(self) -> str:
        return f"{self.x} x {self.y}" + (f" x {self.z}" if self.z != 1 else "")


@dataclass(frozen=True)
class ArrayArgument:
    """A buffer in global memory that the kernel gets a pointer to.

    `data` is its content before the launch (any shape, row-major; made read-only). An "output" is
    poisoned by whoever makes it, so that an element the kernel forgets is seen.
    """

    name: str
    data: NDArray[Any]
    role: Role = "input"

    def __post_init__(self) -> None:
        data = np.ascontiguousarray(self.data)
        if data is self.data:
            data = data.view()
        data.flags.writeable = False
        object.__setattr__(self, "data", data)


@dataclass(frozen=True)
class ScalarArgument:
    """A scalar passed by value; `value` has the NumPy type of the kernel's parameter."""

    name: str
    value: np.generic


@dataclass(frozen=True)
class Launch:
    """One kernel launch. `arguments` are in the order of the kernel's signature."""

    grid: Dim3
    block: Dim3
    arguments: tuple[ArrayArgument | ScalarArgument, ...]
    shared_bytes: int = 0  # dynamic shared memory, the third number in <<<grid, block, shared>>>

    @property
    def arrays(self) -> tuple[ArrayArgument, ...]:
        """The buffers among the arguments, in order."""
        return tuple(a for a in self.arguments if isinstance(a, ArrayArgument))


@dataclass(frozen=True)
class MatrixLayout:
    """Which arrays are drawn as the matrices of C = A B: A left of C, B above it.

    For C = A Aᵀ `top` equals `left` and `top_transposed` is set.
    """

    left: str
    top: str
    result: str
    top_transposed: bool = False


@dataclass(frozen=True)
class Workload:
    """A kernel's source and one launch of it: what is traced, benchmarked and shown.

    `expected` computes each output's true value in float64, keyed by array name; `flops` counts a
    multiply-add as two. Both are None where nobody knows them (a user's own kernel). `nbytes` is
    what must be read and written at least, None where that is every array whole.
    """

    title: str
    source: str
    source_name: str
    kernel: str
    launch: Launch
    defines: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    parameters: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    layout: MatrixLayout | None = None
    flops: int | None = None
    expected: Callable[[], Mapping[str, NDArray[np.float64]]] | None = None
    rung: str | None = None
    arithmetic: Arithmetic = "float32"
    nbytes: int | None = None
