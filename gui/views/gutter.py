"""The margin beside the source: line numbers, and what each line moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QBrush, QFontMetrics, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QToolTip, QWidget

from gui.looks.theme import Theme, current_theme
from gui.scenes.source import LineTotals, Total, totals_text

if TYPE_CHECKING:
    from gui.views.code_edit import CodeEdit

GUTTER_COLUMNS = ("sectors", "wavefronts")
PADDING = 10  # pixels of a column beside its numbers
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
        self._under: int | None = None  # the line whose number is pointed at
        self.setAccessibleName("Breakpoints, line numbers and totals")
        self.brief = False
        self._widths = (0, 0)
        self.setMouseTracking(True)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    @property
    def errors(self) -> dict[int, str]:
        """The messages of the lines that did not compile."""
        return {error.line: error.message for error in reversed(self._edit.errors)}

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
        return self.number_width() + sum(self.column_widths()) + 12

    def number_width(self) -> int:
        """Pixels of the line-number column."""
        digits = max(2, len(str(self._edit.blockCount())))
        return self._edit.fontMetrics().horizontalAdvance("0" * digits) + 16 + self.dot_room()

    def dot_room(self) -> int:
        """Pixels left of the numbers, for breakpoints."""
        return self._edit.fontMetrics().height() * 3 // 4

    def column_widths(self) -> tuple[int, int]:
        """Pixels of the sectors and wavefronts columns; a column with no numbers takes none."""
        return self._widths

    def measure(self) -> None:
        """Find the columns' widths; after a change of numbers, font or room."""
        metrics = self._small_metrics()
        widths = []
        for name in GUTTER_COLUMNS:
            texts = [self._text(t[name]) for t in self.totals.values() if name in t]
            longest = max((metrics.horizontalAdvance(t) for t in texts), default=0)
            label = self._head_metrics().horizontalAdvance(SHORT_NAMES[name])
            widths.append(max(longest, label) + PADDING if longest else 0)
        self._widths = (widths[0], widths[1])

    def column_name(self, name: str, width: int) -> str:
        """What stands over a column: its numbers, not its name, say how wide it is."""
        fits = self._head_metrics().horizontalAdvance(name) <= width - PADDING
        return name if fits else SHORT_NAMES[name]

    def _text(self, total: Total) -> str:
        return total.short if self.brief else total.text

    @staticmethod
    def _head_metrics() -> QFontMetrics:
        return QFontMetrics(current_theme().font("small"))

    def _small_metrics(self) -> QFontMetrics:
        return QFontMetrics(current_theme().mono(0.9))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the visible lines' numbers."""
        theme, painter = current_theme(), QPainter(self)
        painter.fillRect(event.rect(), theme.color("panel"))
        errors = self.errors
        block = self._edit.firstVisibleBlock()
        while block.isValid():
            rect = self._edit.block_rect(block)
            if rect.top() > event.rect().bottom():
                break
            if event.region().intersects(rect.toAlignedRect().adjusted(0, 0, self.width(), 0)):
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
        if line in self.breaks or line == self._under:
            self._paint_dot(painter, theme, rect, there=line in self.breaks)
        right = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        painter.setFont(theme.mono(0.9))
        strong = line in (self.current, self.selected)
        painter.setPen(theme.color("text" if strong else "text_faint"))
        width = self.number_width() - 6
        painter.drawText(0, top, width, height, right, str(line))
        x, totals = self.number_width(), self.totals.get(line, {})
        for name, column in zip(GUTTER_COLUMNS, self.column_widths(), strict=True):
            total = totals.get(name)
            if total is not None:
                color = "conflict" if total.wasteful else "ideal"
                painter.setPen(theme.color("text_faint" if self.stale else color))
                painter.drawText(x, top, column - 6, height, right, self._text(total))
            x += column

    def _paint_dot(self, painter: QPainter, theme: Theme, rect: QRectF, *, there: bool) -> None:
        """A breakpoint, or where one would be."""
        size = 0.62 * self.dot_room()
        centre = QPointF(5 + self.dot_room() / 2, rect.center().y())
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.color("error", 1.0 if there else 0.6), 1.2))
        painter.setBrush(theme.color("error") if there else Qt.BrushStyle.NoBrush)
        painter.drawEllipse(centre, size / 2, size / 2)
        painter.restore()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Set or clear a breakpoint, ask about a total, or choose the line."""
        point = event.position()
        if point.x() < self.number_width():
            self.break_wanted.emit(self._edit.line_at(point.y()))
            return
        line, column = self._edit.line_at(point.y()), self.column_at(point.x())
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
        """No number is pointed at any more."""
        self._point_at(None)
        super().leaveEvent(event)

    def _point_at(self, line: int | None) -> None:
        if line != self._under:
            self._under = line
            self.update()

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
        numbers = event.position().x() < self.number_width()
        self._point_at(line if numbers else None)
        tip = totals_text(self.totals.get(line, {}))
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
        """Draw the names over their columns."""
        theme, painter = current_theme(), QPainter(self)
        painter.setFont(theme.font("small"))
        painter.setPen(theme.color("text_dim"))
        right = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        x, height = self._gutter.number_width(), self.height()
        painter.drawText(0, 0, x - 6, height, right, "line")
        for name, column in zip(GUTTER_COLUMNS, self._gutter.column_widths(), strict=True):
            if column:
                words = self._gutter.column_name(name, column)
                painter.drawText(x, 0, column - 6, height, right, words)
            x += column
