"""Clocks, temperature and power through NVML, where the package nvidia-ml-py is installed."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from core.gpu.result import Readings


class Sensors:
    """The sensors of the GPU at a PCI address ("0000:65:00.0"); reads None where NVML will not."""

    def __init__(self, pci_bus_id: str) -> None:
        self._nvml: Any = None
        self._handle: Any = None
        self.driver: str | None = None
        try:
            self._nvml = importlib.import_module("pynvml")
            self._nvml.nvmlInit()
            self._handle = self._nvml.nvmlDeviceGetHandleByPciBusId(pci_bus_id.encode())
            self.driver = _text(self._nvml.nvmlSystemGetDriverVersion())
        except Exception:  # noqa: BLE001 - NVML is a convenience: no reading is worth a failure
            self._handle = None

    def read(self) -> Readings:
        """One reading of everything."""
        if self._handle is None:
            return Readings()
        nvml, handle = self._nvml, self._handle
        milliwatts = _try(lambda: nvml.nvmlDeviceGetPowerUsage(handle))
        return Readings(
            sm_mhz=_try(lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM)),
            memory_mhz=_try(lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM)),
            temperature_c=_try(
                lambda: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)
            ),
            power_w=None if milliwatts is None else milliwatts / 1000,
        )


def _try(read: Callable[[], Any]) -> float | None:
    try:
        return float(read())
    except Exception:  # noqa: BLE001 - a sensor that this GPU does not have
        return None


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
