"""The ladder and the form of side B, in the left column beside those of side A."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QVBoxLayout, QWidget

from gui.frames.pieces import PAUSE, Steps, whole
from gui.views.base import Panel
from gui.views.configuration_form import ConfigurationForm
from gui.views.ladder_panel import LadderPanel

if TYPE_CHECKING:
    from core.ladder import Ladder
    from gui.scenes.selection import Configuration


class SideColumn(QWidget):
    """Chooses a launch as the left column does, for another session."""

    def building(self, ladder: Ladder) -> Steps:
        """Make the column, piece by piece; it is whole after the last."""
        self.ladder = ladder
        self.ladder_panel = LadderPanel(ladder[name] for name in ladder.names)
        yield PAUSE
        self.form = ConfigurationForm()
        yield PAUSE
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addWidget(Panel("Kernel ladder, B", self.ladder_panel, flush=True), 1)
        yield PAUSE
        layout.addWidget(Panel("Configuration, B", self.form, controls=[self.form.reset]))
        yield PAUSE

    def show_launch(self, configuration: Configuration) -> None:
        """Show a launch in the fields, without a signal."""
        whole(self.showing(configuration))

    def showing(self, configuration: Configuration) -> Steps:
        """Show a launch in the fields, without a signal, piece by piece."""
        self.ladder_panel.select(configuration.rung)
        yield PAUSE
        if configuration.own is not None:
            self.form.show_file()
            self.form.file.follow(configuration.own)
            return
        rung = self.ladder[configuration.rung]
        if rung is not self.form.rung or self.form.values() != dict(configuration.parameters):
            yield from self.form.showing(rung, configuration.parameters)

    def restyle(self) -> None:
        """Take up the theme's icons and sizes."""
        self.form.restyle()
        self.ladder_panel.list.scheduleDelayedItemsLayout()
