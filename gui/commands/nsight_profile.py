"""The command that sets a profile of Nsight Compute beside the counters of the shown launch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog

from gui.background import Worker, sentence_of
from gui.commands.window_parts import Window
from gui.jobs.record_work import profile_job

PROFILES = "Profiles of Nsight Compute (*.ncu-rep *.csv *.txt *.log)"
NO_LAUNCH = "There is no launch to compare a profile with: choose a kernel, or open a file."


class Profiling(QObject):
    """Reads profiles and counts, both in another thread, and shows them in Counters."""

    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self.main, self.session = window, window.session
        self.worker = Worker(self, "profile", self._show, self._refuse)
        self._said = ""

    def ask_and_compare(self) -> None:
        if self.session.trace is None:
            self.main.message.show_message(NO_LAUNCH)
            return
        title = "Compare with a profile of Nsight Compute"
        name, _ = QFileDialog.getOpenFileName(self.main, title, "", PROFILES)
        if name:
            self.compare(Path(name))

    def compare(self, path: Path) -> None:
        trace = self.session.trace
        if trace is None:
            return
        said = f"Reading {path.name} and counting the launch …"
        self._said = self.main.message.tell(said, "Stop (Ctrl+.)", self.cancel)
        self.worker.submit(profile_job, path, trace.workload)

    def cancel(self) -> None:
        self.worker.cancel()
        self.main.message.take_back(self._said)

    def _show(self, found: Any) -> None:
        self.main.message.take_back(self._said)
        self.session.profile = found
        if self.session.profile is not found:  # another launch was chosen meanwhile
            return
        self.session.counts_by = "profile"
        self.main.show_page("step")
        self.main.step_page.front("Counters")

    def _refuse(self, error: object) -> None:
        said = sentence_of(error, "The profile could not be compared")
        self.main.message.show_message(said)
