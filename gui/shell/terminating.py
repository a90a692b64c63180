"""Ctrl-C in the terminal, SIGTERM and SIGHUP close the window as its own button does."""

from __future__ import annotations

import signal
import socket
from types import FrameType

from PySide6.QtCore import QObject, QSocketNotifier
from PySide6.QtWidgets import QApplication

SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


class Terminator(QObject):
    """Closes all windows at the first of `SIGNALS`; at a second one the process ends at once.

    Python's own handler would raise KeyboardInterrupt in whatever event was running, and Qt's loop
    runs no handler before the next event: the signal's number arrives as a byte at a socket that
    Qt listens to. One that is ignored here, as SIGHUP under nohup, stays so.
    """

    def __init__(self, app: QApplication) -> None:
        super().__init__(app)
        self.got = 0
        """The number of the signal that closed the windows, 0 while there was none."""
        self._read, self._write = socket.socketpair()
        for end in (self._read, self._write):
            end.setblocking(False)
        self._notifier = QSocketNotifier(self._read.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._close)
        self._wakeup_before = signal.set_wakeup_fd(self._write.fileno(), warn_on_full_buffer=False)
        self._before = {
            number: signal.signal(number, _note)
            for number in SIGNALS
            if signal.getsignal(number) is not signal.SIG_IGN
        }

    def _close(self) -> None:
        numbers = [number for number in self._read.recv(64) if number in self._before]
        if not numbers:
            return
        self.got = numbers[0]
        for number in self._before:
            signal.signal(number, signal.SIG_DFL)
        QApplication.closeAllWindows()

    def stop(self) -> None:
        """Leave the signals to whoever had them before."""
        self._notifier.setEnabled(False)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wakeup_before)
        self._read.close()
        self._write.close()


def _note(number: int, frame: FrameType | None) -> None:
    """Nothing: the byte at the socket says it."""
