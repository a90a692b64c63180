"""How long a new process of the window takes until its first paint."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # it is run as a script as well


def first_paints(runs: int) -> Iterator[tuple[float, float]]:
    """Milliseconds from the start of a process to the window's first paint; processor time too."""
    for i in range(runs + 1):
        started = time.time()
        command = [sys.executable, __file__]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        if i:  # the first one warms up the disk
            painted, spent = (float(word) for word in done.stdout.split()[-2:])
            yield (painted - started) * 1e3, spent * 1e3


def main() -> None:
    """The application's own start, ended after its first paint."""
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    from PySide6.QtCore import QEvent, QObject, QTimer

    from gui.shell import app as application
    from gui.shell.main_window import MainWindow

    class FirstPaint(QObject):
        """Prints the time of the window's first paint and leaves."""

        def eventFilter(self, watched: QObject, event: QEvent) -> bool:
            if event.type() == QEvent.Type.UpdateRequest:
                QTimer.singleShot(0, self.leave)
            return False

        def leave(self) -> None:
            sys.stdout.write(f"{time.time()} {time.process_time()}\n")
            sys.stdout.flush()
            os._exit(0)

    watcher, show = FirstPaint(), MainWindow.show

    def watched(window: MainWindow) -> None:
        window.installEventFilter(watcher)
        show(window)

    MainWindow.show = watched  # type: ignore[method-assign,assignment]
    application.main(["--fresh", "--session", os.devnull])


if __name__ == "__main__":
    main()
