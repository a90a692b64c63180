"""What the window says of its work: that it takes a while, what went wrong, how much was run.

It says so in the message bar and the forms. What takes a while can be stopped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtGui import QGuiApplication

from core.errors import CompileError, ParameterError, TilescopeError
from core.user_files.launch_texts import FieldErrors
from core.user_files.sources_and_headers import read_source
from gui.background import Worker
from gui.commands.recording import Stopped
from gui.commands.window_parts import Window
from gui.scenes.configuration import ORDER_TITLES, Configuration
from gui.scenes.findings_list import fault_names, finding_rows, go_to
from gui.scenes.launch_outcome import Outcome, outcome, repaired_text
from gui.scenes.numbers_and_sentences import clipped, plural
from gui.scenes.question_in_views import ANSWER_FIRST

CALM_MS = 300
"""What takes no longer needs no sign."""
PATIENCE_MS = 1500
"""What takes no longer needs no way to stop it."""
RECORDING = "Recording the new launch …"
WITH_SIZES = ("benchmark", "ceilings")  # pages on which a rung's N is chosen there
OF_STEPS = ("step", "compare")  # pages that show a record; the others need none
FIRST_LINES = 3  # of what a kernel prints; more have no room
MOST_OF_A_LINE = 120  # characters of each
_BEFORE = "the views show the launch before"


class Waiting(QObject):
    """Watches one window's opener and recorder. `stopped()` is for whoever works beside them."""

    stopped = Signal()

    def __init__(self, window: Window, opener: Worker) -> None:
        super().__init__(window)
        self.main, self.opener, self.recorder = window, opener, window.recorder
        self._said = ""
        self._timer = QTimer(self, singleShot=True, interval=PATIENCE_MS)
        self._timer.timeout.connect(self._say)
        self._calm = QTimer(self, singleShot=True, interval=CALM_MS)
        self._calm.timeout.connect(self._show_sign)
        self.recorder.arrived.connect(self._take_sign_away)
        for worker in (opener, self.recorder.worker):
            worker.started.connect(self._begin)
            worker.idle.connect(self._end)

    def stop(self) -> None:
        if self.opener.busy:
            self.opener.cancel()
            before = f": {_BEFORE}" if self.main.session.trace is not None else ""
            self.opener.failed.emit(Stopped(f"Opening the file was stopped{before}."))
        self.recorder.stop()
        self.stopped.emit()

    def _begin(self) -> None:
        if not self._timer.isActive():
            self._timer.start()
        if not self._calm.isActive():
            self._calm.start()

    def _show_sign(self) -> None:
        """Say that the views show the launch before: the left column has the new one already."""
        busy = self.opener.busy or self.recorder.worker.busy
        if busy and self.main.pages.row(self.main.session.page).clock:
            self.main.busy_sign.say("Reading the file …" if self.opener.busy else RECORDING)

    def _take_sign_away(self) -> None:
        self._calm.stop()
        self.main.busy_sign.say("")

    def _say(self) -> None:
        if self.main.pages.row(self.main.session.page).bare:
            return  # nothing is waited for there
        what = "Reading" if self.opener.busy else "Compiling and recording"
        before = f"; {_BEFORE}" if self.main.session.trace is not None else ""
        said = f"{what} takes a while{before}."
        self._said = self.main.message.tell(said, "Stop (Ctrl+.)", self.stop)

    def _end(self) -> None:
        if self.opener.busy or self.recorder.worker.busy:
            return
        self._timer.stop()
        self._take_sign_away()
        self.main.message.take_back(self._said)
        self._said = ""


@dataclass(frozen=True)
class _Run:
    """What is remembered of a run when the next one comes."""

    key: str
    source: str
    faults: tuple[str, ...]
    outcome: Outcome | None


class Reporter(QObject):
    """Follows one window's recorder.

    `run_alone` gives what runs the edited text by itself, None where that cannot be.
    """

    def __init__(
        self, window: Window, run_alone: Callable[[], Callable[[], object] | None]
    ) -> None:
        super().__init__(window)
        self.main, self._run_alone = window, run_alone
        self.session, self.recorder = window.session, window.recorder
        self._last: _Run | None = None
        self.recorder.failed.connect(self._on_failure)
        self.recorder.recorded.connect(self._on_recorded)
        self.recorder.counter.started.connect(self.show_size)
        self.recorder.counter.idle.connect(self.show_size)
        self.session.trace_changed.connect(lambda _: self.show_size())
        self.session.page_changed.connect(self._on_page)
        self.session.veiled_changed.connect(lambda _: self._veil())
        window.step_page.source.edit.textChanged.connect(self._on_edit)
        window.step_page.phases.offer_blocks_of(self.recorder.ladder)

    def _on_recorded(self) -> None:
        self.session.trouble = ""
        self.main.form.report(None)
        self.main.message.clear()
        self._announce_findings(self._repaired())

    def _on_edit(self) -> None:
        """Another text stands in place of one that failed: no other value runs that again.

        If it is the one that ran, nothing is wrong any more.
        """
        shown, wanted = self.session.asked_for, self.session.configuration
        if shown is None or wanted is None or self.recorder.worker.busy:
            return
        if wanted.key == shown.key and wanted.source != shown.source:
            self.recorder.go_back()
        source = self.main.step_page.source
        if source.edit.errors and not source.draft.stale:
            source.show_diagnostics(())
            self.main.message.clear()

    def _on_page(self, page: str) -> None:
        """Say of a record that it was cut once it is looked at."""
        self.show_size()
        trace, said = self.session.trace, self.main.message.isVisible()
        if page in OF_STEPS and trace is not None and trace.cut and not said:
            self._announce_findings("")

    def _veil(self) -> None:
        """Say nothing that a question is about; what has been said goes away."""
        if self.session.hides("findings"):
            self.main.message.clear()
        self.show_size()

    def _on_failure(self, error: TilescopeError) -> None:
        wanted, shown = self.session.configuration, self.session.origin
        another = shown is None or wanted is None or shown.configuration.key != wanted.key
        own = wanted is not None and (wanted.own is not None or wanted.source is not None)
        if another and wanted is not None and own and not isinstance(error, Stopped):
            self._show_nothing(wanted, error)
        self.session.trouble = _remedy(error)
        if not self.main.form.report(error):
            self._show_error(error)

    def _show_error(self, error: TilescopeError) -> None:
        errors = []
        source = self.main.step_page.source
        if isinstance(error, CompileError):
            errors = [d for d in error.diagnostics if d.severity == "error"]
            source.show_diagnostics(errors)
        if not errors:
            kind = "info" if isinstance(error, Stopped) else "error"
            self.main.message.show_message(
                str(error), kind=kind, label="Run it by itself", action=self._run_alone()
            )
            return
        line = errors[0].line
        source.edit.reveal(line)
        self.main.message.show_message(
            str(error), label=f"Go to line {line}", action=lambda: source.go_to_error(line)
        )

    def _show_nothing(self, wanted: Configuration, error: TilescopeError) -> None:
        """Show a text that cannot be run, and nothing of the kernel before it."""
        source = self.main.step_page.source
        self.session.trouble = _remedy(error)
        self.session.origin = None
        self.session.trace = None
        if wanted.key == source.draft.key:
            return
        original = self._original(wanted)
        if original is not None:
            source.show_unrun(wanted.key, original, wanted.source or original)

    def _original(self, wanted: Configuration) -> str | None:
        """The text before any edit; None where it cannot be had."""
        if wanted.own is None:
            return self.recorder.ladder[wanted.rung].source
        try:
            return wanted.source if wanted.untitled else read_source(Path(wanted.own.path))
        except TilescopeError:
            return wanted.source

    def _repaired(self) -> str:
        """What has come of an edit, if it leaves nothing at fault where something was."""
        trace, origin = self.session.trace, self.session.origin
        if trace is None or origin is None:
            return ""
        before = self._last
        self._last = now = _Run(
            origin.configuration.key, trace.workload.source, fault_names(trace), outcome(trace)
        )
        edited = before is not None and before.key == now.key and before.source != now.source
        if before is None or not edited or not before.faults or now.faults or trace.cut:
            return ""
        return repaired_text(before.faults, before.outcome, now.outcome)

    def _announce_findings(self, repaired: str) -> None:
        """Name the first fault across the window, and offer the list; or say that it is gone.

        A run that was cut is said to be.
        """
        trace = self.session.trace
        if self.session.hides("findings"):
            return
        rows, cut = finding_rows(trace), trace.cut if trace is not None else ""
        if not rows and trace is not None and cut:
            if self.session.page in OF_STEPS:
                self.main.message.show_message(f"{cut} {trace.note}")
            return
        if not rows:
            self._announce_prints(repaired)
            return
        more = f" ({plural(len(rows) - 1, 'other finding')})" if len(rows) > 1 else ""
        self.main.message.show_message(
            f"{rows[0].title}. {rows[0].message}{more} {cut}".rstrip(),
            label="Show",
            action=self.show_findings,
        )

    def _announce_prints(self, said: str) -> None:
        """Show what the kernel printed, at least how it begins, after what is said anyway."""
        trace = self.session.trace
        lines = trace.printed if trace is not None and not self.session.veiled else ()
        if not lines:
            if said:
                self.main.message.tell(said)
            return
        first = " / ".join(clipped(line, MOST_OF_A_LINE) for line in lines[:FIRST_LINES])
        more = " …" if len(lines) > FIRST_LINES else ""
        self.main.message.tell(
            f"{said} The kernel prints {plural(len(lines), 'line')}: {first}{more}".strip(),
            "Copy all",
            lambda: QGuiApplication.clipboard().setText("\n".join(lines) + "\n"),
        )

    def show_findings(self) -> None:
        rows = finding_rows(self.session.trace)
        if rows:
            self.main.step_page.front("Findings")
            go_to(self.session, rows[0].finding)

    def show_size(self) -> None:
        """Below the form: how large the launch is, and how much of it was run and counted."""
        trace = self.session.trace
        if trace is None:
            self.main.form.show_facts("")
            return
        if self.session.hides("form"):
            self.main.form.show_facts(f"{ANSWER_FIRST}: the question veils the size of the launch.")
            return
        launch = trace.workload.launch
        threads = launch.grid.count * launch.block.count
        run = plural(len(trace.recorded_blocks), "block")
        if trace.cut:
            scope = f"cut short: {run} begun"
        elif trace.complete:
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
        others = 0 if trace.workload.rung else self.main.form.file.kernels - 1
        if others > 0:
            words += f" The file has {plural(others, 'more kernel')}: choose one above."
        if trace.build.compiler:
            words += f" Compiled {trace.build.compiler_note}."
        if self.session.order != "lockstep":
            words += f" Warps run {ORDER_TITLES[self.session.order][0].lower()}."
        if self.session.page in WITH_SIZES and trace.workload.rung:
            words = "N above is that of Step through and Compare; this page has one of its own."
        self.main.form.show_facts(words)


def _remedy(error: TilescopeError) -> str:
    """What is to be done where nothing has run, in place of the pictures."""
    lines = []
    if isinstance(error, CompileError):
        lines = [d.line for d in error.diagnostics if d.severity == "error"]
    if lines:
        return f"This source does not compile. Put line {lines[0]} right and press Ctrl+Return."
    if isinstance(error, ParameterError | FieldErrors):
        return "Nothing has run yet. Put the launch right at the left."
    return "Nothing has run yet. The message above says why."
