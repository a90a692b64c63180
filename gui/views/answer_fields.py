"""What a learner answers with: a number, a choice, things to click, a slider, an order, goals.

Each field gives its answer as `core.lessons.posing_and_marking` takes it, or None while there is
none. It says `changed` when there is another, and `returned` where Return was pressed in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QButtonGroup,
    QGridLayout,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QRadioButton,
    QWidget,
)

from core.errors import ParameterError
from core.lessons.typed_answers import LETTERS, number_typed, things_typed
from gui.looks.labels_and_layouts import GAP, named, side_by_side, space_out, stacked, styled_label
from gui.looks.style_sheet import set_style
from gui.looks.theme import current_theme
from gui.views.buttons_and_choices import RETURN, StopSlider, action_button, keeps_key
from gui.views.glossary_words import ProseLabel, plain

if TYPE_CHECKING:
    from core.lessons.lesson_expressions import Value
    from core.lessons.posing_and_marking import Answer, Met
    from core.lessons.typed_answers import Things
    from gui.scenes.lesson_sitting import Asked

UP_DOWN = (Qt.Key.Key_Up, Qt.Key.Key_Down)


class AnswerField(QWidget):
    """Base of all: `answer` is None while there is none, `mistake` says why."""

    changed = Signal()
    returned = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.mistake = ""

    def answer(self) -> Answer | None:
        """What is answered as it stands."""
        raise NotImplementedError

    def put(self, answer: Answer) -> None:
        """Show an answer that was given before."""

    def begin(self) -> None:
        """Take the keyboard."""
        self.show()  # first: of one that is hidden Qt tells the window nothing
        self.setFocus()

    def told(self, right: Value) -> None:
        """Take no other answer, and show the right one beside one's own."""
        self.setEnabled(False)


class AnswerLine(QLineEdit):
    """Where an answer is typed; PgUp and PgDown are the window's (`commands/keyboard_focus.py`)."""


class FigureLine(AnswerLine):
    """Takes a number; arrows are the window's, too."""


class TypedField(AnswerField):
    """Base of those whose answer is typed into a line."""

    def __init__(self, line: AnswerLine, read: Callable[[str], Answer]) -> None:
        """`read` gives the answer that a text is; it raises ParameterError with what is wrong."""
        super().__init__()
        self.line, self._read = line, read
        line.textChanged.connect(lambda _: self.changed.emit())
        line.returnPressed.connect(self.returned)

    def answer(self) -> Answer | None:
        text = self.line.text().strip()
        self.mistake = ""
        if not text:
            return None
        try:
            return self._read(text)
        except ParameterError as error:
            self.mistake = str(error)
            return None


FIGURES = "0123456789.,+-−/"  # what a number begins with


class NumberField(TypedField):
    """Type a number.

    The field itself has the keyboard until a number is begun, and the line that shows the caret
    from then on, or once it is clicked: letters are commands without a caret, and text with one.
    """

    def put(self, answer: Answer) -> None:
        self.line.setText(str(answer))

    def __init__(self, unit: str, asked: str = "") -> None:
        """`asked` is the question's text, whose nouns may stand behind the number."""
        super().__init__(FigureLine(), lambda text: number_typed(text, unit, asked))
        for widget in (self, self.line):
            widget.setAccessibleName("Your answer, a number")
        self.line.setPlaceholderText("a number")
        self.line.setMaxLength(40)
        row = side_by_side(self, (self.line, 1))
        if unit:
            row.addWidget(styled_label(unit, role="caption", plain=True))

    def event(self, event: QEvent) -> bool:
        """Keep figures from the window's shortcuts."""
        return keeps_key(event, self._begins) or super().event(event)

    @staticmethod
    def _begins(event: QKeyEvent) -> bool:
        shift = Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.KeypadModifier
        return not event.modifiers() & ~shift and event.text() != "" and event.text() in FIGURES

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """The first figure goes into the line, with all that follows; Return answers."""
        if event.key() in RETURN:
            self.returned.emit()
        elif self._begins(event):
            self.line.setFocus()
            QApplication.sendEvent(self.line, event)
        else:
            super().keyPressEvent(event)


class LetterButton(QRadioButton):
    """A choice's button; arrows and the letters A to H choose among its neighbours.

    Return answers. Qt's own arrows choose nothing as long as no button is chosen.
    """

    lettered = Signal(int)
    stepped = Signal(int)
    returned = Signal()

    def event(self, event: QEvent) -> bool:
        """Keep letters from the window's shortcuts."""
        own = keeps_key(event, lambda key: self._letter(key) >= 0 or key.key() in UP_DOWN)
        return own or super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if (place := self._letter(event)) >= 0:
            self.lettered.emit(place)
        elif event.key() in UP_DOWN:
            self.stepped.emit(1 if event.key() == Qt.Key.Key_Down else -1)
        elif event.key() in RETURN:
            self.returned.emit()
        else:
            super().keyPressEvent(event)

    @staticmethod
    def _letter(event: QKeyEvent) -> int:
        plain = event.modifiers() in (
            Qt.KeyboardModifier.NoModifier,
            Qt.KeyboardModifier.ShiftModifier,
        )
        text = event.text().upper()
        return LETTERS.find(text) if plain and len(text) == 1 else -1


class ChoiceField(AnswerField):
    """Choose one, by the mouse, the arrows or its letter."""

    def __init__(self, choices: Sequence[str]) -> None:
        super().__init__()
        self.choices = tuple(choices)
        self.group = QButtonGroup(self)
        self.labels: list[ProseLabel] = []
        grid = QGridLayout(self)
        space_out(grid, gap=GAP)
        grid.setHorizontalSpacing(6)
        grid.setColumnStretch(1, 1)
        for place, choice in enumerate(self.choices):
            button = named(LetterButton(LETTERS[place]), f"{LETTERS[place]}: {plain(choice)}")
            button.lettered.connect(self._choose)
            button.stepped.connect(self._step)
            button.returned.connect(self.returned)
            label = ProseLabel("choice", choice)
            label.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
            label.setIndent(0)  # it would lower the text as well
            label.installEventFilter(self)
            self.group.addButton(button, place)
            self.labels.append(label)
            grid.addWidget(button, place, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(label, place, 1)
        self.group.idClicked.connect(lambda _: self.changed.emit())
        self.group.idToggled.connect(lambda _, on: self.changed.emit() if on else None)

    def put(self, answer: Answer) -> None:
        if answer in self.choices:
            self.group.button(self.choices.index(answer)).setChecked(True)

    def begin(self) -> None:
        """The first choice has the keyboard, and none is chosen."""
        self.group.button(0).setFocus()

    def answer(self) -> Answer | None:
        place = self.group.checkedId()
        return self.choices[place] if place >= 0 else None

    def _choose(self, place: int) -> None:
        if place < len(self.choices):
            self.group.button(place).setChecked(True)
            self.group.button(place).setFocus()

    def _step(self, by: int) -> None:
        """The next choice or the one before, round about; the first or last where none is made."""
        now = self.group.checkedId()
        if now < 0:
            now = -1 if by > 0 else 0
        self._choose((now + by) % len(self.choices))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """A click on the words is one on their button."""
        if (
            event.type() == QEvent.Type.MouseButtonPress
            and isinstance(event, QMouseEvent)
            and self.isEnabled()
        ):
            place = next((i for i, one in enumerate(self.labels) if one is watched), -1)
            if place >= 0:
                self._choose(place)
        return False

    def told(self, right: Value) -> None:
        own = self.group.checkedId()
        for place, label in enumerate(self.labels):
            found = (
                "right" if self.choices[place] == right else "wrong" if place == own else "other"
            )
            set_style(label, "told", found)
        super().told(right)


class ClickField(TypedField):
    """Shows what was clicked in the views; the same can be typed."""

    def __init__(self, things: Things) -> None:
        super().__init__(AnswerLine(), lambda text: list(things_typed(text, things)))
        self.setFocusProxy(self.line)
        target, several = things.target, not things.single
        self.target, self.several = target, several
        how = "Click each" if several else "Click it"
        self.how = styled_label(f"{how} in the views, or type:", role="dim", wrap=True)
        self.line.setAccessibleName(f"Your answer: {target}s, clicked or typed")
        # Letters, not numbers: an example could be the answer.
        shown = {"element": "array[row,column]", "thread": "(x, y), or its number"}.get(
            target, f"{target} n"
        )
        self.line.setPlaceholderText(shown + (", …" if several else ""))
        self.line.setMaxLength(600)
        self.clear_button = action_button("Clear", "Take back all that was clicked")
        self.clear_button.clicked.connect(self.line.clear)
        stacked(self, self.how, side_by_side(None, (self.line, 1), self.clear_button))

    def click(self, thing: Value) -> None:
        """Add what was clicked; a second click takes it away again."""
        found = self.answer()
        things: list[Value] = found if isinstance(found, list) else []
        names = [str(one) for one in things]
        if str(thing) in names:
            things.pop(names.index(str(thing)))
        elif self.several:
            things.append(thing)
        else:
            things = [thing]
        self.put(things)

    def put(self, answer: Answer) -> None:
        things: list[Value] = [*answer] if isinstance(answer, list | tuple) else []
        self.line.setText(", ".join(self._name(one) for one in things))

    def _name(self, thing: Value) -> str:
        return f"{self.target} {thing}" if isinstance(thing, int) else str(thing)


class SliderField(AnswerField):
    """Find a value."""

    def __init__(self, label: str, values: Sequence[int]) -> None:
        super().__init__()
        self.values = tuple(values)
        self.slider = named(StopSlider(label), label)
        self.slider.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.slider.show_stops(self.values, self.values[0])
        self.moved = False
        """Whether it was moved from where it stood at first."""
        self.shown = styled_label(role="figure")
        self.label = styled_label(label, role="dim", plain=True, wrap=True)
        self.slider.valueChanged.connect(self._on_move)
        self.slider.installEventFilter(self)
        stacked(self, self.label, side_by_side(None, (self.slider, 1), self.shown))
        self.setFocusProxy(self.slider)
        self.shown.setText(str(self.values[0]))

    def answer(self) -> Answer | None:
        return self.value

    def put(self, answer: Answer) -> None:
        if answer in self.values:
            self.slider.setValue(self.values.index(answer))

    @property
    def value(self) -> int:
        return self.values[self.slider.value()]

    def _on_move(self, place: int) -> None:
        self.moved = True
        self.shown.setText(str(self.values[place]))
        self.changed.emit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if (
            isinstance(event, QKeyEvent)
            and event.type() == QEvent.Type.KeyPress
            and event.key() in RETURN
        ):
            self.returned.emit()
            return True
        return False


class OrderField(AnswerField):
    """Two lists: what there is, and one's own order. Return or a click moves a line over.

    In one's own order Alt+Up and Alt+Down move a line, and so does the mouse; Delete takes it back,
    and Return answers, as in the other fields.
    """

    def __init__(self, items: Sequence[str], *, code: bool) -> None:
        super().__init__()
        self.pool = _Lines("Lines that there are", code, RETURN)
        self.own = _Lines("Your order", code, (Qt.Key.Key_Delete, Qt.Key.Key_Backspace))
        self.own.setDragDropMode(QAbstractItemView.DragDropMode.InternalMove)
        for item in items:
            self.pool.addItem(item)
        self.pool.itemClicked.connect(lambda item: self._over(item, self.pool, self.own))
        self.own.itemDoubleClicked.connect(lambda item: self._over(item, self.own, self.pool))
        self.pool.taken.connect(lambda: self._over(self.pool.currentItem(), self.pool, self.own))
        self.own.taken.connect(lambda: self._over(self.own.currentItem(), self.own, self.pool))
        self.own.moved.connect(self.changed)
        self.own.model().rowsMoved.connect(lambda *_: self.changed.emit())
        take = styled_label("Click, or Return, takes the next one:", role="dim")
        hint = "Your order (Alt+Up, Alt+Down; Delete or a double click takes back):"
        put_back = styled_label(hint, role="dim", wrap=True)
        stacked(self, take, self.pool, put_back, self.own, gap=4)
        self._fit()

    def begin(self) -> None:
        """The first line has the keyboard."""
        self.pool.setCurrentRow(0)
        self.pool.setFocus()

    def answer(self) -> Answer | None:
        lines = [self.own.item(row).text() for row in range(self.own.count())]
        return lines or None

    def put(self, answer: Answer) -> None:
        for line in answer if isinstance(answer, list | tuple) else ():
            rows = [self.pool.item(row).text() for row in range(self.pool.count())]
            if line in rows:
                self._over(self.pool.item(rows.index(line)), self.pool, self.own)

    def _over(self, item: QListWidgetItem | None, out: QListWidget, to: QListWidget) -> None:
        if item is None or not self.isEnabled():
            return
        row = out.row(item)
        to.addItem(out.takeItem(row))
        out.setCurrentRow(min(row, out.count() - 1))
        if not out.count():
            to.setFocus()
            to.setCurrentRow(to.count() - 1)
        self._fit()
        self.changed.emit()

    def _fit(self) -> None:
        for lines in (self.pool, self.own):
            lines.fit()


class _Lines(QListWidget):
    taken = Signal()
    moved = Signal()

    def __init__(self, name: str, code: bool, take: tuple[Qt.Key, ...]) -> None:
        super().__init__()
        self._take = take
        self.setAccessibleName(name)
        self.setWordWrap(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSpacing(1)
        self.setProperty("role", "lines")
        self._is_code = code
        self._take_font()

    def _take_font(self) -> None:
        if self._is_code:
            self.setFont(current_theme().mono(0.9))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.StyleChange:
            self._take_font()
            self.fit()

    def fit(self) -> None:
        self.doItemsLayout()  # lines that are wrapped are as high as the list's width makes them
        least = self.fontMetrics().lineSpacing() + 10
        self.setFixedHeight(max(self.contentsSize().height(), least) + 2 * self.frameWidth())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.oldSize().width() != event.size().width():
            self.fit()

    def sizeHint(self) -> QSize:
        return QSize(120, self.height())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """The list's own keys move a line over, Alt with an arrow within the list."""
        plain = not event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        if event.key() in self._take and plain:
            self.taken.emit()
            return
        if event.key() in RETURN:  # the panel's, which answers
            event.ignore()
            return
        by = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()), 0)
        if by and event.modifiers() & Qt.KeyboardModifier.AltModifier:
            row = self.currentRow()
            if 0 <= row + by < self.count():
                self.insertItem(row + by, self.takeItem(row))
                self.setCurrentRow(row + by)
                self.moved.emit()
            return
        super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        """Keep the arrows, also with Alt, Home and End from the window's shortcuts."""
        kept = (*UP_DOWN, Qt.Key.Key_Home, Qt.Key.Key_End)
        return keeps_key(event, lambda key: key.key() in kept) or super().event(event)


class GoalsField(AnswerField):
    """A kernel to be written: its goals, checked at each run."""

    def __init__(self, goals: Sequence[str]) -> None:
        super().__init__()
        self.goals = goals
        self.rows = [ProseLabel("goal") for _ in goals]
        keys = "F2 edits the text; Ctrl+Return runs it and checks the goals."
        note = styled_label(keys, role="dim", wrap=True)
        stacked(self, styled_label("Goals", role="heading"), *self.rows, note, gap=4)
        self.show_met(())

    def answer(self) -> Answer | None:
        return None

    def show_met(self, marked: Sequence[Met]) -> None:
        """Tick what is met; nothing is while nothing was marked."""
        met = [one.met for one in marked] or [False] * len(self.rows)
        for row, goal, is_met in zip(self.rows, self.goals, met, strict=True):
            row.say(f"{'✓' if is_met else '○'}  {goal}")
            set_style(row, "told", "right" if is_met else "other")
            row.setAccessibleName(f"{'met' if is_met else 'not met'}: {plain(goal)}")


def field_of(asked: Asked) -> AnswerField:
    """The field for a question."""
    from core.lessons.lesson import Choice, Click, Edit, Number, Order, Slider

    posed = asked.posed
    match posed.step.question:
        case Number(unit=unit):
            return NumberField(unit, posed.ask)
        case Choice():
            return ChoiceField(posed.choices)
        case Click():
            assert asked.things is not None
            return ClickField(asked.things)
        case Slider(label=label, low=low, high=high, every=every):
            return SliderField(label, range(low, high + 1, every))
        case Order(frame=frame):
            return OrderField(posed.items, code=bool(frame))
        case Edit():
            return GoalsField(posed.goals)
