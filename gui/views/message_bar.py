"""One sentence across the window about what went wrong, with a way to the place."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import QFrame, QPushButton, QToolButton, QWidget

from core.foreign_text import visible
from gui.looks.style import set_icon, set_style, side_by_side, styled_label
from gui.scenes.text import clipped, in_window
from gui.views.widgets import icon_button


class MessageBar(QFrame):
    """Shown while there is something to say, with a button for what can be done about it.

    It lies at the lower edge of an area. What went wrong stays, so what the area holds makes room
    for it; what is only told lies over it for a moment, and moves nothing.
    `left()` says that one of its buttons is pressed, which hides it or makes it another.
    """

    left = Signal()

    def __init__(self, area: QWidget) -> None:
        super().__init__(area)
        self._area = area
        area.installEventFilter(self)
        self.setObjectName("message")
        self._action: Callable[[], object] = _nothing
        self._icon = QToolButton()
        self._icon.setAccessibleName("Message")
        self._icon.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._icon.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.text = styled_label(wrap=True, plain=True)  # it may quote a link or a source
        self.text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.go = QPushButton("Show")
        self.go.clicked.connect(self._act)
        self.close_button = icon_button("Dismiss (Esc)", "Dismiss the message")
        self.close_button.clicked.connect(self._dismiss)
        layout = side_by_side(self, self._icon, (self.text, 1), self.go, self.close_button)
        layout.setContentsMargins(10, 4, 8, 4)
        self.hide()

    @property
    def sentence(self) -> str:
        """What is shown; empty while the bar is hidden."""
        return "" if self.isHidden() else self.text.text().replace("\u00a0", " ")

    def show_message(
        self,
        sentence: str,
        *,
        kind: str = "error",
        label: str = "",
        action: Callable[[], object] | None = None,
    ) -> None:
        """Show a sentence; `action` adds a button with that `label`."""
        # Clipped first: it may be a megabyte that a kernel printed.
        sentence = visible(in_window(clipped(sentence)))
        self._action = action or _nothing
        self.text.setText(sentence)
        self.text.setAccessibleName(sentence)
        self.go.setVisible(action is not None)
        self.go.setText(label)
        set_style(self, "kind", kind)
        set_icon(self._icon, kind, "error" if kind == "error" else "accent")
        set_icon(self.close_button, "close", size=14)
        self.show()
        self._place()

    def pass_by(self) -> None:
        """Something else is looked at: hide what was only told, and asks for nothing."""
        if self.property("kind") == "info" and self.go.isHidden():
            self.hide()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Stay at the lower edge."""
        if event.type() in (QEvent.Type.Resize, QEvent.Type.LayoutRequest):
            self._place()
        return False

    def event(self, event: QEvent) -> bool:
        """Take the room that another text or type needs."""
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self._place()
        return done

    def hideEvent(self, event: QHideEvent) -> None:
        """Give the room back."""
        super().hideEvent(event)
        self._place()

    def _place(self) -> None:
        if self.isHidden():
            self._area.setContentsMargins(0, 0, 0, 0)
            return
        width = self._area.width()
        layout = self.layout()
        assert layout is not None
        edge = self.contentsMargins()  # the border's
        inner = layout.heightForWidth(width - edge.left() - edge.right())
        high = max(inner, layout.minimumSize().height()) + edge.top() + edge.bottom()
        stays = self.property("kind") == "error"
        self._area.setContentsMargins(0, 0, 0, high if stays else 0)
        self.setGeometry(0, self._area.height() - high, width, high)
        self.raise_()

    def clear(self) -> None:
        """Hide the bar."""
        self.hide()

    def _act(self) -> None:
        self.left.emit()  # before: what is done may give the keyboard to something else
        self._action()

    def _dismiss(self) -> None:
        self.left.emit()
        self.clear()


def _nothing() -> None: ...
