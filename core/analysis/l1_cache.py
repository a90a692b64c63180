"""One SM's L1 cache of an H200, and how much of it shared memory leaves (`docs/l1.md`)."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from itertools import islice
from random import Random

import numpy as np
from numpy.typing import NDArray

from core.analysis.coalescing import LINE, SECTOR
from core.models.capability import Capability, capability_of
from core.models.devices import load_devices
from core.models.occupancy import Resources, occupancy

DEVICE = "H200"
UNIFIED_KIB = 256  # L1 and shared memory of an SM (NVIDIA Hopper Tuning Guide)
KEPT_LINES = 20  # of the rest, as far as measured: 224 KiB hold somewhat less than 1,792 lines
SKIPPED = 130  # lines that are older than the one that goes, on average
PER_LINE = LINE // SECTOR
LOAD, WHOLE, PART, ATOMIC = range(4)  # kinds of visits; a store of a whole sector or of a part
_AHEAD_KIB = 132  # the driver prepares for more blocks than fit, up to this
_WITHOUT_SHARED_KIB = 32  # the most for kernels without shared memory


@dataclass(frozen=True)
class L1Model:
    """`sms` caches of `lines` lines of 128 bytes; an SM holds `resident` blocks at a time."""

    sms: int
    resident: int
    lines: int

    @property
    def nbytes(self) -> int:
        """Bytes of a cache."""
        return self.lines * LINE


def model_of(block_threads: int, shared_bytes: int) -> L1Model:
    """The H200's caches for a launch; `shared_bytes` is a block's shared memory.

    Registers are taken not to limit the blocks that an SM holds.
    """
    device = load_devices().find(DEVICE)
    capability = capability_of(device.compute_capability)
    held = occupancy(capability, Resources(block_threads, 0, shared_bytes))
    carved = carve_out_kib(capability, block_threads, shared_bytes)
    lines = (UNIFIED_KIB - carved) * 1024 // LINE - KEPT_LINES
    return L1Model(device.sms, max(held.blocks, 1), lines)


def carve_out_kib(capability: Capability, block_threads: int, shared_bytes: int) -> int:
    """KiB of shared memory that the driver sets apart on each SM.

    Read off `launch__shared_mem_config_size` of 208 launches on an H200 (driver 580.159): the
    smallest step that holds the resident blocks, or, up to 132 KiB, twice as many as an SM's
    threads allow; blocks of 1,024 threads are not doubled.
    """
    if not shared_bytes:
        least = carve_out_kib(capability, block_threads, 1024)
        return min(_WITHOUT_SHARED_KIB, least)
    held = occupancy(capability, Resources(block_threads, 0, shared_bytes))
    warps = -(-block_threads // 32)
    allowed = capability.warps // warps
    if block_threads < capability.threads_per_block:
        allowed = min(2 * allowed, capability.blocks)
    ahead = min(allowed * held.shared_per_block, _AHEAD_KIB * 1024)
    needed = max(held.blocks * held.shared_per_block, ahead)
    steps = [kib for kib in capability.carve_outs_kib if kib * 1024 >= needed]
    return steps[0] if steps else capability.shared_kib


class L1Cache:
    """Lines in order of their last use, each with a bit for every sector.

    When it is full one of the oldest lines goes, at random but the same in every run.
    """

    def __init__(self, lines: int, skipped: float = SKIPPED) -> None:
        """`skipped` older lines stay, on average: 0 for strictly the least recently used."""
        self._capacity, self._skipped = lines, skipped
        self._lines: OrderedDict[int, int] = OrderedDict()
        self._random = Random(lines)
        self.evicted = False

    def visit(self, sectors: NDArray[np.int64], kinds: NDArray[np.int8]) -> NDArray[np.bool_]:
        """Which visits are loads that hit; sectors by number, in order of time."""
        hits = np.zeros(len(sectors), bool)
        edges = np.flatnonzero(np.diff(kinds)) + 1
        for first, end in zip([0, *edges.tolist()], [*edges.tolist(), len(kinds)], strict=True):
            part = sectors[first:end]
            if end > first and kinds[first] == LOAD:
                hits[first:end] = self.load(part)
            else:
                for sector in part.tolist():
                    self._write(sector, int(kinds[first]))
        return hits

    def load(self, sectors: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of these loads hit."""
        lines, last = np.unique(sectors[::-1] // PER_LINE, return_index=True)
        new = sum(line not in self._lines for line in lines.tolist())
        if len(self._lines) + new > self._capacity:
            return np.fromiter((self._one(s) for s in sectors.tolist()), bool, len(sectors))
        return self._without_eviction(sectors, lines[np.argsort(-last)])

    def _one(self, sector: int) -> bool:
        line, bit = sector // PER_LINE, 1 << sector % PER_LINE
        filled = self._lines.get(line)
        if filled is None:
            self._take(line, bit)
            return False
        self._lines[line] = filled | bit
        self._lines.move_to_end(line)
        return bool(filled & bit)

    def _write(self, sector: int, kind: int) -> None:
        """A store takes a line and fills a sector that it writes whole; an atomic drops its own."""
        line, bit = sector // PER_LINE, 1 << sector % PER_LINE
        filled = self._lines.get(line)
        if kind == ATOMIC:
            if filled is not None:
                self._lines[line] = filled & ~bit
            return
        if filled is None:
            self._take(line, 0)
            filled = 0
        self._lines[line] = filled | (bit if kind == WHOLE else 0)
        self._lines.move_to_end(line)

    def _take(self, line: int, filled: int) -> None:
        if len(self._lines) >= self._capacity:
            self.evicted = True
            del self._lines[self._victim()]
        self._lines[line] = filled

    def _victim(self) -> int:
        skip = int(self._random.expovariate(1 / self._skipped)) if self._skipped else 0
        return next(islice(self._lines, skip % len(self._lines), None))

    def _without_eviction(
        self, sectors: NDArray[np.int64], by_last_use: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Where everything fits, only the first load of a sector misses."""
        found, first = np.unique(sectors, return_index=True)
        hits = np.ones(len(sectors), bool)
        for sector, place in zip(found.tolist(), first.tolist(), strict=True):
            hits[place] = self._one(sector)
        for line in by_last_use.tolist():
            self._lines.move_to_end(line)
        return hits
