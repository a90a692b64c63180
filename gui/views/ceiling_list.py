"""The ceilings of a launch as cards: the rate, a bar, and the formula with its numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from gui.scenes.ceilings import Row
from gui.theme import current_theme


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


class _Card(QFrame):
    """One ceiling. A click chooses it."""

    def __init__(self, row: Row, share: float, mark: float | None, owner: CeilingList) -> None:
        super().__init__()
        self._row, self._owner = row, owner
        self.setProperty("role", "card")
        theme = current_theme()
        binding, chosen = row.state == "binding", row.name == owner.chosen
        edge = theme.color("conflict" if binding else "load" if chosen else "border").name()
        back = theme.tint("conflict", 0.07).name() if binding else (
            theme.tint("load", 0.07).name() if chosen else "transparent"
        )  # fmt: skip
        self.setStyleSheet(
            f'QFrame[role="card"] {{ border: none; border-left: 3px solid {edge};'
            f" background: {back}; }}"
        )
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
        layout.setContentsMargins(10, 4, theme.spacing.margin, 5)
        layout.setSpacing(2)
        layout.addLayout(head)
        layout.addWidget(_Bar(share, mark, "conflict" if binding else "load"))
        formula = self._label(row.formula, "dim")
        formula.setWordWrap(True)
        formula.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        layout.addWidget(formula)
        if chosen or row.state != "above":
            assumes = self._label(row.remark, "small")
            assumes.setWordWrap(True)
            layout.addWidget(assumes)
        self.setAccessibleName(f"{row.title}: {row.rate}. {row.note}")
        self.setToolTip(f"{row.of_peak:.2%} of the FP32 peak. Assumes {row.assumes}.")

    @staticmethod
    def _label(text: str, role: str) -> QLabel:
        label = QLabel(text)
        label.setProperty("role", role)
        return label

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._owner.ceiling_chosen.emit(self._row.name)


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
        self._rows: tuple[Row, ...] = ()
        self._measured: float | None = None
        self._notes: tuple[str, ...] = ()
        self.draw()

    def sizeHint(self) -> QSize:
        return QSize(380, 400)

    def load(self, rows: Sequence[Row], measured: float | None, notes: Sequence[str]) -> None:
        """Show these ceilings, where the launch was measured, and remarks below."""
        self._rows, self._measured, self._notes = tuple(rows), measured, tuple(notes)
        self.draw()

    def choose(self, name: str) -> None:
        """Unfold one of them."""
        self.chosen = name
        self.draw()

    def draw(self) -> None:
        """Make the cards anew, in the theme's colours."""
        at = self.verticalScrollBar().value()
        body = QWidget()
        layout = QVBoxLayout(body)
        layout.setContentsMargins(8, 2, 0, 8)
        layout.setSpacing(7)
        least = min([r.gflops for r in self._rows] + ([self._measured] if self._measured else []),
                    default=1.0)  # fmt: skip
        most = max((r.gflops for r in self._rows), default=10.0)

        def share(gflops: float) -> float:
            low, high = math.log10(least) - 0.5, math.log10(most)
            return (math.log10(gflops) - low) / max(high - low, 1e-9)

        mark = share(self._measured) if self._measured else None
        for row in self._rows:
            layout.addWidget(_Card(row, share(row.gflops), mark, self))
        for note in self._notes:
            label = QLabel(note)
            label.setProperty("role", "small")
            label.setWordWrap(True)
            label.setContentsMargins(12, 4, 12, 0)
            layout.addWidget(label)
        layout.addStretch(1)
        self.setWidget(body)
        body.setAutoFillBackground(False)
        self.viewport().setAutoFillBackground(False)
        self.verticalScrollBar().setValue(at)
