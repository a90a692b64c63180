"""Several panels in one place: above each other where there is room, otherwise one at a time."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSplitter, QVBoxLayout, QWidget

from gui.views.base import Panel
from gui.views.segmented import Segmented


class PanelStack(QWidget):
    """Shows all its panels when it has `room` lines of text for each, else the chosen one.

    The switch between them takes the place of the shown panel's heading. `follow`, if given, is the
    label of a further choice that leaves it to `offer` which panel is shown.
    """

    def __init__(self, panels: Mapping[str, Panel], *, room: int, follow: str = "") -> None:
        super().__init__()
        self._room = room
        self._panels = dict(panels)
        self._offered = next(iter(panels))
        self._left_out: set[str] = set()
        choices = {"": follow} if follow else {}
        self.switch = Segmented({**choices, **{key: key for key in panels}})
        self.splitter = QSplitter(Qt.Orientation.Vertical)
        self.splitter.setHandleWidth(8)
        self.splitter.setChildrenCollapsible(False)
        for panel in panels.values():
            self.splitter.addWidget(panel)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.splitter)
        self.switch.chosen.connect(lambda _: self.arrange())
        self.arrange()

    @property
    def panels(self) -> dict[str, Panel]:
        """The panels that are in this stack now; one may have been moved elsewhere."""
        return {
            name: panel
            for name, panel in self._panels.items()
            if panel.parentWidget() is self.splitter and name not in self._left_out
        }

    @property
    def shown(self) -> str:
        """The name of the panel that is shown when there is room for one."""
        name = self.switch.value or self._offered
        return name if name in self.panels else next(iter(self.panels))

    def offer(self, name: str) -> None:
        """Show a panel, if the choice was left to us."""
        if name != self._offered:
            self._offered = name
            self.arrange()

    def leave_out(self, name: str, out: bool) -> None:
        """Take a panel off the stack's choices, or put it back."""
        if out == (name in self._left_out):
            return
        (self._left_out.add if out else self._left_out.discard)(name)
        self.switch.show_choice(name, not out)
        if out:
            self._panels[name].hide()
            if self.switch.value == name:
                self.switch.value = next(iter(self.panels))
        self.arrange()

    def choose(self, name: str) -> None:
        """Show a panel as if the user had picked it."""
        self.switch.value = name
        self.arrange()

    def take(self, panel: Panel) -> None:
        """Take a panel of this stack back from elsewhere."""
        self.splitter.addWidget(panel)
        self.arrange()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Show one or all."""
        super().resizeEvent(event)
        self.arrange()

    def arrange(self) -> None:
        """Put the switch and the panels in order."""
        panels = self.panels
        room = self._room * len(panels) * self.fontMetrics().lineSpacing()
        apart = len(panels) == 1 or self.height() > room
        for name, panel in panels.items():
            chosen = name == self.shown
            panel.heading.setVisible(apart)
            panel.setVisible(apart or chosen)
            if chosen and not apart and panel.row.indexOf(self.switch) < 0:
                panel.row.insertWidget(0, self.switch)
        self.switch.setVisible(not apart)
