"""The window's pages. To add one, write its view and put a `Page` into `PAGES`.

The tabs, the View menu with its shortcut (Ctrl+1, Ctrl+2 …), links and saved sessions follow from
that. A page is made when it is first asked for (`gui.views.page_stack`), so that it costs nothing
at the start; its modules are imported then, or before (`read_ahead`). Its view is a
`gui.views.page_stack.PageWidget`, which says what else a page may do.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer

from gui.views import page_stack
from gui.views.page_stack import PAINTED_MS

if TYPE_CHECKING:
    from core.gpu.benchmark_result import BenchmarkResult
    from gui.commands.all_commands import Commands
    from gui.commands.window_parts import Window
    from gui.views.page_stack import PageWidget


@dataclass(frozen=True)
class Page(page_stack.Page):
    """One tab of the window; `make` gives its view."""

    make: Callable[[Window, Commands], PageWidget]


def _step(window: Window, commands: Commands) -> PageWidget:
    return window.step_page


def _compare(window: Window, commands: Commands) -> PageWidget:
    from gui.commands.second_launch import Comparing
    from gui.shell.compare_page import ComparePage

    comparing = Comparing(window, commands.workbench, commands.moments)
    return ComparePage(window, comparing, commands.explaining)


def _benchmark(window: Window, commands: Commands) -> PageWidget:
    from gui.scenes.benchmark_sweep import results_folder
    from gui.views.benchmark_view import BenchmarkView

    view = BenchmarkView(window.session, window.recorder.ladder, folder=results_folder())
    show = window.message.show_message
    view.said.connect(lambda sentence, ok: show(sentence, kind="info" if ok else "error"))
    return view


def _ceilings(window: Window, commands: Commands) -> PageWidget:
    from gui.views.ceilings_view import CeilingsView

    def measured() -> tuple[BenchmarkResult, ...]:
        page = window.pages.made("benchmark")
        return page.measured if page is not None else ()

    return CeilingsView(window.session, window.recorder.ladder, measured)


def _occupancy(window: Window, commands: Commands) -> PageWidget:
    from gui.views.occupancy_view import OccupancyView

    return OccupancyView(window.session, window.recorder.ladder)


def _course(window: Window, commands: Commands) -> PageWidget:
    from gui.scenes.course_shown import course_shown
    from gui.views.course_page import CoursePage

    page, teaching = CoursePage(), commands.teaching

    def show() -> None:
        if teaching.course is not None and teaching.progress is not None and page.isVisible():
            page.show_course(course_shown(teaching.course, teaching.lessons, teaching.progress))

    def look() -> None:
        teaching.leave()  # a lesson takes the place of the ladder
        window.look_at_page("step")

    teaching.course_read.connect(show)
    page.came.connect(lambda: QTimer.singleShot(PAINTED_MS, page, teaching.read_course))
    page.lesson_wanted.connect(teaching.begin_lesson)
    page.review.clicked.connect(teaching.begin_review)
    page.test_wanted.connect(teaching.begin_test)
    page.ways["look"].button.clicked.connect(look)
    page.ways["bring"].button.clicked.connect(commands.workbench.ask_for_file)
    page.open_file.clicked.connect(teaching.ask_for_file)
    page.export_wanted.connect(teaching.ask_and_export)
    return page


PAGES: tuple[Page, ...] = (
    Page("step", "Step through", _step, clock=True),
    Page("compare", "Compare", _compare, clock=True),
    Page("benchmark", "Benchmark", _benchmark),
    Page("ceilings", "Ceilings", _ceilings),
    Page("occupancy", "Occupancy", _occupancy),
    Page("course", "Course", _course, bare=True),
)

_WITH_PLOTS = ("gui.views.benchmark_view", "gui.views.ceilings_view", "gui.views.occupancy_view")


def read_ahead() -> threading.Thread:
    """Import what the pages with plots need, in a thread, while somebody looks at the first page.

    That is half a second in all, of which pyqtgraph takes most: too long for a click on a tab.
    """

    def read() -> None:
        for name in _WITH_PLOTS:
            import_module(name)

    thread = threading.Thread(target=read, name="read ahead", daemon=True)
    thread.start()
    return thread
