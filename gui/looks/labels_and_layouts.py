"""Labels in the style of a role, and widgets laid beside or below one another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QBoxLayout,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLayout,
    QSizePolicy,
    QSpacerItem,
    QVBoxLayout,
    QWidget,
)

from gui.looks.theme import current_theme

W = TypeVar("W", bound=QWidget)
Layout = TypeVar("Layout", bound=QBoxLayout)


@dataclass(frozen=True)
class Distance:
    """One of the theme's distances, or a part of it, and `more` pixels."""

    name: str
    more: int = 0
    parts: int = 1

    @property
    def pixels(self) -> int:
        """As the theme has it now, in the text size that it is worn in."""
        whole: int = getattr(current_theme().spacing, self.name)
        return whole // self.parts + self.more

    def __add__(self, pixels: int) -> Distance:
        return replace(self, more=self.more + pixels)

    def __sub__(self, pixels: int) -> Distance:
        return self + -pixels

    def __floordiv__(self, parts: int) -> Distance:
        return replace(self, parts=parts)


GAP, MARGIN = Distance("gap"), Distance("margin")
Length = int | Distance
"""Pixels that stay, or a distance that another theme or text size has otherwise."""
Part = QWidget | QLayout | QSpacerItem | Length | None
"""What stands in a row or a column: also empty room of a length, and None for what room is left.

In a tuple with it stands its share of the room that is left.
"""
Edges = tuple[Length, Length, Length, Length]
"""What is left free left of what is laid out, above, right and below."""


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
    gap: Length = -1,
    edges: Edges = (0, 0, 0, 0),
) -> QHBoxLayout:
    """Lay parts beside one another, over all of a widget if one is given, with `gap` between them.

    A gap of -1 is as wide as the style has it.
    """
    return _laid(QHBoxLayout(), whole, parts, gap, edges)


def stacked(
    whole: QWidget | None,
    *parts: Part | tuple[Part, int],
    gap: Length = -1,
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
    gap: Length,
    edges: Edges,
) -> Layout:
    if whole is not None:
        whole.setLayout(layout)
    rooms: list[tuple[QSpacerItem, Length]] = []
    for found in parts:
        part, share = found if isinstance(found, tuple) else (found, int(found is None))
        if part is None:
            layout.addStretch(share)
        elif isinstance(part, int | Distance):
            rooms.append((QSpacerItem(0, 0), part))
            layout.addItem(rooms[-1][0])
        elif isinstance(part, QSpacerItem):
            layout.addItem(part)
        elif isinstance(part, QLayout):
            layout.addLayout(part, share)
        else:
            layout.addWidget(part, share)
    space_out(layout, gap=gap, edges=edges, rooms=rooms)
    return layout


@dataclass(frozen=True)
class _Lengths:
    """What a layout was spaced out with."""

    gap: Length
    edges: Edges
    rooms: Sequence[tuple[QSpacerItem, Length]]

    def put_on(self, layout: QLayout) -> None:
        gap, *edges = map(_pixels, (self.gap, *self.edges))
        layout.setContentsMargins(*edges)
        if isinstance(layout, QGridLayout):
            layout.setVerticalSpacing(gap)
        else:
            layout.setSpacing(gap)
        kinds = QSizePolicy.Policy
        for room, length in self.rooms:
            if isinstance(layout, QHBoxLayout):
                room.changeSize(_pixels(length), 0, kinds.Fixed, kinds.Minimum)
            else:
                room.changeSize(0, _pixels(length), kinds.Minimum, kinds.Fixed)
        layout.invalidate()


_LENGTHS = "lengths"  # the property of a layout that has them


def space_out(
    layout: QLayout,
    *,
    gap: Length = -1,
    edges: Edges = (0, 0, 0, 0),
    rooms: Sequence[tuple[QSpacerItem, Length]] = (),
) -> None:
    """Set a layout's distances, now and in `follow_theme`; a grid's gap is that between rows."""
    lengths = _Lengths(gap, edges, rooms)
    lengths.put_on(layout)
    if any(isinstance(one, Distance) for one in (gap, *edges, *(length for _, length in rooms))):
        layout.setProperty(_LENGTHS, lengths)


def follow_theme(widget: QWidget) -> None:
    """Give a widget's layouts the distances that they have in the theme that is worn now."""
    layout = widget.layout()
    for one in (layout, *layout.findChildren(QLayout)) if layout is not None else ():
        lengths = one.property(_LENGTHS)
        if lengths is not None:
            lengths.put_on(one)


def _pixels(length: Length) -> int:
    return length.pixels if isinstance(length, Distance) else length
