"""Links to what is shown, and lists of them: made, opened, kept, and gone through before people."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QMenu

from core.errors import ParameterError, TilescopeError
from core.links import EXAMPLE, Link
from gui.commands.editing_and_opening import Workbench
from gui.commands.window_parts import Window
from gui.looks.theme import theme_names
from gui.scenes.configuration import Configuration
from gui.scenes.lists_of_moments import Named, read, write
from gui.scenes.moment_links import (
    conditions_of,
    configuration_of,
    go_to,
    link_to,
    show_pages,
    window_link,
    with_instructions,
)
from gui.scenes.numbers_and_sentences import plural
from gui.views.dialogs import ask_text

FILES = "Moments (*.txt);;All files (*)"


class Moments(QObject):
    """Links and restored places of one window."""

    def __init__(self, window: Window, workbench: Workbench) -> None:
        super().__init__(window)
        self.main, self.workbench = window, workbench
        self.session = window.session
        self.recorder = window.recorder
        self.awaited: Link | None = None  # the one that is being recorded
        self.key = ""
        """Names the source of the moment that was opened last."""
        self._instead = ""
        self._excuse = ""
        self._sentence = ""
        self.recorder.arrived.connect(self._arrive)
        self.recorder.recorded.connect(self._say)
        self.recorder.failed.connect(self._give_up)
        workbench.opener.failed.connect(self._give_up)
        workbench.opened.connect(self._show_opened)

    def _show_opened(self, key: str) -> None:
        """A file is shown step by step, unless a link or a session has chosen its page."""
        if self.awaited is None or self.key != key:
            self.main.show_page("step")

    def copy_link(self) -> None:
        link = self.link_now()
        if link is None:
            return
        QGuiApplication.clipboard().setText(link)
        shown = link if len(link) < 120 else f"{link[:117]}…"
        self._say_copied(f'Copied. Open it with: tilescope "{shown}"')

    def copy_instructions(self) -> None:
        """Put the link on the clipboard with what people need who do not have the application."""
        link = self.link_now()
        if link is None:
            return
        QGuiApplication.clipboard().setText(with_instructions(self.session, link))
        self._say_copied("Copied: what the link shows, how to install Tilescope, and the link.")

    def _say_copied(self, sentence: str) -> None:
        typed = " It leads to the text that was run, not to what was typed since."
        self.main.message.tell(f"{sentence}{typed if self._typed() else ''}")

    def link_now(self) -> str | None:
        """A link to what is shown; None, and a sentence in the window, where there can be none."""
        try:
            compared = self.session.page == "compare"
            versus = self.session.versus if compared else None
            return link_to(self.session, versus)
        except ParameterError as error:
            self.main.message.show_message(str(error))
            return None

    def _typed(self) -> bool:
        draft, now = self.main.step_page.source.draft, self.session.configuration
        return now is not None and draft.key == now.key and draft.stale

    def ask_for_link(self) -> None:
        hint = f"Such as {EXAMPLE}, or what “Copy link” (Ctrl+Shift+C) put on the clipboard"
        text = ask_text(self.main, "Open a link", hint, action="Open", check=self.mistake_of)
        if text is not None:
            self.open_link(text)

    def mistake_of(self, text: str) -> str:
        """Why a text is not a link; empty where it is one."""
        try:
            window_link(text, self.recorder.ladder, theme_names())
        except ParameterError as error:
            return str(error)
        return ""

    def open_link(self, text: str) -> bool:
        """Go to the moment that a link names; a wrong one is a sentence here, and gives False."""
        try:
            self.open_moment(window_link(text, self.recorder.ladder, theme_names()))
        except ParameterError as error:
            self.main.message.show_message(str(error))
            return False
        return True

    def say_with_launch(self, sentence: str) -> None:
        """Say something once the launch that is asked for is shown."""
        self._excuse = sentence

    def open_moment(self, link: Link) -> None:
        """Record what a link names and look where it says. Raises ParameterError for its rung."""
        self.main.moment_title.hide()  # which is another one's
        self.session.theme = link.looks.get("theme", self.session.theme)
        wanted, given = configuration_of(link), conditions_of(link)
        self._expect(link, wanted)
        if link.own is not None:
            given = replace(given, inputs=self.session.inputs)  # its form says what it reads
            self.workbench.reopen(wanted, link.block, linked=True, given=given)
        else:
            self.recorder.ask(wanted, link.block, given=given)

    def restore(self, wanted: Configuration, places: Link, instead: str) -> None:
        """Record what an earlier session showed; the rung `instead` where that fails."""
        known = wanted.own is not None or wanted.rung in self.recorder.ladder
        if not known:
            self.recorder.configure(instead)
            return
        self._expect(places, wanted, instead)
        if wanted.own is not None:
            self.workbench.reopen(wanted, places.block)
        else:
            self.recorder.ask(wanted, places.block)

    def _expect(self, link: Link, wanted: Configuration, instead: str = "") -> None:
        self.session.playing = 0
        if link.versus is not None:
            page = link.looks.get("page", "compare")
            self.session.update(versus=configuration_of(link.versus), page=page)
        else:
            self.main.show_page(link.looks.get("page", "step"))
        show_pages(self.session, link)
        self.awaited, self.key, self._instead = link, wanted.key, instead

    def _arrive(self) -> None:
        shown = self.session.asked_for
        if self.awaited is not None and (shown is None or shown.key != self.key):
            if self.workbench.opener.busy:
                return  # what was asked for before it
            self.awaited = None  # something else was asked for since
        link, self.awaited, self._instead = self.awaited, None, ""
        sentence, self._excuse = self._excuse, ""
        if link is not None:
            sentence = f"{sentence} {go_to(self.session, link)}".strip()
        self._sentence = sentence

    def _say(self) -> None:
        sentence, self._sentence = self._sentence, ""
        if sentence:  # after the window has cleared what it said before
            QTimer.singleShot(0, self, lambda: self.main.message.show_message(sentence))

    def _give_up(self, error: object) -> None:
        instead, self.awaited, self._instead = self._instead, None, ""
        if instead:
            self._excuse = f"What was shown last could not be restored: {error}"
            now = self.session.configuration
            self.recorder.configure(instead)
            if now is not None and now.source is not None:  # what was typed must not be lost
                self.main.step_page.source.draft.restore({now.key: now.source})


# -- a list of moments to go through in front of people --------------------------------------------


class Lecture(QObject):
    """The moments of one window. `at` is the place of the one that was shown last, -1 for none.

    The list is kept with the session; whatever changes it can be taken back. The signal `changed()`
    says that it is another.
    """

    changed = Signal()

    def __init__(self, window: Window, links: Moments) -> None:
        super().__init__(window)
        self.main, self.links = window, links
        self.moments: tuple[Named, ...] = ()
        self.at = -1
        self._before: tuple[tuple[Named, ...], int] = (), -1
        self._key = ""  # of the source that the titled moment shows
        self.title = window.moment_title
        self.title.moved.connect(self.go)
        self.title.ended.connect(self.title.hide)
        window.session.configuration_changed.connect(self._follow)

    def list_in(self, menu: QMenu) -> None:
        """List the moments below what a menu has of its own."""
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
            self.main.message.tell("There are no moments yet: Ctrl+Shift+M saves this one.")
            return
        place = self.at + by if self.at >= 0 else (0 if by > 0 else len(self.moments) - 1)
        if 0 <= place < len(self.moments):
            self.show(place)
        else:
            end = "last" if by > 0 else "first"
            self.main.message.tell(f"This is the {end} moment of the list.")

    def show(self, place: int) -> None:
        self.at = place
        moment = self.moments[place]
        if self.links.open_link(moment.link):
            self._key = self.links.key
            self.title.show_moment(moment.name, place, len(self.moments))

    def _follow(self, wanted: Configuration) -> None:
        """Another kernel than the moment's is not what its title speaks of."""
        if wanted.key != self._key:
            self.title.hide()

    # ---- changing it

    def restore(self, moments: tuple[Named, ...], at: int) -> None:
        self.moments = moments
        self.at = min(max(at, -1), len(moments) - 1)

    def _change(self, moments: tuple[Named, ...], at: int, sentence: str = "") -> None:
        """Have another list, and a way back to this one."""
        self._before = self.moments, self.at
        self.restore(moments, at)
        self.title.hide()
        self.changed.emit()
        if sentence:
            self.main.message.tell(sentence, "Undo", self.undo)

    def undo(self) -> None:
        """Take back the last change of the list; a second time does it again."""
        self._change(*self._before, "The list of moments is as it was before.")

    def clear(self) -> None:
        if self.moments:
            count = plural(len(self.moments), "moment")
            self._change((), -1, f"The list is empty; it had {count}.")

    def save_this(self) -> None:
        """Ask for a name and put what is shown into the list, behind the moment it is at."""
        link = self.links.link_now()
        if link is None:
            return
        hint = "What is shown now, with launch, step, selection and page"
        trace = self.main.session.trace
        first = f"{trace.workload.title}, step {self.main.session.step}" if trace else ""
        name = ask_text(self.main, "Save this moment", hint, text=first, action="Save")
        if name is not None:
            at, kept = self.at + 1, self.moments
            moment = Named(" ".join(name.split()), link)
            said = f"Moment {at + 1} of {len(kept) + 1}: {moment.name}"
            self._change((*kept[:at], moment, *kept[at:]), at, said)

    def remove(self) -> None:
        if 0 <= self.at < len(self.moments):
            gone, kept = self.moments[self.at], self.moments
            said = f"“{gone.name}” is no longer in the list of moments."
            self._change(kept[: self.at] + kept[self.at + 1 :], self.at, said)

    def ask_for_list(self) -> None:
        name, _ = QFileDialog.getOpenFileName(self.main, "Open a list of moments", "", FILES)
        if name:
            self.open_list(Path(name))

    def open_list(self, path: Path) -> None:
        """Take up a file's moments and show the first; a wrong one changes nothing."""
        ladder = self.main.recorder.ladder
        try:
            found = read(path, lambda link: window_link(link, ladder, theme_names()))
        except TilescopeError as error:
            self.main.message.show_message(str(error))
            return
        self._change(found, 0)
        self.show(0)

    def save_list(self) -> None:
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
