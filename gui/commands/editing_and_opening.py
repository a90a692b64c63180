"""What a user does with sources in the window: edit and run them, open a file of their own."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QEvent, QObject, Signal
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QFileDialog

from core.cli.app import WINDOW_FILES
from core.control_characters import visible
from core.errors import TilescopeError
from core.links import checksum
from core.source.cuda_in_python import ENDINGS
from core.user_files.launch_texts import LARGE, UNTITLED, FileLaunch, split_defines
from core.user_files.sources_and_headers import is_saved_trace, read_source, write_source
from core.wording import listing
from gui.background import Coalescer, Worker, sentence_of
from gui.commands.recording import Stopped
from gui.commands.status_messages import Waiting
from gui.commands.window_parts import Window
from gui.jobs.opening_work import (
    NO_NUMBER,
    Loaded,
    Opened,
    follow_job,
    load_job,
    open_job,
    turn_job,
)
from gui.scenes.configuration import Conditions, Configuration
from gui.scenes.launch_form import Kind, knob_rows, renumbered, turned
from gui.scenes.source_pane import ELSEWHERE, made_elsewhere

CUDA_FILES = "CUDA sources (*.cu *.cuh);;All files (*)"
OPENED = (
    f"Kernels, saved traces, lists of moments ({' '.join(f'*{end}' for end in WINDOW_FILES)});;"
    "All files (*)"
)
PTX = ".ptx"
# What types are made of these is asked of the compiler: too long a wait.
_ASKS_COMPILER = re.compile(r"\b(?:struct|class|typedef|using|__constant__)\b")
RECENT = 5  # sources that are listed above the ladder
NOTHING_OPEN = "Nothing has run yet. Choose a kernel at the left, or open a file with Ctrl+O."


class Workbench(QObject):
    """The commands of the File and Edit menus that are about sources, for one window.

    `launches` remembers the last launch of each source, and `texts` those that are in no file, both
    by the source's key. `opened(key)` says that a file was read, before its launch is recorded;
    `list_wanted(path)` that the file holds moments.
    """

    opened = Signal(str)
    list_wanted = Signal(object)

    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self.main = window
        self.session = window.session
        self.recorder = window.recorder
        self.source = window.step_page.source
        self.form = window.form.file
        self.launches: dict[str, FileLaunch] = {}
        self.texts: dict[str, str] = {}
        self._saved: dict[str, tuple[Path, str]] = {}  # where texts in no file went, by their keys
        self._given: Conditions | None = None  # of the file that is being opened
        self._form: Opened | None = None  # what the form was made of last
        self._shown_form: Opened | None = None  # the same, of the launch that is shown
        self._key = ""  # of the configuration
        self.opener = Worker(self, "opener", self._take, self._refuse)
        self.waiting = Waiting(window, self.opener)
        self.source.run_wanted.connect(lambda _: self.run_source())
        self.source.original_wanted.connect(self.run_original)
        self.source.edit.refused.connect(self._say)
        self.form.changed.connect(self._launch)
        self.form.kernel_chosen.connect(self._choose_kernel)
        self.turning = Coalescer(self)
        self.turning.watch(self.recorder.worker)
        self.turning.released.connect(lambda what: self._turn(*what))
        window.form.knobs.turned.connect(lambda *what: self.turning.offer(what, of=what[:2]))
        self.session.changed.connect(self._on_changed)
        self.session.configuration_changed.connect(self._give_way)
        self.recorder.recorded.connect(self._settle)
        self.recorder.failed.connect(self._form_back)
        window.setAcceptDrops(True)
        window.installEventFilter(self)

    # ---- edit and run

    def edit_source(self) -> None:
        """Give the keyboard to the source, and have keys typed into it."""
        self._show_source()
        self.source.begin_editing()

    def undo(self) -> None:
        """Take back the last edit of the source, whether it is edited now or read."""
        self._show_source()
        if self.source.edit.document().isUndoAvailable():
            self.source.edit.undo()
        else:
            self.main.message.tell("There is no edit to undo.")

    def redo(self) -> None:
        """Make the edit again that was taken back last."""
        self._show_source()
        if self.source.edit.document().isRedoAvailable():
            self.source.edit.redo()
        else:
            self.main.message.tell("There is no edit to redo.")

    def _show_source(self) -> None:
        self.main.show_page("step")
        self.main.step_page.front("Source")

    def run_source(self) -> None:
        self.session.playing = 0
        draft, now = self.source.draft, self.session.configuration
        source = draft.text if draft.edited else None
        if now is None or self._fit_form(now, draft.text, source):
            return
        self.recorder.run_source(source)

    @property
    def stands_alone(self) -> bool:
        """Whether the text is an edit of a rung's and has a kernel, which could run by itself."""
        now, draft = self.session.configuration, self.source.draft
        if now is None or now.own is not None or not draft.edited:
            return False
        from core.source.template_instances import kernel_names  # loads the compiler

        return bool(kernel_names(draft.text))

    def run_alone(self) -> None:
        """Run the shown text as a file of one's own, with a launch that is guessed from it."""
        text = self.source.draft.text
        pasted = checksum(text)
        self.source.draft.drop(f"{UNTITLED}#{pasted}")
        self.opener.submit(open_job, UNTITLED, None, None, text, pasted=pasted)

    def run_original(self) -> None:
        self.source.put_original()
        self.run_source()

    def save_source(self) -> None:
        """Write the text to its file: a file's own, or the one that was asked for the first time.

        A file that another program has changed since it was read is overwritten only if the user
        wants that.
        """
        path = self._file_of_source()
        if made_elsewhere(self.session.trace):
            self._say(ELSEWHERE)
        elif path is None:
            self.save_source_as()
        elif self._changed_outside(path):
            said = f"Another program has changed {path.name} since it was read."
            overwrite = partial(self._write_source, path)
            self.main.message.show_message(said, label="Overwrite it", action=overwrite)
        else:
            self._write_source(path)

    def save_source_as(self) -> None:
        key = Path(self.source.draft.key.partition("#")[0])
        first = str(self._file_of_source() or key.with_suffix(".cu"))
        name, _ = QFileDialog.getSaveFileName(self.main, "Save the source", first, CUDA_FILES)
        if name:
            self._write_source(Path(name).absolute())

    def _file_of_source(self) -> Path | None:
        """Where the shown text is saved without a question."""
        key = self.source.draft.key
        if key in self._saved:
            return self._saved[key][0]
        path = Path(key)  # of Python, or a notebook, the text is a part
        return path if path.is_absolute() and path.suffix not in ENDINGS else None

    def _changed_outside(self, path: Path) -> bool:
        """Whether a file holds neither what was read or saved here last nor what is to be saved."""
        draft = self.source.draft
        known = self._saved[draft.key][1] if draft.key in self._saved else draft.original
        try:
            return path.exists() and read_source(path) not in (known, draft.text)
        except TilescopeError:
            return True

    def _write_source(self, path: Path) -> None:
        draft = self.source.draft
        try:
            write_source(path, draft.text)
        except TilescopeError as error:
            self._say(str(error))
            return
        if str(path) == draft.key:
            self.source.saved()
        elif not Path(draft.key).is_absolute() or Path(draft.key).suffix in ENDINGS:
            self._saved[draft.key] = path, draft.text
        self.main.message.tell(f"Saved {path}.")

    # ---- a file of one's own

    def ask_for_file(self) -> None:
        name, _ = QFileDialog.getOpenFileName(self.main, "Open a kernel", "", OPENED)
        if name:
            self.open_file(name)

    def open_file(self, path: str) -> None:
        """Read a file, and run its first kernel or the launch remembered for it.

        A saved trace, of whatever name, is shown as it was recorded; a text (.txt) is a list of
        moments.
        """
        path = str(Path(path).absolute())
        if is_saved_trace(Path(path)):
            self.opener.submit(load_job, path, self.recorder.ladder, self.session.seed)
        elif path.endswith(".txt"):
            self.list_wanted.emit(Path(path))
        else:
            self.opener.submit(open_job, path, self.launches.get(path), None)

    def recent_files(self) -> list[tuple[str, str]]:
        """The sources that were shown last, the latest first: each a key, its name and kernel."""
        there = [(k, o) for k, o in self.launches.items() if o.path != UNTITLED or k in self.texts]
        latest = there[::-1][:RECENT]
        return [(key, visible(f"{Path(own.path).name}: {own.kernel}")) for key, own in latest]

    def open_listed(self, key: str) -> None:
        """Go back to a source with the launch it had last."""
        own = self.launches.get(key)
        if own is not None:
            self.session.playing = 0
            text, pasted = self.texts.get(key), key.removeprefix(own.path)[1:]
            self.opener.submit(open_job, own.path, own, None, text, pasted=pasted)

    def reopen(
        self,
        wanted: Configuration,
        block: int | None = None,
        *,
        linked: bool = False,
        given: Conditions | None = None,
    ) -> None:
        """Open the file of an earlier session or of a link with its launch and edits.

        `block` is the one to look at first; what is `given` holds once it is read.
        """
        assert wanted.own is not None
        self._given = given
        self.opener.submit(
            open_job,
            wanted.own.path,
            wanted.own,
            None,
            wanted.source,
            linked=linked,
            block=block,
            pasted=wanted.pasted,
        )

    def show_form(self, configuration: Configuration) -> None:
        """Show the form of a configuration that is a launch of a file's kernel."""
        assert configuration.own is not None
        key = configuration.key
        self.launches.pop(key, None)  # it becomes the latest
        self.launches[key] = configuration.own
        if configuration.untitled and configuration.source is not None:
            self.texts[key] = configuration.source
        self.main.form.show_file()
        self.form.follow(configuration.own)

    def _give_way(self, configuration: Configuration) -> None:
        """A rung that is chosen while a file is read is what is wanted now, and not the file."""
        before, self._key = self._key, configuration.key
        if configuration.own is None and before != self._key:
            self.opener.cancel()

    def _on_changed(self, names: frozenset[str]) -> None:
        if "trace" in names:
            self.session.turns.offer(self, self._show_knobs)

    def _show_knobs(self) -> None:
        shown, trace = self.session.asked_for, self.session.trace
        if trace is None:  # nothing of the kernel before what cannot be run
            self.main.form.show_knobs(())
        elif shown is not None and shown.own is not None:
            self.main.form.show_knobs(knob_rows(trace.workload, shown.own))

    def _turn(self, kind: Kind, name: str, value: int) -> None:
        """Set a number of the shown file: an argument, a macro, or a constant in its text."""
        now = self.session.configuration
        if now is None or now.own is None:
            return
        if now.own.path.endswith(PTX):
            changed = tuple((n, str(value) if n == name else t) for n, t in now.own.arguments)
            self.opener.submit(follow_job, now, replace(now.own, arguments=changed))
            return
        text = self._newest_text()
        if kind == "constant" and (len(text) > LARGE or _ASKS_COMPILER.search(text)):
            self.opener.submit(turn_job, now, text, name, value)
            return
        try:
            self.recorder.ask(turned(now, text, kind, name, value))
        except (KeyError, TilescopeError):  # the text was edited meanwhile
            self._say(NO_NUMBER.format(name))

    def _newest_text(self) -> str:
        """What the editor holds, or will hold once what is under way is recorded."""
        draft, newest = self.source.draft, self.recorder.newest
        if draft.stale or newest is None or newest.key != draft.key:
            return draft.text
        return draft.original if newest.source is None else newest.source

    def _choose_kernel(self, name: str) -> None:
        now = self.session.configuration
        if now is not None and now.own is not None:
            self.opener.submit(open_job, now.own.path, None, name, now.source, pasted=now.pasted)

    def _fit_form(self, now: Configuration, text: str, source: str | None) -> bool:
        """Have the form follow an edited signature; whether that records by itself."""
        if now.own is None:
            return False
        edited = source is not None or now.untitled
        self.opener.submit(open_job, now.own.path, now.own, None, text, edited, pasted=now.pasted)
        return True

    def _take(self, opened: Any) -> None:
        if isinstance(opened, Configuration):  # with another constant in its text
            self.recorder.ask(opened)
            return
        if isinstance(opened, Loaded):
            self._show_loaded(opened)
            return
        assert isinstance(opened, Opened)
        wanted = Configuration("", {}, opened.edited, opened.launch, opened.pasted)
        self.opened.emit(wanted.key)
        self._make_form(opened, opened.launch)
        given, self._given = self._given, None
        self.recorder.ask(wanted, opened.block, given=given)

    def _show_loaded(self, loaded: Loaded) -> None:
        self.main.show_page("step")
        if loaded.form is not None:
            self._make_form(loaded.form, loaded.form.launch)
        self.recorder.show(loaded.recorded, loaded.inputs, loaded.seed)

    def _make_form(self, opened: Opened, launch: FileLaunch) -> None:
        self._form = opened
        self.form.show_launch(launch, opened.kernels, opened.signature)
        self.form.show_errors({})

    def _form_back(self, error: object) -> None:
        """After a stop the form is that of the launch that is shown."""
        shown = self.session.configuration
        stopped = isinstance(error, Stopped) and self._form is not self._shown_form
        if stopped and self._shown_form is not None and shown is not None and shown.own is not None:
            self._make_form(self._shown_form, shown.own)

    def _settle(self) -> None:
        """A rung's edited text that now runs as its own file is no longer an edit of the rung."""
        self._shown_form = self._form
        shown = self.session.asked_for
        if shown is not None and shown.untitled and shown.source is not None:
            self.source.draft.forget(shown.source)

    def _launch(self, launch: FileLaunch) -> None:
        now = self.session.configuration
        if now is None or now.own is None:
            return
        if launch.defines != now.own.defines:
            try:
                split_defines(launch.defines)
            except TilescopeError as error:
                self.form.show_errors({"defines": str(error)})
                return
        if launch.path.endswith(PTX) and launch.arguments != now.own.arguments:
            self.opener.submit(follow_job, now, launch)
            return
        self.recorder.ask(replace(now, own=renumbered(now.own, launch, self._newest_text())))

    def _refuse(self, error: object) -> None:
        self.session.trouble = NOTHING_OPEN
        kind = "info" if isinstance(error, Stopped) else "error"
        said = sentence_of(error, "The file could not be opened")
        self.main.message.show_message(said, kind=kind)

    def _say(self, sentence: str) -> None:
        self.main.message.show_message(sentence)

    # ---- drag and drop

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Take CUDA sources that are dropped on the window."""
        if isinstance(event, QDragEnterEvent | QDropEvent):
            paths = [url.toLocalFile() for url in event.mimeData().urls()]
            fitting = [p for p in paths if p.endswith(WINDOW_FILES) or is_saved_trace(Path(p))]
            if event.type() == QEvent.Type.DragEnter and paths:
                event.acceptProposedAction()
                return True
            if event.type() == QEvent.Type.Drop and paths:
                event.acceptProposedAction()
                if fitting:
                    self.open_file(fitting[0])
                else:
                    self._say(f"{Path(paths[0]).name} is none of {listing(WINDOW_FILES)}.")
                return True
        return False
