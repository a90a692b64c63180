"""Presents a lesson to a room: forward reveals and then goes on, letters are votes, notes apart."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QObject

from gui.commands.lesson_teaching import Teaching
from gui.commands.window_parts import Window
from gui.jobs.lesson_work import Revealed
from gui.views.presenter_bar import NotesWindow, Votes


class Presenting(QObject):
    """The presenter's side of a window's lessons. Nothing done here is kept as an answer."""

    def __init__(self, window: Window, teaching: Teaching) -> None:
        super().__init__(window)
        self.main, self.teaching = window, teaching
        self.on = False
        self.bar = bar = window.presenter
        self.notes: NotesWindow | None = None
        self.votes: dict[tuple[str, int], Votes] = {}
        self._found: Revealed | None = None  # of the question that is shown
        self._reveals = False  # as soon as that is there: forward came before it
        teaching.answer_known.connect(self._take)
        teaching.asked.connect(self._ask)
        teaching.left.connect(self.stop)
        bar.moved.connect(self.move)
        bar.voted.connect(self.vote)
        bar.counted_again.connect(self.count_again)
        bar.notes_wanted.connect(self.toggle_notes)
        bar.ended.connect(self.toggle)

    def toggle(self) -> None:
        """Begin to present the lesson that is open, or end."""
        if self.on:
            self.stop()
            self.main.left_column.show_lesson(True)
            self.teaching.ask_what_was_revealed()
            return
        self.on = self.teaching.presented = True
        if self.teaching.sitting is None and not self.teaching.is_awaited:
            self.teaching.begin_lesson("1A")
        self.main.left_column.show_lesson(False)
        self.main.left_column.make_room(True)
        if self.teaching.sitting is not None and self.teaching.sitting.posed is not None:
            self._ask()

    def stop(self) -> None:
        if self.on:
            self.main.left_column.make_room(False)
        self.on = self.teaching.presented = False
        self.bar.clearFocus()  # or Qt would give the keyboard to a button of the lesson's
        self.bar.hide()
        if self.notes is not None:
            self.notes.hide()

    def move(self, by: int) -> bool:
        """Forward: reveal, then the next question; back: the one before. False if none is on."""
        if not self.on or self.teaching.sitting is None:
            return False
        sitting = self.teaching.sitting
        self._reveals = by > 0 and sitting.stage in ("opening", "asked")
        if self._reveals and self._found is not None:
            self._reveal(self._found)
        elif not (self._reveals and self.teaching.worker.busy):
            self._reveals, self._found = False, None
            self.teaching.go(by)
            if sitting.stage == "ended":
                self.toggle()
        return True

    def vote(self, place: int, by: int) -> None:
        self._votes().add(place, by)
        self._show()

    def count_again(self) -> None:
        """Turn to the second count, or back to the first."""
        votes = self._votes()
        votes.second = not votes.second
        self._show()

    def toggle_notes(self) -> None:
        """Show the notes in a window of their own, on another screen where there is one."""
        if not self.on:
            return
        if self.notes is None:
            self.notes = NotesWindow(self.main)
            others = [
                s for s in self.main.screen().virtualSiblings() if s is not self.main.screen()
            ]
            if others:
                self.notes.move(others[0].availableGeometry().topLeft())
        self.notes.setVisible(not self.notes.isVisible())
        self._show()

    def _votes(self) -> Votes:
        sitting = self.teaching.sitting
        key = (sitting.title, sitting.at) if sitting is not None else ("", 0)
        return self.votes.setdefault(key, Votes())

    def _ask(self) -> None:
        """A question is there: work out its answer for the notes, and for when it is revealed."""
        sitting = self.teaching.sitting
        self._found = None
        if not self.on or sitting is None or sitting.posed is None:
            return
        self.teaching.work_out_answer()
        self._show()
        self.bar.setFocus()

    def _take(self, found: Any) -> None:
        self._found = found
        if self._reveals:
            self._reveal(found)
        self._show()

    def _reveal(self, found: Revealed) -> None:
        self._reveals = False
        self.teaching.reveal(found.wanted)
        self._show()

    def _show(self) -> None:
        sitting = self.teaching.sitting
        if not self.on or sitting is None:
            return
        found = self._found
        answer = found.text if found is not None else ""
        told = sitting.stage == "told"
        why = found.why if found is not None else ""
        self.bar.show_question(sitting, self._votes(), answer if told else "", why if told else "")
        if self.notes is not None and sitting.posed is not None:
            note, following = sitting.question.step.note, found.following if found else ""
            title = f"{sitting.title}   {sitting.place}"
            self.notes.show_notes(title, sitting.posed.ask, answer, why, note, following)
