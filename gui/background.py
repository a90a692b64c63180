"""Background work: one job at a time, the newest request wins, results arrive by signal.

A job is a function whose first argument is `progress`: it calls `progress(fraction)` now and then,
and asks `core.cancelling` whether it is still wanted. It runs in a thread of its own and touches no
widget. What follows a slider goes through a `Coalescer`; `AfterFirstPaint` is for work that would
take processor time from the first picture.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Concatenate, ParamSpec

from PySide6.QtCore import QElapsedTimer, QEvent, QObject, QTimer, Signal, Slot
from PySide6.QtWidgets import QWidget

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


def close_workers(owner: QObject) -> None:
    """Close the workers of an object and of all its parts, as its last act."""
    for worker in owner.findChildren(Worker):
        worker.close()


_LONGEST_MS = 1000  # a window that starts minimised is not painted


class AfterFirstPaint(QObject):
    """Calls `act` once, when the window has been painted."""

    def __init__(self, window: QWidget, act: Callable[[], None]) -> None:
        super().__init__(window)
        self._window, self._act = window, act
        self._done = False
        window.installEventFilter(self)
        QTimer.singleShot(_LONGEST_MS, self, self._go)

    def eventFilter(self, _: QObject, event: QEvent) -> bool:
        """The first request to paint is answered right after this."""
        if event.type() == QEvent.Type.UpdateRequest:
            QTimer.singleShot(0, self, self._go)
        return False

    def _go(self) -> None:
        if not self._done:
            self._done = True
            self._window.removeEventFilter(self)
            self._act()


PATIENCE_MS = 200
MOST_PATIENCE_MS = 2000


class Coalescer(QObject):
    """Emits `released(value)`: the first value at once, then the newest whenever work has ended.

    Several things may be offered, each under a name of its own: the newest value of each is let
    through, in the order in which they began to wait.

    Work that takes long is not waited for: the newest value is let through, and whoever works drops
    the older job. Long is PATIENCE_MS at first, then twice what the last job took; and twice as
    long again each time that a job was dropped, so that some get done on a slow machine too. So
    what is shown follows a slider while it is dragged, and the last value always arrives.
    """

    released = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._busy = False
        self._waiting: dict[Hashable, Any] = {}  # the newest values, by what they are of
        self._patience = QTimer(self, singleShot=True, interval=PATIENCE_MS)
        self._patience.timeout.connect(self._give_up)
        self._clock = QElapsedTimer()

    def watch(self, worker: Worker) -> None:
        """Wait for the jobs of this worker."""
        worker.started.connect(self._begin)
        worker.idle.connect(self._end)

    def offer(self, value: Any, of: Hashable = None) -> None:
        """Let a value through, now or when there is time for it."""
        self._waiting[of] = value
        if not self._busy:
            self._release()
        elif not self._patience.isActive():
            self._patience.start()

    def drop(self) -> None:
        """Forget what is waiting."""
        self._waiting = {}
        self._patience.stop()

    def _begin(self) -> None:
        self._busy = True
        self._clock.start()

    def _end(self) -> None:
        if self._busy and self._clock.isValid():
            self._wait(2 * self._clock.elapsed())
        self._busy = False
        self._release()

    def _give_up(self) -> None:
        self._wait(2 * self._patience.interval())
        self._release()

    def _wait(self, milliseconds: int) -> None:
        self._patience.setInterval(min(max(milliseconds, PATIENCE_MS), MOST_PATIENCE_MS))

    def _release(self) -> None:
        self._patience.stop()
        waiting, self._waiting = self._waiting, {}
        for value in waiting.values():
            self.released.emit(value)
