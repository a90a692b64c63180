"""What stands in place of a part that a question veils: a calm field with a question mark."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QRectF, QTimer
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from gui.looks.theme import Theme, current_theme
from gui.scenes.question_in_views import ANSWER_FIRST, veil_words
from gui.scenes.session import Session
from gui.views.drawing_tools import pen, text

FITS = (QEvent.Type.Resize, QEvent.Type.Move, QEvent.Type.LayoutRequest, QEvent.Type.Show)
ROUND = 6.0  # pixels of the corners
LARGEST = 3.2  # times the theme's type: the question mark
LEAST_MARK = 10  # pixels: nothing is to be seen in a lower part, and no mark fits
LEAST_HIGH = 2.6  # lines that a field has in which words stand below the mark


def draw_veil(painter: QPainter, box: QRectF, theme: Theme, said: str = ANSWER_FIRST) -> None:
    """Cover a part of a picture, and say why: nothing of what lies below shines through."""
    if box.height() < LEAST_MARK:
        return
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.fillRect(box, theme.color("panel"))
    painter.setPen(pen(theme.color("border"), 1))
    painter.setBrush(theme.tint("accent", 0.10))
    painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), ROUND, ROUND)
    small, large = theme.font("small"), theme.font("body", bold=True)
    line = QFontMetricsF(small).height()
    words = box.height() >= LEAST_HIGH * line
    room = box.height() - (line if words else 0.0)
    size = max(min(LARGEST * theme.sizes.body, 0.45 * room), 0.7 * theme.sizes.small)
    large.setPointSizeF(size)
    wide = QFontMetricsF(small).horizontalAdvance(said)
    high = QFontMetricsF(large).height()
    words = words and wide + 8 <= box.width()
    top = box.center().y() - (high + (line if words else 0.0)) / 2
    area = QRectF(box.left(), top, box.width(), high)
    text(painter, area, "?", theme.color("accent"), large, elide=False)
    if words:
        below = QRectF(box.left(), top + high, box.width(), line)
        text(painter, below, said, theme.color("text_dim"), small, elide=False)
    painter.restore()


class Veil(QWidget):
    """Covers a widget while the session hides a part; the widget itself has to hold its tongue.

    `instead` are widgets within it that are not to be seen, heard or pictured meanwhile: they keep
    their room, and only that is covered.
    """

    def __init__(
        self, session: Session, part: str, over: QWidget, instead: tuple[QWidget, ...] = ()
    ) -> None:
        super().__init__(over)
        self.session, self.part = session, part
        self._instead = instead
        for widget in instead:
            policy = widget.sizePolicy()
            policy.setRetainSizeWhenHidden(True)
            widget.setSizePolicy(policy)
        self._hidden: tuple[QWidget, ...] = ()
        for widget in (over, *instead):
            widget.installEventFilter(self)
        session.veiled_changed.connect(self._follow)
        session.answered_changed.connect(self._follow)
        self.hide()
        self._follow()

    @property
    def on(self) -> bool:
        return self.session.hides(self.part)

    def _follow(self, _: object = None) -> None:
        if self.on:
            self.setToolTip(veil_words(self.session))
            self.setAccessibleName(f"Veiled. {veil_words(self.session)}")
            if not self._hidden:
                self._hidden = tuple(w for w in self._instead if not w.isHidden())
            for widget in self._hidden:
                widget.hide()
            self._fit()
            self.show()
            self.raise_()
            self.update()  # its words may be others
            return
        self.hide()
        for widget in self._hidden:
            widget.show()
        self._hidden = ()

    def _fit(self) -> None:
        over = self.parentWidget()
        if over is None:
            return
        room = QRect()
        for widget in self._instead:
            room = room.united(QRect(widget.mapTo(over, QPoint(0, 0)), widget.size()))
        self.setGeometry(room or over.rect())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in FITS and not self.isHidden():
            QTimer.singleShot(0, self, self._fit)
        elif event.type() == QEvent.Type.ChildAdded and not self.isHidden():
            self.raise_()
        return super().eventFilter(watched, event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        theme = current_theme()
        painter.fillRect(self.rect(), theme.color("panel"))
        box = QRectF(self.rect()).adjusted(4, 4, -4, -4)
        draw_veil(painter, box, theme, veil_words(self.session))
