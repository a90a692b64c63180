"""A sweep of benchmarks while it runs: where it may run, its progress, and all results.

Updates of a sweep come from other threads into a queue; `drain`, called by whoever owns the clock
of the view, takes them. So nothing here runs but in the caller's thread, and a burst of samples
costs one redraw.
"""

from __future__ import annotations

import datetime
import json
import logging
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from psygnal import Signal

from core.atomic_files import replace_file
from core.cancelling import cancelled_by
from core.errors import Cancelled, TilescopeError
from core.gpu.benchmark_job import BenchmarkJob, Timing
from core.gpu.benchmark_result import BenchmarkResult, DeviceReport, Readings
from core.gpu.benchmark_run import run_benchmark
from core.gpu.events_and_failures import Begun, Sample, Sensed, Stage
from core.gpu.result_files import Journal, load_recorded, read_results
from core.gpu.sweep import Ended, Lane, LaneClosed, Outcome, Progress, Started, Sweep, Told, Update
from core.gpu.sweep_plan import Plan, Point
from gui.scenes.benchmark_results import HERE, RECORDED, Measured

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
