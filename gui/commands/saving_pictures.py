"""The commands that save and copy pictures of one window and of its views."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from PySide6.QtCore import QByteArray, QEvent, QMimeData, QObject, QRect, QSize, Qt, QTimer
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QImage
from PySide6.QtWidgets import QApplication, QMenu, QWidget

from core.cancelling import cancelled_by
from core.errors import Cancelled
from gui.background import Progress, Worker, sentence_of
from gui.commands.window_parts import Window
from gui.pictures import SUFFIXES, Picture, image_of, pdf_of, write_picture
from gui.scenes.question_in_views import waits
from gui.scenes.step_views import VIEWS
from gui.views.dialogs import ask_choice, ask_where
from gui.views.session_view import SessionView
from gui.views.step_page import StepPage
from gui.views.view_docks import ViewDock

WINDOW = "Whole window"
LEAST = QSize(480, 320)  # of a view that never had a place
TICK_MS = 20
LEAST_MS, MOST_MS = 100, 1000  # that a hidden view has for what it works out in other threads
SCALE = 2.0  # pixels of an image for one of the window
PNG, PDF = "PNG, 2× as sharp (*.png)", "PDF, vectors (*.pdf)"
SCREEN = 0.0  # the screen's own
SCALES = {PNG: 2.0, "PNG, 3×, for slides (*.png)": 3.0, "PNG, as on the screen (*.png)": SCREEN}
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
        return self.path is not None and self.path.suffix.lower() == ".pdf"

    @property
    def doing(self) -> str:
        return f"Writing {self.path.name}" if self.path else f"Copying {self.name}"


class PictureSaver(QObject):
    """Paints in the window's thread, encodes and writes in another; says so, and can be stopped."""

    def __init__(self, window: Window) -> None:
        super().__init__(window)
        self.main = window
        self.gallery = Gallery(window)
        self.writer = Worker(self, "exporter", self._done, self._failed, keeps_all=True)
        self._tasks: deque[Task] = deque()  # those that the worker has, the one under way first
        self._hidden: deque[Task] = deque()  # those whose view is being made ready
        self._waiting = QTimer(self, interval=TICK_MS)  # for what a hidden view works out
        self._waiting.timeout.connect(self._paint_hidden)
        self._waited_ms = 0
        self._said = ""
        self._copied = False
        self.menu = PictureMenu(self)

    @property
    def busy(self) -> bool:
        return bool(self._tasks or self._hidden)

    def close(self) -> None:
        self._waiting.stop()
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
        return self.gallery.shown()

    # ---- what the user does

    def ask_and_export(self) -> None:
        names, now = list(self.gallery.places()), self.looked_at()
        first = names.index(now) if now in names else 0
        name = ask_choice(self.main, "Export a picture", names, first, action="Export…")
        if name is not None:
            self.export(name)

    def copy_view(self) -> None:
        self.copy(self.looked_at())

    def copy_window(self) -> None:
        self.copy(WINDOW)

    def looked_at(self) -> str:
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
        if where := ask_where(self.main, f"Export: {name}", first, (*SCALES, PDF)):
            path, kind = where
            self.save(name, path, SCALES.get(kind, SCALE))

    # ---- pictures

    def save(self, name: str, path: Path, scale: float = SCALE) -> None:
        """Save a view of any page as the file's name says, .png or .pdf.

        scale: pixels of an image for one of the window, or SCREEN. A view that is not shown is
        made ready first, which takes a moment; one that is, is painted before this returns.
        """
        if path.suffix.lower() not in SUFFIXES:
            self._complain(f"{path.name} is neither .png nor .pdf. Choose one of the two.")
            return
        self._take(Task(name, path, scale))

    def copy(self, name: str, scale: float = SCALE) -> None:
        """Copy an image of a view, to be pasted into other programs."""
        self._take(Task(name, None, scale))

    def cancel(self) -> None:
        for task in self._tasks:
            task.given_up.set()
        waiting = tuple(self._hidden)
        if waiting:
            self.gallery.leave(waiting[0].name)
        self._waiting.stop()
        self._hidden.clear()
        for task in waiting:
            self._say(_unmade(task))

    def _take(self, task: Task) -> None:
        place = self.gallery.places().get(task.name)
        if place is not None and place.page not in ("", "step"):
            sentence = waits(self.main.session, f"a picture of {task.name}")
            if sentence:
                self._complain(sentence)
                return
        view = self.views().get(task.name)
        if view is not None:
            self._paint(task, view)
        elif task.name not in self.gallery.places():
            self._complain(f"There is no view {task.name}.")
        else:
            self._hidden.append(task)
            if len(self._hidden) == 1:
                self._prepare()

    def _prepare(self) -> None:
        """Have the view of the next task made ready, which takes some time."""
        if self._hidden:
            try:
                self.gallery.prepare(self._hidden[0].name)
            except Exception:  # a page that cannot be made; the next picture can be
                self._hidden.popleft()
                raise
            self._waited_ms = 0
            self._waiting.start()

    def _paint_hidden(self) -> None:
        """Paint a hidden view when it has worked out what it shows, or has had time for it."""
        task = self._hidden[0]
        self._waited_ms += TICK_MS
        view = self.gallery.places()[task.name].view
        working = view is not None and any(w.busy for w in view.findChildren(Worker))
        if self._waited_ms < LEAST_MS or (working and self._waited_ms < MOST_MS):
            return
        self._waiting.stop()
        self._hidden.popleft()
        try:
            with self.gallery.as_if_shown(task.name) as shown:
                self._paint(task, shown)
        finally:
            self._prepare()

    def _paint(self, task: Task, view: QWidget) -> None:
        """What is said about pictures must not stand in one."""
        self._take_back()
        self.main.session.turns.finish()
        scale = task.scale or view.devicePixelRatioF()
        title = f"Tilescope: {task.name}"
        QGuiApplication.setOverrideCursor(Qt.CursorShape.WaitCursor)  # a whole window takes 0.3 s
        try:
            content = pdf_of(view, title) if task.vectors else image_of(view, scale)
        finally:
            QGuiApplication.restoreOverrideCursor()
        self._tasks.append(task)
        self._say_doing()
        self.writer.submit(_write, task, Picture(content))

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
            self._complain(sentence_of(error, "The picture could not be made"))
        self._say_doing()

    def _complain(self, sentence: str) -> None:
        self.main.message.show_message(sentence)

    def _say_doing(self) -> None:
        if self._tasks:
            self._say(f"{self._tasks[0].doing} …", "Cancel (Ctrl+.)", self.cancel)

    def _say(
        self, sentence: str, label: str = "", action: Callable[[], object] | None = None
    ) -> None:
        self._said = self.main.message.tell(sentence, label, action)

    def _take_back(self) -> None:
        """Take back what was said here, and give its room back, before the window is painted."""
        if self._said and self.main.message.sentence == self._said:
            self.main.message.take_back(self._said)
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


def _write(_: Progress, task: Task, picture: Picture) -> object:
    """The job of making a file of a picture, or what goes to the clipboard."""
    with cancelled_by(task.given_up.is_set):
        if task.path is not None:
            return write_picture(picture, task.path)
        assert isinstance(picture.content, QImage)
        return _Copied(picture.content, picture.encoded())


def _unmade(task: Task) -> str:
    if task.path is not None:
        return f"{task.path.name} was not written."
    return f"{task.name} was not copied."


# -- finding the views -----------------------------------------------------------------------------


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
            view = main.pages.made(page.key)
            if view is not None or not page.clock:  # a comparison has to be begun first
                found[f"{page.title} page"] = Place(page.key, view)
        return found

    def shown(self) -> dict[str, QWidget]:
        """Those that are to be seen as they are."""
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
            views = {row.title: step.views[row.name] for row in VIEWS}
            return {**views, "Scrub bar": main.transport.scrub}
        page = main.pages.made(key)
        return page.pictures() if page is not None else {}

    # ---- what is hidden

    def prepare(self, name: str) -> QWidget:
        """Have a view that is not shown made, and begin to work out what it would show."""
        pages, key = self.main.pages, self.places()[name].page
        if key:
            page = pages.make(key)
            if page is not pages.current:
                page.resize(pages.size())
                page.be_pictured(True)
        view = self.places()[name].view
        assert view is not None  # its page is made
        for part in _parts(view):
            part.catch_up(hidden=True)
        return view

    def leave(self, name: str) -> None:
        """Have the page of a view be hidden again as it was."""
        page = self.main.pages.made(self.places()[name].page)
        if page is not None:
            page.be_pictured(False)

    @contextmanager
    def as_if_shown(self, name: str) -> Iterator[QWidget]:
        """A view, shown or not, as it is when it is shown; it refreshes when it is shown next."""
        place = self.places()[name]
        assert place.view is not None
        view, least, parts = place.view, place.view.minimumSize(), _parts(place.view)
        if view.isVisible():
            yield view
            return
        self.main.dressing.dress_hidden(view)
        _fit(view)
        try:
            for part in parts:
                part.refresh(part.WATCHES)
            yield view
        finally:
            view.setMinimumSize(least)
            for part in parts:
                part.miss(part.WATCHES)
            self.leave(name)


def _parts(view: QWidget) -> list[SessionView]:
    return [p for p in (view, *view.findChildren(QWidget)) if isinstance(p, SessionView)]


def _fit(view: QWidget) -> None:
    """Give a view that has no place of its own the size of one that stands there."""
    dock = view.parentWidget()
    while dock is not None and not isinstance(dock, ViewDock):
        dock = dock.parentWidget()
    if dock is not None and dock.geometry().right() < 0:  # Qt has covered docks out of sight
        area = dock.parentWidget()
        beside = area.tabifiedDockWidgets(dock) if isinstance(area, StepPage) else []
        front = [other for other in beside if other.geometry().right() >= 0]
        if front:
            dock.resize(front[0].size())
    view.grab(QRect(0, 0, 1, 1))  # has the layouts around it done as if it were shown
    least = view.minimumSizeHint().expandedTo(LEAST)
    if view.width() < least.width() // 2 or view.height() < least.height() // 2:
        view.resize(view.size().expandedTo(least).expandedTo(view.sizeHint()))
    view.setMinimumSize(view.size())  # or layouts of what is hidden around it may leave it none


class PictureMenu(QObject):
    """Opens where nothing pointed at has a menu of its own: headings, captions, empty places."""

    def __init__(self, saver: PictureSaver) -> None:
        super().__init__(saver)
        self._saver, self._window = saver, saver.main
        self._window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Take what comes to the window from whatever lies in it."""
        if not isinstance(event, QContextMenuEvent):
            return False
        menu = self.menu_for(self._saver.gallery.at(self._window.childAt(event.pos())))
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(event.globalPos())
        return True

    def menu_for(self, name: str) -> QMenu:
        menu, title = QMenu(self._window), "the window" if name == WINDOW else f"“{name}”"
        menu.addAction(f"Copy a picture of {title}", partial(self._saver.copy, name))
        menu.addAction(f"Export {title}…", partial(self._saver.export, name))
        page = self._window.step_page
        if self._window.pages.currentWidget() is page:
            views = menu.addMenu("Views")
            views.addActions([dock.toggleViewAction() for dock in page.docks.values()])
        return menu
