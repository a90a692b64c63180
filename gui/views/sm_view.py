"""One SM, filled with the blocks that it holds: warps, block slots, registers, shared memory."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from gui.looks.theme import current_theme
from gui.scenes.occupancy import Bar

_MOST_SEGMENTS = 64  # beyond, blocks are too thin to be told apart


class SmView(QWidget):
    """A bar for each resource; what limits is framed."""

    def __init__(self) -> None:
        super().__init__()
        self._bars: tuple[Bar, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("What an SM holds")

    def load(self, bars: Sequence[Bar]) -> None:
        """Show these resources."""
        self._bars = tuple(bars)
        self.setAccessibleDescription("; ".join(f"{bar.title}: {bar.text}" for bar in bars))
        self.updateGeometry()
        self.update()

    def _row(self) -> int:
        return 2 * QFontMetrics(current_theme().font("small")).height() + 16

    def sizeHint(self) -> QSize:
        return QSize(300, max(1, len(self._bars)) * self._row() + 4)

    def minimumSizeHint(self) -> QSize:
        return QSize(200, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for place, bar in enumerate(self._bars):
            self._paint(painter, bar, QRectF(2, place * self._row(), self.width() - 4, self._row()))

    def _paint(self, painter: QPainter, bar: Bar, box: QRectF) -> None:
        theme = current_theme()
        line = QFontMetrics(theme.font("small")).height()
        painter.setFont(theme.font("small", bold=bar.limits))
        painter.setPen(theme.color("conflict" if bar.limits else "text"))
        head = QRectF(box.left(), box.top() + 2, box.width(), line)
        limit = ": the limit" if bar.limits else ""
        painter.drawText(head, Qt.AlignmentFlag.AlignLeft, bar.title + limit)
        painter.setFont(theme.font("small"))
        painter.setPen(theme.color("text_dim"))
        painter.drawText(head, Qt.AlignmentFlag.AlignRight, bar.text)
        track = QRectF(box.left(), head.bottom() + 3, box.width(), line + 3)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.color("raised"))
        painter.drawRoundedRect(track, 2, 2)
        self._blocks(painter, bar, track)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(theme.color("conflict" if bar.limits else "border"))
        painter.drawRoundedRect(track.adjusted(0.5, 0.5, -0.5, -0.5), 2, 2)

    def _blocks(self, painter: QPainter, bar: Bar, track: QRectF) -> None:
        theme = current_theme()
        if not (bar.blocks and bar.each):
            return
        width = track.width() * bar.each / bar.total
        if bar.blocks > _MOST_SEGMENTS or width < 2:
            painter.setBrush(theme.owner_color("block", 0))
            painter.drawRect(QRectF(track.left(), track.top(), width * bar.blocks, track.height()))
            return
        for block in range(bar.blocks):
            left = track.left() + block * width
            painter.setBrush(theme.owner_color("block", block, bar.blocks))
            piece = QRectF(left, track.top(), max(width - 1, 1), track.height())
            painter.drawRect(piece)
            if width > 26:
                painter.setPen(theme.color("text_dim"))
                painter.drawText(piece, Qt.AlignmentFlag.AlignCenter, str(block))
                painter.setPen(Qt.PenStyle.NoPen)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            place = event.pos().y() // self._row()
            if 0 <= place < len(self._bars):
                bar = self._bars[place]
                allowed = "any number of" if bar.allowed is None else str(bar.allowed)
                QToolTip.showText(
                    event.globalPos(), f"{bar.title} allow {allowed} blocks: {bar.text}", self
                )
                return True
        return super().event(event)
