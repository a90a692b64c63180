"""A text whose lines get their colours when they are about to be painted, however long it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from PySide6.QtGui import QPaintEvent, QTextCharFormat, QTextLayout
from PySide6.QtWidgets import QPlainTextEdit

from gui.looks.theme import current_theme
from gui.scenes.source import Span


class ColouredText(QPlainTextEdit):
    """Colours what is in view. A subclass gives the `spans` of lines."""

    def __init__(self) -> None:
        super().__init__()
        self._formats: dict[str, QTextCharFormat] = {}
        self._coloured: set[int] = set()  # lines, from 0
        self.document().contentsChanged.connect(self._coloured.clear)

    def spans(self, first: int, last: int) -> Sequence[Iterable[Span]]:
        """The coloured spans of the lines from `first` up to `last`, counted from 0."""
        raise NotImplementedError

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
        """Forget which lines have their colours."""
        self._coloured.clear()
        self.viewport().update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Colour the lines in view that have no colours yet, and paint."""
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
        for line, spans in enumerate(self.spans(first, last), start=first):
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
