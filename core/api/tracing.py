"""Recording a launch from a program: of a file, of a text, or of a rung of the ladder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from core.api.trace_api import Record
from core.compiler.compiler import BuildKind
from core.errors import ArgumentError, ParameterError
from core.guessing.first_launch import completed
from core.guessing.fitting_launch import fitted
from core.ladder import load_ladder
from core.ladder.rung import DEFAULT_SEED
from core.launch import Argument, ArrayArgument, InlineArgument, Workload
from core.own_files.file_launch import FileLaunch, at_its_kernels, file_workload, join_defines
from core.own_files.sources_and_headers import read_source
from core.recording.record_launch import record
from core.recording.trace_files import load_trace
from core.source.cuda_in_python import ENDINGS

Size = int | Sequence[int]
_TEXT = "untitled.cu"


def trace(
    source: str | Path,
    /,
    *,
    kernel: str = "",
    grid: Size | None = None,
    block: Size | None = None,
    shared: int | None = None,
    defines: Mapping[str, object] | None = None,
    seed: int = DEFAULT_SEED,
    blocks: Sequence[int] | None = None,
    build: BuildKind = "as_written",
    arguments: Mapping[str, Any] | None = None,
    **more: Any,
) -> Record:
    """Run a kernel in the emulator and record it; no GPU is needed.

    source: a .cu file, CUDA C++ text (with a `__global__` in it), or a rung's name. grid, block: an
    int or up to three, x first. shared: bytes of dynamic shared memory. blocks: linear indices of
    those to record, all where None (the counts are of the whole launch in any case).

    Further names are the kernel's arguments: arrays of NumPy, or of CuPy and others that NumPy
    takes, and numbers; of a rung, its parameters. `arguments` holds those whose names are
    parameters here. What is left out is guessed from the source, arrays are random by `seed`. An
    array must have the type of the kernel's pointer; it is copied.

    Raises TilescopeError, with one sentence, for what does not compile, fit or run.
    """
    if build not in get_args(BuildKind):
        raise ParameterError(f"There is no build {build}: use {' or '.join(get_args(BuildKind))}.")
    if seed < 0:
        raise ParameterError(f"The seed is {seed}: use 0 or more.")
    given = {**(arguments or {}), **more}
    launch = {"kernel": kernel, "grid": grid, "block": block, "shared": shared, "defines": defines}
    text = str(source)
    if "__global__" in text or text.endswith((".cu", ".cuh", *ENDINGS)):
        workload = _of_source(source, text, given, launch, seed)
    else:
        workload = _of_rung(text, given, launch, seed)
    return Record(record(workload, blocks=blocks, kind=build))


def load(path: str | Path) -> Record:
    """A record that was saved to a .npz file. Raises TilescopeError."""
    return Record(load_trace(Path(path)))


def rungs() -> tuple[str, ...]:
    """The names of the ladder's kernels, which `trace` takes."""
    return tuple(load_ladder().names)


def _of_rung(name: str, given: Mapping[str, Any], launch: Mapping[str, Any], seed: int) -> Workload:
    for option, value in launch.items():
        if value:
            raise ParameterError(f"`{option}` is for a source file; a rung has parameters only.")
    return load_ladder()[name].workload_of("random", seed, **given)


def _of_source(
    source: str | Path, text: str, given: Mapping[str, Any], launch: Mapping[str, Any], seed: int
) -> Workload:
    path = _TEXT if "__global__" in text else str(Path(source).absolute())
    code = text if path == _TEXT else read_source(Path(source))
    arrays = {name: _array(value) for name, value in given.items() if np.ndim(value)}
    texts = {name: f"zeros:{_described(name, data)}" for name, data in arrays.items()}
    texts |= {name: str(value) for name, value in given.items() if name not in arrays}
    defines = {name: str(value) for name, value in (launch["defines"] or {}).items()}
    asked = FileLaunch(
        path,
        launch["kernel"],
        _size(launch["grid"]),
        _size(launch["block"]),
        "" if launch["shared"] is None else str(launch["shared"]),
        join_defines(defines),
        tuple(texts.items()),
    )
    code, asked = at_its_kernels(code, asked)
    whole = fitted(code, completed(code, asked), seed)
    return _with_arrays(file_workload(code, whole, seed), arrays, given)


def _with_arrays(
    workload: Workload, arrays: Mapping[str, np.ndarray[Any, Any]], given: Mapping[str, Any]
) -> Workload:
    """The launch with the arrays that were given in the place of empty ones."""
    launch = workload.launch
    known = {argument.name for argument in (*launch.arguments, *launch.symbols)}
    if unknown := [name for name in given if name not in known]:
        raise ArgumentError(
            f"{workload.kernel} has no parameter {unknown[0]}: it has {', '.join(sorted(known))}."
        )
    taken, symbols = (
        tuple(_filled(argument, arrays.get(argument.name)) for argument in part)
        for part in (launch.arguments, launch.symbols)
    )
    return replace(workload, launch=replace(launch, arguments=taken, symbols=symbols))


def _filled(argument: Argument, data: np.ndarray[Any, Any] | None) -> Argument:
    if data is not None and isinstance(argument, ArrayArgument):
        return replace(argument, data=data, is_own=True)
    if data is not None and isinstance(argument, InlineArgument):
        return replace(argument, value=data.reshape(argument.value.shape))
    return argument


def _array(value: Any) -> np.ndarray[Any, Any]:
    """A copy in this machine's memory and byte order; CuPy's arrays have `get` for that."""
    if not isinstance(value, np.ndarray) and hasattr(value, "get"):
        value = value.get()
    data = np.array(value, order="C", copy=True)
    return data.astype(data.dtype.newbyteorder("="), copy=False)


def _described(name: str, data: np.ndarray[Any, Any]) -> str:
    if data.size == 0:
        raise ArgumentError(f"The array {name} is empty: a kernel needs one with elements.")
    return f"{data.dtype.name}[{','.join(map(str, data.shape))}]"


def _size(value: Size | None) -> str:
    if value is None:
        return ""
    return ",".join(map(str, value)) if np.ndim(value) else str(value)  # type: ignore[arg-type]
