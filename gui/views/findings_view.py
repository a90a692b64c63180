"""The list of findings; a click goes to the step, thread and line."""

from __future__ import annotations

from PySide6.QtWidgets import QListWidgetItem, QVBoxLayout

from gui.scenes.findings import finding_rows, findings_caption, go_to
from gui.scenes.session import Session
from gui.views.base import Caption, SessionView
from gui.views.place_list import PlaceList, PlaceRow

TIP = "Click to go to its step, thread and line"


class FindingsView(SessionView):
    """Shows what the kernel does wrong, a sentence each."""

    WATCHES = frozenset({"trace"})

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.caption = Caption()
        self.list = PlaceList("Findings")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.list)
        self.list.itemClicked.connect(self._go)
        self.list.itemActivated.connect(self._go)

    def refresh(self, names: frozenset[str]) -> None:
        """List the trace's findings."""
        self.caption.setText(findings_caption(self.session.trace))
        self.list.show_rows(
            [
                PlaceRow(row.title, row.place, sentence=row.message, fault=True)
                for row in finding_rows(self.session.trace)
            ],
            TIP,
        )

    def restyle(self) -> None:
        """Take up the theme's colours."""
        self.refresh(self.WATCHES)

    def _go(self, item: QListWidgetItem) -> None:
        row = finding_rows(self.session.trace)[self.list.row(item)]
        go_to(self.session, row.finding)
