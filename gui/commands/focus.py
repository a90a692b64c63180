"""Which widget has the keyboard: the picture of the page that is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QApplication

if TYPE_CHECKING:
    from gui.main_window import MainWindow


MOST_WIDGETS = 1000  # of a window that Tab goes past: there may be none in sight


def in_sight(move: Callable[[bool], bool], forward: bool) -> bool:
    """Move the focus until what has it can be seen; what `move` gives when it ends."""
    for _ in range(MOST_WIDGETS):
        moved, focused = move(forward), QApplication.focusWidget()
        if not moved or focused is None or not focused.visibleRegion().isEmpty():
            return moved
    return False


def focus_page(window: MainWindow) -> None:
    """Give the keyboard to the page's main view, so that Space plays and no tab keeps it.

    The view is what the page's `main_view()` gives; the page itself is one from which Tab leads
    to its first control. While the tour is shown, the keys stay the tour's.
    """
    if window.touring.overlay is not None:
        return
    window.pages.current.main_view().setFocus()
