"""Leads through one window: which stop, and where in the window it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QTimer
from PySide6.QtWidgets import QWidget

from gui.focus import focus_page
from gui.scenes.tour import STOPS

if TYPE_CHECKING:
    from gui.main_window import MainWindow
    from gui.views.tour_overlay import TourOverlay


class Touring(QObject):
    """The tour of one window. `toured` is remembered with the session."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self.main = window
        self.toured = False
        self.overlay: TourOverlay | None = None
        self._at = 0
        window.installEventFilter(self)

    def start(self) -> None:
        """Begin at the first stop."""
        from gui.views.tour_overlay import TourOverlay

        self.main.session.large = False
        self.main.show_page("step")
        self.main.left.show()
        if self.overlay is None:
            self.overlay = TourOverlay(self.main)
            self.overlay.moved.connect(self.move)
            self.overlay.left.connect(self.leave)
        self._at = 0
        self._show()

    def move(self, by: int) -> None:
        """Go on or back; after the last stop the tour is over."""
        at = max(self._at + by, 0)
        if at >= len(STOPS):
            self.leave()
        elif at != self._at:
            self._at = at
            self._show(by)

    def leave(self) -> None:
        """End the tour; it does not come by itself again."""
        self.toured = True
        overlay, self.overlay = self.overlay, None
        if overlay is not None:
            overlay.hide()
            overlay.deleteLater()
            focus_page(self.main)

    def _show(self, by: int = 1) -> None:
        stop = STOPS[self._at]
        if stop.view and self.main.step_page.docks[stop.view].isHidden():
            self.move(by)  # this kernel has nothing of the kind
            return
        if stop.view:
            self.main.step_page.front(stop.view)
        self._point()

    def _point(self) -> None:
        if self.overlay is not None:
            place = self._place(STOPS[self._at].place)
            self.overlay.show_stop(STOPS[self._at], self._at, len(STOPS), place)

    def _place(self, name: str) -> QRect:
        """Where a stop's place lies in the window."""
        widget = self._widget(name)
        return QRect(widget.mapTo(self.main, QPoint(0, 0)), widget.size())

    def _widget(self, name: str) -> QWidget:
        panels = {
            "ladder": self.main.ladder_panel,
            "configuration": self.main.form,
            "transport": self.main.transport,
            "header": self.main.tabs,
        }
        found: QWidget = panels.get(name) or self.main.step_page.docks[name]
        return found

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Keep pointing at the place while the window changes its size."""
        if self.overlay is not None and event.type() == QEvent.Type.Resize:
            QTimer.singleShot(0, self, self._point)
        return False
