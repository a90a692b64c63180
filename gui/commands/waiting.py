"""Says that reading or recording takes its time, and stops it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from core.errors import TilescopeError
from gui.commands.recording import Recorder
from gui.frames.work import Worker

if TYPE_CHECKING:
    from gui.main_window import MainWindow

PATIENCE_MS = 1500
"""What takes no longer needs no words."""
_BEFORE = "what is shown is the launch before"


class Waiting(QObject):
    """Watches one window's opener and recorder. `stopped()` is for whoever works beside them."""

    stopped = Signal()

    def __init__(self, window: MainWindow, opener: Worker, recorder: Recorder) -> None:
        super().__init__(window)
        self.main, self.opener, self.recorder = window, opener, recorder
        self._said = ""
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(PATIENCE_MS)
        self._timer.timeout.connect(self._say)
        for begun in (opener.started, recorder.started):
            begun.connect(self._begin)
        for ended in (opener.idle, recorder.stopped):
            ended.connect(self._end)

    def stop(self) -> None:
        """Give up what is read, recorded or counted; what is shown stays."""
        if self.opener.busy:
            self.opener.cancel()
            before = f": {_BEFORE}" if self.main.session.trace is not None else ""
            self.opener.failed.emit(TilescopeError(f"Opening the file was stopped{before}."))
        self.recorder.stop()
        self.stopped.emit()

    def _begin(self) -> None:
        if not self._timer.isActive():
            self._timer.start()

    def _say(self) -> None:
        what = "Reading" if self.opener.busy else "Compiling and recording"
        before = f"; {_BEFORE}" if self.main.session.trace is not None else ""
        self._said = f"{what} takes a while{before}."
        self.main.message.show_message(
            self._said, kind="info", label="Stop (Ctrl+.)", action=self.stop
        )

    def _end(self) -> None:
        if self.opener.busy or self.recorder.worker.busy:
            return
        self._timer.stop()
        if self._said and self.main.message.sentence == self._said:
            self.main.message.clear()
        self._said = ""
