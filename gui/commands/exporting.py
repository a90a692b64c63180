"""The commands that export recorded steps, a report, and lessons' questions.

Another process makes pages, films, worksheets and question banks.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QProcess, QProcessEnvironment, QTimer

from core.atomic_files import must_be_writable
from core.errors import TilescopeError
from gui.background import Worker, sentence_of
from gui.commands.links_and_moments import Moments
from gui.commands.window_parts import Window
from gui.scenes.question_in_views import waits
from gui.scenes.session import Session
from gui.views.dialogs import ask_choice, ask_where

if TYPE_CHECKING:
    from core.lessons.lesson import Lesson
    from core.recording.count_launch import Counted
    from core.trace import Trace
    from gui.background import Progress

KINDS = (
    *("Page to replay in a browser (*.html)", "Film, MP4 (*.mp4)"),
    *("Film, GIF (*.gif)", "Film, WebP (*.webp)"),
)
LONGEST_MS = 3000  # that a process may take to end
REPORTS = ("Report (*.html)", "Report, Markdown (*.md)", "Report, PDF (*.pdf)")
BANKS = (
    *("Worksheet with its key (*.pdf)", "Question bank, GIFT for Moodle (*.gift)"),
    *("Question bank, QTI 2.1 (*.zip)", "Table of questions (*.csv)"),
)
FORMATS = {".pdf": "pdf", ".gift": "gift", ".zip": "qti", ".csv": "csv"}
ALL_LESSONS = "All lessons"
COMMAND = ("-P", "-m", "core.cli.app")
_ROOT = Path(__file__).resolve().parents[__name__.count(".")]
_PERCENT = re.compile(r"(\d+) %")


class Exporting(QObject):
    """Has `tilescope export` make a file of what one window shows; says so, and can be stopped.

    It records the launch anew, from the link to it: nothing of it keeps this window's thread, and
    it knows of no question, so that it waits until one is answered.
    """

    def __init__(self, window: Window, moments: Moments) -> None:
        super().__init__(window)
        self.main, self.moments = window, moments
        self._process: QProcess | None = None
        self._path = Path()
        self._said = ""
        self.worker = Worker(
            self,
            "report",
            lambda path: window.message.tell(f"Saved {path}"),
            lambda error: window.message.show_message(sentence_of(error)),
        )

    @property
    def busy(self) -> bool:
        return self._process is not None

    def ask_and_export(self) -> None:
        """Ask for a file, then export all steps of the block as its name says."""
        if self._waits():
            return
        first = f"{file_name(self.main.session)}.html"
        if where := ask_where(self.main, "Export the recorded steps", first, KINDS):
            self.export(where[0])

    def export(self, path: Path) -> None:
        """Make the file; what was there stays until all of it is."""
        if self._waits():
            return
        self.cancel()
        link = self.moments.link_now()
        if link is not None:
            theme = ("--theme", self.main.session.theme)
            self._start(path, "export", "--percent", link, "-o", str(path), *theme)

    def ask_and_report(self) -> None:
        if self.main.session.trace is None or self._waits("a report"):
            return
        kernel = file_name(self.main.session).partition("-step-")[0]
        title = "Export a report of the launch"
        if where := ask_where(self.main, title, f"{kernel}.html", REPORTS):
            self.report(where[0])

    def report(self, path: Path) -> None:
        session = self.main.session
        if session.trace is None or self._waits("a report"):
            return
        from gui.exports.pdf_pages import report_pdf  # is loaded for this alone

        self.worker.submit(_report_job, session.trace, session.counted, path, report_pdf)

    def ask_and_export_lessons(self, shown: Lesson | None) -> None:
        """Ask which lesson (at first the one `shown`) and for a file; write its questions."""
        from core.lessons.course import load_course  # is read for this alone

        names: dict[str, tuple[str, ...]] = {ALL_LESSONS: ()}
        names |= {name: (name,) for name in load_course().order}
        if shown is not None and shown.name not in names:
            names[shown.name] = (str(shown.file),)
        first = 0 if shown is None else [*names].index(shown.name)
        name = ask_choice(self.main, "Export the questions of", [*names], first, action="Go on")
        if name is None:
            return
        title, offered = f"Export the questions of {name}", f"{name.replace(' ', '-')}.pdf"
        if where := ask_where(self.main, title, offered, BANKS):
            path, kind = where
            chosen = (how for suffix, how in FORMATS.items() if f"*{suffix})" in kind)
            how = FORMATS.get(path.suffix) or next(chosen, "pdf")
            self.export_lessons(path, how, names[name])

    def export_lessons(self, path: Path, kind: str, names: Sequence[str] = ()) -> None:
        """Write questions as "pdf", "gift", "qti" or "csv". `names`: as the command takes them."""
        self.cancel()
        self._start(path, "lesson", "export", *names, f"--{kind}", "-o", str(path))

    def _start(self, path: Path, *arguments: str) -> None:
        try:
            must_be_writable(path)
        except TilescopeError as error:
            self.main.message.show_message(str(error))
            return
        self._path, self._said = path, ""
        process = QProcess(self)
        given = QProcessEnvironment.systemEnvironment()
        given.insert("QT_QPA_PLATFORM", "offscreen")
        roots = (str(_ROOT), os.environ.get("PYTHONPATH", ""))
        given.insert("PYTHONPATH", os.pathsep.join(filter(None, roots)))
        given.insert("PYTHONIOENCODING", "utf-8")
        process.setProcessEnvironment(given)
        process.readyReadStandardOutput.connect(self._hear)
        process.finished.connect(self._end)
        process.errorOccurred.connect(self._fail)
        self._process = process
        process.start(sys.executable, [*COMMAND, *arguments])
        self._say_doing(0)

    def _waits(self, what: str = "a page or film of the steps") -> bool:
        """Say so where an open question would be answered by what is exported."""
        sentence = waits(self.main.session, what)
        if sentence:
            self.main.message.tell(sentence)
        return bool(sentence)

    def cancel(self) -> None:
        """Give it up. The process takes its unfinished file away, and is killed if it cannot."""
        process, self._process = self._process, None
        if process is None:
            return
        process.readyReadStandardOutput.disconnect(self._hear)
        process.finished.disconnect(self._end)
        process.errorOccurred.disconnect(self._fail)
        process.finished.connect(process.deleteLater)
        process.terminate()
        QTimer.singleShot(LONGEST_MS, process, process.kill)
        self.main.message.tell(f"{self._path.name} was not written.")

    def close(self) -> None:
        self.cancel()
        self.worker.close()

    def _hear(self) -> None:
        assert self._process is not None
        text = bytes(self._process.readAllStandardOutput().data()).decode("utf-8", "replace")
        self._said = (self._said + text)[-4000:]
        found = _PERCENT.findall(self._said)
        if found:
            self._say_doing(int(found[-1]))

    def _say_doing(self, percent: int) -> None:
        sentence = f"Writing {self._path.name}{f': {percent} %' if percent else ' …'}"
        self.main.message.tell(sentence, "Cancel", self.cancel)

    def _fail(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart and self._process is not None:
            self._process.deleteLater()
            self._process = None
            self.main.message.show_message("The export could not be started: there is no Python.")

    def _end(self, status: int) -> None:
        process, self._process = self._process, None
        assert process is not None
        said = bytes(process.readAllStandardError().data()).decode("utf-8", "replace")
        process.deleteLater()
        if status == 0:
            self.main.message.tell(f"Saved {self._path}")
            return
        words = " ".join(said.split()).removeprefix("error: ")
        early = f"The export stopped early: {self._path.name} was not written."
        self.main.message.show_message(words or early)


def file_name(session: Session) -> str:
    """What a file of what is shown is called: its kernel and the step."""
    trace = session.trace
    kernel = trace.workload.rung or trace.workload.kernel if trace is not None else "tilescope"
    return f"{re.sub(r'[^0-9A-Za-z_]+', '-', kernel).strip('-')}-step-{session.step}"


def _report_job(
    _: Progress,
    trace: Trace,
    counted: Counted | None,
    path: Path,
    pdf_of: Callable[[str, str], bytes],
) -> Path:
    """Write it as the path's ending says, .html, .md or .pdf; returns the path.

    `pdf_of` makes a PDF of HTML and a title. Raises TilescopeError for another ending, and where
    it cannot be written.
    """
    from core.report import report_of, write_report

    if path.suffix.lower() not in (".html", ".md", ".pdf"):
        raise TilescopeError(f"{path.name} is no report: end its name with .html, .md or .pdf.")
    return write_report(report_of(trace, counted), path, pdf_of)
