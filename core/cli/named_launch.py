"""The launch that a command names: a rung with its sizes, or a kernel of one's own."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from core.errors import ArgumentError, ParameterError
from core.ladder import load_ladder, rung_of
from core.ladder.input_arrays import Inputs
from core.launch import Workload
from core.side_process.client import stoppable
from core.source.cuda_in_python import SOURCES
from core.trace import Trace
from core.trace.finding import Finding
from core.user_files.argument_texts import by_name
from core.user_files.launch_texts import (
    FileLaunch,
    file_workload,
    join_defines,
    parse_defines,
    split_defines,
)
from core.user_files.sources_and_headers import read_source

Given = Mapping[str, int]  # sizes of a rung, by name
Options = Mapping[str, Any]  # the launch of a file, as far as it is said
SEED = 7  # where a command does not let one choose


def chosen_workload(kernel: str, given: Given, launch: Options) -> Workload:
    """What another command names: a rung with its sizes, its arrays empty, or a CUDA source file.

    The file's launch has the sizes of its host, where these are known. Raises ParameterError and
    ArgumentError, saying which option is wrong.
    """
    if kernel.endswith(".ptx"):
        raise ArgumentError(
            f"{kernel} is PTX, which this command cannot compile: give a rung or a CUDA source "
            "(.cu), or take `tilescope trace` or `tilescope report`."
        )
    return named_launch(kernel, given, launch, SEED, blank=True).workload


def named_launch(
    name: str,
    given: Given,
    launch: Options,
    seed: int,
    *,
    blank: bool = False,
    inputs: Inputs | None = None,
) -> OwnLaunch:
    """The launch of a file, CUDA or PTX, or that of a rung, with `inputs` or `blank` arrays.

    Where arrays may be blank the launch is counted only: a file's has the sizes of its host.
    """
    if name.endswith(".ptx"):
        return _ptx_launch(Path(name), given, launch, seed)
    if is_file(name):
        return file_launch(Path(name), given, launch, seed, is_small=not blank)
    return OwnLaunch(_rung_workload(name, given, launch, seed, blank=blank, inputs=inputs))


def is_file(name: str) -> bool:
    """Whether the command's argument means a source file rather than a rung."""
    return name.endswith(SOURCES) or "/" in name or "\\" in name


def _rung_workload(
    name: str, given: Given, launch: Options, seed: int, *, blank: bool, inputs: Inputs | None
) -> Workload:
    """The launch of a rung with random `inputs` or others; its arrays are empty where `blank`."""
    if Path(name).exists() and name not in load_ladder():
        what = "a folder: name a file in it" if Path(name).is_dir() else "no source: name a file"
        raise ArgumentError(f"{name} is {what} that ends with .cu, .cuh, .ptx, .py or .ipynb.")
    rung = rung_of(name)
    if wrong := [option for option, value in launch.items() if value is not None]:
        raise ArgumentError(
            f"--{wrong[0].replace('_', '-')} is for a source file; the rung {name} is set with "
            f"{', '.join('--' + p.name.replace('_', '-') for p in rung.parameters)}."
        )
    if blank:
        return rung.blank_workload(**given)
    return rung.workload_of(inputs or "random", seed, **given)


def _ptx_launch(path: Path, given: Given, launch: Options, seed: int) -> OwnLaunch:
    """The launch of a PTX file's kernel; what is not given is guessed."""
    from core.guessing.ptx_launch_guess import complete_ptx
    from core.user_files.ptx_files import ptx_workload, read_ptx

    _refuse_sizes(given)
    for name in ("define", "include_dir", "include", "arch"):
        if launch.get(name):
            option = "-D" if name == "define" else f"--{name.replace('_', '-')}"
            raise ArgumentError(f"{option} is for a compiler; PTX is compiled already.")
    asked = _asked(path, launch)
    file = read_ptx(str(path), asked.kernel)
    whole = complete_ptx(file, asked)
    options = _options(asked, replace(whole, kernel=asked.kernel))
    return OwnLaunch(ptx_workload(file, whole, seed), options)


def _asked(path: Path, launch: Options) -> FileLaunch:
    """The launch of a file as far as options say it; "" for what they leave out."""
    return FileLaunch(
        str(path),
        launch.get("kernel") or "",
        launch.get("grid") or "",
        launch.get("block") or "",
        "" if launch.get("shared") is None else str(launch.get("shared")),
        join_defines(parse_defines(launch.get("define") or ())),
        tuple(by_name(launch.get("arg") or ()).items()),
        folders=shlex.join(_absolute(launch.get("include_dir") or ())),
        included=shlex.join(_absolute(launch.get("include") or ())),
        architecture=_architecture(launch.get("arch")),
        cluster=launch.get("cluster_dims") or "",
    )


@dataclass(frozen=True)
class OwnLaunch:
    """A launch, and what of it was guessed: of a file's kernel, CUDA or PTX.

    `options` would say that on the command line, "" where nothing was; `guessed` are the names of
    arguments and macros, `open` those of arguments that nothing in the source says.
    """

    workload: Workload
    options: str = ""
    guessed: frozenset[str] = frozenset()
    open: frozenset[str] = frozenset()
    launch: FileLaunch | None = None
    left_out: str = ""

    @property
    def guessed_contents(self) -> frozenset[str]:
        """Arrays whose elements are a guess: the program's own may be others.

        Zeros are none where something in the source says so.
        """
        texts = self.launch.arguments if self.launch is not None else ()
        return frozenset(
            name
            for name, text in texts
            if "[" in text
            and name in self.guessed
            and (name in self.open or not text.startswith("zeros:"))
        )

    def resting_on(self, trace: Trace) -> Mapping[Finding, tuple[str, ...]]:
        """The findings that guessed contents of arrays lead to, and which arrays these are."""
        from core.explain.data_dependent_addresses import resting_on

        return resting_on(trace, self.guessed_contents)


def faults(trace: Trace, own: OwnLaunch) -> tuple[Finding, ...]:
    """The findings that no other contents of guessed arrays can rule out."""
    from core.explain.data_dependent_addresses import is_left_open

    guessed = own.resting_on(trace)
    return tuple(f for f in trace.findings if f not in guessed or not is_left_open(trace, f))


def file_launch(
    path: Path, given: Given, launch: Options, seed: int, *, is_small: bool = True
) -> OwnLaunch:
    """The launch of a CUDA source file's kernel; what is not given is guessed and tried.

    Unless it is to be small it has the sizes of its host, where these are known and fit in memory.
    """
    from core.guessing.launch_guess import completed
    from core.guessing.trial_runs import fitted
    from core.user_files.repository_search import at_its_kernels

    _refuse_sizes(given)
    source, asked = at_its_kernels(read_source(path), _asked(path, launch))
    guess = stoppable(completed, source, asked)
    whole = fitted(source, guess, seed)
    workload = file_workload(source, whole, seed)
    if guess.host_grid and not asked.grid and not is_small:
        large = stoppable(completed, source, replace(asked, grid=guess.host_grid))
        with suppress(ArgumentError):  # of arrays that do not fit in memory
            launched = fitted(source, large, seed)
            workload = file_workload(source, launched, seed)
            guess, whole = large, launched
    macros = {*split_defines(whole.defines)} - {*split_defines(asked.defines)}
    names = {name for name, _ in whole.arguments} - {name for name, _ in asked.arguments}
    return OwnLaunch(
        workload,
        _options(asked, whole),
        frozenset(names | macros),
        guess.open,
        whole,
        guess.left_out,
    )


def _absolute(paths: Sequence[str]) -> list[str]:
    """Folders and files as they are found from anywhere; raises ArgumentError where one is not."""
    for path in paths:
        if not Path(path).exists():
            raise ArgumentError(f"There is no file or folder {path}.")
    return [str(Path(path).absolute()) for path in paths]


def _architecture(text: str | None) -> str:
    """`8.0`, `80`, `sm_80` and `compute_80` as the last of them."""
    if not text:
        return ""
    match = re.fullmatch(r"(?:sm_|compute_)?(\d{1,2})\.?(\d)([af]?)", text)
    if not match:
        raise ArgumentError(
            f"`--arch {text}` is not an architecture: write sm_80, compute_90 or 8.0."
        )
    return f"compute_{match[1]}{match[2]}{match[3]}"


def _options(asked: FileLaunch, whole: FileLaunch) -> str:
    """What was guessed, as it would be typed."""
    words = [
        (f"--{field}", getattr(whole, field))
        for field in ("kernel", "grid", "block", "shared")
        if not getattr(asked, field) and getattr(whole, field) not in ("", "0")
    ]
    if whole.cluster and not asked.cluster:
        words.append(("--cluster-dims", whole.cluster))
    included, defined = shlex.split(asked.included), split_defines(asked.defines)
    added = [path for path in shlex.split(whole.included) if path not in included]
    words += [("--include", os.path.relpath(path)) for path in added]
    macros = split_defines(whole.defines).items()
    words += [("-D", f"{name}={value}") for name, value in macros if name not in defined]
    known = dict(asked.arguments)
    words += [("--arg", f"{name}={text}") for name, text in whole.arguments if name not in known]
    return " ".join(f"{option} {shlex.quote(text)}" for option, text in words)


def _refuse_sizes(given: Given) -> None:
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
