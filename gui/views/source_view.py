"""The kernel's source with the current line, and what each line moved in the margin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPoint, QRect, QRectF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetrics,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QSyntaxHighlighter,
    QTextBlock,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
)
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QToolTip, QVBoxLayout, QWidget

from gui.scenes.session import Session
from gui.scenes.source import LineTotals, has_number, highlight, line_totals, source_caption
from gui.theme import Theme, current_theme
from gui.views.base import Caption, SessionView

if TYPE_CHECKING:
    from core.compiler import Diagnostic

STYLES = {  # category -> (theme colour, mixed into the text, bold)
    "comment": ("text_faint", 1.0, False),
    "preprocessor": ("barrier", 1.0, False),
    "keyword": ("barrier", 1.0, True),
    "type": ("load", 1.0, False),
    "builtin": ("hover", 1.0, False),
    "number": ("store", 1.0, False),
    "string": ("ideal", 1.0, False),
    "function": ("text", 1.0, True),
}
GUTTER_COLUMNS = ("sectors", "wavefronts")
SHORT_NAMES = {"sectors": "sect.", "wavefronts": "wavef."}
ROOM_FOR_IDEALS = 64  # digits; in a narrower pane the ideals are left to the tips


class Highlighter(QSyntaxHighlighter):
    """Colours CUDA C by Pygments' tokens."""

    def __init__(self, document: QTextDocument) -> None:
        super().__init__(document)
        self.restyle(current_theme())

    def restyle(self, theme: Theme) -> None:
        """Take up a theme's colours."""
        self._formats = {}
        for category, (name, _, bold) in STYLES.items():
            style = QTextCharFormat()
            style.setForeground(theme.color(name))
            if bold:
                style.setFontWeight(theme.font(bold=True).weight())
            if category == "comment":
                style.setFontItalic(False)
            self._formats[category] = style
        self.rehighlight()

    def highlightBlock(self, text: str) -> None:
        """Colour one line."""
        lines = highlight(self.document().toPlainText())
        number = self.currentBlock().blockNumber()
        if number < len(lines):
            for span in lines[number]:
                self.setFormat(span.start, span.length, self._formats[span.category])


class CodeEdit(QPlainTextEdit):
    """The text itself. The margin at its left belongs to `Gutter`."""

    line_clicked = Signal(int)
    line_double_clicked = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.setReadOnly(True)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setAccessibleName("Kernel source")
        self.gutter = Gutter(self)
        self.updateRequest.connect(self._scroll_gutter)

    def line_at(self, y: float) -> int:
        """Line number (from 1) at a height of the viewport; the last line below the text."""
        return int(self.cursorForPosition(QPoint(0, int(y))).blockNumber()) + 1

    def block_rect(self, block: QTextBlock) -> QRectF:
        """Where a line stands in the viewport."""
        return self.blockBoundingGeometry(block).translated(self.contentOffset())

    def reveal(self, line: int) -> None:
        """Scroll so that a line is seen with two lines of context, if it is not already."""
        block = self.document().findBlockByNumber(line - 1)
        if not block.isValid():
            return
        rect, step = self.block_rect(block), self.fontMetrics().lineSpacing()
        bar = self.verticalScrollBar()
        over = rect.bottom() + 2 * step - self.viewport().height()
        under = 2 * step - rect.top()
        if over > 0:
            bar.setValue(bar.value() + int(over / step) + 1)
        elif under > 0 and bar.value() > 0:
            bar.setValue(bar.value() - int(under / step) - 1)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the gutter at the left edge."""
        super().resizeEvent(event)
        box = self.contentsRect()
        self.gutter.setGeometry(box.left(), box.top(), self.gutter.wanted_width(), box.height())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """A click without a selection chooses the line."""
        super().mouseReleaseEvent(event)
        if event.button() == Qt.MouseButton.LeftButton and not self.textCursor().hasSelection():
            self.line_clicked.emit(self.line_at(event.position().y()))

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """A double click goes to the next step at the line."""
        self.line_double_clicked.emit(self.line_at(event.position().y()))

    def _scroll_gutter(self, rect: QRect, dy: int) -> None:
        if dy:
            self.gutter.scroll(0, dy)
        else:
            self.gutter.update(0, rect.y(), self.gutter.width(), rect.height())


class Gutter(QWidget):
    """Line numbers and totals beside the text; a click on a total emits its line and column."""

    number_clicked = Signal(int, str)

    def __init__(self, edit: CodeEdit) -> None:
        super().__init__(edit)
        self._edit = edit
        self.totals: dict[int, LineTotals] = {}
        self.errors: dict[int, str] = {}
        self.current: int | None = None
        self.selected: int | None = None
        self.brief = False
        self._widths = (0, 0)
        self.setMouseTracking(True)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def mark(self, current: int | None, selected: int | None) -> None:
        """Mark the running and the selected line; only lines that change are painted."""
        touched = {self.current, self.selected} ^ {current, selected}
        touched |= {self.current, current} if self.current != current else set()
        self.current, self.selected = current, selected
        for line in touched:
            if line is None:
                continue
            block = self._edit.document().findBlockByNumber(line - 1)
            rect = self._edit.block_rect(block).toAlignedRect()
            self.update(0, rect.top(), self.width(), rect.height())

    def wanted_width(self) -> int:
        """Pixels that the numbers need."""
        return self.number_width() + sum(self.column_widths()) + 14

    def number_width(self) -> int:
        """Pixels of the line-number column."""
        digits = max(2, len(str(self._edit.blockCount())))
        return self._edit.fontMetrics().horizontalAdvance("0" * digits) + 16

    def column_widths(self) -> tuple[int, int]:
        """Pixels of the sectors and wavefronts columns; a column with no numbers takes none."""
        return self._widths

    def measure(self) -> None:
        """Find the columns' widths; after a change of numbers, font or room."""
        metrics = self._small_metrics()
        widths = []
        for name in GUTTER_COLUMNS:
            texts = [self._text(t, name) for t in self.totals.values()]
            longest = max((metrics.horizontalAdvance(t) for t in texts), default=0)
            label = metrics.horizontalAdvance(self.column_name(name))
            widths.append(max(longest, label) + 12 if longest else 0)
        self._widths = (widths[0], widths[1])

    def column_name(self, name: str) -> str:
        """What stands over a column."""
        return SHORT_NAMES[name] if self.brief else name

    def _text(self, totals: LineTotals, name: str) -> str:
        text: str = getattr(totals, f"{name}_text")
        return text.split("/", maxsplit=1)[0] if self.brief else text

    def _small_metrics(self) -> QFontMetrics:
        return QFontMetrics(current_theme().mono(0.9))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the visible lines' numbers."""
        theme, painter = current_theme(), QPainter(self)
        painter.fillRect(event.rect(), theme.color("panel"))
        block = self._edit.firstVisibleBlock()
        while block.isValid():
            rect = self._edit.block_rect(block)
            if rect.top() > event.rect().bottom():
                break
            if rect.bottom() >= event.rect().top():
                self._paint_line(painter, theme, block.blockNumber() + 1, rect)
            block = block.next()
        painter.setPen(theme.color("grid"))
        painter.drawLine(self.width() - 5, 0, self.width() - 5, self.height())

    def _paint_line(self, painter: QPainter, theme: Theme, line: int, rect: QRectF) -> None:
        top, height = int(rect.top()), int(rect.height())
        if line == self.current:
            painter.fillRect(0, top, self.width() - 5, height, theme.color("current_line"))
        if line in self.errors:
            painter.fillRect(0, top, 4, height, theme.color("error"))
        elif line == self.selected:
            painter.fillRect(0, top, 4, height, theme.color("accent"))
        right = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        painter.setFont(theme.mono(0.9))
        strong = line in (self.current, self.selected)
        painter.setPen(theme.color("text" if strong else "text_faint"))
        width = self.number_width() - 6
        painter.drawText(0, top, width, height, right, str(line))
        totals = self.totals.get(line)
        if totals is None:
            return
        x = self.number_width()
        for name, column in zip(GUTTER_COLUMNS, self.column_widths(), strict=True):
            text = self._text(totals, name)
            wasteful = getattr(totals, f"wastes_{name}")
            painter.setPen(theme.color("conflict" if wasteful else "ideal"))
            painter.drawText(x, top, column - 6, height, right, text)
            x += column

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Choose the line, or ask about one of its totals."""
        point = event.position()
        line, column = self._edit.line_at(point.y()), self.column_at(point.x())
        if has_number(self.totals.get(line), column):
            self.number_clicked.emit(line, column)
        else:
            self._edit.line_clicked.emit(line)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Go to the line's next step."""
        self._edit.line_double_clicked.emit(self._edit.line_at(event.position().y()))

    def column_at(self, x: float) -> str:
        """The column of totals at a position, empty over the line numbers."""
        right = float(self.number_width())
        if x < right:
            return ""
        for name, width in zip(GUTTER_COLUMNS, self.column_widths(), strict=True):
            right += width
            if x < right:
                return name
        return ""

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Say in words what the numbers are."""
        line = self._edit.line_at(event.position().y())
        totals = self.totals.get(line)
        text = self.errors.get(line) or (totals.tip if totals else "")
        QToolTip.showText(event.globalPosition().toPoint(), text, self)


class GutterHead(QWidget):
    """Names of the gutter's columns."""

    def __init__(self, gutter: Gutter) -> None:
        super().__init__()
        self._gutter = gutter
        self.setFixedHeight(18)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the names over their columns."""
        theme, painter = current_theme(), QPainter(self)
        painter.setFont(theme.font("small"))
        painter.setPen(theme.color("text_dim"))
        right = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        x, height = self._gutter.number_width(), self.height()
        painter.drawText(0, 0, x - 6, height, right, "line")
        for name, column in zip(GUTTER_COLUMNS, self._gutter.column_widths(), strict=True):
            if column:
                painter.drawText(x, 0, column - 6, height, right, self._gutter.column_name(name))
            x += column


class SourceView(SessionView):
    """The source pane. Click a line to select it, double click to go to its next step."""

    WATCHES = frozenset({"trace", "block", "step", "line"})

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.caption = Caption()
        self.edit = CodeEdit()
        self.head = GutterHead(self.edit.gutter)
        self._highlighter = Highlighter(self.edit.document())
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.head)
        layout.addWidget(self.edit)
        self.edit.line_clicked.connect(self._select)
        self.edit.line_double_clicked.connect(self.go_to_next)
        self.restyle()

    def refresh(self, names: frozenset[str]) -> None:
        """Follow the session's trace, step and line."""
        if "trace" in names:
            self._load()
        gutter, line = self.edit.gutter, self.session.current_line
        gutter.mark(line, self.session.line)
        self._mark_current(line)
        if line is not None and names & {"trace", "block", "step"}:
            self.edit.reveal(line)
        self.caption.setText(source_caption(self.session))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Shorten the gutter where there is little room."""
        super().resizeEvent(event)
        room = ROOM_FOR_IDEALS * self.edit.fontMetrics().horizontalAdvance("0")
        brief = self.width() < room
        if brief != self.edit.gutter.brief:
            self.edit.gutter.brief = brief
            self._fit_gutter()

    def show_diagnostics(self, diagnostics: Sequence[Diagnostic]) -> None:
        """Mark the lines of compile errors; none clears them."""
        self.edit.gutter.errors = {d.line: d.message for d in diagnostics if d.severity == "error"}
        self.edit.gutter.update()

    def restyle(self) -> None:
        """Take up the theme's font and colours."""
        theme = current_theme()
        self.edit.setFont(theme.mono())
        self._highlighter.restyle(theme)
        self._fit_gutter()
        self._mark_current(self.session.current_line)

    def _load(self) -> None:
        trace = self.session.trace
        text = trace.workload.source if trace is not None else ""
        if text != self.edit.toPlainText():
            self.edit.setPlainText(text)
            self.edit.verticalScrollBar().setValue(0)
        self.edit.gutter.totals = line_totals(trace) if trace is not None else {}
        self.edit.gutter.errors = {}
        self._fit_gutter()

    def _fit_gutter(self) -> None:
        self.edit.gutter.measure()
        width = self.edit.gutter.wanted_width()
        self.edit.setViewportMargins(width, 0, 0, 0)
        box = self.edit.contentsRect()
        self.edit.gutter.setGeometry(box.left(), box.top(), width, box.height())
        self.head.update()

    def _mark_current(self, line: int | None) -> None:
        marks = []
        block = self.edit.document().findBlockByNumber((line or 0) - 1)
        if line is not None and block.isValid():
            mark = QTextEdit.ExtraSelection()
            mark.format.setBackground(QColor(current_theme().color("current_line")))
            mark.format.setProperty(QTextFormat.Property.FullWidthSelection, True)
            mark.cursor = QTextCursor(block)
            marks.append(mark)
        self.edit.setExtraSelections(marks)

    def _select(self, line: int) -> None:
        self.session.line = None if line == self.session.line else line

    def go_to_next(self, line: int) -> None:
        """Go to the next step at a line, or to its first when there is none after this."""
        self.session.line = line
        trace = self.session.block_trace
        if trace is None:
            return
        steps = np.flatnonzero(np.asarray(trace.line) == line)
        later = steps[steps > self.session.step]
        if len(steps):
            self.session.step = int((later if len(later) else steps)[0])

    def line_of(self, place: int) -> int | None:
        """The line of the compiled text that stands at a line of the editor now."""
        return place
