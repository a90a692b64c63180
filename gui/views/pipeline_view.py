"""The pipeline view: stages of shared memory and the warps that fill and read them, over time."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QMouseEvent, QPainter, QPaintEvent, QWheelEvent

from core.launch import WARP
from gui.background import Worker, sentence_of
from gui.looks.theme import Theme, current_theme
from gui.scenes.numbers_and_sentences import grouped, spaced
from gui.scenes.pipeline_words import (
    Words,
    actor_name,
    in_stage,
    is_early,
    of_actor,
    pipeline_caption,
    pipeline_job,
    sentence,
    stage_name,
)
from gui.scenes.session import Session
from gui.views.drawing_tools import (
    AWAY,
    CENTRE,
    LEFT,
    RIGHT,
    Key,
    draw_legend_row,
    fill,
    frame,
    hatch,
    inset,
    nothing,
    pen,
    text,
    text_on,
    that_fits,
)
from gui.views.question_in_views import draw_veil
from gui.views.session_view import CaptionedView

if TYPE_CHECKING:
    from core.trace import BlockTrace
    from core.trace.pipeline import Filling, Moment, Pipeline

EDGE, GAP = 8.0, 10.0  # pixels around the picture, and between stages and warps
HINTS = (
    "Point at a column for its sentence, click to go to its step, turn the wheel to move.",
    "Point: its sentence. Click: its step. Wheel: moves.",
    "Click: its step. Wheel: moves.",
)
BEHIND = 0.6  # of the columns that are shown lie before the step
FULL = 0.40  # strength of the colour of a stage that is full


@dataclass(frozen=True)
class PipelineLayout:
    """Where things lie: `first` is the moment of the leftmost column, of `shown` columns."""

    head: QRectF
    names: QRectF
    cells: QRectF
    legend: QRectF
    readout: QRectF
    rows: tuple[QRectF, ...]
    """Of the stages, then of the warps; as wide as the view."""
    wide: float
    first: int
    shown: int

    def left(self, place: int) -> float:
        return self.cells.left() + (place - self.first) * self.wide

    def cell(self, row: int, place: int, end: int | None = None) -> QRectF:
        """A moment in a row, or all from it to before `end`."""
        right = self.left(place + 1 if end is None else end)
        left = max(self.left(place), self.cells.left())
        box = self.rows[row]
        return QRectF(left, box.top(), min(right, self.cells.right()) - left, box.height())

    def column(self, place: int) -> QRectF:
        high = self.cells.bottom() - self.head.top()
        return QRectF(self.left(place), self.head.top(), self.wide, high)

    def place_at(self, point: QPointF) -> int:
        """The moment in whose column a point lies, -1 beside them."""
        whole = self.cells.united(self.head)
        if not whole.contains(point) or point.x() < self.cells.left():
            return -1
        place = self.first + int((point.x() - self.cells.left()) / self.wide)
        return place if place < self.first + self.shown else -1


def _column_width(theme: Theme) -> float:
    """Wide enough for the longest usual word."""
    return QFontMetricsF(theme.font("small")).horizontalAdvance("wait ph 10") + 8


def pipeline_layout(
    made: Pipeline, size: QSize, theme: Theme, middle: int, offset: int
) -> PipelineLayout:
    """The layout for a size; `middle` is to be seen, unless the reader has moved by `offset`."""
    metrics = QFontMetricsF(theme.font("small"))
    bold = QFontMetricsF(theme.font("small", bold=True))
    line = metrics.height()
    heads = _row_names(made)
    gutter = (
        max(max(bold.horizontalAdvance(a), metrics.horizontalAdvance(b)) for a, b in heads) + 10
    )
    left, top = EDGE, 2.0
    width, bottom = size.width() - 2 * EDGE, size.height() - 4.0
    readout = QRectF(left, bottom - line, width, line)
    legend = QRectF(left, readout.top() - line - 4, width, line)
    head = QRectF(left + gutter, top, width - gutter, line)
    count = len(heads)
    room = legend.top() - 6 - head.bottom() - GAP - 2
    high = min(max(room / max(count, 1), line + 2), 3.2 * line)
    rows, at = [], head.bottom() + 2
    for number in range(count):
        at += GAP if number == len(made.stages) else 0
        rows.append(QRectF(left, at, width, high - 2))
        at += high
    wide = _column_width(theme)
    shown = max(1, int((width - gutter) // wide))
    wide = (width - gutter) / shown if len(made.moments) > shown else wide
    last = max(0, len(made.moments) - shown)
    first = min(max(0, middle - int(BEHIND * shown) + offset), last)
    cells = QRectF(left + gutter, head.bottom() + 2, shown * wide, at - head.bottom())
    return PipelineLayout(
        head,
        QRectF(left, head.bottom() + 2, gutter, at - head.bottom()),
        cells,
        legend,
        readout,
        tuple(rows),
        wide,
        first,
        min(shown, len(made.moments)),
    )


def _row_names(made: Pipeline) -> list[Words]:
    stages = [stage_name(i, stage) for i, stage in enumerate(made.stages)]
    return stages + [actor_name(actor) for actor in made.actors]


class PipelinePainter:
    """Draws one pipeline around a moment."""

    def __init__(
        self,
        painter: QPainter,
        theme: Theme,
        made: Pipeline,
        lay: PipelineLayout,
        now: int,
        judged: bool,
    ) -> None:
        self.p, self.theme, self.made, self.lay, self.now = painter, theme, made, lay, now
        self.judged = judged
        self.small, self.bold = theme.font("small"), theme.font("small", bold=True)
        self.line = QFontMetricsF(self.small).height()
        self.places = range(lay.first, lay.first + lay.shown)

    def draw(self) -> None:
        if self.now in self.places:
            fill(self.p, [self.lay.column(self.now)], self.theme.color("current_line"))
        self._draw_heads()
        for filling in self.made.fillings:
            self._draw_filling(filling)
        self._draw_waits()
        for place in self.places:
            self._draw_moment(place, self.made.moments[place])
        self._draw_steps()
        self._draw_more()
        draw_legend_row(self.p, self.lay.legend, self.theme, self._keys())

    def _keys(self) -> Sequence[Key]:
        t = self.theme
        kinds = {m.kind for m in self.made.moments}
        under_way = any(f.ready != f.begin for f in self.made.fillings)
        begun = "fill begins" if under_way else "filled"
        keys = [Key(begun, (t.color("store"),), short="fill"), Key("read", (t.color("load"),))]
        if self.judged and any(is_early(self.made, p) for p in self.places):
            keys.append(Key("read too early", (t.color("conflict"),), short="too early"))
        if under_way:
            keys.append(Key("on its way", (hatch(t.color("store")),)))
            keys.append(Key("there", (t.color("used"),)))
        keys.append(Key("holds a fill", (t.tint("used", FULL),), short="full"))
        if "block" in kinds:
            keys.append(Key("waits", (hatch(t.color("barrier")),)))
        return keys

    def _draw_heads(self) -> None:
        ink, dim = self.theme.color("text"), self.theme.color("text_dim")
        for row, words in zip(self.lay.rows, _row_names(self.made), strict=True):
            box = QRectF(row.left(), row.top(), self.lay.names.width() - 6, row.height())
            self._two_lines(box, words, ink, LEFT, dim)
            line = QRectF(self.lay.cells.left(), row.bottom() + 0.5, self.lay.cells.width(), 1)
            fill(self.p, [line], self.theme.color("grid"))

    def _two_lines(
        self,
        box: QRectF,
        words: Words,
        ink: QColor,
        align: Qt.AlignmentFlag = CENTRE,
        dim: QColor | None = None,
    ) -> None:
        """A word above another, or only the first where there is no room for two."""
        one, two = words
        if not two or box.height() < 1.9 * self.line:
            text(self.p, box, one, ink, self.bold if dim else self.small, align)
            return
        top = box.center().y() - self.line
        upper = QRectF(box.left(), top, box.width(), self.line)
        text(self.p, upper, one, ink, self.bold if dim else self.small, align)
        text(self.p, upper.translated(0, self.line), two, dim or ink, self.small, align)

    def _draw_filling(self, filling: Filling) -> None:
        """What a stage holds, from when it is begun until it is overwritten."""
        end = len(self.made.moments) if filling.end < 0 else filling.end
        if end <= self.places.start or filling.begin >= self.places.stop:
            return
        ready = end if filling.ready < 0 else min(filling.ready, end)
        away, held = hatch(self.theme.tint("store", AWAY)), self.theme.tint("used", FULL)
        for first, last, brush in ((filling.begin, ready, away), (ready, end, held)):
            box = self.lay.cell(filling.stage, first, last)
            if last > first and box.width() > 0:
                fill(self.p, [inset(box, 0.5)], brush)

    def _draw_waits(self) -> None:
        """Warps held up at an mbarrier, from when they come there until they go on."""
        moments, stages = self.made.moments, len(self.made.stages)
        for number, actor in enumerate(self.made.actors):
            since = -1
            for place, moment in enumerate(moments):
                mine = bool(set(moment.warps) & set(actor.warps)) and moment.origin < 0
                if mine and moment.kind == "block":
                    since = place
                elif since >= 0 and ((mine and moment.kind == "pass") or place + 1 == len(moments)):
                    end = place if moment.kind == "pass" else len(moments)
                    if since < self.places.stop and end > self.places.start:
                        box = self.lay.cell(stages + number, since, end)
                        fill(self.p, [inset(box, 0.5)], hatch(self.theme.tint("barrier", AWAY)))
                    since = -1

    def _draw_moment(self, place: int, moment: Moment) -> None:
        theme, stages = self.theme, len(self.made.stages)
        early = self.judged and is_early(self.made, place)
        names = {"fill": "store", "read": "conflict" if early else "load", "land": "used"}
        strong = theme.color(names.get(moment.kind, "barrier"))
        there = theme.color("used") if moment.kind == "await" else strong
        for stage in moment.stages:
            self._cell(self.lay.cell(stage, place), in_stage(moment), there, solid=True)
        if moment.origin >= 0:
            return
        for number, actor in enumerate(self.made.actors):
            if not set(moment.warps) & set(actor.warps):
                continue
            waited = moment.kind == "pass" and self._waited(place, actor.warps)
            box = self.lay.cell(stages + number, place)
            solid = moment.kind in ("fill", "read")
            self._cell(box, of_actor(moment, waited=waited), strong, solid=solid)

    def _waited(self, place: int, warps: tuple[int, ...]) -> bool:
        """Whether warps that pass a barrier were held up there."""
        for moment in reversed(self.made.moments[:place]):
            if set(moment.warps) & set(warps) and moment.origin < 0:
                return moment.kind == "block"
        return False

    def _cell(self, box: QRectF, words: Words, strong: QColor, *, solid: bool) -> None:
        body = inset(box, 1)
        if solid:
            fill(self.p, [body], strong)
            self._two_lines(body, words, text_on(strong))
            return
        fill(self.p, [body], self.theme.color("panel"))
        frame(self.p, [inset(body, 0.5)], pen(strong, 1.2))
        self._two_lines(body, words, self.theme.color("text"))

    def _draw_steps(self) -> None:
        """The step of each column, where it differs from the one before."""
        lay, theme = self.lay, self.theme
        for place in self.places:
            step = self.made.moments[place].step
            if place > lay.first and self.made.moments[place - 1].step == step:
                continue
            box = QRectF(lay.left(place), lay.head.top(), lay.wide, lay.head.height())
            here = place == self.now
            ink = theme.color("text" if here else "text_dim")
            text(self.p, box, grouped(step), ink, self.bold if here else self.small, elide=False)
        if self.now in self.places:
            frame(self.p, [inset(lay.column(self.now), 0.5)], pen(theme.color("accent"), 1.6))

    def _draw_more(self) -> None:
        lay, faint = self.lay, self.theme.color("text_faint")
        if lay.first > 0:
            box = QRectF(lay.names.left(), lay.head.top(), lay.names.width() - 4, lay.head.height())
            text(self.p, box, f"◂ {lay.first} before", faint, self.small, LEFT)
        after = len(self.made.moments) - lay.first - lay.shown
        if after > 0:
            box = lay.readout.adjusted(0, 0, -6, 0)
            text(self.p, box, f"{after} more ▸", faint, self.small, RIGHT, elide=False)


class PipelineView(CaptionedView):
    """Stages as rows and what happens to them as columns; a click goes to a column's step."""

    WATCHES = frozenset({"trace", "block", "step"})
    READ = True

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.worker = Worker(self, "pipeline", self._show, self._say)
        self.made: Pipeline | None = None
        self.reason = ""
        self._wanted: weakref.ref[BlockTrace] | None = None
        """The block that is shown or being read; a hidden view must not keep its record."""
        self._chosen = -1
        """The moment that was clicked, of several at one step."""
        self._offset, self._turned = 0, 0
        self._hovered = -1
        self.setMouseTracking(True)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setAccessibleName("Pipeline of shared memory")

    def sizeHint(self) -> QSize:
        return QSize(560, 260)

    def minimumSizeHint(self) -> QSize:
        return QSize(300, 120)

    @property
    def now(self) -> int:
        """The place of the moment that is lit, -1 for none."""
        if self.made is None:
            return -1
        step = self.session.step
        chosen, moments = self._chosen, self.made.moments
        if 0 <= chosen < len(moments) and moments[chosen].step == step:
            return chosen
        return self.made.at(step)

    def refresh(self, names: frozenset[str]) -> None:
        wanted = self._wanted() if self._wanted is not None else None
        if self.session.block_trace is not wanted or wanted is None:
            self._ask()
        if "step" in names:
            self._offset = 0
        self._tell()
        self.update()

    def layout_now(self) -> PipelineLayout | None:
        if self.made is None or self.session.hides("pipeline"):
            return None
        return pipeline_layout(
            self.made, self.size(), current_theme(), max(self.now, 0), self._offset
        )

    def _ask(self) -> None:
        block, trace = self.session.block_trace, self.session.trace
        self._wanted = weakref.ref(block) if block is not None else None
        self.made, self._chosen, self._hovered = None, -1, -1
        if block is None or trace is None:
            self.reason = "Nothing has been recorded yet."
            self.worker.cancel()
            return
        self.reason = "The record is being read …"
        self.worker.submit(pipeline_job, trace, block)

    def _show(self, made: Pipeline | str) -> None:
        self.made, self.reason = (None, spaced(made)) if isinstance(made, str) else (made, "")
        self._tell()
        self.update()

    def _say(self, error: object) -> None:
        otherwise = "The pipeline could not be read from the record"
        self.made, self.reason = None, sentence_of(error, otherwise)
        self.update()

    @property
    def _judged(self) -> bool:
        return not self.session.hides("findings")

    def _tell(self) -> None:
        words = ""
        if self.made is not None:
            words = pipeline_caption(self.made, self.now, judged=self._judged)
        self.say(words, self.reason, part="pipeline")

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = current_theme()
        painter = QPainter(self)
        painter.fillRect(self.rect(), theme.color("panel"))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        lay = self.layout_now()
        if self.session.hides("pipeline"):
            draw_veil(painter, QRectF(self.rect()), theme)
        elif self.made is None or lay is None:
            nothing(painter, QRectF(self.rect()).adjusted(16, 8, -16, -8), self.reason, theme)
        else:
            PipelinePainter(painter, theme, self.made, lay, self.now, self._judged).draw()
            self._draw_readout(painter, theme, self.made, lay)
        painter.end()

    def _draw_readout(self, p: QPainter, theme: Theme, made: Pipeline, lay: PipelineLayout) -> None:
        room = lay.readout.adjusted(0, 0, -_column_width(theme) - 20, 0)
        words = that_fits(HINTS, theme.font("small"), room.width())
        ink = theme.color("text_faint")
        if 0 <= self._hovered < len(made.moments):
            moment = made.moments[self._hovered]
            words = (
                f"Step {grouped(moment.step)}: {sentence(made, self._hovered, judged=self._judged)}"
            )
            ink = theme.color("text")
            frame(p, [inset(lay.column(self._hovered), 0.5)], pen(theme.color("hover"), 1.6))
        text(p, room, words, ink, theme.font("small"), LEFT)

    def restyle(self) -> None:
        self.updateGeometry()
        super().restyle()

    # ---- pointing

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        lay = self.layout_now()
        found = -1 if lay is None else lay.place_at(event.position())
        if found != self._hovered:
            self._hovered = found
            self.update()

    def leaveEvent(self, event: QEvent) -> None:
        self._hovered = -1
        self.update()
        super().leaveEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        lay = self.layout_now()
        place = -1 if lay is None else lay.place_at(event.position())
        if self.made is None or place < 0 or event.button() != Qt.MouseButton.LeftButton:
            return
        self._chosen = place
        moment = self.made.moments[place]
        chosen: dict[str, object] = {"step": moment.step}
        if moment.warps and moment.origin < 0 and self.session.warp not in moment.warps:
            chosen["thread"] = moment.warps[0] * WARP
        first = lay.first  # type: ignore[union-attr]
        self.session.update(**chosen)
        self._keep(first)
        self._tell()
        self.update()

    def _keep(self, first: int) -> None:
        """The column that was clicked stays under the pointer."""
        lay = self.layout_now()
        if lay is not None:
            self._offset += first - lay.first

    def wheelEvent(self, event: QWheelEvent) -> None:
        lay = self.layout_now()
        if lay is None:
            return
        delta = event.angleDelta()
        self._turned -= delta.x() or delta.y()
        columns, self._turned = int(self._turned / 40), self._turned - int(self._turned / 40) * 40
        last = len(self.made.moments) - lay.shown if self.made is not None else 0
        target = min(max(lay.first + columns, 0), max(last, 0))
        self._keep(target)
        event.accept()
        self.update()
