"""The work behind the ceilings and occupancy pages, off the UI thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.cancelling import is_cancelled, within
from core.errors import GpuFailure, GpuUnavailable, TilescopeError
from gui.background import Progress
from gui.scenes.benchmark import size_parameters
from gui.scenes.session_values import Configuration

if TYPE_CHECKING:
    from core.compiler.builds import BuildKind
    from core.devices.device_table import Capability, Device
    from core.devices.occupancy import Resources
    from core.ladder import Ladder
    from core.launch import Workload
    from core.models.ceilings import Ceilings
    from core.models.launch_counts import Counts
    from gui.scenes.ceilings_shown import Run

COUNTING_S = 300.0
"""Counting is given up after so long: an edited source is counted at its own size, and where
addresses depend on data every block has to run."""

Key = tuple[Any, ...]


def sized(ladder: Ladder, wanted: Configuration, size: int | None) -> Configuration:
    """The configuration at another size; a launch of a user's file stays as it is."""
    if wanted.own is not None or size is None:
        return wanted
    rung = ladder[wanted.rung]
    values = {p.name: wanted.parameters.get(p.name, p.default) for p in rung.parameters}
    values.update(dict.fromkeys(size_parameters(rung), size))
    return replace(wanted, parameters=values)


MATRIX, VECTOR = "1024", "1048576"
"""Sizes of a large launch where nothing says its own."""


def full_size_job(_: Progress, wanted: Configuration) -> Configuration:
    """The work of finding a user's launch as its program launches it; gives a `Configuration`.

    Where the file does not say its sizes they are large ones. What the form's block and macros are
    stays, where they are no guess. Raises TilescopeError where the launch has no size.
    """
    from core.guessing.first_launch import completed
    from core.guessing.fitting_launch import fitted
    from core.own_files.sources_and_headers import read_source
    from core.side_process.client import apart

    assert wanted.own is not None
    source = wanted.source if wanted.source is not None else read_source(Path(wanted.own.path))
    own = wanted.own
    blank = replace(own, grid="", block="", shared="", defines="", arguments=(), cluster="")
    small = apart(completed, source, blank)
    if own.defines != small.launch.defines:
        blank = replace(blank, defines=own.defines)
        small = apart(completed, source, blank)
    block = own.block if own.block != small.launch.block else ""
    if small.host_grid:
        large = apart(completed, source, replace(blank, grid=small.host_grid))
        numbers = tuple((n, text) for n, text in large.launch.arguments if text.isdecimal())
    elif small.sizes:
        is_vector = len(small.sizes) == 1 and small.launch.grid.count(",") == 0
        numbers = tuple((n, VECTOR if is_vector else MATRIX) for n in sorted(small.sizes))
    else:
        raise TilescopeError(
            "Nothing in the file says how large the launch is: set grid and arrays at the left."
        )
    if block or not small.host_grid:
        large = apart(completed, source, replace(blank, block=block, arguments=numbers))
    return replace(wanted, own=fitted(source, large))


def key_of(wanted: Configuration) -> Key:
    """Names a launch and its source: of a user's file also what lies on disk by now."""
    parameters = tuple(sorted(wanted.parameters.items()))
    return (wanted.rung, parameters, wanted.source, wanted.own, _checksum(wanted))


def _checksum(wanted: Configuration) -> str:
    """A sum over a user's file, its headers and its arrays' sizes and times; empty without one."""
    if wanted.own is None:
        return ""
    from core.own_files.sources_and_headers import local_headers, read_source

    try:
        text = read_source(Path(wanted.own.path)) if wanted.source is None else wanted.source
    except TilescopeError:  # the work itself will say so
        return ""
    headers = sorted(local_headers(text, wanted.own.path).items())
    arrays = [_state(Path(t.strip()[1:])) for _, t in wanted.own.arguments if t.strip()[:1] == "@"]
    return sha256(repr((text, headers, arrays)).encode(errors="replace")).hexdigest()


def _state(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return (0, 0)
    return (found.st_size, found.st_mtime_ns)


def workload_of(ladder: Ladder, wanted: Configuration) -> Workload:
    """The launch over arrays of zeros, or a user's file as it is. Raises TilescopeError."""
    if wanted.own is not None:
        from gui.jobs.record_work import make_workload

        return make_workload(ladder, wanted)[0]
    workload = ladder[wanted.rung].blank_workload(**dict(wanted.parameters))
    return workload if wanted.source is None else replace(workload, source=wanted.source)


def ceilings_job(
    progress: Progress,
    ladder: Ladder,
    wanted: Configuration,
    device: Device,
    key: Key,
    counted: Counts | None,
) -> tuple[Key, Ceilings]:
    """The work of finding a launch's ceilings on a device; gives `(key, Ceilings)`.

    `counted` are its counts, where they are known; `key` was made before its file is read here.
    """
    from core.models.ceilings import ceilings

    too_long = f"The launch was not counted within {COUNTING_S:.0f} s: choose a smaller size."
    with within(COUNTING_S, too_long):
        counts = counted or _measured(ladder, wanted, "as_compiled", progress)
    return key, ceilings(counts, device)


def _measured(
    ladder: Ladder, wanted: Configuration, build: BuildKind, progress: Progress
) -> Counts:
    from core.models.launch_counts import measure, measure_rung

    if wanted.own is not None:
        return measure(workload_of(ladder, wanted), build=build, progress=progress)
    return measure_rung(
        ladder[wanted.rung], wanted.parameters, source=wanted.source, build=build, progress=progress
    )


def intensities_job(
    _: Progress,
    ladder: Ladder,
    runs: Iterable[Run],
    known: set[object],
    tell: Callable[[object, float], None],
    *,
    count: bool = True,
) -> None:
    """The work of finding where runs stand on the plot; `tell(run key, FLOP/B)` comes for each.

    First those that were counted before the program was given away. The others, with `count`, are
    counted as compiled, which takes a fraction of the time: the loads from global memory are those
    of the source unless the compiler drops some.
    """
    from core.models.launch_counts import measure_rung

    wanted = list(runs)
    for run in wanted:
        found = None if run.key in known or is_cancelled() else _counted_before(ladder, run)
        if found is not None:
            known.add(run.key)
            tell(run.key, found)
    for run in wanted if count else ():
        if run.key in known or is_cancelled():
            continue
        known.add(run.key)
        try:
            counts = measure_rung(ladder[run.rung], run.parameters, written=False)
        except (TilescopeError, KeyError):
            known.discard(run.key)  # cancelled, or a result of another version's rung
            continue
        if counts.intensity:
            tell(run.key, counts.intensity)


def _counted_before(ladder: Ladder, run: Run) -> float | None:
    from core.models.recorded_intensities import known_intensity

    try:
        return known_intensity(ladder[run.rung], run.parameters)
    except (TilescopeError, KeyError):  # a result of another version's rung
        return None


def devices_job(_: Progress) -> tuple[Device, ...]:
    """The work of asking the driver for this machine's GPUs; gives a tuple of `Device`.

    GPUs that are alike are one.
    """
    from core.gpu.benchmark_result import reported_device
    from core.gpu.driver_session import describe_devices
    from core.gpu.worker_process import GpuWorker

    with GpuWorker() as worker:
        try:
            reports = worker.submit(describe_devices).result()
        except (GpuUnavailable, GpuFailure):
            return ()
    return tuple(dict.fromkeys(reported_device(report) for report in reports))


@dataclass(frozen=True)
class Compiled:
    """What a launch's compiled kernel needs on a compute capability; `note` says if another's."""

    key: Key
    capability: str
    resources: Resources
    note: str


_OLDEST = "7.5"  # the compiler makes no code for older ones


def resources_job(
    _: Progress, ladder: Ladder, wanted: Configuration, capability: Capability
) -> Compiled:
    """The work of compiling a launch's kernel for a compute capability; gives a `Compiled`."""
    from core.compiler.builds import compiled_resources

    key, workload = key_of(wanted), workload_of(ladder, wanted)
    version, note = capability.name, ""
    if (capability.major, version) < (7, _OLDEST):
        version = _OLDEST
        note = (
            "The compiler makes no code for so old a GPU: the registers are those of compute "
            f"capability {_OLDEST} (Turing)."
        )
    return Compiled(key, capability.name, compiled_resources(workload, version), note)


@dataclass(frozen=True)
class FirstOrderCounts:
    """A launch's counts as written, and the phases of its first block."""

    counts: Counts
    phases: int


def first_order_job(progress: Progress, ladder: Ladder, wanted: Configuration) -> FirstOrderCounts:
    """The work of counting what a block loads and computes; gives `FirstOrderCounts`."""
    from core.models.launch_counts import along
    from core.recording.record_launch import record

    counts = _measured(ladder, wanted, "as_written", progress)

    def phases(n: int | None) -> int:
        workload = workload_of(ladder, sized(ladder, wanted, n))
        trace = record(workload, blocks=[0], only_recorded=True, checks=False)
        return len(trace.block(0).phases)

    sizes: set[int] = set()
    if wanted.own is None and wanted.source is None:  # an edited one may do anything elsewhere
        parts = dict(ladder[wanted.rung].check(**wanted.parameters))
        sizes = {parts.pop(name) for name in ("m", "n", "k") if name in parts}
    if len(sizes) == 1:
        found = along(sizes.pop(), phases, *filter(None, parts.values()))
    else:
        found = phases(None)
    return FirstOrderCounts(counts, found)


def choose_device(recorded: Iterable[str]) -> str:
    """The device to begin with: the first one with recorded results, or that of the book."""
    from core.devices.device_table import load_devices
    from gui.scenes.ceilings_shown import same_gpu

    for name in recorded:
        for device in load_devices():
            if same_gpu(name, device):
                return device.name
    return "GeForce RTX 3090"
