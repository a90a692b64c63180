"""The card of a word of the field: a small drawing, the word, one sentence."""

from __future__ import annotations

from functools import cache

from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QGuiApplication, QHelpEvent, QPainter, QPaintEvent, QTextDocument
from PySide6.QtWidgets import (
    QAbstractItemView,
    QAbstractScrollArea,
    QFrame,
    QHeaderView,
    QLabel,
    QTabBar,
    QToolButton,
    QWidget,
)

from core.lessons.glossary import Glossary, Term, load_glossary
from gui.looks.style import side_by_side, stacked
from gui.looks.theme import current_theme
from gui.views.base import Caption
from gui.views.word_drawings import HIGH, WIDE, draw_word

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
