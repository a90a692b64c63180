"""The PTX pane: the kernel's instructions with the current one lit, linked with the source."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from PySide6.QtCore import QEvent, QPoint, Qt, Signal
from PySide6.QtGui import QColor, QMouseEvent, QTextCursor, QTextFormat
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QVBoxLayout

from gui.looks.theme import current_theme
from gui.scenes.ptx import PtxListing, current_pc, listing_of, ptx_caption
from gui.scenes.selection import Hover
from gui.scenes.session import Session
from gui.scenes.source import Span
from gui.views.base import Caption, SessionView
from gui.views.coloured_text import ColouredText

STYLES = {  # category -> (theme colour, bold)
    "number": ("text_faint", False),
    "label": ("text_dim", False),
    "function": ("text", True),
    "operation": ("barrier", False),
    "load": ("load", False),
    "store": ("store", False),
}


class PtxText(ColouredText):
    """The text of `listing`. A click gives its row, as pointing does: -1 when that leaves."""

    row_clicked = Signal(int)
    row_double_clicked = Signal(int)
    row_pointed = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.setReadOnly(True)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        self.setTabChangesFocus(True)
        self.setAccessibleName("PTX instructions")
        self.viewport().setMouseTracking(True)
        self.listing: PtxListing | None = None
        self._double = False

    def spans(self, first: int, last: int) -> Sequence[Iterable[Span]]:
        """The listing's own."""
        return self.listing.spans(first, last) if self.listing is not None else []

    def row_at(self, y: float) -> int:
        """The row at a height of the viewport."""
        return int(self.cursorForPosition(QPoint(0, int(y))).blockNumber())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Tell which row the pointer rests on."""
        super().mouseMoveEvent(event)
        self.row_pointed.emit(self.row_at(event.position().y()))

    def leaveEvent(self, event: QEvent) -> None:
        """Nothing is pointed at any more."""
        super().leaveEvent(event)
        self.row_pointed.emit(-1)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """A click without a selection chooses the row; the second of a double click does not."""
        super().mouseReleaseEvent(event)
        second, self._double = self._double, False
        left = event.button() == Qt.MouseButton.LeftButton
        if left and not second and not self.textCursor().hasSelection():
            self.row_clicked.emit(self.row_at(event.position().y()))

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """A double click goes to the row's line."""
        self._double = True
        self.row_double_clicked.emit(self.row_at(event.position().y()))


class PtxView(SessionView):
    """Instructions of the running line are tinted, those of a selected or pointed line stronger.

    A click on an instruction selects its source line; a double click emits `line_wanted`.
    """

    WATCHES = frozenset({"trace", "block", "step", "line", "hover"})
    READ = True
    line_wanted = Signal(int)

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.caption = Caption()
        self.listing: PtxListing | None = None
        self.text = PtxText()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.text)
        self._pointed: int | None = None  # the line whose instructions are lit
        self.text.row_clicked.connect(self._select)
        self.text.row_pointed.connect(self._point)
        self.text.row_double_clicked.connect(self._go)
        self.restyle()

    def refresh(self, names: frozenset[str]) -> None:
        """Follow the session's trace, step and line, and what is pointed at."""
        if names == {"hover"}:
            self._mark_pointed()
            return
        if "trace" in names:
            self._load()
        if self.listing is not None:
            self._mark()
            self._reveal(names)
        self.caption.setText(ptx_caption(self.session, self.listing))

    def restyle(self) -> None:
        """Take up the theme's font and colours."""
        self.text.setFont(current_theme().mono())
        self.text.take_styles(STYLES)
        if self.listing is not None:
            self._mark()

    def _load(self) -> None:
        trace = self.session.trace
        self.listing = listing_of(trace) if trace is not None else None
        self.text.listing = self.listing
        text = self.listing.text if self.listing is not None else ""
        if text != self.text.toPlainText():
            self.text.setPlainText(text)
        self.text.colour_anew()

    def _mark(self) -> None:
        listing, theme = self.listing, current_theme()
        assert listing is not None
        running, self._pointed = self.session.current_line, self.session.pointed_line
        marks = [self._band(p, theme.tint("accent", 0.10)) for p in listing.places(running)]
        for line in {self.session.line, self._pointed} - {None, running}:
            marks += [self._band(p, theme.tint("hover", 0.18)) for p in listing.places(line)]
        place = listing.place(current_pc(self.session))
        if place >= 0:
            marks.append(self._band(place, theme.color("current_line")))
        self.text.setExtraSelections(marks)

    def _band(self, place: int, color: QColor) -> QTextEdit.ExtraSelection:
        mark = QTextEdit.ExtraSelection()
        mark.format.setBackground(color)
        mark.format.setProperty(QTextFormat.Property.FullWidthSelection, True)
        mark.cursor = QTextCursor(self.text.document().findBlockByNumber(place))
        return mark

    def _reveal(self, names: frozenset[str]) -> None:
        """Show the current instruction; after a choice of a line its first one."""
        assert self.listing is not None
        chosen = self.listing.places(self.session.line)
        place = self.listing.place(current_pc(self.session))
        if "line" in names and "step" not in names and chosen:
            place = chosen[0]
        block = self.text.document().findBlockByNumber(place)
        if place < 0 or not block.isValid():
            return
        top = self.text.firstVisibleBlock().blockNumber()
        rows = self.text.viewport().height() // max(self.text.fontMetrics().lineSpacing(), 1)
        if not top + 1 <= place < top + rows - 2:
            self.text.verticalScrollBar().setValue(max(place - rows // 3, 0))

    def _mark_pointed(self) -> None:
        if self.listing is not None and self.session.pointed_line != self._pointed:
            self._mark()

    def _line_at(self, place: int) -> int | None:
        return self.listing.line_at(place) if self.listing is not None and place >= 0 else None

    def _point(self, place: int) -> None:
        line = self._line_at(place)
        self.session.hover = Hover(line=line) if line is not None else None

    def _select(self, place: int) -> None:
        line = self._line_at(place)
        if line is not None:
            self.session.line = None if line == self.session.line else line

    def _go(self, place: int) -> None:
        line = self._line_at(place)
        if line is not None:
            self.line_wanted.emit(line)
