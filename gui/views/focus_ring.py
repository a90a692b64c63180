"""A frame around the widget that has the keyboard, while somebody moves about by keys."""

from __future__ import annotations

import shiboken6
from PySide6.QtCore import QEvent, QObject, QPoint, QRect, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QRegion
from PySide6.QtWidgets import QWidget

from gui.looks.theme import current_theme
from gui.views.drawing_tools import pen

WIDE = 2  # pixels
MOVES = {QEvent.Type.Move, QEvent.Type.Resize, QEvent.Type.Show, QEvent.Type.Hide}


class FocusRing(QWidget):
    """Lies over a window; `show_around(widget)` draws it, None takes it away."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.around: QWidget | None = None
        self._watched: list[QWidget] = []
        self.hide()

    def show_around(self, widget: QWidget | None) -> None:
        """Frame a widget of this window, and follow it where it goes."""
        for watched in self._watched:
            if shiboken6.isValid(watched):
                watched.removeEventFilter(self)
        self._watched, self.around = [], widget
        while widget is not None and widget is not self.parentWidget():
            self._watched.append(widget)
            widget.installEventFilter(self)
            widget = widget.parentWidget()
        self._place()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow what is framed, and all that it lies in."""
        if event.type() in MOVES:
            self._place()
        return False

    def _place(self) -> None:
        widget, window = self.around, self.parentWidget()
        shown = widget is not None and shiboken6.isValid(widget) and widget.isVisible()
        if widget is None or not shown or widget.window() is not window:
            self.hide()
            return
        seen = self._sight(widget)
        if seen.isEmpty():
            self.hide()
            return
        frame = QRect(widget.mapTo(window, seen.topLeft()), seen.size())
        frame = frame.adjusted(-WIDE, -WIDE, WIDE, WIDE).intersected(window.rect())
        self.setGeometry(frame)
        whole = QRect(QPoint(0, 0), frame.size())
        inner = whole.adjusted(WIDE, WIDE, -WIDE, -WIDE)
        self.setMask(QRegion(whole) - QRegion(inner))  # nothing else is painted again with it
        self.raise_()
        self.show()

    def _sight(self, widget: QWidget) -> QRect:
        """The part of a widget that its parents do not cut off, in its own pixels."""
        rect, part = widget.rect(), widget
        while (parent := part.parentWidget()) is not None and parent is not self.parentWidget():
            corner = widget.mapTo(parent, QPoint(0, 0))
            rect = rect.intersected(parent.rect().translated(-corner))
            part = parent
        return rect

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(pen(current_theme().color("accent"), 2 * WIDE))
        painter.drawRect(self.rect())
