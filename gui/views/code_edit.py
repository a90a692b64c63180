"""The editor of CUDA C: coloured text, errors on their lines, and room for a margin at the left."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QMimeData, QPoint, QRect, QRectF, Qt, Signal
from PySide6.QtGui import (
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QTextBlock,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
)
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit

from core.errors import TilescopeError
from core.launching.plain_files import MOST_SOURCE, must_be_short_enough
from gui.looks.theme import Theme, current_theme
from gui.scenes.source import highlight, highlight_line
from gui.views.gutter import Gutter
from gui.views.patient_colours import PatientHighlighter

STYLES = {  # category -> (theme colour, bold)
    "comment": ("text_faint", False),
    "preprocessor": ("barrier", False),
    "keyword": ("barrier", True),
    "type": ("load", False),
    "builtin": ("hover", False),
    "number": ("store", False),
    "string": ("ideal", False),
    "function": ("text", True),
}
LONG = 120  # lines; a longer text is coloured line by line, so that a keystroke costs nothing
INSIDE_COMMENT = 1
INDENT = "    "
CONTEXT = 2  # lines around one that is shown
MARGIN = 14  # pixels between code and the edge, or an error's message


@dataclass(frozen=True)
class LineError:
    """A compiler's message at a place in the text; the place moves with what is typed."""

    cursor: QTextCursor
    message: str

    @property
    def line(self) -> int:
        """The line (from 1) where the place is now."""
        return int(self.cursor.blockNumber()) + 1


class Highlighter(PatientHighlighter):
    """Colours CUDA C by Pygments' tokens."""

    def __init__(self, document: QTextDocument) -> None:
        super().__init__(document)
        self.restyle(current_theme())

    def restyle(self, theme: Theme) -> None:
        """Take up a theme's colours."""
        self._formats = {}
        for category, (name, bold) in STYLES.items():
            style = QTextCharFormat()
            style.setForeground(theme.color(name))
            if bold:
                style.setFontWeight(theme.font(bold=True).weight())
            self._formats[category] = style
        self.rehighlight()

    def colour(self, text: str) -> None:
        """Colour the current line."""
        if self.document().blockCount() > LONG:
            inside = self.previousBlockState() == INSIDE_COMMENT
            spans, inside = highlight_line(text, inside_comment=inside)
            self.setCurrentBlockState(INSIDE_COMMENT if inside else 0)
        else:
            lines = highlight(self.document().toPlainText())
            number = self.currentBlock().blockNumber()
            spans = lines[number] if number < len(lines) else ()
        for span in spans:
            self.setFormat(span.start, span.length, self._formats[span.category])


class CodeEdit(QPlainTextEdit):
    """The text itself. The margin at its left belongs to `Gutter`."""

    line_clicked = Signal(int)
    line_double_clicked = Signal(int)
    line_pointed = Signal(int)
    """0 when the pointer has left."""
    refused = Signal(str)
    """Why something is not pasted."""

    def __init__(self) -> None:
        super().__init__()
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        self.setUndoRedoEnabled(True)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setAccessibleName("Kernel source")
        self.viewport().setMouseTracking(True)
        self.errors: list[LineError] = []
        self.marks: list[QTextEdit.ExtraSelection] = []
        self.gutter = Gutter(self)
        self.updateRequest.connect(self._scroll_gutter)

    def line_at(self, y: float) -> int:
        """Line number (from 1) at a height of the viewport; the last line below the text."""
        return int(self.cursorForPosition(QPoint(0, int(y))).blockNumber()) + 1

    def block_rect(self, block: QTextBlock) -> QRectF:
        """Where a line stands in the viewport."""
        return self.blockBoundingGeometry(block).translated(self.contentOffset())

    def reveal(self, line: int, *, sideways: bool = True) -> None:
        """Scroll so that a line is seen with some around it, from where it begins.

        Places of blocks far from what is seen are not exact, so that lines are counted.
        """
        block = self.document().findBlockByNumber(line - 1)
        if not block.isValid():
            return
        bar, at = self.verticalScrollBar(), block.firstLineNumber()  # the bar counts lines
        height = self.document().documentLayout().blockBoundingRect(block).height()
        seen = int(self.viewport().height() / max(height / max(block.lineCount(), 1), 1))
        around = min(CONTEXT, max(seen - 1, 0) // 2)
        if at + around >= bar.value() + seen:
            bar.setValue(at + around - seen + 1)
        elif at - around < bar.value():
            bar.setValue(at - around)
        if sideways:
            self.to_the_left(line)

    def to_the_left(self, line: int | None = None) -> None:
        """Show where lines begin, as far as a line's error, or the caret in use, stays in sight."""
        bar, places = self.horizontalScrollBar(), []
        places += [e.cursor.selectionEnd() for e in self.errors if e.line == line]
        places += [self.textCursor().position()] if self.hasFocus() else []
        bar.setValue(0)
        if places:
            cursor = QTextCursor(self.document())
            cursor.setPosition(places[0])
            bar.setValue(self.cursorRect(cursor).right() + MARGIN - self.viewport().width())

    def set_text(self, text: str) -> None:
        """Put in another text as an edit, so that it can be undone."""
        if text == self.toPlainText():
            return
        cursor = QTextCursor(self.document())
        cursor.select(QTextCursor.SelectionType.Document)
        cursor.insertText(text)

    def put_caret(self, line: int) -> None:
        """Set the caret at the first character of a line that is not a space, and show it."""
        block = self.document().findBlockByNumber(line - 1)
        if block.isValid():
            text = block.text()
            cursor = QTextCursor(block)
            cursor.setPosition(block.position() + len(text) - len(text.lstrip()))
            self.setTextCursor(cursor)
            self.reveal(line)

    def show_errors(self, places: Iterable[tuple[int, int | None, str]]) -> None:
        """Mark (line, column or None, message); the marks replace those there were."""
        self.errors = [
            LineError(self._error_cursor(line, column), message)
            for line, column, message in places
            if 1 <= line <= self.blockCount()
        ]
        self.draw_marks()
        self.gutter.update()
        self.viewport().update()

    def draw_marks(self) -> None:
        """Show the line marks and, over them, the errors' wavy lines."""
        waves = []
        for error in self.errors:
            wave = QTextEdit.ExtraSelection()
            wave.format.setUnderlineStyle(QTextCharFormat.UnderlineStyle.WaveUnderline)
            wave.format.setUnderlineColor(current_theme().color("error"))
            wave.cursor = error.cursor
            waves.append(wave)
        self.setExtraSelections([*self.marks, *waves])

    def _error_cursor(self, line: int, column: int | None) -> QTextCursor:
        """The word at a column, or the whole of the line."""
        block = self.document().findBlockByNumber(line - 1)
        cursor, text = QTextCursor(block), block.text()
        start = len(text) - len(text.lstrip())
        if column is not None and start < column <= len(text):
            cursor.setPosition(block.position() + column - 1)
            cursor.select(QTextCursor.SelectionType.WordUnderCursor)
            if cursor.hasSelection():
                return cursor
        cursor.setPosition(block.position() + start)
        cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
        return cursor

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Return keeps the indentation and Tab gives four spaces."""
        plain = not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if plain and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            before = self.textCursor().block().text()[: self.textCursor().positionInBlock()]
            indent = before[: len(before) - len(before.lstrip())]
            deeper = INDENT if before.rstrip().endswith("{") else ""
            self.insertPlainText("\n" + indent + deeper)
            self.ensureCursorVisible()
        elif plain and event.key() == Qt.Key.Key_Tab and not self.textCursor().hasSelection():
            column = self.textCursor().positionInBlock()
            self.insertPlainText(" " * (len(INDENT) - column % len(INDENT)))
        else:
            super().keyPressEvent(event)

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        """A file that is dropped is for the window to open."""
        return not source.hasUrls() and super().canInsertFromMimeData(source)

    def insertFromMimeData(self, source: QMimeData) -> None:
        """Paste, unless that would be more than is read from a file."""
        pasted = source.text()
        try:
            room = max(MOST_SOURCE - self.document().characterCount(), 0)
            must_be_short_enough(pasted, "What is pasted", room)
        except TilescopeError as error:
            self.refused.emit(str(error))
        else:
            super().insertFromMimeData(source)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw each error's message after its line, or after the next one where that is full."""
        super().paintEvent(event)
        theme, painter = current_theme(), QPainter(self.viewport())
        painter.setFont(theme.font("small"))
        metrics = painter.fontMetrics()
        first = {e.line: e for e in reversed(self.errors)}
        for error in first.values():
            block = self.document().findBlockByNumber(error.line - 1)
            lines = [block] if error.line + 1 in first else [block, block.next()]
            places = [self._beyond(line) for line in lines if line.isValid()]
            least = min(metrics.horizontalAdvance(error.message), metrics.averageCharWidth() * 24)
            left, rect = next((p for p in places if self._room(p[0]) >= least), places[0])
            if self._room(left) < metrics.horizontalAdvance("0" * 8):
                continue
            elide = Qt.TextElideMode.ElideRight
            text = metrics.elidedText(error.message, elide, self._room(left))
            box = QRect(left - 5, int(rect.top()), metrics.horizontalAdvance(text) + 12, 0)
            box.setHeight(int(rect.height()))
            painter.fillRect(box, theme.tint("error", 0.12))
            painter.setPen(theme.color("error"))
            painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), text)

    def _beyond(self, block: QTextBlock) -> tuple[int, QRectF]:
        """Where a message may stand after a line's text, and where the line is."""
        rect = self.block_rect(block)
        wide = self.fontMetrics().horizontalAdvance(block.text().expandtabs(8))
        return int(rect.left() + self.document().documentMargin() + wide) + MARGIN, rect

    def _room(self, left: int) -> int:
        return self.viewport().width() - left - 10

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the gutter at the left edge."""
        super().resizeEvent(event)
        box = self.contentsRect()
        self.gutter.setGeometry(box.left(), box.top(), self.gutter.wanted_width(), box.height())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Tell which line the pointer rests on."""
        super().mouseMoveEvent(event)
        self.line_pointed.emit(self.line_at(event.position().y()))

    def leaveEvent(self, event: QEvent) -> None:
        """Nothing is pointed at any more."""
        super().leaveEvent(event)
        self.line_pointed.emit(0)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """A click without a selection chooses the line."""
        super().mouseReleaseEvent(event)
        if event.button() == Qt.MouseButton.LeftButton and not self.textCursor().hasSelection():
            self.line_clicked.emit(self.line_at(event.position().y()))

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """A double click selects the word and goes to the next step at the line."""
        super().mouseDoubleClickEvent(event)
        self.line_double_clicked.emit(self.line_at(event.position().y()))

    def _scroll_gutter(self, rect: QRect, dy: int) -> None:
        if dy:
            self.gutter.scroll(0, dy)
        else:
            self.gutter.update(0, rect.y(), self.gutter.width(), rect.height())
