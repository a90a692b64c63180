"""What is said across the window: what went wrong, that work is under way, and a moment's name."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QRectF, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QHideEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QPushButton, QToolButton, QWidget

from core.control_characters import visible
from gui.looks.icons import set_icon
from gui.looks.labels_and_layouts import named, side_by_side, styled_label
from gui.looks.style_sheet import set_style
from gui.looks.theme import current_theme
from gui.scenes.numbers_and_sentences import clipped, in_window
from gui.views.buttons_and_choices import icon_button
from gui.views.captions_and_panels import AtLowerEdge
from gui.views.drawing_tools import pen, text


class MessageBar(AtLowerEdge):
    """Shown while there is something to say, with a button for what can be done about it.

    What went wrong stays, so what the area holds makes room for it; what is only told lies over it
    for a moment, moves nothing, and gives way to what went wrong before. `left()` says that one of
    its buttons is pressed, which hides it or makes it another.
    """

    left = Signal()

    def __init__(self, area: QWidget) -> None:
        super().__init__(area)
        self._action: Callable[[], object] = _nothing
        self._again: Callable[[], None] = self.hide  # shows what went wrong, beneath what is told
        self._icon = named(QToolButton(), "Message")
        self._icon.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._icon.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.text = styled_label(wrap=True, plain=True)  # it may quote a link or a source
        self.text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.go = QPushButton("Show")
        self.go.clicked.connect(self._act)
        tip = "Dismiss (Esc)"
        self.close_button = icon_button(tip, "Dismiss the message", icon="close", size=14)
        self.close_button.clicked.connect(self._dismiss)
        parts = (self._icon, (self.text, 1), self.go, self.close_button)
        side_by_side(self, *parts, edges=(10, 4, 8, 4))

    @property
    def sentence(self) -> str:
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
        if kind == "error":
            self._again = self.hide
        elif not self.isHidden() and self.property("kind") == "error":
            was, button = self.sentence, self.go.text()
            on = None if self.go.isHidden() else self._action
            self._again = lambda: self.show_message(was, label=button, action=on)
        self._action = action or _nothing
        self.text.setText(sentence)
        self.text.setAccessibleName(sentence)
        self.go.setVisible(action is not None)
        self.go.setText(label)
        set_style(self, "kind", kind)
        set_icon(self._icon, kind, "error" if kind == "error" else "accent")
        self.show()
        self.place()

    def tell(
        self, sentence: str, label: str = "", action: Callable[[], object] | None = None
    ) -> str:
        """Show what is no error; what is shown then, for `take_back`."""
        self.show_message(sentence, kind="info", label=label, action=action)
        return self.sentence

    def take_back(self, told: str) -> None:
        if told and self.sentence == told:
            self._again()

    def pass_by(self) -> None:
        """Something else is looked at: hide what was only told, and asks for nothing."""
        if self.property("kind") == "info" and self.go.isHidden() and not self.isHidden():
            self._again()

    def event(self, event: QEvent) -> bool:
        """Take the room that another text or type needs."""
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self.place()
        return done

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.place()

    def place(self) -> None:
        super().place()
        stays = not self.isHidden() and self.property("kind") == "error"
        self._area.setContentsMargins(0, 0, 0, self.height() if stays else 0)

    def clear(self) -> None:
        self._again = self.hide
        self.hide()

    def _act(self) -> None:
        self.left.emit()  # before: what is done may give the keyboard to something else
        self._action()

    def _dismiss(self) -> None:
        self.left.emit()
        self._again()


def _nothing() -> None: ...


VEIL = 0.55  # opacity of what lies over the views, which belong to the launch before


class BusySign(QWidget):
    """A veil with a sentence over an area, still: nothing in it moves, and it takes no clicks."""

    def __init__(self, area: QWidget) -> None:
        super().__init__(area)
        self._area = area
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.sentence = ""
        area.installEventFilter(self)
        self.hide()

    def say(self, sentence: str) -> None:
        """Show a sentence; an empty one takes the sign away."""
        self.sentence = sentence
        self.setAccessibleName(sentence)
        self.setVisible(bool(sentence))
        self._place()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self._place()
        return False

    def _place(self) -> None:
        if not self.isHidden():
            self.setGeometry(self._area.rect())
            self.raise_()
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = current_theme(), QPainter(self)
        painter.fillRect(self.rect(), theme.color("window", VEIL))
        font = theme.font("caption", bold=True)
        metrics, gap = QFontMetricsF(font), theme.spacing.margin
        wide = min(metrics.horizontalAdvance(self.sentence) + 3 * gap, self.width() - 2.0 * gap)
        box = QRectF(0, 0, wide, metrics.height() + 1.6 * gap)
        box.moveCenter(QRectF(self.rect()).center())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(pen(theme.color("accent"), 1.5))
        painter.setBrush(theme.color("panel"))
        painter.drawRoundedRect(box, theme.spacing.radius, theme.spacing.radius)
        text(painter, box, self.sentence, theme.color("text"), font)


class MomentTitle(QFrame):
    """Above the page while moments are gone through; `moved(by)` and `ended()` are its buttons'."""

    moved = Signal(int)
    ended = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("momentTitle")
        self.text = styled_label(role="moment", wrap=True, plain=True)
        self.place = styled_label(role="dim")
        self.back = icon_button("Previous moment (Ctrl+PgUp)", icon="play_back")
        self.forward = icon_button("Next moment (Ctrl+PgDown)", icon="play")
        self.close_button = icon_button("Hide the moment's title", icon="close", size=14)
        self.back.clicked.connect(lambda: self.moved.emit(-1))
        self.forward.clicked.connect(lambda: self.moved.emit(1))
        self.close_button.clicked.connect(self.ended)
        ways = (self.back, self.forward, self.close_button)
        side_by_side(self, (self.text, 1), self.place, *ways, edges=(14, 4, 8, 4))
        self.hide()

    def show_moment(self, name: str, at: int, count: int) -> None:
        self.text.setText(name)
        self.place.setText(f"{at + 1} of {count}")
        self.back.setEnabled(at > 0)
        self.forward.setEnabled(at + 1 < count)
        self.show()
