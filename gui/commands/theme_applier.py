"""Puts themes on a window, widget by widget; nothing is painted until all that is seen is dressed.

A new style sheet would have Qt style every widget in one piece. Here the sheet stays: it has the
rules of all themes, the window's name chooses among them (`gui.looks.style`), and each widget is
polished by itself, those in sight first. What is hidden follows between the window's other events,
or just before it is painted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Protocol

import shiboken6
from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt
from PySide6.QtWidgets import QApplication, QMainWindow, QWidget

from gui.background.pieces import PAUSE, Pieces, Steps
from gui.background.still import Still
from gui.looks.style import TEXT_SIZE, size_rules, stylesheet, window_name
from gui.looks.theme import apply_theme
from gui.views.base import SessionView


class Dressed(Protocol):
    """A widget that has something to do itself for a new theme."""

    def restyling(self) -> Iterator[object]:
        """Take up the theme, piece by piece."""
        ...

    def isVisible(self) -> bool:
        """Whether it is to be seen."""
        ...


class Dressing(QObject):
    """Puts themes on one window.

    Every `SessionView` and each of `parts` is told: its `restyling()` is gone through.
    """

    def __init__(
        self,
        window: QMainWindow,
        text_size: Callable[[], int],
        parts: Callable[[], Iterable[Dressed]],
    ) -> None:
        """`text_size` gives that of the window, per cent of the normal one."""
        super().__init__(window)
        self._window, self._text_size, self._parts = window, text_size, parts
        self._pieces = Pieces(self)
        self._still = Still(self)
        self._naked: dict[QWidget, None] = {}
        self._untold: dict[Dressed, None] = {}
        self._pieces.done.connect(lambda: window.removeEventFilter(self))
        window.setStyleSheet(stylesheet() + size_rules())

    @property
    def busy(self) -> bool:
        """Whether something does not wear the theme yet."""
        return self._pieces.busy

    def put_on(self, name: str) -> None:
        """Begin to give the window a theme, one that there is, at the window's text size."""
        self._still.hold(w for w in QApplication.topLevelWidgets() if w.isVisible())
        self._window.installEventFilter(self)
        self._pieces.start(
            chain(
                self._begin(name),
                self._dress(hidden=False),
                chain.from_iterable(self._tell(hidden=False)),
                self._dress(hidden=False),  # a new layout may have brought more into sight
                chain.from_iterable(self._tell(hidden=False)),
                self._let_paint(),
                self._dress(hidden=True),
                chain.from_iterable(self._tell(hidden=True)),
            )
        )

    def _begin(self, name: str) -> Steps:
        """Type and palette of the application, the window's name, and what is to be done."""
        app, window = QApplication.instance(), self._window
        assert isinstance(app, QApplication)
        apply_theme(app, name, size := self._text_size())
        window.setObjectName(window_name(name))
        window.setProperty(TEXT_SIZE, size)
        yield PAUSE
        everything = [window, *window.findChildren(QWidget)]
        yield PAUSE
        polished = Qt.WidgetAttribute.WA_WState_Polished  # others will be when they are shown
        there = list(filter(shiboken6.isValid, everything))
        self._naked = {w: None for w in there if w.testAttribute(polished)}
        views: list[Dressed] = [w for w in there if isinstance(w, SessionView)]
        self._untold = dict.fromkeys([*views, *self._parts()])
        yield PAUSE

    def finish(self) -> None:
        """Dress at once what is left."""
        self._pieces.finish()

    def stop(self) -> None:
        """Leave it: the window goes away."""
        self._pieces.stop()
        self._still.release()
        self._window.removeEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Dress what has come into sight before the window paints it."""
        if event.type() == QEvent.Type.UpdateRequest and not self._still:
            for _ in chain(self._dress(hidden=False), *self._tell(hidden=False)):
                pass
        return super().eventFilter(watched, event)

    def _let_paint(self) -> Steps:
        yield PAUSE  # the last layouts come first
        self._still.release()
        yield None

    def _dress(self, *, hidden: bool) -> Steps:
        """Have Qt style the widgets anew, one by one."""
        changed = QEvent(QEvent.Type.StyleChange)
        for widget in list(self._naked):
            if widget not in self._naked:
                continue
            if not shiboken6.isValid(widget):
                del self._naked[widget]
            elif hidden or widget.isVisible():
                del self._naked[widget]
                widget.style().polish(widget)
                QCoreApplication.sendEvent(widget, changed)
                widget.update()
                widget.updateGeometry()
                yield

    def _tell(self, *, hidden: bool) -> Iterator[Iterator[object]]:
        """What each part has to do itself."""
        for part in list(self._untold):
            if not shiboken6.isValid(part):
                self._untold.pop(part, None)
            elif part in self._untold and (hidden or part.isVisible()):
                del self._untold[part]
                yield part.restyling()
