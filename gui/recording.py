"""From a configuration to a trace, off the UI thread: what is recorded, and by whom."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal

from core.errors import Cancelled, TilescopeError
from gui.scenes.session import WARP_SIZE, Configuration, Session
from gui.work import Job, Worker

if TYPE_CHECKING:
    from core.ladder import Ladder, Rung
    from core.launch import Workload
    from core.trace import Trace

WHOLE_LAUNCH_FLOPS = 8_000_000
"""Up to this much arithmetic every block is run and counted; beyond, only the block looked at."""

log = logging.getLogger(__name__)


def runs_whole(workload: Workload) -> bool:
    """Whether every block of the launch is run, so that the counts are of the whole launch."""
    launch = workload.launch
    size = workload.flops or 64 * launch.grid.count * launch.block.count
    return size <= WHOLE_LAUNCH_FLOPS


def record_job(rung: Rung, parameters: Mapping[str, int], block: int) -> Job:
    """The work of recording a rung's launch; gives a `core.trace.Trace`."""

    def job(progress: Any, cancelled: Any) -> Any:
        from core.recording import record

        values: dict[str, Any] = dict(parameters)
        workload = rung.workload(**values)
        whole = runs_whole(workload)
        block_shown = min(block, workload.launch.grid.count - 1)
        trace = record(
            workload,
            blocks=None if whole else [block_shown],
            only_recorded=not whole,
            progress=progress,
            cancelled=cancelled,
        )
        prepare(trace, block_shown)
        return trace

    return job


def prepare(trace: Trace, block: int) -> None:
    """Have a block's steps, phases and variables indexed here, not when the window first asks."""
    shown = block if block in trace.recorded_blocks else trace.recorded_blocks[0]
    record = trace.block(shown)
    if record.n_steps:
        step = record.seek(0, "access", forward=True)
        for warp in range(record.n_warps):
            record.variables(step, warp * WARP_SIZE)
        record.shared(step)
        record.active(step)
    len(record.phases)


class Recorder(QObject):
    """Keeps the session's trace in step with its configuration.

    Signals: `started()`, `progressed(fraction)`, `stopped()`, `failed(TilescopeError)`. When
    recording fails the session keeps the trace it has.
    """

    started = Signal()
    progressed = Signal(float)
    recorded = Signal()
    stopped = Signal()
    failed = Signal(object)

    def __init__(self, session: Session, ladder: Ladder, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.session = session
        self.ladder = ladder
        self.worker = Worker(self, "recorder")
        self.worker.started.connect(self.started)
        self.worker.progressed.connect(self.progressed)
        self.worker.idle.connect(self.stopped)
        self.worker.finished.connect(self._take)
        self.worker.failed.connect(self._report)
        session.configuration_changed.connect(self._record)
        session.block_wanted.connect(self._record_block)

    def configure(self, rung: str, parameters: Mapping[str, int] | None = None) -> None:
        """Ask for a rung with parameters; the rest take the rung's defaults.

        Raises ParameterError for an unknown rung; wrong values are reported by `failed`.
        """
        defaults = {p.name: p.default for p in self.ladder[rung].parameters}
        self.session.configuration = Configuration(rung, {**defaults, **(parameters or {})})

    def close(self) -> None:
        """Cancel and wait for the thread."""
        self.session.configuration_changed.disconnect(self._record)
        self.session.block_wanted.disconnect(self._record_block)
        self.worker.close()

    def _record(self, configuration: Configuration) -> None:
        rung = self.ladder[configuration.rung]
        self.worker.submit(record_job(rung, configuration.parameters, self.session.block))

    def _record_block(self, block: int) -> None:
        configuration = self.session.configuration
        if configuration is not None:
            rung = self.ladder[configuration.rung]
            self.worker.submit(record_job(rung, configuration.parameters, block))

    def _take(self, trace: Any) -> None:
        self.session.trace = trace
        self.recorded.emit()

    def _report(self, error: object) -> None:
        if isinstance(error, Cancelled):
            return
        if not isinstance(error, TilescopeError):
            log.error("Recording failed", exc_info=error)  # type: ignore[arg-type]
            error = TilescopeError(f"Recording failed unexpectedly: {error!r}.")
        self.failed.emit(error)
