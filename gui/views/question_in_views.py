"""What a question of a lesson does to the views, as widgets and marks.

A calm field with a question mark stands in place of what is veiled; what is asked for is clicked;
then the right answer is lit beside the learner's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, QRect, QRectF, QSizeF, Qt, QTimer
from PySide6.QtGui import QFontMetricsF, QMouseEvent, QPainter, QPainterPath, QPaintEvent
from PySide6.QtWidgets import QWidget

from core.launch import WARP
from gui.looks.theme import Theme, current_theme
from gui.scenes.question_in_views import ANSWER_FIRST, cells_to_pick, target_to_show, veil_words
from gui.scenes.session import Session
from gui.scenes.veils_and_picks import Lit, Pick
from gui.views.drawing_tools import CENTRE, LEFT, fill, frame, inset, pen, text

FITS = (QEvent.Type.Resize, QEvent.Type.Move, QEvent.Type.LayoutRequest, QEvent.Type.Show)
ROUND = 6.0  # pixels of the corners
LARGEST = 3.2  # times the theme's type: the question mark
LEAST_MARK = 10  # pixels: nothing is to be seen in a lower part, and no mark fits
LEAST_HIGH = 2.6  # lines that a field has in which words stand below the mark


def draw_veil(painter: QPainter, box: QRectF, theme: Theme, said: str = ANSWER_FIRST) -> None:
    """Cover a part of a picture, and say why: nothing of what lies below shines through."""
    if box.height() < LEAST_MARK:
        return
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.fillRect(box, theme.color("panel"))
    painter.setPen(pen(theme.color("border"), 1))
    painter.setBrush(theme.tint("accent", 0.10))
    painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), ROUND, ROUND)
    small, large = theme.font("small"), theme.font("body", bold=True)
    line = QFontMetricsF(small).height()
    words = box.height() >= LEAST_HIGH * line
    room = box.height() - (line if words else 0.0)
    size = max(min(LARGEST * theme.sizes.body, 0.45 * room), 0.7 * theme.sizes.small)
    large.setPointSizeF(size)
    wide = QFontMetricsF(small).horizontalAdvance(said)
    high = QFontMetricsF(large).height()
    words = words and wide + 8 <= box.width()
    top = box.center().y() - (high + (line if words else 0.0)) / 2
    area = QRectF(box.left(), top, box.width(), high)
    text(painter, area, "?", theme.color("accent"), large, elide=False)
    if words:
        below = QRectF(box.left(), top + high, box.width(), line)
        text(painter, below, said, theme.color("text_dim"), small, elide=False)
    painter.restore()


class Veil(QWidget):
    """Covers a widget while the session hides a part; the widget itself has to hold its tongue.

    `instead` are widgets within it that are not to be seen, heard or pictured meanwhile: they keep
    their room, and only that is covered.
    """

    def __init__(
        self, session: Session, part: str, over: QWidget, instead: tuple[QWidget, ...] = ()
    ) -> None:
        super().__init__(over)
        self.session, self.part = session, part
        self._instead = instead
        for widget in instead:
            policy = widget.sizePolicy()
            policy.setRetainSizeWhenHidden(True)
            widget.setSizePolicy(policy)
        self._hidden: tuple[QWidget, ...] = ()
        for widget in (over, *instead):
            widget.installEventFilter(self)
        session.veiled_changed.connect(self._follow)
        session.answered_changed.connect(self._follow)
        self.hide()
        self._follow()

    @property
    def on(self) -> bool:
        return self.session.hides(self.part)

    def _follow(self, _: object = None) -> None:
        if self.on:
            self.setToolTip(veil_words(self.session))
            self.setAccessibleName(f"Veiled. {veil_words(self.session)}")
            if not self._hidden:
                self._hidden = tuple(w for w in self._instead if not w.isHidden())
            for widget in self._hidden:
                widget.hide()
            self._fit()
            self.show()
            self.raise_()
            self.update()  # its words may be others
            return
        self.hide()
        for widget in self._hidden:
            widget.show()
        self._hidden = ()

    def _fit(self) -> None:
        over = self.parentWidget()
        if over is None:
            return
        room = QRect()
        for widget in self._instead:
            room = room.united(QRect(widget.mapTo(over, QPoint(0, 0)), widget.size()))
        self.setGeometry(room or over.rect())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in FITS and not self.isHidden():
            QTimer.singleShot(0, self, self._fit)
        elif event.type() == QEvent.Type.ChildAdded and not self.isHidden():
            self.raise_()
        return super().eventFilter(watched, event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        theme = current_theme()
        painter.fillRect(self.rect(), theme.color("panel"))
        box = QRectF(self.rect()).adjusted(4, 4, -4, -4)
        draw_veil(painter, box, theme, veil_words(self.session))


# The right answer beside the learner's own.


RIGHT, WRONG, CHOSEN = "ideal", "store", "accent"
"""Colours of what is right, of what was wrong, and of what is chosen before the answer is given."""
BADGE = 13.0  # pixels of the mark at a corner
LEAST = 7.0  # pixels: a smaller thing has no room for a mark


def marks_of(lit: Lit) -> dict[Pick, tuple[str, str]]:
    """The colour and the mark of each thing that is lit."""
    if not lit.right:
        return dict.fromkeys(lit.given, (CHOSEN, "chosen"))
    found = dict.fromkeys(lit.given, (WRONG, "wrong"))
    return {**found, **dict.fromkeys(lit.right, (RIGHT, "right"))}


def draw_lit(
    painter: QPainter, theme: Theme, places: Iterable[tuple[Pick, Sequence[QRectF]]], lit: Lit
) -> None:
    """Mark the rectangles of each thing: a tick where it is right, a cross where it was wrong."""
    marks = marks_of(lit)
    found = [
        (*marks[pick], [inset(rect, -1.0) for rect in rects])
        for pick, rects in places
        if pick in marks
    ]
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    for color, shape, outer in found:
        line = Qt.PenStyle.DashLine if shape == "wrong" else Qt.PenStyle.SolidLine
        frame(painter, outer, pen(theme.color("panel"), 5))
        frame(painter, outer, pen(theme.color(color), 2.6, line))
    every = [(rect, color, shape) for color, shape, outer in found for rect in outer]
    every.sort(key=lambda one: (one[0].top(), one[0].left()))
    before: list[tuple[str, QRectF]] = []
    for rect, color, shape in every:  # above the frames of all
        near, small = inset(rect, -2.0), rect.width() < 2 * BADGE
        together = small and any(near.intersects(box) for own, box in before if own == shape)
        before.append((shape, rect))
        if min(rect.width(), rect.height()) >= LEAST and not together:  # one mark for neighbours
            corner = QPointF(rect.right() - 2, rect.top() + 2)
            draw_mark(painter, theme, corner, color, shape, min(BADGE, rect.height()))
    painter.restore()


def draw_mark(
    painter: QPainter, theme: Theme, centre: QPointF, color: str, shape: str, size: float
) -> None:
    """A disc with a tick, a square with a cross, or a disc: shapes that no colour is needed for."""
    half = size / 2
    box = QRectF(centre.x() - half, centre.y() - half, size, size)
    painter.setPen(pen(theme.color("panel"), 1))
    painter.setBrush(theme.color(color))
    if shape == "wrong":
        painter.drawRect(box)
    else:
        painter.drawEllipse(box)
    path = QPainterPath()
    if shape == "right":
        path.moveTo(centre.x() - 0.24 * size, centre.y())
        path.lineTo(centre.x() - 0.05 * size, centre.y() + 0.2 * size)
        path.lineTo(centre.x() + 0.27 * size, centre.y() - 0.2 * size)
    elif shape == "wrong":
        for sign in (-1, 1):
            path.moveTo(centre.x() - 0.22 * size, centre.y() - sign * 0.22 * size)
            path.lineTo(centre.x() + 0.22 * size, centre.y() + sign * 0.22 * size)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(pen(theme.color("panel"), max(1.2, 0.13 * size)))
    painter.drawPath(path)


def draw_lit_legend(painter: QPainter, box: QRectF, theme: Theme, lit: Lit) -> None:
    """A line that names both answers, each behind its mark, over whatever lies there."""
    parts = [("right", RIGHT, lit.words("right")), ("wrong", WRONG, lit.words("given"))]
    if not lit.right:
        parts = [("chosen", CHOSEN, lit.words("given"))]
    elif set(lit.given) <= set(lit.right):
        parts[1] = ("right", RIGHT, lit.words("given"))
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    font = theme.font("small", bold=True)
    metrics = QFontMetricsF(font)
    painter.fillRect(box, theme.color("panel"))
    left, size = box.left() + 4, min(BADGE, box.height() - 2)
    for shape, color, words in parts:
        if not words:
            continue
        centre = QPointF(left + size / 2, box.center().y())
        draw_mark(painter, theme, centre, color, shape, size)
        left += size + 5
        later = parts[1][2] if len(parts) > 1 and words is parts[0][2] else ""
        kept = metrics.horizontalAdvance(later) + size + 23 if later else 0.0
        room = max(min(metrics.horizontalAdvance(words) + 2, box.right() - left - kept), 0.0)
        area = QRectF(left, box.top(), room, box.height())
        text(painter, area, words, theme.color("text"), font, LEFT)
        left += room + 16
    painter.restore()


def legend_box(box: QRectF, theme: Theme) -> QRectF:
    """Where the line stands in a view: along its lower edge."""
    line = QFontMetricsF(theme.font("small", bold=True)).height() + 10
    return QRectF(box.left(), box.bottom() - line, box.width(), line)


# Numbered cells to click while a question asks for a lane, a thread, a sector or a bank.


HEAD = 1.4  # lines of text above the cells
TALLEST = 2.4  # lines of text that a cell is high


class PickPad(QWidget):
    """Lies over a part of a view, `where()` of it, while `target_to_show` is one of `targets`.

    A click on a cell answers; the cell of what is selected is framed, and P answers with that.
    """

    def __init__(
        self, session: Session, over: QWidget, targets: tuple[str, ...], where: Callable[[], QRectF]
    ) -> None:
        super().__init__(over)
        self.session, self._targets, self._where = session, targets, where
        self.setAccessibleName("Click what the question asks for")
        self.hide()

    @property
    def wanted(self) -> bool:
        return target_to_show(self.session) in self._targets and bool(self._numbers())

    def follow(self) -> None:
        if not self.wanted:
            self.hide()
            return
        self.setGeometry(self._where().toAlignedRect())
        target, chosen = target_to_show(self.session), self.session.selected_pick()
        given = self.session.lit.words("given") if self.session.lit is not None else ""
        said = f"{target} {chosen} is selected; P answers with it." if chosen is not None else ""
        self.setAccessibleDescription(f"{said.capitalize()} {given}".strip())
        self.show()
        self.raise_()
        self.update()

    def _numbers(self) -> range:
        return cells_to_pick(self.session).numbers

    def cells(self) -> dict[int, QRectF]:
        shape, metrics = cells_to_pick(self.session), QFontMetricsF(current_theme().font("small"))
        line = metrics.height()
        box = QRectF(self.rect()).adjusted(8, HEAD * line + 6, -8, -6)
        count = len(shape.numbers)
        if not count:  # the step has changed, and `follow` comes later
            return {}
        columns = min(shape.columns, count)
        digits = metrics.horizontalAdvance("000")
        while shape.columns % WARP == 0 and columns > 8 and box.width() < columns * digits:
            columns //= 2  # so that every number has room
        rows = -(-count // columns)
        wide = box.width() / columns
        high = min(box.height() / rows, TALLEST * line)
        found = {}
        for place, number in enumerate(shape.numbers):
            row, column = divmod(place, columns)
            corner = QPointF(box.left() + column * wide, box.top() + row * high)
            found[number] = QRectF(corner, QSizeF(wide, high))
        return found

    def mousePressEvent(self, event: QMouseEvent) -> None:
        number = self.number_at(event.position())
        if number is not None and self.session.pick_target is not None:
            self.session.pick(self.session.pick_target, number)

    def number_at(self, point: QPointF) -> int | None:
        return next((n for n, box in self.cells().items() if box.contains(point)), None)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), current_theme()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), theme.color("panel"))
        painter.setPen(pen(theme.color("accent"), 1))
        painter.setBrush(theme.tint("accent", 0.10))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)
        painter.setBrush(theme.color("panel"))
        small = theme.font("small")
        line = QFontMetricsF(small).height()
        head = QRectF(10, 4, self.width() - 20, HEAD * line)
        text(painter, head, cells_to_pick(self.session).words, theme.color("text"), small, LEFT)
        cells = self.cells()
        boxes = [inset(box, 1) for box in cells.values()]
        fill(painter, boxes, theme.color("panel"))
        frame(painter, boxes, pen(theme.color("border"), 1))
        last = str(max(cells, default=""))
        widest = QFontMetricsF(small).horizontalAdvance(last)
        every, ink = 1, theme.color("text")
        first = next(iter(cells.values()), QRectF())
        while cells and widest + 4 > every * first.width():
            every *= 2
        for number, box in cells.items():
            if number % every == 0:
                area = box.adjusted(-widest, 0, widest, 0)
                text(painter, area, str(number), ink, small, CENTRE, elide=False)
        chosen = self.session.selected_pick()
        mine = [inset(box, 0.5) for number, box in cells.items() if number == chosen]
        frame(painter, mine, pen(theme.color("selected"), 2))
        if self.session.lit is not None:
            places = [(number, [inset(box, 2)]) for number, box in cells.items()]
            draw_lit(painter, theme, places, self.session.lit)
