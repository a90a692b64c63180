"""Buttons, switches between a few values, boxes to choose from, and sliders with stops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from PySide6.QtCore import QEvent, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QButtonGroup,
    QComboBox,
    QLabel,
    QPushButton,
    QSizePolicy,
    QSlider,
    QSpinBox,
    QToolButton,
    QWidget,
)

from gui.looks.icons import set_icon
from gui.looks.labels_and_layouts import named, side_by_side
from gui.looks.style_sheet import set_style
from gui.looks.theme import current_theme
from gui.scenes.launch_form import moved, place_of, reach_text
from gui.scenes.session import Session

RETURN = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


def keeps_key(event: QEvent, own: Callable[[QKeyEvent], bool]) -> bool:
    """Keep a widget's `own` keys from the window's shortcuts; whether this is one of them."""
    override = event.type() == QEvent.Type.ShortcutOverride
    kept = override and isinstance(event, QKeyEvent) and own(event)
    if kept:
        event.accept()
    return kept


def icon_button(tip: str, name: str = "", *, icon: str = "", size: int = 18) -> QToolButton:
    """A button for an icon; screen readers hear `name`, or the tip without its key."""
    button = named(QToolButton(), name or tip.partition(" (")[0], tip)
    if icon:
        set_icon(button, icon, size=size)
    return button


def push_button(text: str, tip: str = "", *, primary: bool = False) -> QPushButton:
    """A button that says `text`; `primary`: it is what one comes for."""
    button = QPushButton(text)
    button.setToolTip(tip)
    if primary:
        button.setProperty("role", "primary")
    return button


def action_button(text: str, tip: str, name: str = "") -> QToolButton:
    """A button as headings have them; screen readers hear `name`, or `text` where there is none."""
    button = named(QToolButton(), name or text, tip)
    button.setText(text)
    button.setProperty("role", "action")
    return button


def why_button() -> QToolButton:
    """Opens "Why this number?" from the heading of a view with numbers."""
    tip = "Explain the numbers of this step: lanes, addresses and formulas (W)"
    return action_button("Why?", tip, "Why these numbers?")


class Segmented(QWidget):
    """Choose one of a few named values; `chosen(key)` is emitted when the user picks another."""

    chosen = Signal(str)

    def __init__(self, **options: tuple[str, str]) -> None:
        """`options`: by its key, what stands on a button, and what is said of it."""
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        layout = side_by_side(self, gap=0)
        self._group = QButtonGroup(self)
        self._keys = list(options)
        for place, (label, tip) in enumerate(options.values()):
            button = named(QToolButton(), label, tip)
            button.setText(label)
            button.setCheckable(True)
            button.setProperty("role", "segment")
            ends = {0: "first", len(options) - 1: "last"}
            button.setProperty("place", ends.get(place, "middle"))  # whose corners are round
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            self._group.addButton(button, place)
            layout.addWidget(button)
        self._group.button(0).setChecked(True)
        self._group.idClicked.connect(lambda place: self.chosen.emit(self._keys[place]))

    def name(self, key: str, label: str) -> None:
        self.button(key).setText(label)

    def offer(self, key: str, on: bool) -> None:
        """Show or hide a choice; those at the ends have round corners."""
        self.button(key).setVisible(on)
        shown = [b for b in map(self.button, self._keys) if not b.isHidden()]
        for button in shown:
            ends = {shown[0]: "first", shown[-1]: "last"}
            set_style(button, "place", ends.get(button, "middle"))

    @property
    def value(self) -> str:
        return self._keys[self._group.checkedId()]

    @value.setter
    def value(self, key: str) -> None:
        self._group.button(self._keys.index(key)).setChecked(True)

    def button(self, key: str) -> QToolButton:
        found = self._group.button(self._keys.index(key))
        assert isinstance(found, QToolButton)
        return found

    def bind(self, session: Session, name: str, values: Mapping[str, object]) -> None:
        """Have a setting of the session follow the choice, and the choice the setting."""
        keys = {value: key for key, value in values.items()}

        def choose(key: str) -> None:
            session.update(**{name: values[key]})

        def follow(value: object) -> None:
            self.value = keys[value]

        self.chosen.connect(choose)
        getattr(session, f"{name}_changed").connect(follow)
        follow(getattr(session, name))


def fitting_choice(name: str, tip: str) -> QComboBox:
    """A box as wide as what it offers, also where its type is another when it is shown."""
    return named(QComboBox(sizeAdjustPolicy=QComboBox.SizeAdjustPolicy.AdjustToContents), name, tip)


def offer(box: QComboBox, items: Sequence[tuple[str, object]], chosen: object) -> None:
    """Offer texts that stand for data, if others are there, and choose by data, or the first."""
    there = [(box.itemText(i), box.itemData(i)) for i in range(box.count())]
    if there != list(items):
        box.clear()
        for text, data in items:
            box.addItem(text, data)
    keys = [data for _, data in items]
    box.setCurrentIndex(keys.index(chosen) if chosen in keys else 0)


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
        with QSignalBlocker(self):
            self.setValue(place_of(value, self.stops))

    def sizeHint(self) -> QSize:
        """Low, so that a row with a slider stays one row."""
        return QSize(80, max(current_theme().spacing.control // 2, 14))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.setSliderDown(True)
            self.setValue(self._place_at(event.position().x()))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self.isSliderDown():
            self.setValue(self._place_at(event.position().x()))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
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
        if self.stops:
            self.setValue(moved(self.value(), steps, self.stops))
        else:
            super().stepBy(steps)


def name_choices(root: QWidget) -> None:
    """Give each choice in a widget that no label belongs to a hidden one, with its name.

    On Linux Qt tells screen readers a choice's value for its name: they say the label instead.
    """
    labelled = [label.buddy() for label in root.findChildren(QLabel)]
    for box in root.findChildren(QComboBox):
        if not any(box is buddy for buddy in labelled) and box.parentWidget() is not None:
            label = QLabel(box.accessibleName(), box.parentWidget())
            label.hide()
            label.setBuddy(box)
