"""A lesson in front of people: the question in large type, votes, and notes in another window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QWidget

from core.lessons.typed_answers import LETTERS
from gui.looks.labels_and_layouts import empty, side_by_side, stacked, styled_label
from gui.looks.style_sheet import set_style
from gui.views.buttons_and_choices import action_button, icon_button, keeps_key
from gui.views.glossary_words import ProseLabel, plain

if TYPE_CHECKING:
    from gui.scenes.lesson_sitting import Sitting


BLOCK = "▮"
LONGEST = 24  # marks of a bar


@dataclass
class Votes:
    """Counts by the place of the choice. `second` says which count a vote goes to."""

    second: bool = False
    counts: dict[bool, dict[int, int]] = field(default_factory=lambda: {False: {}, True: {}})

    def add(self, place: int, by: int) -> None:
        """Count a vote, or take one away; never below none."""
        now = self.counts[self.second]
        now[place] = max(now.get(place, 0) + by, 0)

    def of(self, place: int) -> tuple[int, int]:
        """First and second count of a choice."""
        return self.counts[False].get(place, 0), self.counts[True].get(place, 0)

    def text(self, place: int) -> str:
        """The counts as they are shown: a bar and a number, the second beside the first."""
        first, second = self.of(place)
        if not self.second and not any(self.counts[True].values()):
            return f"{bar(first, self._most())} {first}" if first else ""
        return f"{first} → {second}  {bar(second, self._most())}"

    def _most(self) -> int:
        return max([1, *self.counts[False].values(), *self.counts[True].values()])


def bar(count: int, most: int) -> str:
    """As many marks as votes, or fewer where there are more votes than a bar has room for."""
    return BLOCK * (count if most <= LONGEST else round(count * LONGEST / most))


MOST_ROOM = 0.3  # of the window's height; the type is large where that is enough for it


class PresenterBar(QFrame):
    """Above the page while a lesson is presented; it keeps the letters A to H, for votes.

    `moved(by)`, `voted(place, by)`, `counted_again`, `notes_wanted`, `ended`.
    """

    moved = Signal(int)
    voted = Signal(int, int)
    counted_again = Signal()
    notes_wanted = Signal()
    ended = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("momentTitle")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Presented lesson")
        self.title = styled_label(role="lesson", plain=True)
        self.place = styled_label(role="lesson", plain=True)
        self.ask = ProseLabel("moment")
        self.answer, self.why = ProseLabel(), ProseLabel()
        self.again = action_button("Second vote", "Count the votes anew beside the first (V)")
        self.notes = action_button(
            "Notes", "Notes and the answer in a window of their own (Ctrl+N)"
        )
        self.back = icon_button("Previous question (PgUp)", icon="play_back")
        self.on = icon_button("Reveal, then the next question (PgDown)", icon="play")
        self.close_button = icon_button("End presenting (Shift+F5)", icon="close", size=14)
        self.again.clicked.connect(self.counted_again)
        self.notes.clicked.connect(self.notes_wanted)
        self.back.clicked.connect(lambda: self.moved.emit(-1))
        self.on.clicked.connect(lambda: self.moved.emit(1))
        self.close_button.clicked.connect(self.ended)
        buttons = (self.again, self.notes, self.back, self.on, self.close_button)
        for button in buttons:
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        head = side_by_side(None, self.title, 16, self.place, None, *buttons)
        self.choices = QGridLayout()
        self.choices.setHorizontalSpacing(18)
        self.choices.setVerticalSpacing(2)
        rows = (head, self.ask, self.choices, self.answer, self.why)
        stacked(self, *rows, gap=4, edges=(14, 6, 8, 8))
        self._rows: list[tuple[ProseLabel, ProseLabel]] = []
        self.hide()

    def show_question(self, sitting: Sitting, votes: Votes, answer: str, why: str) -> None:
        posed = sitting.posed
        self.title.setText(sitting.title)
        self.place.setText(sitting.place)
        self.ask.say(posed.ask if posed is not None else "One moment …")
        choices = posed.choices if posed is not None else ()
        self._fit(choices)
        for place, (text, (label, count)) in enumerate(zip(choices, self._rows, strict=True)):
            label.say(f"{LETTERS[place]}:  {text}")
            told = ("right" if text == answer else "other") if answer else ""
            set_style(label, "told", told)
            count.say(votes.text(place))
            count.setAccessibleName(f"{LETTERS[place]}, {plain(text)}: {votes.text(place)}")
        self.again.setVisible(bool(choices))
        self.again.setText("First vote" if votes.second else "Second vote")
        self.answer.say(f"The answer: {answer}" if answer else "")
        self.answer.setVisible(bool(answer) and not choices)  # of which one is marked
        self.why.say(why)
        self.why.setVisible(bool(why))
        self.show()
        self._fit_type()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._fit_type()

    def _fit_type(self) -> None:
        """Large type for the room, unless the views below would be left too little of it."""
        for large in (True, False):
            for label in self.findChildren(ProseLabel):
                set_style(label, "large", large)
            if self.heightForWidth(self.width()) <= MOST_ROOM * self.window().height():
                return

    def _fit(self, choices: Sequence[str]) -> None:
        if len(choices) == len(self._rows):
            return
        empty(self.choices)
        self._rows = []
        for place in range(len(choices)):
            label, count = ProseLabel("choice"), ProseLabel("prose")
            row, column = divmod(place, 2)
            self.choices.addWidget(label, row, 2 * column)
            self.choices.addWidget(count, row, 2 * column + 1)
            self.choices.setColumnStretch(2 * column, 1)
            self._rows.append((label, count))

    def event(self, event: QEvent) -> bool:
        """Keep the letters of votes from the window's shortcuts."""
        own = keeps_key(event, lambda k: self._vote(k) is not None or k.key() == Qt.Key.Key_V)
        return own or super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """A letter is a vote, with Shift one less; V counts a second time."""
        vote = self._vote(event)
        if vote is not None:
            self.voted.emit(*vote)
        elif event.key() == Qt.Key.Key_V and not event.modifiers():
            self.counted_again.emit()
        else:
            super().keyPressEvent(event)

    def _vote(self, event: QKeyEvent) -> tuple[int, int] | None:
        shift = Qt.KeyboardModifier.ShiftModifier
        if event.modifiers() & ~shift or len(event.text()) != 1:
            return None
        place = LETTERS.find(event.text().upper())
        if not 0 <= place < len(self._rows):
            return None
        return place, -1 if event.modifiers() & shift else 1


class NotesWindow(QWidget):
    """For the lecturer's own screen: the note, the answer, the explanation, what comes next."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Window)
        self.setWindowTitle("Notes – Tilescope")
        self.title = styled_label(role="lesson", plain=True)
        self.ask, self.note = ProseLabel("ask"), ProseLabel("prose")
        self.answer, self.why, self.next = (ProseLabel("prose") for _ in range(3))
        told = (self.answer, self.why, self.note, self.next)
        stacked(self, self.title, self.ask, *told, None, gap=10, edges=(18, 14, 18, 14))
        self.resize(520, 420)

    def show_notes(
        self, title: str, ask: str, answer: str, why: str, note: str, following: str
    ) -> None:
        self.title.setText(title)
        self.ask.say(ask)
        for label, said in (
            (self.answer, f"The answer: {answer}" if answer else ""),
            (self.why, why),
            (self.note, note),
            (self.next, f"Next: {following}" if following else ""),
        ):
            label.say(said)
            label.setVisible(bool(said))
