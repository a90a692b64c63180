"""The words of the field on one sheet: a drawing, the word, one sentence; a field finds them."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QGridLayout,
    QHBoxLayout,
    QLineEdit,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from gui.looks.style import styled_label
from gui.views.word_card import WordDrawing, known_words

SIZE = (760, 620)


class GlossarySheet(QDialog):
    """Every word of resources/glossary.toml, in the order of the alphabet."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Glossary")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.search = QLineEdit()
        self.search.setPlaceholderText("Find a word")
        self.search.setAccessibleName("Find a word")
        self.search.setClearButtonEnabled(True)
        self.search.textChanged.connect(self._filter)
        body = QWidget()
        rows = QVBoxLayout(body)
        rows.setContentsMargins(18, 6, 18, 12)
        rows.setSpacing(14)
        self.rows: list[tuple[str, QWidget]] = []
        for term in sorted(known_words().terms, key=lambda one: one.term.lower()):
            row = QWidget()
            line = QHBoxLayout(row)
            line.setContentsMargins(0, 0, 0, 0)
            line.setSpacing(18)
            line.addWidget(WordDrawing(term.drawing), 0, Qt.AlignmentFlag.AlignTop)
            words = QGridLayout()
            words.setVerticalSpacing(2)
            words.addWidget(styled_label(term.term, role="figure", plain=True), 0, 0)
            words.addWidget(styled_label(term.line, role="prose", wrap=True, plain=True), 1, 0)
            if term.see:
                see = f"See {', '.join(term.see)}."
                words.addWidget(styled_label(see, role="dim", wrap=True, plain=True), 2, 0)
            line.addLayout(words, 1)
            row.setAccessibleName(f"{term.term}: {term.line}")
            self.rows.append((" ".join((*term.forms, term.line)).lower(), row))
            rows.addWidget(row)
        rows.addStretch(1)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setAccessibleName("Glossary")
        area.setWidget(body)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 12, 0, 0)
        top = QHBoxLayout()
        top.setContentsMargins(18, 0, 18, 0)
        top.addWidget(self.search)
        layout.addLayout(top)
        layout.addWidget(area, 1)
        self.resize(*SIZE)
        self.search.setFocus()
        self.open()

    def _filter(self, text: str) -> None:
        wanted = text.strip().lower()
        for words, row in self.rows:
            row.setVisible(wanted in words)
