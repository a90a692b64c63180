"""Takes the pictures of the Ceilings and Occupancy pages that docs/ceilings.md shows.

    python scripts/docs_pictures.py [FOLDER]

They come from Qt's offscreen platform, without a GPU; FOLDER is docs by default.
"""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["QT_QPA_PLATFORM"] = "offscreen"

from PySide6.QtWidgets import QApplication

from core.ladder import load_ladder
from gui.headless import record
from gui.looks.theme import apply_theme
from gui.pictures import Picture, image_of, write_picture
from gui.shell.main_window import MainWindow

SIZE, THEME = (1440, 900), "light"
PATIENCE_S = 120.0
QUIET_S = 2.0  # without an event that changes a page
DOCS = Path(__file__).resolve().parents[1] / "docs"


def wait(app: QApplication, until: Callable[[], bool]) -> None:
    """Process events until something is so, and then until pages have drawn it."""
    end = time.monotonic() + PATIENCE_S
    while not until():
        if time.monotonic() > end:
            raise TimeoutError(f"not done after {PATIENCE_S:.0f} s")
        app.processEvents()
        time.sleep(0.005)
    end = time.monotonic() + QUIET_S
    while time.monotonic() < end:
        app.processEvents()
        time.sleep(0.005)


def page(window: MainWindow, app: QApplication, key: str) -> Any:
    """A page, shown with all that it has."""
    window.session.everything = True
    window.show_page(key)
    wait(app, lambda: window.pages.made(key) is not None)
    return window.pages.made(key)


def take(window: MainWindow, path: Path) -> None:
    """Write a picture of the window, a pixel for each of its own."""
    sys.stdout.write(f"Wrote {write_picture(Picture(image_of(window, 1.0)), path)}\n")


def main(folder: Path) -> None:
    """Both pages, each of the launch and device that the text is about."""
    app = QApplication.instance() or QApplication([])
    assert isinstance(app, QApplication)
    apply_theme(app, THEME)
    window = MainWindow(load_ladder(), THEME)
    window.resize(*SIZE)
    window.show()
    record(window, app, "coalesced", {"n": 64, "block_x": 32, "block_y": 32})
    ceilings = page(window, app, "ceilings")
    ceilings.size_box.setCurrentText("4096")
    ceilings.device_box.setCurrentText("H200")
    wait(app, lambda: ceilings.found is not None and not ceilings.model.placing)
    take(window, folder / "ceilings.png")
    record(window, app, "tiled", {"n": 32, "tile": 16})
    occupancy = page(window, app, "occupancy")
    example = occupancy.example_box
    cliff = [example.itemText(i).startswith("Cliff, after") for i in range(example.count())]
    example.setCurrentIndex(cliff.index(True))
    wait(app, lambda: occupancy.first.rows.count() > 0)
    take(window, folder / "occupancy.png")
    window.close()
    app.processEvents()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS)
