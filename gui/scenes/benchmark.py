"""What the benchmark page shows and does: results, a sweep planned and run, and sentences."""

from __future__ import annotations

import datetime
import json
import logging
import queue
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psygnal import Signal

from core.atomic_files import replace_file
from core.cancelling import cancelled_by
from core.errors import Cancelled, TilescopeError
from core.gpu.benchmark_job import BenchmarkJob, Timing
from core.gpu.benchmark_result import BenchmarkResult, DeviceReport, Readings, summarise
from core.gpu.benchmark_run import run_benchmark
from core.gpu.events_and_failures import Begun, Sample, Sensed, Stage
from core.gpu.result_files import Journal, load_recorded, read_results
from core.gpu.sweep import Ended, Lane, LaneClosed, Outcome, Progress, Started, Sweep, Told, Update
from core.gpu.sweep_plan import (
    SIZE,
    SIZE_NAMES,
    CublasKernel,
    FileKernel,
    Kernel,
    Plan,
    Point,
    RungKernel,
    make_plan,
    parse_values,
)
from core.user_files.sources_and_headers import read_source
from core.wording import clock
from gui.scenes.names_of_elements_and_threads import block_text
from gui.scenes.numbers_and_sentences import capital, grouped, plural, spaced

if TYPE_CHECKING:
    from core.gpu.sweep import Failure
    from core.ladder import Ladder, Rung
    from core.user_files.launch_texts import FileLaunch
    from gui.scenes.configuration import Configuration

# Results: where they come from, and how they are called.

HERE, RECORDED = "measured here", "recorded"
FAMILIES: Mapping[str, str] = {
    "float32": "float32 products",
    "tf32": "TF32 products",
    "float16": "F16 products",
    "other": "other kernels",
    "all": "all kernels",
}

CeilingKey = tuple[str, tuple[tuple[str, int], ...], str]


@dataclass(frozen=True)
class Measured:
    """A result and where it comes from: HERE, RECORDED, or a file's name."""

    result: BenchmarkResult
    origin: str = HERE
    failure: Failure | None = None

    @property
    def machine(self) -> str:
        """Results with an equal text stand in one plot."""
        return f"{self.result.device.name}, {self.when}"

    @property
    def when(self) -> str:
        """How it came here, in words."""
        day = self.result.date[:10]
        if self.origin == HERE:
            return HERE
        return f"{RECORDED} {day}" if self.origin == RECORDED else f"{day}, from {self.origin}"

    @property
    def n(self) -> int | None:
        """Its size; None where it has none."""
        return self.result.parameters.get("n")

    @property
    def tile(self) -> int | None:
        """The width of its tile or square block; None where it has neither."""
        values = self.result.parameters
        if "tile" in values:
            return values["tile"]
        x, y = values.get("block_x"), values.get("block_y")
        return x if x is not None and x == y else None

    @property
    def ceiling_key(self) -> CeilingKey | None:
        """Names the launch and the device; None for what is not a rung, or edited."""
        rung = self.result.rung
        if rung is None or self.result.gflops is None:
            return None
        return rung, tuple(sorted(self.result.parameters.items())), self.result.device.name


def neighbours(order: Sequence[str], chosen: str, most: int) -> tuple[str, ...]:
    """One of a series with `most` others next to it, the one before and those after; in order."""
    at = order.index(chosen) if chosen in order else 0
    first = max(0, min(at - 1, len(order) - most - 1))
    return tuple(order[first : first + most + 1])


def machines(measured: Iterable[Measured]) -> tuple[str, ...]:
    """The machines that results come from, those of this machine first."""
    found = dict.fromkeys(m.machine for m in sorted(measured, key=lambda m: m.origin != HERE))
    return tuple(found)


def family_of(measured: Measured, arithmetics: Mapping[str, str]) -> str:
    """Which results it is fair to stand beside: a key of FAMILIES.

    `arithmetics` says of the ladder's matrix products, by rung, what they compute with.
    """
    result = measured.result
    if result.rung is not None:
        return arithmetics.get(result.rung, "other")
    return "other" if result.flops is None else "float32"


def families(measured: Iterable[Measured], arithmetics: Mapping[str, str]) -> tuple[str, ...]:
    """The families there are, and all of them together where there are several."""
    there = {family_of(m, arithmetics) for m in measured}
    found = tuple(key for key in FAMILIES if key in there)
    return (*found, "all") if len(found) > 1 else found


def parameters_text(parameters: Mapping[str, int]) -> str:
    """Parameters in short: equal sizes as one, and what has x, y or m, n, k as a product."""
    left = dict(parameters)
    parts: list[str] = []
    names = [name for name in SIZE_NAMES if name in left]
    sizes = [left.pop(name) for name in names]
    if len(set(sizes)) == 1:
        parts.append(f"n = {grouped(sizes[0])}")
    elif sizes:
        parts.append(f"{' × '.join(names)} = {' × '.join(map(grouped, sizes))}")
    groups: dict[str, list[int]] = {}
    for name, value in left.items():
        stem, _, axis = name.rpartition("_")
        groups.setdefault(stem if axis in ("x", "y", *SIZE_NAMES) else name, []).append(value)
    parts += [
        f"{stem} {' × '.join(map(str, values))}" if len(values) > 1 else f"{stem} = {values[0]}"
        for stem, values in groups.items()
    ]
    return ", ".join(parts)


def launch_title(ladder: Ladder, shown: Configuration) -> str:
    """A launch in a line: its rung and parameters, or its file, kernel, grid and block."""
    if shown.own is not None:
        own = shown.own
        return f"{own.name}: {own.kernel}, grid {own.grid}, block {own.block}"
    edited = " (edited)" if shown.source is not None else ""
    return f"{ladder[shown.rung].title}{edited}: {parameters_text(shown.parameters)}"


def machine_sentence(measured: Sequence[Measured]) -> str:
    """Machine, date, driver and versions of results of one machine."""
    if not measured:
        return ""
    result, when = measured[-1].result, measured[-1].when
    device = result.device
    flushed = "L2 flushed" if result.l2_flushed else "L2 not flushed"
    versions = [f"driver {device.driver} (CUDA {device.cuda_driver})"]
    nvrtc = next((m.result.nvrtc for m in measured if m.result.architecture != "cuBLAS"), None)
    versions += [f"NVRTC {nvrtc}"] if nvrtc else []
    versions += [f"{n} {v}" for n, v in result.software.items() if n in ("pycuda", "cuda-bindings")]
    return f"{device.name}, {when}: {', '.join(versions)}; {flushed} before each launch."


# The rows of the results' table.


SWEPT_SIZES = (512, 1024, 2048, 4096, 8192)
TEXTBOOK_SIZE = 10_000  # Ruiz's example; no power of two, so its edges count, too
CLOCK_FELL = "clock fell"


@dataclass(frozen=True)
class ResultRow:
    """One measured kernel. `gflops` is at the median; `low` and `high` bound 90 % of samples.

    `trouble` says in two or three words what went wrong; `measured` is None where nothing was.
    """

    title: str
    details: str
    notes: str
    gflops: float | None = None
    low: float | None = None
    high: float | None = None
    gbs: float | None = None
    trouble: str = ""
    measured: Measured | None = None

    @property
    def rate_text(self) -> str:
        """The rate, or why there is none; an arrow where the SM clock fell meanwhile."""
        if self.gflops is None:
            return self.trouble or "–"
        return grouped(round(self.gflops)) + (" ↓" if self.trouble == CLOCK_FELL else "")

    @property
    def bandwidth_text(self) -> str:
        """The effective bandwidth."""
        return "–" if self.gbs is None else grouped(round(self.gbs))


def _result_row(measured: Measured) -> ResultRow:
    result = measured.result
    trouble = "wrong result" if result.ok is False else ""
    if measured.failure is not None:
        trouble = measured.failure.title
    elif result.clock_fell and not trouble:
        trouble = CLOCK_FELL
    return ResultRow(
        title=result.title,
        details=parameters_text(result.parameters) or block_text(result.block),
        gflops=None if result.ok is False else result.gflops,
        low=result.gflops_p5,
        high=result.gflops_p95,
        gbs=result.effective_gbs,
        notes=_notes(measured),
        trouble=trouble,
        measured=measured,
    )


def _notes(measured: Measured) -> str:
    result = measured.result
    notes = [f"{result.architecture}, {result.registers} registers a thread", *result.notes]
    if result.median_ms is not None:
        launches = len(result.samples_ms)
        notes.insert(0, f"median {result.median_ms:.4g} ms of {launches} launches ({result.ended})")
    if result.clock_fell:
        notes.append(f"{spaced(result.clock_text)}: compared with nothing")
    notes += [check.method for check in result.checks]
    if measured.failure is not None:
        notes.append(measured.failure.message)
    return "; ".join([*notes, f"GPU {result.device.ordinal}", result.date[:10]])


def _failure_row(outcome: Outcome) -> ResultRow:
    assert outcome.failure is not None
    return ResultRow(
        title=outcome.point.title,
        details=parameters_text(outcome.point.parameters),
        notes=f"{outcome.failure.message} ({outcome.lane})",
        trouble=outcome.failure.title,
    )


def rows_of(measured: Sequence[Measured], failed: Iterable[Outcome]) -> tuple[ResultRow, ...]:
    """What failed, then results by falling rate."""
    lost = [_failure_row(outcome) for outcome in failed if outcome.result is None]
    rows = [_result_row(m) for m in measured]
    return (*lost, *sorted(rows, key=lambda row: -(row.gflops or 0.0)))


def row_of(rows: Sequence[ResultRow], measured: Measured) -> int | None:
    """The place of a result among rows."""
    return next((i for i, row in enumerate(rows) if row.measured is measured), None)


def best_row(rows: Sequence[ResultRow], series: str) -> int | None:
    """The place of a kernel's first, hence fastest, row that was timed; None if it has none."""
    for place, row in enumerate(rows):
        result = row.measured.result if row.measured is not None else None
        if result is not None and result.series == series and result.samples_ms:
            return place
    return None


def series_of_launch(shown: Configuration) -> str:
    """What `BenchmarkResult.series` is for results of this kernel."""
    return f"{shown.own.name}:{shown.own.kernel}" if shown.own is not None else shown.rung


def unmeasured_sentence(ladder: Ladder, shown: Configuration, machine: str) -> str:
    """Why no launch of a kernel is shown among those of a machine, and what can be done."""
    title = f"{shown.own.name}: {shown.own.kernel}" if shown.own else ladder[shown.rung].title
    where = f" among the results of {machine}" if machine else ""
    return (
        f"{title} has no timed launch{where}. Run it on a GPU, choose another machine, or import "
        "results of it."
    )


def table_sentence(rows: Sequence[ResultRow], measured: Sequence[Measured], of: int = 0) -> str:
    """What the table holds; `of` is how many there are, where some are left out."""
    if not rows:
        return "Nothing has been measured yet."
    here = sum(m.origin == HERE for m in measured)
    lost = sum(row.measured is None for row in rows)
    parts = [f"{here} measured here"] if here else []
    parts += [f"{len(measured) - here} recorded"] if len(measured) > here else []
    parts += [f"{lost} failed"] if lost else []
    some = f" of {of}: the kernels of the plot, each at its fastest" if of > len(measured) else ""
    return (
        ", ".join(parts) + some + "; bars at the median, lines from the 5th to the 95th percentile."
    )


def size_parameters(rung: Rung) -> tuple[str, ...]:
    """The parameters of a rung that set how large its arrays are (not its blocks)."""
    return tuple(p.name for p in rung.parameters if p.name in SIZE_NAMES)


# What the benchmark page is set to measure: its fields as the plan of a sweep.


CONFIGURED, CUBLAS = "configured", "cublas"
TILE = "tile"


@dataclass(frozen=True)
class Setup:
    """The page's fields as they are typed. `kernels` are keys of `choices`.

    tuned: blocks and tiles that the fields do not set are those that are fast on a GPU, where the
    ladder knows some, instead of those that are configured for stepping.
    """

    kernels: frozenset[str] = frozenset((CONFIGURED,))
    sizes: str = "512, 1024, 2048, 4096"
    tiles: str = "8, 16, 32"
    budget_s: float = 2.0
    tuned: bool = True
    files: tuple[FileKernel, ...] = field(default_factory=tuple)


def choices(ladder: Ladder, configuration: Configuration | None, setup: Setup) -> Mapping[str, str]:
    """What may be measured, by its key: the configured kernel first."""
    found = {CONFIGURED: "Configured kernel"}
    if configuration is not None:
        own = configuration.own
        found[CONFIGURED] = f"Configured: {own.name if own else ladder[configuration.rung].title}"
    listed = (ladder[name] for name in ladder.names)
    found |= {rung.name: rung.title for rung in listed if rung.group != "broken"}
    found[CUBLAS] = CublasKernel().title
    return found | {f"file:{i}": kernel.title for i, kernel in enumerate(setup.files)}


def _configured_kernel(ladder: Ladder, configuration: Configuration, *, tuned: bool) -> Kernel:
    """The kernel that is configured, with its edit; raises TilescopeError for a lost file."""
    own = configuration.own
    if own is None:
        rung = ladder[configuration.rung]
        return RungKernel(rung, configuration.parameters, configuration.source, tuned=tuned)
    return FileKernel(configuration.source or read_source(Path(own.path)), own)


def plan_of(ladder: Ladder, configuration: Configuration | None, setup: Setup) -> Plan:
    """The sweep that the fields say. Raises TilescopeError with what is wrong with them."""
    kernels = list(_chosen(ladder, configuration, setup))
    axes: dict[str, Sequence[int]] = {}
    for axis, text, what in ((SIZE, setup.sizes, "N"), (TILE, setup.tiles, "the tile")):
        values = parse_values(text, what) if text.strip() else ()
        if values and any(kernel.targets(axis) for kernel in kernels):
            axes[axis] = values
    return make_plan(kernels, axes)


def _chosen(ladder: Ladder, configuration: Configuration | None, setup: Setup) -> Sequence[Kernel]:
    found: list[Kernel] = []
    for key in choices(ladder, configuration, setup):
        if key not in setup.kernels:
            continue
        if key == CONFIGURED:
            if configuration is not None:  # equal points, of a rung chosen twice, are one
                found.append(_configured_kernel(ladder, configuration, tuned=setup.tuned))
        elif key == CUBLAS:
            found.append(CublasKernel())
        elif key.startswith("file:"):
            found.append(setup.files[int(key.removeprefix("file:"))])
        else:
            rung = ladder[key]
            same = configuration is not None and configuration.rung == key
            given = dict(configuration.parameters) if same and configuration is not None else {}
            found.append(RungKernel(rung, given, tuned=setup.tuned))
    if not found:
        raise TilescopeError("Choose at least one kernel to measure.")
    return found


def plan_sentence(plan: Plan) -> str:
    """How much a plan is: "3 kernels, 36 launches; 4 left out (N must be …)"."""
    kernels = len({point.title for point in plan.points})
    text = f"{plural(kernels, 'kernel')}, {plural(len(plan.points), 'launch', 'launches')}"
    if kernels == 1 and len(plan.points) == 1:
        text = plan.points[0].text
    if plan.left_out:
        text += f"; {plural(len(plan.left_out), 'combination')} cannot be launched"
    return text + "."


def templated(launch: FileLaunch) -> FileLaunch:
    """A launch of a file with its sizes as `{n}` and `{tile}`, where they can be made out.

    A first guess for a form, which the user corrects: the scalar argument called N, in any case, is
    `{n}` wherever its number stands; the define or block side called TILE… is `{tile}`.
    """
    size = next((t for name, t in launch.arguments if name.lower() == "n" and t.isdecimal()), None)
    tile = next(
        (word.partition("=")[2] for word in launch.defines.split() if "TILE" in word.upper()), None
    )
    block = launch.block.replace("x", ",").split(",")
    if tile is None and len(block) > 1 and block[0].strip() == block[1].strip():
        tile = block[0].strip()

    def fill(text: str) -> str:
        out = _with_number(text, size, "{n}")
        return _with_number(out, tile, "{tile}")

    grid = launch.grid
    if size and tile and tile.isdecimal() and int(tile):
        blocks = -(-int(size) // int(tile))
        grid = _with_number(grid, str(blocks), "{ceil_div(n, tile)}")
    return replace(
        launch,
        grid=grid,
        block=_with_number(launch.block, tile, "{tile}"),
        defines=_with_number(launch.defines, tile, "{tile}"),
        arguments=tuple((name, fill(text)) for name, text in launch.arguments),
    )


def _with_number(text: str, number: str | None, template: str) -> str:
    if not number:
        return text
    return re.sub(rf"(?<![\w.{{]){re.escape(number)}(?![\w.}}])", template, text)


# Where a sweep may run: GPUs of this machine, a cluster, or nowhere, but as it was recorded.


LOCAL = "local"
MOST_REMEMBERED = 5


@dataclass(frozen=True)
class Place:
    """One row of the list.

    It has `ordinals` of GPUs here, or the address of a `cluster`, or the name of a `recorded`
    machine, whose results are shown; or an address is typed beside it (`is_typed`).
    """

    title: str
    ordinals: tuple[int, ...] = ()
    cluster: str = ""
    recorded: str = ""
    is_typed: bool = False


def places(
    devices: Sequence[DeviceReport], recorded: Sequence[str], addresses: Sequence[str]
) -> tuple[Place, ...]:
    """What may be chosen; the first is where a sweep runs if nobody chooses."""
    found = [Place(f"GPU {d.ordinal}: {d.name}", (d.ordinal,)) for d in devices]
    if len(devices) > 1:
        found.append(Place(f"All {len(devices)} GPUs", tuple(d.ordinal for d in devices)))
    found += [Place(machine, recorded=machine) for machine in recorded]
    found += [Place(address, cluster=address) for address in addresses]
    found.append(Place("local: all GPUs here, through dask", cluster=LOCAL))
    found.append(Place("Cluster at an address", is_typed=True))
    return tuple(found)


class Addresses:
    """The clusters that were used last, the latest first; kept in a file, if there is a folder."""

    def __init__(self, folder: Path | None) -> None:
        self._path = None if folder is None else folder / "clusters.json"
        self.known = self._read()

    def _read(self) -> tuple[str, ...]:
        try:
            found = json.loads(self._path.read_text("utf-8")) if self._path is not None else []
        except (OSError, ValueError):
            return ()
        texts = [one for one in found if isinstance(one, str)] if isinstance(found, list) else []
        return tuple(texts[:MOST_REMEMBERED])

    def remember(self, address: str) -> None:
        """Put an address first; where that cannot be written it is known until the end."""
        others = [one for one in self.known if one != address]
        self.known = (address, *others)[:MOST_REMEMBERED]
        if self._path is not None:
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                replace_file(self._path, json.dumps(list(self.known)))
            except (OSError, TilescopeError):
                return


# A cluster is joined in a thread of its own: it may be far away, slow, or not there at all.


_PATIENCE_S = 60.0

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _OfCluster:
    """Its GPUs, as lanes of a sweep; or why it cannot be joined; or what happens to it."""

    by: _Joining
    lanes: Sequence[Lane] | None = None
    refused: str = ""
    said: str = ""


class _Joining:
    """Joins the cluster at an address, and stays until `leave`; `tell` is called in its thread."""

    def __init__(self, address: str, tell: Callable[[_OfCluster], None]) -> None:
        self.address = address
        self._tell = tell
        self._left = threading.Event()
        self._thread = threading.Thread(target=self._stay, name="joining", daemon=True)
        self._thread.start()

    def leave(self) -> None:
        """Let go of the cluster as soon as may be; nothing is told any more."""
        self._left.set()

    def wait(self, timeout: float) -> None:
        """Wait until it is let go of, so many seconds at most."""
        self._thread.join(timeout)

    def _stay(self) -> None:
        try:
            with cancelled_by(self._left.is_set):
                self._join()
        except Cancelled:
            return
        except TilescopeError as error:
            self._say(refused=str(error))
        except Exception as error:
            log.exception("the cluster at %s", self.address)
            self._say(refused=f"The cluster at {self.address} failed: {error!r}.")

    def _join(self) -> None:
        from core.distributed.cluster import gpu_lanes

        with gpu_lanes(
            self.address, lambda text: self._say(said=text), patience_s=_PATIENCE_S
        ) as lanes:
            self._say(lanes=lanes)
            self._left.wait()

    def _say(self, **what: Any) -> None:
        if not self._left.is_set():
            self._tell(_OfCluster(self, **what))


# The benchmark page's state: GPUs, a running sweep, what it says, and all results.
#
# Updates of a sweep come from other threads into a queue; `drain`, called by whoever owns the clock
# of the view, takes them. So nothing here runs but in the caller's thread, and a burst of samples
# costs one redraw.


MakeWorker = Callable[[int], Executor]
UNWRITTEN = "Results are not kept beyond this session: make room on the disk, or export them"


@dataclass(frozen=True)
class _Unwritten:
    """What was measured cannot be written down; the sentence that says so."""

    why: str


News = Update | _OfCluster | _Unwritten
"""What other threads tell of a sweep."""


@dataclass
class Live:
    """The point that a GPU measures now, and the rates of its launches (GFLOPS, or ms)."""

    point: Point
    doing: str = "starting"
    begun: BenchmarkResult | None = None
    times: list[float] = field(default_factory=list)
    readings: Readings = field(default_factory=Readings)
    done: bool = False


class BenchModel:
    """`changed` carries the names of what changed: devices, results, progress, live, state."""

    changed = Signal(frozenset)

    def __init__(
        self,
        make_worker: MakeWorker,
        folder: Path | None = None,
        measure: Callable[[BenchmarkJob], BenchmarkResult] = run_benchmark,
    ) -> None:
        """folder: where each sweep's outcomes are kept as they come; None keeps them nowhere.

        measure: what measures a point, in the process that owns the GPU.
        """
        self._make_worker, self._folder, self._measure = make_worker, folder, measure
        self._workers: dict[int, Any] = {}
        self._probe: Future[Any] | None = None
        self._told: queue.SimpleQueue[News] = queue.SimpleQueue()
        self._sweep: Sweep | None = None
        self._journal: Journal | None = None
        self.devices: tuple[DeviceReport, ...] = ()
        self.trouble = ""
        self.measured: list[Measured] = []
        self.failed: list[Outcome] = []
        self.live: dict[str, Live] = {}
        self.closed_lanes: dict[str, str] = {}
        self.left: tuple[Point, ...] = ()
        self.stopping = False
        self.kept: Path | None = None
        self.addresses = Addresses(folder)
        self.refused = ""
        """Why the last sweep could not begin on its cluster, or its results are not kept."""
        self.said = ""
        """What happened last to the cluster, in a sentence."""
        self._joining: _Joining | None = None
        self._to_run: tuple[Plan, Timing] | None = None

    # ---- what there is

    def load(self) -> None:
        """Take up recorded results, and those of earlier sweeps on this machine."""
        self.measured += [Measured(result, RECORDED) for result in load_recorded()]
        for path in sorted(self._folder.glob("*.jsonl")) if self._folder else ():
            try:
                self.measured += [Measured(result) for result in read_results(path)]
            except TilescopeError as error:
                self.trouble = str(error)
        self.changed.emit(frozenset(("results",)))

    def take_up(self, results: Sequence[BenchmarkResult], origin: str) -> None:
        """Take up results that were measured elsewhere; `origin` names their file."""
        self.measured += [Measured(result, origin) for result in results]
        self.changed.emit(frozenset(("results",)))

    def look_for_gpus(self) -> None:
        """Ask the driver, once; `drain` takes the answer."""
        if self._probe is None and not self.devices:
            from core.gpu.driver_session import describe_devices

            self._probe = self._worker(0).submit(describe_devices)

    # ---- a sweep

    @property
    def running(self) -> bool:
        """Whether a sweep is under way, paused or not, or its cluster is being joined."""
        return self._sweep is not None or self._joining is not None

    @property
    def cluster(self) -> str:
        """The address of the cluster that is joined, or being joined; "" for none."""
        return self._joining.address if self._joining is not None else ""

    @property
    def busy(self) -> bool:
        """Whether `drain` has something to wait for."""
        return self.running or self._probe is not None

    @property
    def paused(self) -> bool:
        """Whether the sweep is paused."""
        return self._sweep is not None and self._sweep.paused

    @property
    def progress(self) -> Progress | None:
        """How far the sweep is; None without one."""
        return None if self._sweep is None else self._sweep.progress

    def run(
        self, plan: Plan, timing: Timing, ordinals: Sequence[int] = (), cluster: str = ""
    ) -> None:
        """Start a sweep on these GPUs, or on a cluster's; its results are kept as they come.

        A cluster is joined first, and what is wrong with it is `refused`. Raises TilescopeError
        where the results cannot be kept, or the address is none.
        """
        if self.running:
            return
        if cluster and cluster != LOCAL:
            from core.distributed.cluster import checked_address

            cluster = checked_address(cluster)
            self.addresses.remember(cluster)
        self.live, self.closed_lanes, self.left, self.failed = {}, {}, (), []
        self.stopping, self.refused, self.said = False, "", ""
        if cluster:
            self._to_run = plan, timing
            self._joining = _Joining(cluster, self._told.put)
        else:
            lanes = [Lane(f"GPU {number}", self._worker(number)) for number in ordinals]
            self._begin(plan, timing, lanes)
        self.changed.emit(frozenset(("state", "progress", "live")))

    def _begin(self, plan: Plan, timing: Timing, lanes: Sequence[Lane]) -> None:
        keep = None
        if self._folder is not None:
            now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H%M%S")
            self._journal = Journal(self._folder / f"{now}.jsonl")
            self.kept, keep = self._journal.path, self._keeping(self._journal)
        self._sweep = Sweep(plan.points, lanes, timing, self._told.put, keep, self._measure)
        self._sweep.start()

    def _keeping(self, journal: Journal) -> Callable[[Outcome], None]:
        """Writes outcomes down, and tells if that cannot be done; in the lanes' threads."""

        def keep(outcome: Outcome) -> None:
            try:
                journal.keep(outcome)
            except (OSError, TilescopeError) as error:
                why = error.strerror if isinstance(error, OSError) else str(error)
                self._told.put(_Unwritten(f"{UNWRITTEN} ({journal.path}: {why})."))

        return keep

    def pause(self) -> None:
        """Begin no further point, or go on."""
        if self._sweep is not None:
            self._sweep.resume() if self._sweep.paused else self._sweep.pause()
            self.changed.emit(frozenset(("state",)))

    def stop(self) -> None:
        """Finish with what there is; a second time: at once."""
        if self._sweep is not None:
            self._sweep.stop(now=self.stopping)
            self.stopping = True
            self.changed.emit(frozenset(("state",)))
        elif self._joining is not None:
            self._leave()
            self.changed.emit(frozenset(("state", "progress")))

    def drain(self) -> None:
        """Take what came since the last time; emits `changed` at most once."""
        names: set[str] = set()
        if self._probe is not None and self._probe.done():
            self._take_devices(self._probe)
            self._probe = None
            names |= {"devices", "state"}
        while True:
            try:
                update = self._told.get_nowait()
            except queue.Empty:
                break
            names |= self._take(update)
        if self._sweep is not None:
            names.add("progress")
        if names:
            self.changed.emit(frozenset(names))

    def shut_down(self) -> None:
        """End a sweep and the workers, and wait for them; what was measured is kept."""
        joining = self._joining
        if self._sweep is not None:
            self._sweep.stop(now=True)
            self._sweep.wait(10.0)
            self.drain()
        self._leave()
        if joining is not None:
            joining.wait(10.0)
        for worker in self._workers.values():
            kill = getattr(worker, "kill", None)
            if kill is not None:
                kill()
            worker.shutdown(wait=True, cancel_futures=True)
        self._workers.clear()
        self._close_journal()

    # ---- updates

    def _take_devices(self, probe: Future[Any]) -> None:
        if probe.cancelled():
            return
        error = probe.exception()
        if error is None:
            self.devices = tuple(probe.result())
        else:
            self.trouble = str(error)

    def _take(self, update: News) -> set[str]:
        match update:
            case Started(point, lane):
                self.live[lane] = Live(point)
                return {"live"}
            case Told(_, lane, event):
                return self._hear(self.live[lane], event)
            case Outcome(lane=lane, result=result, failure=failure):
                self.live[lane].done = True
                if result is not None:
                    self.measured.append(Measured(result, HERE, failure))
                if failure is not None:
                    self.failed.append(update)
                return {"results", "live"}
            case LaneClosed(lane, why):
                self.closed_lanes[lane] = why
                return {"state"}
            case Ended(left):
                self.left, self._sweep, self.stopping = left, None, False
                self._close_journal()
                self._leave()
                return {"state", "progress", "live", "ended"}
            case _Unwritten(why):
                self.refused = why
                return {"state"}
            case _OfCluster(by):
                return self._hear_of_cluster(update) if by is self._joining else set()

    def _hear_of_cluster(self, update: _OfCluster) -> set[str]:
        self.said = update.said or self.said
        why = update.refused
        if update.lanes is not None:
            assert self._to_run is not None
            try:
                self._begin(*self._to_run, update.lanes)
            except TilescopeError as error:  # its results cannot be kept
                why = str(error)
        if why:
            self.refused = why
            self._leave()
        return {"state", "progress"}

    def _leave(self) -> None:
        joining, self._joining = self._joining, None
        if joining is not None:
            joining.leave()

    @staticmethod
    def _hear(live: Live, event: Any) -> set[str]:
        match event:
            case Stage(doing):
                live.doing = doing
            case Begun(result):
                live.begun = result
            case Sample(_, milliseconds, _):
                live.times.append(milliseconds)
            case Sensed(readings):
                live.readings = readings
        return {"live"}

    def _close_journal(self) -> None:
        if self._journal is not None:
            self._journal.close()
            self._journal = None

    def _worker(self, number: int) -> Any:
        if number not in self._workers:
            self._workers[number] = self._make_worker(number)
        return self._workers[number]


def results_folder() -> Path:
    """Where this user's measurements are kept."""
    import platformdirs

    return platformdirs.user_data_path("tilescope", appauthor=False) / "benchmarks"


# Sentences of the benchmark page: what runs, how far it is, how it ended.


def state_sentence(model: BenchModel) -> str:
    """What the page can do, or does."""
    progress = model.progress
    if progress is not None:
        return _running(model, progress)
    if model.cluster:
        return model.said or f"Looking for the workers at {model.cluster} …"
    if model.left or model.failed or model.closed_lanes:
        return _ended_sentence(model)
    if model.devices:
        return f"Ready: {_gpus(model.devices)}."
    if model.trouble:
        elsewhere = " These results were recorded elsewhere." if model.measured else ""
        return f"{model.trouble}{elsewhere}"
    return "Looking for a GPU …"


def _gpus(devices: Sequence[DeviceReport]) -> str:
    """The GPUs by name; those that are alike together."""
    alike = Counter((device.name, device.sms) for device in devices)
    return "; ".join(
        f"{name}, {sms} SMs" if count == 1 else f"{count} × {name}, {sms} SMs each"
        for (name, sms), count in alike.items()
    )


def _point_text(point: Point | BenchmarkResult) -> str:
    sizes = parameters_text(point.parameters)
    return f"{point.title} ({sizes})" if sizes else point.title


def _running(model: BenchModel, progress: Progress) -> str:
    parts = [f"{progress.done} of {progress.total}"]
    if progress.failed:
        parts[0] += f", {progress.failed} failed"
    if model.stopping:
        parts.append("stopping; the launches so far are kept")
    elif model.paused:
        waits = all(live.done for live in model.live.values())
        parts.append("paused" if waits else "pausing when this launch is measured")
    elif progress.left_s is not None:
        parts.append(f"{clock(progress.left_s)} left")
    if model.cluster:
        sent = sum(not live.done for live in model.live.values())
        parts.append(f"{plural(sent, 'launch', 'launches')} sent to {model.cluster}")
        return f"{capital('; '.join(parts))}. {model.said}".rstrip()
    for lane, live in model.live.items():
        if live.done:
            continue
        where = f" on {lane}" if len(model.live) > 1 else ""
        parts.append(f"{live.doing}{where}")
    sensed = next((live.readings for live in reversed(model.live.values())), Readings())
    return capital("; ".join(filter(None, (*parts, _readings_text(sensed))))) + "."


def _readings_text(readings: Readings) -> str:
    """Clocks, temperature and power as they were read, those that were."""
    values = (
        (readings.sm_mhz, "SM {:,.0f} MHz"),
        (readings.launch_mhz, "{:,.0f} MHz during the launches"),
        (readings.memory_mhz, "memory {:,.0f} MHz"),
        (readings.temperature_c, "{:.0f} °C"),
        (readings.power_w, "{:.0f} W"),
    )
    return ", ".join([form.format(value).replace(",", "\u202f") for value, form in values if value])


def _ended_sentence(model: BenchModel) -> str:
    parts = []
    if model.failed:
        kinds = ", ".join(
            dict.fromkeys(o.failure.title for o in model.failed if o.failure is not None)
        )
        parts.append(f"{plural(len(model.failed), 'launch', 'launches')} failed ({kinds})")
    parts += [f"{lane} was given up: {why.rstrip('.')}" for lane, why in model.closed_lanes.items()]
    if model.left:
        parts.append(f"{plural(len(model.left), 'launch', 'launches')} not measured")
    return f"{capital('; '.join(parts))}. All else is below." if parts else "Done."


def failure_sentence(model: BenchModel) -> str:
    """Why a sweep could not begin, or its last failure, whole; empty without one."""
    if not model.failed:
        return model.refused
    last = model.failed[-1]
    assert last.failure is not None
    kept = ""
    if last.result is not None:
        kept = f" Its first {plural(len(last.result.samples_ms), 'launch', 'launches')} are kept."
    return f"{_point_text(last.point)}: {last.failure.message}{kept}"


def live_sentence(live: Live) -> str:
    """What the plot of launches shows while they come."""
    text = _point_text(live.point)
    if not live.times:
        return f"{text}: {live.doing} …"
    summary = summarise(live.times)
    flops = live.begun.flops if live.begun is not None else None
    rate = "" if flops is None else f", {grouped(round(flops / summary.median / 1e6))} GFLOPS"
    launches = plural(len(live.times), "launch", "launches")
    return f"{text}: {launches}, median {summary.median:.4g} ms{rate}, running."


def measured_sentence(measured: Measured) -> str:
    """What the plot of a result's launches shows."""
    result = measured.result
    title = _point_text(result)
    if result.ok is False:
        return f"{title}: a wrong result, so it was not timed."
    where = f"{measured.when} on {result.device.name}"
    parts = [plural(len(result.samples_ms), "launch", "launches")]
    if result.median_ms is not None:
        parts.append(f"median {result.median_ms:.4g} ms")
    parts.append("checked against float64" if result.ok else "not checked")
    if measured.failure is not None:
        parts.append(f"cut off: {measured.failure.title}")
    parts += [spaced(result.clock_text)] if result.clock_fell else []
    told = filter(None, (", ".join(parts), _readings_text(result.readings)))
    return f"{title}, {where}: {'; '.join(told)}."


def counting_sentence(left: int) -> str:
    """How many ceilings are still to come; empty when none is."""
    return f"{plural(left, 'ceiling is', 'ceilings are')} still being counted." if left else ""


def rates_of(times_ms: Sequence[float], flops: int | None) -> list[float]:
    """GFLOPS of each launch, or its milliseconds where the work is not known."""
    return [flops / (ms * 1e6) if flops is not None else ms for ms in times_ms if ms > 0]
