"""What a page is to the window, and the stack that shows one of them.

A page is made when it is first shown.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from gui.background import close_workers
from gui.looks.labels_and_layouts import styled_label
from gui.scenes.session import Session
from gui.views.session_view import SessionView

log = logging.getLogger(__name__)

if TYPE_CHECKING:
    from core.explain.explanations import Explanation
    from core.gpu.benchmark_result import BenchmarkResult

    Base = QWidget
else:
    Base = object  # any kind of widget may be a page: this stands before it among the bases


class PageWidget(Base):
    """Base of every page, beside its kind of widget: `class SomePage(PageWidget, QWidget)`.

    What a page does not say is done as here: nothing.
    """

    def restyle(self) -> None:
        """Take up a new theme; each `SessionView` on the page does so by itself."""

    def be_pictured(self, on: bool) -> None:
        """A picture is made of this page while it is hidden: `on` before, and off after."""

    def shut_down(self) -> None:
        """End what runs, and wait for it."""

    def main_view(self) -> QWidget:
        """What has the keyboard when the page is opened."""
        return self

    @property
    def measured(self) -> tuple[BenchmarkResult, ...]:
        """What was measured, or imported, on this page."""
        return ()

    def explanation(self) -> Explanation | None:
        """What "Why this number?" says here; None where it is about the clock's moment.

        A page that shows something else later says so: `session.tell(frozenset({"explained"}))`.
        """
        return None

    def pictures(self) -> dict[str, QWidget]:
        """What can be saved by itself, by name."""
        return {}


PAINTED_MS = 50


class PageView(PageWidget, SessionView):
    """A page that refreshes as a view does."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._ended = False

    def shut_down(self) -> None:
        self._ended = True
        for timer in self.findChildren(QTimer):
            timer.stop()
        close_workers(self)

    def when_painted(self, act: Callable[[], object]) -> None:
        """Begin what keeps Python's lock for long, as imports do, when the page is to be seen."""
        QTimer.singleShot(PAINTED_MS, self, lambda: None if self._ended else act())


class BlankPage(PageWidget, QWidget):
    """Says that a page is being made, or why it is not there."""

    def __init__(self) -> None:
        super().__init__()
        self.sentence = styled_label(role="dim", plain=True, wrap=True)
        self.sentence.setAlignment(Qt.AlignmentFlag.AlignCenter)
        QVBoxLayout(self).addWidget(self.sentence)

    def say(self, sentence: str) -> None:
        self.sentence.setText(sentence)
        self.setAccessibleName(sentence)


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
            self._blank.say(f"Opening the page {page.title} …")
            self.setCurrentWidget(self._blank)
            self._blank.repaint()  # now: to make a page may take a third of a second
        try:
            self.setCurrentWidget(self.make(key))
        except Exception as error:
            log.exception("The page %s could not be made", key)
            self._blank.say(f"The page {page.title} could not be opened: {error!r}.")
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
