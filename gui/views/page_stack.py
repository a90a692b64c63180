"""Shows one page at a time; a page is made when it is first shown."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QStackedWidget

from gui.views.page_parts import BlankPage, PageWidget

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Page:
    """One page of the window. `clock` says whether it shows the moment that the clock stands at.

    Beside a `bare` one stands no list of kernels: it is about none of them.
    """

    key: str
    title: str
    _: KW_ONLY
    clock: bool = False
    bare: bool = False


class Pages(QStackedWidget):
    """`came(key)` when a page is made, `turned(page)` when it is in sight."""

    turned = Signal(object)
    came = Signal(str)

    def __init__(self, rows: tuple[Page, ...], make: Callable[[str], PageWidget]) -> None:
        """`make` gives the view of a page by its key."""
        super().__init__()
        self.rows, self._make_view = rows, make
        self._made: dict[str, PageWidget] = {}
        self._blank = BlankPage()
        self.addWidget(self._blank)

    def row(self, key: str) -> Page:
        """A page by its key. Raises KeyError with the keys that there are."""
        for page in self.rows:
            if page.key == key:
                return page
        raise KeyError(f"there is no page {key!r}; there are {', '.join(p.key for p in self.rows)}")

    @property
    def current(self) -> PageWidget:
        page = self.currentWidget()
        assert isinstance(page, PageWidget)
        return page

    def made(self, key: str) -> PageWidget | None:
        """A page's view; None if it was never opened."""
        return self._made.get(key)

    def open(self, key: str) -> None:
        """Show a page. Raises KeyError with the keys that there are for any other."""
        page = self.row(key)
        if key not in self._made:
            self._blank.show_title(page.title)
            self.setCurrentWidget(self._blank)
            self._blank.repaint()  # now: to make a page may take a third of a second
        try:
            self.setCurrentWidget(self.make(key))
        except Exception as error:
            log.exception("The page %s could not be made", key)
            self._blank.show_failure(page.title, error)
        self.turned.emit(page)

    def make(self, key: str) -> PageWidget:
        if key not in self._made:
            view = self._make_view(key)
            if self.indexOf(view) < 0:
                self.addWidget(view)
            self._made[key] = view
            self.came.emit(key)
        return self._made[key]

    def shut_down(self) -> None:
        for page in self._made.values():
            page.shut_down()
