"""Sentences with words of the glossary: as rich text with links, and the card that a word opens.

A card has a small drawing, in a field of 24 by 12 units, the word and one sentence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from html import escape
from types import MappingProxyType

from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QCursor,
    QGuiApplication,
    QHelpEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPolygonF,
    QTextDocument,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QAbstractScrollArea,
    QFrame,
    QHeaderView,
    QLabel,
    QSizePolicy,
    QTabBar,
    QToolButton,
    QWidget,
)

from core.lessons.glossary import Glossary, Term, load_glossary
from gui.looks.labels_and_layouts import side_by_side, stacked
from gui.looks.theme import Theme, current_theme
from gui.scenes.numbers_and_sentences import spaced, unbroken
from gui.views.captions_and_panels import Caption

WORD = "word:"
"""Begins the target of a link that stands for a word of the glossary."""
_CODE = re.compile(r"`([^`]+)`")


def rich(text: str, *, mono: str, accent: str, glossary: Glossary | None = None) -> str:
    """HTML of a sentence that has code between backticks.

    mono: the family of code; accent: the colour of words of the glossary. A word is linked at its
    first place alone.
    """
    parts, seen = _CODE.split(text), set[str]()
    found = []
    for place, part in enumerate(parts):
        if place % 2:
            found.append(f"<code style=\"font-family:'{mono}'\">{escape(part)}</code>")
        else:
            found.append(_linked(part, accent, glossary, seen))
    # Qt makes a breaking space of every space of HTML but this one
    return "".join(found).replace("\n", "<br>").replace("\u202f", "\u00a0")


def _linked(text: str, accent: str, glossary: Glossary | None, seen: set[str]) -> str:
    if glossary is None:
        return escape(text)
    found, at = [], 0
    for begin, end, term in glossary.find(text):
        if term.term in seen:
            continue
        seen.add(term.term)
        style = f"color:{accent}; text-decoration:none"
        link = f'<a href="{WORD}{escape(term.term)}" style="{style}">{escape(text[begin:end])}</a>'
        found += [escape(text[at:begin]), link]
        at = end
    return "".join([*found, escape(text[at:])])


def plain(text: str) -> str:
    """The sentence for screen readers."""
    return _CODE.sub(r"\1", text)


class ProseLabel(QLabel):
    """Wraps, and shows the card of a word that is pointed at."""

    def __init__(self, role: str = "prose", text: str = "") -> None:
        super().__init__()
        self.setProperty("role", role)
        self.setWordWrap(True)
        self.setIndent(0)  # else a padded label begins further right, and asks for a line too many
        self.setTextFormat(Qt.TextFormat.RichText)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.LinksAccessibleByMouse)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        self.linkHovered.connect(self._point)
        self._said = ""
        self.say(text)

    def said(self) -> str:
        return self._said

    def say(self, text: str) -> None:
        self._said = text
        text = unbroken(spaced(text))
        theme = current_theme()
        mono, accent = theme.mono().family(), theme.color("accent").name()
        self.setText(rich(text, mono=mono, accent=accent, glossary=known_words()))
        self.setAccessibleName(plain(text))

    def restyle(self) -> None:
        self.say(self._said)

    def _point(self, link: str) -> None:
        term = known_words().by_form.get(link.removeprefix(WORD).lower())
        if term is None:
            WordCard.put_away()
        else:
            WordCard.show_at(self, term, QCursor.pos())


# The card.


BELOW = 20  # pixels under the pointer
WIDTH = 44  # digits
UNIT = 4.0  # pixels of a drawing's unit, at the normal size of text


@cache
def known_words() -> Glossary:
    """The words of resources/glossary.toml."""
    return load_glossary()


class WordDrawing(QWidget):
    """A word's picture."""

    def __init__(self, name: str = "") -> None:
        super().__init__()
        self.name = name
        unit = UNIT * current_theme().sizes.body / 10
        self.setFixedSize(QSize(round(WIDE * unit), round(HIGH * unit)))

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.name:
            painter = QPainter(self)
            draw_word(painter, self.name, QRectF(self.rect()), current_theme())
            painter.end()


class WordCard(QFrame):
    """Shown beside a word that is pointed at, until the pointer leaves or a key is pressed."""

    _shown: WordCard | None = None

    def __init__(self, owner: QWidget, term: Term) -> None:
        super().__init__(owner.window(), Qt.WindowType.ToolTip)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setObjectName("wordCard")
        self.term = term
        self._owner = owner
        owner.installEventFilter(self)
        theme = current_theme()
        panel, edge, ink = (theme.color(one).name() for one in ("panel", "border", "text"))
        self.setStyleSheet(
            f"#wordCard {{ background: {panel}; border: 1px solid {edge}; }}"
            f" #wordCard QLabel {{ color: {ink}; border: none; }}"
        )
        title = QLabel(term.term)
        title.setFont(theme.font("body", bold=True))
        line = QLabel(term.line, wordWrap=True)
        line.setFont(theme.font("body"))
        drawing = WordDrawing(term.drawing)
        words = (stacked(None, title, line, gap=2), 1)
        row = side_by_side(self, drawing, words, gap=14, edges=(12, 10, 14, 10))
        row.setAlignment(drawing, Qt.AlignmentFlag.AlignTop)
        self.setFixedWidth(WIDTH * line.fontMetrics().horizontalAdvance("0") + 60)

    @classmethod
    def show_at(cls, owner: QWidget, term: Term, place: QPoint) -> None:
        if cls._shown is not None and cls._shown.term == term:
            return
        cls.put_away()
        cls._shown = card = cls(owner, term)
        card.adjustSize()
        screen = QGuiApplication.screenAt(place) or owner.screen()
        free = screen.availableGeometry()
        x = min(place.x(), free.right() - card.width())
        y = place.y() + BELOW
        if y + card.height() > free.bottom():
            y = place.y() - card.height() - BELOW // 2
        card.move(max(x, free.left()), max(y, free.top()))
        card.show()

    @classmethod
    def put_away(cls) -> None:
        card, cls._shown = cls._shown, None
        if card is not None:
            card._owner.removeEventFilter(card)
            card.close()

    @classmethod
    def shown_term(cls) -> str:
        return cls._shown.term.term if cls._shown is not None else ""

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        gone = (QEvent.Type.Leave, QEvent.Type.Hide, QEvent.Type.KeyPress)
        if event.type() in (*gone, QEvent.Type.MouseButtonPress, QEvent.Type.Wheel):
            WordCard.put_away()
        return False


class Words(QObject):
    """Shows the cards of a window's words: in labels, captions, tabs, headings and cells of tables.

    A view that draws its words itself has `words_at(point)`, the text under a pixel of it.
    """

    def watch(self, root: QWidget) -> None:
        """Have everything in a widget that writes words show their cards."""
        for kind in (QLabel, QTabBar, QToolButton, QAbstractScrollArea, QWidget):
            for widget in root.findChildren(kind):
                if kind is QWidget and not hasattr(widget, "words_at"):
                    continue
                target = widget.viewport() if isinstance(widget, QAbstractScrollArea) else widget
                target.removeEventFilter(self)
                target.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Answer what Qt asks when the pointer rests: with a card if it rests on a word."""
        if event.type() != QEvent.Type.ToolTip or not isinstance(event, QHelpEvent):
            return False
        if not isinstance(watched, QWidget):
            return False
        found = term_at(watched, event.pos())
        if found is None:
            WordCard.put_away()
            return False
        WordCard.show_at(watched, found, event.globalPos())
        return True


def term_at(widget: QWidget, point: QPoint) -> Term | None:
    """The word of the glossary under a pixel of a widget, None where there is none."""
    if isinstance(widget, Caption):
        document = _laid_out("\n".join(widget.shown_lines()), widget, -1)
        return _hit(document, QPointF(point) - QPointF(widget.contentsRect().left(), 0))
    if isinstance(widget, QLabel):
        return _in_label(widget, point)
    found = known_words().find(_text_at(widget, point))
    return next((term for _, _, term in found), None)


def _text_at(widget: QWidget, point: QPoint) -> str:
    around = widget.parentWidget()
    if isinstance(widget, QToolButton):
        return widget.text()
    if isinstance(widget, QTabBar):
        return widget.tabText(widget.tabAt(point))
    if isinstance(around, QHeaderView):
        section = around.logicalIndexAt(point)
        model, way = around.model(), around.orientation()
        roles = Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole
        said = (model.headerData(section, way, role) for role in roles if section >= 0)
        return " ".join(str(words) for words in said if words)
    if isinstance(around, QAbstractItemView):
        return str(around.indexAt(point).data() or "")
    words_at = getattr(widget, "words_at", None)
    return str(words_at(QPointF(point))) if words_at is not None else ""


def _in_label(label: QLabel, point: QPoint) -> Term | None:
    box = label.contentsRect()
    document = _laid_out(label.text(), label, box.width() if label.wordWrap() else -1)
    left, top = float(box.left()), float(box.top())
    if label.alignment() & Qt.AlignmentFlag.AlignVCenter:
        top += max((box.height() - document.size().height()) / 2, 0)
    if label.alignment() & Qt.AlignmentFlag.AlignRight:
        left += max(box.width() - document.idealWidth(), 0)
    return _hit(document, QPointF(point) - QPointF(left, top))


def _laid_out(text: str, label: QWidget, width: int) -> QTextDocument:
    document = QTextDocument()
    document.setDocumentMargin(0)
    document.setDefaultFont(label.font())
    if "</" in text:
        document.setHtml(text)
    else:
        document.setPlainText(text)
    document.setTextWidth(width)
    return document


def _hit(document: QTextDocument, point: QPointF) -> Term | None:
    place = document.documentLayout().hitTest(point, Qt.HitTestAccuracy.ExactHit)
    if place < 0:
        return None
    text = document.toPlainText()
    return next((t for a, b, t in known_words().find(text) if a <= place < b), None)


# The drawings of cards.


WIDE, HIGH = 24.0, 12.0  # units


class _CardPen:
    """Draws cells and lines in units of the field, in colours of the theme."""

    def __init__(self, painter: QPainter, box: QRectF, theme: Theme) -> None:
        self.p, self.theme = painter, theme
        self.unit = min(box.width() / WIDE, box.height() / HIGH)
        self.left = box.left() + (box.width() - WIDE * self.unit) / 2
        self.top = box.top() + (box.height() - HIGH * self.unit) / 2

    def at(self, x: float, y: float) -> QPointF:
        return QPointF(self.left + x * self.unit, self.top + y * self.unit)

    def cell(self, x: float, y: float, w: float = 1, h: float = 1, role: str = "") -> None:
        corner = self.at(x, y)
        box = QRectF(corner.x(), corner.y(), w * self.unit, h * self.unit)
        self.p.setPen(QPen(self.color("text_faint"), 0.8))
        self.p.setBrush(self.color(role) if role else Qt.BrushStyle.NoBrush)
        self.p.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5))

    def row(self, y: float, count: int, lit: Mapping[int, str], x: float = 0, w: float = 1) -> None:
        """Cells side by side; `lit` are colours by place."""
        for place in range(count):
            self.cell(x + place * w, y, w, 1.6, lit.get(place, ""))

    def line(self, x0: float, y0: float, x1: float, y1: float, role: str = "load") -> None:
        self.p.setPen(QPen(self.color(role), 1.4))
        self.p.drawLine(self.at(x0, y0), self.at(x1, y1))

    def color(self, role: str) -> QColor:
        return self.theme.color(role)


def _fan(pen: _CardPen, targets: list[float]) -> None:
    """Eight lanes above, and what each reaches below."""
    pen.row(1, 8, dict.fromkeys(range(8), "raised"), 0, 3)
    for lane, place in enumerate(targets):
        pen.line(3 * lane + 1.5, 2.8, place, 8.4)


def _grid(pen: _CardPen) -> None:
    for bx in range(3):
        for by in range(2):
            mine = (bx, by) == (1, 0)
            for tx in range(4):
                for ty in range(2):
                    cell = (bx * 8 + 0.4 + tx * 1.7, by * 6 + 1 + ty * 1.9, 1.7, 1.9)
                    pen.cell(*cell, "load" if mine and (tx, ty) == (1, 0) else "inactive")
            pen.cell(bx * 8 + 0.2, by * 6 + 0.8, 7.2, 4.2)


def _warp(pen: _CardPen) -> None:
    for row in range(2):
        for lane in range(16):
            role = "load" if (row, lane) == (0, 5) else "inactive"
            pen.cell(lane * 1.5, 3 + row * 3, 1.5, 2.4, role)


def _sectors(pen: _CardPen) -> None:
    _fan(pen, [0.4 + lane * 0.75 for lane in range(8)])
    for sector in range(4):
        pen.cell(sector * 6, 8.6, 6, 2.4, "load" if sector == 0 else "")


def _line(pen: _CardPen) -> None:
    for sector in range(4):
        pen.cell(1 + sector * 5.5, 5, 5.5, 2.6, "inactive")
    pen.cell(0.4, 4.2, 23.2, 4.2)


def _coalesced(pen: _CardPen) -> None:
    _fan(pen, [1.5 + 3 * lane for lane in range(8)])
    pen.row(8.8, 8, dict.fromkeys(range(8), "used"), 0, 3)


def _stride(pen: _CardPen) -> None:
    pen.row(1, 4, dict.fromkeys(range(4), "raised"), 6, 3)
    for lane in range(4):
        pen.line(7.5 + 3 * lane, 2.8, 0.75 + 6 * lane, 8.6)
    lit = {4 * lane: "load" for lane in range(4)}
    pen.row(8.8, 16, {**dict.fromkeys(range(16), "waste"), **lit}, 0, 1.5)


def _broadcast(pen: _CardPen) -> None:
    _fan(pen, [12.0] * 8)
    pen.row(8.8, 8, {4: "load"}, 0, 3)


def _memories(pen: _CardPen) -> None:
    pen.cell(3, 0.6, 5, 2, "ideal")
    pen.cell(16, 0.6, 5, 2, "ideal")
    pen.cell(3, 4.4, 18, 2.4, "used")
    pen.cell(0, 8.8, 24, 2.8, "load")
    for x in (5.5, 18.5):
        pen.line(x, 2.7, x, 4.3, "text_dim")
    pen.line(12, 6.9, 12, 8.7, "text_dim")


def _banks(pen: _CardPen) -> None:
    for bank in range(12):
        for row in range(3):
            pen.cell(bank * 2, 1.5 + row * 3, 2, 2.8, "used" if row == 1 else "")


def _conflict(pen: _CardPen) -> None:
    for bank in range(12):
        for row in range(3):
            pen.cell(bank * 2, 1.5 + row * 3, 2, 2.8, "conflict" if bank == 4 else "")


def _padding(pen: _CardPen) -> None:
    for row in range(4):
        for column in range(9):
            role = "waste" if column == 8 else "used" if column == 0 else ""
            pen.cell(2.2 + column * 2.2, 1 + row * 2.5, 2.2, 2.5, role)


def _tile(pen: _CardPen) -> None:
    for row in range(4):
        for column in range(8):
            mine = column in (2, 3) and row in (0, 1)
            pen.cell(4 + column * 2, 1 + row * 2.5, 2, 2.5, "used" if mine else "")


def _phases(pen: _CardPen) -> None:
    for phase in range(4):
        pen.cell(phase * 6, 4, 2.6, 4, "load")
        pen.cell(phase * 6 + 2.6, 4, 3.4, 4, "ideal")


def _barrier(pen: _CardPen) -> None:
    for thread, reach in enumerate((10, 6, 10, 8)):
        y = 1.8 + thread * 2.8
        pen.line(0, y, reach, y, "load")
        pen.line(12.5, y, 22, y, "load")
    pen.cell(11, 0.6, 1, 10.8, "barrier")


def _atomic(pen: _CardPen) -> None:
    for lane in range(4):
        pen.cell(1 + lane * 3, 1, 2.4, 2, "raised")
        pen.line(2.2 + lane * 3, 3.2, 17, 6.4 + lane * 0.6, "store")
    pen.cell(17, 5.4, 4.4, 4.4, "store")


def _matrix(pen: _CardPen) -> None:
    for row in range(3):
        pen.row(1.4 + row * 3.2, 8, dict.fromkeys(range(8), "load" if row == 1 else ""), 0, 3)


def _roofline(pen: _CardPen) -> None:
    pen.line(2, 0.6, 2, 11, "text_dim")
    pen.line(2, 11, 23, 11, "text_dim")
    pen.p.setPen(QPen(pen.color("load"), 1.8))
    pen.p.setBrush(Qt.BrushStyle.NoBrush)
    pen.p.drawPolyline(QPolygonF([pen.at(3, 10), pen.at(13, 2), pen.at(22.5, 2)]))


def _occupancy(pen: _CardPen) -> None:
    for place in range(16):
        pen.cell(place * 1.5, 4, 1.5, 4, ("load" if place < 6 else "used") if place < 11 else "")


def _builds(pen: _CardPen) -> None:
    for row in range(4):
        pen.cell(1, 1 + row * 2.6, 9, 1.8, "inactive")
    for row in range(2):
        pen.cell(14, 3.6 + row * 2.6, 9, 1.8, "used")
    pen.line(10.6, 6, 13.4, 6, "text_dim")


def _ladder(pen: _CardPen) -> None:
    for x in (7, 17):
        pen.line(x, 0.5, x, 11.5, "text_dim")
    for row in range(4):
        role = "accent" if row == 1 else "text_dim"
        pen.line(7, 2 + row * 2.7, 17, 2 + row * 2.7, role)


_ALL = (
    *(_grid, _warp, _sectors, _line, _coalesced, _stride, _broadcast, _memories, _banks, _conflict),
    *(_padding, _tile, _phases, _barrier, _atomic, _matrix, _roofline, _occupancy, _builds),
    _ladder,
)
DRAWINGS: Mapping[str, Callable[[_CardPen], None]] = MappingProxyType(
    {draw.__name__.removeprefix("_"): draw for draw in _ALL}
)
"""By the names of `core.lessons.glossary.DRAWINGS`, which are those of the functions."""


def draw_word(painter: QPainter, name: str, box: QRectF, theme: Theme) -> None:
    """Draw a word's picture into a box."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    DRAWINGS[name](_CardPen(painter, box, theme))
    painter.restore()
