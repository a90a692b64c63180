"""Says that reading or recording takes its time, and stops it."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal

from gui.background import Worker
from gui.commands.recording import Stopped
from gui.commands.window import Window

CALM_MS = 300
"""What takes no longer needs no sign."""
PATIENCE_MS = 1500
"""What takes no longer needs no way to stop it."""
RECORDING = "Recording the new launch …"
_BEFORE = "the views show the launch before"


class Waiting(QObject):
    """Watches one window's opener and recorder. `stopped()` is for whoever works beside them."""

    stopped = Signal()

    def __init__(self, window: Window, opener: Worker) -> None:
        super().__init__(window)
        self.main, self.opener, self.recorder = window, opener, window.recorder
        self._said = ""
        self._timer = QTimer(self, singleShot=True, interval=PATIENCE_MS)
        self._timer.timeout.connect(self._say)
        self._calm = QTimer(self, singleShot=True, interval=CALM_MS)
        self._calm.timeout.connect(self._show_sign)
        self.recorder.arrived.connect(self._take_sign_away)
        for worker in (opener, self.recorder.worker):
            worker.started.connect(self._begin)
            worker.idle.connect(self._end)

    def stop(self) -> None:
        if self.opener.busy:
            self.opener.cancel()
            before = f": {_BEFORE}" if self.main.session.trace is not None else ""
            self.opener.failed.emit(Stopped(f"Opening the file was stopped{before}."))
        self.recorder.stop()
        self.stopped.emit()

    def _begin(self) -> None:
        if not self._timer.isActive():
            self._timer.start()
        if not self._calm.isActive():
            self._calm.start()

    def _show_sign(self) -> None:
        """Say that the views show the launch before: the left column has the new one already."""
        busy = self.opener.busy or self.recorder.worker.busy
        if busy and self.main.pages.row(self.main.session.page).clock:
            self.main.busy_sign.say("Reading the file …" if self.opener.busy else RECORDING)

    def _take_sign_away(self) -> None:
        self._calm.stop()
        self.main.busy_sign.say("")

    def _say(self) -> None:
        if self.main.pages.row(self.main.session.page).bare:
            return  # nothing is waited for there
        what = "Reading" if self.opener.busy else "Compiling and recording"
        before = f"; {_BEFORE}" if self.main.session.trace is not None else ""
        said = f"{what} takes a while{before}."
        self._said = self.main.message.tell(said, "Stop (Ctrl+.)", self.stop)

    def _end(self) -> None:
        if self.opener.busy or self.recorder.worker.busy:
            return
        self._timer.stop()
        self._take_sign_away()
        self.main.message.take_back(self._said)
        self._said = ""
