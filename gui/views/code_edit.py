"""The text of code: coloured where it is in view, and CUDA C with its margin, errors and editing.

A `CodeEdit` is read until somebody edits it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QMimeData, QPoint, QPointF, QRect, QRectF, Qt, Signal
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFocusEvent,
    QFontMetrics,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QTextBlock,
    QTextCharFormat,
    QTextCursor,
    QTextFormat,
    QTextLayout,
)
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QToolTip, QWidget

from core.control_characters import visible
from core.errors import TilescopeError
from core.user_files.sources_and_headers import (
    MOST_SOURCE,
    must_be_short_enough,
    without_line_numbers,
)
from gui.looks.theme import Theme, current_theme
from gui.scenes.question_in_views import ANSWER_FIRST
from gui.scenes.source_pane import (
    LineTotals,
    Span,
    Total,
    comment_opening,
    highlight,
    lines_inside_comments,
    totals_text,
)
from gui.scenes.text_changes import Changes
from gui.views.question_in_views import draw_mark

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


GUTTER_COLUMNS = ("sectors", "wavefronts")
PADDING = 10  # pixels of a column beside its numbers
CHANGED = "load"  # the theme's colour of what differs between two versions
SHORT_NAMES = {"sectors": "sect.", "wavefronts": "wavef."}


def current_line_brush(*, stale: bool) -> QBrush:
    """The mark of the running line; hatched where the text was edited and not yet run."""
    color = current_theme().color("current_line")
    return QBrush(color, Qt.BrushStyle.BDiagPattern if stale else Qt.BrushStyle.SolidPattern)


class Gutter(QWidget):
    """Breakpoints, line numbers and totals beside the text.

    A click on a line's number emits `break_wanted(line)`, one on a total its line and column.
    """

    number_clicked = Signal(int, str)
    break_wanted = Signal(int)

    def __init__(self, edit: CodeEdit) -> None:
        super().__init__(edit)
        self._edit = edit
        self.totals: dict[int, LineTotals] = {}
        self.stale = False  # the text was changed since the figures were made
        self.current: int | None = None
        self.selected: int | None = None
        self.breaks: frozenset[int] = frozenset()
        self.changes = Changes()
        """What differs from another version of the text, if that is compared with this."""
        self.sign = ""  # beside the lines that differ
        self.lit: dict[int, tuple[str, str]] = {}  # colour and mark of lines that an answer names
        self.veiled = False  # a question is about the figures
        self._under: int | None = None  # the line whose number is pointed at
        self.setAccessibleName("Breakpoints, line numbers and totals")
        self.brief = False
        self.widths = dict.fromkeys(GUTTER_COLUMNS, 0)
        """Pixels of each column of totals; one with no numbers takes none."""
        self.setMouseTracking(True)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    @property
    def errors(self) -> dict[int, str]:
        return {error.line: error.message for error in reversed(self._edit.errors)}

    def mark(self, current: int | None, selected: int | None) -> None:
        if (current, selected) != (self.current, self.selected):
            self.current, self.selected = current, selected
            self.update()

    def wanted_width(self) -> int:
        return self.number_width() + sum(self.widths.values()) + 12

    def number_width(self) -> int:
        digits = max(2, len(str(self._edit.blockCount())))
        return self._edit.fontMetrics().horizontalAdvance("0" * digits) + 16 + self.dot_room()

    def dot_room(self) -> int:
        """Pixels left of the numbers, for breakpoints."""
        return self._edit.fontMetrics().height() * 3 // 4

    def measure(self) -> None:
        """Find the columns' widths; after a change of numbers, font or room."""
        theme = current_theme()
        metrics, heads = QFontMetrics(theme.mono(0.9)), QFontMetrics(theme.font("small"))
        for name in GUTTER_COLUMNS:
            texts = [self._text(t[name]) for t in self.totals.values() if name in t]
            longest = max((metrics.horizontalAdvance(t) for t in texts), default=0)
            label = heads.horizontalAdvance(SHORT_NAMES[name])
            self.widths[name] = max(longest, label) + PADDING if longest else 0

    @staticmethod
    def column_name(name: str, width: int) -> str:
        """What stands over a column: its numbers, not its name, say how wide it is."""
        heads = QFontMetrics(current_theme().font("small"))
        fits = heads.horizontalAdvance(name) <= width - PADDING
        return name if fits else SHORT_NAMES[name]

    def _text(self, total: Total) -> str:
        return total.short if self.brief else total.text

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = current_theme(), QPainter(self)
        painter.fillRect(event.rect(), theme.color("panel"))
        errors = self.errors
        block = self._edit.firstVisibleBlock()
        while block.isValid():
            rect = self._edit.block_rect(block)
            if rect.top() > event.rect().bottom():
                break
            number = block.blockNumber() + 1
            self._paint_line(painter, theme, number, rect, wrong=number in errors)
            block = block.next()
        painter.setPen(theme.color("grid"))
        painter.drawLine(self.width() - 5, 0, self.width() - 5, self.height())

    def _paint_line(
        self, painter: QPainter, theme: Theme, line: int, rect: QRectF, *, wrong: bool
    ) -> None:
        top, height = int(rect.top()), int(rect.height())
        if line == self.current:
            brush = current_line_brush(stale=self.stale)
            painter.fillRect(0, top, self.width() - 5, height, brush)
        if wrong:
            painter.fillRect(0, top, self.width() - 5, height, theme.tint("error", 0.14))
            painter.fillRect(0, top, 4, height, theme.color("error"))
        elif line == self.selected:
            painter.fillRect(0, top, 4, height, theme.color("accent"))
        if line in self.changes.lines:
            painter.setFont(theme.mono(0.9, bold=True))
            painter.setPen(theme.color(CHANGED))
            centre = int(Qt.AlignmentFlag.AlignCenter)
            painter.drawText(5, top, self.dot_room(), height, centre, self.sign)
        if line in self.lit:
            color, shape = self.lit[line]
            middle = QPointF(5 + self.dot_room() / 2, rect.center().y())
            painter.save()
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            draw_mark(painter, theme, middle, color, shape, 0.9 * self.dot_room())
            painter.restore()
        elif line in self.breaks or line == self._under:
            self._paint_dot(painter, theme, rect, there=line in self.breaks)
        right = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        painter.setFont(theme.mono(0.9))
        strong = line in (self.current, self.selected)
        painter.setPen(theme.color("text" if strong else "text_faint"))
        width = self.number_width() - 6
        painter.drawText(0, top, width, height, right, str(line))
        x, totals = self.number_width(), self.totals.get(line, {})
        for name, column in self.widths.items():
            total = totals.get(name)
            if total is not None:
                color = "conflict" if total.wasteful else "ideal"
                painter.setPen(theme.color("text_faint" if self.stale else color))
                painter.drawText(x, top, column - 6, height, right, self._text(total))
            x += column

    def _paint_dot(self, painter: QPainter, theme: Theme, rect: QRectF, *, there: bool) -> None:
        size = 0.62 * self.dot_room()
        centre = QPointF(5 + self.dot_room() / 2, rect.center().y())
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.color("error", 1.0 if there else 0.6), 1.2))
        painter.setBrush(theme.color("error") if there else Qt.BrushStyle.NoBrush)
        painter.drawEllipse(centre, size / 2, size / 2)
        painter.restore()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        point = event.position()
        if point.x() < self.number_width():
            self.break_wanted.emit(self._edit.line_at(point.y()))
            return
        line, column = self._edit.line_at(point.y()), self.column_at(point.x())
        self._edit.put_caret(line)
        if column in self.totals.get(line, {}):
            self.number_clicked.emit(line, column)
        else:
            self._edit.line_clicked.emit(line)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Go to the line's next step; on its number it is a click like any other."""
        if event.position().x() < self.number_width():
            self.mousePressEvent(event)
            return
        self._edit.line_double_clicked.emit(self._edit.line_at(event.position().y()))

    def leaveEvent(self, event: QEvent) -> None:
        self._point_at(None)
        super().leaveEvent(event)

    def _point_at(self, line: int | None) -> None:
        if line != self._under:
            self._under = line
            self.update()

    def column_at(self, x: float) -> str:
        right = float(self.number_width())
        if x < right:
            return ""
        for name, width in self.widths.items():
            right += width
            if x < right:
                return name
        return ""

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        line = self._edit.line_at(event.position().y())
        numbers = event.position().x() < self.number_width()
        self._point_at(line if numbers else None)
        tip = ANSWER_FIRST if self.veiled else totals_text(self.totals.get(line, {}))
        if numbers and not self.errors.get(line):
            there = line in self.breaks
            tip = f"Click to {'clear the breakpoint at' if there else 'stop at'} line {line}"
        if tip and self.stale:
            tip += " Counted before the edit."
        text = self.errors.get(line) or tip
        QToolTip.showText(event.globalPosition().toPoint(), text, self)


class GutterHead(QWidget):
    """Names of the gutter's columns."""

    def __init__(self, gutter: Gutter) -> None:
        super().__init__()
        self._gutter = gutter
        self.setFixedHeight(18)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = current_theme(), QPainter(self)
        painter.setFont(theme.font("small"))
        painter.setPen(theme.color("text_dim"))
        right = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        x, height = self._gutter.number_width(), self.height()
        painter.drawText(0, 0, x - 6, height, right, "line")
        for name, column in self._gutter.widths.items():
            if column:
                words = self._gutter.column_name(name, column)
                painter.drawText(x, 0, column - 6, height, right, words)
            x += column
        if self._gutter.veiled:
            painter.setFont(theme.font("small", bold=True))
            painter.setPen(theme.color("accent"))
            painter.drawText(x + 2, 0, 2 * height, height, int(Qt.AlignmentFlag.AlignLeft), "?")


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
INDENT = "    "
PASSING = (  # why the keyboard goes away for a moment
    Qt.FocusReason.ActiveWindowFocusReason,
    Qt.FocusReason.PopupFocusReason,
    Qt.FocusReason.MenuBarFocusReason,
)
CONTEXT = 2  # lines around one that is shown
MARGIN = 14  # pixels between code and the edge, or an error's message


@dataclass(frozen=True)
class LineError:
    """A compiler's message at a place in the text; the place moves with what is typed."""

    cursor: QTextCursor
    message: str

    @property
    def line(self) -> int:
        return int(self.cursor.blockNumber()) + 1


class CodeEdit(ColouredText):
    """The text itself, read-only until `edit_on`. The margin at its left belongs to `Gutter`."""

    refused = Signal(str)
    """Why something is not done."""
    editing_changed = Signal(bool)
    focus_changed = Signal()

    def __init__(self) -> None:
        super().__init__(self._spans_of)
        self.setUndoRedoEnabled(True)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setAccessibleName("Kernel source")
        self.errors: list[LineError] = []
        self.marks: list[QTextEdit.ExtraSelection] = []
        self._comments: frozenset[int] | None = None
        self.suffix = ".cu"  # of the file's name: the language
        self.document().contentsChanged.connect(self._forget_comments)
        self.gutter = Gutter(self)
        self.restyle()
        self.updateRequest.connect(self._scroll_gutter)

    def _spans_of(self, first: int, last: int) -> Sequence[Iterable[Span]]:
        """Spans of lines: they are read as one piece, and what is above only for comments."""
        if self._comments is None:
            self._comments = lines_inside_comments(self.toPlainText(), self.suffix)
        block, lines = self.document().findBlockByNumber(first), []
        for _ in range(first, last):
            lines.append(block.text())
            block = block.next()
        opening = [comment_opening(self.suffix)] if first in self._comments else []
        return highlight("\n".join([*opening, *lines]), self.suffix)[len(opening) :]

    def _forget_comments(self) -> None:
        self._comments = None

    def restyle(self) -> None:
        self.take_styles(STYLES)

    @property
    def editing(self) -> bool:
        """Whether keys are typed into the text; otherwise they are commands."""
        return not self.isReadOnly()

    @editing.setter
    def editing(self, on: bool) -> None:
        if on != self.editing:
            self.setReadOnly(not on)
            self.editing_changed.emit(on)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Tell that the caret's line is the one in use."""
        super().focusInEvent(event)
        self.focus_changed.emit()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Editing ends when the keyboard goes to another part of the window."""
        super().focusOutEvent(event)
        self.focus_changed.emit()
        if event.reason() not in PASSING:
            self.editing = False

    def block_rect(self, block: QTextBlock) -> QRectF:
        return self.blockBoundingGeometry(block).translated(self.contentOffset())

    def fold_head(self, *, away: bool) -> None:
        """Fold the comment at the text's head away, which explains the kernel, or show it."""
        block, document = self.document().firstBlock(), self.document()
        if block.isVisible() != away or not block.text().startswith("//"):
            return
        bar, first = self.verticalScrollBar(), self.firstVisibleBlock()
        bar.setValue(0)  # no line that goes may be the first in view
        while block.isValid() and (block.text().startswith("//") or not block.text().strip()):
            block.setVisible(not away)
            block = block.next()
        document.markContentsDirty(0, max(block.position(), 0))
        layout = document.documentLayout()
        layout.documentSizeChanged.emit(layout.documentSize())  # the scroll bar counts anew
        if first.isVisible():
            bar.setValue(first.firstLineNumber())

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
        places += [self.textCursor().position()] if self.editing else []
        bar.setValue(0)
        if places:
            cursor = QTextCursor(self.document())
            cursor.setPosition(places[0])
            bar.setValue(self.cursorRect(cursor).right() + MARGIN - self.viewport().width())

    def reveal_sideways(self, cursor: QTextCursor) -> None:
        """Scroll so far to the right that a selection is seen, or as much of it as there is room.

        Its beginning stays.
        """
        bar, start = self.horizontalScrollBar(), QTextCursor(cursor)
        start.setPosition(cursor.selectionStart())
        over = self.cursorRect(cursor).right() + MARGIN - self.viewport().width()
        most = self.cursorRect(start).left() - 3 * MARGIN
        bar.setValue(bar.value() + max(min(over, most), 0))

    def set_text(self, text: str) -> None:
        if text == self.toPlainText():
            return
        cursor = QTextCursor(self.document())
        cursor.select(QTextCursor.SelectionType.Document)
        cursor.insertText(text)

    def put_caret(self, line: int) -> None:
        """Set the caret at the first character of a line that is not a space."""
        block = self.document().findBlockByNumber(line - 1)
        if block.isValid():
            text = block.text()
            cursor = QTextCursor(block)
            cursor.setPosition(block.position() + len(text) - len(text.lstrip()))
            self.setTextCursor(cursor)

    def show_errors(self, places: Iterable[tuple[int, int | None, str]]) -> None:
        """Mark (line, column or None, message); the marks replace those there were."""
        self.errors = [
            LineError(self._error_cursor(line, column), visible(message))
            for line, column, message in places
            if 1 <= line <= self.blockCount()
        ]
        self.draw_marks()
        self.gutter.update()
        self.viewport().update()

    def draw_marks(self) -> None:
        waves = []
        for error in self.errors:
            wave = QTextEdit.ExtraSelection()
            wave.format.setUnderlineStyle(QTextCharFormat.UnderlineStyle.WaveUnderline)
            wave.format.setUnderlineColor(current_theme().color("error"))
            wave.cursor = error.cursor
            waves.append(wave)
        self.setExtraSelections([*self.marks, *waves])

    def _error_cursor(self, line: int, column: int | None) -> QTextCursor:
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
        plain = self.editing and not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
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
        """Paste without the numbers of a listing's lines, but no more than is read from a file."""
        pasted = source.text()
        try:
            room = max(MOST_SOURCE - self.document().characterCount(), 0)
            must_be_short_enough(pasted, "What is pasted", room)
        except TilescopeError as error:
            self.refused.emit(str(error))
        else:
            if (plain := without_line_numbers(pasted)) != pasted:
                source = QMimeData()
                source.setText(plain)
            super().insertFromMimeData(source)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw each error's message after its line, or after the next one where that is full."""
        super().paintEvent(event)
        theme, painter = current_theme(), QPainter(self.viewport())
        painter.setPen(QPen(theme.color(CHANGED), 2, Qt.PenStyle.DashLine))
        for line in self.gutter.changes.gaps:  # where the other version has lines
            block = self.document().findBlockByNumber(line - 1)
            rect = self.block_rect(block if block.isValid() else self.document().lastBlock())
            y = int(rect.top() if block.isValid() else rect.bottom())
            painter.drawLine(0, y, self.viewport().width(), y)
        painter.setFont(theme.font("small"))
        for text, box in self.messages(painter.fontMetrics()):
            painter.fillRect(box, theme.tint("error", 0.12))
            painter.setPen(theme.color("error"))
            painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), text)

    def messages(self, metrics: QFontMetrics) -> Iterator[tuple[str, QRect]]:
        """What is said of each line with an error, and where; on the next line it names its own."""
        first = {e.line: e for e in reversed(self.errors)}
        for error in first.values():
            block = self.document().findBlockByNumber(error.line - 1)
            lines = [block] if error.line + 1 in first else [block, block.next()]
            places = [self._beyond(line) for line in lines if line.isValid()]
            least = min(metrics.horizontalAdvance(error.message), metrics.averageCharWidth() * 24)
            at = next((n for n, p in enumerate(places) if self._room(p[0]) >= least), 0)
            left, rect = places[at]
            if self._room(left) < metrics.horizontalAdvance("0" * 8):
                continue
            elide = Qt.TextElideMode.ElideRight
            words = f"line {error.line}: {error.message}" if at else error.message
            text = metrics.elidedText(words, elide, self._room(left))
            box = QRect(left - 5, int(rect.top()), metrics.horizontalAdvance(text) + 12, 0)
            box.setHeight(int(rect.height()))
            yield text, box

    def _beyond(self, block: QTextBlock) -> tuple[int, QRectF]:
        """Where a message may stand after a line's text, and where the line is."""
        rect = self.block_rect(block)
        wide = self.fontMetrics().horizontalAdvance(block.text().expandtabs(8))
        return int(rect.left() + self.document().documentMargin() + wide) + MARGIN, rect

    def _room(self, left: int) -> int:
        return self.viewport().width() - left - 10

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        box = self.contentsRect()
        self.gutter.setGeometry(box.left(), box.top(), self.gutter.wanted_width(), box.height())

    def _scroll_gutter(self, rect: QRect, dy: int) -> None:
        if dy:
            self.gutter.scroll(0, dy)
        else:
            self.gutter.update(0, rect.y(), self.gutter.width(), rect.height())
