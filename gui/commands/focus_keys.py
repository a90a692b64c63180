"""Which keys a widget in focus keeps from the window's shortcuts."""

from __future__ import annotations

from collections.abc import Iterator

import shiboken6
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QSpinBox,
    QWidget,
)

NAVIGATION = {Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Home, Qt.Key.Key_End}
SIDEWAYS = {Qt.Key.Key_Left, Qt.Key.Key_Right}
PAGE_KEYS = {Qt.Key.Key_PageUp, Qt.Key.Key_PageDown}
KEEPERS = (
    QAbstractSlider, QAbstractItemView, QAbstractSpinBox, QComboBox, QAbstractButton,
    QPlainTextEdit, QLineEdit,
)  # fmt: skip


class FocusKeys(QObject):
    """Lets the widget in focus keep the keys that it needs, where a shortcut would take them.

    A list keeps Up and Down, a button Space, a slider and a field the arrows, the field of a number
    what a number is written with; everything else goes to the window's shortcuts.

    It filters the events of those that keep keys, while they are in focus: a filter of the whole
    application would be asked about each of a frame's events.
    """

    def __init__(self, app: QApplication, parent: QObject) -> None:
        super().__init__(parent)
        self._watched: list[QWidget] = []
        self._app = app
        app.focusChanged.connect(self._follow)
        self._follow(None, app.focusWidget())

    def close(self) -> None:
        """Watch nothing any more."""
        self._app.focusChanged.disconnect(self._follow)
        self._follow(None, None)

    def _follow(self, _: QWidget | None, focused: QWidget | None) -> None:
        for widget in self._watched:
            if shiboken6.isValid(widget):
                widget.removeEventFilter(self)
        self._watched = [w for w in _line(focused) if isinstance(w, KEEPERS)]
        for widget in self._watched:
            widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Accept a ShortcutOverride for keys that the focused widget handles itself."""
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            if _is_no_figure(watched, event):
                event.ignore()
                return True  # a field of a number would take it, and drop it
            if _types_text(watched) and _is_typed(event):
                event.accept()
                return True
            modified = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
            if not modified and event.key() in _kept_keys(watched):
                event.accept()
                return True
        return False


def _line(widget: QWidget | None) -> Iterator[QWidget]:
    """A widget and all that it lies in: what it leaves, Qt offers to them in turn."""
    while widget is not None:
        yield widget
        widget = widget.parentWidget()


def _is_no_figure(widget: QObject, event: QKeyEvent) -> bool:
    """Whether this is the field of a number, which the key could be no part of."""
    field = widget.parent() if isinstance(widget, QLineEdit) else widget
    key = event.key()
    letter = isinstance(field, QSpinBox) and Qt.Key.Key_A <= key <= Qt.Key.Key_Z
    number = isinstance(field, QAbstractSpinBox)
    return number and _is_typed(event) and (key == Qt.Key.Key_Space or letter)


def _types_text(widget: QObject) -> bool:
    return isinstance(widget, QPlainTextEdit | QLineEdit) and not widget.isReadOnly()


def _is_typed(event: QKeyEvent) -> bool:
    """Whether a key belongs to the text that is typed, and not to the window's shortcuts."""
    shift = Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.KeypadModifier
    function = Qt.Key.Key_F1 <= event.key() <= Qt.Key.Key_F35
    return not event.modifiers() & ~shift and not function and event.key() != Qt.Key.Key_Escape


def _kept_keys(widget: QObject) -> set[Qt.Key]:
    if isinstance(widget, QAbstractSlider):
        return NAVIGATION | SIDEWAYS
    if isinstance(widget, QAbstractItemView):
        return {Qt.Key.Key_Up, Qt.Key.Key_Down}
    if isinstance(widget, QAbstractSpinBox | QComboBox):
        return NAVIGATION | SIDEWAYS | PAGE_KEYS | {Qt.Key.Key_Minus}
    if isinstance(widget, QAbstractButton):
        return {Qt.Key.Key_Space}
    return set()
