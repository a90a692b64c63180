"""A page of docks: laid out by its size until the user moves something, then by the user."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

from PySide6.QtCore import QByteArray, QEvent, QSize, Qt, QTimer
from PySide6.QtGui import (
    QContextMenuEvent,
    QFontMetrics,
    QGuiApplication,
    QMouseEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QDockWidget,
    QFrame,
    QLabel,
    QMainWindow,
    QSizePolicy,
    QTabBar,
    QTabWidget,
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


LAYOUT_VERSION = 1
FIXED = QDockWidget.DockWidgetFeature.NoDockWidgetFeatures


class LargeView:
    """Shows one dock of an area large. `name` says which one; empty while none is."""

    def __init__(self, area: DockArea) -> None:
        self._area = area
        self.name = ""
        self.layout = QByteArray()
        """The layout to come back to, as Qt saves it."""
        self._features = QDockWidget.DockWidgetFeature.NoDockWidgetFeatures
        self._together: dict[str, frozenset[str]] = {}

    def show(self, name: str) -> None:
        """Show a dock alone, even one that was closed, floats or is behind another."""
        area, dock = self._area, self._area.docks[name]
        if name == self.name:
            return
        with area.arranging():
            if self.name:
                self._release(area.docks[self.name])
            else:
                self.layout = area.saveState(LAYOUT_VERSION)
                self._together = {n: self._beside(d) for n, d in area.docks.items()}
            self.name = name
            for other in area.docks.values():
                if other is not dock:
                    other.hide()
            dock.setFloating(False)
            self._features = dock.features()
            dock.setFeatures(FIXED)
            dock.title.show_large(True)
            dock.show()
            dock.raise_()

    def put_back(self) -> None:
        area = self._area
        if self.name:
            with area.arranging():
                self._release(area.docks[self.name])
                self.name = ""
                area.restoreState(self.layout, LAYOUT_VERSION)

    def share_a_place(self, one: str, other: str) -> bool:
        """Whether two views stand behind each other in the layout that comes back."""
        return other in self._together.get(one, frozenset())

    def _release(self, dock: ViewDock) -> None:
        dock.setFeatures(self._features)
        dock.title.show_large(False)

    def _beside(self, dock: ViewDock) -> frozenset[str]:
        beside = self._area.tabifiedDockWidgets(dock)
        return frozenset(other.objectName() for other in beside if not other.isHidden())


_NORTH = QTabWidget.TabPosition.North
ACROSS, DOWN = Qt.Orientation.Horizontal, Qt.Orientation.Vertical
HOME = Qt.DockWidgetArea.LeftDockWidgetArea


class DockArea(QMainWindow):
    """Arranges docks. `arranged` says whether the user has moved something."""

    def __init__(self) -> None:
        super().__init__()
        self.setWindowFlags(Qt.WindowType.Widget)
        self.arranged = False
        self.docks: dict[str, ViewDock] = {}
        self.large = LargeView(self)
        self._busy = 0
        self._layout: Layout | None = None
        self._closed: set[str] = set()
        self.setDockNestingEnabled(True)
        self.setDockOptions(self.dockOptions() | QMainWindow.DockOption.GroupedDragging)
        self.setDocumentMode(True)
        self.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, _NORTH)

    def take(self, docks: Iterable[ViewDock]) -> None:
        self.docks = {dock.name: dock for dock in docks}
        for dock in self.docks.values():
            dock.setParent(self)
            dock.dockLocationChanged.connect(self._on_moved)
            dock.topLevelChanged.connect(self._on_moved)
            dock.toggleViewAction().triggered.connect(
                lambda on, name=dock.name: self._on_toggled(name, on)
            )

    def has_something(self, name: str) -> bool:
        """Whether a view has anything to show; one that has not is put away."""
        return True

    def shown_first(self) -> str:
        """The view that is in front where several share a place; empty to leave it."""
        return ""

    def show_what_there_is(self) -> None:
        """Put away the views that have nothing to show."""

    def reset_layout(self) -> None:
        self.put_back()
        self.arranged = False
        self._closed.clear()
        self.arrange(layout_for(self.size(), *units()))

    def save_layout(self) -> str:
        """The user's layout as text; empty while it follows the size."""
        if not self.arranged:
            return ""
        state = self.large.layout if self.large.name else self.saveState(LAYOUT_VERSION)
        return bytes(state.toBase64().data()).decode()

    def restore_layout(self, text: str) -> None:
        """Take up a layout saved earlier; nothing happens if it is not one."""
        if not text:
            return
        self.put_back()
        with self.arranging():
            state = QByteArray.fromBase64(text.encode())
            self.arranged = self.restoreState(state, LAYOUT_VERSION)
        self._closed = {
            name
            for name, dock in self.docks.items()
            if dock.isHidden() and self.has_something(name)
        }
        self.show_what_there_is()

    def put_back(self) -> None:
        self.large.put_back()

    def restyle(self) -> None:
        for bar in self.findChildren(QTabBar):
            bar.setFont(current_theme().font("heading"))
        self.follow_size()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.follow_size()

    def follow_size(self) -> None:
        """Lay out for the size there is, unless the layout is the user's or one view is large."""
        if self.arranged or self.large.name:
            return
        wanted = layout_for(self.size(), *units())
        if wanted != self._layout:
            self.arrange(wanted)
        else:
            self.share_out(wanted)

    def arrange(self, layout: Layout) -> None:
        """Put every dock at its place, as if for the first time."""
        with self.arranging():
            front = self.shown_first()
            for dock in self.docks.values():
                dock.setFloating(False)
                self.removeDockWidget(dock)
            tops = [self._first(column.rows[0]) for column in layout]
            self.addDockWidget(HOME, tops[0])
            for left, right in pairwise(tops):
                self.splitDockWidget(left, right, ACROSS)
            for column in layout:
                for upper, lower in pairwise(map(self._first, column.rows)):
                    self.splitDockWidget(upper, lower, DOWN)
                for row in column.rows:
                    self._fill(row)
            self._layout = layout
            self.show_what_there_is()
            if front in self.docks:
                self.docks[front].raise_()
        self.share_out(layout)

    def _first(self, row: Row) -> ViewDock:
        return self.docks[row.cells[0].names[0]]

    def _fill(self, row: Row) -> None:
        for left, right in pairwise(row.cells):
            self.splitDockWidget(self.docks[left.names[0]], self.docks[right.names[0]], ACROSS)
        for cell in row.cells:
            first = self.docks[cell.names[0]]
            for name in cell.names[1:]:
                self.tabifyDockWidget(first, self.docks[name])
            for name in cell.names:
                self.docks[name].show()
            first.raise_()

    def share_out(self, layout: Layout) -> None:
        with self.arranging():
            shares = [column.share for column in layout]
            heads = [self._first(column.rows[0]) for column in layout]
            self._resize(heads, shares, self.width(), ACROSS)
            for column in layout:
                if len(column.rows) > 1:
                    heads = [self._first(row) for row in column.rows]
                    self._resize(heads, [row.share for row in column.rows], self.height(), DOWN)
                wide = self.width() * column.share // sum(shares)
                for row in column.rows:
                    places = [(self._shown_of(cell), cell.share) for cell in row.cells]
                    here = [(dock, share) for dock, share in places if dock is not None]
                    if len(here) > 1:
                        self._resize([d for d, _ in here], [s for _, s in here], wide, ACROSS)

    def _shown_of(self, cell: Cell) -> ViewDock | None:
        return next((d for n in cell.names if not (d := self.docks[n]).isHidden()), None)

    def _resize(
        self, docks: list[ViewDock], shares: list[int], room: int, way: Qt.Orientation
    ) -> None:
        whole = sum(shares)
        self.resizeDocks(docks, [room * share // whole for share in shares], way)

    @contextmanager
    def arranging(self) -> Iterator[None]:
        """What moves now is moved by the program."""
        self._busy += 1
        try:
            yield
        finally:
            self._busy -= 1
            if not self._busy:
                self.name_tabs()

    def name_tabs(self) -> None:
        """Say on each dock whether a tab names it, and dress the tabs."""
        for dock in self.docks.values():
            others = self.tabifiedDockWidgets(dock)
            named = not dock.isFloating() and any(not other.isHidden() for other in others)
            dock.show_tabbed(named)
        for bar in self.findChildren(QTabBar):
            bar.setDrawBase(False)
            bar.setFont(current_theme().font("heading"))
            bar.setExpanding(False)
            bar.setUsesScrollButtons(True)
            bar.setElideMode(Qt.TextElideMode.ElideNone)
            bar.setAccessibleName("Views in this place")

    def in_front(self, name: str) -> bool:
        """Whether a view is to be seen on this page: not closed, and not behind another."""
        dock = self.docks[name]
        return not dock.isHidden() and not dock.view.isHidden()

    def _on_toggled(self, name: str, on: bool) -> None:
        self.put_back()
        self.arranged = True
        (self._closed.discard if on else self._closed.add)(name)
        with self.arranging():
            self.docks[name].setVisible(on)

    def _on_moved(self, *_: object) -> None:
        if not self._busy:
            self.arranged = True
            with self.arranging():
                pass

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Leave the menu of views to the window (`gui.commands.saving_pictures`)."""
        event.ignore()

    def event(self, event: QEvent) -> bool:
        """A press that a separator takes is the user's: from then on the layout is theirs."""
        done = super().event(event)
        pressed = event.type() == QEvent.Type.MouseButtonPress
        if pressed and isinstance(event, QMouseEvent) and event.isAccepted():
            self.arranged = True
        return done
