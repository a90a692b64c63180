"""The name of the moment that is presented, for the last row, and the way to its neighbours."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame

from gui.looks.style_sheet import side_by_side, styled_label
from gui.views.widgets import icon_button


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
