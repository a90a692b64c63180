"""One sentence across the window about what went wrong, with a way to the place."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QToolButton

from gui.style import set_icon


class MessageBar(QFrame):
    """Shown while there is something to say; `line_asked(line)` when the user wants to go there."""

    line_asked = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("message")
        self.line: int | None = None
        self._icon = QToolButton()
        self._icon.setEnabled(True)
        self._icon.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._icon.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.text = QLabel()
        self.text.setWordWrap(True)
        self.text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.go = QPushButton()
        self.go.clicked.connect(self._ask)
        self.close_button = QToolButton()
        self.close_button.setToolTip("Dismiss (Esc)")
        self.close_button.setAccessibleName("Dismiss the message")
        self.close_button.clicked.connect(self.clear)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(10, 4, 8, 4)
        layout.addWidget(self._icon)
        layout.addWidget(self.text, 1)
        layout.addWidget(self.go)
        layout.addWidget(self.close_button)
        self.hide()

    @property
    def sentence(self) -> str:
        """What is shown; empty while the bar is hidden."""
        return "" if self.isHidden() else self.text.text()

    def show_message(self, sentence: str, *, kind: str = "error", line: int | None = None) -> None:
        """Show a sentence; `line` adds a button that goes to that line of the source."""
        self.line = line
        self.text.setText(sentence)
        self.text.setAccessibleName(sentence)
        self.go.setVisible(line is not None)
        self.go.setText(f"Go to line {line}")
        self.setProperty("kind", kind)
        self.style().unpolish(self)
        self.style().polish(self)
        set_icon(self._icon, kind, "error" if kind == "error" else "accent")
        set_icon(self.close_button, "close", size=14)
        self.show()

    def clear(self) -> None:
        """Hide the bar."""
        self.hide()

    def _ask(self) -> None:
        if self.line is not None:
            self.line_asked.emit(self.line)
