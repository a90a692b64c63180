"""Shows one page at a time, and makes pages: piece by piece, in short events.

A page that is asked for before it is made shows an empty one meanwhile. Pages marked `ahead` are
made while nobody steps, plays or waits for something.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from itertools import chain

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QStackedWidget

from gui.background.importing import Importer
from gui.background.pieces import PAUSE, Pieces, Steps, Wait
from gui.background.still import Still
from gui.scenes.session import Session
from gui.views.page_parts import BlankPage, PageWidget

FIRST_MS = 500  # after the first trace, before anything is made ahead
QUIET_S = 0.5  # since the session last changed
SOON, LATER = Wait(10), Wait(200)


@dataclass(frozen=True)
class Page:
    """One page of the window, as the stack knows it.

    `modules` are imported before it is made. `clock` says whether it shows the moment that the
    clock stands at, `ahead` whether it is made before it is asked for.
    """

    key: str
    title: str
    _: KW_ONLY
    modules: tuple[str, ...] = ()
    clock: bool = False
    ahead: bool = False


class Pages(QStackedWidget):
    """`turned(page)` when a page, or the empty one for it, is in sight; `came(key)` when made."""

    turned = Signal(object)
    came = Signal(str)

    def __init__(
        self,
        session: Session,
        rows: tuple[Page, ...],
        make: Callable[[str], PageWidget],
        busy: Callable[[], bool],
    ) -> None:
        """`make` gives the view of a page by its key, whole but for what `building` does.

        While `busy` says so, no page is made ahead.
        """
        super().__init__()
        self.session, self.rows, self._make_view, self._busy = session, rows, make, busy
        self._made: dict[str, PageWidget] = {}
        self._making: dict[str, Steps] = {}
        self._wanted: Page | None = None
        self._shown = ""
        self._blank = BlankPage()
        self.addWidget(self._blank)
        self._still = Still(self)
        self.importer = Importer(self)
        self._opening, self._ahead = Pieces(self), Pieces(self)
        self._changed_at = 0.0
        session.changed.connect(self._on_changed)

    def row(self, key: str) -> Page:
        """A page by its key. Raises KeyError with the keys that there are."""
        for page in self.rows:
            if page.key == key:
                return page
        raise KeyError(f"there is no page {key!r}; there are {', '.join(p.key for p in self.rows)}")

    @property
    def current(self) -> PageWidget:
        """The page in sight, or the empty one in its place."""
        page = self.currentWidget()
        assert isinstance(page, PageWidget)
        return page

    @property
    def whole(self) -> tuple[PageWidget, ...]:
        """The pages that are made."""
        return tuple(self._made.values())

    def ready(self, key: str) -> PageWidget | None:
        """A page's view, None while it is not whole."""
        return self._made.get(key)

    def made(self, key: str) -> PageWidget | None:
        """A page's view; the one that is being opened is finished. None if it was never opened."""
        if self._wanted is not None and self._wanted.key == key:
            self.finish()
        return self._made.get(key)

    def open(self, key: str) -> None:
        """Begin to show a page. Raises KeyError with the keys that there are for any other."""
        self._wanted = page = self.row(key)
        self._opening.start(self._open(page))

    def finish(self) -> None:
        """Show at once the page that is being opened, and what is new on it."""
        if self._wanted is not None and self._opening.busy:
            self.importer.now(self._wanted.modules)
            self._opening.finish()
        self.current.finish()

    def making(self, key: str) -> Steps:
        """Make a page without showing it, piece by piece; from where it was left."""
        yield from self._make(self.row(key))

    def make_ahead(self) -> None:
        """Make what may be wanted, while there is nothing else to do."""
        if not self._ahead.busy:
            imports = (self._import(page) for page in self.rows)
            pages = (self._make(page) for page in self.rows if page.ahead)
            work = chain(chain.from_iterable(imports), chain.from_iterable(pages))
            self._ahead.start(_Patient(work, self._quiet), waits_ms=FIRST_MS)

    def shut_down(self) -> None:
        """Have every page stop what it runs, and make no more."""
        self._opening.stop()
        self._ahead.stop()
        self._still.release()
        self.importer.close()
        for index in range(self.count()):
            page = self.widget(index)
            assert isinstance(page, PageWidget)
            page.shut_down()

    # ---- opening

    def _open(self, page: Page) -> Steps:
        if page.key not in self._made:
            self._blank.show_title(page.title)
            self._turn(page, self._blank)
            yield PAUSE  # it is painted now
            try:
                yield from self._make(page)
            except Exception as error:
                self._blank.show_failure(page.title, error)
                raise
        view = self._made[page.key]
        self._still.hold([self.window()])
        try:
            yield from view.catching_up()
            if view is not self.currentWidget():
                self.setCurrentWidget(self._blank)  # to hide one and show another takes two events
                yield PAUSE
                self._turn(page, view)
                yield PAUSE
        finally:
            self._still.release()

    def _turn(self, page: Page, view: PageWidget) -> None:
        self.setCurrentWidget(view)
        self._shown = page.key
        self.turned.emit(page)

    # ---- making

    def _import(self, page: Page) -> Steps:
        while not self.importer.want(page.modules):
            yield SOON

    def _make(self, page: Page) -> Steps:
        """Go on with a page from where it was left."""
        if page.key not in self._made:
            making = self._making.setdefault(page.key, self._building(page))
            try:
                for given in making:  # noqa: UP028  it stays open for whoever goes on with it
                    yield given
            finally:
                if inspect.getgeneratorstate(making) == inspect.GEN_CLOSED:
                    self._making.pop(page.key, None)

    def _building(self, page: Page) -> Steps:
        yield from self._import(page)
        view = self._make_view(page.key)
        yield
        try:
            if self.indexOf(view) < 0:
                self.addWidget(view)
            yield from view.building()
            yield from view.preparing()
        except Exception:
            view.shut_down()
            self.removeWidget(view)
            view.deleteLater()
            raise
        self._made[page.key] = view
        self.came.emit(page.key)

    def _on_changed(self, names: frozenset[str]) -> None:
        self._changed_at = time.perf_counter()

    def _quiet(self) -> bool:
        """Whether nobody minds if a page is made now."""
        if self._opening.busy or self.session.playing or self._busy():
            return False
        return time.perf_counter() - self._changed_at > QUIET_S


class _Patient:
    """A work that goes on only while it is quiet."""

    def __init__(self, work: Iterator[object], quiet: Callable[[], bool]) -> None:
        self._work, self._quiet = work, quiet

    def __iter__(self) -> _Patient:
        return self

    def __next__(self) -> object:
        return next(self._work) if self._quiet() else LATER
