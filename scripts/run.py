"""`make run`: opens the window, or does the same headless where there is no display."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import qt_libraries

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "out"


def main() -> int:
    """Exit status of the window, or of the headless run."""
    platform = _display()
    if platform is not None and qt_libraries.ready([platform]):
        _become_the_window()
    if platform is None:
        print(
            "There is no display here, so the default configuration is run headless.\n", flush=True
        )
    else:
        print(
            "The window cannot open without them; until then, here is the headless run.\n",
            flush=True,
        )
    return _headless()


def _become_the_window() -> NoReturn:
    """In this very process, so that Ctrl-C and other signals reach the window, and it alone."""
    os.chdir(ROOT)
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", "gui"])


def _display() -> str | None:
    """Qt's platform plugin for the display, if there is one."""
    if os.environ.get("QT_QPA_PLATFORM") in ("offscreen", "minimal"):
        return None
    if os.environ.get("DISPLAY"):
        return "xcb"
    return "wayland" if os.environ.get("WAYLAND_DISPLAY") else None


def _headless() -> int:
    if not qt_libraries.ready(["offscreen"]):
        print("Without them there are no pictures; here is the transaction table.\n", flush=True)
        command = "from core.cli.app import main; main(['trace', 'tiled'])"
        subprocess.run([sys.executable, "-c", command], cwd=ROOT, check=False)
        return 1
    pictures = [sys.executable, "-m", "gui.headless", str(OUT)]
    return subprocess.run(pictures, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
