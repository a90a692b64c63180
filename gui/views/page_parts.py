"""What pages without a clock are laid out with: splitters, choices, and the row over a plot."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QSplitter, QVBoxLayout, QWidget

from gui.looks.theme import current_theme
from gui.views.base import Caption

HANDLE = 8  # pixels between panels
SUBJECT_LINES = 4


def panels_in(orientation: Qt.Orientation) -> QSplitter:
    """Where panels stand beside or above one another, none of which can be pushed away."""
    splitter = QSplitter(orientation)
    splitter.setHandleWidth(HANDLE)
    splitter.setChildrenCollapsible(False)
    return splitter


def fill(page: QWidget, whole: QWidget) -> None:
    """Give all of a page to a widget."""
    layout = QVBoxLayout(page)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.addWidget(whole)


def share(splitter: QSplitter, shares: tuple[int, int], sizes: tuple[int, int]) -> None:
    """How two panels share more room, and how much they have at first, in any unit."""
    for place, part in enumerate(shares):
        splitter.setStretchFactor(place, part)
    splitter.setSizes(list(sizes))


def subject_caption() -> Caption:
    """What the page is about, beside what chooses it."""
    caption = Caption()
    caption.setAlignment(Qt.AlignmentFlag.AlignVCenter)
    caption.may_take(SUBJECT_LINES)
    return caption


def choice(name: str, tip: str, letters: int) -> QComboBox:
    """A box as wide as so many letters, whatever it offers."""
    box = QComboBox()
    box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    box.setMinimumContentsLength(letters)
    box.setAccessibleName(name)
    box.setToolTip(tip)
    return box


def subject_row(subject: Caption, choices: Sequence[QWidget], *, below: int = 0) -> QHBoxLayout:
    """The subject with the rest of the room, then its choices; `below`: pixels under them."""
    space = current_theme().spacing
    row = QHBoxLayout()
    row.setContentsMargins(space.margin, 0, space.margin, below)
    row.setSpacing(space.gap)
    row.addWidget(subject, 1)
    for widget in choices:
        row.addWidget(widget)
    return row
