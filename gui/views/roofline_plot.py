"""A roofline, both axes logarithmic, with the ceilings of one launch and measured runs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import QPointF, Qt, Signal
from PySide6.QtGui import QFontMetrics, QResizeEvent

from gui.looks.theme import current_theme
from gui.scenes import roofline
from gui.scenes.ceilings_shown import Row, rate_text
from gui.scenes.roofline import Box, Label, Mark, Roofline
from gui.views.plots import Chart, HaloText, pg, symbol_size

_BEND = 10  # pixels between a name and its ceiling, whose heights may differ
_MARGIN = 4  # of a text, as Qt has it
_NEXT = 9  # pixels between a point and its name
NEAR = 12  # pixels within which a point is under the pointer


class RooflinePlot(Chart):
    """The plot. `hovered(sentence)` says what is under the pointer, "" for nothing.

    `run_chosen(run)` is emitted when a measured point is clicked, `ceiling_chosen(name)` when a
    ceiling is.
    """

    hovered = Signal(str)
    run_chosen = Signal(object)
    ceiling_chosen = Signal(str)
    _made = False  # pyqtgraph resizes the view while it makes it

    def __init__(self) -> None:
        super().__init__(LogAxis("left"), LogAxis("bottom"))
        self._frame: Roofline | None = None
        self.setAccessibleName("Roofline")
        self._rows: tuple[Row, ...] = ()
        self._marks: tuple[Mark, ...] = ()
        self._chains: tuple[tuple[Mark, ...], ...] = ()
        self._beside: list[Box] = []  # names of ceilings, among the points
        self._said = ""
        self.chosen = ""
        self.joins = True
        """Whether lines join the points of a series."""
        self.scene().sigMouseMoved.connect(self._on_move)
        self.scene().sigMouseClicked.connect(self._on_click)
        self._made = True

    def show_roofline(
        self,
        frame: Roofline,
        rows: Sequence[Row],
        marks: Sequence[Mark],
        chains: Sequence[Sequence[Mark]],
    ) -> None:
        self._frame, self._rows = frame, tuple(rows)
        self._marks, self._chains = tuple(marks), tuple(tuple(chain) for chain in chains)
        self.draw()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._made and self._frame is not None:
            self.draw()

    # ---- drawing

    def draw(self) -> None:
        self.dress("GFLOPS", "FLOP for each byte that loads of the source ask for")
        self.clear()
        if self._frame is None:
            return
        frame = self._frame
        self.setXRange(math.log10(frame.left), math.log10(frame.right), padding=0)
        self.setYRange(math.log10(frame.bottom), math.log10(frame.top), padding=0)
        self._draw_roof(frame)
        self._draw_ceilings(frame)
        self._draw_runs()

    def _draw_roof(self, frame: Roofline) -> None:
        theme = current_theme()
        left, right = math.log10(frame.left), math.log10(frame.right)
        ridge, peak = math.log10(frame.ridge), math.log10(frame.peak)
        bandwidth = math.log10(frame.bandwidth)
        pen = pg.mkPen(theme.color("text_dim"), width=2)
        self._line([(left, left + bandwidth), (ridge, peak), (right, peak)], pen, above=2)
        beyond = min(right, math.log10(frame.top / frame.bandwidth))
        dashed = pg.mkPen(theme.color("text_faint"), width=1, style=Qt.PenStyle.DotLine)
        self._line([(ridge, peak), (beyond, beyond + bandwidth)], dashed)
        self._text(right, peak, f"FP32 peak {rate_text(frame.peak)}", "text_dim", (1, 1))
        room = self.box.rect()
        if room.width() > 1 and room.height() > 1:
            steep = (room.height() / (math.log10(frame.top / frame.bottom))) / (
                room.width() / (right - left)
            )
            angle, said = math.atan(steep), f"DRAM {rate_text(frame.bandwidth)} GB/s"
            wide = QFontMetrics(theme.font("small")).horizontalAdvance(said) + 2 * _MARGIN
            at = ridge - 0.05 - self._decades_wide(wide * math.cos(angle))
            if frame.x is not None and at < math.log10(frame.x) + 0.1 < ridge:
                at = math.log10(frame.x) + 0.1  # past the ends of the ceilings
            self._text(at, at + bandwidth, said, "text_dim", (0, 1), angle=math.degrees(angle))

    def _draw_ceilings(self, frame: Roofline) -> None:
        self._beside = []
        if frame.x is None:
            return
        theme = current_theme()
        half = self._decades_high(QFontMetrics(theme.font("small")).height()) / 2
        left, x = math.log10(frame.left), math.log10(frame.x)
        shown = [r for r in self._rows if r.name != "fp32" and r.gflops <= frame.top]
        faint = pg.mkPen(theme.color("text_faint"), width=1, style=Qt.PenStyle.DashLine)
        lowest = min((math.log10(r.gflops) for r in shown), default=math.log10(frame.bottom))
        top = max((math.log10(r.gflops) for r in shown), default=lowest)
        self._line([(x, math.log10(frame.bottom)), (x, top)], faint)
        sides = [self._at_left(frame, row) for row in shown]
        places = self._places(shown, sides)
        named = (
            self._width(row) for row, named_left in zip(shown, sides, strict=True) if named_left
        )
        names_end = left + self._decades_wide(max(named, default=0))  # no line runs through one
        bend = self._decades_wide(_BEND)
        for row, place, named_left in zip(shown, places, sides, strict=True):
            y = math.log10(row.gflops)
            strong = row.state == "binding"
            color = "conflict" if strong else "load" if row.name == self.chosen else "text_dim"
            width = 2.5 if strong or row.name == self.chosen else 1
            line = theme.color("text_faint", 0.9) if color == "text_dim" else theme.color(color)
            wide, thick = self._decades_wide(self._width(row)), self._decades_high(3)
            ends = [(left, y)]
            if named_left:
                ends = [(left + wide, place), (names_end, place), (names_end + bend, y)]
            pen = pg.mkPen(line, width=width)
            self._line([*ends, (x, y)], pen, above=3)
            self._line([(x - 0.05, y), (x + 0.05, y)], pg.mkPen(line, width=width + 1.5), above=4)
            if not named_left:
                self._line([(x + 0.05, y), (x + 0.05 + bend, place)], pen, above=3)
            at = left if named_left else x + 0.05 + bend
            self._beside.append((at, place - half, at + wide, place + half))
            self._beside.append((ends[-1][0], y - thick, x + 0.05, y + thick))
            self._text(at, place, self._name(row), color, (0, 0.5), bold=strong)

    @staticmethod
    def _name(row: Row) -> str:
        return f"{row.title}  {rate_text(row.gflops)}"

    def _width(self, row: Row) -> float:
        font = current_theme().font("small", bold=row.state == "binding")
        return QFontMetrics(font).horizontalAdvance(self._name(row)) + 2 * _MARGIN

    def _at_left(self, frame: Roofline, row: Row) -> bool:
        metrics = QFontMetrics(current_theme().font("small"))
        size = self._decades_wide(self._width(row)), self._decades_high(metrics.height())
        taken = [self._around(mark) for mark in self._marks]
        for label in self._labels():
            wide = self._decades_wide(metrics.horizontalAdvance(label.text) + 2 * _NEXT)
            low = label.y - self._decades_high(metrics.height() + 2 * _MARGIN)
            taken.append((label.x, low, label.x + wide, label.y))
        gap = 0.05 + self._decades_wide(_BEND)
        return roofline.at_left(frame, math.log10(row.gflops), size, gap, taken)

    def _around(self, mark: Mark) -> Box:
        x, y = _place(mark)
        wide, high = self._decades_wide(6), self._decades_high(6)
        return x - wide, y - high, x + wide, y + high

    def _places(self, shown: Sequence[Row], sides: Sequence[bool]) -> list[float]:
        """How high the names stand, those of either side apart."""
        gap = self._decades_high(QFontMetrics(current_theme().font("small")).height() + 5)
        found = [0.0] * len(shown)
        for side in (True, False):
            own = [place for place, named_left in enumerate(sides) if named_left == side]
            heights = roofline.spread([math.log10(shown[place].gflops) for place in own], gap)
            for place, height in zip(own, heights, strict=True):
                found[place] = height
        return found

    def _labels(self) -> tuple[Label, ...]:
        joined = [mark for chain in self._chains for mark in chain]
        if len(joined) <= 2 * roofline.NEIGHBOURS:
            return roofline.labels(joined, (0.0, 0.0))
        return roofline.labels(joined, (self._decades_wide(70), self._decades_high(26)))

    def _draw_runs(self) -> None:
        theme = current_theme()
        joined = [mark for chain in self._chains for mark in chain]
        for place, chain in enumerate(self._chains if self.joins else ()):
            style = Qt.PenStyle.SolidLine if place == 0 else Qt.PenStyle.DotLine
            line = pg.mkPen(theme.color("load", 0.6), width=1.5, style=style)
            if len(chain) > 1:
                self._line([_place(mark) for mark in chain], line, above=5)
        for mark in self._marks:
            # Full is the launch whose ceilings are drawn; hollow ones have ceilings of their own.
            ink = theme.color("store" if mark.chosen else "load")
            item = pg.ScatterPlotItem(
                pos=[_place(mark)],
                size=symbol_size(14 if mark.chosen else 10 if mark in joined else 6),
                symbol="t" if mark.run.fell else "o",
                pen=pg.mkPen(theme.color("panel") if mark.chosen else ink, width=1.8),
                brush=pg.mkBrush(ink if mark.chosen else theme.color("panel")),
            )
            item.setZValue(12 if mark.chosen else 8)
            self.addItem(item)
        metrics = QFontMetrics(theme.font("small"))
        frame = self._frame
        left, right = (math.log10(frame.left), math.log10(frame.right)) if frame else (0.0, 0.0)
        roof = roofline.roof_boxes(self._frame) if self._frame is not None else []
        taken = [*self._beside, *(self._around(mark) for mark in self._marks), *roof]
        for label in sorted(self._labels(), key=lambda label: (not label.chosen, -label.y)):
            font = QFontMetrics(theme.font("small", bold=label.chosen))
            wide = self._decades_wide(font.horizontalAdvance(label.text) + 2 * _MARGIN)
            high = self._decades_high(metrics.height())
            gap = self._decades_wide(_NEXT), self._decades_high(2)
            box = roofline.beside((label.x, label.y), (wide, high), gap, right, taken, left)
            taken.append(box)
            away = max(label.y - box[3], box[1] - label.y)
            if away > gap[1] + high / 2:  # a line leads from its point there
                end = min(max(label.x, box[0]), box[2]), min(max(label.y, box[1]), box[3])
                thin = pg.mkPen(theme.color("text_faint"), width=1)
                self._line([(label.x, label.y), end], thin, above=4)
            self._text(box[0], box[3], label.text, "text", (0, 0), bold=label.chosen)

    def _line(
        self, points: Sequence[tuple[float, float]], pen: object, *, above: float = 0
    ) -> None:
        item = pg.PlotCurveItem([x for x, _ in points], [y for _, y in points], pen=pen)
        item.setZValue(above)
        self.addItem(item)

    def _text(
        self,
        x: float,
        y: float,
        text: str,
        color: str,
        anchor: tuple[float, float],
        *,
        angle: float = 0,
        bold: bool = False,
    ) -> None:
        theme = current_theme()
        font = theme.font("small", bold=bold)
        item = HaloText(text, theme.color(color), theme.color("panel"), font, anchor, angle)
        item.setPos(x, y)
        item.setZValue(20)
        self.addItem(item)

    def _decades_wide(self, pixels: float) -> float:
        frame, width = self._frame, self.box.rect().width()
        if frame is None or width < 1:
            return 0.1
        return pixels * math.log10(frame.right / frame.left) / width

    def _decades_high(self, pixels: float) -> float:
        frame, height = self._frame, self.box.rect().height()
        if frame is None or height < 1:
            return 0.1
        return pixels * math.log10(frame.top / frame.bottom) / height

    # ---- the pointer

    def mark_at(self, scene: QPointF) -> Mark | None:

        def distance(mark: Mark) -> float:
            away = self.box.mapViewToScene(QPointF(*_place(mark))) - scene
            return math.hypot(away.x(), away.y())

        nearest = min(self._marks, key=distance, default=None)
        return nearest if nearest is not None and distance(nearest) < NEAR else None

    def row_at(self, scene: QPointF) -> Row | None:
        frame = self._frame
        if frame is None or frame.x is None:
            return None
        view = self.box.mapSceneToView(scene)
        if not math.log10(frame.left) <= view.x() <= math.log10(frame.x) + 0.1:
            return None
        near = self._decades_high(6)
        shown = [r for r in self._rows if abs(math.log10(r.gflops) - view.y()) < near]
        return min(shown, key=lambda r: abs(math.log10(r.gflops) - view.y()), default=None)

    def _on_move(self, scene: QPointF) -> None:
        said = ""
        if (mark := self.mark_at(scene)) is not None:
            said = f"{mark.run.sentence} Click to see the ceilings of this launch."
        elif (row := self.row_at(scene)) is not None:
            said = f"{row.title}: {row.formula}"
        self.setCursor(Qt.CursorShape.PointingHandCursor if said else Qt.CursorShape.ArrowCursor)
        if said != self._said:
            self._said = said
            self.hovered.emit(said)

    def _on_click(self, event: object) -> None:
        scene = event.scenePos()  # type: ignore[attr-defined]
        if (mark := self.mark_at(scene)) is not None:
            self.run_chosen.emit(mark.run)
        elif (row := self.row_at(scene)) is not None:
            self.ceiling_chosen.emit(row.name)


def _place(mark: Mark) -> tuple[float, float]:
    return math.log10(mark.x), math.log10(mark.run.gflops)


_SMALL = tuple(math.log10(digit) for digit in range(2, 10))


class LogAxis(pg.AxisItem):
    """Ticks at powers of ten, written as numbers: 0.1, 1, 10 000."""

    def tickValues(self, *ends: float) -> list[tuple[float, list[float]]]:
        low, high = ends[:2]
        decades = range(math.floor(low), math.ceil(high) + 1)
        inside = [float(d) for d in decades if low <= d <= high]
        small = [d + s for d in decades for s in _SMALL if low <= d + s <= high]
        return [(1.0, inside), (0.1, small)]

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        if spacing < 1:
            return ["" for _ in values]
        return [_power(round(value)) for value in values]


def _power(exponent: int) -> str:
    if exponent >= 6:
        return f"{10.0 ** (exponent - 6):g} M"
    return f"{10.0**exponent:,g}".replace(",", "\u202f")
