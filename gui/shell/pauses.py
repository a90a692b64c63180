"""Keeps the UI thread's waits for Python short: they would be frames that come late.

A full collection goes through everything that there is: 50 to 100 ms for the modules, widgets and
tables of the whole window. These stay for as long as it does, so they are taken out of the
collector's sight once they are there.

A thread that computes keeps Python's lock for 5 ms when another asks for it, unless told otherwise:
work in ten short events would wait for it ten times.
"""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer

if TYPE_CHECKING:
    from gui.shell.main_window import MainWindow

THRESHOLDS = 700, 4, 25  # with Python's 700, 10, 10 the middle generation alone takes up to 5 ms
SWITCH_S = 0.0005
SETTLED_MS = 1000  # after which what was imported and made for something new is there


class ShortPauses(QObject):
    """Looks after one window's process. The application has one, tests none."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        gc.set_threshold(*THRESHOLDS)
        sys.setswitchinterval(SWITCH_S)
        gc.freeze()
        window.recorder.recorded.connect(self._on_first_trace)
        window.pages.importer.settle = gc.freeze  # before anything goes through them
        window.pages.came.connect(self._keep_out)  # its widgets stay

    def _on_first_trace(self) -> None:
        """Compiler, emulator and what the views need of them have been imported."""
        self._window.recorder.recorded.disconnect(self._on_first_trace)
        self._keep_out()

    def _keep_out(self) -> None:
        """Once for each thing that stays: garbage of that moment is kept as well."""
        QTimer.singleShot(SETTLED_MS, self, gc.freeze)
