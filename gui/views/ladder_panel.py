"""The list of kernels, in the order in which they are taught."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRect, QRectF, QSignalBlocker, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QFontMetrics, QPainter, QResizeEvent
from PySide6.QtWidgets import (
    QListWidget,
    QListWidgetItem,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from gui.looks.labels_and_layouts import named, stacked, styled_label
from gui.looks.theme import current_theme
from gui.views.captions_and_panels import Panel
from gui.views.drawing_tools import LEFT, RIGHT, text
from gui.views.launch_form import ConfigurationForm
from gui.views.tables import Index

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from core.ladder import Ladder, Rung
    from gui.scenes.configuration import Configuration

LEAST_ROWS = 7  # of the list; in a lower panel it has no summary
NAME = Qt.ItemDataRole.UserRole
NUMBER = NAME + 1
EDITED = NAME + 2
OWN = "A kernel of your own. Its launch is set below; a rung of the ladder leads back."


class RungRow(QStyledItemDelegate):
    """Draws a rung: its number, dim, its title, and whether its text is edited."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        """A little lower than a control: there are many."""
        return QSize(80, current_theme().spacing.control - 5)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        theme, box = current_theme(), QRect(option.rect)
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        hovered = bool(option.state & QStyle.StateFlag.State_MouseOver)
        if chosen or hovered:
            painter.fillRect(box, theme.tint("accent", 0.16 if chosen else 0.07))
        if chosen:
            painter.fillRect(box.left(), box.top(), 3, box.height(), theme.color("accent"))
        gap, plain = theme.spacing.margin, theme.font("body")
        number, ink = str(index.data(NUMBER)), theme.color("text_dim")
        wide = QFontMetrics(plain).horizontalAdvance("00")
        area = QRectF(box.left() + gap - 4, box.top(), wide, box.height())
        text(painter, area, number, ink, plain, RIGHT, elide=False)
        left, right = box.left() + gap + wide + 6, box.right() - 4
        if index.data(EDITED):
            mark = theme.font("small")
            area = QRectF(left, box.top(), right - left, box.height())
            text(painter, area, "edited", ink, mark, RIGHT, elide=False)
            right -= QFontMetrics(mark).horizontalAdvance("edited") + 6
        area = QRectF(left, box.top(), right - left, box.height())
        font = theme.font("body", bold=chosen)
        text(painter, area, str(index.data()), theme.color("text"), font, LEFT)


class WholeRows(QListWidget):
    """A list that shows no row in part at its end."""

    def updateGeometries(self) -> None:
        """Leave what is no row's height empty below the rows."""
        super().updateGeometries()
        row, room = self.sizeHintForRow(0), self.height() - 2 * self.frameWidth()
        spare = room % row if 0 < 2 * row <= room else 0
        if spare != self.viewportMargins().bottom():
            self.setViewportMargins(0, 0, 0, spare)


class LadderPanel(QWidget):
    """Choose a rung or a file; `chosen(name)` and `file_chosen(key)` when the user picks another.

    Files stand above the rungs.
    """

    chosen = Signal(str)
    file_chosen = Signal(str)

    def __init__(self, rungs: Iterable[Rung]) -> None:
        super().__init__()
        self.list = named(WholeRows(), "Kernels")
        self.list.setItemDelegate(RungRow(self.list))
        self.list.setMouseTracking(True)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.summary = styled_label(role="dim", wrap=True)
        self.summary.setContentsMargins(12, 10, 12, 8)
        self.summary.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._files: tuple[tuple[str, str], ...] = ()
        self._rungs = {rung.name: rung for rung in rungs}
        for rung in self._rungs.values():
            self.list.addItem(_item(rung.name, rung.title, rung.number, rung.summary))
        stacked(self, (self.list, 1), self.summary, gap=0)
        self.list.currentItemChanged.connect(self._picked)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave the summary to the rows' tips where the list would have no room beside it."""
        super().resizeEvent(event)
        self.summary.setVisible(self.height() > LEAST_ROWS * current_theme().spacing.control)
        QTimer.singleShot(0, self, self._reveal)

    def _reveal(self) -> None:
        """Scroll to the chosen rung, wherever the list's edges lie now."""
        item = self.list.currentItem()
        if item is not None:
            self.list.scrollToItem(item)

    def hasHeightForWidth(self) -> bool:
        """The wrapped summary does not ask for more than the hints say."""
        return False

    def sizeHint(self) -> QSize:
        """Some rows; the panel takes what the others leave, and they come first."""
        return QSize(200, 5 * current_theme().spacing.control)

    def minimumSizeHint(self) -> QSize:
        return QSize(80, 3 * current_theme().spacing.control)

    def show_files(self, files: Sequence[tuple[str, str]]) -> None:
        if tuple(files) == self._files:
            return
        with QSignalBlocker(self.list):
            for _ in self._files:
                self.list.takeItem(0)
            self._files = tuple(files)
            for row, (path, title) in enumerate(self._files):
                self.list.insertItem(row, _item(path, title, "cu", path))

    def mark_edited(self, keys: Container[str]) -> None:
        """Mark the sources, by their keys, whose text is not the one that they began with."""
        for row in range(self.list.count()):
            item = self.list.item(row)
            edited = item.data(NAME) in keys
            if edited != bool(item.data(EDITED)):
                item.setData(EDITED, edited)
                said = f"{item.text()}, edited" if edited else item.text()
                item.setData(Qt.ItemDataRole.AccessibleTextRole, said)

    def select(self, name: str) -> None:
        names = [self.list.item(row).data(NAME) for row in range(self.list.count())]
        with QSignalBlocker(self.list):
            if name in names:
                self.list.setCurrentRow(names.index(name))
            else:
                self.list.setCurrentRow(-1)
                self.list.clearSelection()
        self._describe(name)

    def choose_next(self, by: int) -> None:
        row = min(max(self.list.currentRow() + by, 0), self.list.count() - 1)
        self.list.setCurrentRow(row)

    def _picked(self, item: QListWidgetItem | None) -> None:
        if item is not None:
            name = str(item.data(NAME))
            self._describe(name)
            (self.chosen if name in self._rungs else self.file_chosen).emit(name)

    def _describe(self, name: str) -> None:
        rung = self._rungs.get(name)
        self.summary.setText(rung.summary if rung else OWN if name in dict(self._files) else "")


def _item(name: str, title: str, number: object, tip: str) -> QListWidgetItem:
    item = QListWidgetItem(title)
    item.setData(NAME, name)
    item.setData(NUMBER, number)
    item.setToolTip(tip)
    return item


class SideColumn(QWidget):
    """Chooses a launch as the left column does, for another session."""

    def __init__(self, ladder: Ladder) -> None:
        super().__init__()
        self.ladder = ladder
        self.ladder_panel = LadderPanel(ladder[name] for name in ladder.names)
        self.form = ConfigurationForm()
        kernels = Panel("Kernel ladder, B", self.ladder_panel, flush=True)
        form = Panel("Configuration, B", self.form, controls=[self.form.reset])
        stacked(self, (kernels, 1), form, gap=8)

    def show_launch(self, configuration: Configuration) -> None:
        self.ladder_panel.select(configuration.rung)
        if configuration.own is not None:
            self.form.show_file()
            self.form.file.follow(configuration.own)
            return
        rung = self.ladder[configuration.rung]
        if not self.form.shows(rung, configuration.parameters):
            self.form.show_rung(rung, configuration.parameters)
        self.form.show_mapping(configuration)

    def restyle(self) -> None:
        self.form.restyle()
        self.ladder_panel.list.scheduleDelayedItemsLayout()
