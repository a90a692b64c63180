"""Measured kernels as a table with bars."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QRectF, Qt, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem

from gui.frames.pieces import Steps, whole
from gui.looks.theme import current_theme
from gui.scenes.bench_measured import HERE
from gui.scenes.benchmark import ResultRow
from gui.views.row_table import Index, RowModel, RowTable

RATE, BAR = 2, 4


class ResultsModel(RowModel[ResultRow]):
    """Rows of `gui.scenes.benchmark`."""

    HEADS = ("Kernel", "Parameters", "GFLOPS", "GB/s", "")
    RIGHT = frozenset({RATE, RATE + 1})

    @property
    def results(self) -> tuple[ResultRow, ...]:
        """The rows, none of which is a heading."""
        return tuple(row for row in self.rows if not isinstance(row, str))

    def text(self, row: ResultRow, column: int) -> str:
        """The kernel, how it was launched, and its rates."""
        return (row.title, row.details, row.rate_text, row.bandwidth_text, "")[column]

    def tip(self, row: ResultRow) -> str:
        """What is to be said about the measurement."""
        return row.notes

    def color(self, row: ResultRow, column: int) -> str:
        """A rate that is not to be trusted is red."""
        if row.trouble and column == RATE:
            return "error"
        return "text" if column in (0, RATE) else "text_dim"


class RateBar(QStyledItemDelegate):
    """A bar of the rate, with a line from the 5th to the 95th percentile."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw the bar on the scale of the fastest row."""
        model = index.model()
        assert isinstance(model, ResultsModel)
        row, theme = model.results[index.row()], current_theme()
        most = max((r.high or r.gflops or 0.0) if r.gflops else 0.0 for r in model.results)
        if not row.gflops or not most:
            return
        painter.save()
        painter.setPen(Qt.PenStyle.NoPen)
        box = QRectF(option.rect).adjusted(8, 0, -12, 0)
        scale = box.width() / most
        painter.setBrush(
            theme.tint("load", 0.85 if row.measured and row.measured.origin == HERE else 0.45)
        )
        painter.drawRect(QRectF(box.left(), box.center().y() - 5, row.gflops * scale, 10))
        if row.low is not None and row.high is not None:
            painter.setBrush(theme.color("text"))
            left, right = box.left() + row.low * scale, box.left() + row.high * scale
            painter.drawRect(QRectF(left, box.center().y() - 1, max(right - left, 2), 2))
        painter.restore()


class ResultsTable(RowTable):
    """The table; `load` replaces its rows. `chosen(place)` is emitted when a row is selected."""

    chosen = Signal(int)

    def __init__(self) -> None:
        model = ResultsModel()
        super().__init__(model, "Measured kernels")
        self.rows = model
        self.setItemDelegateForColumn(BAR, RateBar(self))
        self.selectionModel().currentRowChanged.connect(self._on_row)

    def _on_row(self, index: QModelIndex) -> None:
        if index.isValid():
            self.chosen.emit(index.row())

    def load(self, rows: tuple[ResultRow, ...]) -> None:
        """Show these results, none selected."""
        whole(self.loading(rows))

    def loading(self, rows: tuple[ResultRow, ...]) -> Steps:
        """`load`, piece by piece."""
        self.rows.load(rows)
        yield
        yield from self.fitting()
