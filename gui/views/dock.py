"""One view in its frame: it can be moved, put beside or behind another, or let float."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QDockWidget,
    QFrame,
    QHBoxLayout,
    QLabel,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from gui.looks.style import set_icon
from gui.looks.theme import current_theme

TIP = "Drag to move this view beside or onto another; double click lets it float"
ENLARGE = "Show this view over the whole page (F10)"
PUT_BACK = "Back to all views (F10 or Escape)"


COMPACT = 58  # digits: a narrower dock shrinks its controls
CAPTION = 36  # digits that a caption beside controls has at least


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
        self._name, self._is_large = title, False
        self.large = QToolButton()
        self.controls = (*controls, self.large)
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
        for control in self.controls:
            self.row.addWidget(control, 0, Qt.AlignmentFlag.AlignTop)
        self.show_large(False)

    def event(self, event: QEvent) -> bool:
        """Fit the parts in anew when one of them has changed its size: another theme's type."""
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self._fit()
        return done

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Where it is narrow the controls shrink, and the heading goes last."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        digit = self.fontMetrics().horizontalAdvance("0")
        for control in self.controls:
            if isinstance(control, Compact):
                control.set_compact(self.width() < COMPACT * digit)
        heading = self.heading.sizeHint().width() + self.row.contentsMargins().left() + 12
        need = self.controls_width() + heading
        self.heading.setVisible(self.named and need <= self.width())

    def show_large(self, large: bool) -> None:
        """Say whether the view is over the whole page, and what the button does then."""
        self._is_large = large
        self.large.setToolTip(PUT_BACK if large else ENLARGE)
        self.large.setAccessibleName("Back to all views" if large else f"Enlarge {self._name}")
        self.restyle()

    def restyle(self) -> None:
        """Take up the theme's icons."""
        set_icon(self.large, "put_back" if self._is_large else "enlarge", size=15)

    def controls_width(self) -> int:
        """What the controls that are shown want."""
        shown = [c for c in self.controls if not c.isHidden()]
        return sum(c.sizeHint().width() + self.row.spacing() for c in shown)

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
        self._tabbed = self._beside = False
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
        self._place_caption()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put the caption below the controls where beside them it would be a few words."""
        super().resizeEvent(event)
        self._place_caption()

    def _place_caption(self) -> None:
        """A tab names the view: the caption stands beside the controls, if there is room for it."""
        digit = self.fontMetrics().horizontalAdvance("0")
        room = self.width() - self.title.controls_width()
        beside = self._tabbed and room >= CAPTION * digit
        if self.caption is None or beside == self._beside:
            return
        self._beside = beside
        if beside:
            self._head.removeWidget(self.caption)
            self.title.row.insertWidget(0, self.caption, 1000)
        else:
            self.title.row.removeWidget(self.caption)
            self._head.addWidget(self.caption)
