"""What of a window can be had as a picture, by name: any view, shown or not."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QRect, QSize
from PySide6.QtWidgets import QWidget

from gui.docks.dock_area import DockArea
from gui.frames.pieces import PAUSE, Pieces, Steps, Wait
from gui.frames.work import Worker
from gui.pages import PAGES
from gui.pictures.visit import Visit
from gui.views.base import SessionView
from gui.views.dock import ViewDock
from gui.views.patient_colours import PatientHighlighter

if TYPE_CHECKING:
    from gui.main_window import MainWindow

WINDOW = "Whole window"
LEAST = QSize(480, 320)  # of a view that never had a place
PATIENCE_S = 1.0  # for what a hidden view works out in other threads; nothing is painted meanwhile


@dataclass(frozen=True)
class Place:
    """Where a view is: the key of its page, empty for the window's own, and it, once it is made."""

    page: str
    view: QWidget | None


class Gallery:
    """Finds the views of one window and has hidden ones ready to be painted, where they are."""

    def __init__(self, window: MainWindow) -> None:
        self.main = window

    def places(self) -> dict[str, Place]:
        """All there are; those of the page in sight come first, after the whole window."""
        main, shown = self.main, self.main.session.page
        found = {WINDOW: Place("", main)}
        for page in sorted(PAGES, key=lambda page: page.key != shown):
            found |= {name: Place(page.key, v) for name, v in self._on_page(page.key).items()}
            view = main.pages.ready(page.key)
            if view is not None or page.ahead:
                found[f"{page.title} page"] = Place(page.key, view)
        return found

    def shown(self) -> dict[str, QWidget]:
        """Those that are to be seen as they are."""
        self.main.pages.finish()
        places = self.places().items()
        return {n: p.view for n, p in places if p.view is not None and p.view.isVisible()}

    def at(self, widget: QWidget | None) -> str:
        """The name of the smallest view that a widget is in, or that stands in its dock."""
        for dock in self.main.step_page.docks.values():
            if widget is not None and (widget is dock or dock.isAncestorOf(widget)):
                widget = dock.view
        holding = [
            (view.width() * view.height(), name)
            for name, view in self.shown().items()
            if widget is not None and (view is widget or view.isAncestorOf(widget))
        ]
        return min(holding)[1] if holding else WINDOW

    def _on_page(self, key: str) -> dict[str, QWidget]:
        main = self.main
        if key == "step":
            return {
                "Matrices": main.matrices,
                "Warp and global memory": main.warp,
                "Shared memory": main.shared,
                "Source": main.source,
                "PTX": main.ptx,
                "Phase table": main.phases,
                "Variables": main.variables,
                "Counters": main.counters,
                "Breakpoints": main.breakpoints,
                "Findings": main.findings,
                "Scrub bar": main.transport.scrub,
            }
        page = main.pages.ready(key)
        return page.pictures() if page is not None else {}

    # ---- what is hidden

    def preparing(self, name: str, paint: Callable[[QWidget], None]) -> Steps:
        """Have a hidden view as it would be if it were shown, piece by piece, and paint it.

        It forgets nothing that it would catch up with when it is shown.
        """
        pages, key = self.main.pages, self.places()[name].page
        if key and pages.ready(key) is None:
            yield from pages.making(key)
        page = pages.ready(key)
        if page is None or page is pages.currentWidget():
            yield from self._bringing(name, paint)
            return
        page.resize(pages.size())
        yield PAUSE
        yield from page.catching_up()
        with Visit(self.main, page) if page.modest else nullcontext():
            yield PAUSE
            yield from _settling(page)
            yield from self._bringing(name, paint)

    def _bringing(self, name: str, paint: Callable[[QWidget], None]) -> Steps:
        view = self.places()[name].view
        assert view is not None  # its page is made
        if view.isVisible():
            paint(view)
            return
        least = view.minimumSize()
        _fit(view)
        yield PAUSE
        parts = [p for p in (view, *view.findChildren(QWidget)) if isinstance(p, SessionView)]
        missed = [part.missed for part in parts]
        try:
            yield from _caught_up(parts)
            yield from _settling(view)
            yield from _caught_up(parts)
            paint(view)
        finally:
            view.setMinimumSize(least)
            for part, names in zip(parts, missed, strict=True):
                part.miss(names)


def _fit(view: QWidget) -> None:
    """Give a view that has no place of its own the size of one that stands there."""
    dock = view.parentWidget()
    while dock is not None and not isinstance(dock, ViewDock):
        dock = dock.parentWidget()
    if dock is not None and dock.geometry().right() < 0:  # Qt has covered docks out of sight
        area = dock.parentWidget()
        beside = area.tabifiedDockWidgets(dock) if isinstance(area, DockArea) else []
        front = [other for other in beside if other.geometry().right() >= 0]
        if front:
            dock.resize(front[0].size())
    view.grab(QRect(0, 0, 1, 1))  # has the layouts around it done as if it were shown
    least = view.minimumSizeHint().expandedTo(LEAST)
    if view.width() < least.width() // 2 or view.height() < least.height() // 2:
        view.resize(view.size().expandedTo(least).expandedTo(view.sizeHint()))
    view.setMinimumSize(view.size())  # or layouts of what is hidden around it may leave it none


def _caught_up(parts: Sequence[SessionView]) -> Iterator[None]:
    for part in parts:
        part.catch_up(hidden=True)
        yield


def _settling(view: QWidget) -> Steps:
    """Wait for what a view works out, though not for work without an end in sight."""
    yield PAUSE  # tables lay themselves out in an event of its own
    yield PAUSE
    end = time.monotonic() + PATIENCE_S
    workers: list[Worker | Pieces | PatientHighlighter] = []
    workers += [*view.findChildren(Worker), *view.findChildren(Pieces)]
    workers += view.findChildren(PatientHighlighter)
    while any(worker.busy for worker in workers) and time.monotonic() < end:
        yield Wait(5)
