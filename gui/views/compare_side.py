"""One side of a comparison: which launch it is, and its views above each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from gui.frames.pieces import PAUSE, Steps
from gui.looks.theme import current_theme
from gui.scenes.compare import launch_text, moment_text, space_of, views_shown
from gui.scenes.session import Session
from gui.views.base import Caption, Panel, SessionView
from gui.views.counters_view import CountersView
from gui.views.matrix_canvas import MatrixCanvas
from gui.views.page_parts import panels_in
from gui.views.shared_view import SharedView
from gui.views.source_view import SourceView
from gui.views.warp_view import WarpView

Side = Literal["a", "b"]
LEAST = 240  # pixels
ROOM_FOR_HEADINGS, ROOM_FOR_FIT = 52, 44  # digits
SHARES = (4, 4, 2, 2)  # of a side's height, in the order of its views


class SideHead(SessionView):
    """The side's letter, its launch, and where its clock stands."""

    WATCHES = frozenset({"trace", "block", "step"})
    READ = True

    def __init__(self, session: Session, side: Side) -> None:
        super().__init__(session)
        self.badge = QLabel(side.upper())
        self.badge.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.title = QLabel()
        self.title.setProperty("role", "figure")
        self.launch = Caption(role="dim")
        self.moment = Caption(role="dim")
        for caption in (self.launch, self.moment):
            caption.setAlignment(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)
        self.moment.setAlignment(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight)
        self.launch.may_take(3)
        first = QHBoxLayout()
        first.setSpacing(current_theme().spacing.gap)
        first.addWidget(self.badge)
        first.addWidget(self.title)
        first.addWidget(self.moment, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(10, 6, 10, 6)
        layout.setSpacing(2)
        layout.addLayout(first)
        layout.addWidget(self.launch)
        self.restyle()

    def restyle(self) -> None:
        """Letter the badge in the theme's colours."""
        s, space = current_theme().surfaces, current_theme().spacing
        self.badge.setStyleSheet(
            f"background: {s.text}; color: {s.panel}; border-radius: {space.radius}px;"
            "font-weight: 700; padding: 1px 7px;"
        )

    def refresh(self, names: frozenset[str]) -> None:
        """Follow the launch and the clock."""
        trace = self.session.trace
        if "trace" in names:
            self.title.setText(trace.workload.title if trace is not None else "Recording …")
            self.launch.setText(launch_text(self.session))
        self.moment.setText(moment_text(self.session))


class CompareSide(QWidget):
    """The views of one session, as many above each other as there is room for."""

    def __init__(self, session: Session, side: Side, parent: QWidget | None = None) -> None:
        """It is whole after `building`."""
        super().__init__(parent)
        self.session, self.side = session, side
        session.changed.connect(self._on_changed)  # first: what it hides has nothing to work out
        self.setAccessibleName(f"Side {side.upper()}")
        self._framed: list[Panel] = []
        self._chosen = "Memory"

    def building(self) -> Steps:
        """Make the views, one by one."""
        session = self.session
        self._lay_out()
        yield PAUSE
        self.matrices = MatrixCanvas(session)
        yield PAUSE
        self._add("Matrices", self._panel("Matrices", self.matrices))
        yield PAUSE
        self.memory = QStackedWidget()
        self._add("Memory", self.memory)
        self.warp = WarpView(session)
        self.memory.addWidget(self._panel("Warp and global memory", self.warp))
        yield PAUSE
        self.shared = SharedView(session)
        self.memory.addWidget(self._panel("Shared memory", self.shared))
        yield PAUSE
        self.source = SourceView(session)
        self.source.edit.setReadOnly(True)  # edits are made on the page where one steps through
        yield PAUSE
        self._add("Source", self._panel("Source", self.source, controls=False))
        yield PAUSE
        self.counters = CountersView(session)
        yield PAUSE
        self._add("Counters", self._panel("Counters", self.counters))
        self.splitter.setSizes([1000 * share for share in SHARES])
        self._show_memory()
        self._fit_heads()

    def _add(self, name: str, panel: QWidget) -> None:
        self.splitter.addWidget(panel)
        self.splitter.setStretchFactor(len(self.panels), SHARES[len(self.panels)])
        self.panels[name] = panel

    def _lay_out(self) -> None:
        self.head = SideHead(self.session, self.side)
        self.panels: dict[str, QWidget] = {}
        self.splitter = panels_in(Qt.Orientation.Vertical)
        frame = QFrame()
        frame.setProperty("role", "panel")
        inside = QVBoxLayout(frame)
        inside.setContentsMargins(1, 1, 1, 1)
        inside.addWidget(self.head)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addWidget(frame)
        layout.addWidget(self.splitter, 1)

    def _panel(self, title: str, view: SessionView, *, controls: bool = True) -> Panel:
        widgets: Sequence[QWidget] = getattr(view, "controls", ()) if controls else ()
        caption = getattr(view, "caption", None)
        panel = Panel(title, view, caption=caption, controls=widgets, flush=True)
        panel.setMinimumWidth(LEAST)  # less than its controls need: `_fit_heads` leaves some out
        self._framed.append(panel)
        return panel

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave out of the heads what there is no room for."""
        super().resizeEvent(event)
        self._fit_heads()

    def _fit_heads(self) -> None:
        """Headings go first, as the switch above both sides names the views; then a button."""
        room = self.width() / self.fontMetrics().horizontalAdvance("0")
        for panel in self._framed:
            panel.heading.setVisible(room > ROOM_FOR_HEADINGS)
        if self._framed:  # a picture of the window sizes what is still being made
            self.matrices.fit_button.setVisible(room > ROOM_FOR_FIT)

    def show_views(self, chosen: str, room: int) -> None:
        """Show the chosen view of `COMPARED_VIEWS` and, up to `room` of them, others with it."""
        self._chosen = chosen
        names = views_shown(chosen, room)
        for name, panel in self.panels.items():
            panel.setVisible(name in names)
        self._show_memory()
        QTimer.singleShot(0, self, self._reveal_line)

    def _reveal_line(self) -> None:
        """Have the running line in sight, once the source has its size."""
        line = self.session.current_line
        if line is not None and self.source.isVisible():
            self.source.edit.reveal(line)

    def _on_changed(self, names: frozenset[str]) -> None:
        if names & {"trace", "block", "step"} and self.isVisible():
            self._show_memory()

    def showEvent(self, event: QShowEvent) -> None:
        """Catch up with the step."""
        super().showEvent(event)
        self._show_memory()

    def _show_memory(self) -> None:
        """Bring the memory that is asked for, or that the step accesses, to the front."""
        space = self._chosen.lower()
        if space not in ("global", "shared"):
            space = space_of(self.session)
        if space:
            self.memory.setCurrentIndex(int(space == "shared"))

    def restyle(self) -> None:
        """Take up the theme's sizes."""
        self._fit_heads()

    def pictures(self) -> dict[str, QWidget]:
        """Each view, by name."""
        views = {
            "Matrices": self.matrices,
            "Global memory": self.warp,
            "Shared memory": self.shared,
            "Source": self.source,
            "Counters": self.counters,
        }
        letter = self.side.upper()
        return {f"{letter}: {name}": view for name, view in views.items()}
