"""A view that shows a layout of grids through a window that zooms and pans."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QMouseEvent, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QMenu, QWidget

from gui.scenes.session import Session
from gui.views.base import SessionView
from gui.views.matrix_layout import MatrixLayout, Transform

DRAG_START = 4  # pixels


class PanZoomView(SessionView):
    """The wheel zooms about the pointer, dragging or Shift+arrow pans, 0 shows everything."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self._layout: MatrixLayout | None = None
        self._view = Transform(1.0, 0.0, 0.0)
        self._fitted = True
        self._press: QPointF | None = None
        self._grab: Transform | None = None
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def view_changed(self) -> None:
        """The scale or place has changed: draw anew."""
        raise NotImplementedError

    def point_at(self, point: QPointF) -> None:
        """The pointer is at a pixel and nothing is being dragged."""
        raise NotImplementedError

    def click_at(self, point: QPointF) -> None:
        """A pixel was clicked."""
        raise NotImplementedError

    def menu_at(self, point: QPointF) -> QMenu | None:
        """The menu of what lies under a pixel, None where nothing does."""
        return None

    def fit(self) -> None:
        """Show the whole of every matrix."""
        self._fitted = True
        if self._layout is not None:
            self._view = self._layout.fit(self.width(), self.height())
        self.view_changed()

    def zoom(self, factor: float, about: QPointF | None = None) -> None:
        """Enlarge by `factor` about a pixel (the middle when None)."""
        if self._layout is None:
            return
        middle = QPointF(self.width() / 2, self.height() / 2)
        least = self._layout.fit(self.width(), self.height()).scale
        view = self._layout.zoomed(self._view, factor, about or middle, least)
        if view.scale <= least:
            self.fit()
            return
        self._show(view)

    def pan(self, dx: float, dy: float) -> None:
        """Move the picture by pixels."""
        self._show(replace(self._view, x=self._view.x + dx, y=self._view.y + dy))

    def _show(self, view: Transform) -> None:
        self._fitted = False
        self._view = view
        self.view_changed()

    # ---- input

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep everything in view, or the place where the user zoomed to."""
        super().resizeEvent(event)
        if self._fitted:
            self.fit()
        else:
            self.view_changed()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """A click or a drag begins."""
        if event.button() == Qt.MouseButton.LeftButton:
            self._press = event.position()
            self._grab = None

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Pan while dragging, else say what is pointed at."""
        if self._press is None or not event.buttons() & Qt.MouseButton.LeftButton:
            self.point_at(event.position())
            return
        moved = event.position() - self._press
        if self._grab is None and moved.manhattanLength() > DRAG_START:
            self._grab = self._view
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
        if self._grab is not None:
            grab = self._grab
            self._show(replace(grab, x=grab.x + moved.x(), y=grab.y + moved.y()))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Without a drag this was a click."""
        if event.button() != Qt.MouseButton.LeftButton or self._press is None:
            return
        dragged, self._press, self._grab = self._grab is not None, None, None
        self.unsetCursor()
        if not dragged:
            self.click_at(event.position())

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Open the menu of what is pointed at, else leave it to the window."""
        menu = self.menu_at(QPointF(event.pos()))
        event.setAccepted(menu is not None)
        if menu is not None:
            menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            menu.popup(event.globalPos())

    def leaveEvent(self, event: QEvent) -> None:
        """Nothing is pointed at any more."""
        self.session.hover = None
        super().leaveEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom about the pointer."""
        self.zoom(1.0015 ** event.angleDelta().y(), event.position())
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Zoom with + and −, show everything with 0, pan with Shift and an arrow."""
        step = 60.0
        moves = {
            Qt.Key.Key_Left: (step, 0.0),
            Qt.Key.Key_Right: (-step, 0.0),
            Qt.Key.Key_Up: (0.0, step),
            Qt.Key.Key_Down: (0.0, -step),
        }
        if event.key() in (Qt.Key.Key_Plus, Qt.Key.Key_Equal):
            self.zoom(1.25)
        elif event.key() == Qt.Key.Key_Minus:
            self.zoom(0.8)
        elif event.key() == Qt.Key.Key_0:
            self.fit()
        elif event.key() in moves and event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.pan(*moves[Qt.Key(event.key())])
        else:
            super().keyPressEvent(event)
