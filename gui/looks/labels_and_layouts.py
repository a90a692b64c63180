"""Labels in the style of a role, and widgets laid beside or below one another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QLabel, QLayout, QVBoxLayout, QWidget

W = TypeVar("W", bound=QWidget)
Layout = TypeVar("Layout", bound=QBoxLayout)

Part = QWidget | QLayout | int | None
"""What stands in a row or a column: also pixels of empty room, and None for what room is left.

In a tuple with it stands its share of the room that is left.
"""
Edges = tuple[int, int, int, int]
"""Pixels left of what is laid out, above, right and below."""


def styled_label(
    text: str = "", *, role: str = "", wrap: bool = False, plain: bool = False
) -> QLabel:
    """A label in the style of a role. `plain`: what it quotes is never taken for HTML."""
    made = QLabel(text)
    made.setWordWrap(wrap)
    if role:
        made.setProperty("role", role)
    if plain:
        made.setTextFormat(Qt.TextFormat.PlainText)
    return made


def named(widget: W, name: str, tip: str = "") -> W:
    """The widget, with what screen readers call it and what is said of it when it is pointed at."""
    widget.setAccessibleName(name)
    if tip:
        widget.setToolTip(tip)
    return widget


def empty(layout: QLayout) -> None:
    """Take all widgets out of a layout; they go away."""
    while (item := layout.takeAt(0)) is not None:
        if (widget := item.widget()) is not None:
            widget.hide()
            widget.deleteLater()


def side_by_side(
    whole: QWidget | None,
    *parts: Part | tuple[Part, int],
    gap: int = -1,
    edges: Edges = (0, 0, 0, 0),
) -> QHBoxLayout:
    """Lay parts beside one another, over all of a widget if one is given, `gap` pixels apart.

    A gap of -1 is as wide as the style has it.
    """
    return _laid(QHBoxLayout(), whole, parts, gap, edges)


def stacked(
    whole: QWidget | None,
    *parts: Part | tuple[Part, int],
    gap: int = -1,
    edges: Edges = (0, 0, 0, 0),
) -> QVBoxLayout:
    """Lay parts below one another, as `side_by_side` lays them beside one another."""
    return _laid(QVBoxLayout(), whole, parts, gap, edges)


def fill(whole: QWidget, *parts: QWidget) -> None:
    """Give all of a widget to its parts, one below the other."""
    stacked(whole, *parts, gap=0)


def _laid(
    layout: Layout,
    whole: QWidget | None,
    parts: Sequence[Part | tuple[Part, int]],
    gap: int,
    edges: Edges,
) -> Layout:
    if whole is not None:
        whole.setLayout(layout)
    layout.setContentsMargins(*edges)
    layout.setSpacing(gap)
    for found in parts:
        part, share = found if isinstance(found, tuple) else (found, int(found is None))
        if part is None:
            layout.addStretch(share)
        elif isinstance(part, int):
            layout.addSpacing(part)
        elif isinstance(part, QLayout):
            layout.addLayout(part, share)
        else:
            layout.addWidget(part, share)
    return layout
