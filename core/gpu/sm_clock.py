"""The clock that the SMs ran at during a launch, by their own counters.

What NVML gives is the clock that the GPU is set to, and it stays at the highest while a busy GPU
skips clocks to stay within its power: on an H100 whose NVML says 1,980 MHz, SMs that do nothing but
`wgmma` count 1,660 million clocks a second. So a tiny kernel notes, on every SM before a launch
and after it, the SM's count of clocks and the time (%clock64 and %globaltimer of the PTX ISA).
"""

from __future__ import annotations

from typing import Any

import numpy as np

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
