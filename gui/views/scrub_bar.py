"""The time axis of one block: phases as bands, accesses and barriers as marks, the step as a line.

Everything that does not move with the step is painted once into a picture and kept.
"""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFontMetrics,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPolygonF,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip

from gui.looks.theme import Theme, current_theme
from gui.scenes.phase_words import FILL
from gui.scenes.session import Session
from gui.scenes.timeline import MARKS, Timeline, timeline_of
from gui.views.base import SessionView
from gui.views.kept import Backdrop
from gui.views.painting import fill

EDGE = 8  # room for half of the handle at each end
FINE = 2.0  # pixels: narrower phases run into one
CROWDED = 0.1  # barriers a pixel
MARGIN = 6  # pixels between a barrier and a name
MOST_LINES = 120  # marks of the selected line that go up through the whole bar


Name = tuple[QRectF, tuple[str, ...], QColor]
"""A stretch of the axis, its name from the longest form to the shortest, and its colour."""


def _strength(phase: int) -> float:
    """How strongly a phase is tinted: neighbours differ."""
    return 0.22 if phase % 2 == 0 else 0.12


class ScrubBar(SessionView):
    """Click or drag anywhere to go to a step."""

    WATCHES = frozenset({"trace", "block", "step", "line", "breakpoints"})

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.timeline: Timeline | None = None
        self._ground = Backdrop()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setMouseTracking(True)
        self.setAccessibleName("Time axis")

    def sizeHint(self) -> QSize:
        """As high as a band with its name and a row of marks."""
        return QSize(400, self._band_height() + self._mark_height() + 6)

    def refresh(self, names: frozenset[str]) -> None:
        """Follow the record and the step."""
        if names & {"trace", "block"}:
            self.timeline = self._make_timeline()
        if names & {"trace", "block", "line", "breakpoints"}:
            self._ground.forget()
        self.update()

    def _make_timeline(self) -> Timeline | None:
        trace, block = self.session.trace, self.session.block_trace
        if trace is None or block is None:
            return None
        return timeline_of(trace, block)

    def restyle(self) -> None:
        """Paint anew in the theme's colours."""
        self._ground.forget()
        self.updateGeometry()
        self.update()

    def step_at(self, x: float) -> int:
        """The step at a position of this widget."""
        return self.timeline.step_at(x - EDGE, self._span()) if self.timeline else 0

    def x_of(self, step: int) -> float:
        """The position of a step's middle."""
        return EDGE + (self.timeline.position(step, self._span()) if self.timeline else 0.0)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Go to the step under the pointer."""
        if event.button() == Qt.MouseButton.LeftButton:
            self.session.update(playing=0, step=self.step_at(event.position().x()))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Follow a drag; otherwise say what lies under the pointer."""
        step = self.step_at(event.position().x())
        if event.buttons() & Qt.MouseButton.LeftButton:
            self.session.step = step
        elif self.session.block_trace is not None:
            line = int(self.session.block_trace.line[step])
            QToolTip.showText(event.globalPosition().toPoint(), f"step {step}, line {line}")

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the kept picture and the handle."""
        painter = QPainter(self)
        self._ground.draw(painter, self, self._paint_static)
        if self.timeline is not None and self.timeline.n_steps:
            self._paint_handle(painter, current_theme())

    def _span(self) -> float:
        return max(self.width() - 2 * EDGE, 1)

    def _band_height(self) -> int:
        return self.fontMetrics().height()

    def _mark_height(self) -> int:
        return max(12, self.fontMetrics().height() - 2)

    def _paint_static(self, painter: QPainter) -> None:
        """All but the handle."""
        theme = current_theme()
        painter.fillRect(self.rect(), theme.color("panel"))
        body = QRectF(EDGE, 0, self._span(), self.height() - 4)
        painter.fillRect(body, theme.color("raised"))
        if self.timeline is not None and self.timeline.n_steps:
            names = self._paint_bands(painter, theme)
            self._paint_marks(painter, theme)
            self._paint_line(painter, theme)
            self._paint_names(painter, names, theme)
            self._paint_faults(painter, theme)
            self._paint_breaks(painter, theme)

    def _paint_bands(self, painter: QPainter, theme: Theme) -> list[Name]:
        """The phases; returns what is to be written over them."""
        assert self.timeline is not None
        names: list[Name] = []
        painter.setFont(theme.font("small"))
        metrics = painter.fontMetrics()
        unit = self._span() / self.timeline.n_steps
        bands = self.timeline.bands
        if bands and (bands[-1].last - bands[0].first) * unit < FINE * len(bands):
            width = (bands[-1].last - bands[0].first + 1) * unit
            box = QRectF(EDGE + bands[0].first * unit, 0, width, self.height() - 4)
            painter.fillRect(box, theme.tint("barrier", 0.17))
            return names
        every = self._named(unit, painter.fontMetrics())
        for band in bands:
            left = EDGE + band.first * unit
            box = QRectF(left, 0, (band.last - band.first + 1) * unit, self.height() - 4)
            painter.fillRect(box, theme.tint("barrier", _strength(band.index)))
        for band in bands:
            if band.index % every == 0:
                last = bands[min(band.index + every, len(bands)) - 1].last
                left = EDGE + band.first * unit
                box = QRectF(left, 0, (last - band.first + 1) * unit, self.height() - 4)
                wide = metrics.horizontalAdvance(band.name) + 8 <= box.width() and every == 1
                words = (band.name, str(band.index)) if wide else (str(band.index),)
                names.append((box, words, theme.tint("barrier", _strength(band.index))))
        if self.timeline.ahead:
            box = QRectF(EDGE, 0, self.timeline.ahead * unit, self.height() - 4)
            names.append((box, (FILL,), theme.color("raised")))
        return names

    def _named(self, unit: float, metrics: QFontMetrics) -> int:
        """Every how many phases a number has room: 1, 2, 5, 10, 20 …"""
        assert self.timeline is not None
        bands = self.timeline.bands
        if not bands:
            return 1
        width = (bands[-1].last - bands[0].first + 1) * unit / len(bands)
        need = metrics.horizontalAdvance(str(len(bands) - 1)) + 6
        for power in range(8):
            for step in (10**power, 2 * 10**power, 5 * 10**power):
                if step * width >= need:
                    return step
        return len(bands)

    def _paint_names(self, painter: QPainter, names: list[Name], theme: Theme) -> None:
        """The phases' names, at the beginning of each or where no barrier crosses them."""
        assert self.timeline is not None
        painter.setFont(theme.font("small"))
        columns = self.timeline.columns(self.timeline.steps("barrier"), int(self._span()))
        lines = [EDGE + column for column in columns.tolist()]
        if len(lines) > CROWDED * self._span():
            lines = []
        for box, words, ground in names:
            crossing = [x for x in lines if box.left() <= x < box.right()]
            self._name_band(painter, (box, words, ground), crossing, theme)

    def _name_band(
        self, painter: QPainter, name: Name, crossing: list[float], theme: Theme
    ) -> None:
        """A name, or else its short form, between the lines that cross its stretch.

        Where it is wider than every gap it stands at the beginning, over them.
        """
        box, words, ground = name
        metrics = painter.fontMetrics()
        margin = 12 if box.width() > 90 else 5
        starts = [box.left() + margin, *(x + MARGIN for x in crossing)]
        ends = [*(x - 2 for x in crossing), box.right()]
        for text in words:
            wide = metrics.horizontalAdvance(text)
            room = zip(starts, ends, strict=True)
            left = next((start for start, end in room if start + wide <= end), None)
            if left is not None:
                break
        else:
            left = box.left() + margin
            if wide + 4 > box.width():
                return
        area = QRectF(left - 2, 0, wide + 4, self._band_height())
        painter.fillRect(area, ground)
        painter.setPen(theme.color("text_dim"))
        painter.drawText(area, int(Qt.AlignmentFlag.AlignCenter), text)

    def _paint_marks(self, painter: QPainter, theme: Theme) -> None:
        assert self.timeline is not None
        bottom = self.height() - 4
        top = self._band_height() + 1
        half = (bottom - top) // 2
        unit = self._span() / self.timeline.n_steps
        width = min(max(unit * 0.55, 1.0), 5.0)
        rows = {"load": (top, half), "store": (top + half, half), "barrier": (0, bottom)}
        for mark in ("barrier", *MARKS[:2]):
            color = QColor(theme.color(mark))
            y, height = rows[mark]
            columns = self.timeline.columns(self.timeline.steps(mark), int(self._span()))
            thin = 2.0 if mark == "barrier" else width
            if mark == "barrier" and len(columns) > CROWDED * self._span():
                color.setAlphaF(0.25)  # they must not hide the loads and stores
            left = (EDGE + columns + (0.5 - thin / 2)).tolist()
            fill(painter, [QRectF(x, y, thin, height) for x in left], color)

    def _paint_line(self, painter: QPainter, theme: Theme) -> None:
        """Marks at every step of the selected source line."""
        assert self.timeline is not None
        columns = self.timeline.columns(
            self.timeline.line_steps(self.session.line), int(self._span())
        )
        faint, strong = theme.color("accent", 0.35), theme.color("accent")
        left, high = (EDGE + columns).tolist(), self.height() - 4
        if len(left) <= MOST_LINES:
            fill(painter, [QRectF(x, 0, 1, high) for x in left], faint)
        fill(painter, [QRectF(x - 1, high, 3, 4) for x in left], strong)

    def _paint_faults(self, painter: QPainter, theme: Theme) -> None:
        """A triangle under every step at which the kernel does wrong."""
        assert self.timeline is not None
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.color("error"))
        bottom = self.height()
        for step in self.timeline.faults:
            x = self.x_of(int(step))
            corners = [QPointF(x - 6, bottom), QPointF(x + 6, bottom), QPointF(x, bottom - 10)]
            painter.drawPolygon(QPolygonF(corners))

    def _paint_breaks(self, painter: QPainter, theme: Theme) -> None:
        """A dot on top of every step at which a breakpoint stops."""
        assert self.timeline is not None
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(theme.color("panel"), 1))
        painter.setBrush(theme.color("error"))
        for column in self.timeline.columns(self.session.break_steps, int(self._span())):
            painter.drawEllipse(QPointF(EDGE + column + 0.5, 4.5), 4, 4)

    def _paint_handle(self, painter: QPainter, theme: Theme) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        x = self.x_of(self.session.step)
        color = theme.color("selected")
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color)
        painter.drawRect(QRectF(x - 1, 0, 2, self.height()))
        top = QPolygonF([QPointF(x - 6, 0), QPointF(x + 6, 0), QPointF(x, 8)])
        painter.drawPolygon(top)
