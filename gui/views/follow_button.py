"""The switch that lets the step choose which memory is in front."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QToolButton

from gui.scenes.session import Session


class FollowButton(QToolButton):
    """Checked while the view of the memory that the step accesses comes to the front."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        self.setText("Follow step")
        self.setCheckable(True)
        self.setProperty("role", "action")
        self.setToolTip("Bring the memory that the step accesses to the front (Ctrl+M)")
        self.setAccessibleName("Follow the step's memory")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setChecked(session.follow_memory)
        self.clicked.connect(self._choose)
        session.follow_memory_changed.connect(self.setChecked, check_nargs=False)

    def set_compact(self, compact: bool) -> None:
        """An arrow stands for the words."""
        self.setText("⇄" if compact else "Follow step")

    def _choose(self, on: bool) -> None:
        self.session.follow_memory = on
