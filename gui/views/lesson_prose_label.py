"""A label for the sentences of lessons: code in the fixed pitch, words of the glossary as links."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QLabel, QSizePolicy

from gui.looks.theme import current_theme
from gui.scenes.lesson_prose import WORD, plain, rich
from gui.scenes.text import spaced, unbroken
from gui.views.word_card import WordCard, known_words


class ProseLabel(QLabel):
    """Wraps, and shows the card of a word that is pointed at."""

    def __init__(self, role: str = "prose", text: str = "") -> None:
        super().__init__()
        self.setProperty("role", role)
        self.setWordWrap(True)
        self.setTextFormat(Qt.TextFormat.RichText)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.LinksAccessibleByMouse)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        self.linkHovered.connect(self._point)
        self._said = ""
        self.say(text)

    def said(self) -> str:
        return self._said

    def say(self, text: str) -> None:
        self._said = text
        text = unbroken(spaced(text))
        theme = current_theme()
        mono, accent = theme.mono().family(), theme.color("accent").name()
        self.setText(rich(text, mono=mono, accent=accent, glossary=known_words()))
        self.setAccessibleName(plain(text))

    def restyle(self) -> None:
        self.say(self._said)

    def _point(self, link: str) -> None:
        term = known_words().by_form.get(link.removeprefix(WORD).lower())
        if term is None:
            WordCard.put_away()
        else:
            WordCard.show_at(self, term, QCursor.pos())
