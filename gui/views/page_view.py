"""A page whose widgets are made, and filled, piece by piece."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QTimer

from gui.frames.pieces import Pieces, Steps, whole
from gui.scenes.session import Session
from gui.views.base import SessionView
from gui.views.page_widget import PageWidget

PAINTED_MS = 50


class PageView(PageWidget, SessionView):
    """A subclass has two generators that yield after each piece: `building` and `refreshing`.

    It calls `build` when it is made, unless it is told that whoever makes it goes through
    `building` before it is shown (`gui.page_stack`).
    """

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.pieces = Pieces(self)
        """Of what is brought up to date in several events."""
        self._ended = False

    def building(self) -> Steps:
        """Make the widgets."""
        raise NotImplementedError

    def refreshing(self, names: frozenset[str]) -> Steps:
        """`refresh`, piece by piece."""
        raise NotImplementedError

    def build(self) -> None:
        """Make all widgets at once."""
        whole(self.building())

    def refresh(self, names: frozenset[str]) -> None:
        """Show the session as it is now, within the next events."""
        self.pieces.finish()
        self.pieces.start(self.refreshing(names))

    def catching_up(self) -> Steps:
        """Refresh what changed while this was hidden, before it is shown again."""
        stale, self._stale = self._stale, frozenset()
        if stale:
            yield from self.refreshing(stale)

    def finish(self) -> None:
        """Show at once what is being brought up to date."""
        self.pieces.finish()

    def shut_down(self) -> None:
        """End what runs."""
        self._ended = True
        self.pieces.stop()

    def when_painted(self, act: Callable[[], object]) -> None:
        """Begin what keeps Python's lock for long, as imports do, when the page is to be seen."""
        QTimer.singleShot(PAINTED_MS, self, lambda: None if self._ended else act())
