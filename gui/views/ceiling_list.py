"""The ceilings of a launch as cards: the rate, a bar, and the formula with its numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QMenu,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from gui.frames.pieces import Steps
from gui.looks.theme import current_theme
from gui.scenes.ceilings import Row

EDGE = 3  # pixels


class _Bar(QWidget):
    """The rate on a logarithmic scale, with a mark where the launch was measured."""

    def __init__(self, share: float, mark: float | None, color: str) -> None:
        super().__init__()
        self._share, self._mark, self._color = share, mark, color
        self.setFixedHeight(8)

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = current_theme(), QPainter(self)
        painter.setPen(Qt.PenStyle.NoPen)
        width = self.width()
        painter.setBrush(theme.color("raised"))
        painter.drawRect(QRectF(0, 2, width, 4))
        painter.setBrush(theme.color(self._color))
        painter.drawRect(QRectF(0, 2, width * self._share, 4))
        if self._mark is not None:
            painter.setBrush(theme.color("store"))
            painter.drawRect(QRectF(min(width * self._mark, width - 3), 0, 3, 8))


class _Formula(QLabel):
    """The calculation in few digits; copied, it has all of them."""

    def __init__(self, row: Row) -> None:
        super().__init__(row.formula)
        self._exact = row.exact
        self.setProperty("role", "dim")
        self.setWordWrap(True)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)

    def copy(self) -> None:
        """Put the calculation with exact figures on the clipboard."""
        QGuiApplication.clipboard().setText(self._exact)

    def event(self, event: QEvent) -> bool:
        """Have Ctrl+C before the text's own."""
        keys = (QEvent.Type.ShortcutOverride, QEvent.Type.KeyPress)
        copies = event.type() in keys and isinstance(event, QKeyEvent)
        if not (copies and event.matches(QKeySequence.StandardKey.Copy)):  # type: ignore[attr-defined]
            return super().event(event)
        if event.type() == QEvent.Type.KeyPress:
            self.copy()
        event.accept()
        return True

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction("Copy with exact figures", self.copy)
        menu.popup(event.globalPos())


class _Card(QFrame):
    """One ceiling. A click chooses it."""

    def __init__(self, row: Row, share: float, mark: float | None, owner: CeilingList) -> None:
        super().__init__()
        self._row, self._owner = row, owner
        theme = current_theme()
        binding, chosen = row.state == "binding", row.name == owner.chosen
        self._stands_out = "conflict" if binding else "load" if chosen else ""
        head = QHBoxLayout()
        head.setSpacing(6)
        title = self._label(row.title, "figure" if binding else "caption")
        title.setWordWrap(True)
        title.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        head.addWidget(title, 1)
        if row.note:
            head.addWidget(self._label(row.note, "small"))
        head.addWidget(self._label(row.rate, "figure"))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(EDGE + 10, 4, theme.spacing.margin, 5)
        layout.setSpacing(2)
        layout.addLayout(head)
        layout.addWidget(_Bar(share, mark, "conflict" if binding else "load"))
        layout.addWidget(_Formula(row))
        if chosen or row.state != "above":
            assumes = self._label(row.remark, "small")
            assumes.setWordWrap(True)
            layout.addWidget(assumes)
        self.setAccessibleName(f"{row.title}: {row.rate}. {row.note}")
        of_peak = f"{row.of_peak:.2%}".replace("%", "\u202f%")
        self.setToolTip(f"{row.exact}\n{of_peak} of the FP32 peak. Assumes {row.assumes}.")

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, painter = current_theme(), QPainter(self)
        if self._stands_out:
            painter.fillRect(self.rect(), theme.tint(self._stands_out, 0.07))
        painter.fillRect(0, 0, EDGE, self.height(), theme.color(self._stands_out or "border"))

    @staticmethod
    def _label(text: str, role: str) -> QLabel:
        label = QLabel(text)
        label.setProperty("role", role)
        return label

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._owner.ceiling_chosen.emit(self._row.name)


Shown = tuple[tuple[Row, ...], float | None, tuple[str, ...], str]
"""Ceilings, the measured rate, remarks, and the name of the one that is unfolded."""


class CeilingList(QScrollArea):
    """Cards, the lowest ceiling first. `ceiling_chosen(name)` is emitted when one is clicked."""

    ceiling_chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName("Ceilings")
        self.chosen = ""
        self._shown: Shown = ((), None, (), "")
        self._drawn: Shown | None = None

    def sizeHint(self) -> QSize:
        return QSize(380, 400)

    def showing(self, rows: Sequence[Row], measured: float | None, notes: Sequence[str]) -> Steps:
        """Show these ceilings, where the launch was measured, and remarks below."""
        self._shown = (tuple(rows), measured, tuple(notes), self.chosen)
        if self._shown != self._drawn:
            yield from self.drawing()

    def drawing(self) -> Steps:
        """Make the cards anew, in the theme's colours, one by one; then they are shown together."""
        shown = self._shown
        body = QWidget(self.viewport())  # so each card is dressed when it is put in
        body.hide()
        try:
            yield from self._filling(body, shown)
        except GeneratorExit:
            body.deleteLater()
            raise
        at, before = self.verticalScrollBar().value(), self.takeWidget()
        self.setWidget(body)
        body.setAutoFillBackground(False)
        self.viewport().setAutoFillBackground(False)
        self.verticalScrollBar().setValue(at)
        self._drawn = shown
        yield
        if before is not None:
            before.deleteLater()

    def _filling(self, body: QWidget, shown: Shown) -> Steps:
        rows, measured, notes, _ = shown
        layout = QVBoxLayout(body)
        layout.setContentsMargins(8, 2, 0, 8)
        layout.setSpacing(7)
        share = _scale([row.gflops for row in rows], measured)
        mark = share(measured) if measured else None
        for row in rows:
            card = _Card(row, share(row.gflops), mark, self)
            yield
            layout.addWidget(card)
            for widget in (card, *card.findChildren(QWidget)):
                widget.ensurePolished()
            yield
        for note in notes:
            label = QLabel(note)
            label.setProperty("role", "small")
            label.setWordWrap(True)
            label.setContentsMargins(12, 4, 12, 0)
            layout.addWidget(label)
            yield
        layout.addStretch(1)
        layout.activate()
        yield


def _scale(rates: Sequence[float], measured: float | None) -> Callable[[float], float]:
    """How far a rate reaches on a logarithmic scale of them all, 0..1."""
    low = math.log10(min([*rates, *([measured] if measured else [])], default=1.0)) - 0.5
    high = math.log10(max(rates, default=10.0))
    return lambda gflops: (math.log10(gflops) - low) / max(high - low, 1e-9)
