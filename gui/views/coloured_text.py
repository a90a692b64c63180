"""A text whose lines get their colours when they are about to be painted, however long it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from PySide6.QtCore import QEvent, QPoint, Qt, Signal
from PySide6.QtGui import (
    QBrush,
    QColor,
    QMouseEvent,
    QPaintEvent,
    QTextCharFormat,
    QTextCursor,
    QTextFormat,
    QTextLayout,
)
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit

from gui.looks.theme import current_theme
from gui.scenes.source_pane import Span

Spans = Callable[[int, int], Sequence[Iterable[Span]]]
"""The coloured spans of the lines from the first up to the second, counted from 0."""


class ColouredText(QPlainTextEdit):
    """Colours what is in view. Lines are told counted from 1."""

    line_clicked = Signal(int)
    line_double_clicked = Signal(int)
    line_pointed = Signal(int)
    """0 when the pointer has left."""

    def __init__(self, spans: Spans) -> None:
        super().__init__()
        self._spans = spans
        self._formats: dict[str, QTextCharFormat] = {}
        self._coloured: set[int] = set()  # lines, from 0
        self._double = False
        self.setReadOnly(True)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        self.viewport().setMouseTracking(True)
        self.document().contentsChanged.connect(self._coloured.clear)

    def take_styles(self, styles: Mapping[str, tuple[str, bool]]) -> None:
        """Colour anew: each category of spans has a colour of the theme, and may be bold."""
        theme, self._formats = current_theme(), {}
        for category, (color, bold) in styles.items():
            style = self._formats[category] = QTextCharFormat()
            style.setForeground(theme.color(color))
            if bold:
                style.setFontWeight(theme.font(bold=True).weight())
        self.colour_anew()

    def colour_anew(self) -> None:
        self._coloured.clear()
        self.viewport().update()

    def band(self, line: int, brush: QBrush | QColor) -> list[QTextEdit.ExtraSelection]:
        """A mark across a whole line; an empty list for a line that does not exist."""
        block = self.document().findBlockByNumber(line - 1)
        if not block.isValid():
            return []
        mark = QTextEdit.ExtraSelection()
        mark.format.setBackground(brush)
        mark.format.setProperty(QTextFormat.Property.FullWidthSelection, True)
        mark.cursor = QTextCursor(block)
        return [mark]

    def line_at(self, y: float) -> int:
        """The line at a height of the viewport; the last line below the text."""
        return int(self.cursorForPosition(QPoint(0, int(y))).blockNumber()) + 1

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        self.line_pointed.emit(self.line_at(event.position().y()))

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.line_pointed.emit(0)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """A click without a selection chooses the line; the second of a double click does not."""
        super().mouseReleaseEvent(event)
        second, self._double = self._double, False
        left = event.button() == Qt.MouseButton.LeftButton
        if left and not second and not self.textCursor().hasSelection():
            self.line_clicked.emit(self.line_at(event.position().y()))

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        super().mouseDoubleClickEvent(event)
        self._double = True
        self.line_double_clicked.emit(self.line_at(event.position().y()))

    def paintEvent(self, event: QPaintEvent) -> None:
        self._colour_view()
        super().paintEvent(event)

    def _colour_view(self) -> None:
        first = self.firstVisibleBlock().blockNumber()
        rows = self.viewport().height() // max(self.fontMetrics().lineSpacing(), 1) + 2
        last = min(first + rows, self.blockCount())
        if self._coloured.issuperset(range(first, last)):
            return
        block = self.firstVisibleBlock()
        start = end = block.position()
        for line, spans in enumerate(self._spans(first, last), start=first):
            if line not in self._coloured:
                block.layout().setFormats([self._range(span) for span in spans])
            end = block.position() + block.length()
            block = block.next()
        self._coloured.update(range(first, last))
        self.document().markContentsDirty(start, end - start)

    def _range(self, span: Span) -> QTextLayout.FormatRange:
        found = QTextLayout.FormatRange()
        found.start, found.length = span.start, span.length
        found.format = self._formats[span.category]
        return found
