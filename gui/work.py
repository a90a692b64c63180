"""Background work: one job at a time, the newest request wins, results arrive by signal.

A job is a function of (progress, cancelled): it calls `progress(fraction)` now and then, and gives
up with `core.errors.Cancelled` soon after `cancelled()` turns true; what it calls may ask
`core.cancelling` instead. It runs in a thread of its own and must not touch a widget.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, QThread, Signal, Slot

from core.cancelling import cancelled_by

Progress = Callable[[float], None]
Cancelled = Callable[[], bool]
Job = Callable[[Progress, Cancelled], Any]

log = logging.getLogger(__name__)


class _Runner(QObject):
    """Lives in the worker thread and runs what it is sent."""

    done = Signal(int, object)
    failed = Signal(int, object)
    progressed = Signal(int, float)

    def __init__(self, newest: Callable[[], int]) -> None:
        super().__init__()
        self._newest = newest

    @Slot(int, object)
    def run(self, ticket: int, job: Job) -> None:
        if ticket != self._newest():
            return
        try:
            with cancelled_by(lambda: ticket != self._newest()):
                result = job(
                    lambda fraction: self.progressed.emit(ticket, float(fraction)),
                    lambda: ticket != self._newest(),
                )
        except Exception as error:  # noqa: BLE001  handed to the window, which shows or logs it
            self.failed.emit(ticket, error)
        else:
            self.done.emit(ticket, result)


class Worker(QObject):
    """Runs jobs off the UI thread; a new job cancels the one before it.

    Signals: `started()`, `progressed(fraction 0..1)`, `finished(result)`, `failed(exception)`, and
    `idle()` after the last of them. Nothing is emitted for a job that was cancelled.
    """

    started = Signal()
    progressed = Signal(float)
    finished = Signal(object)
    failed = Signal(object)
    idle = Signal()
    _send = Signal(int, object)

    def __init__(self, parent: QObject | None = None, name: str = "worker") -> None:
        super().__init__(parent)
        self._lock = threading.Lock()
        self._ticket = 0
        self._busy = False
        self._thread = QThread()
        self._thread.setObjectName(name)
        self._runner = _Runner(lambda: self._ticket)
        self._runner.moveToThread(self._thread)
        self._send.connect(self._runner.run)
        self._runner.done.connect(self._on_done)
        self._runner.failed.connect(self._on_failed)
        self._runner.progressed.connect(self._on_progress)

    @property
    def busy(self) -> bool:
        """Whether a job is waiting or running."""
        return self._busy

    def submit(self, job: Job) -> None:
        """Run a job as soon as the one before it has given up."""
        if not self._thread.isRunning():
            self._thread.start()
        ticket = self._next_ticket()
        self._busy = True
        self.started.emit()
        self._send.emit(ticket, job)

    def cancel(self) -> None:
        """Ask the running job to give up; its result is dropped."""
        self._next_ticket()
        self._settle()

    def close(self) -> None:
        """Cancel, and wait until the thread has ended."""
        self.cancel()
        self._thread.quit()
        self._thread.wait()

    def _next_ticket(self) -> int:
        with self._lock:
            self._ticket += 1
            return self._ticket

    def _settle(self) -> None:
        if self._busy:
            self._busy = False
            self.idle.emit()

    @Slot(int, object)
    def _on_done(self, ticket: int, result: object) -> None:
        if ticket == self._ticket:
            self.finished.emit(result)
            self._settle()

    @Slot(int, object)
    def _on_failed(self, ticket: int, error: object) -> None:
        if ticket == self._ticket:
            self.failed.emit(error)
            self._settle()

    @Slot(int, float)
    def _on_progress(self, ticket: int, fraction: float) -> None:
        if ticket == self._ticket:
            self.progressed.emit(fraction)
