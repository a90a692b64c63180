"""Options of a sweep, whose values vary, and the plan that they make: to measure, scan or tune.

In texts of a file's launch a name in braces stands for its value.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from core.cli.named_launch import is_file
from core.cli.options import (
    FILE,
    SIZES,
    KernelName,
    option,
)
from core.errors import ArgumentError
from core.gpu.sweep_plan import (
    SIZE_NAMES,
    CublasKernel,
    FileKernel,
    Kernel,
    Plan,
    RungKernel,
    make_plan,
    parse_values,
)
from core.ladder import load_ladder
from core.ladder.rung import Rung
from core.side_process.client import stoppable
from core.source.template_instances import kernel_names
from core.user_files.launch_texts import FileLaunch
from core.user_files.sources_and_headers import read_source

ALL, CUBLAS = "all", "cublas"
SIZE_OF_MATRICES = 4096  # where none is given

Values = Annotated[
    str | None, option(metavar="VALUES", panel=SIZES, text="512,1024, 8..32 (doubling) or 0..4.")
]


@dataclass(frozen=True)
class Axes:
    """Values of the parameters that a sweep varies."""

    n: Values = None
    m: Values = None
    k: Values = None
    size: Annotated[
        str | None, option("--size", panel=SIZES, text="Sets every size that a kernel has.")
    ] = None
    tile: Values = None
    pad: Values = None
    block_x: Values = None
    block_y: Values = None


@dataclass(frozen=True)
class LaunchTexts:
    """The launch of a file as options say it, with names in braces for what a sweep varies."""

    kernel_name: KernelName = None
    grid: Annotated[
        str | None, option("--grid", panel=FILE, text='Blocks: "{n//tile},{n//tile}".')
    ] = None
    block: Annotated[
        str | None, option("--block", panel=FILE, text='Threads of a block: "{tile},{tile}".')
    ] = None
    shared: Annotated[str, option("--shared", panel=FILE, text="Dynamic shared memory, bytes.")] = (
        "0"
    )
    define: Annotated[
        list[str] | None, option("--define", "-D", panel=FILE, text='"TILE={tile}".')
    ] = None
    arg: Annotated[
        list[str] | None, option("--arg", panel=FILE, text='"A=float32[{n},{n}]", "N={n}".')
    ] = None
    flops: Annotated[str, option("--flops", panel=FILE, text='Its operations: "2*n*n*n".')] = ""

    def kernel_of(self, path: Path) -> FileKernel:
        """The kernel in a file; raises ArgumentError where the launch is not said."""
        source = read_source(path)
        names = stoppable(kernel_names, source)
        if self.kernel_name is None and len(names) != 1:
            raise ArgumentError(f"{path.name} has {len(names)} kernels: choose one with --kernel.")
        if self.grid is None or self.block is None:
            raise ArgumentError(
                f"Give the launch of {path.name}: --grid and --block, in which names in braces "
                'stand for parameters, as in --grid "{n//tile},{n//tile}" --block "{tile},'
                '{tile}".'
            )
        given = (text.partition("=") for text in self.arg or ())
        arguments = tuple((name.strip(), value) for name, _, value in given)
        launch = FileLaunch(
            str(path),
            self.kernel_name or names[0],
            self.grid,
            self.block,
            self.shared,
            shlex.join(self.define or ()),
            arguments,
        )
        return FileKernel(source, launch, self.flops)


@dataclass(frozen=True)
class CheckedLaunch(LaunchTexts):
    """The same, with what an output must be."""

    expect: Annotated[
        str, option("--expect", panel=FILE, text='What an output must be: "C = A @ B".')
    ] = ""

    def kernel_of(self, path: Path) -> FileKernel:
        """The same, with what its output must be."""
        return replace(super().kernel_of(path), expected=self.expect)


def values_of(texts: Mapping[str, str | None]) -> dict[str, tuple[int, ...]]:
    """The values of each axis that is given. Raises ParameterError for what is not a list."""
    return {name: parse_values(text, name) for name, text in texts.items() if text is not None}


def chosen_kernels(names: Sequence[str], launch: LaunchTexts) -> list[Kernel]:
    """What the names stand for: rungs, files, cuBLAS or the whole ladder. Raises TilescopeError."""
    ladder = load_ladder()
    chosen: list[Kernel] = []
    for name in names:
        if name == ALL:
            ours = (rung for rung in ladder.values() if rung.group == "ladder")
            chosen += [_rung(rung) for rung in ours]
        elif name == CUBLAS:
            chosen.append(CublasKernel())
        elif is_file(name):
            chosen.append(launch.kernel_of(Path(name)))
        else:
            chosen.append(_rung(ladder[name]))
    return chosen


def plan_of(chosen: Sequence[Kernel], axes: Mapping[str, Sequence[int]], seed: int) -> Plan:
    """Every kernel at every combination; raises TilescopeError, a single point's own reason too."""
    if len(chosen) == 1 and all(len(values) == 1 for values in axes.values()):
        single = {t: v[0] for axis, v in axes.items() for t in chosen[0].targets(axis) or (axis,)}
        chosen[0].subject(single, seed)  # says what is wrong with the only point
    return make_plan(chosen, axes, seed)


def _rung(rung: Rung) -> RungKernel:
    """A rung as one measures it: sizes that fill a GPU, blocks that are fast there."""
    matrices = rung.layout is not None
    sizes = {p.name: SIZE_OF_MATRICES for p in rung.parameters if p.name in SIZE_NAMES and matrices}
    return RungKernel(rung, sizes, tuned=True)


def settings_of(texts: Sequence[str], option: str = "--set") -> dict[str, str | None]:
    """`--set NAME=VALUES`, by name; raises ArgumentError."""
    found: dict[str, str | None] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        if not equals:
            raise ArgumentError(f"`{option} {text}` is not NAME=VALUES: write {option} n=64,128.")
        found[name.strip()] = values
    return found
