"""The clock's controls: step, play in both directions, units, speed, and the scrub bar."""

from __future__ import annotations

import math
from collections.abc import Callable

from PySide6.QtCore import QElapsedTimer, Qt, QTimer
from PySide6.QtGui import QFontMetrics, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QSlider, QToolButton, QVBoxLayout

from gui.looks.style import set_icon
from gui.looks.theme import current_theme
from gui.scenes.phase_words import longest_name
from gui.scenes.selection import MAX_SPEED, MIN_SPEED, UNITS
from gui.scenes.session import Session
from gui.scenes.text import grouped
from gui.scenes.timeline import event_caption, phase_label, step_label
from gui.views.base import Caption, SessionView
from gui.views.scrub_bar import ScrubBar
from gui.views.segmented import Segmented

UNIT_TIPS = {
    "access": "Right and Left go from one access of shared or global memory to the next (1)",
    "line": "Right and Left go line by line of the source (2)",
    "barrier": "Right and Left go from barrier to barrier (3)",
    "phase": "Right and Left go from phase to phase (4)",
}
SPEED_STEPS = 100
ROOM_FOR_PHASE, ROOM_FOR_SPEED, ROOM_FOR_UNITS = 165, 140, 128  # digits


class TransportBar(SessionView):
    """Buttons, units, speed, caption and scrub bar. Playing is driven by a timer of its own."""

    WATCHES = frozenset({"trace", "block", "step", "thread", "unit", "speed", "playing"})
    READ = True

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.setObjectName("transport")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._icons: dict[QToolButton, str] = {}
        self.buttons = self._make_buttons()
        self.units = Segmented({unit: unit.capitalize() for unit in UNITS}, UNIT_TIPS)
        self.units.chosen.connect(self._choose_unit)
        self.units_label = QLabel("Step by")
        self.units_label.setProperty("role", "dim")
        self.speed = QSlider(Qt.Orientation.Horizontal)
        self.speed.setRange(0, SPEED_STEPS)
        self.speed.setFixedWidth(96)
        self.speed.setAccessibleName("Speed")
        self.speed.setToolTip("Steps a second while playing (+ and -)")
        self.speed.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.speed.valueChanged.connect(self._choose_speed)
        self.speed_label = QLabel()
        self.speed_label.setProperty("role", "dim")
        self.caption = Caption()
        self.position = Caption(role="figure")
        self.phase = Caption(role="dim")
        for figure in (self.position, self.phase):
            figure.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
            figure.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.scrub = ScrubBar(session)
        self._lay_out()
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._tick)
        self._clock = QElapsedTimer()
        self.restyle()

    def refresh(self, names: frozenset[str]) -> None:
        """Follow the clock."""
        session = self.session
        self.position.setText(f"step {step_label(session)}")
        self.phase.setText(phase_label(session))
        self.caption.setText(event_caption(session))
        if "unit" in names:
            self.units.value = session.unit
        if "speed" in names:
            self.speed.blockSignals(True)
            self.speed.setValue(_to_slider(session.speed))
            self.speed.blockSignals(False)
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

    def stop(self) -> None:
        """Stop playing, for good when the window closes."""
        self._timer.stop()

    def restyle(self) -> None:
        """Take up the theme's icons and widths."""
        for button, icon in self._icons.items():
            set_icon(button, icon)
        metrics = self.speed_label.fontMetrics()
        self.speed_label.setMinimumWidth(metrics.horizontalAdvance("00.0 steps/s"))
        self._reserve()
        size = current_theme().spacing.control
        for button in self._icons:
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

        def pause() -> None:
            session.playing = 0

        actions: dict[str, tuple[str, Callable[[], object]]] = {
            "first": ("First step (Home)", session.first),
            "back": ("Back one unit (Left)", lambda: self._step(forward=False)),
            "play_back": ("Play backwards (Shift+Space)", play(-1)),
            "pause": ("Pause (Space)", pause),
            "play": ("Play (Space)", play(1)),
            "forward": ("Forward one unit (Right)", lambda: self._step(forward=True)),
            "last": ("Last step (End)", session.last),
        }
        buttons = {}
        for name, (tip, action) in actions.items():
            button = QToolButton()
            button.setToolTip(tip)
            button.setAccessibleName(tip)
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            button.setCheckable(name in ("play", "play_back"))
            button.clicked.connect(lambda _=False, run=action: run())
            button.clicked.connect(self._enable)
            button.setAutoRepeat(name in ("back", "forward"))
            button.setAutoRepeatDelay(350)
            button.setAutoRepeatInterval(60)
            self._icons[button] = name
            buttons[name] = button
        return buttons

    def _lay_out(self) -> None:
        space = current_theme().spacing
        top = QHBoxLayout()
        top.setSpacing(2)
        for button in self.buttons.values():
            top.addWidget(button)
        top.addSpacing(space.margin)
        top.addWidget(self.units_label)
        top.addSpacing(space.gap // 2)
        top.addWidget(self.units)
        top.addSpacing(space.margin)
        top.addWidget(self.speed)
        top.addSpacing(space.gap // 2)
        top.addWidget(self.speed_label)
        top.addSpacing(space.margin)
        self.caption.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.caption.may_take(3)
        top.addWidget(self.caption, 1)
        top.addSpacing(space.margin)
        top.addWidget(self.phase)
        top.addSpacing(space.gap)
        top.addWidget(self.position)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(space.margin, space.gap - 2, space.margin, space.gap)
        layout.setSpacing(space.gap - 2)
        layout.addLayout(top)
        layout.addWidget(self.scrub)

    def _step(self, *, forward: bool) -> None:
        self.session.playing = 0
        self.session.seek(forward=forward)

    def _choose_unit(self, unit: str) -> None:
        self.session.unit = unit  # type: ignore[assignment]

    def _choose_speed(self, value: int) -> None:
        self.session.speed = _from_slider(value)

    def _run_timer(self) -> None:
        if self.session.playing:
            self._timer.start(max(1, round(1000 / self.session.speed)))
        else:
            self._timer.stop()

    def _tick(self) -> None:
        self.session.play_on()

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


def _to_slider(speed: float) -> int:
    share = math.log(speed / MIN_SPEED) / math.log(MAX_SPEED / MIN_SPEED)
    return round(share * SPEED_STEPS)


def _from_slider(value: int) -> float:
    return MIN_SPEED * (MAX_SPEED / MIN_SPEED) ** (value / SPEED_STEPS)
