"""What stands in a page's place while it is made, or when it could not be."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from gui.views.page_widget import PageWidget


class BlankPage(PageWidget, QWidget):
    """Empty, unless there is a failure to tell of."""

    def __init__(self) -> None:
        super().__init__()
        self.sentence = QLabel()
        self.sentence.setProperty("role", "dim")
        self.sentence.setTextFormat(Qt.TextFormat.PlainText)
        self.sentence.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.sentence.setWordWrap(True)
        QVBoxLayout(self).addWidget(self.sentence)

    def show_title(self, title: str) -> None:
        """Stand for a page that is being made."""
        self.sentence.setText("")
        self.setAccessibleName(f"The page {title} is being made")

    def show_failure(self, title: str, error: Exception) -> None:
        """Say that a page could not be made."""
        sentence = f"The page {title} could not be opened: {error!r}."
        self.sentence.setText(sentence)
        self.setAccessibleName(sentence)
