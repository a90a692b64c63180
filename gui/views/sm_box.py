"""A chooser of SMs: of this machine's GPUs, of known devices, of compute capabilities."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QSignalBlocker
from PySide6.QtWidgets import QComboBox

from core.models.capability import Capability, find_capability, load_capabilities
from core.models.devices import Device, load_devices

FIRST = "H200"  # where the recorded results come from
LETTERS = 24


class SmBox(QComboBox):
    """The chosen SM is `capability`; `device` the device it is of, None where it is none's."""

    def __init__(self) -> None:
        super().__init__()
        self.live: dict[str, Device] = {}
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(LETTERS)
        self.setAccessibleName("Device or SM")
        self.setToolTip("Whose SM is filled; the kernel is compiled for it")
        self.offer(())

    @property
    def capability(self) -> Capability:
        """The SM that is filled."""
        name, live = self.currentData(), self.live.get(self.currentData())
        if live is not None:
            name = "{}.{}".format(*live.compute_capability)
        return find_capability(name)[0]

    @property
    def device(self) -> str | None:
        """The name of the device whose SM it is."""
        name: str = self.currentData()
        if name in self.live:
            return self.live[name].name
        return None if name in load_capabilities() else name

    def offer(self, live: Iterable[Device]) -> None:
        """Fill it, this machine's GPUs first; the first of them is chosen. Nothing is emitted."""
        chosen = self.currentData()
        self.live = {f"live {place}": device for place, device in enumerate(live)}
        with QSignalBlocker(self):
            self.clear()
            for key, device in self.live.items():
                self.addItem(f"{device.name} (this machine)", key)
            for device in load_devices():
                self.addItem(device.name, device.name)
            for name, one in load_capabilities().items():
                self.addItem(f"compute capability {name}" if one.major else name, name)
            wanted = next(iter(self.live), chosen or FIRST)
            self.setCurrentIndex(max(0, self.findData(wanted)))

    def choose(self, device: Device) -> None:
        """Choose a device of this machine or of the table."""
        own = next((key for key, one in self.live.items() if one is device), None)
        place = self.findData(own or device.name)
        if place >= 0:
            self.setCurrentIndex(place)
