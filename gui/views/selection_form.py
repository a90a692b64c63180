"""Which block, warp and lane are looked at."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QHBoxLayout,
    QLabel,
    QSizePolicy,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from gui.scenes.session import Session

KEYS = {
    "block": "Ctrl+Down, Ctrl+Up",
    "warp": "Shift+Down, Shift+Up",
    "lane": "Down, Up",
}


class SelectionForm(QWidget):
    """Which block, warp and lane the views look at. Writes to the session only."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        self._boxes: dict[str, QSpinBox] = {}
        for name in ("block", "warp", "lane"):
            label = QLabel(name)
            label.setProperty("role", "dim")
            box = QSpinBox()
            box.setAccessibleName(name)
            box.setToolTip(f"The {name} that the views look at ({KEYS[name]})")
            box.setButtonSymbols(QAbstractSpinBox.ButtonSymbols.UpDownArrows)
            box.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
            box.setAlignment(Qt.AlignmentFlag.AlignRight)
            column = QVBoxLayout()
            column.setSpacing(1)
            column.addWidget(label)
            column.addWidget(box)
            layout.addLayout(column)
            self._boxes[name] = box
            box.valueChanged.connect(lambda value, key=name: setattr(self.session, key, value))
        session.changed.connect(self._follow)
        self._follow(frozenset({"trace", "block", "thread"}))

    def _follow(self, names: frozenset[str]) -> None:
        if not names & {"trace", "block", "thread"}:
            return
        trace, session = self.session.block_trace, self.session
        limits = {
            "block": session.trace.workload.launch.grid.count - 1 if session.trace else 0,
            "warp": trace.n_warps - 1 if trace else 0,
            "lane": min(31, trace.n_threads - 1) if trace else 0,
        }
        for name, box in self._boxes.items():
            box.blockSignals(True)
            box.setRange(0, limits[name])
            box.setValue(getattr(session, name))
            box.blockSignals(False)
