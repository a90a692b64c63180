"""Numbered cells to click while a question asks for a lane, a thread, a sector or a bank.

The picture that would show them is veiled then: the learner makes the access in its place.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QPointF, QRectF, QSizeF
from PySide6.QtGui import QFontMetricsF, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from gui.looks.theme import current_theme
from gui.scenes.asking import cells_to_pick, target_to_show
from gui.scenes.session import Session
from gui.scenes.warp import LANES
from gui.views.drawing_tools import CENTRE, LEFT, fill, frame, inset, pen, text
from gui.views.lit import draw_lit

HEAD = 1.4  # lines of text above the cells
TALLEST = 2.4  # lines of text that a cell is high
LEAST = 8.0  # pixels of a cell's number


class PickPad(QWidget):
    """Lies over a part of a view, `where()` of it, while `target_to_show` is one of `targets`.

    A click on a cell answers; the cell of what is selected is framed, and P answers with that.
    """

    def __init__(
        self,
        session: Session,
        over: QWidget,
        targets: tuple[str, ...],
        where: Callable[[], QRectF],
    ) -> None:
        super().__init__(over)
        self.session, self._targets, self._where = session, targets, where
        self.setAccessibleName("Click what the question asks for")
        self.hide()

    @property
    def wanted(self) -> bool:
        """Whether the question asks for something that this shows."""
        return target_to_show(self.session) in self._targets and bool(self._numbers())

    def follow(self) -> None:
        """Show the cells, or nothing."""
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
        """The cells by their numbers, in rows, as large as they have room."""
        shape, metrics = cells_to_pick(self.session), QFontMetricsF(current_theme().font("small"))
        line = metrics.height()
        box = QRectF(self.rect()).adjusted(8, HEAD * line + 6, -8, -6)
        count = len(shape.numbers)
        if not count:  # the step has changed, and `follow` comes later
            return {}
        columns = min(shape.columns, count)
        if columns == LANES and box.width() < columns * metrics.horizontalAdvance("000"):
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
        """Answer with the cell under the pointer."""
        number = self.number_at(event.position())
        if number is not None and self.session.pick_target is not None:
            self.session.pick(self.session.pick_target, number)

    def number_at(self, point: QPointF) -> int | None:
        """The cell under a pixel."""
        return next((n for n, box in self.cells().items() if box.contains(point)), None)

    def paintEvent(self, event: QPaintEvent) -> None:
        """The cells with their numbers, what is chosen of them, and what they are."""
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
