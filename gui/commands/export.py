"""The commands that save and copy pictures of one window and of its views."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, QEvent, QMimeData, QObject
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QApplication, QFileDialog, QWidget

from core.cancelling import cancelled_by
from core.errors import Cancelled, TilescopeError
from gui.commands.picture_menu import PictureMenu
from gui.frames.pieces import Pieces, Steps
from gui.frames.work import Job, Progress, Worker
from gui.pictures.files import SUFFIXES, Picture, write_picture
from gui.pictures.gallery import WINDOW, Gallery
from gui.pictures.painted import drawing_of, image_of
from gui.views.asking import ask_choice

if TYPE_CHECKING:
    from gui.main_window import MainWindow

SCALE = 2.0  # pixels of an image for one of the window
PNG, SVG = "PNG, 2× as sharp (*.png)", "SVG, vectors (*.svg)"
SCREEN = 0.0  # the screen's own
SCALES = {PNG: 2.0, "PNG, 3×, for slides (*.png)": 3.0, "PNG, as on the screen (*.png)": SCREEN}
KINDS = ";;".join((*SCALES, SVG))
OURS = "application/x-tilescope-picture"  # the mark of what was copied here
EVERY = 10  # per cent, between two words on how far a picture is


@dataclass(frozen=True)
class Task:
    """A picture that is asked for. `path` says where to, None that it is for the clipboard."""

    name: str
    path: Path | None
    scale: float = SCALE
    given_up: threading.Event = field(default_factory=threading.Event)

    @property
    def vectors(self) -> bool:
        """Whether it is a drawing and no image."""
        return self.path is not None and self.path.suffix.lower() == ".svg"

    @property
    def doing(self) -> str:
        """What is under way, as the window says it."""
        return f"Writing {self.path.name}" if self.path else f"Copying {self.name}"


class Exporter(QObject):
    """Paints in the window's thread, encodes and writes in another; says so, and can be stopped."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self.main = window
        self.gallery = Gallery(window)
        self.writer = Worker(self, "exporter", keeps_all=True)
        self.writer.progressed.connect(self._say_how_far)
        self.writer.finished.connect(self._done)
        self.writer.failed.connect(self._failed)
        self._tasks: deque[Task] = deque()  # those that the worker has, the one under way first
        self._hidden: deque[Task] = deque()  # those whose view is being made ready
        self._preparing = Pieces(self)
        self._said = ""
        self._copied = False
        self.menu = PictureMenu(self)
        window.workbench.waiting.stopped.connect(self.cancel)

    @property
    def busy(self) -> bool:
        """Whether a picture is being made."""
        return bool(self._tasks or self._hidden)

    def close(self) -> None:
        """Wait until what is being written is written."""
        self._preparing.stop()
        self._hidden.clear()
        self.writer.close()
        self._leave_clipboard()

    def _leave_clipboard(self) -> None:
        """Have Qt hold what was copied: it frees it after Python has ended, and crashes on ours."""
        clipboard = QGuiApplication.clipboard()
        if self._copied and clipboard.mimeData().hasFormat(OURS):
            clipboard.setImage(clipboard.image())
        self._copied = False

    def views(self) -> Mapping[str, QWidget]:
        """What is shown now, by its name."""
        return self.gallery.shown()

    # ---- what the user does

    def export_window(self) -> None:
        """Ask for a file and save the whole window."""
        self.export(WINDOW)

    def export_view(self) -> None:
        """Ask which view, then for a file, and save it."""
        name = self._ask("Export a view", "Export…")
        if name is not None:
            self.export(name)

    def copy_view(self) -> None:
        """Copy a picture of the view that is looked at."""
        self.copy(self.looked_at())

    def copy_window(self) -> None:
        """Copy a picture of the whole window."""
        self.copy(WINDOW)

    def looked_at(self) -> str:
        """The view with the keyboard, else the one that is large or in front, else the window."""
        name = self.gallery.at(self.main.focusWidget())
        if name != WINDOW:
            return name
        dock = self.main.step_page.docks.get(self.main.session.view)
        found = dock is not None and dock.view.isVisible()
        return self.gallery.at(dock) if found else WINDOW

    def _ask(self, title: str, action: str) -> str | None:
        names = [name for name in self.gallery.places() if name != WINDOW]
        now = self.looked_at()
        first = names.index(now) if now in names else 0
        return ask_choice(self.main, title, names, first, action=action)

    def export(self, name: str) -> None:
        """Ask for a file and save a view to it, as its ending and the chosen kind say."""
        first = f"tilescope-{name.lower().replace(': ', '-').replace(' ', '-')}.png"
        if name == WINDOW:
            first = "tilescope.png"
        file, kind = QFileDialog.getSaveFileName(self.main, f"Export: {name}", first, KINDS)
        if file:
            path = Path(file)
            if not path.suffix:
                path = path.with_suffix(".svg" if "svg" in kind.lower() else ".png")
            self.save(name, path, SCALES.get(kind, SCALE))

    # ---- pictures

    def save(self, name: str, path: Path, scale: float = SCALE) -> None:
        """Save a view of any page as the file's name says, .png or .svg.

        scale: pixels of an image for one of the window, or SCREEN. A view that is not shown is
        made ready first, within the next events; one that is, is painted before this returns.
        """
        if path.suffix.lower() not in SUFFIXES:
            sentence = f"{path.name} is neither .png nor .svg: choose one of the two."
            self._complain(TilescopeError(sentence))
            return
        self._take(Task(name, path, scale))

    def copy(self, name: str, scale: float = SCALE) -> None:
        """Copy an image of a view, to be pasted into other programs."""
        self._take(Task(name, None, scale))

    def cancel(self) -> None:
        """Give up every picture that is not there yet."""
        for task in self._tasks:
            task.given_up.set()
        waiting = tuple(self._hidden)
        self._preparing.stop()
        self._hidden.clear()
        for task in waiting:
            self._say(_unmade(task))

    def _take(self, task: Task) -> None:
        view = self.views().get(task.name)
        if view is not None:
            self._paint(task, view)
        elif task.name not in self.gallery.places():
            self._complain(TilescopeError(f"There is no view {task.name}."))
        else:
            self._hidden.append(task)
            if not self._preparing.busy:
                self._preparing.start(self._prepare())

    def _prepare(self) -> Steps:
        while self._hidden:
            task = self._hidden[0]
            try:
                yield from self.gallery.preparing(task.name, partial(self._paint, task))
            finally:
                self._hidden.popleft()
            yield

    def _paint(self, task: Task, view: QWidget) -> None:
        """What is said about pictures must not stand in one."""
        self._take_back()
        self.main.session.turns.finish()
        self.main.dressing.finish()
        scale = task.scale or view.devicePixelRatioF()
        content = drawing_of(view) if task.vectors else image_of(view, scale)
        self._tasks.append(task)
        self._say_doing()
        self.writer.submit(_job(task, Picture(task.name, content)))

    # ---- how it goes

    def _done(self, result: object) -> None:
        task = self._tasks.popleft()
        if task.path is not None:
            self._say(f"Saved {task.path}")
        elif isinstance(result, _Copied):
            QGuiApplication.clipboard().setMimeData(result.as_data())
            self._copied = True
            wide, high = result.image.width(), result.image.height()
            self._say(f"Copied {task.name}, {wide} × {high} pixels: paste it where you want it.")
        self._say_doing()

    def _failed(self, error: object) -> None:
        task = self._tasks.popleft()
        if isinstance(error, Cancelled):
            self._say(_unmade(task))
        else:
            self._complain(error)
        self._say_doing()

    def _complain(self, error: object) -> None:
        if not isinstance(error, TilescopeError):
            error = TilescopeError(f"The picture could not be made: {error!r}.")
        self.main.message.show_message(str(error))

    def _say_doing(self) -> None:
        if self._tasks:
            self._say(f"{self._tasks[0].doing} …", "Cancel (Ctrl+.)", self.cancel)

    def _say_how_far(self, fraction: float) -> None:
        share = int(100 * fraction) // EVERY * EVERY
        if share and self._tasks and self.main.message.sentence == self._said:
            self._said = f"{self._tasks[0].doing}: {share} %"
            self.main.message.amend(self._said)

    def _say(
        self, sentence: str, label: str = "", action: Callable[[], object] | None = None
    ) -> None:
        self.main.message.show_message(sentence, kind="info", label=label, action=action)
        self._said = self.main.message.sentence

    def _take_back(self) -> None:
        """Clear what was said here, and give its room back, before the window is painted."""
        if self._said and self.main.message.sentence == self._said:
            self.main.message.clear()
            QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)


@dataclass(frozen=True)
class _Copied:
    """An image for the clipboard; other programs get the PNG that was made ahead."""

    image: QImage
    png: bytes

    def as_data(self) -> QMimeData:
        data = QMimeData()
        data.setData("image/png", QByteArray(self.png))
        data.setData(OURS, QByteArray(b"1"))
        data.setImageData(self.image)
        return data


def _job(task: Task, picture: Picture) -> Job:
    def job(progress: Progress, _: object) -> object:
        with cancelled_by(task.given_up.is_set):
            if task.path is not None:
                return write_picture(picture, task.path, progress)
            assert isinstance(picture.content, QImage)
            return _Copied(picture.content, picture.encoded(progress))

    return job


def _unmade(task: Task) -> str:
    if task.path is not None:
        return f"{task.path.name} was not written."
    return f"{task.name} was not copied."
