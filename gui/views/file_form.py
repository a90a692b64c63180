"""The form of a user's kernel: which one, its grid and block, and its arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import shiboken6
from PySide6.QtCore import QEvent, QObject, QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import QFrame, QLabel, QScrollArea, QWidget

from gui.frames.pieces import Pieces, Steps
from gui.views.launch_rows import LAUNCH_FIELDS, LaunchRows

if TYPE_CHECKING:
    from core.cuda.signature import SignatureParameter
    from core.launching.file_launch import FileLaunch

DEBOUNCE_MS = 400


class FileForm(QScrollArea):
    """Edits a `FileLaunch`; `changed(FileLaunch)` follows the last edit after a short rest.

    `kernel_chosen(name)` asks for another kernel of the file. The rows of another kernel are made
    in several events and take the place of those that are there when all of them are; whoever asks
    for what they hold before finds all of them.
    """

    changed = Signal(object)
    kernel_chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.launch: FileLaunch | None = None
        self._rows: LaunchRows | None = None
        self._pieces = Pieces(self)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(DEBOUNCE_MS)
        self._timer.timeout.connect(self._announce)

    @property
    def fields(self) -> Mapping[str, QWidget]:
        """The fields by name; an argument's is that of `arg:` and its own."""
        self.finish()
        return self._rows.fields if self._rows is not None else {}

    @property
    def errors(self) -> Mapping[str, QLabel]:
        """What is said below each field, by the field's name."""
        self.finish()
        return self._rows.errors if self._rows is not None else {}

    def sizeHint(self) -> QSize:
        """Room for every row and every mistake, beside a scroll bar."""
        if self._rows is None:
            return super().sizeHint()
        room = max(self.width() - self.verticalScrollBar().sizeHint().width(), 80)
        return QSize(120, self._rows.height_for(room))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Ask for another height when the rows change theirs."""
        if event.type() == QEvent.Type.LayoutRequest and watched is self.widget():
            self.updateGeometry()
        return super().eventFilter(watched, event)

    def show_launch(
        self,
        launch: FileLaunch,
        kernels: Sequence[str],
        signature: Sequence[SignatureParameter],
    ) -> None:
        """Show a launch of one of a file's kernels, without a signal."""
        self._timer.stop()
        shown = self.current() if not self._pieces.busy else None
        self.launch = launch
        if self._rows is not None and launch == shown:
            self._rows.show_kernels(kernels, launch.kernel)
        else:
            self._pieces.start(self._building(launch, kernels, signature))

    def finish(self) -> None:
        """Have all rows in their place now."""
        self._pieces.finish()

    def current(self) -> FileLaunch | None:
        """The launch as the fields say, None before the first."""
        self.finish()
        if self.launch is None or self._rows is None:
            return None
        texts = self._rows.texts()
        names = [name for name, _ in self.launch.arguments]
        return replace(
            self.launch,
            **{name: texts[name] for name in LAUNCH_FIELDS},
            arguments=tuple((name, texts[f"arg:{name}"]) for name in names),
        )

    def follow(self, launch: FileLaunch) -> None:
        """Show a launch that differs in its texts alone, in the fields that there are."""
        if self._pieces.busy and launch == self.launch:
            return
        now = self.current()
        if now is None or now == launch or self._rows is None:
            return
        if [name for name, _ in now.arguments] != [name for name, _ in launch.arguments]:
            return
        self._timer.stop()
        self.launch = launch
        texts = {name: str(getattr(launch, name)) for name in LAUNCH_FIELDS}
        self._rows.show_texts(texts | {f"arg:{name}": text for name, text in launch.arguments})

    def show_errors(self, sentences: Mapping[str, str]) -> None:
        """Show each mistake below its field; a field left out has none."""
        if self._pieces.busy and not sentences:
            return  # the rows that come have none
        self.finish()
        if self._rows is None:
            return
        self._rows.show_errors(sentences)
        errors = self._rows.errors
        first = next((label for name, label in errors.items() if sentences.get(name)), None)
        if first is not None:
            QTimer.singleShot(0, first, lambda: self.ensureWidgetVisible(first, 0, 8))

    def _announce(self) -> None:
        launch = self.current()
        if launch is not None and launch != self.launch:
            self.launch = launch
            self.changed.emit(launch)

    def _building(
        self, launch: FileLaunch, kernels: Sequence[str], signature: Sequence[SignatureParameter]
    ) -> Steps:
        rows = LaunchRows(self.viewport())
        try:
            yield from rows.building(launch, kernels, signature)
        except GeneratorExit:  # another launch is to be shown
            if shiboken6.isValid(rows):
                rows.deleteLater()
            raise
        rows.kernel.activated.connect(lambda _: self.kernel_chosen.emit(rows.kernel.currentText()))
        rows.edited.connect(self._timer.start)
        rows.installEventFilter(self)
        self._rows = rows
        self.setWidget(rows)
