"""Says what went wrong, and how much of a launch was run: in the message bar and the forms."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtGui import QGuiApplication

from core.errors import CompileError, ParameterError, TilescopeError
from core.launching.file_launch import FieldErrors
from core.launching.plain_files import read_source
from gui.scenes.findings import finding_rows, go_to
from gui.scenes.text import plural

if TYPE_CHECKING:
    from gui.main_window import MainWindow

WITH_SIZES = ("benchmark", "ceilings")  # pages on which a rung's N is chosen there


FIRST_LINES = 3  # of what a kernel prints; more have no room


class Reporter(QObject):
    """Follows one window's recorder."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self.main, self.session, self.recorder = window, window.session, window.recorder
        self.recorder.failed.connect(self._on_failure)
        self.recorder.recorded.connect(self._on_recorded)
        self.recorder.counting_changed.connect(lambda _: self.show_size())
        self.session.trace_changed.connect(lambda _: self.show_size())
        self.session.page_changed.connect(lambda _: self.show_size())
        window.phases.offer_blocks_of(self.recorder.ladder)

    def _on_recorded(self) -> None:
        self.session.trouble = ""
        self.main.form.show_error("")
        self.main.form.file.show_errors({})
        self.main.message.clear()
        self._announce_findings()

    def _on_failure(self, error: TilescopeError) -> None:
        self.session.trouble = _remedy(error)
        if isinstance(error, ParameterError):
            self.main.form.show_error(str(error))
        elif isinstance(error, FieldErrors):
            self.main.form.file.show_errors(dict(error.fields))
        else:
            self._show_error(error)

    def _show_error(self, error: TilescopeError) -> None:
        errors = []
        source = self.main.source
        if isinstance(error, CompileError):
            self._show_text()
            errors = [d for d in error.diagnostics if d.severity == "error"]
            source.show_diagnostics(errors)
        if not errors:
            bench = self.main.workbench
            offer = bench.run_alone if bench.stands_alone else None
            self.main.message.show_message(str(error), label="Run it by itself", action=offer)
            return
        line = errors[0].line
        source.edit.reveal(line)
        self.main.message.show_message(
            str(error), label=f"Go to line {line}", action=lambda: source.go_to_error(line)
        )

    def _show_text(self) -> None:
        """The text of a file that has not compiled yet, where its mistakes can be put right."""
        wanted, source = self.session.configuration, self.main.source
        if wanted is None or wanted.own is None or wanted.key == source.draft.key:
            return
        try:
            original = wanted.source if wanted.untitled else read_source(Path(wanted.own.path))
        except TilescopeError:
            original = wanted.source
        if original is not None:
            source.show_unrun(wanted.key, original, wanted.source or original)

    def _announce_findings(self) -> None:
        """Name the first fault across the window, and offer the list."""
        rows = finding_rows(self.session.trace)
        if not rows:
            self._announce_prints()
            return
        more = f" ({plural(len(rows) - 1, 'other fault')})" if len(rows) > 1 else ""
        self.main.message.show_message(
            f"{rows[0].title}. {rows[0].message}{more}", label="Show", action=self.show_findings
        )

    def _announce_prints(self) -> None:
        """Show what the kernel printed, at least how it begins."""
        trace = self.session.trace
        lines = trace.printed if trace is not None else ()
        if not lines:
            return
        first = " / ".join(lines[:FIRST_LINES])
        more = " …" if len(lines) > FIRST_LINES else ""
        self.main.message.show_message(
            f"The kernel prints {plural(len(lines), 'line')}: {first}{more}",
            kind="info",
            label="Copy all",
            action=lambda: QGuiApplication.clipboard().setText("\n".join(lines) + "\n"),
        )

    def show_findings(self) -> None:
        """Show the list of findings and go to the first."""
        rows = finding_rows(self.session.trace)
        if rows:
            self.main.step_page.front("Findings")
            go_to(self.session, rows[0].finding)

    def show_size(self) -> None:
        """Below the form: how large the launch is, and how much of it was run and counted."""
        trace = self.session.trace
        if trace is None:
            return
        launch = trace.workload.launch
        threads = launch.grid.count * launch.block.count
        run = plural(len(trace.recorded_blocks), "block")
        if trace.complete:
            scope = "all run and counted"
        elif self.session.counts_complete:
            scope = f"all counted, {run} run step by step"
        elif self.recorder.counter.busy:
            scope = f"{run} run; the others are being counted"
        else:
            scope = f"{run} run and counted"
        words = (
            f"{plural(launch.grid.count, 'block')} of {plural(launch.block.count, 'thread')}, "
            f"{plural(threads, 'thread')} in all; {scope}."
        )
        if self.session.page in WITH_SIZES and trace.workload.rung:
            words = "N above is that of Step through and Compare; this page has one of its own."
        self.main.form.show_facts(words)


def _remedy(error: TilescopeError) -> str:
    """What is to be done where nothing has run, in place of the pictures."""
    lines = []
    if isinstance(error, CompileError):
        lines = [d.line for d in error.diagnostics if d.severity == "error"]
    if lines:
        return f"Nothing has run yet. Put line {lines[0]} right and press Ctrl+Return."
    if isinstance(error, ParameterError | FieldErrors):
        return "Nothing has run yet. Put the launch right at the left."
    return "Nothing has run yet. The message above says why."
