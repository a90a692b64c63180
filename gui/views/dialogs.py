"""Questions that wait for an answer: a text, a number, one of a few names, a file to write."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QFileDialog,
    QLineEdit,
    QPushButton,
    QSpinBox,
    QWidget,
)

from gui.looks.labels_and_layouts import side_by_side, stacked, styled_label
from gui.scenes.numbers_and_sentences import in_window

WIDTH = 46  # digits
T = TypeVar("T")
Check = Callable[[str], str]
"""Says in a sentence what is wrong with a text; nothing is, where it is empty."""


class Question(QDialog):
    """A heading, a field with a line about it, and two buttons; Return answers, Esc does not."""

    def __init__(self, parent: QWidget, title: str, field: QWidget, hint: str, action: str) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.setObjectName("question")
        self.field = field
        heading = styled_label(title, role="question")
        about = styled_label(hint, role="dim", wrap=True)
        about.setVisible(bool(hint))
        field.setAccessibleName(title)
        field.setAccessibleDescription(hint)
        self.error = styled_label(role="error", wrap=True, plain=True)
        self.error.hide()
        self.answer, cancel = QPushButton(action), QPushButton("Cancel")
        self.answer.setProperty("role", "primary")
        self.answer.setDefault(True)
        self.answer.clicked.connect(self.take)
        cancel.clicked.connect(self.reject)
        row = side_by_side(None, None, cancel, self.answer, gap=8)
        rows = (heading, about, field, self.error, 4, row)
        stacked(self, *rows, gap=8, edges=(16, 14, 16, 16))
        self.setFixedWidth(WIDTH * self.fontMetrics().horizontalAdvance("0"))
        field.setFocus()

    def take(self) -> None:
        sentence = self.mistake()
        self.error.setText(in_window(sentence))
        self.error.setVisible(bool(sentence))
        self.adjustSize()
        if not sentence:
            self.accept()

    def mistake(self) -> str:
        return ""

    def ask(self, value: Callable[[], T]) -> T | None:
        """What `value` gives once it is answered; None where it is cancelled."""
        found = value() if self.exec() == QDialog.DialogCode.Accepted else None
        self.deleteLater()
        return found


class TextQuestion(Question):
    """Asks for a text that passes a check; one of nothing but spaces is no answer."""

    def __init__(
        self, parent: QWidget, title: str, hint: str, text: str, action: str, check: Check | None
    ) -> None:
        self.line = QLineEdit(text)
        self.line.selectAll()
        self._check = check
        super().__init__(parent, title, self.line, hint, action)
        self.line.textChanged.connect(self._show_whether)
        self._show_whether()

    def _show_whether(self) -> None:
        self.answer.setEnabled(bool(self.line.text().strip()))
        self.error.hide()

    def mistake(self) -> str:
        return self._check(self.line.text().strip()) if self._check is not None else ""


def ask_text(
    parent: QWidget,
    title: str,
    hint: str = "",
    *,
    text: str = "",
    action: str = "OK",
    check: Check | None = None,
) -> str | None:
    """A text without spaces around it, None where the question was cancelled."""
    question = TextQuestion(parent, title, hint, text, action, check)
    return question.ask(lambda: question.line.text().strip())


def ask_number(
    parent: QWidget, title: str, hint: str, value: int, most: int, *, action: str = "OK"
) -> int | None:
    """A whole number from 0 to `most`, None where the question was cancelled."""
    box = QSpinBox()
    box.setRange(0, most)
    box.setValue(value)
    box.selectAll()
    return Question(parent, title, box, hint, action).ask(box.value)


def ask_choice(
    parent: QWidget, title: str, names: Sequence[str], first: int, *, action: str = "OK"
) -> str | None:
    """One of the names, None where the question was cancelled."""
    box = QComboBox()
    box.addItems(list(names))
    box.setCurrentIndex(first)
    return Question(parent, title, box, "", action).ask(box.currentText)


def ask_where(
    parent: QWidget, title: str, first: str, kinds: Iterable[str]
) -> tuple[Path, str] | None:
    """Ask for a file to write and its kind, one of `kinds` such as "Report (*.html)".

    A path without an ending gets that of the kind, or of `first`; if there is such a file, the
    question is asked again with its name, as only then Qt warns of it. None where nobody wants one.
    """
    file, kind = QFileDialog.getSaveFileName(parent, title, first, ";;".join(kinds))
    if not file:
        return None
    path, ending = Path(file), re.search(r"\*(\.\w+)\)", kind)
    suffix = ending[1] if ending else Path(first).suffix
    if path.suffix:
        return path, kind
    path = path.with_suffix(suffix)
    return ask_where(parent, title, str(path), [kind]) if path.exists() else (path, kind)
