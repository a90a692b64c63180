"""The clock's controls: step, play in both directions, units, speed, and the scrub bar."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, QSignalBlocker, QSize, Qt, QTimer
from PySide6.QtGui import (
    QColor,
    QFontMetrics,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPolygonF,
    QResizeEvent,
)
from PySide6.QtWidgets import QSizePolicy, QSlider, QSpacerItem, QToolButton, QToolTip

from gui.looks.icons import set_icon
from gui.looks.labels_and_layouts import GAP, MARGIN, named, side_by_side, stacked, styled_label
from gui.looks.theme import Theme, current_theme
from gui.scenes.names_of_elements_and_threads import FILL, longest_name
from gui.scenes.numbers_and_sentences import grouped
from gui.scenes.question_in_views import ANSWER_FIRST, veil_words
from gui.scenes.session import Session
from gui.scenes.setting_choices import MAX_SPEED, MIN_SPEED, UNITS
from gui.scenes.transport_bar import (
    MARKS,
    Timeline,
    event_caption,
    phase_label,
    step_label,
    step_words,
    timeline_of,
)
from gui.views.buttons_and_choices import Segmented
from gui.views.captions_and_panels import Caption
from gui.views.drawing_tools import Pixmaps, fill
from gui.views.question_in_views import draw_veil
from gui.views.session_view import CaptionedView, SessionView

# The time axis of one block: phases as bands, accesses and barriers as marks, the step as a line.
#
# Everything that does not move with the step is painted once into a picture and kept.


EDGE = 8  # room for half of the handle at each end
FINE = 2.0  # pixels: narrower phases run into one
CROWDED = 0.1  # barriers a pixel
BESIDE_BARRIER = 6  # pixels between a barrier and a name
HANDLE = 7  # pixels: half the handle's width, and one of air
MOST_LINES = 120  # marks of the selected line that go up through the whole bar


Name = tuple[QRectF, tuple[str, ...], QColor]
"""A stretch of the axis, its name from the longest form to the shortest, and its colour."""


class ScrubBar(SessionView):
    """Click or drag anywhere to go to a step."""

    WATCHES = frozenset({"trace", "block", "step", "line", "breakpoints"})

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.timeline: Timeline | None = None
        self.left = EDGE
        self._kept = Pixmaps()
        self._named_bands: list[tuple[QRectF, str, QColor]] = []  # as painted on the ground
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName("Time axis")

    def leave_room(self, room: int) -> None:
        """Begin the axis so many pixels further right, behind a name."""
        self.left = EDGE + room
        self._kept.forget()
        self.update()

    def sizeHint(self) -> QSize:
        line = self._band_height()
        return QSize(400, line + max(12, line - 2) + 6)

    def refresh(self, names: frozenset[str]) -> None:
        if names & {"trace", "block"}:
            trace, block = self.session.trace, self.session.block_trace
            self.timeline = None if trace is None or block is None else timeline_of(trace, block)
        if names & {"trace", "block", "line", "breakpoints", "veiled", "answered"}:
            self._kept.forget()
        self.update()

    def restyle(self) -> None:
        self._kept.forget()
        self.updateGeometry()
        self.update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._kept.forget()

    def step_at(self, x: float) -> int:
        return self.timeline.step_at(x - self.left, self._span()) if self.timeline else 0

    def x_of(self, step: int) -> float:
        return self.left + (self.timeline.position(step, self._span()) if self.timeline else 0.0)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.session.update(playing=0, step=self.step_at(event.position().x()))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        step = self.step_at(event.position().x())
        if event.buttons() & Qt.MouseButton.LeftButton:
            self.session.step = step
        elif self.session.hides("transport"):
            QToolTip.showText(event.globalPosition().toPoint(), ANSWER_FIRST)
        elif self.session.block_trace is not None:
            words = step_words(self.session.block_trace, step)
            QToolTip.showText(event.globalPosition().toPoint(), words)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        self._kept.draw(painter, "ground", QRectF(self.rect()), (), self._paint_static)
        if self.timeline is not None and self.timeline.n_steps:
            self._clear_of_handle(painter, current_theme())
            self._paint_handle(painter, current_theme())

    def _span(self) -> float:
        return max(self.width() - self.left - EDGE, 1)

    def _band_height(self) -> int:
        return self.fontMetrics().height()

    def _paint_static(self, painter: QPainter) -> None:
        theme = current_theme()
        self._named_bands = []
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        painter.fillRect(self.rect(), theme.color("panel"))
        body = QRectF(self.left, 0, self._span(), self.height() - 4)
        painter.fillRect(body, theme.color("raised"))
        if self.session.hides("transport"):
            draw_veil(painter, body, theme, veil_words(self.session))
        elif (axis := self.timeline) is not None and axis.n_steps:
            names = self._paint_bands(painter, axis, theme)
            self._paint_marks(painter, axis, theme)
            self._paint_line(painter, axis, theme)
            self._paint_names(painter, axis, names, theme)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            if not self.session.hides("findings"):
                self._paint_faults(painter, axis, theme)
            self._paint_breaks(painter, axis, theme)

    def _places(self, axis: Timeline, steps: NDArray[np.intp]) -> NDArray[np.intp]:
        return self.left + axis.columns(steps, int(self._span()))

    def _paint_bands(self, painter: QPainter, axis: Timeline, theme: Theme) -> list[Name]:
        """The phases; returns what is to be written over them."""
        names: list[Name] = []
        painter.setFont(theme.font("small"))
        metrics = painter.fontMetrics()
        unit = self._span() / axis.n_steps

        def stretch(first: int, last: int) -> QRectF:
            wide = (last - first + 1) * unit
            return QRectF(self.left + first * unit, 0, wide, self.height() - 4)

        bands = axis.bands
        if bands and (bands[-1].last - bands[0].first) * unit < FINE * len(bands):
            whole = stretch(bands[0].first, bands[-1].last)
            painter.fillRect(whole, theme.tint("barrier", 0.17))
            return names
        if axis.ahead:  # from left to right, as the handle makes way
            names.append((stretch(0, axis.ahead - 1), (FILL,), theme.color("raised")))
        every = self._named(axis, unit, metrics)
        for band in bands:
            tint = theme.tint("barrier", 0.12 if band.index % 2 else 0.22)  # neighbours differ
            painter.fillRect(stretch(band.first, band.last), tint)
            if band.index % every == 0:
                box = stretch(band.first, bands[min(band.index + every, len(bands)) - 1].last)
                wide = metrics.horizontalAdvance(band.name) + 8 <= box.width() and every == 1
                words = (band.name, str(band.index)) if wide else (str(band.index),)
                names.append((box, words, tint))
        return names

    def _named(self, axis: Timeline, unit: float, metrics: QFontMetrics) -> int:
        """Every how many phases a number has room: 1, 2, 5, 10, 20 …"""
        bands = axis.bands
        if not bands:
            return 1
        width = (bands[-1].last - bands[0].first + 1) * unit / len(bands)
        need = metrics.horizontalAdvance(str(len(bands) - 1)) + 6
        for power in range(8):
            for step in (10**power, 2 * 10**power, 5 * 10**power):
                if step * width >= need:
                    return step
        return len(bands)

    def _paint_names(
        self, painter: QPainter, axis: Timeline, names: list[Name], theme: Theme
    ) -> None:
        """The phases' names, at the beginning of each or where no barrier crosses them."""
        painter.setFont(theme.font("small"))
        lines = self._places(axis, axis.steps("barrier")).tolist()
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
        starts = [box.left() + margin, *(x + BESIDE_BARRIER for x in crossing)]
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
        self._write_name(painter, (area, text, ground), theme)
        self._named_bands.append((area, text, ground))

    def _write_name(
        self, painter: QPainter, name: tuple[QRectF, str, QColor], theme: Theme
    ) -> None:
        area, text, ground = name
        painter.fillRect(area, ground)
        painter.setPen(theme.color("text"))
        painter.drawText(area, int(Qt.AlignmentFlag.AlignCenter), text)

    def _clear_of_handle(self, painter: QPainter, theme: Theme) -> None:
        """Move a name that the handle would strike through to the handle's right.

        Where the next name leaves no room the number alone goes there; a number by itself stays.
        """
        x = self.x_of(self.session.step)
        begins = [area.left() for area, _, _ in self._named_bands] + [float(self.width())]
        painter.setFont(theme.font("small"))
        for (area, text, ground), end in zip(self._named_bands, begins[1:], strict=True):
            if text.isdigit() or not area.left() - HANDLE < x < area.right() + HANDLE:
                continue
            painter.fillRect(area, ground)
            number = text.rpartition(" ")[2]
            for words in (text, number) if number.isdigit() else (text,):
                wide = painter.fontMetrics().horizontalAdvance(words) + 4
                aside = QRectF(x + HANDLE, area.top(), wide, area.height())
                if aside.right() < end:
                    self._write_name(painter, (aside, words, ground), theme)
                    break

    def _paint_marks(self, painter: QPainter, axis: Timeline, theme: Theme) -> None:
        bottom = self.height() - 4
        top = self._band_height() + 1
        half = (bottom - top) // 2
        unit = self._span() / axis.n_steps
        width = min(max(unit * 0.55, 1.0), 5.0)
        rows = {"load": (top, half), "store": (top + half, half), "barrier": (0, bottom)}
        for mark in ("barrier", *MARKS[:2]):
            color = QColor(theme.color(mark))
            y, height = rows[mark]
            places = self._places(axis, axis.steps(mark))
            thin = 2.0 if mark == "barrier" else width
            if mark == "barrier" and len(places) > CROWDED * self._span():
                color.setAlphaF(0.25)  # they must not hide the loads and stores
            left = (places + (0.5 - thin / 2)).tolist()
            fill(painter, [QRectF(x, y, thin, height) for x in left], color)

    def _paint_line(self, painter: QPainter, axis: Timeline, theme: Theme) -> None:
        left = self._places(axis, axis.line_steps(self.session.line)).tolist()
        faint, strong, high = theme.color("accent", 0.35), theme.color("accent"), self.height() - 4
        if len(left) <= MOST_LINES:
            fill(painter, [QRectF(x, 0, 1, high) for x in left], faint)
        fill(painter, [QRectF(x - 1, high, 3, 4) for x in left], strong)

    def _paint_faults(self, painter: QPainter, axis: Timeline, theme: Theme) -> None:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.color("error"))
        bottom = self.height()
        for step in axis.faults:
            x = self.x_of(int(step))
            corners = [QPointF(x - 6, bottom), QPointF(x + 6, bottom), QPointF(x, bottom - 10)]
            painter.drawPolygon(QPolygonF(corners))

    def _paint_breaks(self, painter: QPainter, axis: Timeline, theme: Theme) -> None:
        painter.setPen(QPen(theme.color("panel"), 1))
        painter.setBrush(theme.color("error"))
        for x in self._places(axis, self.session.break_steps):
            painter.drawEllipse(QPointF(x + 0.5, 4.5), 4, 4)

    def _paint_handle(self, painter: QPainter, theme: Theme) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        x = self.x_of(self.session.step)
        color = theme.color("selected")
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color)
        painter.drawRect(QRectF(x - 1, 0, 2, self.height()))
        top = QPolygonF([QPointF(x - HANDLE + 1, 0), QPointF(x + HANDLE - 1, 0), QPointF(x, 8)])
        painter.drawPolygon(top)


UNIT_TIPS = {
    "access": "Right and Left go from one access of shared or global memory, bulk copy or wgmma "
    "to the next (1)",
    "line": "Right and Left go line by line of the source (2)",
    "barrier": "Right and Left go from barrier to barrier (3)",
    "phase": "Right and Left go from phase to phase (4)",
}
SPEED_STEPS = 100
EXPANDING = QSizePolicy.Policy.Expanding
ROOM_FOR_PHASE, ROOM_FOR_SPEED, ROOM_FOR_UNITS = 165, 140, 128  # digits
ROOM_FOR_SLIDER = 80  # digits; + and - change the speed as well
ROOM_FOR_CAPTION = 120  # digits; in a narrower window the sentence has a line of its own


class TransportBar(CaptionedView):
    """Buttons, units, speed, caption and scrub bar. Playing is driven by a timer of its own."""

    WATCHES = frozenset({"trace", "block", "step", "thread", "unit", "speed", "playing"})
    READ = True

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.setObjectName("transport")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.buttons = self._make_buttons()
        self.units = Segmented(**{unit: (unit.capitalize(), UNIT_TIPS[unit]) for unit in UNITS})
        self.units.chosen.connect(lambda unit: session.update(unit=unit))
        self.units_label = styled_label("Step by", role="dim")
        self.speed = named(QSlider(Qt.Orientation.Horizontal), "Speed")
        self.speed.setRange(0, SPEED_STEPS)
        self.speed.setFixedWidth(96)
        self.speed.setToolTip("Steps a second while playing (+ and -)")
        self.speed.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.speed.valueChanged.connect(self._choose_speed)
        self.speed_label = styled_label(role="dim")
        self.position = Caption(role="figure")
        self.phase = Caption(role="dim")
        for figure in (self.position, self.phase):
            figure.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
            figure.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.scrub = ScrubBar(session)
        self._lay_out()
        self._timer = QTimer(self, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(session.play_on)
        self.restyle()

    def refresh(self, names: frozenset[str]) -> None:
        session = self.session
        self.position.setText(f"step {step_label(session)}")
        self.phase.setText("?" if session.hides("transport") else phase_label(session))
        veiled = session.hides("transport.caption")
        self.tell(event_caption(session), veiled=veiled)
        if "unit" in names:
            self.units.value = session.unit
        if "speed" in names:
            with QSignalBlocker(self.speed):
                share = math.log(session.speed / MIN_SPEED) / math.log(MAX_SPEED / MIN_SPEED)
                self.speed.setValue(round(share * SPEED_STEPS))
            self.speed_label.setText(f"{session.speed:.3g} steps/s")
        if names & {"trace", "block"}:
            self._reserve()
        if names & {"playing", "speed"}:
            self._run_timer()
        self._enable()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave the phase to the scrub bar where the sentence needs the room."""
        super().resizeEvent(event)
        digit = self.fontMetrics().horizontalAdvance("0")
        self.phase.setVisible(self.width() > ROOM_FOR_PHASE * digit)
        self.speed_label.setVisible(self.width() > ROOM_FOR_SPEED * digit)
        self.units_label.setVisible(self.width() > ROOM_FOR_UNITS * digit)
        self.speed.setVisible(self.width() > ROOM_FOR_SLIDER * digit)
        self._place_caption(beside=self.width() > ROOM_FOR_CAPTION * digit)

    def _place_caption(self, *, beside: bool) -> None:
        """The sentence and the step beside the controls, or in a line of their own."""
        if beside == (self._top.indexOf(self.caption) >= 0):
            return
        row, other = (self._top, self._below) if beside else (self._below, self._top)
        for widget in (self.caption, self.position):
            other.removeWidget(widget)
        if beside:
            row.insertWidget(self._caption_at, self.caption, 1)
        else:
            row.addWidget(self.caption, 1)
        row.addWidget(self.position)
        self.caption.may_take(3 if beside else 1)
        self._spring.changeSize(0, 0, QSizePolicy.Policy.Fixed if beside else EXPANDING)
        self._top.invalidate()

    def stop(self) -> None:
        self._timer.stop()

    def restyle(self) -> None:
        metrics = self.speed_label.fontMetrics()
        self.speed_label.setMinimumWidth(metrics.horizontalAdvance("00.0 steps/s"))
        self._reserve()
        size = current_theme().spacing.control
        for button in self.buttons.values():
            button.setFixedSize(size + 4, size)

    def _reserve(self) -> None:
        """Give the figures the room that the last step's will need."""
        count, block = grouped(self.session.n_steps), self.session.block_trace
        bold = QFontMetrics(current_theme().font(bold=True))
        plain = QFontMetrics(current_theme().font())
        self.position.setFixedWidth(bold.horizontalAdvance(f"step {count} / {count}") + 4)
        text = longest_name(block) if block is not None else ""
        self.phase.setFixedWidth(plain.horizontalAdvance(text) + 4)

    def _make_buttons(self) -> dict[str, QToolButton]:
        session = self.session

        def play(direction: int) -> Callable[[], None]:
            def toggle() -> None:
                session.playing = 0 if session.playing == direction else direction

            return toggle

        actions: dict[str, tuple[str, Callable[[], object]]] = {
            "first": ("First step (Home)", session.first),
            "back": ("Back one unit (Left)", lambda: self._step(forward=False)),
            "play_back": ("Play backwards (Shift+Space)", play(-1)),
            "pause": ("Pause (Space)", partial(session.update, playing=0)),
            "play": ("Play (Space)", play(1)),
            "forward": ("Forward one unit (Right)", lambda: self._step(forward=True)),
            "last": ("Last step (End)", session.last),
        }
        buttons = {}
        for name, (tip, action) in actions.items():
            button = named(QToolButton(), tip, tip)
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            button.setCheckable(name in ("play", "play_back"))
            button.clicked.connect(lambda _=False, run=action: run())
            button.clicked.connect(self._enable)
            button.setAutoRepeat(name in ("back", "forward"))
            button.setAutoRepeatDelay(350)
            button.setAutoRepeatInterval(60)
            set_icon(button, name)
            buttons[name] = button
        return buttons

    def _lay_out(self) -> None:
        units = (MARGIN, self.units_label, GAP // 2, self.units)
        speed = (MARGIN, self.speed, GAP // 2, self.speed_label)
        self._spring = QSpacerItem(0, 0)
        moment = ((self.caption, 1), self._spring, MARGIN, self.phase, GAP, self.position)
        buttons = self.buttons.values()
        self._top = side_by_side(None, *buttons, *units, *speed, MARGIN, *moment, gap=2)
        self._caption_at = self._top.indexOf(self.caption)
        self._below = side_by_side(None)
        self.caption.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.caption.may_take(3)
        edges = (MARGIN, GAP - 2, MARGIN, GAP)
        self.rows = stacked(self, self._top, self._below, self.scrub, gap=GAP - 2, edges=edges)

    def _step(self, *, forward: bool) -> None:
        self.session.playing = 0
        self.session.seek(forward=forward)

    def _choose_speed(self, value: int) -> None:
        self.session.speed = MIN_SPEED * (MAX_SPEED / MIN_SPEED) ** (value / SPEED_STEPS)

    def _run_timer(self) -> None:
        if self.session.playing:
            self._timer.start(max(1, round(1000 / self.session.speed)))
        else:
            self._timer.stop()

    def _enable(self) -> None:
        session, here = self.session, self.session.n_steps > 0
        at_first, at_last = session.step == 0, session.step >= session.n_steps - 1
        for name in ("first", "back", "play_back"):
            self.buttons[name].setEnabled(here and not at_first)
        for name in ("last", "forward", "play"):
            self.buttons[name].setEnabled(here and not at_last)
        self.buttons["pause"].setEnabled(here and session.playing != 0)
        self.buttons["play"].setChecked(session.playing > 0)
        self.buttons["play_back"].setChecked(session.playing < 0)
