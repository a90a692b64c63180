"""The docks that views stand in, with their headings, and how they are laid out by the room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QSize, Qt, QTimer
from PySide6.QtGui import (
    QFontMetrics,
    QGuiApplication,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QDockWidget,
    QFrame,
    QLabel,
    QMainWindow,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from gui.looks.icons import set_icon
from gui.looks.labels_and_layouts import GAP, MARGIN, side_by_side, stacked, styled_label
from gui.looks.theme import current_theme
from gui.scenes.step_views import names_in
from gui.views.captions_and_panels import place_caption

# How the views of the step page are laid out until somebody moves them: by the room there is.


WIDE = 155  # digits: from here on, shared memory has a place of its own beside the other
LOW = 28  # lines of text: below, there is room for two views, beside each other
HIGH = 80  # lines of text: from here on, what shared a place stands above each other


@dataclass(frozen=True)
class Cell:
    """Views that share a place, one of them in front, and the place's share of its row."""

    names: tuple[str, ...]
    share: int = 100


@dataclass(frozen=True)
class Row:
    """Cells beside each other, and the row's share of its column."""

    cells: tuple[Cell, ...]
    share: int = 100


@dataclass(frozen=True)
class Column:
    """Rows on top of each other, and the column's share of the page."""

    rows: tuple[Row, ...]
    share: int


Layout = tuple[Column, ...]
"""Columns from left to right. A product of matrices is as high as wide: it has the first."""

MATRICES, MEMORY, CODE = names_in("matrices"), names_in("memory"), names_in("code")
FIGURES, LISTS = names_in("figures"), names_in("lists")


def layout_for(size: QSize, digit: int, line: int) -> Layout:
    """The layout for a size in pixels, with the width of a digit and the height of a line."""
    wide, high = size.width() > WIDE * digit, size.height() > HIGH * line
    if size.height() < LOW * line:
        left, right = (*MATRICES, *FIGURES, *LISTS), (*MEMORY, *CODE)  # no tab is out of sight
        return tuple(Column((Row((Cell(names),)),), 50) for names in (left, right))
    if wide and high:
        return _large()
    if wide:
        return _wide()
    memory = Row((Cell((*MEMORY, *LISTS)),), 48)
    return _beside_matrices(51, memory, Row((Cell((*CODE, *FIGURES)),), 52))


def _beside_matrices(share: int, *rows: Row) -> Layout:
    """The matrices from top to bottom, and all else right of them."""
    return Column((Row((Cell(MATRICES),)),), share), Column(rows, 100 - share)


def _wide() -> Layout:
    memory = Row((Cell(MEMORY[:1], 56), Cell(MEMORY[1:], 44)), 48)
    below = Row((Cell((*CODE, *LISTS), 62), Cell(FIGURES, 38)), 52)
    return _beside_matrices(45, memory, below)


def _large() -> Layout:
    memory = Row((Cell(MEMORY[:1], 58), Cell(MEMORY[1:], 42)), 40)
    code = Row((Cell(CODE[:1], 50), Cell(CODE[1:], 50)), 36)
    figures = Row((Cell(FIGURES[:1], 50), Cell((*FIGURES[1:], *LISTS), 50)), 24)
    return _beside_matrices(44, memory, code, figures)


def units() -> tuple[int, int]:
    """The width of a digit and the height of a line, in pixels."""
    metrics = QFontMetrics(current_theme().font())
    return metrics.horizontalAdvance("0"), metrics.lineSpacing()


TIP = "Drag to move this view beside or onto another; double click lets it float"
ENLARGE = "Show this view over the whole page (F10)"
PUT_BACK = "Back to all views (F10 or Escape)"


CAPTION = 36  # digits that a caption beside controls has at least
_DROPPED_MS = 50
APART = 60, 20  # digits and lines that a view has at least in a window of its own


class DockTitle(QFrame):
    """The upper part of the frame: the heading, or the caption where a tab names the view.

    Presses go on to the dock, which moves with them.
    """

    def __init__(self, title: str, controls: Sequence[QWidget]) -> None:
        super().__init__()
        self.setProperty("role", "dockTitle")
        self._name = title
        self.large = QToolButton()
        self.controls = (*controls, self.large)
        self.named = True
        """Whether the heading is wanted: not where a tab says the same."""
        self.heading = styled_label(title, role="heading")
        self.heading.setToolTip(TIP)
        self.row = side_by_side(None, self.heading, None, *self.controls, gap=GAP)
        for control in self.controls:
            self.row.setAlignment(control, Qt.AlignmentFlag.AlignTop)
        edges = (MARGIN, GAP - 2, GAP, 0)
        self._lines = stacked(self, self.row, gap=GAP // 2, edges=edges)
        self._rows = [self.row]
        self._split = [list(self.controls)]  # of each row, from the first
        self.show_large(False)

    def event(self, event: QEvent) -> bool:
        """Fit the parts in anew when one of them has changed its size: another theme's type."""
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self._fit()
        return done

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Where it is narrow further rows take controls, and the heading goes last."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        margins = self.contentsMargins() + self._lines.contentsMargins()
        room = self.width() - margins.left() - margins.right()
        heading = self.heading.sizeHint().width() + self.row.spacing() if self.named else 0
        widths = list(map(self._width, self.controls))
        split: list[list[QWidget]] = [[]]
        used = min(heading, room // 3)
        for control, wide in zip(reversed(self.controls), reversed(widths), strict=True):
            if split[-1] and used + wide > room:
                split.append([])
                used = 0
            split[-1].insert(0, control)
            used += wide
        self._put(split)
        first = sum(map(self._width, split[0]))
        self.heading.setVisible(self.named and first + heading <= room)

    def _put(self, split: list[list[QWidget]]) -> None:
        """Put the controls into rows, the last of them into the first."""
        if split == self._split:
            return
        self._split = split
        for control in self.controls:
            for row in self._rows:
                row.removeWidget(control)
        while len(self._rows) < len(split):
            self._rows.append(side_by_side(None, None, gap=GAP))
            self._lines.addLayout(self._rows[-1])
        for row, controls in zip(self._rows, split, strict=False):
            for control in controls:
                row.addWidget(control, 0, Qt.AlignmentFlag.AlignTop)

    def _width(self, control: QWidget) -> int:
        return 0 if control.isHidden() else control.sizeHint().width() + self.row.spacing()

    def show_large(self, large: bool) -> None:
        self.large.setToolTip(PUT_BACK if large else ENLARGE)
        self.large.setAccessibleName("Back to all views" if large else f"Enlarge {self._name}")
        set_icon(self.large, "put_back" if large else "enlarge", size=15)

    def controls_width(self) -> int:
        """What the controls that are shown want, all in one row."""
        return sum(map(self._width, self.controls))

    def minimumSizeHint(self) -> QSize:
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
        self._head = side_by_side(None, edges=(MARGIN, 2, GAP, GAP - 4))
        stacked(self.body, self._head, (view, 1), gap=0, edges=(1, 0, 1, 1))
        view.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        if caption is not None:
            self._head.addWidget(caption)
        self.tabbed = self._beside = False
        self.setWidget(self.body)
        # Qt moves a covered dock out of sight but says that it is visible: it would go on working.
        self.visibilityChanged.connect(self._show_view)
        self.topLevelChanged.connect(self._fit_later)
        self.topLevelChanged.connect(lambda floats: view.setVisible(floats or not view.isHidden()))

    def event(self, event: QEvent) -> bool:
        """Follow where Qt puts the dock: in the page, in a window, or in one beside others."""
        done = super().event(event)
        if event.type() == QEvent.Type.ParentChange:
            self._fit_later()
        return done

    def _fit_later(self) -> None:
        """Once Qt has given the dock its size, and it is let go."""
        QTimer.singleShot(0, self, self._fit_apart)

    def _fit_apart(self) -> None:
        """Away from the page, be as large as can be read: Qt makes it as small as it may be.

        Not while it is dragged: a view that is made larger then fits no place that it is held over.
        """
        if not (self.isWindow() or not isinstance(self.parentWidget(), QMainWindow)):
            return
        if QGuiApplication.mouseButtons() != Qt.MouseButton.NoButton:
            QTimer.singleShot(_DROPPED_MS, self, self._fit_apart)
            return
        digit, line = units()
        window = self.window()
        window.resize(window.size().expandedTo(QSize(APART[0] * digit, APART[1] * line)))

    def _show_view(self, on: bool) -> None:
        """Hide the view of a dock that is covered or closed, not where its page alone is hidden."""
        if on or self.isVisible() or self.isHidden():
            self.view.setVisible(on)

    def show_tabbed(self, tabbed: bool) -> None:
        """Whether a tab names the view; the caption then stands in the heading's place."""
        if tabbed == self.tabbed:
            return
        self.tabbed = tabbed
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
        beside = self.tabbed and room >= CAPTION * digit
        if self.caption is None or beside == self._beside:
            return
        self._beside = beside
        place_caption(self.caption, self.title.row, self._head, beside=beside)
