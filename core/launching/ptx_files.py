"""Launches of kernels in PTX files: their parameters come from the `.param` declarations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np

from core.compiler.compiler import Build, plain_name, resolve_entry
from core.compiler.kernel_signature import SignatureParameter
from core.errors import TilescopeError
from core.foreign_text import visible
from core.ladder.rules import listing
from core.ladder.rung import DEFAULT_SEED
from core.launch import Dim3, Launch, Workload
from core.launching.arguments import bind
from core.launching.file_launch import check_launch
from core.launching.user_files import read_source
from core.ptx.ast import Function, Module, Variable
from core.ptx.parser import parse

MOST_PTX = 64 << 20  # bytes of a PTX file


def ptx_workload(
    path: Path,
    kernel: str | None,
    grid: Dim3,
    block: Dim3,
    shared: int = 0,
    args: Sequence[str] = (),
    seed: int = DEFAULT_SEED,
) -> tuple[Workload, Build]:
    """One launch of a kernel in a PTX file, and the file as a build to record.

    The PTX is the source that is stepped through: what it says of another source (`.loc`) is left
    out. A parameter declared as a number is a scalar; one of 64 bits whose argument is
    a buffer is a pointer. Parameters are called as in the file, without the kernel's name, or
    `p0`, `p1` … Raises `TilescopeError` (`PtxSyntaxError`, `ArgumentError`, `LaunchError`).
    """
    text = re.sub(r"^[ \t]*\.loc\b[^\n]*", "", read_source(path, MOST_PTX), flags=re.MULTILINE)
    module = parse(text)
    name = _kernel(module, kernel, visible(path.name))
    function = module.functions[name]
    check_launch(grid, block, shared)
    arguments = bind(plain_name(name), _signature(function, args), args, seed)
    build = Build(
        kind="as_compiled",
        source=text,
        source_name=visible(path.name),
        defines=MappingProxyType({}),
        options=(),
        architecture=_architecture(module),
        ptx=text,
        diagnostics=(),
        entries=tuple(f.name for f in module.functions.values() if f.is_entry),
    )
    workload = Workload(
        title=visible(f"{path.name}: {plain_name(name)}"),
        source=text,
        source_name=visible(path.name),
        kernel=name,
        launch=Launch(grid, block, arguments, shared),
    )
    return workload, build


def _kernel(module: Module, kernel: str | None, file: str) -> str:
    entries = [f.name for f in module.functions.values() if f.is_entry]
    if kernel is not None:
        return resolve_entry(entries, kernel, file)
    if len(entries) == 1:
        return entries[0]
    if not entries:
        raise TilescopeError(f"{file} has no kernel: a kernel is a function marked .entry.")
    raise TilescopeError(f"{file} has several kernels: choose {listing(entries, 'or')}.")


def _architecture(module: Module) -> str:
    found = re.search(r"sm_(\w+)", module.target)
    return f"compute_{found[1]}" if found else "compute_90"


def _signature(function: Function, args: Sequence[str]) -> tuple[SignatureParameter, ...]:
    """The parameters, under names that an argument can be given for."""
    buffers = {a.partition("=")[0].strip() for a in args if _is_buffer(a.partition("=")[2])}
    names = [_name(function, v, i) for i, v in enumerate(function.parameters)]
    return tuple(
        _parameter(variable, name, name in buffers)
        for variable, name in zip(function.parameters, names, strict=True)
    )


def _name(function: Function, variable: Variable, index: int) -> str:
    """`k_param_0` is `p0`; a name that someone chose stays."""
    generated = re.fullmatch(re.escape(function.name) + r"_param_(\d+)", variable.name)
    plain = re.sub(r"\W", "_", variable.name.lstrip("%"))
    return f"p{generated[1]}" if generated else plain or f"p{index}"


def _is_buffer(value: str) -> bool:
    return "[" in value or value.strip().startswith("@")


def _parameter(variable: Variable, name: str, given_buffer: bool) -> SignatureParameter:
    kind = variable.type
    if variable.nbytes != kind.nbytes:
        raise TilescopeError(
            f"The parameter {variable.name} is a structure of {variable.nbytes} bytes: use "
            "numbers and pointers."
        )
    if given_buffer and kind.bits == 64 and not kind.is_float:
        return SignatureParameter(name, "pointer", None, is_pointer=True, is_const=False)
    dtype = np.dtype(f"u{kind.nbytes}") if kind.kind == "b" else kind.dtype
    return SignatureParameter(name, f".{kind.name}", dtype, is_pointer=False, is_const=False)
