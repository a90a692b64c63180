"""Which widget has the keyboard: the picture of the page that is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gui.main_window import MainWindow


def focus_page(window: MainWindow) -> None:
    """Give the keyboard to the page's main view, so that Space plays and no tab keeps it.

    The view is what the page's `main_view()` gives; the page itself is one from which Tab leads
    to its first control. While the tour is shown, the keys stay the tour's.
    """
    if window.touring.overlay is not None:
        return
    window.pages.current.main_view().setFocus()
