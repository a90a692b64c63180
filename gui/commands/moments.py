"""Goes to a moment that a link or an earlier session names, and makes links to this one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer
from PySide6.QtGui import QGuiApplication

from core.errors import ParameterError
from gui.looks.theme import theme_names
from gui.scenes.link import EXAMPLE, Moment, go_to, link_to, parse_link
from gui.scenes.packed import checksum
from gui.scenes.selection import Configuration
from gui.views.asking import ask_text

if TYPE_CHECKING:
    from gui.main_window import MainWindow


class Moments(QObject):
    """Links and restored places of one window."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self.main = window
        self.session = window.session
        self.recorder = window.recorder
        self.awaited: Moment | None = None  # the one that is being recorded
        self._key = ""  # of the source that it is about
        self._instead = ""
        self._excuse = ""
        self._sentence = ""
        self.recorder.arrived.connect(self._arrive)
        self.recorder.recorded.connect(self._say)
        self.recorder.failed.connect(self._give_up)
        window.workbench.opener.failed.connect(self._give_up)

    def copy_link(self) -> None:
        """Put a link to what is shown on the clipboard."""
        link = self.link_now()
        if link is None:
            return
        QGuiApplication.clipboard().setText(link)
        shown = link if len(link) < 120 else f"{link[:117]}…"
        typed = " It leads to the text that was run, not to what was typed since."
        self.main.message.show_message(
            f'Copied. Open it with: tilescope "{shown}"{typed if self._typed() else ""}',
            kind="info",
        )

    def link_now(self) -> str | None:
        """A link to what is shown; None, and a sentence in the window, where there can be none."""
        try:
            compared = self.session.page == "compare"
            versus = self.session.versus if compared else None
            return link_to(self.session, self.main.theme_name, versus)
        except ParameterError as error:
            self.main.message.show_message(str(error))
            return None

    def _typed(self) -> bool:
        draft, now = self.main.source.draft, self.session.configuration
        return now is not None and draft.key == now.key and draft.stale

    def ask_for_link(self) -> None:
        """Ask for a link and go there."""
        hint = f"Such as {EXAMPLE}, or what “Copy link” (Ctrl+Shift+C) put on the clipboard"
        check = self.mistake_of
        text = ask_text(self.main, "Open a link", hint, action="Open", check=check)
        if text is not None:
            self.open_link(text)

    def mistake_of(self, text: str) -> str:
        """Why a text is no link; empty where it is one."""
        try:
            parse_link(text, self.recorder.ladder, theme_names())
        except ParameterError as error:
            return str(error)
        return ""

    def open_link(self, text: str) -> None:
        """Go to the moment that a link names; a wrong link is a sentence in the window."""
        try:
            self.open_moment(parse_link(text, self.recorder.ladder, theme_names()))
        except ParameterError as error:
            self.main.message.show_message(str(error))

    def open_moment(self, moment: Moment) -> None:
        """Record what a link names and look where it says. Raises ParameterError for its rung."""
        if moment.theme is not None and moment.theme != self.main.theme_name:
            self.main.set_theme(moment.theme)
        if moment.own is not None:
            wanted = Configuration("", {}, moment.source, moment.own)
            if wanted.untitled and moment.source is not None:
                wanted = replace(wanted, pasted=checksum(moment.source))
            self._expect(moment, wanted)
            self.main.workbench.reopen(wanted, moment.first_block, linked=True)
            return
        defaults = self.recorder.ladder[moment.rung].defaults
        parameters = {**defaults, **moment.parameters}
        wanted = Configuration(moment.rung, parameters, moment.source)
        self._expect(moment, wanted)
        self.recorder.ask(wanted, moment.first_block, inputs=moment.inputs or "random")

    def restore(self, wanted: Configuration, places: Moment, instead: str) -> None:
        """Record what an earlier session showed; the rung `instead` where that fails."""
        known = wanted.own is not None or wanted.rung in self.recorder.ladder
        if not known:
            self.recorder.configure(instead)
            return
        self._expect(places, wanted, instead)
        if wanted.own is not None:
            self.main.workbench.reopen(wanted, places.block)
        else:
            self.recorder.ask(wanted, places.block)

    def _expect(self, moment: Moment, wanted: Configuration, instead: str = "") -> None:
        self.session.playing = 0
        if moment.versus is not None:
            self.session.update(versus=moment.versus, page="compare")
        else:
            self.main.show_page("step")
        self.awaited, self._key, self._instead = moment, wanted.key, instead

    def _arrive(self) -> None:
        shown = self.session.origin.configuration.key if self.session.origin is not None else ""
        if self.awaited is not None and shown != self._key:
            if self.main.workbench.opener.busy:
                return  # what was asked for before it
            self.awaited = None  # something else was asked for since
        moment, self.awaited, self._instead = self.awaited, None, ""
        sentence, self._excuse = self._excuse, ""
        if moment is not None:
            sentence = go_to(self.session, moment)
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
                self.main.source.draft.restore({now.key: now.source})


def places_of(block: int, step: int, thread: int) -> Moment:
    """A moment without a rung, for a session that is restored."""
    return replace(Moment(""), block=block, step=step, thread=thread)
