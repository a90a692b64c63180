"""Asks for one thing: a number, a text or one of a few names. Mistakes are said below the field."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

WIDTH = 46  # digits
Check = Callable[[str], str]
"""Says in a sentence what is wrong with a text; nothing is, where it is empty."""


class Question(QDialog):
    """A heading, a field with a line about it, and two buttons; Return answers, Esc does not."""

    def __init__(self, parent: QWidget, title: str, field: QWidget, hint: str, action: str) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.setObjectName("question")
        self.field = field
        heading = QLabel(title)
        heading.setProperty("role", "question")
        about = QLabel(hint)
        about.setProperty("role", "dim")
        about.setWordWrap(True)
        about.setVisible(bool(hint))
        field.setAccessibleName(title)
        field.setAccessibleDescription(hint)
        self.error = QLabel()
        self.error.setProperty("role", "error")
        self.error.setTextFormat(Qt.TextFormat.PlainText)
        self.error.setWordWrap(True)
        self.error.hide()
        self.answer, cancel = QPushButton(action), QPushButton("Cancel")
        self.answer.setProperty("role", "primary")
        self.answer.setDefault(True)
        self.answer.clicked.connect(self.take)
        cancel.clicked.connect(self.reject)
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addStretch(1)
        row.addWidget(cancel)
        row.addWidget(self.answer)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 14, 16, 16)
        layout.setSpacing(8)
        for widget in (heading, about, field, self.error):
            layout.addWidget(widget)
        layout.addSpacing(4)
        layout.addLayout(row)
        self.setFixedWidth(WIDTH * self.fontMetrics().horizontalAdvance("0"))
        field.setFocus()

    def take(self) -> None:
        """Close if there is nothing wrong with the answer, else say what is."""
        sentence = self.mistake()
        self.error.setText(sentence)
        self.error.setVisible(bool(sentence))
        self.adjustSize()
        if not sentence:
            self.accept()

    def mistake(self) -> str:
        """What is wrong with the answer as it stands, in a sentence."""
        return ""

    @property
    def answered(self) -> bool:
        """Wait for an answer; False where there was none."""
        return self.exec() == QDialog.DialogCode.Accepted


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
        """What the check says."""
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
    found = question.line.text().strip() if question.answered else None
    question.deleteLater()
    return found


def ask_number(
    parent: QWidget, title: str, hint: str, value: int, most: int, *, action: str = "OK"
) -> int | None:
    """A whole number from 0 to `most`, None where the question was cancelled."""
    box = QSpinBox()
    box.setRange(0, most)
    box.setValue(value)
    box.selectAll()
    question = Question(parent, title, box, hint, action)
    found = box.value() if question.answered else None
    question.deleteLater()
    return found


def ask_choice(
    parent: QWidget, title: str, names: Sequence[str], first: int, *, action: str = "OK"
) -> str | None:
    """One of the names, None where the question was cancelled."""
    box = QComboBox()
    box.addItems(list(names))
    box.setCurrentIndex(first)
    question = Question(parent, title, box, "", action)
    found = box.currentText() if question.answered else None
    question.deleteLater()
    return found
