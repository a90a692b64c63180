"""The table of devices: figures, and where each row comes from."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from core.models.devices import Device
from gui.scenes.ceilings import rate_text
from gui.theme import current_theme

Index = QModelIndex | QPersistentModelIndex
HEADS = ("Device", "CC", "SMs", "Cores", "MHz", "GB/s", "FP32\nGFLOPS", "Ridge\nFLOP/B",
         "Tensor\nTFLOPS", "L2\nMiB", "Shared\nKiB")  # fmt: skip


def cells(device: Device) -> tuple[str, ...]:
    """A row's texts."""
    tensor = device.sms * device.tensor_per_clock * device.boost_mhz / 1e6
    return (
        device.name,
        "{}.{}".format(*device.compute_capability),
        str(device.sms),
        rate_text(device.cores),
        rate_text(device.boost_mhz),
        rate_text(device.bandwidth_gbs),
        rate_text(float(f"{device.peak_gflops:.4g}")),
        f"{device.ridge:.1f}",
        f"{tensor:.4g}" if tensor else "–",
        f"{device.l2_kib / 1024:.4g}" if device.l2_kib else "none",
        str(device.shared_per_sm_kib),
    )


class _Model(QAbstractTableModel):
    def __init__(self) -> None:
        super().__init__()
        self.devices: tuple[Device, ...] = ()
        self.live = 0

    def load(self, devices: Sequence[Device], live: int) -> None:
        self.beginResetModel()
        self.devices, self.live = tuple(devices), live
        self.endResetModel()

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.devices)

    def columnCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(HEADS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = 0) -> object:
        if orientation == Qt.Orientation.Horizontal:
            if role == Qt.ItemDataRole.DisplayRole:
                return HEADS[section]
            if role == Qt.ItemDataRole.TextAlignmentRole:
                return _alignment(section)
        return None

    def data(self, index: Index, role: int = 0) -> object:
        device = self.devices[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            text = cells(device)[index.column()]
            here = index.row() < self.live and index.column() == 0
            return f"{text} (this machine)" if here else text
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(index.column())
        if role == Qt.ItemDataRole.ToolTipRole:
            return f"{device.source}; {device.checked}."
        if role == Qt.ItemDataRole.ForegroundRole:
            return current_theme().color("text" if index.column() == 0 else "text_dim")
        return None


def _alignment(column: int) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if column else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter


class DeviceTable(QTableView):
    """The table; `chosen(name)` is emitted when a row is selected."""

    chosen = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.rows = _Model()
        self.setModel(self.rows)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.verticalHeader().hide()
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setAccessibleName("Devices")
        self.verticalHeader().setDefaultSectionSize(current_theme().spacing.control - 2)
        self.selectionModel().currentRowChanged.connect(self._on_row)

    def load(self, devices: Sequence[Device], live: int = 0) -> None:
        """Show these devices, the first `live` of which are this machine's."""
        self.rows.load(devices, live)
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setStretchLastSection(True)
        header.setHighlightSections(False)

    def _on_row(self, index: QModelIndex) -> None:
        if index.isValid():
            self.chosen.emit(self.rows.devices[index.row()])
