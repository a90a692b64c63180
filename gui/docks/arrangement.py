"""How the views of the step page are laid out until somebody moves them: by the room there is."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QSize
from PySide6.QtGui import QFontMetrics

from gui.looks.theme import current_theme

WIDE = 155  # digits: from here on, shared memory has a place of its own beside the source
LOW = 32  # lines of text: below, two rows of views are all there is room for
HIGH = 80  # lines of text: from here on, what shared a place stands above each other


@dataclass(frozen=True)
class Cell:
    """Views that share a place, one of them in front, and the place's share of its row."""

    names: tuple[str, ...]
    share: int


@dataclass(frozen=True)
class Row:
    """Columns beside each other (each of one or more cells on top of each other)."""

    columns: tuple[tuple[Cell, ...], ...]
    share: int


Layout = tuple[Row, ...]

CODE = ("Source", "PTX", "Phases")
LISTS = ("Breakpoints", "Findings")


def layout_for(size: QSize, digit: int, line: int) -> Layout:
    """The layout for a size in pixels, with the width of a digit and the height of a line."""
    wide, high = size.width() > WIDE * digit, size.height() > HIGH * line
    if size.height() < LOW * line:
        return _low()
    if wide and high:
        return _large()
    if wide:
        return _wide()
    return _small()


def _low() -> Layout:
    """Matrices and memory, and below them one view at a time over the whole width."""
    upper = Row(((Cell(("Matrices",), 54),), (Cell(("Warp", "Shared"), 46),)), 62)
    return upper, Row(((Cell((*CODE, "Variables", "Counters", *LISTS), 100),),), 38)


def _small() -> Layout:
    upper = Row(((Cell(("Matrices",), 57),), (Cell(("Warp", "Shared"), 43),)), 55)
    figures = Cell(("Variables", "Counters", *LISTS), 38)
    return upper, Row(((Cell(CODE, 62),), (figures,)), 45)


def _wide() -> Layout:
    upper = Row(((Cell(("Matrices",), 56),), (Cell(("Warp",), 44),)), 55)
    figures = Cell(("Variables", "Counters", *LISTS), 27)
    lower = ((Cell(CODE, 45),), (Cell(("Shared",), 28),), (figures,))
    return upper, Row(lower, 45)


def _large() -> Layout:
    """Everything at once: a column of memory, the code, and the figures above each other."""
    upper = Row(((Cell(("Matrices",), 56),), (Cell(("Warp",), 44),)), 50)
    figures = (Cell(("Variables",), 50), Cell(("Counters", *LISTS), 50))
    code = (Cell(("Source",), 46),), (Cell(("PTX", "Phases"), 46),)
    return upper, Row((*code, (Cell(("Shared",), 38),), figures), 50)


def units() -> tuple[int, int]:
    """The width of a digit and the height of a line, in pixels."""
    metrics = QFontMetrics(current_theme().font())
    return metrics.horizontalAdvance("0"), metrics.lineSpacing()
