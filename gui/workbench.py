"""What a user does with a source in the window: edit it and run it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

if TYPE_CHECKING:
    from gui.main_window import MainWindow


class Workbench(QObject):
    """The commands of the File and Edit menus that are about sources, for one window."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self.window_ = window
        self.session = window.session
        self.recorder = window.recorder
        self.source = window.source
        self.source.run_wanted.connect(lambda _: self.run_source())
        self.source.original_wanted.connect(self.run_original)

    # ---- edit and run

    def edit_source(self) -> None:
        """Give the keyboard to the editor."""
        self.window_.show_page("step")
        self.source.edit.setFocus()

    def run_source(self) -> None:
        """Compile and record what stands in the editor, with the present launch."""
        self.session.playing = 0
        draft = self.source.draft
        self.recorder.run_source(draft.text if draft.edited else None)

    def run_original(self) -> None:
        """Put the text before any edit back into the editor, and run it."""
        self.source.put_original()
        self.run_source()
