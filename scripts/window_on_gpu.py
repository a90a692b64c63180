"""The real window's live benchmark on a machine with an NVIDIA GPU, as pictures and a report.

    python scripts/window_on_gpu.py OUT [--size 4096] [--tile 32]

Opens the window on Qt's offscreen platform, takes a picture of the tiled kernel at a step, then
runs its benchmark on the Benchmark page, with a picture while samples arrive and one at the end,
and kills the worker process in the middle of a second run: the window must live and say so. Writes
OUT/window_on_gpu.json with what the page said.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["QT_QPA_PLATFORM"] = "offscreen"
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout, like `python -m gui`

from PySide6.QtWidgets import QApplication  # noqa: E402

from core.ladder import load_ladder  # noqa: E402
from gui.headless import record  # noqa: E402
from gui.main_window import MainWindow  # noqa: E402
from gui.theme import apply_theme  # noqa: E402


def wait(app: QApplication, until: Callable[[], Any], seconds: float, what: str) -> None:
    """Runs the event loop until something is true."""
    end = time.monotonic() + seconds
    while not until():
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: nothing for {seconds:.0f} s")
        app.processEvents()
        time.sleep(0.002)


def main() -> int:
    """Returns 0 when the run ended with a rate and the window outlived its worker."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--size", default="4096")
    parser.add_argument("--tile", type=int, default=32)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)

    app = QApplication(["tilescope"])
    apply_theme(app, "light")
    window = MainWindow(load_ladder(), "light")
    window.resize(1600, 1000)
    window.show()
    record(window, app, "tiled", {"n": 64, "tile": options.tile})
    save(window, options.out / "step.png")

    window.show_page("benchmark")
    page: Any = window.pages.made("benchmark")
    wait(app, lambda: page._device, 60, "looking for a GPU")
    page.size_box.setCurrentText(options.size)
    said = {"subject": page.subject.text()}
    page.run()
    wait(app, lambda: len(page.samples) > 20 or page._running is None, 120, "first samples")
    save(window, options.out / "running.png")
    wait(app, lambda: page._running is None, 180, "the end of the run")
    save(window, options.out / "done.png")
    said["result"] = page.shown.text()

    page.run()
    wait(app, lambda: page.samples or page._running is None, 120, "samples of the second run")
    page._worker.kill()
    wait(app, lambda: page._running is None, 60, "news of the worker's death")
    save(window, options.out / "worker_killed.png")
    said["after_kill"] = page.caption.text()
    window.close()
    app.processEvents()
    (options.out / "window_on_gpu.json").write_text(json.dumps(said, indent=1, ensure_ascii=False))
    sys.stdout.write(json.dumps(said, indent=1, ensure_ascii=False) + "\n")
    return 0


def save(window: MainWindow, path: Path) -> None:
    """A picture of the whole window."""
    QApplication.processEvents()
    window.grab().save(str(path))


if __name__ == "__main__":
    sys.exit(main())
