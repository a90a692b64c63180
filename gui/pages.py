"""The window's pages. To add one, write its view and put a `Page` into `PAGES`.

The tabs, the View menu with its shortcut (Ctrl+1, Ctrl+2 …), links and saved sessions follow from
that. A page is made when it is first shown, with its imports inside the function that makes it, so
that it costs nothing at the start. A page that holds a thread or a process has `shut_down()`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QStackedWidget, QWidget

if TYPE_CHECKING:
    from core.gpu.result import BenchmarkResult
    from gui.main_window import MainWindow


@dataclass(frozen=True)
class Page:
    """One tab of the window; `clock` says whether it shows the moment that the clock stands at."""

    key: str
    title: str
    make: Callable[[MainWindow], QWidget]
    clock: bool = False


def _step(window: MainWindow) -> QWidget:
    return window.step_page


def _compare(window: MainWindow) -> QWidget:
    from gui.views.compare_page import ComparePage

    return ComparePage(window)


def _benchmark(window: MainWindow) -> QWidget:
    from gui.scenes.bench_model import results_folder
    from gui.views.benchmark_view import BenchmarkView

    return BenchmarkView(window.session, window.recorder.ladder, folder=results_folder())


def _ceilings(window: MainWindow) -> QWidget:
    from gui.views.ceilings_view import CeilingsView

    def measured() -> tuple[BenchmarkResult, ...]:
        return tuple(getattr(window.pages.made("benchmark"), "measured", ()))

    return CeilingsView(window.session, window.recorder.ladder, measured)


def _occupancy(window: MainWindow) -> QWidget:
    from gui.views.occupancy_view import OccupancyView

    return OccupancyView(window.session, window.recorder.ladder)


PAGES: tuple[Page, ...] = (
    Page("step", "Step through", _step, clock=True),
    Page("compare", "Compare", _compare, clock=True),
    Page("benchmark", "Benchmark", _benchmark),
    Page("ceilings", "Ceilings", _ceilings),
    Page("occupancy", "Occupancy", _occupancy),
)


class Pages(QStackedWidget):
    """Shows one page at a time; each is made when it is first shown."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__()
        self._window = window
        self._made: dict[str, QWidget] = {}

    def made(self, key: str) -> QWidget | None:
        """A page's view, None before it was first shown."""
        return self._made.get(key)

    def open(self, key: str) -> Page:
        """Show a page. Raises KeyError with the keys there are if there is no such page."""
        page = find_page(key)
        if key not in self._made:
            self._made[key] = page.make(self._window)
            self.addWidget(self._made[key])
        self.setCurrentWidget(self._made[key])
        return page

    def shut_down(self) -> None:
        """Have every page stop what it runs."""
        for view in self._made.values():
            stop = getattr(view, "shut_down", None)
            if stop is not None:
                stop()


def find_page(key: str) -> Page:
    """A page by its key. Raises KeyError with the keys there are."""
    for page in PAGES:
        if page.key == key:
            return page
    raise KeyError(f"there is no page {key!r}; there are {', '.join(p.key for p in PAGES)}")
