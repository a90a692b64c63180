"""Draws the 32 banks of shared memory and the words that one access asks of them."""

from __future__ import annotations

from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QFontMetricsF, QPainter

from gui.looks.theme import Theme
from gui.scenes.session import Session
from gui.scenes.shared import BANKS, BankScene, Word, lane_label
from gui.scenes.warp import LANES
from gui.views.kept import Kept
from gui.views.painting import (
    CENTRE,
    LEFT,
    fill,
    frame,
    inset,
    pen,
    text,
    text_on,
    texts,
    upright_text,
)
from gui.views.shared_geometry import SharedGeometry

FEW = 4  # words, which are drawn as quickly as a picture of them, and differ from step to step
STALE = 0.5  # strength of the colour of words that an earlier step asked for
LEAST = 0.6  # of the theme's small type: words that would be smaller are left out


def hovered_lane(session: Session) -> int | None:
    """The lane of the selected warp that the pointer rests on."""
    hover = session.hover
    if hover is None or hover.thread is None or hover.thread // LANES != session.warp:
        return None
    return hover.thread % LANES


class BankPainter:
    """Columns from bank 0 to 31, the words asked of each stacked up, conflicts in their colour.

    What does not depend on the selected or hovered lane is kept as a picture.
    """

    def __init__(
        self, painter: QPainter, theme: Theme, session: Session, kept: Kept, g: SharedGeometry
    ) -> None:
        self.p, self.theme, self.session, self.kept, self.g = painter, theme, session, kept, g
        self.wide = g.banks.width() / BANKS
        self.metrics = QFontMetricsF(theme.font("small"))
        self.line = self.metrics.height()

    def draw(self, banks: BankScene) -> None:
        """The title, the columns, and what is selected and hovered."""
        lanes = f"{banks.active} lanes" if banks.active != 1 else "1 lane"
        words = (
            f"Banks   {lanes}, {banks.wavefronts} wavefront{'s' * (banks.wavefronts != 1)}"
            f" (ideal {banks.ideal})"
        )
        g, theme = self.g, self.theme
        if banks.fault:
            small = theme.font("small", bold=True)
            text(self.p, g.bank_title, banks.fault, theme.color("error"), small, LEFT)
        else:
            text(self.p, g.bank_title, words, theme.color("text_dim"), theme.font("small"), LEFT)
        area = g.banks.united(g.labels).adjusted(-6, 0, 6, 0)
        self.kept.draw(self.p, "columns", area, theme.key, self._draw_columns)
        asked = banks.asked
        if sum(map(len, asked)) <= FEW:
            self._draw_asked(self.p, banks)
        else:
            state = theme.key, banks.live, banks.verb, banks.conflicts > 0, asked
            self.kept.draw(self.p, "asked", area, state, lambda q: self._draw_asked(q, banks))
        self._draw_marks(banks)

    def _column(self, bank: int) -> float:
        return self.g.banks.left() + bank * self.wide

    def _words(self, banks: BankScene, bank: int) -> list[QRectF]:
        """Where the words asked of a bank stand, from the bottom up."""
        room = self.g.banks.height() - self.line
        high = min(room / max(1, banks.highest), 3.4 * self.line)
        left, bottom = self._column(bank) + 1, self.g.banks.bottom()
        return [
            QRectF(left, bottom - (number + 1) * high, self.wide - 2, high)
            for number in range(len(banks.words[bank]))
        ]

    def _label(self, bank: int) -> QRectF:
        labels = self.g.labels
        return QRectF(self._column(bank), labels.top(), self.wide, labels.height())

    def _numbered(self, bank: int) -> bool:
        """Whether there is room for a bank's number."""
        return bank % 4 == 0 or self.wide >= self.metrics.horizontalAdvance("00") + 2

    def _draw_columns(self, p: QPainter) -> None:
        """The empty columns with their numbers."""
        top, high = self.g.banks.top(), self.g.banks.height()
        columns = [QRectF(self._column(i) + 1, top, self.wide - 2, high) for i in range(BANKS)]
        fill(p, columns, self.theme.color("raised", 0.6))
        numbers = [(self._label(i), str(i)) for i in range(BANKS) if self._numbered(i)]
        texts(p, numbers, self.theme.color("text_faint"), self.theme.font("small"))

    def _draw_asked(self, p: QPainter, banks: BankScene) -> None:
        """The words asked of each bank, with how many there are where that is a conflict."""
        theme = self.theme
        strength = 1.0 if banks.live else STALE
        calm = theme.tint("load" if banks.verb == "loads" else "store", strength)
        alarm = theme.tint("conflict", strength)
        numbers, ways = [], []
        for bank, asked in enumerate(banks.words):
            if not asked:
                continue
            times = banks.passes[bank]
            conflict = banks.conflicts > 0 and times > 1
            strong = alarm if conflict else calm
            rects = self._words(banks, bank)
            fill(p, [_body(rect) for rect in rects], strong)
            for word, rect in zip(asked, rects, strict=True):
                self._draw_word(p, word, _body(rect), strong)
            before = banks.passes[bank - 1] if bank else 0
            if conflict and (times != before or self.wide > 2.2 * self.line):
                above = QRectF(rects[-1].left() - 7, rects[-1].top() - self.line, 0, self.line)
                above.setWidth(self.wide + 12)
                ways.append((above, f"×{times}"))
            if self._numbered(bank):
                numbers.append((self._label(bank), str(bank)))
        texts(p, ways, theme.color("conflict"), theme.font("small", bold=True))
        fill(p, [rect for rect, _ in numbers], theme.color("panel"))
        texts(p, numbers, theme.color("text"), theme.font("small"))

    def _draw_word(self, p: QPainter, word: Word, body: QRectF, strong: QColor) -> None:
        """The lanes that ask for a word, upright where that is the only way they fit."""
        small = self.theme.font("small")
        small.setPointSizeF(min(self.theme.sizes.small, 0.7 * body.width()))
        if small.pointSizeF() < LEAST * self.theme.sizes.small:
            return
        metrics, ink, label = QFontMetricsF(small), text_on(strong), lane_label(word.lanes)
        wide = metrics.horizontalAdvance(label)
        if wide <= body.width() + 2 and body.height() >= metrics.height() * 0.8:
            text(p, body, label, ink, small, elide=False)
        elif wide <= body.height():
            upright_text(p, body, label, ink, small, CENTRE)

    @staticmethod
    def _places(banks: BankScene, lane: int | None) -> list[tuple[int, int]]:
        """The bank of each word of a lane, and which it is there."""
        return banks.of_lane.get(lane, []) if lane is not None else []

    def _draw_marks(self, banks: BankScene) -> None:
        """The words of the selected and the hovered lane, and the hovered bank."""
        marks = {"selected": self.session.lane, "hover": hovered_lane(self.session)}
        for name, lane in marks.items():
            rects = [self._words(banks, bank)[number] for bank, number in self._places(banks, lane)]
            found = [inset(_body(rect), 0.5) for rect in rects if rect.height() > 4]
            frame(self.p, found, pen(self.theme.color(name), 1.6))
        hover = self.session.hover
        if hover is not None and hover.bank is not None:
            label, top = self._label(hover.bank), self.g.banks.top()
            fill(self.p, [label], self.theme.color("panel"))
            number = [(label, str(hover.bank))]
            texts(self.p, number, self.theme.color("text"), self.theme.font("small"))
            column = QRectF(label.left(), top, self.wide, label.bottom() - top)
            frame(self.p, [column], pen(self.theme.color("hover"), 2))


def _body(rect: QRectF) -> QRectF:
    """A word's rectangle without the gap to the one above it."""
    return rect.adjusted(0, 1.0 if rect.height() > 5 else 0.4, 0, 0)
