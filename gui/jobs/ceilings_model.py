"""What the ceilings page knows: ceilings counted so far, and measured runs."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal

from core.errors import CompileError, TilescopeError
from gui.background import Worker, sentence_of
from gui.jobs import ceilings_work as work
from gui.scenes import ceilings_shown as scene

if TYPE_CHECKING:
    from core.devices.device_table import Device
    from core.gpu.benchmark_result import BenchmarkResult
    from core.ladder import Ladder
    from core.models.ceilings import Ceilings
    from core.models.launch_counts import Counts
    from gui.scenes.session_values import Configuration

log = logging.getLogger(__name__)

MOMENT_S = 1.0  # placing that takes longer is said to be under way

# For every page and window: launches counted so far, their ceilings on a device, and the FLOP/B
# that the source of a run asks for.
_counted: dict[work.Key, Counts] = {}
_made: dict[tuple[work.Key, Device], Ceilings] = {}
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
        super().__init__(parent)
        self._ladder, self._results = ladder, results
        self.recorded = _load_recorded()
        self._asked: tuple[work.Key, Device] | None = None
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
        asked = (work.key_of(wanted), device)
        found = _made.get(asked)
        if found is not None:
            self._asked = None
            self._counter.cancel()
            self._keep_intensity(wanted, found)
        elif asked != self._asked:
            self._asked = asked
            known = _counted.get(asked[0])
            self._counter.submit(work.ceilings_job, self._ladder, wanted, device, asked[0], known)
        return found

    def is_counted(self, wanted: Configuration) -> bool:
        """Whether finding the ceilings takes a moment only."""
        return work.key_of(wanted) in _counted

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

    def runs(self, size: int | None, device: Device) -> tuple[scene.Run, ...]:
        """The measured runs of that size on that device, those of this session first."""
        here = scene.runs_at(self._results(), size, device, recorded=False)
        return (*here, *scene.runs_at(self.recorded, size, device, recorded=True))

    def place(self, runs: Iterable[scene.Run], *, count: bool = True) -> None:
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
            self._placer.submit(
                work.intensities_job, self._ladder, missing, known, tell, count=count
            )

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


def _load_recorded() -> tuple[BenchmarkResult, ...]:
    from gui.scenes.benchmark import recorded

    try:
        return recorded()
    except TilescopeError as error:
        log.warning("%s", error)
        return ()
