"""The benchmark page's state: GPUs, a running sweep, what it says, and all results. No Qt here.

Updates of a sweep come from other threads into a queue; `drain`, called by whoever owns the clock
of the view, takes them. So nothing here runs but in the caller's thread, and a burst of samples
costs one redraw.
"""

from __future__ import annotations

import datetime
import queue
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from psygnal import Signal

from core.errors import TilescopeError
from core.gpu.files import Journal, read_results
from core.gpu.jobs import Timing
from core.gpu.plan import Plan, Point
from core.gpu.reporting import Begun, Sample, Sensed, Stage
from core.gpu.result import BenchmarkResult, DeviceReport, Readings
from core.gpu.sweep import Lane, Sweep
from core.gpu.updates import Ended, LaneClosed, Outcome, Progress, Started, Told, Update
from gui.scenes.bench_measured import HERE, RECORDED, Measured
from gui.scenes.recorded import recorded

MakeWorker = Callable[[int], Executor]


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

    def __init__(self, make_worker: MakeWorker, folder: Path | None = None) -> None:
        """folder: where each sweep's outcomes are kept as they come; None keeps them nowhere."""
        self._make_worker, self._folder = make_worker, folder
        self._workers: dict[int, Any] = {}
        self._probe: Future[Any] | None = None
        self._told: queue.SimpleQueue[Update] = queue.SimpleQueue()
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

    # ---- what there is

    def load(self) -> None:
        """Take up recorded results, and those of earlier sweeps on this machine."""
        for _ in self.loading():
            pass

    def loading(self) -> Iterator[None]:
        """`load`, a file at a time."""
        self.measured += [Measured(result, RECORDED) for result in recorded()]
        yield
        for path in sorted(self._folder.glob("*.jsonl")) if self._folder else ():
            try:
                self.measured += [Measured(result) for result in read_results(path)]
            except TilescopeError as error:
                self.trouble = str(error)
            yield
        self.changed.emit(frozenset(("results",)))

    def import_file(self, path: Path) -> int:
        """Take up results that were exported elsewhere; how many. Raises TilescopeError."""
        results = read_results(path)
        if not results:
            raise TilescopeError(f"{path.name} holds no results.")
        self.measured += [Measured(result, path.name) for result in results]
        self.changed.emit(frozenset(("results",)))
        return len(results)

    def forget(self, machine: str) -> None:
        """Leave out the results of a machine, until the next start."""
        self.measured = [m for m in self.measured if m.machine != machine]
        self.changed.emit(frozenset(("results",)))

    def look_for_gpus(self) -> None:
        """Ask the driver, once; `drain` takes the answer."""
        if self._probe is None and not self.devices:
            from core.gpu.session import describe_devices

            self._probe = self._worker(0).submit(describe_devices)

    # ---- a sweep

    @property
    def running(self) -> bool:
        """Whether a sweep is under way, paused or not."""
        return self._sweep is not None

    @property
    def busy(self) -> bool:
        """Whether `drain` has something to wait for."""
        return self._sweep is not None or self._probe is not None

    @property
    def paused(self) -> bool:
        """Whether the sweep is paused."""
        return self._sweep is not None and self._sweep.paused

    @property
    def progress(self) -> Progress | None:
        """How far the sweep is; None without one."""
        return None if self._sweep is None else self._sweep.progress

    def run(self, plan: Plan, timing: Timing, ordinals: Sequence[int]) -> None:
        """Start a sweep on these GPUs; the results of it are kept as they come.

        Raises TilescopeError where they cannot be kept.
        """
        if self._sweep is not None:
            return
        keep = None
        if self._folder is not None:
            now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H%M%S")
            self._journal = Journal(self._folder / f"{now}.jsonl")
            self.kept, keep = self._journal.path, self._journal.keep
        lanes = [Lane(f"GPU {number}", self._worker(number)) for number in ordinals]
        self.live, self.closed_lanes, self.left, self.failed = {}, {}, (), []
        self.stopping = False
        self._sweep = Sweep(plan.points, lanes, timing, self._told.put, keep)
        self._sweep.start()
        self.changed.emit(frozenset(("state", "progress", "live")))

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
        if self._sweep is not None:
            self._sweep.stop(now=True)
            self._sweep.wait(10.0)
            self.drain()
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

    def _take(self, update: Update) -> set[str]:
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
                return {"state", "progress", "live", "ended"}

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
