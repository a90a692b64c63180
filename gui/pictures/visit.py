"""A page that is shown for a picture alone: nobody sees it, and everything comes back as it was."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from gui.docks.dock_area import DockArea
from gui.frames.still import Still
from gui.views.page_widget import PageWidget

if TYPE_CHECKING:
    from gui.main_window import MainWindow

_DEAF = Qt.WidgetAttribute.WA_TransparentForMouseEvents


class Visit:
    """Within, a page stands in the window's place for pages, and the window is not painted.

    Most views work nothing out before they are shown. The mouse does not reach the page.
    """

    def __init__(self, window: MainWindow, page: PageWidget) -> None:
        self.main, self.pages, self.page = window, window.pages, page
        self._still = Still(window)
        self._before: QWidget = page
        self._focus: QWidget | None = None

    def __enter__(self) -> None:
        self._before, self._focus = self.pages.current, self.main.focusWidget()
        self._still.hold([self.main])
        self.page.setAttribute(_DEAF, True)
        self._turn_to(self.page)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.page.setAttribute(_DEAF, False)
        if self.pages.currentWidget() is self.page:  # else somebody has turned to another
            self._turn_to(self._before)
            if self._focus is not None and self._focus.isVisible():
                self._focus.setFocus()
            if self.pages.ready(self.main.session.page) is self.page:
                self.pages.open(self.main.session.page)
        self._still.release()
        self._still.deleteLater()

    def _turn_to(self, page: QWidget) -> None:
        """Docks say that they come into sight, which is not the user's doing here."""
        with ExitStack() as stack:
            for area in (self.page, self._before):
                if isinstance(area, DockArea):
                    stack.enter_context(area.arranging())
            self.pages.setCurrentWidget(page)
