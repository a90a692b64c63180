"""The words of the field on one sheet: a drawing, the word, one sentence; a field finds them."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QLineEdit, QScrollArea, QWidget

from gui.looks.style_sheet import named, side_by_side, stacked, styled_label
from gui.views.word_card import WordDrawing, known_words

SIZE = (760, 620)


class GlossarySheet(QDialog):
    """Every word of resources/glossary.toml, in the order of the alphabet."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Glossary")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        field = QLineEdit(placeholderText="Find a word", clearButtonEnabled=True)
        self.search = named(field, "Find a word")
        self.search.textChanged.connect(self._filter)
        self.rows: list[tuple[str, QWidget]] = []
        for term in sorted(known_words().terms, key=lambda one: one.term.lower()):
            row, drawing = QWidget(), WordDrawing(term.drawing)
            words = [
                styled_label(term.term, role="figure", plain=True),
                styled_label(term.line, role="prose", wrap=True, plain=True),
            ]
            if term.see:
                see = f"See {', '.join(term.see)}."
                words.append(styled_label(see, role="dim", wrap=True, plain=True))
            line = side_by_side(row, drawing, (stacked(None, *words, gap=2), 1), gap=18)
            line.setAlignment(drawing, Qt.AlignmentFlag.AlignTop)
            row.setAccessibleName(f"{term.term}: {term.line}")
            self.rows.append((" ".join((*term.forms, term.line)).lower(), row))
        body = QWidget()
        stacked(body, *(row for _, row in self.rows), None, gap=14, edges=(18, 6, 18, 12))
        area = named(QScrollArea(widgetResizable=True), "Glossary")
        area.setWidget(body)
        top = side_by_side(None, self.search, edges=(18, 0, 18, 0))
        stacked(self, top, (area, 1), edges=(0, 12, 0, 0))
        self.resize(*SIZE)
        self.search.setFocus()
        self.open()

    def _filter(self, text: str) -> None:
        wanted = text.strip().lower()
        for words, row in self.rows:
            row.setVisible(wanted in words)
