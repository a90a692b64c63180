"""A benchmark run in a terminal: workers for the chosen GPUs, progress, Ctrl-C, files kept."""

from __future__ import annotations

import queue
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from core.errors import GpuUnavailable, ParameterError, TilescopeError
from core.gpu.executor import GpuWorker
from core.gpu.files import WRITTEN, Journal, read_journal, write_results
from core.gpu.jobs import Timing
from core.gpu.plan import Plan
from core.gpu.reporting import Sample, Sensed, Stage
from core.gpu.statistics import summarise
from core.gpu.sweep import Lane, Sweep
from core.gpu.updates import Ended, LaneClosed, Outcome, Started, Told, Update

if TYPE_CHECKING:
    from rich.status import Status

    from core.gpu.result import BenchmarkResult, Readings

_TELL_EVERY = 10  # samples


def without_gpu(name: str) -> str:
    """The sentence that says what works on a machine without a GPU."""
    from core.gpu.result import load_recorded

    names = sorted({result.device.name for result in load_recorded()})
    shown = f", and `tilescope bench --recorded` shows results from {', '.join(names)}"
    return (
        f"Timing needs an NVIDIA GPU; without one `tilescope trace {name}` still counts every "
        f"memory transaction{shown if names else ''}."
    )


class Run:
    """One run of a plan. devices: ordinals, None for all that the driver finds.

    Raises TilescopeError where a file cannot be written or `resume` has no .jsonl to read.
    """

    def __init__(
        self,
        plan: Plan,
        timing: Timing,
        devices: tuple[int, ...] | None,
        out: tuple[Path, ...],
        *,
        resume: bool,
    ) -> None:
        self._plan, self._timing, self._devices, self._out = plan, timing, devices, out
        for path in out:
            if path.suffix.lower() not in WRITTEN:
                raise TilescopeError(f"{path.name} ends in none of {', '.join(WRITTEN)}.")
        self._before: list[BenchmarkResult] = []
        if resume:
            self._take_up()
        self._journals = [Journal(p) for p in out if p.suffix.lower() == ".jsonl"]
        self._done: list[Outcome] = []

    def _take_up(self) -> None:
        lines = [p for p in self._out if p.suffix.lower() == ".jsonl"]
        if not lines:
            raise ParameterError("--resume needs a file to go on with: --out FILE.jsonl.")
        found = [item for path in lines if path.exists() for item in read_journal(path)]
        self._before = [result for _, result in found if result is not None]
        self._plan = self._plan.without(frozenset(key for key, result in found if result))
        if found:
            typer.echo(f"{len(self._before)} points are measured already.", err=True)

    def outcomes(self) -> Sequence[Outcome]:
        """Measures; Ctrl-C ends it with what there is. Raises GpuUnavailable if no GPU answers."""
        with ExitStack() as stack:
            for journal in self._journals:
                stack.callback(journal.close)
            lanes = self._lanes(stack)
            told: queue.SimpleQueue[Update] = queue.SimpleQueue()
            sweep = Sweep(self._plan.points, lanes, self._timing, told.put, self._keep)
            sweep.start()
            why = _Follow(sweep, told).to_the_end()
            if why and not self._done:
                raise GpuUnavailable(why)
        return self._done

    def _lanes(self, stack: ExitStack) -> list[Lane]:
        if self._devices == (0,):
            return [Lane("GPU 0", stack.enter_context(GpuWorker(0)))]
        from core.gpu.session import describe_devices

        first = stack.enter_context(GpuWorker(0))
        found = first.submit(describe_devices).result()
        wanted = self._devices or tuple(range(len(found)))
        if beyond := [number for number in wanted if number >= len(found)]:
            raise ParameterError(
                f"There is no GPU number {beyond[0]}: the driver finds {len(found)}, counted "
                "from 0."
            )
        workers = {
            number: first if number == 0 else stack.enter_context(GpuWorker(number))
            for number in wanted
        }
        return [Lane(f"GPU {number}", worker) for number, worker in workers.items()]

    def _keep(self, outcome: Outcome) -> None:
        self._done.append(outcome)
        for journal in self._journals:
            journal.keep(outcome)
        results = [*self._before, *(o.result for o in self._done if o.result is not None)]
        for path in self._out:
            if path.suffix.lower() != ".jsonl":
                write_results(path, results)


class _Follow:
    """Shows a sweep's updates on standard error."""

    def __init__(self, sweep: Sweep, told: queue.SimpleQueue[Update]) -> None:
        self._sweep, self._told = sweep, told
        self._samples: dict[str, list[float]] = {}
        self._sensed: Readings | None = None
        self._why = ""
        self._terminal = sys.stderr.isatty()

    def to_the_end(self) -> str:
        """Returns when the sweep ended: why its GPUs were given up, or ""."""
        from rich.console import Console

        asked = False
        with Console(stderr=True).status("starting the GPU") as status:
            while True:
                try:
                    update = self._told.get(timeout=0.5)  # wakes up, so that Ctrl-C is heard
                    if isinstance(update, Ended):
                        return self._why
                    self._show(update, status)
                except queue.Empty:
                    continue
                except KeyboardInterrupt:
                    self._sweep.stop(now=asked)
                    asked = True
                    status.update("finishing with what was measured (Ctrl-C again: at once)")

    def _show(self, update: Update, status: Status) -> None:
        if isinstance(update, LaneClosed):
            self._why = update.why
            self._line(f"{update.lane} is given up: {update.why}")
        elif isinstance(update, Started):
            self._samples[update.lane] = []
            self._line(f"{update.point.text} …")
        elif isinstance(update, Outcome):
            status.update(self._progress())
            self._line(f"{self._progress()}: {update.point.text}: {_said(update)}", always=True)
        elif isinstance(update, Told):
            self._tell(update, status)

    def _tell(self, update: Told, status: Status) -> None:
        event = update.event
        if isinstance(event, Sensed):
            self._sensed = event.readings
        if isinstance(event, Stage):
            status.update(f"{self._progress()}: {update.point.text}: {event.doing}")
        if not isinstance(event, Sample):
            return
        samples = self._samples.setdefault(update.lane, [])
        samples.append(event.milliseconds)
        if len(samples) % _TELL_EVERY == 1:
            rate = "" if event.gflops is None else f", {event.gflops:,.0f} GFLOPS"
            text = f"{len(samples)} launches, median {summarise(samples).median:.4g} ms{rate}"
            clock = self._sensed.sm_mhz if self._sensed else None
            at = "" if clock is None else f", SM {clock:,.0f} MHz"
            status.update(f"{self._progress()}: {update.point.text}: {text}{at}")

    def _progress(self) -> str:
        progress = self._sweep.progress
        left = "" if progress.left_s is None else f", {_clock(progress.left_s)} left"
        return f"{progress.done} of {progress.total}{left}"

    def _line(self, text: str, *, always: bool = False) -> None:
        if (always and self._sweep.progress.total > 1) or not self._terminal:
            typer.echo(text, err=True)


def _said(outcome: Outcome) -> str:
    if outcome.failure is not None:
        return f"{outcome.failure.title}. {outcome.failure.message}"
    result = outcome.result
    if result is None or result.ok is False:
        return "wrong result"
    if result.gflops is None:
        return f"{result.median_ms:.4g} ms" if result.median_ms else result.ended
    return f"{result.gflops:,.1f} GFLOPS"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
