"""Which keys a widget in focus keeps from the window's shortcuts."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
)

NAVIGATION = {Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Home, Qt.Key.Key_End}
SIDEWAYS = {Qt.Key.Key_Left, Qt.Key.Key_Right}
PAGE_KEYS = {Qt.Key.Key_PageUp, Qt.Key.Key_PageDown}


class FocusKeys(QObject):
    """Lets the widget in focus keep the keys that it needs, where a shortcut would take them.

    A list keeps Up and Down, a button Space, a slider and a field the arrows; everything else goes
    to the window's shortcuts.
    """

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Accept a ShortcutOverride for keys that the focused widget handles itself."""
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            if _types_text(watched) and _is_typed(event):
                event.accept()
                return True
            modified = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
            if not modified and event.key() in _kept_keys(watched):
                event.accept()
                return True
        return False


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
