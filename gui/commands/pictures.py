"""The commands that save and copy pictures of one window and of its views."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import TracebackType

from PySide6.QtCore import QByteArray, QEvent, QMimeData, QObject, QRect, QSize, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QImage
from PySide6.QtWidgets import QApplication, QFileDialog, QMenu, QWidget

from core.cancelling import cancelled_by
from core.errors import Cancelled, TilescopeError
from gui.commands.window import Window
from gui.docks.dock_area import DockArea, ViewDock
from gui.frames.pieces import PAUSE, Pieces, Steps, Wait
from gui.frames.still import Still
from gui.frames.work import Job, Progress, Worker
from gui.pictures.files import SUFFIXES, Picture, write_picture
from gui.pictures.painted import image_of, pdf_of
from gui.views.base import SessionView
from gui.views.page_parts import PageWidget
from gui.views.widgets import ask_choice

# A page that is shown for a picture alone: nobody sees it, and everything comes back as it was.


_DEAF = Qt.WidgetAttribute.WA_TransparentForMouseEvents


class Visit:
    """Within, a page stands in the window's place for pages, and the window is not painted.

    Most views work nothing out before they are shown. The mouse does not reach the page.
    """

    def __init__(self, window: Window, page: PageWidget) -> None:
        self.main, self.pages, self.page = window, window.pages, page
        self._still = Still(window)
        self._before: QWidget = page
        self._focus: QWidget | None = None

    def __enter__(self) -> None:
        self._before, self._focus = self.pages.current, self.main.focusWidget()
        self._still.hold([self.main])
        self.page.setAttribute(_DEAF, True)
        self._turn_to(self.page)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.page.setAttribute(_DEAF, False)
        if self.pages.currentWidget() is self.page:  # else somebody has turned to another
            self._turn_to(self._before)
            if self._focus is not None and self._focus.isVisible():
                self._focus.setFocus()
            if self.pages.ready(self.main.session.page) is self.page:
                self.pages.open(self.main.session.page)
        self._still.release()
        self._still.deleteLater()

    def _turn_to(self, page: QWidget) -> None:
        """Docks say that they come into sight, which is not the user's doing here."""
        with ExitStack() as stack:
            for area in (self.page, self._before):
                if isinstance(area, DockArea):
                    stack.enter_context(area.arranging())
            self.pages.setCurrentWidget(page)


# What of a window can be had as a picture, by name: any view, shown or not.


WINDOW = "Whole window"
LEAST = QSize(480, 320)  # of a view that never had a place
PATIENCE_S = 1.0  # for what a hidden view works out in other threads; nothing is painted meanwhile


@dataclass(frozen=True)
class Place:
    """Where a view is: the key of its page, empty for the window's own, and it, once it is made."""

    page: str
    view: QWidget | None


class Gallery:
    """Finds the views of one window and has hidden ones ready to be painted, where they are."""

    def __init__(self, window: Window) -> None:
        self.main = window

    def places(self) -> dict[str, Place]:
        """All there are; those of the page in sight come first, after the whole window."""
        main, shown = self.main, self.main.session.page
        found = {WINDOW: Place("", main)}
        for page in sorted(main.pages.rows, key=lambda page: page.key != shown):
            found |= {name: Place(page.key, v) for name, v in self._on_page(page.key).items()}
            view = main.pages.ready(page.key)
            if view is not None or page.ahead:
                found[f"{page.title} page"] = Place(page.key, view)
        return found

    def shown(self) -> dict[str, QWidget]:
        """Those that are to be seen as they are."""
        self.main.pages.finish()
        places = self.places().items()
        return {n: p.view for n, p in places if p.view is not None and p.view.isVisible()}

    def at(self, widget: QWidget | None) -> str:
        """The name of the smallest view that a widget is in, or that stands in its dock."""
        for dock in self.main.step_page.docks.values():
            if widget is not None and (widget is dock or dock.isAncestorOf(widget)):
                widget = dock.view
        holding = [
            (view.width() * view.height(), name)
            for name, view in self.shown().items()
            if widget is not None and (view is widget or view.isAncestorOf(widget))
        ]
        return min(holding)[1] if holding else WINDOW

    def _on_page(self, key: str) -> dict[str, QWidget]:
        main, step = self.main, self.main.step_page
        if key == "step":
            return {
                "Matrices": step.matrices,
                "Warp and global memory": step.warp,
                "Shared memory": step.shared,
                "Source": step.source,
                "PTX": step.ptx,
                "Phase table": step.phases,
                "Variables": step.variables,
                "Counters": step.counters,
                "Breakpoints": step.breakpoints,
                "Findings": step.findings,
                "Scrub bar": main.transport.scrub,
            }
        page = main.pages.ready(key)
        return page.pictures() if page is not None else {}

    # ---- what is hidden

    def preparing(self, name: str, paint: Callable[[QWidget], None]) -> Steps:
        """Have a hidden view as it would be if it were shown, piece by piece, and paint it.

        It forgets nothing that it would catch up with when it is shown.
        """
        pages, key = self.main.pages, self.places()[name].page
        if key and pages.ready(key) is None:
            yield from pages.making(key)
        page = pages.ready(key)
        if page is None or page is pages.currentWidget():
            yield from self._bringing(name, paint)
            return
        page.resize(pages.size())
        yield PAUSE
        yield from page.catching_up()
        with Visit(self.main, page) if page.modest else nullcontext():
            yield PAUSE
            yield from _settling(page)
            yield from self._bringing(name, paint)

    def _bringing(self, name: str, paint: Callable[[QWidget], None]) -> Steps:
        view = self.places()[name].view
        assert view is not None  # its page is made
        if view.isVisible():
            paint(view)
            return
        least = view.minimumSize()
        _fit(view)
        yield PAUSE
        parts = [p for p in (view, *view.findChildren(QWidget)) if isinstance(p, SessionView)]
        missed = [part.missed for part in parts]
        try:
            yield from _caught_up(parts)
            yield from _settling(view)
            yield from _caught_up(parts)
            paint(view)
        finally:
            view.setMinimumSize(least)
            for part, names in zip(parts, missed, strict=True):
                part.miss(names)


def _fit(view: QWidget) -> None:
    """Give a view that has no place of its own the size of one that stands there."""
    dock = view.parentWidget()
    while dock is not None and not isinstance(dock, ViewDock):
        dock = dock.parentWidget()
    if dock is not None and dock.geometry().right() < 0:  # Qt has covered docks out of sight
        area = dock.parentWidget()
        beside = area.tabifiedDockWidgets(dock) if isinstance(area, DockArea) else []
        front = [other for other in beside if other.geometry().right() >= 0]
        if front:
            dock.resize(front[0].size())
    view.grab(QRect(0, 0, 1, 1))  # has the layouts around it done as if it were shown
    least = view.minimumSizeHint().expandedTo(LEAST)
    if view.width() < least.width() // 2 or view.height() < least.height() // 2:
        view.resize(view.size().expandedTo(least).expandedTo(view.sizeHint()))
    view.setMinimumSize(view.size())  # or layouts of what is hidden around it may leave it none


def _caught_up(parts: Sequence[SessionView]) -> Iterator[None]:
    for part in parts:
        part.catch_up(hidden=True)
        yield


def _settling(view: QWidget) -> Steps:
    """Wait for what a view works out, though not for work without an end in sight."""
    yield PAUSE  # tables lay themselves out in an event of its own
    yield PAUSE
    end = time.monotonic() + PATIENCE_S
    workers: list[Worker | Pieces] = [*view.findChildren(Worker), *view.findChildren(Pieces)]
    while any(worker.busy for worker in workers) and time.monotonic() < end:
        yield Wait(5)


# The menu of a view as a whole: its picture, and which views there are.


class PictureMenu(QObject):
    """Opens where nothing pointed at has a menu of its own: headings, captions, empty places."""

    def __init__(self, exporter: Exporter) -> None:
        super().__init__(exporter)
        self._exporter, self._window = exporter, exporter.main
        self._window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Take what comes to the window from whatever lies in it."""
        if not isinstance(event, QContextMenuEvent):
            return False
        menu = self.menu_for(self._exporter.gallery.at(self._window.childAt(event.pos())))
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(event.globalPos())
        return True

    def menu_for(self, name: str) -> QMenu:
        """The menu of a view, by its name."""
        menu, title = QMenu(self._window), "the window" if name == WINDOW else f"“{name}”"
        menu.addAction(f"Copy a picture of {title}", partial(self._exporter.copy, name))
        menu.addAction(f"Export {title}…", partial(self._exporter.export, name))
        page = self._window.step_page
        if self._window.pages.currentWidget() is page:
            views = menu.addMenu("Views")
            views.addActions([dock.toggleViewAction() for dock in page.docks.values()])
        return menu


SCALE = 2.0  # pixels of an image for one of the window
PNG, PDF = "PNG, 2× as sharp (*.png)", "PDF, vectors (*.pdf)"
SCREEN = 0.0  # the screen's own
SCALES = {PNG: 2.0, "PNG, 3×, for slides (*.png)": 3.0, "PNG, as on the screen (*.png)": SCREEN}
KINDS = ";;".join((*SCALES, PDF))
OURS = "application/x-tilescope-picture"  # the mark of what was copied here


@dataclass(frozen=True)
class Task:
    """A picture that is asked for. `path` says where to, None that it is for the clipboard."""

    name: str
    path: Path | None
    scale: float = SCALE
    given_up: threading.Event = field(default_factory=threading.Event)

    @property
    def vectors(self) -> bool:
        """Whether it becomes a PDF, not an image."""
        return self.path is not None and self.path.suffix.lower() == ".pdf"

    @property
    def doing(self) -> str:
        """What is under way, as the window says it."""
        return f"Writing {self.path.name}" if self.path else f"Copying {self.name}"


class Exporter(QObject):
    """Paints in the window's thread, encodes and writes in another; says so, and can be stopped."""

    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self.main = window
        self.gallery = Gallery(window)
        self.writer = Worker(self, "exporter", keeps_all=True)
        self.writer.finished.connect(self._done)
        self.writer.failed.connect(self._failed)
        self._tasks: deque[Task] = deque()  # those that the worker has, the one under way first
        self._hidden: deque[Task] = deque()  # those whose view is being made ready
        self._preparing = Pieces(self)
        self._said = ""
        self._copied = False
        self.menu = PictureMenu(self)

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

    def ask_and_export(self) -> None:
        """Ask whether the window or which view, then for a file, and save it."""
        names, now = list(self.gallery.places()), self.looked_at()
        first = names.index(now) if now in names else 0
        name = ask_choice(self.main, "Export a picture", names, first, action="Export…")
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

    def export(self, name: str) -> None:
        """Ask for a file and save a view to it, as its ending and the chosen kind say."""
        first = f"tilescope-{name.lower().replace(': ', '-').replace(' ', '-')}.png"
        if name == WINDOW:
            first = "tilescope.png"
        file, kind = QFileDialog.getSaveFileName(self.main, f"Export: {name}", first, KINDS)
        if file:
            path = Path(file)
            if not path.suffix:
                path = path.with_suffix(".pdf" if "pdf" in kind.lower() else ".png")
            self.save(name, path, SCALES.get(kind, SCALE))

    # ---- pictures

    def save(self, name: str, path: Path, scale: float = SCALE) -> None:
        """Save a view of any page as the file's name says, .png or .pdf.

        scale: pixels of an image for one of the window, or SCREEN. A view that is not shown is
        made ready first, within the next events; one that is, is painted before this returns.
        """
        if path.suffix.lower() not in SUFFIXES:
            sentence = f"{path.name} is neither .png nor .pdf. Choose one of the two."
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
        title = f"Tilescope: {task.name}"
        content = pdf_of(view, title) if task.vectors else image_of(view, scale)
        self._tasks.append(task)
        self._say_doing()
        self.writer.submit(_job(task, Picture(content)))

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
    def job(_: Progress) -> object:
        with cancelled_by(task.given_up.is_set):
            if task.path is not None:
                return write_picture(picture, task.path)
            assert isinstance(picture.content, QImage)
            return _Copied(picture.content, picture.encoded())

    return job


def _unmade(task: Task) -> str:
    if task.path is not None:
        return f"{task.path.name} was not written."
    return f"{task.name} was not copied."
