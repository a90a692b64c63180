"""Opens what a user brings, off the UI thread: a file and a launch for it, or a saved trace."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.errors import Cancelled, ParameterError, TilescopeError
from core.ladder.rung import DEFAULT_SEED

if TYPE_CHECKING:
    from core.compiler.kernel_parameters import KernelParameter
    from core.ladder import Ladder, Rung
    from core.ladder.input_arrays import Inputs
    from core.launch import Workload
    from core.user_files.launch_texts import FileLaunch
    from gui.background import Progress
    from gui.jobs.record_work import Recorded
    from gui.scenes.configuration import Configuration

NO_NUMBER = "{} is no longer a number in the source: run the edited text first."


@dataclass(frozen=True)
class Opened:
    """A file's kernels and a launch of one of them; `edited` is the text if not the file's own.

    `block` is the one to look at first, None for the one that is looked at; `pasted` is as in a
    `Configuration`.
    """

    launch: FileLaunch
    kernels: tuple[str, ...]
    signature: tuple[KernelParameter, ...]
    edited: str | None
    block: int | None = None
    pasted: str = ""


@dataclass(frozen=True)
class Loaded:
    """A saved trace, and what the form of a launch shows of it; None for a rung's.

    `inputs` is what a rung's arrays hold, of the random numbers of `seed`; None for a launch of
    one's own.
    """

    recorded: Recorded
    form: Opened | None
    inputs: Inputs | None = None
    seed: int = 0


def open_job(
    _: Progress,
    path: str,
    known: FileLaunch | None,
    kernel: str | None,
    text: str | None = None,
    is_edit: bool = True,
    linked: bool = False,
    block: int | None = None,
    pasted: str = "",
) -> Opened:
    """The work of opening `path`; gives an `Opened`, or raises TilescopeError.

    `known` is a launch to go on from, `kernel` one to guess anew. `text` stands in for the file's,
    and is an edit of it unless `is_edit` is False. `linked` says that `known` is a link's: what it
    leaves empty is guessed, and what the source has not is an error. `block` and `pasted` go
    along.
    """
    from core.guessing.launch_guess import launch_of
    from core.guessing.ptx_launch_guess import opened_ptx
    from core.side_process.client import apart
    from core.user_files.sources_and_headers import must_be_short_enough, read_source

    if path.endswith(".ptx"):
        opened = apart(opened_ptx, path, known, kernel, text)
        return Opened(*opened, text if is_edit else None, block, pasted)
    source = text if text is not None else read_source(Path(path))
    must_be_short_enough(source, "The text")
    found = apart(launch_of, source, path, known, kernel, linked)
    is_own = found[0].path == path
    if not is_own:  # the kernels lie in a file that this one includes
        source = read_source(Path(found[0].path))
    if known is None or linked:
        from core.guessing.trial_runs import tried

        found = (tried(source, found[0], known), *found[1:])
    edited = source if text is not None and is_edit and is_own else None
    return Opened(*found, edited, block, pasted)


def follow_job(_: Progress, shown: Configuration, after: FileLaunch) -> Configuration:
    """The work of fitting a PTX file's launch to an argument that was changed.

    Gives the `Configuration`; what cannot be fitted stays as it is typed, and says so when it runs.
    """
    from core.guessing.ptx_launch_guess import followed_ptx
    from core.side_process.client import apart

    assert shown.own is not None
    try:
        fitted = apart(followed_ptx, after.path, shown.own, after, shown.source)
    except Cancelled:
        raise
    except TilescopeError:
        fitted = after
    return replace(shown, own=fitted)


def load_job(_: Progress, path: str, ladder: Ladder, seed: int = DEFAULT_SEED) -> Loaded:
    """The work of reading a saved trace; gives a `Loaded`, or raises TilescopeError."""
    from core.links import checksum
    from core.recording.trace_files import load_trace
    from gui.jobs.record_work import Recorded
    from gui.scenes.configuration import Configuration, Origin
    from gui.scenes.prefetch import look_ahead

    trace = load_trace(Path(path))
    if not trace.recorded_blocks:
        raise TilescopeError(f"{path} has counts, but no block to step through.")
    workload, form, inputs = trace.workload, None, None
    source = workload.source
    if workload.rung in ladder.names:
        original = ladder[workload.rung].source
        edited = source if source != original else None
        shown = Configuration(workload.rung, workload.parameters, edited)
        inputs, seed = _inputs_of(ladder[workload.rung], workload, seed)
    else:
        original, form = source, _form_of(workload)
        shown = Configuration("", {}, source, form.launch, checksum(source))
    look_ahead(trace, trace.recorded_blocks[0])
    return Loaded(Recorded(trace, Origin(shown, original)), form, inputs, seed)


def _inputs_of(rung: Rung, workload: Workload, seed: int) -> tuple[Inputs, int]:
    """What a saved launch's arrays hold, of what the form offers: "random" if it is none of that.

    With the seed that gives it: `seed`, which the window has, or the usual one.
    A trace does not say it, and a record that is made anew has to begin with the same arrays.
    """
    from core.ladder.input_arrays import INPUTS

    def read(launched: Workload) -> list[NDArray[Any]]:
        return [array.data for array in launched.launch.arrays if array.role != "output"]

    saved = read(workload)
    try:
        for inputs, given in product(INPUTS, dict.fromkeys((seed, DEFAULT_SEED))):
            made = read(rung.workload_of(inputs, given, **workload.parameters))
            if len(made) == len(saved) and all(map(np.array_equal, made, saved)):
                return inputs, given
    except ParameterError:  # of a rung that has changed since
        pass
    return "random", seed


def _form_of(workload: Workload) -> Opened:
    """The form of a launch whose file may be gone: of a text in no file, its random arrays anew."""
    from core.guessing.launch_guess import launch_of
    from core.launch import ArrayArgument, ScalarArgument
    from core.side_process.client import apart
    from core.user_files.launch_texts import UNTITLED, FileLaunch

    launch = workload.launch
    texts = []
    for argument in launch.arguments:
        if isinstance(argument, ScalarArgument):
            texts.append((argument.name, str(argument.value)))
        elif isinstance(argument, ArrayArgument):
            fill = "zeros:" if argument.role == "output" else ""
            sizes = ",".join(map(str, argument.data.shape))
            texts.append((argument.name, f"{fill}{argument.data.dtype.name}[{sizes}]"))
    grid, block = (f"{size.x},{size.y},{size.z}" for size in (launch.grid, launch.block))
    defines = " ".join(f"{name}={value}" for name, value in workload.defines.items())
    shared = str(launch.shared_bytes)
    known = FileLaunch(UNTITLED, workload.kernel, grid, block, shared, defines, tuple(texts))
    try:
        found = apart(launch_of, workload.source, UNTITLED, known, None, True)
    except TilescopeError:  # PTX, or what the reader of signatures does not know
        found = known, (workload.kernel,), ()
    return Opened(*found, workload.source)


def turn_job(_: Progress, shown: Configuration, text: str, name: str, value: int) -> Configuration:
    """The work of setting a constant in a large text; gives the `Configuration` with it.

    Raises TilescopeError where it is no longer there.
    """
    from core.side_process.client import apart
    from gui.scenes.launch_form import turned

    try:
        return apart(turned, shown, text, "constant", name, value)
    except KeyError:
        raise TilescopeError(NO_NUMBER.format(name)) from None


def file_to_sweep_job(_: Progress, path: Path) -> tuple[str, str, FileLaunch]:
    """The work of reading a file to sweep; gives its name, its source and a launch to begin with.

    The launch has `{n}` and `{tile}` where they can be made out. Raises TilescopeError.
    """
    from core.guessing.launch_guess import guess_launch
    from core.user_files.sources_and_headers import read_source
    from gui.scenes.benchmark_setup import templated

    source = read_source(path)
    return path.name, source, templated(guess_launch(source, str(path)))
