"""One view in its frame: it can be moved, put beside or behind another, or let float."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QDockWidget,
    QFrame,
    QHBoxLayout,
    QLabel,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from gui.theme import current_theme

TIP = "Drag to move this view beside or onto another; double click lets it float"


COMPACT = 58  # digits: a narrower dock shrinks its controls


@runtime_checkable
class Compact(Protocol):
    """A control that can do with less room."""

    def set_compact(self, compact: bool) -> None:
        """Shrink, or not."""


class DockTitle(QFrame):
    """The upper part of the frame: the heading, or the caption where a tab names the view.

    Presses go on to the dock, which moves with them.
    """

    def __init__(self, title: str, controls: Sequence[QWidget]) -> None:
        super().__init__()
        self.setProperty("role", "dockTitle")
        self.controls = tuple(controls)
        self.named = True
        """Whether the heading is wanted: not where a tab says the same."""
        self.heading = QLabel(title)
        self.heading.setProperty("role", "heading")
        self.heading.setToolTip(TIP)
        space = current_theme().spacing
        self.row = QHBoxLayout(self)
        self.row.setContentsMargins(space.margin, space.gap - 2, space.gap, 0)
        self.row.setSpacing(space.gap)
        self.row.addWidget(self.heading)
        self.row.addStretch(1)
        for control in controls:
            self.row.addWidget(control, 0, Qt.AlignmentFlag.AlignTop)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Where it is narrow the controls shrink, and the heading goes last."""
        super().resizeEvent(event)
        digit = self.fontMetrics().horizontalAdvance("0")
        for control in self.controls:
            if isinstance(control, Compact):
                control.set_compact(self.width() < COMPACT * digit)
        shown = [c for c in self.controls if not c.isHidden()]
        need = sum(c.sizeHint().width() + self.row.spacing() for c in shown)
        need += self.heading.sizeHint().width() + self.row.contentsMargins().left() + 12
        self.heading.setVisible(self.named and need <= self.width())

    def minimumSizeHint(self) -> QSize:
        """As high as its content, and no wider than need be."""
        return QSize(0, super().minimumSizeHint().height())


class ViewDock(QDockWidget):
    """Holds a view. `name` is what layouts are saved under, `tab` what a tab is labelled."""

    def __init__(
        self,
        name: str,
        title: str,
        view: QWidget,
        *,
        tab: str = "",
        caption: QLabel | None = None,
        controls: Sequence[QWidget] = (),
    ) -> None:
        super().__init__(tab or title)
        self.setObjectName(name)
        self.setAccessibleName(title)
        self.name, self.view, self.caption = name, view, caption
        self.title = DockTitle(title, controls)
        self.setTitleBarWidget(self.title)
        self.body = QFrame()
        self.body.setProperty("role", "dockBody")
        space = current_theme().spacing
        layout = QVBoxLayout(self.body)
        layout.setContentsMargins(1, 0, 1, 1)
        layout.setSpacing(0)
        self._head = QHBoxLayout()
        self._head.setContentsMargins(space.margin, 2, space.gap, space.gap - 4)
        layout.addLayout(self._head)
        layout.addWidget(view, 1)
        view.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        if caption is not None:
            self._head.addWidget(caption)
        self._tabbed = False
        self.setWidget(self.body)
        # Qt moves a covered dock out of sight but says that it is visible: it would go on working.
        self.visibilityChanged.connect(view.setVisible)
        self.topLevelChanged.connect(lambda floats: view.setVisible(floats or view.isVisible()))

    @property
    def tabbed(self) -> bool:
        """Whether a tab names the view; the caption then stands in the heading's place."""
        return self._tabbed

    @tabbed.setter
    def tabbed(self, tabbed: bool) -> None:
        if tabbed == self._tabbed:
            return
        self._tabbed = tabbed
        self.title.named = not tabbed
        self.title.heading.setVisible(not tabbed)
        if self.caption is None:
            return
        if tabbed:
            self._head.removeWidget(self.caption)
            self.title.row.insertWidget(0, self.caption, 1000)
        else:
            self.title.row.removeWidget(self.caption)
            self._head.addWidget(self.caption)
