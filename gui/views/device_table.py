"""The table of devices: figures, and where each row comes from."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, Signal

from core.models.devices import Device
from gui.scenes.ceilings import rate_text
from gui.views.row_table import RowModel, RowTable


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


class _Model(RowModel[Device]):
    """Devices, the first `live` of which are this machine's."""

    HEADS = ("Device", "CC", "SMs", "Cores", "MHz", "GB/s", "FP32 GFLOPS", "Ridge FLOP/B",
             "Tensor TFLOPS", "L2 MiB", "Shared KiB")  # fmt: skip
    RIGHT = frozenset(range(1, len(HEADS)))

    def __init__(self) -> None:
        super().__init__()
        self.live = 0

    @property
    def devices(self) -> tuple[Device, ...]:
        """The rows, none of which is a heading."""
        return tuple(row for row in self.rows if not isinstance(row, str))

    def text(self, row: Device, column: int) -> str:
        """One of the device's figures."""
        here = column == 0 and row in self.devices[: self.live]
        return f"{row.name} (this machine)" if here else cells(row)[column]

    def tip(self, row: Device) -> str:
        """Where the figures come from."""
        return f"{row.source}; {row.checked}."

    def color(self, row: Device, column: int) -> str:
        """The name is read first."""
        return "text" if column == 0 else "text_dim"


class DeviceTable(RowTable):
    """The table; `chosen(name)` is emitted when a row is selected."""

    chosen = Signal(object)

    def __init__(self) -> None:
        model = _Model()
        super().__init__(model, "Devices")
        self.rows = model
        self.selectionModel().currentRowChanged.connect(self._on_row)

    def load(self, devices: Sequence[Device], live: int = 0) -> None:
        """Show these devices, the first `live` of which are this machine's."""
        self.rows.live = live
        self.rows.load(devices)
        self.fit()

    def _on_row(self, index: QModelIndex) -> None:
        if index.isValid():
            self.chosen.emit(self.rows.devices[index.row()])
