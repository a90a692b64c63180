"""One view large: which view, and which parts of the window make room; and the full screen."""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QApplication

from gui.commands.keyboard_focus import focus_page
from gui.commands.window_parts import Window
from gui.views.view_docks import ViewDock


def toggle_full_screen(window: Window) -> None:
    """Fill the screen, and go back to a maximised window where it was one."""
    window.setWindowState(window.windowState() ^ Qt.WindowState.WindowFullScreen)


class Enlarging(QObject):
    """Shows the view that is looked at over the whole page, beside which nothing stands."""

    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self._main = window
        self._sizes: list[int] = []
        self._left_was_shown = True
        for dock in window.step_page.docks.values():
            dock.title.large.clicked.connect(lambda _=False, dock=dock: self.toggle(dock))
        window.session.large_changed.connect(self._show)

    @property
    def left(self) -> int:
        """The left column's width in the layout that comes back; 0 while it is hidden."""
        if not self._main.session.large:
            return self._main.body.sizes()[0]
        return self._sizes[0] if self._left_was_shown else 0

    def toggle(self, dock: ViewDock | None = None) -> None:
        """Enlarge a view, by default the one in focus or else in front, or bring all back."""
        session = self._main.session
        if session.large:
            session.large = False
        elif session.page != "step":
            session.large = True
        else:
            session.update(view=dock.name if dock is not None else self._looked_at(), large=True)

    def back(self) -> bool:
        """Bring all back; whether there was anything to do."""
        was, self._main.session.large = self._main.session.large, False
        return was

    def _looked_at(self) -> str:
        """The view in focus, or else the one brought to the front last that is to be seen."""
        page, focus = self._main.step_page, QApplication.focusWidget()
        for name, dock in page.docks.items():
            if focus is not None and dock.isAncestorOf(focus):
                return name
        named = self._main.session.view
        return named if named in page.docks and page.in_front(named) else next(iter(page.docks))

    def _show(self, large: bool) -> None:
        main = self._main
        if large:
            self._left_was_shown = not main.left.isHidden()
            self._sizes = main.body.sizes()
            focus = QApplication.focusWidget()  # now: Qt moves it on from what is hidden
            main.step_page.show_large()
            main.left.hide()
            if focus is not None and focus.isVisible():
                focus.setFocus()
            else:
                focus_page(main)
            main.dressing.put_on(main.session.theme)  # in larger type
        else:
            main.dressing.put_on(main.session.theme)  # first, so that views have the sizes they had
            main.left.setVisible(self._left_was_shown)
            if self._left_was_shown:  # first, so that the views come back to the room they had
                main.left_column.take(self._sizes[0])
            main.step_page.show_all()
