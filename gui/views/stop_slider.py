"""A number that is dragged along the values that make sense, or typed."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QAbstractSpinBox, QSlider, QSpinBox

from gui.looks.theme import current_theme
from gui.scenes.stops import moved, place_of, reach_text

HANDLE = 16  # pixels, as in the style sheet: 12 and the border on both sides


class StopSlider(QSlider):
    """A slider over a row of values; `dragged(value)` when the user moves it to another."""

    dragged = Signal(int)

    def __init__(self, label: str) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self.stops: tuple[int, ...] = (0,)
        self._label = label
        self.setAccessibleName(f"{label}, slider")
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)  # the field beside it has the keyboard
        self.valueChanged.connect(lambda place: self.dragged.emit(self.stops[place]))

    def show_stops(self, stops: tuple[int, ...], value: int) -> None:
        """Offer other values, with the handle at one of them; without a signal."""
        with QSignalBlocker(self):
            self.stops = stops
            self.setRange(0, len(stops) - 1)
            self.setPageStep(max(len(stops) // 8, 1))
            self.setValue(place_of(value, stops))
        self.setEnabled(len(stops) > 1)
        self.setToolTip(f"Drag: {reach_text(stops)}")

    def show_value(self, value: int) -> None:
        """Put the handle where a value stands, without a signal."""
        with QSignalBlocker(self):
            self.setValue(place_of(value, self.stops))

    def sizeHint(self) -> QSize:
        """Low, so that a row with a slider stays one row."""
        return QSize(80, max(current_theme().spacing.control // 2, 14))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Jump to where the pointer is, and drag from there."""
        if event.button() == Qt.MouseButton.LeftButton:
            self.setSliderDown(True)
            self.setValue(self._place_at(event.position().x()))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Follow the pointer while it is held."""
        if self.isSliderDown():
            self.setValue(self._place_at(event.position().x()))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Let go."""
        if event.button() == Qt.MouseButton.LeftButton:
            self.setSliderDown(False)

    def _place_at(self, x: float) -> int:
        """The stop nearest to a position; the first and last lie half a handle from the ends."""
        room = max(self.width() - HANDLE, 1)
        share = min(max((x - HANDLE / 2) / room, 0.0), 1.0)
        return round(share * self.maximum())


class StopSpin(QSpinBox):
    """A field whose arrows go from stop to stop; any number may be typed."""

    def __init__(self) -> None:
        super().__init__()
        self.stops: tuple[int, ...] = ()
        self.setStepType(QAbstractSpinBox.StepType.DefaultStepType)

    def stepBy(self, steps: int) -> None:
        """Go to the next stop that can be launched."""
        if self.stops:
            self.setValue(moved(self.value(), steps, self.stops))
        else:
            super().stepBy(steps)
