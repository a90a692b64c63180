"""The work behind a record: what is run of a launch, and what is counted of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.cancelling import within
from core.errors import TilescopeError
from core.garbage_collection import uncollected
from core.user_files.launch_texts import UNTITLED
from gui.scenes.configuration import Conditions, Configuration, Origin
from gui.scenes.prefetch import Standpoint, look_ahead
from gui.scenes.session import source_key

if TYPE_CHECKING:
    from core.ladder import Ladder
    from core.launch import Workload
    from core.recording.count_launch import Counted
    from core.trace import Trace
    from core.user_files.launch_texts import FileLaunch
    from gui.background import Progress
    from gui.scenes.configuration import Profile

DEFAULT = Conditions()
WHOLE_LAUNCH_FLOPS = 8_000_000
"""Up to this much arithmetic every block is run and counted; beyond, only the block looked at."""

COUNTING_S = 30.0
"""Counting the rest of a large launch is given up after so long: every block may have to run."""


def _runs_whole(workload: Workload) -> bool:
    """Whether every block of the launch is run, so that the counts are of the whole launch."""
    launch = workload.launch
    size = workload.flops or 64 * launch.grid.count * launch.block.count
    return size <= WHOLE_LAUNCH_FLOPS


@dataclass(frozen=True)
class Recorded:
    """What the work of recording gives."""

    trace: Trace
    origin: Origin


def make_workload(
    ladder: Ladder, wanted: Configuration, given: Conditions = DEFAULT
) -> tuple[Workload, str]:
    """The launch that a configuration asks for, and its source before any edit.

    A rung's arrays hold what `given.inputs` says, of the random numbers of `given.seed`.

    Raises TilescopeError.
    """
    from core.user_files.sources_and_headers import must_be_short_enough

    if wanted.source is not None:
        must_be_short_enough(wanted.source, "The text")
    if wanted.own is not None:
        return _file_workload(wanted.own, wanted.source, given.seed)
    values: dict[str, Any] = dict(wanted.parameters)
    workload = ladder[wanted.rung].workload_of(given.inputs, given.seed, **values)
    original = workload.source
    if wanted.source is not None:
        workload = replace(workload, source=wanted.source)
    return workload, original


def _file_workload(launch: FileLaunch, edited: str | None, seed: int) -> tuple[Workload, str]:
    """An edited text is enough: the file itself may be gone by now, or there is none."""
    from core.user_files.launch_texts import file_workload
    from core.user_files.sources_and_headers import read_source

    if launch.path.endswith(".ptx"):
        return _ptx_workload(launch, edited, seed)
    if edited is not None and launch.path == UNTITLED:
        return file_workload(edited, launch, seed), edited
    try:
        original = read_source(Path(launch.path))
    except TilescopeError:
        if edited is None:
            raise
        original = edited
    return file_workload(original if edited is None else edited, launch, seed), original


def _ptx_workload(launch: FileLaunch, edited: str | None, seed: int) -> tuple[Workload, str]:
    """PTX may be edited; the text that it was compiled from is another compiler's."""
    from core.user_files.ptx_files import ptx_workload, read_ptx
    from core.user_files.sources_and_headers import must_be_short_enough

    file = read_ptx(launch.path, launch.kernel)
    original = file.source
    if edited is not None and edited != original:
        if file.has_source:
            raise TilescopeError(
                f"{file.source_name} was compiled to {file.name} elsewhere: change it there, "
                "compile it, and open the new PTX."
            )
        file = read_ptx(launch.path, launch.kernel, edited)
    must_be_short_enough(file.source, file.source_name)
    return ptx_workload(file, launch, seed), original


def record_job(
    progress: Progress,
    ladder: Ladder,
    wanted: Configuration,
    block: int,
    at: Standpoint | None = None,
    given: Conditions = DEFAULT,
) -> Recorded:
    """The work of recording a configuration's launch; gives a `Recorded`.

    `at` is where the record that is shown now is looked at: the new one probably will be, too, and
    what is shown of it is worked out ahead.
    """
    from core.recording.record_launch import CutShort, record
    from core.source.constants import knobs

    workload, original = make_workload(ladder, wanted, given)
    whole = _runs_whole(workload)
    block_shown = min(block, workload.launch.grid.count - 1)
    try:
        trace = record(
            workload,
            blocks=None if whole else [block_shown],
            only_recorded=not whole,
            order=given.order,
            seed=given.seed,
            progress=progress,
        )
    except CutShort as error:  # what ran until then is shown all the same
        trace = error.so_far
    mapping = ladder[wanted.rung].mapping if wanted.own is None else None
    twin = mapping.other if mapping is not None else ""
    continues = at is not None and at.source in (source_key(trace), twin)
    with uncollected():  # the colours of a text of a megabyte are a million objects
        look_ahead(trace, block_shown, at if continues else None)
        if wanted.own is not None:
            knobs(workload.source)  # kept there
    return Recorded(trace, Origin(wanted, original, twin))


def count_job(progress: Progress, trace: Trace) -> Counted:
    """The work of counting the whole launch of a trace."""
    from core.recording.count_launch import count

    with within(COUNTING_S, f"The launch was not counted within {COUNTING_S:.0f} s."):
        return count(trace.workload, build=trace.build, progress=progress)


def profile_job(progress: Progress, path: Path, workload: Workload) -> Profile:
    """Reads a profile, counts the launch and compares it with the profile's.

    The build is the one whose counters agree with more of the profile's. Raises TilescopeError.
    """
    from core.nsight import compare, read_profile
    from gui.scenes.configuration import Profile

    launches = read_profile(path)
    with within(2 * COUNTING_S, f"The launch was not counted within {2 * COUNTING_S:.0f} s."):
        return Profile(compare(launches, workload, progress=progress), workload, path.name)
