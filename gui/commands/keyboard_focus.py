"""Who has the keyboard: the page's main view, where Tab leads, and which keys a widget keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import takewhile

import shiboken6
from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QDockWidget,
    QLineEdit,
    QPlainTextEdit,
    QScrollArea,
    QSpinBox,
    QTabBar,
    QWidget,
)

from gui.commands.window_parts import Window
from gui.views.answer_fields import AnswerLine, FigureLine
from gui.views.focus_ring import FocusRing
from gui.views.step_page import StepPage

ROW = 6  # pixels: rows of controls are further apart, and those of one row never so much
REACHED = (QAbstractItemView, QPlainTextEdit)  # by Tab, though only a click should begin in them
MOST_WIDGETS = 1000  # of a window that Tab goes past: there may be none in sight
NAVIGATION = {Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Home, Qt.Key.Key_End}
SIDEWAYS = {Qt.Key.Key_Left, Qt.Key.Key_Right}
PAGE_KEYS = {Qt.Key.Key_PageUp, Qt.Key.Key_PageDown}
FIGURELESS = NAVIGATION | SIDEWAYS
"""Keys that a question's field of a number leaves to the window, beside those of its pages."""
FIELD = NAVIGATION | SIDEWAYS | PAGE_KEYS | {Qt.Key.Key_Minus}
KEPT: Mapping[type[QWidget], set[Qt.Key]] = {
    QAbstractSlider: NAVIGATION | SIDEWAYS,
    QAbstractItemView: {Qt.Key.Key_Up, Qt.Key.Key_Down},
    QAbstractSpinBox: FIELD,
    QComboBox: FIELD,
    QAbstractButton: {Qt.Key.Key_Space},
    QPlainTextEdit: set(),  # what is typed
    QLineEdit: set(),
}
"""The keys that widgets keep from the window's shortcuts, by their kind."""


def _tab_on(window: Window, *, forward: bool) -> bool:
    """Give the keyboard to the next widget in reading order; whether there is one."""
    chain, now = list(_reading_order(window)), QApplication.focusWidget()
    if not chain:
        return False
    if now in chain:
        at = chain.index(now) + (1 if forward else -1)
    else:  # a page, or what a click alone can reach: go on from what lies in it, or it lies in
        inside = [n for n, w in enumerate(chain) if now is not None and now.isAncestorOf(w)]
        at = (inside[0] if forward else inside[0] - 1) if inside else 0 if forward else -1
    reason = Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason
    found = chain[at % len(chain)]
    found.setFocus(reason)
    for area in _scrolled_in(found):
        if area is not found:
            area.ensureWidgetVisible(found, 0, ROW)
    return True


def _scrolled_in(widget: QWidget, within: QWidget | None = None) -> list[QScrollArea]:
    """The areas in which a widget scrolls, out of sight too: the innermost first.

    `within` is one of them that is left out, with all around it.
    """
    around = takewhile(lambda part: part is not within, _line(widget))
    return [part for part in around if isinstance(part, QScrollArea)]


def _reading_order(window: Window) -> Iterator[QWidget]:
    """Everything in sight that can have the keyboard: from the top left, part by part.

    The header, a lesson, the left column, the page, what is said over it, and the clock. The views
    of a page of docks come as they lie, column by column: the tabs of a place, its controls, its
    view.
    """
    # Not Qt's own chain: what PySide makes of it takes away headers that tables still need.
    chain = [w for w in window.findChildren(QWidget) if _takes_tab(w)]
    page = window.pages.current
    lesson = window.presenter, window.lesson_panel
    left = window.left_column.button, window.left
    parts: list[QWidget] = [window.header, *lesson, *left, page, window.message, window.transport]
    for part in parts:
        inside = [w for w in chain if w is part or part.isAncestorOf(w)]
        if part is not page:
            inside = [*_by_rows(window, inside)]
        elif isinstance(page, StepPage):
            inside.sort(key=lambda w: _place(page, w))
        yield from inside
    yield from (w for w in chain if not any(w is p or p.isAncestorOf(w) for p in parts))


def _by_rows(
    window: QWidget, widgets: list[QWidget], within: QWidget | None = None
) -> Iterator[QWidget]:
    """From the top left; what scrolls together comes together, where it may stand now.

    `within` is the area, itself one of a larger one perhaps, in which all of them scroll.
    """
    parts: dict[QWidget, list[QWidget]] = {}
    for widget in widgets:
        areas = _scrolled_in(widget, within)
        parts.setdefault(areas[-1] if areas else widget, []).append(widget)
    for part in _in_rows(window, [*parts]):
        inside = parts[part]
        yield from inside if inside == [part] else _by_rows(window, inside, part)


def _in_rows(window: QWidget, widgets: list[QWidget]) -> list[QWidget]:
    """From the top left; what stands beside each other is in one row, whatever its height."""
    places = {w: w.mapTo(window, w.rect().center()) for w in widgets}
    rows: list[list[QWidget]] = []
    for widget in sorted(widgets, key=lambda w: places[w].y()):
        if not rows or places[widget].y() - places[rows[-1][-1]].y() > ROW:
            rows.append([])
        rows[-1].append(widget)
    return [w for row in rows for w in sorted(row, key=lambda w: places[w].x())]


def _takes_tab(widget: QWidget) -> bool:
    if widget.focusProxy() is not None or not widget.isEnabled() or not widget.isVisible():
        return False
    policy = widget.focusPolicy()
    reached = bool(policy & Qt.FocusPolicy.TabFocus)
    if isinstance(widget, REACHED) and policy != Qt.FocusPolicy.NoFocus:
        reached = not isinstance(widget, QPlainTextEdit) or widget.isReadOnly()
    areas = [area for area in _scrolled_in(widget) if area is not widget]
    if any(area.viewport().size().isEmpty() for area in areas):
        return False  # its rows have no place yet
    seen = areas[-1].viewport() if areas else widget
    return reached and not seen.visibleRegion().isEmpty()


def _place(page: StepPage, widget: QWidget) -> tuple[int, int, int]:
    """Where a widget comes among those of the docks: their column and row, then what it is."""
    part: QWidget | None = widget
    while part is not None and not isinstance(part, QDockWidget | QTabBar):
        part = part.parentWidget()
    if part is None:
        return 0, 0, 0
    corner = part.mapTo(page, QPoint(0, 0)) if part.window() is page.window() else QPoint(9999, 0)
    if isinstance(part, QTabBar):
        return corner.x(), corner.y(), 0
    in_title = not isinstance(part, QDockWidget) or not part.titleBarWidget().isAncestorOf(widget)
    return corner.x(), corner.y(), 2 if in_title else 1


def in_sight(move: Callable[[bool], bool], forward: bool) -> bool:
    """Move the focus until what has it can be seen; what `move` gives when it ends."""
    for _ in range(MOST_WIDGETS):
        moved, focused = move(forward), QApplication.focusWidget()
        if not moved or focused is None or not focused.visibleRegion().isEmpty():
            return moved
    return False


def focus_page(window: Window) -> None:
    """Give the keyboard to the page's main view, so that Space plays and no tab keeps it.

    The view is what the page's `main_view()` gives; the page itself is one from which Tab leads
    to its first control.
    """
    window.pages.current.main_view().setFocus()


# -- which keys a widget in focus keeps from the window's shortcuts --------------------------------


class FocusKeys(QObject):
    """Lets the widget in focus keep the keys that it needs, and has Tab lead on in reading order.

    A list keeps Up and Down, a button Space, a slider and a field the arrows, the field of a number
    what a number is written with; everything else goes to the window's shortcuts.

    It filters the events of the widget in focus, and of those around it that keep keys: a filter of
    the whole application would be asked about each of a frame's events.
    """

    def __init__(self, app: QApplication, window: Window) -> None:
        super().__init__(window)
        self._main = window
        self.ring = FocusRing(window)
        self._by_keys = False  # whether Tab was pressed after the last click
        self._watched: list[QWidget] = []
        self._app = app
        app.focusChanged.connect(self._follow)
        self._follow(None, app.focusWidget())

    def close(self) -> None:
        self._app.focusChanged.disconnect(self._follow)
        self._by_keys = False
        self._follow(None, None)

    def _follow(self, _: QWidget | None, focused: QWidget | None) -> None:
        for widget in self._watched:
            if shiboken6.isValid(widget):
                widget.removeEventFilter(self)
        self._watched = [w for w in _line(focused) if w is focused or isinstance(w, tuple(KEPT))]
        for widget in self._watched:
            widget.installEventFilter(self)
        if QApplication.mouseButtons() != Qt.MouseButton.NoButton:
            self._by_keys = False
        self.ring.show_around(focused if self._by_keys and focused is not self._main else None)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Move on with Tab; accept a ShortcutOverride for keys that the widget handles itself."""
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            return self._moves_on(watched, event)
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            if _is_no_figure(watched, event):
                event.ignore()
                return True  # a field of a number would take it, and drop it
            writes = isinstance(watched, QPlainTextEdit | QLineEdit) and not watched.isReadOnly()
            if writes and _is_typed(event):
                event.accept()
                return True
            modified = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
            kept = next((keys for kind, keys in KEPT.items() if isinstance(watched, kind)), set())
            if not modified and event.key() in kept:
                event.accept()
                return True
        return False

    def _moves_on(self, watched: QObject, event: QKeyEvent) -> bool:
        forward = event.key() == Qt.Key.Key_Tab
        if not forward and event.key() != Qt.Key.Key_Backtab:
            return False
        modified = event.modifiers() & ~Qt.KeyboardModifier.ShiftModifier
        writes = isinstance(watched, QPlainTextEdit) and not watched.isReadOnly()
        if modified or writes or not isinstance(watched, QWidget):
            return False
        if watched.window() is not self._main:
            return False
        self._by_keys = True
        return _tab_on(self._main, forward=forward)


def _line(widget: QWidget | None) -> Iterator[QWidget]:
    """A widget and all that it lies in: what it leaves, Qt offers to them in turn."""
    while widget is not None:
        yield widget
        widget = widget.parentWidget()


def _is_no_figure(widget: QObject, event: QKeyEvent) -> bool:
    """Whether this is the field of a number, which the key could be no part of."""
    key = event.key()
    if isinstance(widget, AnswerLine):  # a question's
        plain = not event.modifiers() & ~Qt.KeyboardModifier.ShiftModifier
        if plain and key in PAGE_KEYS:
            return True  # the next question, or the one before
        # The clock and the views stay in reach; a letter is part of an answer, such as "1 sector".
        return plain and isinstance(widget, FigureLine) and key in FIGURELESS
    field = widget.parent() if isinstance(widget, QLineEdit) else widget
    letter = isinstance(field, QSpinBox) and Qt.Key.Key_A <= key <= Qt.Key.Key_Z
    number = isinstance(field, QAbstractSpinBox)
    return number and _is_typed(event) and (key == Qt.Key.Key_Space or letter)


def _is_typed(event: QKeyEvent) -> bool:
    """Whether a key belongs to the text that is typed, and not to the window's shortcuts."""
    shift = Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.KeypadModifier
    function = Qt.Key.Key_F1 <= event.key() <= Qt.Key.Key_F35
    return not event.modifiers() & ~shift and not function and event.key() != Qt.Key.Key_Escape
