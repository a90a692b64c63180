"""Leads through one window: which stop, and where in the window it is."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QTimer
from PySide6.QtWidgets import QWidget

from gui.commands.focus import focus_page
from gui.commands.window import Window
from gui.scenes.tour import STOPS, step_of
from gui.views.base import Panel


class Touring(QObject):
    """The tour of one window. `toured` is remembered with the session."""

    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self.main = window
        self.toured = False
        self._at = 0
        self._before: tuple[int, str, list[str]] | None = None
        """The step before the tour, the session's view, and the views in front."""
        window.installEventFilter(self)

    def start(self) -> None:
        """Begin at the first stop."""
        from gui.views.tour_overlay import TourOverlay

        self.main.session.large = False
        self.main.show_page("step")
        self.main.left.show()
        if self.main.overlay is None:
            self.main.overlay = overlay = TourOverlay(self.main)
            overlay.moved.connect(self.move)
            overlay.left.connect(self.leave)
        session = self.main.session
        session.update(playing=0, large=False)
        page = self.main.step_page
        front = [name for name in page.docks if page.in_front(name)]
        self._before, self._at = (session.step, session.view, front), 0
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
        overlay, self.main.overlay = self.main.overlay, None
        if overlay is not None:
            overlay.hide()
            overlay.deleteLater()
            self._put_back()
            focus_page(self.main)

    def _put_back(self) -> None:
        """Show again what was shown before: the step, and the views that were in front."""
        before, self._before = self._before, None
        if before is None:
            return
        step, view, front = before
        for name in front:
            self.main.step_page.front(name)
        self.main.session.update(step=step, view=view)

    def _show(self, by: int = 1) -> None:
        stop = STOPS[self._at]
        if stop.view and self.main.step_page.docks[stop.view].isHidden():
            self.move(by)  # this kernel has nothing of the kind
            return
        if stop.view:
            self.main.step_page.front(stop.view)
        self._point()
        self._go_to(stop.space)

    def _go_to(self, space: str) -> None:
        """Show the first load from a memory, where the block has one; else the step before it."""
        session, block = self.main.session, self.main.session.block_trace
        found = step_of(block, space) if space and block is not None else None
        if found is None and self._before is not None:
            found = self._before[0]
        if found is not None:
            session.step = found

    def _point(self) -> None:
        if self.main.overlay is not None:
            place = self._place(STOPS[self._at].place)
            self.main.overlay.show_stop(STOPS[self._at], self._at, len(STOPS), place)

    def _place(self, name: str) -> QRect:
        """Where a stop's place lies in the window."""
        widget = self._widget(name)
        return QRect(widget.mapTo(self.main, QPoint(0, 0)), widget.size())

    def _widget(self, name: str) -> QWidget:
        panels = {
            "ladder": _panel_of(self.main.ladder_panel),
            "configuration": _panel_of(self.main.form),
            "transport": self.main.transport,
            "header": self.main.tabs,
        }
        found: QWidget = panels.get(name) or self.main.step_page.docks[name]
        return found

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Keep pointing at the place while the window changes its size."""
        if self.main.overlay is not None and event.type() == QEvent.Type.Resize:
            QTimer.singleShot(0, self, self._point)
        return False


def _panel_of(view: QWidget) -> QWidget:
    """The framed panel that a view stands in, with its heading."""
    panel: QWidget | None = view
    while panel is not None and not isinstance(panel, Panel):
        panel = panel.parentWidget()
    return panel or view
