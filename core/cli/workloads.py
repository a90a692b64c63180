"""The launch that a command names: a rung with its sizes, or a kernel of one's own."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.errors import ArgumentError, ParameterError

if TYPE_CHECKING:
    from core.ladder.buffers import Inputs
    from core.launch import Workload
    from core.launching.file_launch import FileLaunch


def chosen_workload(
    kernel: str,
    sizes: Mapping[str, int | None],
    launch: Mapping[str, Any],
    *,
    seed: int = 7,
) -> Workload:
    """What another command names: a rung with its sizes, its arrays empty, or a CUDA source file.

    Raises ParameterError and ArgumentError, saying which option is wrong.
    """
    given = {name: value for name, value in sizes.items() if value is not None}
    if kernel.endswith(".ptx"):
        raise ArgumentError("A PTX file can be traced only; give a rung or a CUDA source (.cu).")
    if is_file(kernel):
        return file_workload(Path(kernel), given, launch, seed)
    return rung_workload(kernel, given, launch, seed, blank=True)


def is_file(name: str) -> bool:
    """Whether the command's argument means a source file rather than a rung."""
    return name.endswith((".cu", ".cuh")) or "/" in name or "\\" in name


def rung_workload(
    name: str,
    given: Mapping[str, int],
    launch: Mapping[str, Any],
    seed: int,
    *,
    blank: bool,
    inputs: Inputs | None = None,
) -> Workload:
    """The launch of a rung with random `inputs` or others; its arrays are empty where `blank`."""
    from core.ladder import load_ladder

    rung = load_ladder()[name]
    if wrong := [option for option, value in launch.items() if value is not None]:
        raise ArgumentError(
            f"--{wrong[0]} is for a source file; the rung {name} is set with "
            f"{', '.join('--' + p.name.replace('_', '-') for p in rung.parameters)}."
        )
    if blank:
        return rung.blank_workload(**given)
    return rung.workload_of(inputs or "random", seed, **given)


def ptx_launch(
    path: Path, given: Mapping[str, int], launch: Mapping[str, Any], seed: int
) -> tuple[Workload, str]:
    """The launch of a PTX file's kernel, and the options that would say what was guessed."""
    from core.launching.ptx_files import ptx_workload, read_ptx
    from core.launching.ptx_guess import complete_ptx

    _refuse_sizes(given)
    if launch["define"] is not None:
        raise ArgumentError("-D is for a compiler; PTX is compiled already.")
    asked = _asked(path, launch)
    file = read_ptx(str(path), asked.kernel)
    whole = complete_ptx(file, asked)
    return ptx_workload(file, whole, seed), _options(asked, replace(whole, kernel=asked.kernel))


def _asked(path: Path, launch: Mapping[str, Any]) -> FileLaunch:
    """The launch of a file as far as options say it; "" for what they leave out."""
    from core.launching.arguments import by_name
    from core.launching.file_launch import FileLaunch, join_defines, parse_defines

    return FileLaunch(
        str(path),
        launch.get("kernel") or "",
        launch.get("grid") or "",
        launch.get("block") or "",
        "" if launch.get("shared") is None else str(launch.get("shared")),
        join_defines(parse_defines(launch.get("define") or ())),
        tuple(by_name(launch.get("arg") or ()).items()),
    )


def file_workload(
    path: Path, given: Mapping[str, int], launch: Mapping[str, Any], seed: int
) -> Workload:
    """The launch of a CUDA source file's kernel; what is not given is guessed."""
    return file_launch(path, given, launch, seed)[0]


def file_launch(
    path: Path, given: Mapping[str, int], launch: Mapping[str, Any], seed: int
) -> tuple[Workload, str]:
    """The launch of a CUDA source file's kernel, and the options that would say what was guessed.

    The options are "" where nothing was.
    """
    from core.launching.file_launch import file_workload as workload_of
    from core.launching.guess import complete
    from core.launching.user_files import read_source
    from core.side_process.client import stoppable

    _refuse_sizes(given)
    asked = _asked(path, launch)
    source = read_source(path)
    whole = stoppable(complete, source, asked)
    return workload_of(source, whole, seed), _options(asked, whole)


def _options(asked: FileLaunch, whole: FileLaunch) -> str:
    """What was guessed, as it would be typed."""
    from core.launching.file_launch import split_defines

    words = [
        f"--{field} {shlex.quote(getattr(whole, field))}"
        for field in ("kernel", "grid", "block", "shared")
        if not getattr(asked, field) and getattr(whole, field) not in ("", "0")
    ]
    said = split_defines(asked.defines)
    words += [
        f"-D {shlex.quote(f'{name}={value}')}"
        for name, value in split_defines(whole.defines).items()
        if name not in said
    ]
    known = dict(asked.arguments)
    words += [
        f"--arg {shlex.quote(f'{name}={text}')}"
        for name, text in whole.arguments
        if name not in known
    ]
    return " ".join(words)


def _refuse_sizes(given: Mapping[str, int]) -> None:
    if given:
        name = next(iter(given))
        raise ParameterError(
            f"--{name.replace('_', '-')} is for a rung; give a file's sizes with --grid, --block, "
            "-D and --arg."
        )


def parse_settings(texts: Sequence[str]) -> dict[str, int]:
    """What `--set NAME=NUMBER` sets. Raises ParameterError."""
    found = {}
    for text in texts:
        match = re.fullmatch(r"(\w+)=(-?\d+)", text)
        if not match:
            raise ParameterError(f"`--set {text}` is not NAME=NUMBER, such as n=64.")
        found[match[1]] = int(match[2])
    return found
