"""What to benchmark and how, in a form that travels to the worker process.

It is pickled: mappings are dictionaries, and no read-only views of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from core.errors import TilescopeError
from core.ladder.expressions import IntExpression, MatrixExpression, fill_in
from core.ladder.input_arrays import poisoned, random_array
from core.ladder.rung import DEFAULT_SEED
from core.launch import ArrayArgument, Dim3, Launch, MatrixLayout, Workload
from core.user_files.launch_texts import FileLaunch, file_workload


@dataclass(frozen=True)
class RungSubject:
    """A rung of the ladder by its name: the worker builds the arrays, so nothing large travels."""

    rung: str
    parameters: Mapping[str, int]
    seed: int = DEFAULT_SEED
    source: str | None = None  # where the rung's text was edited: what to compile instead

    def workload(self) -> Workload:
        """Builds it; raises ParameterError."""
        from core.ladder import load_ladder

        workload = load_ladder()[self.rung].workload(seed=self.seed, **self.parameters)
        if self.source is None:
            return workload
        return replace(workload, source=self.source, title=f"{workload.title}, edited", rung=None)


@dataclass(frozen=True)
class FileSubject:
    """A kernel in a file, with a launch of texts in which `{n // tile}` and the like are filled in.

    `parameters` are the values for them. `flops` is an expression over the parameters, as in
    `2*n*n*n` ("": not known); `expected` says what an output must be, as in `C = A @ B` ("": the
    result is not checked). An array that `expected` names is written, never read: it is poisoned.
    """

    source: str
    launch: FileLaunch
    parameters: Mapping[str, int]
    flops: str = ""
    expected: str = ""
    seed: int = DEFAULT_SEED

    def workload(self) -> Workload:
        """Builds it; raises TilescopeError (FieldErrors for the launch's texts)."""
        workload = file_workload(
            self.source, _filled_launch(self.launch, self.parameters), self.seed
        )
        flops = IntExpression(self.flops).evaluate(self.parameters) if self.flops.strip() else None
        workload = replace(workload, parameters=dict(self.parameters), flops=flops)
        return _with_truth(workload, self.expected) if self.expected.strip() else workload


def _filled_launch(launch: FileLaunch, values: Mapping[str, int]) -> FileLaunch:
    """The launch with every `{expression}` in its texts replaced by its value."""
    return replace(
        launch,
        grid=fill_in(launch.grid, values),
        block=fill_in(launch.block, values),
        shared=fill_in(launch.shared, values),
        defines=fill_in(launch.defines, values),
        arguments=tuple((name, fill_in(text, values)) for name, text in launch.arguments),
    )


def _with_truth(workload: Workload, equation: str) -> Workload:
    """The workload with `C = A @ B` as the truth of its output C, which is poisoned.

    Raises TilescopeError where it is not an equation, or names no array of the launch.
    """
    name, equals, text = (part.strip() for part in equation.partition("="))
    arrays = {a.name: a for a in workload.launch.arrays}
    if not equals or name not in arrays:
        raise TilescopeError(
            f"`{equation}` does not say what an output must be: write `C = A @ B`, with names of "
            f"the kernel's arrays ({', '.join(arrays)})."
        )
    rule, layout = MatrixExpression(text), _product(text, name)
    if layout is not None:
        _check_shapes(equation, layout, workload.launch)
    output = replace(
        arrays[name], role="output", data=poisoned(arrays[name].data.dtype, arrays[name].data.shape)
    )
    arguments = tuple(output if a.name == name else a for a in workload.launch.arguments)
    inputs = {a.name: a.data for a in workload.launch.arrays if a.name != name}
    return replace(
        workload,
        launch=replace(workload.launch, arguments=arguments),
        layout=layout,
        expected=lambda: {name: rule.evaluate(inputs)},
    )


def _product(text: str, result: str) -> MatrixLayout | None:
    """A plain product's factors, whose rounding bound is known; None for anything else."""
    factors = re.fullmatch(r"([A-Za-z_]\w*)\s*@\s*([A-Za-z_]\w*)", text)
    return None if factors is None else MatrixLayout(factors[1], factors[2], result)


def _check_shapes(equation: str, layout: MatrixLayout, launch: Launch) -> None:
    shapes = {a.name: a.data.shape for a in launch.arrays}
    found = [shapes.get(name, ()) for name in (layout.left, layout.top, layout.result)]
    if [len(shape) for shape in found] == [2, 2, 2]:
        (m, k), (inner, n), result = found
        if k == inner and result == (m, n):
            return
    said = ", ".join(
        f"{name} is {list(shape)}"
        for name, shape in zip((layout.left, layout.top, layout.result), found, strict=True)
    )
    raise TilescopeError(
        f"`{equation}` does not fit the arrays ({said}): give them two sizes each, as in "
        "A=float32[{n},{n}]."
    )


@dataclass(frozen=True)
class CublasSubject:
    """NVIDIA's SGEMM on random A (m x k) and B (k x n): the yardstick beside the ladder."""

    parameters: Mapping[str, int]
    seed: int = DEFAULT_SEED

    def workload(self) -> Workload:
        """Builds it. `n` alone makes all three sizes."""
        n = self.parameters["n"]
        m, k = self.parameters.get("m", n), self.parameters.get("k", n)
        generator = np.random.default_rng(self.seed)
        single = np.dtype(np.float32)
        a, b = (random_array(generator, single, shape) for shape in ((m, k), (k, n)))
        return Workload(
            title="cuBLAS SGEMM",
            source="",
            source_name="cuBLAS",
            kernel="cublasSgemm",
            launch=Launch(
                Dim3(1),
                Dim3(1),
                (
                    ArrayArgument("A", a),
                    ArrayArgument("B", b),
                    ArrayArgument("C", poisoned(single, (m, n)), "output"),
                ),
            ),
            parameters=dict(self.parameters),
            layout=MatrixLayout("A", "B", "C"),
            flops=2 * m * n * k,
            expected=lambda: {"C": a.astype(np.float64) @ b.astype(np.float64)},
        )


@dataclass(frozen=True)
class WorkloadSubject:
    """Any workload, arrays and all, as `of` packs it: a user's own kernel."""

    packed: Workload
    seed: int | None = None

    @classmethod
    def of(cls, workload: Workload) -> WorkloadSubject:
        """Packs a workload; evaluates its `expected`, which may take seconds for large arrays."""
        expected = workload.expected
        return cls(
            replace(
                workload,
                defines=dict(workload.defines),
                parameters=dict(workload.parameters),
                headers=dict(workload.headers),
                expected=None if expected is None else partial(dict, dict(expected())),
            )
        )

    @property
    def parameters(self) -> Mapping[str, int]:
        """The workload's own."""
        return self.packed.parameters

    def workload(self) -> Workload:
        """The workload again."""
        return self.packed


Subject = RungSubject | FileSubject | CublasSubject | WorkloadSubject


@dataclass(frozen=True)
class Timing:
    """How long and how well to time.

    budget_s: stop after this many seconds of timing. stable: stop when the median is known to
    within this fraction. launch_limit_s: a launch that takes longer counts as endless.
    """

    budget_s: float = 5.0
    stable: float = 0.001
    minimum: int = 20
    maximum: int = 2000
    warm_up: int = 3
    flush_l2: bool = True
    launch_limit_s: float = 30.0


@dataclass(frozen=True)
class BenchmarkJob:
    """One point of a sweep."""

    subject: Subject
    timing: Timing = Timing()
