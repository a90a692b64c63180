"""The tour's picture: the window dimmed but for one place, and a card that says what it is."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from gui.looks.style import styled_label
from gui.looks.theme import current_theme
from gui.scenes.tour import Stop

GAP = 14  # between the place and the card
WIDTH = 46  # digits
FORWARD = {Qt.Key.Key_Right, Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space}
BACK = {Qt.Key.Key_Left, Qt.Key.Key_Backspace}


class TourOverlay(QWidget):
    """Covers the window. Emits `moved(+1 or -1)` and `left()`; Esc leaves."""

    moved = Signal(int)
    left = Signal()

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._place = QRect()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Tour")
        self.card = QFrame(self)
        self.card.setProperty("role", "panel")
        self.title = styled_label(role="figure")
        self.text = styled_label(role="caption", wrap=True)
        self.count = styled_label(role="dim")
        self.skip = QPushButton("Skip")
        self.back = QPushButton("Back")
        self.next = QPushButton("Next")
        self.next.setProperty("role", "primary")
        for button in (self.skip, self.back, self.next):
            button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.skip.setToolTip("Leave the tour (Esc)")
        self.back.setToolTip("The stop before (Left)")
        self.next.setToolTip("The next stop (Right)")
        self.skip.clicked.connect(self.left)
        self.back.clicked.connect(lambda: self.moved.emit(-1))
        self.next.clicked.connect(lambda: self.moved.emit(1))
        row = QHBoxLayout()
        row.addWidget(self.count)
        row.addStretch(1)
        for button in (self.skip, self.back, self.next):
            row.addWidget(button)
        layout = QVBoxLayout(self.card)
        layout.setContentsMargins(18, 14, 16, 14)
        layout.setSpacing(8)
        layout.addWidget(self.title)
        layout.addWidget(self.text)
        layout.addSpacing(4)
        layout.addLayout(row)

    def show_stop(self, stop: Stop, number: int, count: int, place: QRect) -> None:
        """Point at `place`, in the window's coordinates."""
        parent = self.parentWidget()
        assert parent is not None
        self.setGeometry(parent.rect())
        self._place = place.adjusted(-3, -3, 3, 3).intersected(self.rect())
        self.title.setText(stop.title)
        self.text.setText(stop.text)
        self.count.setText(f"{number + 1} of {count}")
        self.back.setEnabled(number > 0)
        last = number == count - 1
        self.next.setText("Done" if last else "Next")
        self.skip.setVisible(not last)
        self.setAccessibleDescription(f"{stop.title}. {stop.text}")
        self._put_card()
        self.show()
        self.raise_()
        self.setFocus()
        self.update()

    def _put_card(self) -> None:
        digit = self.fontMetrics().horizontalAdvance("0")
        width = min(WIDTH * digit, self.width() - 2 * GAP)
        self.text.setFixedWidth(width - 34)
        self.card.setFixedWidth(width)
        self.card.adjustSize()
        self.card.move(self._beside(self.card.size()))

    def _beside(self, card: QSize) -> QPoint:
        """Right of the place, left of it, below or above: where there is most room."""
        whole, place = self.rect().adjusted(GAP, GAP, -GAP, -GAP), self._place
        wide, high = card.width(), card.height()
        x, y = place.center().x() - wide // 2, place.center().y() - high // 2
        spots = [  # with the room that is left there
            (whole.right() - place.right() - GAP - wide, QPoint(place.right() + GAP, y)),
            (place.left() - GAP - wide - whole.left(), QPoint(place.left() - GAP - wide, y)),
            (whole.bottom() - place.bottom() - GAP - high, QPoint(x, place.bottom() + GAP)),
            (place.top() - GAP - high - whole.top(), QPoint(x, place.top() - GAP - high)),
        ]
        most = max(room for room, _ in spots)
        spot = next(spot for room, spot in spots if room >= min(most, 0))
        x = min(max(spot.x(), whole.left()), whole.right() - card.width())
        y = min(max(spot.y(), whole.top()), whole.bottom() - card.height())
        return QPoint(x, y)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Dim all but the place."""
        theme, painter = current_theme(), QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        path = QPainterPath()
        path.addRect(QRectF(self.rect()))
        hole = QPainterPath()
        hole.addRoundedRect(QRectF(self._place), 6, 6)
        painter.fillPath(path.subtracted(hole), QColor(0, 0, 0, 150 if theme.dark else 110))
        painter.setPen(QPen(theme.color("accent"), 2.5))
        painter.drawPath(hole)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """A click anywhere goes on."""
        if event.button() == Qt.MouseButton.LeftButton:
            self.moved.emit(1)

    def event(self, event: QEvent) -> bool:
        """The tour's keys come before the window's shortcuts."""
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Right goes on, Left back, Esc leaves."""
        if event.key() == Qt.Key.Key_Escape:
            self.left.emit()
        elif event.key() in FORWARD:
            self.moved.emit(1)
        elif event.key() in BACK:
            self.moved.emit(-1)
