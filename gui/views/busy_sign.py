"""Says over the pages that what they show is about to be replaced."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from gui.looks.theme import current_theme
from gui.views.drawing_tools import pen, text

VEIL = 0.55  # opacity of what lies over the views, which belong to the launch before


class BusySign(QWidget):
    """A veil with a sentence over an area, still: nothing in it moves, and it takes no clicks."""

    def __init__(self, area: QWidget) -> None:
        super().__init__(area)
        self._area = area
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.sentence = ""
        area.installEventFilter(self)
        self.hide()

    def say(self, sentence: str) -> None:
        """Show a sentence; an empty one takes the sign away."""
        self.sentence = sentence
        self.setAccessibleName(sentence)
        self.setVisible(bool(sentence))
        self._place()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self._place()
        return False

    def _place(self) -> None:
        if not self.isHidden():
            self.setGeometry(self._area.rect())
            self.raise_()
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = current_theme(), QPainter(self)
        painter.fillRect(self.rect(), theme.color("window", VEIL))
        font = theme.font("caption", bold=True)
        metrics, gap = QFontMetricsF(font), theme.spacing.margin
        wide = min(metrics.horizontalAdvance(self.sentence) + 3 * gap, self.width() - 2.0 * gap)
        box = QRectF(0, 0, wide, metrics.height() + 1.6 * gap)
        box.moveCenter(QRectF(self.rect()).center())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(pen(theme.color("accent"), 1.5))
        painter.setBrush(theme.color("panel"))
        painter.drawRoundedRect(box, theme.spacing.radius, theme.spacing.radius)
        text(painter, box, self.sentence, theme.color("text"), font)
