"""Chooses the window's theme and text size, and puts themes on it.

What is seen gets a theme at once, what is hidden just before it is shown.

A new style sheet would have Qt style every widget of every page. Here the sheet stays: it has the
rules of all themes, the window's name chooses among them (`gui.looks.style_sheet`), and each widget
is polished by itself.
"""

from __future__ import annotations

from collections.abc import Callable

import shiboken6
from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt
from PySide6.QtWidgets import QAbstractButton, QApplication, QWidget

from gui.looks.icons import dress_icon
from gui.looks.labels_and_layouts import follow_theme
from gui.looks.style_sheet import TEXT_SIZE, size_rules, stylesheet, window_name
from gui.looks.theme import apply_theme, theme_names
from gui.scenes.session import Session
from gui.scenes.setting_choices import TEXT_SIZES
from gui.views.glossary_words import ProseLabel
from gui.views.page_stack import PageWidget
from gui.views.session_view import SessionView

POLISHED = Qt.WidgetAttribute.WA_WState_Polished  # others will be when they are shown


def next_theme(session: Session) -> None:
    """Light, dark, projector, and light again."""
    names = theme_names()
    session.theme = names[(names.index(session.theme) + 1) % len(names)]


def change_text_size(session: Session, steps: int) -> None:
    """Make text larger, or smaller with a negative number, by so many of the sizes."""
    at = TEXT_SIZES.index(session.text_size) + steps
    session.text_size = TEXT_SIZES[min(max(at, 0), len(TEXT_SIZES) - 1)]


class Dressing(QObject):
    """Puts themes on one window: Qt styles its widgets, and `restyle()` of its parts is called."""

    def __init__(
        self,
        window: QWidget,
        theme: str,
        text_size: Callable[[], int],
        restyle: Callable[[], object],
    ) -> None:
        """`theme`: what the window wears first, from `put_on`, when all that it shows is made.

        `text_size`: the window's, per cent of the normal one; `restyle` does its own part.
        """
        super().__init__(window)
        self._window, self._text_size, self._restyle = window, text_size, restyle
        self._hidden: set[QWidget] = set()  # to be dressed when shown, with all they hold
        self._name(theme)  # first: what Qt styles by the sheet need not be styled again
        window.setStyleSheet(stylesheet() + size_rules())
        self._is_new = True

    def _name(self, theme: str) -> None:
        """Have the rules of a theme, and of the window's text size, apply to it."""
        self._window.setObjectName(window_name(theme))
        self._window.setProperty(TEXT_SIZE, self._text_size())

    def put_on(self, name: str) -> None:
        """Give the window a theme, one that there is, at the window's text size."""
        app, window = QApplication.instance(), self._window
        assert isinstance(app, QApplication)
        apply_theme(app, name, self._text_size())
        before = window.objectName()
        self._name(name)
        self._hidden.clear()
        self._dress(window, is_polished=self._is_new and window.objectName() == before)
        self._is_new = False
        if window.isVisible():  # have everything in its new place now
            QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Show and isinstance(watched, QWidget):
            watched.removeEventFilter(self)
            if watched in self._hidden:
                self._hidden.discard(watched)
                self._dress(watched)
        return False

    def dress_hidden(self, view: QWidget) -> None:
        """Dress a view that is painted without being shown, and what lies in it."""
        for top in list(self._hidden):
            if shiboken6.isValid(top) and (
                top is view or top.isAncestorOf(view) or view.isAncestorOf(top)
            ):
                self._hidden.discard(top)
                self._dress(top)

    def _dress(self, top: QWidget, *, is_polished: bool = False) -> None:
        """Polish a widget and what is seen of what it holds; then each part does what is its own.

        The window and the pages come last: they lay out what lies in them.
        """
        seen = [top]
        for widget in seen:
            if widget.testAttribute(POLISHED) and not is_polished:
                widget.style().polish(widget)
                QCoreApplication.sendEvent(widget, QEvent(QEvent.Type.StyleChange))
                widget.update()
                widget.updateGeometry()
            for child in widget.children():
                if isinstance(child, QWidget):
                    if _can_wait(child):
                        self._hidden.add(child)
                        child.installEventFilter(self)
                    else:
                        seen.append(child)
        for widget in seen:
            follow_theme(widget)
            if isinstance(widget, QAbstractButton):
                dress_icon(widget)
        views = [w for w in seen if isinstance(w, SessionView | ProseLabel)]
        pages = [w for w in seen if isinstance(w, PageWidget) and not isinstance(w, SessionView)]
        for view in views:
            view.restyle()
        if top is self._window:
            self._restyle()
        for page in pages:
            page.restyle()


def _can_wait(widget: QWidget) -> bool:
    """Whether a widget is hidden, and has much in it that nobody measures meanwhile."""
    large = isinstance(widget, SessionView | PageWidget)
    return large and widget.isHidden() and widget.testAttribute(POLISHED)
