"""What a GPU says while it works: NVML's sensors, and the SMs' own counters of clocks.

`Sensors` reads clocks, temperature and power. `SmClock` finds the clock that the SMs ran at during
a launch. What NVML gives is the clock that the GPU is set to, and it stays at the highest while a
busy GPU skips clocks to stay within its power: on an H100 whose NVML says 1,980 MHz, SMs that do
nothing but `wgmma` count 1,660 million clocks a second. So a tiny kernel notes, on every SM before
a launch and after it, the SM's count of clocks and the time (%clock64 and %globaltimer of the PTX
ISA).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from core.gpu.benchmark_result import Readings

_NVML_CLOCK_SM = 1
# %globaltimer moves in steps of up to a microsecond, and the two stamps take a few.
_LEAST_MS = 0.1
_MOST_BESIDE = 0.1  # of the launch's time, that the GPU may wait between the stamps
_SLOTS = 1024  # %smid is below this on every GPU there is
_PTX = b"""
.version 6.0
.target sm_50
.address_size 64
.visible .entry stamp(.param .u64 slots)
{
    .reg .b64 %at, %count, %ns;
    .reg .b32 %sm;
    .reg .pred %beyond;
    mov.u32 %sm, %smid;
    setp.ge.u32 %beyond, %sm, 1024;
    @%beyond ret;
    ld.param.u64 %at, [slots];
    mad.wide.u32 %at, %sm, 16, %at;
    mov.u64 %count, %clock64;
    mov.u64 %ns, %globaltimer;
    st.global.u64 [%at], %count;
    st.global.u64 [%at+8], %ns;
    ret;
}
\0"""


class Sensors:
    """The sensors of the GPU at a PCI address ("0000:65:00.0"); None for a value NVML lacks."""

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

    def sm_mhz(self) -> float | None:
        """The SM clock now, in MHz."""
        if self._handle is None:
            return None
        return _try(lambda: self._nvml.nvmlDeviceGetClockInfo(self._handle, _NVML_CLOCK_SM))

    def read(self) -> Readings:
        """One reading of everything."""
        if self._handle is None:
            return Readings()
        nvml, handle = self._nvml, self._handle
        milliwatts = _try(lambda: nvml.nvmlDeviceGetPowerUsage(handle))
        return Readings(
            sm_mhz=self.sm_mhz(),
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


class SmClock:
    """Stamps before and after a launch. Raises the driver's errors when it is made."""

    def __init__(self, cuda: Any, sms: int) -> None:
        self._cuda, self._sms = cuda, sms
        self._module = cuda.module_from_buffer(_PTX)
        self._stamp = self._module.get_function("stamp")
        self._stamp.prepare("P")
        self._slots = [cuda.mem_alloc(16 * _SLOTS) for _ in range(2)]

    def begin(self) -> None:
        """Queues the stamps before a launch."""
        for slots in self._slots:
            self._cuda.memset_d32_async(slots, 0, 4 * _SLOTS, None)
        self._queue(0)

    def end(self) -> None:
        """Queues the stamps after it."""
        self._queue(1)

    def mhz(self, ms: float) -> float | None:
        """The median clock of the SMs between the stamps, in MHz, once both have run.

        None for a launch of less than 0.1 ms, which the timer resolves badly, and where the stamps
        lie further apart than the launch's `ms` milliseconds explain.
        """
        if ms < _LEAST_MS:
            return None
        found = np.zeros((2, _SLOTS, 2), np.uint64)
        for stamps, slots in zip(found, self._slots, strict=True):
            self._cuda.memcpy_dtoh(stamps, slots)
        seen = found[:, (found[:, :, 1] > 0).all(axis=0)].astype(np.int64)
        clocks, ns = (seen[1] - seen[0]).T
        if not len(ns) or np.median(ns) > ms * 1e6 * (1 + _MOST_BESIDE):
            return None
        return round(float(np.median(clocks / ns)) * 1e3, 1)

    def _queue(self, which: int) -> None:
        # One warp a block, as many blocks as SMs: an idle GPU gives each SM one of them.
        self._stamp.prepared_async_call(
            (self._sms, 1, 1), (32, 1, 1), None, np.uintp(int(self._slots[which])), shared_size=0
        )
