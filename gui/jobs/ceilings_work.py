"""The work behind the ceilings and occupancy pages, and ceilings of benchmark results.

`CeilingsModel` has the launches of the ceilings page counted and its measured runs placed;
`CeilingCounter` finds what binds each result of the benchmark page. Their jobs, and those of the
occupancy page, run off the UI thread.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal

from core.cancelling import check, is_cancelled, within
from core.errors import CompileError, GpuFailure, GpuUnavailable, TilescopeError
from gui.background import Progress, Worker, sentence_of
from gui.scenes import ceilings_shown as scene
from gui.scenes.benchmark_results import size_parameters
from gui.scenes.configuration import Configuration

if TYPE_CHECKING:
    from core.compiler.compile_ptx_and_cubin import BuildKind
    from core.devices.device_table import Capability, Device
    from core.devices.occupancy import Resources
    from core.gpu.benchmark_result import BenchmarkResult
    from core.ladder import Ladder, Rung
    from core.launch import Workload
    from core.models.ceiling_counts import Counts
    from core.models.ceilings import Ceilings
    from gui.scenes.benchmark_results import CeilingKey, Measured
    from gui.scenes.ceilings_shown import Run

log = logging.getLogger(__name__)

Key = tuple[Any, ...]
"""Names a launch and its source, as `key_of` makes it."""

MOMENT_S = 1.0  # placing that takes longer is said to be under way
COUNTING_S = 300.0
"""Counting is given up after so long: an edited source is counted at its own size, and where
addresses depend on data every block has to run."""
RESULT_COUNTING_S = 60.0
"""The same for a benchmark's result: a block of register tiles takes its time."""
REGISTER_TILES = 30  # the first rung whose threads compute more than one element

# For every page and window: launches counted so far, their ceilings on a device, and the FLOP/B
# that the source of a run asks for.
_counted: dict[Key, Counts] = {}
_made: dict[tuple[Key, Device], Ceilings] = {}
_intensities: dict[object, float] = {}


class CeilingsModel(QObject):
    """Counts and compiles in threads of its own.

    Signals: `answered()` when ceilings that were asked for are known; `failed(str)` with why they
    are not; `progressed(0..1)` of counting; `placed()` when a run's place on the plot is known, and
    when no more are looked for.
    """

    answered = Signal()
    failed = Signal(str)
    progressed = Signal(float)
    placed = Signal()
    _intensity = Signal(object, float)

    def __init__(
        self,
        ladder: Ladder,
        results: Callable[[], Iterable[BenchmarkResult]],
        parent: QObject | None = None,
    ) -> None:
        """results: what was measured in this session."""
        from core.gpu.result_files import load_recorded

        super().__init__(parent)
        self._ladder, self._results = ladder, results
        self.recorded = load_recorded()
        self._asked: tuple[Key, Device] | None = None
        self._counter = Worker(self, "ceilings", self._on_made, self._on_failure)
        self._counter.progressed.connect(self.progressed)
        self._placer = Worker(self, "intensities", self._on_all_placed)
        self._under_way: frozenset[object] = frozenset()  # runs whose places are being found
        self._without: set[object] = set()  # runs that have none, as those of another version
        self._since = 0.0
        self._counts = False  # whether those are counted that nobody has counted before
        self._intensity.connect(self._on_intensity)

    # ---- ceilings

    def ask(self, wanted: Configuration, device: Device) -> Ceilings | None:
        """The ceilings of a launch on a device; None while they are being found."""
        asked = (key_of(wanted), device)
        found = _made.get(asked)
        if found is not None:
            self._asked = None
            self._counter.cancel()
            self._keep_intensity(wanted, found)
        elif asked != self._asked:
            self._asked = asked
            known = _counted.get(asked[0])
            self._counter.submit(ceilings_job, self._ladder, wanted, device, asked[0], known)
        return found

    def is_counted(self, wanted: Configuration) -> bool:
        """Whether finding the ceilings takes a moment only."""
        return key_of(wanted) in _counted

    def _on_made(self, result: Any) -> None:
        key, found = result
        _counted[key] = found.counts
        _made[key, found.device] = found
        self._asked = None
        self.answered.emit()

    def _on_failure(self, error: object) -> None:
        self._asked = None
        said = sentence_of(error, "Counting failed unexpectedly")
        is_source = isinstance(error, CompileError)
        self.failed.emit(f"The source does not compile: {said}" if is_source else said)

    # ---- measured runs

    @property
    def intensities(self) -> Mapping[object, float]:
        """FLOP/B that the source asks for, by run."""
        return _intensities

    @property
    def placing(self) -> bool:
        """Whether places are being found."""
        return self._placer.busy

    def runs(self, size: int | None, device: Device) -> tuple[Run, ...]:
        """The measured runs of that size on that device, those of this session first."""
        here = scene.runs_at(self._results(), size, device, recorded=False)
        return (*here, *scene.runs_at(self.recorded, size, device, recorded=True))

    def place(self, runs: Iterable[Run], *, count: bool = True) -> None:
        """Find the place of the runs that have none yet, in their order, before any others.

        Without `count` only of those that were counted before: it does not take long.
        """
        known = self._without | set(_intensities)
        missing = [run for run in runs if run.key not in known]
        keys = frozenset(run.key for run in missing)
        enough = self._counts or not count
        if missing and not (self._placer.busy and keys <= self._under_way and enough):
            tell = self._intensity.emit
            self._under_way, self._since, self._counts = keys, time.monotonic(), count
            self._placer.submit(intensities_job, self._ladder, missing, known, tell, count=count)

    def placing_text(self) -> str:
        """How many of the runs are placed, where that takes longer than a moment; else ""."""
        if not self.placing or time.monotonic() - self._since < MOMENT_S:
            return ""
        return scene.placing(len(self._under_way & set(_intensities)), len(self._under_way))

    def _on_all_placed(self, _: object) -> None:
        if self._counts:
            self._without |= self._under_way - set(_intensities)
        self.placed.emit()

    def _keep_intensity(self, wanted: Configuration, found: Ceilings) -> None:
        textbook = found.ceilings.get("textbook")
        if not wanted.rung or wanted.source is not None or textbook is None:
            return
        if textbook.intensity is not None:
            key = wanted.rung, tuple(sorted(wanted.parameters.items()))
            _intensities[key] = textbook.intensity

    def _on_intensity(self, key: object, intensity: float) -> None:
        _intensities[key] = intensity
        self.placed.emit()


class CeilingCounter(QObject):
    """The binding ceilings known so far. `changed()` for each that is counted, and at the end."""

    changed = Signal()
    _counted = Signal(object, object)

    def __init__(self, ladder: Ladder, parent: QObject) -> None:
        super().__init__(parent)
        self._ladder = ladder
        self.known: dict[CeilingKey, tuple[str, float] | None] = {}
        self._tried: set[CeilingKey | None] = set()  # each once: what fails would fail again
        self._worker = Worker(self, "ceilings of results")
        self._counted.connect(self._on_counted)
        self._worker.idle.connect(self.changed)

    @property
    def busy(self) -> bool:
        """Whether something is being counted."""
        return self._worker.busy

    def want(self, measured: Sequence[Measured]) -> None:
        """Count those that are missing, quick ones first, unless it is at work already."""
        each = {m.ceiling_key: m for m in measured}
        missing = [m for key, m in each.items() if key is not None and key not in self._tried]
        if missing and not self.busy:
            self._tried.update(m.ceiling_key for m in missing)
            missing.sort(key=self._effort)
            self._worker.submit(_result_ceilings_job, self._ladder, missing, self._counted.emit)

    @property
    def left(self) -> int:
        """How many are still to be counted."""
        return len(self._tried) - len(self.known) if self.busy else 0

    def _effort(self, measured: Measured) -> tuple[bool, int]:
        """Register tiles last: a thread of theirs does the work of dozens."""
        rung = self._ladder.get(measured.result.rung or "")
        return rung is not None and rung.number >= REGISTER_TILES, measured.n or 0

    def _on_counted(self, key: CeilingKey, ceiling: tuple[str, float] | None) -> None:
        self.known[key] = ceiling
        self.changed.emit()


def _result_ceilings_job(
    progress: Progress,
    ladder: Ladder,
    wanted: Sequence[Measured],
    tell: Callable[[object, object], None],
) -> None:
    """The work of counting results' launches; `tell(key, (name, GFLOPS))` comes for each.

    What cannot be counted gives None in place of the pair.
    """
    from core.gpu.benchmark_result import achieved

    for place, measured in enumerate(wanted):
        try:
            with within(RESULT_COUNTING_S, f"It was not counted within {RESULT_COUNTING_S:.0f} s."):
                lowest = achieved(measured.result, ladder).ceilings.lowest
        except (TilescopeError, KeyError) as error:  # too long, or another version's rung
            check()
            log.info("no ceiling of %s: %s", measured.result.title, error)
            tell(measured.ceiling_key, None)
        else:
            tell(measured.ceiling_key, (lowest.name, lowest.gflops))
        progress((place + 1) / len(wanted))


# -- jobs, and what they work with ----------------------------------------------------------------


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
    from core.guessing.launch_guess import completed
    from core.guessing.trial_runs import fitted
    from core.side_process.client import apart
    from core.user_files.sources_and_headers import read_source

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
    from core.user_files.sources_and_headers import local_headers, read_source

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
    from core.models.ceiling_counts import measure, measure_rung

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
    from core.models.ceiling_counts import known_intensity, measure_rung

    def counted(rung: Rung, parameters: Mapping[str, int]) -> float | None:
        return measure_rung(rung, parameters, written=False).intensity

    wanted = list(runs)
    for intensity_of in (known_intensity, counted) if count else (known_intensity,):
        for run in wanted:
            if run.key in known or is_cancelled():
                continue
            try:
                found = intensity_of(ladder[run.rung], run.parameters)
            except (TilescopeError, KeyError):  # cancelled, or a rung of another version
                continue
            if found:
                known.add(run.key)
                tell(run.key, found)


def devices_job(_: Progress) -> tuple[Device, ...]:
    """The work of asking the driver for this machine's GPUs; gives a tuple of `Device`.

    GPUs that are alike are one.
    """
    from core.gpu.benchmark_result import reported_device
    from core.gpu.worker_process import devices_here

    try:
        reports = devices_here()
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
    from core.compiler.compile_ptx_and_cubin import compiled_resources

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
    from core.models.ceiling_counts import along
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

    for name in recorded:
        for device in load_devices():
            if scene.same_gpu(name, device):
                return device.name
    return "GeForce RTX 3090"
