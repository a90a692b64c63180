"""What pages without a clock are laid out with: the subject, the device, and their panels."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QSizePolicy, QSplitter, QWidget

from core.devices.device_table import find_capability, load_capabilities, load_devices
from gui.background import Worker
from gui.looks.labels_and_layouts import GAP, MARGIN, named, side_by_side, styled_label
from gui.scenes.session import Session
from gui.views.buttons_and_choices import Segmented
from gui.views.captions_and_panels import Caption, Scrolled

log = logging.getLogger(__name__)

if TYPE_CHECKING:
    from core.devices.device_table import Capability, Device


HANDLE = 8  # pixels between panels
SUBJECT_LINES = 4
SWEPT_SIZES = (512, 1024, 2048, 4096, 8192)
TEXTBOOK_SIZE = 10_000  # Ruiz's example; no power of two, so its edges count, too


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
        body, bar = self.widget(), self.verticalScrollBar().sizeHint().width()
        wide = body.minimumSizeHint().width() if body is not None else 0
        return QSize(wide + bar, super().minimumSizeHint().height())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            self.updateGeometry()
        return super().eventFilter(watched, event)


class LeastHigh(QWidget):
    """What is scrolled only where its parts have less height than they need at least."""

    def heightForWidth(self, width: int) -> int:
        layout = self.layout()
        return -1 if layout is None else layout.minimumHeightForWidth(width)


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


AS_CONFIGURED = "as configured"


class SizeBox(QComboBox):
    """A chooser of N, behind its label: of the sizes that are swept, or what is configured."""

    def __init__(self, first: int, name: str, tip: str) -> None:
        super().__init__()
        self.label = styled_label("N", role="dim")
        self.addItems([AS_CONFIGURED, *map(str, (*SWEPT_SIZES, TEXTBOOK_SIZE))])
        self.setCurrentText(str(first))
        named(self, name, tip)

    @property
    def n(self) -> int | None:
        """The chosen N; None for the configured launch."""
        text = self.currentText()
        return None if text == AS_CONFIGURED else int(text)

    def show_number(self, n: int) -> None:
        """Choose an N, 0 for what is configured, without a signal."""
        text = str(n) if n else AS_CONFIGURED
        with QSignalBlocker(self):
            if self.findText(text) < 0:
                self.addItem(text)
            self.setCurrentText(text)

    def offer(self, on: bool) -> None:
        self.label.setVisible(on)
        self.setVisible(on)


def subject_row(subject: Caption, choices: Sequence[QWidget], *, below: int = 0) -> QHBoxLayout:
    """The subject with the rest of the room, then its choices; `below`: pixels under them."""
    return side_by_side(None, (subject, 1), *choices, gap=GAP, edges=(MARGIN, 0, MARGIN, below))
