"""The window's pages. To add one, write its view and put a `Page` into `PAGES`.

The tabs, the View menu with its shortcut (Ctrl+1, Ctrl+2 …), links and saved sessions follow from
that. A page is made when it is first asked for, or when the window has nothing else to do
(`gui.page_stack`), so that it costs nothing at the start: its modules are named, not imported. Its
view is a `gui.views.page_widget.PageWidget`, which says what else a page may do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.gpu.result import BenchmarkResult
    from gui.main_window import MainWindow
    from gui.views.page_widget import PageWidget


@dataclass(frozen=True)
class Page:
    """One tab of the window.

    `make` gives its view, whole but for what `building` does. `modules` are imported before that.
    `clock` says whether it shows the moment that the clock stands at, `ahead` whether it is made
    before it is asked for.
    """

    key: str
    title: str
    make: Callable[[MainWindow], PageWidget]
    modules: tuple[str, ...] = ()
    clock: bool = False
    ahead: bool = False


def _step(window: MainWindow) -> PageWidget:
    return window.step_page


def _compare(window: MainWindow) -> PageWidget:
    from gui.views.compare_page import ComparePage

    return ComparePage(window, now=False)


def _benchmark(window: MainWindow) -> PageWidget:
    from gui.scenes.bench_model import results_folder
    from gui.views.benchmark_view import BenchmarkView

    ladder = window.recorder.ladder
    view = BenchmarkView(window.session, ladder, folder=results_folder(), now=False)
    show = window.message.show_message
    view.said.connect(lambda sentence, ok: show(sentence, kind="info" if ok else "error"))
    return view


def _ceilings(window: MainWindow) -> PageWidget:
    from gui.views.ceilings_view import CeilingsView

    def measured() -> tuple[BenchmarkResult, ...]:
        page = window.pages.ready("benchmark")
        return page.measured if page is not None else ()

    return CeilingsView(window.session, window.recorder.ladder, measured, now=False)


def _occupancy(window: MainWindow) -> PageWidget:
    from gui.views.occupancy_view import OccupancyView

    return OccupancyView(window.session, window.recorder.ladder, now=False)


PAGES: tuple[Page, ...] = (
    Page("step", "Step through", _step, clock=True),
    Page("compare", "Compare", _compare, ("gui.views.compare_page",), clock=True, ahead=True),
    Page("benchmark", "Benchmark", _benchmark, ("gui.views.benchmark_view",), ahead=True),
    Page("ceilings", "Ceilings", _ceilings, ("gui.views.ceilings_view",), ahead=True),
    Page("occupancy", "Occupancy", _occupancy, ("gui.views.occupancy_view",), ahead=True),
)


def find_page(key: str) -> Page:
    """A page by its key. Raises KeyError with the keys there are."""
    for page in PAGES:
        if page.key == key:
            return page
    raise KeyError(f"there is no page {key!r}; there are {', '.join(p.key for p in PAGES)}")
