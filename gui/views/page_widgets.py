"""What a page is to the window, the stack that shows one of them, and what pages are laid out with.

A page is made when it is first shown.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QSizePolicy,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from core.devices.device_table import find_capability, load_capabilities, load_devices
from gui.background import Worker, close_workers
from gui.looks.labels_and_layouts import named, side_by_side, styled_label
from gui.looks.theme import current_theme
from gui.scenes.session import Session
from gui.views.session_view import SessionView
from gui.views.widgets import Caption, Scrolled, Segmented

log = logging.getLogger(__name__)

if TYPE_CHECKING:
    from core.devices.device_table import Capability, Device
    from core.explain.explanations import Explanation
    from core.gpu.benchmark_result import BenchmarkResult

    Base = QWidget
else:
    Base = object  # any kind of widget may be a page: this stands before it among the bases


class PageWidget(Base):
    """Base of every page, beside its kind of widget: `class SomePage(PageWidget, QWidget)`.

    What a page does not say is done as here: nothing.
    """

    def restyle(self) -> None:
        """Take up a new theme; each `SessionView` on the page does so by itself."""

    def be_pictured(self, on: bool) -> None:
        """A picture is made of this page while it is hidden: `on` before, and off after."""

    def shut_down(self) -> None:
        """End what runs, and wait for it."""

    def main_view(self) -> QWidget:
        """What has the keyboard when the page is opened."""
        return self

    @property
    def measured(self) -> tuple[BenchmarkResult, ...]:
        """What was measured, or imported, on this page."""
        return ()

    def explanation(self) -> Explanation | None:
        """What "Why this number?" says here; None where it is about the clock's moment.

        A page that shows something else later says so: `session.tell(frozenset({"explained"}))`.
        """
        return None

    def pictures(self) -> dict[str, QWidget]:
        """What can be saved by itself, by name."""
        return {}


PAINTED_MS = 50


class PageView(PageWidget, SessionView):
    """A page that refreshes as a view does."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._ended = False

    def shut_down(self) -> None:
        self._ended = True
        for timer in self.findChildren(QTimer):
            timer.stop()
        close_workers(self)

    def when_painted(self, act: Callable[[], object]) -> None:
        """Begin what keeps Python's lock for long, as imports do, when the page is to be seen."""
        QTimer.singleShot(PAINTED_MS, self, lambda: None if self._ended else act())


class BlankPage(PageWidget, QWidget):
    """Says that a page is being made, or why it is not there."""

    def __init__(self) -> None:
        super().__init__()
        self.sentence = styled_label(role="dim", plain=True, wrap=True)
        self.sentence.setAlignment(Qt.AlignmentFlag.AlignCenter)
        QVBoxLayout(self).addWidget(self.sentence)

    def show_title(self, title: str) -> None:
        self._say(f"Opening the page {title} …")

    def show_failure(self, title: str, error: Exception) -> None:
        self._say(f"The page {title} could not be opened: {error!r}.")

    def _say(self, sentence: str) -> None:
        self.sentence.setText(sentence)
        self.setAccessibleName(sentence)


@dataclass(frozen=True)
class Page:
    """One page of the window. `clock` says whether it shows the moment that the clock stands at.

    Beside a `bare` one stands no list of kernels: it is about none of them.
    """

    key: str
    title: str
    _: KW_ONLY
    clock: bool = False
    bare: bool = False


class Pages(QStackedWidget):
    """`came(key)` when a page is made, `turned(page)` when it is in sight."""

    turned = Signal(object)
    came = Signal(str)

    def __init__(self, rows: tuple[Page, ...], make: Callable[[str], PageWidget]) -> None:
        """`make` gives the view of a page by its key."""
        super().__init__()
        self.rows, self._make_view = rows, make
        self._made: dict[str, PageWidget] = {}
        self._blank = BlankPage()
        self.addWidget(self._blank)

    def row(self, key: str) -> Page:
        """A page by its key. Raises KeyError with the keys that there are."""
        for page in self.rows:
            if page.key == key:
                return page
        raise KeyError(f"there is no page {key!r}; there are {', '.join(p.key for p in self.rows)}")

    @property
    def current(self) -> PageWidget:
        page = self.currentWidget()
        assert isinstance(page, PageWidget)
        return page

    def made(self, key: str) -> PageWidget | None:
        """A page's view; None if it was never opened."""
        return self._made.get(key)

    def open(self, key: str) -> None:
        """Show a page. Raises KeyError with the keys that there are for any other."""
        page = self.row(key)
        if key not in self._made:
            self._blank.show_title(page.title)
            self.setCurrentWidget(self._blank)
            self._blank.repaint()  # now: to make a page may take a third of a second
        try:
            self.setCurrentWidget(self.make(key))
        except Exception as error:
            log.exception("The page %s could not be made", key)
            self._blank.show_failure(page.title, error)
        self.turned.emit(page)

    def make(self, key: str) -> PageWidget:
        if key not in self._made:
            view = self._make_view(key)
            if self.indexOf(view) < 0:
                self.addWidget(view)
            self._made[key] = view
            self.came.emit(key)
        return self._made[key]

    def shut_down(self) -> None:
        for page in self._made.values():
            page.shut_down()


# What pages without a clock are laid out with.


HANDLE = 8  # pixels between panels
SUBJECT_LINES = 4


def panels_in(orientation: Qt.Orientation) -> QSplitter:
    """Where panels stand beside or above one another, none of which can be pushed away."""
    return QSplitter(orientation, handleWidth=HANDLE, childrenCollapsible=False)


def share(splitter: QSplitter, shares: tuple[int, int], sizes: tuple[int, int]) -> None:
    """How two panels share more room, and how much they have at first, in any unit."""
    for place, part in enumerate(shares):
        splitter.setStretchFactor(place, part)
    splitter.setSizes(list(sizes))


class ScrolledPage(Scrolled):
    """Scrolls a page up and down where its parts need more room, and is wide enough for them."""

    def minimumSizeHint(self) -> QSize:
        bar = self.verticalScrollBar().sizeHint().width()
        wide = self.widget().minimumSizeHint().width() + bar
        return QSize(wide, super().minimumSizeHint().height())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            self.updateGeometry()
        return super().eventFilter(watched, event)


def simple_or_all(session: Session) -> Segmented:
    """How much the pages without a clock show: one choice for all of them."""
    found = Segmented(
        simple=("Simple", "The chosen kernel, its neighbours, and what matters first"),
        all=("All", "Every kernel, every ceiling, every figure"),
    )
    found.setAccessibleName("How much is shown")
    found.bind(session, "everything", {"simple": False, "all": True})
    return found


class Subject(Caption):
    """What the page is about, beside what chooses it; that leaves it room for a name."""

    LEAST = 10  # digits that it is wide

    def __init__(self) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setAlignment(Qt.AlignmentFlag.AlignVCenter)
        self.may_take(SUBJECT_LINES)

    def minimumSizeHint(self) -> QSize:
        least = self.LEAST * self.fontMetrics().horizontalAdvance("0")
        return QSize(least, super().minimumSizeHint().height())


class Choice(QComboBox):
    """A box as wide as so many letters, whatever it offers."""

    def __init__(self, name: str, tip: str, letters: int) -> None:
        super().__init__()
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(letters)
        named(self, name, tip)


class DeviceBox(Choice):
    """A chooser of devices: this machine's GPUs, those of the table, and perhaps capabilities."""

    LETTERS = 24  # that it is wide
    LEAST = 12  # digits that it is wide where there is less room, its arrow included

    found = Signal()
    """The driver has told of GPUs; the first of them is chosen, if nothing else was."""

    def __init__(self, name: str, tip: str, first: str, *, capabilities: bool = False) -> None:
        """`first`: the device to begin with, by name."""
        super().__init__(name, tip, self.LETTERS)
        self._first, self._capabilities = first, capabilities
        self.live: tuple[Device, ...] = ()
        self._driver: Worker | None = None

    def look_for_gpus(self) -> None:
        """Ask the driver for this machine's, the first time."""
        if self._driver is None:
            from gui.jobs.ceilings_work import devices_job  # loads much: no window needs it at once

            self._driver = Worker(self, "devices", self.take, partial(log.warning, "%s"))
            self._driver.submit(devices_job)

    def take(self, devices: Sequence[Device]) -> None:
        """These are this machine's GPUs, if it has any."""
        if devices:
            self.live = tuple(devices)
            self.offer()
            self.found.emit()

    def minimumSizeHint(self) -> QSize:
        hint, digit = super().minimumSizeHint(), self.fontMetrics().horizontalAdvance("0")
        return QSize(min(self.LEAST * digit, hint.width()), hint.height())

    def offer(self) -> None:
        """Fill it, without a signal. What was chosen stays, else a GPU of this machine is."""
        chosen = self.currentData()
        if chosen in (None, self._first):
            chosen = 0 if self.live else self._first
        with QSignalBlocker(self):
            self.clear()
            for place, device in enumerate(self.live):
                self.addItem(f"{device.name} (this machine)", place)
            for device in load_devices():
                self.addItem(device.name, device.name)
            for name, one in load_capabilities().items() if self._capabilities else ():
                self.addItem(f"compute capability {name}" if one.major else name, name)
            self.setCurrentIndex(max(0, self.findData(chosen)))

    @property
    def device(self) -> Device:
        """The chosen device. Raises TilescopeError where only a capability is chosen."""
        chosen = self.currentData()
        return self.live[chosen] if isinstance(chosen, int) else load_devices().find(chosen)

    @property
    def device_name(self) -> str | None:
        chosen = self.currentData()
        return None if chosen in load_capabilities() else self.device.name

    @property
    def capability(self) -> Capability:
        chosen = self.currentData()
        if isinstance(chosen, int):
            chosen = "{}.{}".format(*self.live[chosen].compute_capability)
        return find_capability(chosen)[0]

    def choose(self, name: str) -> None:
        live = [device.name for device in self.live]
        place = live.index(name) if name in live else self.findData(name)
        if place >= 0:
            self.setCurrentIndex(place)


def subject_row(subject: Caption, choices: Sequence[QWidget], *, below: int = 0) -> QHBoxLayout:
    """The subject with the rest of the room, then its choices; `below`: pixels under them."""
    space = current_theme().spacing
    edges = (space.margin, 0, space.margin, below)
    return side_by_side(None, (subject, 1), *choices, gap=space.gap, edges=edges)
