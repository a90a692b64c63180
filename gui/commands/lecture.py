"""A list of moments to go through in front of people: save, next, previous, keep in a file."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog, QMenu

from core.errors import TilescopeError
from gui.command import Command
from gui.looks.theme import theme_names
from gui.scenes.link import parse_link
from gui.scenes.moment_list import Named, read, write
from gui.views.asking import ask_text

if TYPE_CHECKING:
    from gui.main_window import MainWindow

FILES = "Moments (*.txt);;All files (*)"
LIST = "Moments"
"""The submenu of these commands, which lists the moments too."""


class Lecture(QObject):
    """The moments of one window. `at` is the place of the one that was shown last, -1 for none."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self.main = window
        self.moments: tuple[Named, ...] = ()
        self.at = -1

    def commands(self) -> list[Command]:
        """The menu's entries."""
        return [
            _entry("Next moment", "Ctrl+PgDown", partial(self.go, 1), line=True),
            _entry("Previous moment", "Ctrl+PgUp", partial(self.go, -1)),
            _entry("Save this moment…", "Ctrl+Shift+M", self.save_this, line=True),
            _entry("Take the moment away", "Ctrl+Shift+Del", self.remove),
            _entry("Open a list of moments…", "Ctrl+Shift+L", self.ask_for_list, line=True),
            _entry("Save the list of moments…", "Ctrl+Shift+K", self.save_list),
        ]

    def list_in(self, menu: QMenu) -> None:
        """Have a menu list the moments below its commands."""
        menu.aboutToShow.connect(partial(self._list, menu, len(menu.actions())))

    def _list(self, menu: QMenu, own: int) -> None:
        for action in menu.actions()[own:]:
            menu.removeAction(action)
            action.deleteLater()
        if self.moments:
            menu.addSeparator()
        for place, moment in enumerate(self.moments):
            action = menu.addAction(moment.name.replace("&", "&&"))
            action.setCheckable(True)
            action.setChecked(place == self.at)
            action.triggered.connect(lambda _=False, place=place: self.show(place))

    # ---- going through it

    def go(self, by: int) -> None:
        """Show the next moment (or the one before); say so at the ends."""
        if not self.moments:
            self._say("There are no moments yet: Ctrl+Shift+M saves this one.")
            return
        place = self.at + by if self.at >= 0 else (0 if by > 0 else len(self.moments) - 1)
        if 0 <= place < len(self.moments):
            self.show(place)
        else:
            self._say(f"This is the {'last' if by > 0 else 'first'} moment of the list.")

    def show(self, place: int) -> None:
        """Go to a moment of the list."""
        self.at = place
        moment = self.moments[place]
        self.main.moments.open_link(moment.link)

    # ---- changing it

    def save_this(self) -> None:
        """Ask for a name and put what is shown into the list, behind the moment it is at."""
        link = self.main.moments.link_now()
        if link is None:
            return
        hint = "What is shown now, with launch, step, selection and theme"
        trace = self.main.session.trace
        first = f"{trace.workload.title}, step {self.main.session.step}" if trace else ""
        name = ask_text(self.main, "Save this moment", hint, text=first, action="Save")
        if name is not None:
            self.at += 1
            kept = self.moments
            self.moments = (*kept[: self.at], Named(name, link), *kept[self.at :])
            self._say(f"Moment {self.at + 1} of {len(self.moments)}: {name}")

    def remove(self) -> None:
        """Take away the moment that was gone to last."""
        if 0 <= self.at < len(self.moments):
            gone = self.moments[self.at]
            self.moments = self.moments[: self.at] + self.moments[self.at + 1 :]
            self.at = min(self.at, len(self.moments) - 1)
            self._say(f"“{gone.name}” is no moment of the list any more.")

    def ask_for_list(self) -> None:
        """Ask for a file, and go through its moments from the first."""
        name, _ = QFileDialog.getOpenFileName(self.main, "Open a list of moments", "", FILES)
        if name:
            self.open_list(Path(name))

    def open_list(self, path: Path) -> None:
        """Take up a file's moments and show the first; a wrong one changes nothing."""
        ladder = self.main.recorder.ladder
        try:
            self.moments = read(path, lambda link: parse_link(link, ladder, theme_names()))
        except TilescopeError as error:
            self.main.message.show_message(str(error))
            return
        self.show(0)

    def save_list(self) -> None:
        """Ask for a file and write the list to it."""
        if not self.moments:
            self.go(1)  # which says what to do
            return
        name, _ = QFileDialog.getSaveFileName(
            self.main, "Save the list of moments", "moments.txt", FILES
        )
        if not name:
            return
        try:
            write(Path(name), self.moments)
        except TilescopeError as error:
            self.main.message.show_message(str(error))

    def _say(self, sentence: str) -> None:
        self.main.message.show_message(sentence, kind="info")


def _entry(text: str, key: str, run: Callable[[], object], *, line: bool = False) -> Command:
    return Command(text, (key,), run, line=line, under=LIST)
