"""The question beside the views: what is asked, the answer, hints, and the explanation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QFontMetrics,
    QGuiApplication,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QAbstractButton, QFrame, QSizePolicy, QVBoxLayout, QWidget

from gui.looks.labels_and_layouts import GAP, MARGIN, empty, side_by_side, stacked, styled_label
from gui.looks.style_sheet import set_style
from gui.looks.theme import current_theme
from gui.scenes.numbers_and_sentences import in_window, plural
from gui.scenes.veils_and_picks import covered
from gui.views.answer_fields import AnswerField, GoalsField, field_of
from gui.views.buttons_and_choices import RETURN, action_button, icon_button, push_button
from gui.views.captions_and_panels import Scrolled
from gui.views.glossary_words import ProseLabel

if TYPE_CHECKING:
    from core.lessons.posing_and_marking import Answer
    from gui.scenes.lesson_sitting import Asked, Sitting

LEAST, USUAL, MOST = 30, 38, 70  # widths in digits
WORDS = {"right": "Right.", "near": "Nearly.", "wrong": "Not quite."}


class LessonPanel(QFrame):
    """One question at a time. It only shows; `gui.commands.lesson_teaching` acts on its buttons.

    `answered(answer, sure)`; `moved(by)`, `gone(place)`; `changed` when another answer stands there
    that was not given yet.
    """

    answered = Signal(object, bool)
    moved = Signal(int)
    gone = Signal(int)
    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("lessonPanel")
        self.setAccessibleName("Lesson")
        self.field: AnswerField | None = None
        self.sitting: Sitting | None = None
        self.title = styled_label(role="lesson", wrap=True, plain=True)
        self.place = styled_label(role="dim", plain=True)
        self.dots = StepDots()
        self.dots.chosen.connect(self.gone)
        tip = "Leave the lesson; answers are kept"
        self.close_button = icon_button(tip, "Leave the lesson", icon="close", size=14)
        self.ask = ProseLabel("ask")
        self.hints = QVBoxLayout()
        self.slot = QVBoxLayout()
        self.mistake = styled_label(role="error", wrap=True, plain=True)
        self.verdict = styled_label(role="verdict", wrap=True, plain=True)
        self.own, self.reply, self.why = ProseLabel(), ProseLabel(), ProseLabel()
        self.sure = push_button(
            "I am sure", "Answer, and say that you know it (Return)", primary=True
        )
        self.guess = push_button("I guess", "Answer, and say that you guess (Shift+Return)")
        run = "Compile and run the text, and check the goals (Ctrl+Return)"
        self.run = push_button("Run and check", run, primary=True)
        self.next = push_button("Next", "The next question (Return, or PgDown)", primary=True)
        self.again = push_button("Other numbers", "The same question again with other numbers")
        self.once_more = push_button("Once more", "The same question again")
        self.why_button = action_button("Why?", "Explain what was asked for")
        self.hint = action_button("Hint", "A hint; there are up to three")
        self.solution = action_button("Solution", "Show a kernel that meets the goals, and step it")
        self.look = action_button("Back here", "Back to what the question looks at")
        self.back = action_button("‹", "The question before (PgUp)", "The question before")
        self.on = action_button("›", "Go on without an answer (PgDown)", "The next question")
        self.sure.clicked.connect(lambda: self._commit(True))
        self.guess.clicked.connect(lambda: self._commit(False))
        self.next.clicked.connect(lambda: self.moved.emit(1))
        self.on.clicked.connect(lambda: self.moved.emit(1))
        self.back.clicked.connect(lambda: self.moved.emit(-1))
        self._lay_out()
        self.hide()

    def _lay_out(self) -> None:
        head = side_by_side(None, (self.title, 1), self.place, self.close_button, gap=GAP)
        for widget in (self.place, self.close_button):
            head.setAlignment(widget, Qt.AlignmentFlag.AlignTop)
        body = QWidget()
        commit = side_by_side(None, (self.guess, 1), (self.sure, 1), (self.run, 1))
        told = (self.verdict, self.own, self.reply, self.why)
        further = side_by_side(None, (self.again, 1), (self.once_more, 1), (self.next, 1))
        asked = (self.ask, self.slot, self.mistake, commit)
        rows = (*asked, self.hints, *told, further, None)
        stacked(body, *rows, gap=GAP + 2, edges=(MARGIN, 2, MARGIN, GAP))
        self.area = Scrolled(body)
        helps = (self.hint, self.solution, self.why_button, self.look)
        edges = (MARGIN, 0, MARGIN, GAP)
        foot = side_by_side(None, *helps, None, self.back, self.on, edges=edges)
        top = stacked(None, head, self.dots, edges=(MARGIN, GAP, GAP, 0))
        stacked(self, top, (self.area, 1), foot, gap=4, edges=(1, 1, 1, 1))

    # ---- what is shown

    def show_sitting(self, sitting: Sitting, asked: Asked | None = None) -> None:
        """Show where the learner is; `asked` brings a question to answer, or to read again."""
        self.sitting = sitting
        self.title.setText(sitting.title)
        self.place.setText(sitting.place)
        self.dots.show_places(len(sitting.questions), sitting.at, sitting.marks)
        if asked is not None:
            self._put(field_of(asked))
            if self.field is not None and sitting.reply is not None:
                self.field.put(sitting.reply.answer)
            self.ask.say(asked.posed.ask)
        elif sitting.stage == "opening":
            self._put(None)
            self.ask.say("One moment …")
        self._show_stage(sitting)

    def _put(self, field: AnswerField | None) -> None:
        empty(self.slot)
        empty(self.hints)
        self.field = field
        self.mistake.hide()
        if field is not None:
            field.changed.connect(self._on_change)
            field.returned.connect(self._commit_by_key)
            self.slot.addWidget(field)
            field.begin()
        self.area.verticalScrollBar().setValue(0)

    def show_end(self, sitting: Sitting, ways: Sequence[tuple[str, Callable[[], object]]]) -> None:
        """Say how it went, with a button for each way on."""
        self.show_sitting(sitting)
        self._put(None)
        at_once, right = sitting.score
        found = f"{right} of {plural(len(sitting.questions), 'question')} right"
        found += f", {at_once} of them at once" if at_once != right else ""
        shown = len(sitting.shown - sitting.right)
        found += f"; solution shown: {shown}" if shown else ""
        self.ask.say(f"That was the last question. {found}.")
        for place, (label, act) in enumerate(ways):
            button = push_button(label, primary=place == 0)
            button.clicked.connect(lambda _=False, act=act: act())
            self.hints.addWidget(button)
            if place == 0:
                QTimer.singleShot(0, button, button.setFocus)  # once it is shown

    def _show_stage(self, sitting: Sitting) -> None:
        stage, reply = sitting.stage, sitting.reply
        asked, told = stage == "asked", stage == "told"
        builds = sitting.is_built
        for button in (self.sure, self.guess):
            button.setVisible(stage in ("asked", "marking") and not builds)
        self.run.setVisible(stage in ("asked", "marking") and builds)
        self.sure.setText("Marking …" if stage == "marking" else "I am sure")
        self.run.setText("Checking …" if stage == "marking" else "Run and check")
        self.run.setEnabled(asked)
        left = len(sitting.posed.hints) - sitting.hints if sitting.posed is not None else 0
        self.hint.setVisible(stage in ("asked", "marking") and left > 0 and sitting.tells)
        self.hint.setText(f"Hint ({left})")
        self.solution.setVisible(asked and builds and left == 0)
        kept = sitting.question.step.keep if told else frozenset()
        self.why_button.setVisible(told and sitting.tells and "why" not in covered(kept))
        last = sitting.at + 1 == len(sitting.questions)
        self.next.setVisible(told)
        self.next.setText("Finish" if last else "Next")
        again = told and sitting.tells
        self.again.setVisible(again and bool(sitting.question.step.sets))
        missed = sitting.solved or (reply is not None and reply.verdict.mark != "right")
        self.once_more.setVisible(again and missed and not sitting.question.step.sets)
        self.back.setEnabled(sitting.at > 0 and sitting.tells)
        self.on.setVisible(not told and stage != "ended")
        self.look.setVisible(stage != "ended")
        self.on.setEnabled(sitting.tells)
        self._show_reply(sitting)
        self._on_change()

    def _show_reply(self, sitting: Sitting) -> None:
        reply = sitting.reply
        labels = (self.verdict, self.own, self.reply, self.why)
        goals = self.field
        if isinstance(goals, GoalsField):
            goals.show_met(reply.verdict.goals if reply is not None else ())
        if reply is None or not sitting.tells:
            for label in labels:
                label.hide()
            if reply is not None:
                self.verdict.setText("Noted.")
                set_style(self.verdict, "told", "")
                self.verdict.show()
            return
        verdict, told = reply.verdict, sitting.stage == "told"
        word = WORDS[verdict.mark]
        if sitting.is_built:
            met = sum(goal.met for goal in verdict.goals)
            word = "All goals are met." if told else f"{met} of {len(verdict.goals)} goals are met."
            word = "Solution shown: it meets all goals." if told and sitting.solved else word
        elif not told:
            word = "Nearly: look again, and answer once more."
        self.verdict.setText(word)
        set_style(self.verdict, "told", "near" if sitting.solved else verdict.mark)
        self.verdict.show()
        right = told and verdict.mark != "right" and bool(verdict.right)
        self.own.say(f"The answer: {verdict.right}" if right else "")
        self.own.setVisible(right)
        lacks = [] if sitting.is_built else [goal.say for goal in verdict.goals if not goal.met]
        said = verdict.say or (f"Not met: {'; '.join(lacks)}." if lacks else "")
        self.reply.say(said)
        self.reply.setVisible(bool(said))
        self.why.say(verdict.why if told else "")
        self.why.setVisible(told and bool(verdict.why))
        if told:
            if self.field is not None:
                self.field.told(verdict.wanted)
            self.next.setFocus()
            QTimer.singleShot(0, self, lambda: self.area.ensureWidgetVisible(self.next))

    def show_hint(self, text: str) -> None:
        label = ProseLabel("hint", text)
        self.hints.addWidget(label)
        if self.sitting is not None:
            self._show_stage(self.sitting)
        QTimer.singleShot(0, self, lambda: self.area.ensureWidgetVisible(label))

    def show_mistake(self, sentence: str) -> None:
        self.mistake.setText(in_window(sentence))
        self.mistake.setVisible(bool(sentence))

    # ---- what the learner does

    def _on_change(self) -> None:
        sitting, field = self.sitting, self.field
        if sitting is None or field is None:
            return
        ready = sitting.stage == "asked" and field.answer() is not None
        self.sure.setEnabled(ready)
        self.guess.setEnabled(ready)
        self.show_mistake(field.mistake)
        self.changed.emit()

    def _commit_by_key(self) -> None:
        shift = Qt.KeyboardModifier.ShiftModifier
        self._commit(not QGuiApplication.keyboardModifiers() & shift)

    def _commit(self, sure: bool) -> None:
        sitting, field = self.sitting, self.field
        if sitting is None or field is None or sitting.stage != "asked":
            return
        answer: Answer | None = field.answer()
        if answer is None:
            self.show_mistake(field.mistake or "Give an answer first; a guess will do.")
            return
        self.answered.emit(answer, sure)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Return and Shift+Return answer from wherever the keyboard is in the panel.

        On a button Return presses that.
        """
        if event.key() in RETURN:
            stage = self.sitting.stage if self.sitting is not None else ""
            shift = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            button = self.focusWidget()
            if isinstance(button, QAbstractButton) and button.isVisible() and not shift:
                button.click()
                return
            if stage == "asked":
                self._commit(not shift)
                return
            if stage == "told":
                self.moved.emit(1)
                return
        super().keyPressEvent(event)

    def restyle(self) -> None:
        digit = QFontMetrics(current_theme().font()).horizontalAdvance("0")
        self.setMinimumWidth(LEAST * digit)
        self.setMaximumWidth(MOST * digit)

    @staticmethod
    def usual_width() -> int:
        """Pixels that it has at first."""
        return USUAL * QFontMetrics(current_theme().font()).horizontalAdvance("0")


DOT = 9.0  # pixels of a dot's diameter
MARKS = {"right": "ideal", "near": "warning", "wrong": "error"}


class StepDots(QWidget):
    """A dot for each question, what became of it; `chosen(place)` when one is clicked."""

    chosen = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.count, self.at = 0, 0
        self.marks: Mapping[int, str] = {}
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setToolTip("The questions: a click goes to one")

    def show_places(self, count: int, at: int, marks: Mapping[int, str]) -> None:
        """Show so many questions; `marks` by place."""
        self.count, self.at, self.marks = count, at, dict(marks)
        right = sum(mark == "right" for mark in marks.values())
        self.setAccessibleName(f"Question {at + 1} of {count}, {right} right so far")
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(120, 16)

    def _pitch(self) -> float:
        return min(self.width() / max(self.count, 1), 1.9 * DOT)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        place = int(event.position().x() / max(self._pitch(), 1e-9))
        if 0 <= place < self.count:
            self.chosen.emit(place)

    def paintEvent(self, event: QPaintEvent) -> None:
        """A filled dot for an answer, a ring for none; a larger ring is where one is."""
        theme, painter = current_theme(), QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        pitch = self._pitch()
        size = min(DOT, 0.62 * pitch)
        for place in range(self.count):
            middle = QPointF((place + 0.5) * pitch, self.height() / 2)
            mark = self.marks.get(place)
            color = theme.color(MARKS.get(mark or "", "border"))
            painter.setPen(QPen(color, 1.5))
            painter.setBrush(color if mark else Qt.BrushStyle.NoBrush)
            painter.drawEllipse(middle, size / 2 - 1, size / 2 - 1)
            if place == self.at:
                painter.setPen(QPen(theme.color("accent"), 2))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawEllipse(middle, size / 2 + 1.5, size / 2 + 1.5)
