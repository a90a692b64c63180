"""A row of joined buttons of which one is chosen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QSizePolicy, QToolButton, QWidget

if TYPE_CHECKING:
    from gui.scenes.session import Session


class Segmented(QWidget):
    """Choose one of a few named values; `chosen(key)` is emitted when the user picks another."""

    chosen = Signal(str)

    def __init__(self, options: Mapping[str, str], tips: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        self._group = QButtonGroup(self)
        self._keys = list(options)
        self._long, self._short = dict(options), dict[str, str]()
        for place, (key, label) in enumerate(options.items()):
            button = QToolButton()
            button.setText(label)
            button.setCheckable(True)
            button.setProperty("role", "segment")
            ends = {0: "first", len(options) - 1: "last"}
            button.setProperty("place", ends.get(place, "middle"))  # whose corners are round
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            button.setToolTip((tips or {}).get(key, ""))
            button.setAccessibleName(label)
            self._group.addButton(button, place)
            layout.addWidget(button)
        self._group.button(0).setChecked(True)
        self._group.idClicked.connect(lambda place: self.chosen.emit(self._keys[place]))

    def name(self, key: str, label: str) -> None:
        """Write another label on a choice."""
        self._long[key] = label
        self.button(key).setText(label)

    def shorten(self, labels: Mapping[str, str]) -> None:
        """Have other labels where there is little room; the tips and names stay."""
        self._short = dict(labels)

    def set_compact(self, compact: bool) -> None:
        """Write the short labels, or the long ones."""
        for key, label in (self._short if compact else self._long).items():
            if self.button(key).text() != label:
                self.button(key).setText(label)

    @property
    def value(self) -> str:
        """The key of the chosen button."""
        return self._keys[self._group.checkedId()]

    @value.setter
    def value(self, key: str) -> None:
        self._group.button(self._keys.index(key)).setChecked(True)

    def button(self, key: str) -> QToolButton:
        """The button of a key."""
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
