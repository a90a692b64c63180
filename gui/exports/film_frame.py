"""One picture of a film: views beside each other, what happens below them, and the time line."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPoint, QSize, Qt
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QApplication, QGridLayout, QHBoxLayout, QLabel, QWidget

from gui.exports.unshown_views import GLOBAL, MEMORY, caption_of, let_go, memory_of
from gui.looks.style_sheet import (
    TEXT_SIZE,
    side_by_side,
    size_rules,
    stacked,
    styled_label,
    stylesheet,
    window_name,
)
from gui.looks.theme import current_theme
from gui.scenes.scrub_bar import event_caption, phase_label, step_label
from gui.scenes.session import Session
from gui.scenes.step_views import VIEWS
from gui.views.base import Caption, Panel, SessionView, view_of
from gui.views.transport_bar import ScrubBar

LIKE_WINDOW = 720
"""Pixels of the window that a film is high, whatever its own: so large is its type."""


class Frame(QWidget):
    """The views of some names, one large where there are several, as they are at a step."""

    def __init__(
        self, session: Session, names: Sequence[str], title: str, *, captions: bool = True
    ) -> None:
        super().__init__()
        self.session, self._rows = session, {row.name: row for row in VIEWS}
        self._memory: dict[str, Panel] = {}
        self.setAttribute(Qt.WidgetAttribute.WA_DontShowOnScreen)
        theme = current_theme()
        self.setObjectName(window_name(theme.name))
        self.setProperty(TEXT_SIZE, theme.text_size)
        self.setStyleSheet(stylesheet() + size_rules())
        panels = [panel for name in names for panel in self._panels(name, captions)]
        grid = QGridLayout()
        grid.setSpacing(8)
        large = len(names) > 1
        for name, panel in panels:
            place = names.index(name)
            if large and place == 0:
                grid.addWidget(panel, 0, 0, max(len(names) - 1, 1), 1)
            else:
                grid.addWidget(panel, place - large, int(large))
        grid.setColumnStretch(0, 1)
        grid.setColumnStretch(1, int(large))
        for row in range(max(len(names) - 1, 1)):
            grid.setRowStretch(row, 1)
        self.scrub = ScrubBar(session)
        below = self._below(title, captions)
        stacked(self, (grid, 1), below, self.scrub, edges=(12, 8, 12, 8))

    def _panels(self, name: str, captions: bool) -> list[tuple[str, Panel]]:
        found = []
        for one in (GLOBAL, "Shared") if name == MEMORY else (name,):
            row = self._rows[one]
            view = view_of(row, self.session)
            panel = Panel(row.title, view, caption=caption_of(view) if captions else None)
            if name == MEMORY:
                self._memory[one] = panel
            found.append((name, panel))
        return found

    def _below(self, title: str, captions: bool) -> QHBoxLayout:
        self.event_, self.where = Caption(), QLabel()
        self.event_.setVisible(captions)
        self.event_.setAlignment(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignHCenter)
        between = () if captions else (None,)
        heading = styled_label(title, role="heading")
        return side_by_side(None, heading, *between, (self.event_, 1), self.where)

    def image(self, step: int, size: QSize) -> QImage:
        """A picture of a step, in pixels of the film."""
        scale = size.height() / LIKE_WINDOW
        if not self.isVisible():
            self.resize(round(size.width() / scale), LIKE_WINDOW)
            self.show()
        session = self.session
        session.step = step
        memory = memory_of(session)
        for name, panel in self._memory.items():
            panel.setVisible(name == memory)
        session.turns.finish()
        self.event_.setText(event_caption(session))
        self.where.setText(f"{phase_label(session)}   step {step_label(session)}".strip())
        QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)
        session.turns.finish()
        image = QImage(size, QImage.Format.Format_RGB32)
        image.fill(self.palette().window().color())
        painter = QPainter(image)
        painter.scale(size.width() / self.width(), size.height() / self.height())
        try:
            self.render(painter, QPoint(0, 0))
        finally:
            painter.end()
        return image

    def shut_down(self) -> None:
        """Stop what its views work out elsewhere, and let it go."""
        let_go(self.findChildren(SessionView))
        self.close()
        self.deleteLater()
