"""Which widget has the keyboard: the picture of the page that is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QWidget

if TYPE_CHECKING:
    from gui.main_window import MainWindow


def focus_page(window: MainWindow) -> None:
    """Give the keyboard to the page's main view, so that Space plays and no tab keeps it.

    A page may name that view by `main_view()`; of others it is the page itself, from which Tab
    leads to its first control. While the tour is shown, the keys stay the tour's.
    """
    if window.touring.overlay is not None:
        return
    page = window.pages.currentWidget()
    named = getattr(page, "main_view", None)
    view = named() if named is not None else page
    if isinstance(view, QWidget):
        view.setFocus()
