"""The PTX pane: the kernel's instructions with the current one lit, linked with the source."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QTextEdit

from gui.looks.labels_and_layouts import fill, named
from gui.looks.theme import current_theme
from gui.scenes.ptx_pane import PtxListing, current_pc, listing_of, ptx_caption
from gui.scenes.selection import Hover
from gui.scenes.session import Session
from gui.scenes.source_pane import Span
from gui.views.code_edit import ColouredText
from gui.views.question_in_views import Veil
from gui.views.session_view import CaptionedView

STYLES = {  # category -> (theme colour, bold)
    "number": ("text_faint", False),
    "label": ("text_dim", False),
    "function": ("text", True),
    "operation": ("barrier", False),
    "load": ("load", False),
    "store": ("store", False),
}


class PtxView(CaptionedView):
    """Instructions of the running line are tinted, those of a selected or pointed line stronger.

    A click on an instruction selects its source line; a double click emits `line_wanted`.
    """

    WATCHES = frozenset({"trace", "block", "step", "line", "hover"})
    READ = True
    line_wanted = Signal(int)

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.listing: PtxListing | None = None
        self.text = named(ColouredText(self._spans), "PTX instructions")
        self.text.setTabChangesFocus(True)
        fill(self, self.text)
        Veil(session, "source", self, (self.text,))
        self._pointed: int | None = None  # the line whose instructions are lit
        self.text.line_clicked.connect(self._select)
        self.text.line_pointed.connect(self._point)
        self.text.line_double_clicked.connect(self._go)
        self.restyle()

    def refresh(self, names: frozenset[str]) -> None:
        if names == {"hover"}:
            if self.listing is not None and self.session.pointed_line != self._pointed:
                self._mark()
            return
        if "trace" in names:
            self._load()
        if self.listing is not None:
            self._mark()
            self._reveal(names)
        words = ptx_caption(self.session, self.listing)
        self.tell(words, veiled=self.session.hides("source"))

    def restyle(self) -> None:
        self.text.setFont(current_theme().mono())
        self.text.take_styles(STYLES)
        if self.listing is not None:
            self._mark()

    def _load(self) -> None:
        trace = self.session.trace
        self.listing = listing_of(trace) if trace is not None else None
        text = self.listing.text if self.listing is not None else ""
        if text != self.text.toPlainText():
            self.text.setPlainText(text)
        self.text.colour_anew()

    def _mark(self) -> None:
        listing, theme = self.listing, current_theme()
        assert listing is not None
        running, self._pointed = self.session.current_line, self.session.pointed_line
        marks: list[QTextEdit.ExtraSelection] = []
        for place in listing.places(running):
            marks += self.text.band(place + 1, theme.tint("accent", 0.10))
        for line in {self.session.line, self._pointed} - {None, running}:
            for place in listing.places(line):
                marks += self.text.band(place + 1, theme.tint("hover", 0.18))
        marks += self.text.band(
            listing.place(current_pc(self.session)) + 1, theme.color("current_line")
        )
        self.text.setExtraSelections(marks)

    def _reveal(self, names: frozenset[str]) -> None:
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

    def _spans(self, first: int, last: int) -> Sequence[Iterable[Span]]:
        return self.listing.spans(first, last) if self.listing is not None else []

    def _line_at(self, row: int) -> int | None:
        return self.listing.line_at(row - 1) if self.listing is not None and row else None

    def _point(self, row: int) -> None:
        line = self._line_at(row)
        self.session.hover = Hover(line=line) if line is not None else None

    def _select(self, row: int) -> None:
        line = self._line_at(row)
        if line is not None:
            self.session.line = None if line == self.session.line else line

    def _go(self, row: int) -> None:
        line = self._line_at(row)
        if line is not None:
            self.line_wanted.emit(line)
