"""Background work: one job at a time, the newest request wins, results arrive by signal.

A job is a function whose first argument is `progress`: it calls `progress(fraction)` now and then,
and asks `core.cancelling` whether it is still wanted. It runs in a thread of its own and touches no
widget.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Concatenate, ParamSpec

from PySide6.QtCore import QObject, Signal, Slot

from core.cancelling import cancelled_by
from core.errors import TilescopeError

Progress = Callable[[float], None]
Listener = Callable[[Any], object]
P = ParamSpec("P")

log = logging.getLogger(__name__)


def sentence_of(error: object, otherwise: str = "That failed") -> str:
    """What the error of a job says; of one that nobody foresaw `otherwise`, and the error."""
    return str(error) if isinstance(error, TilescopeError) else f"{otherwise}: {error!r}."


class Worker(QObject):
    """Runs jobs off the UI thread; a new job cancels the one before it, unless `keeps_all`.

    Signals: `started()`, `progressed(fraction 0..1)`, `finished(result)`, `failed(exception)`, and
    `idle()` after the last of them. Nothing is emitted for a job that was cancelled. An exception
    that is no TilescopeError is logged here, whoever listens.
    """

    started = Signal()
    progressed = Signal(float)
    finished = Signal(object)
    failed = Signal(object)
    idle = Signal()
    _told = Signal(int, str, object)
    """From the worker's thread: the job's ticket, which signal it asks for, and with what."""

    def __init__(
        self,
        parent: QObject | None = None,
        name: str = "worker",
        done: Listener | None = None,
        failed: Listener | None = None,
        *,
        keeps_all: bool = False,
    ) -> None:
        """`done` hears of each result, and `failed` of each exception.

        keeps_all: every job is done, in order, as where each writes a file of its own.
        """
        super().__init__(parent)
        for signal, listener in ((self.finished, done), (self.failed, failed)):
            if listener is not None:
                signal.connect(listener)
        self._name = name
        self._keeps_all = keeps_all
        self._ticket = 0  # of the newest job
        self.busy = False  # whether a job is waiting or running
        self._is_closed = False
        self._thread = ThreadPoolExecutor(1, name)  # begins with the first job
        self._told.connect(self._tell)

    def submit(
        self, job: Callable[Concatenate[Progress, P], Any], *args: P.args, **kwargs: P.kwargs
    ) -> None:
        """Run `job(progress, *args, **kwargs)` as soon as the one before has given up, or is done.

        After `close` none is run: a slider that is let go of while its window closes may still send
        its last value.
        """
        if self._is_closed:
            return
        self._ticket += 1
        self.busy = True
        self.started.emit()
        self._thread.submit(self._run, self._ticket, lambda told: job(told, *args, **kwargs))

    def cancel(self) -> None:
        """Ask the running job to give up; its result is dropped."""
        self._ticket += 1
        self._settle(self._ticket)

    def close(self) -> None:
        """Cancel, or do all that is left to do, and wait until the thread has ended."""
        self._is_closed = True  # whoever is told that nothing is left to do may send something
        self.cancel()
        self._thread.shutdown()

    def _wanted(self, ticket: int) -> bool:
        """Whether a job is still to be done, and told of. Called from both threads."""
        return self._keeps_all or ticket == self._ticket

    def _run(self, ticket: int, job: Callable[[Progress], Any]) -> None:
        """Do a job, in the worker's thread; what comes of it goes to the UI thread by signal."""
        if not self._wanted(ticket):
            return
        try:
            with cancelled_by(lambda: not self._wanted(ticket)):
                result = job(
                    lambda fraction: self._told.emit(ticket, "progressed", float(fraction))
                )
        except TilescopeError as error:
            self._told.emit(ticket, "failed", error)
        except Exception as error:  # handed to the window, which may not ask for it any more
            log.exception("The job of %s failed", self._name)
            self._told.emit(ticket, "failed", error)
        else:
            self._told.emit(ticket, "finished", result)

    def _settle(self, ticket: int) -> None:
        """Nothing is left to do after the newest job; whoever was told of it may have sent one."""
        if self.busy and ticket == self._ticket:
            self.busy = False
            self.idle.emit()

    @Slot(int, str, object)
    def _tell(self, ticket: int, name: str, value: object) -> None:
        if self._wanted(ticket):
            getattr(self, name).emit(value)
            if name != "progressed":
                self._settle(ticket)
