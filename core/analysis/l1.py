"""An estimate of the L1 cache: how many sectors of global loads it answers, on an H200.

The model (`docs/l1.md` says what of it was measured, and how far off it is): each SM has lines of
128 bytes with four sectors of 32, filled sector by sector by loads, and by stores of whole sectors;
one of the oldest lines goes first; atomics drop their sectors. A load of a sector that is still on
its way is a hit. Which SM a block runs on says `l1_placement.py`; blocks that an SM holds at a time
take turns instruction by instruction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from core.analysis.coalescing import SECTOR
from core.analysis.issue import IssueTable
from core.analysis.l1_cache import (
    ATOMIC,
    LOAD,
    PART,
    WHOLE,
    L1Cache,
    L1Model,
    model_of,
)
from core.analysis.l1_placement import sm_of
from core.emulator.events import AccessEvent, BarrierEvent, FaultEvent
from core.emulator.groups import Geometry, warp_rows
from core.emulator.image import Image
from core.errors import BudgetExceeded

MOST_VISITS = 1 << 25  # sectors kept at a time, about 20 bytes each
_FAR = np.iinfo(np.int64).max
_KINDS = {"load": LOAD, "store": WHOLE, "atomic": ATOMIC}
_KEYS = 1 << 32  # more than any wave's number


@dataclass(frozen=True)
class L1Count:
    """Sectors that global loads asked for, and those of them found in the L1."""

    sectors: int = 0
    hits: int = 0

    @property
    def hit_rate(self) -> float | None:
        """hits / sectors; None where nothing was loaded."""
        return self.hits / self.sectors if self.sectors else None

    def __add__(self, other: L1Count) -> L1Count:
        return L1Count(self.sectors + other.sectors, self.hits + other.hits)


@dataclass(frozen=True)
class L1Estimate:
    """The estimate of a launch. `by_line` is keyed by source line, `by_array` by array name.

    `extrapolated`: an SM had several blocks or the cache was full, so that the order of the warps
    and what goes first matter, which is only estimated.
    """

    model: L1Model
    total: L1Count
    by_array: Mapping[str, L1Count]
    by_line: Mapping[int, L1Count]
    extrapolated: bool


@dataclass(frozen=True)
class _Visits:
    """Sectors that one instruction visits: by linear block index, warp after warp."""

    tick: int
    site: int  # -1 where nothing is loaded
    block: NDArray[np.int32]
    sector: NDArray[np.int64]
    kind: NDArray[np.int8]


class L1Observer:
    """Notes what one machine does to global memory."""

    def __init__(
        self, geometry: Geometry, issues: IssueTable, keep: Callable[[AccessEvent, _Visits], None]
    ) -> None:
        self._geometry, self._issues, self._keep = geometry, issues, keep
        self._blocks = np.repeat(geometry.blocks, geometry.warps).astype(np.int32)

    def on_access(self, event: AccessEvent) -> None:
        """Notes an access to global memory; loads are what counts as global_ld_sectors."""
        space = event.region.space
        if space == "const" and self._issues[event.pc].generic:
            space = "global"
        if space != "global":
            return
        geometry = self._geometry
        address = np.broadcast_to(event.address, geometry.lanes)
        if event.mask is not None:
            address = np.where(event.mask, address, _FAR)
        rows = np.sort(warp_rows(address, geometry, _FAR), axis=1)
        there = rows != _FAR
        sectors = rows // SECTOR
        first = there.copy()
        first[:, 1:] &= sectors[:, 1:] != sectors[:, :-1]
        block = self._blocks[np.nonzero(first)[0]]
        kind = np.full(len(block), _KINDS[event.kind], np.int8)
        if event.kind == "store":
            different = there.copy()
            different[:, 1:] &= rows[:, 1:] != rows[:, :-1]
            of = np.cumsum(first.reshape(-1))[different.reshape(-1)] - 1
            written = np.bincount(of, minlength=len(block)) * event.width
            kind[written < SECTOR] = PART
        self._keep(event, _Visits(event.tick, -1, block, sectors[first], kind))

    def on_barrier(self, event: BarrierEvent) -> None:
        """Barriers load nothing."""

    def on_fault(self, event: FaultEvent) -> None:
        """An access that did not happen loads nothing."""


class L1Probe:
    """Gathers a launch's global loads and puts them through the caches; for one `record`."""

    def __init__(self, model: L1Model | None = None, most_visits: int = MOST_VISITS) -> None:
        """`model` replaces the one that follows from the launch."""
        self._given, self._most = model, most_visits

    def start(self, image: Image, issues: IssueTable, lines: NDArray[np.int32]) -> None:
        """Begins anew; `lines` gives the source line of a pc."""
        launch = image.launch
        self.model = self._given or model_of(launch.block.count, image.shared_bytes)
        self._issues, self._line_of = issues, lines
        self._caches: dict[int, L1Cache] = {}
        self._waiting: list[_Visits] = []
        self._n_waiting = 0
        self._sites: dict[tuple[int, str], int] = {}
        self._counts: list[L1Count] = []
        self._blocks = launch.grid.count
        self._shared_sm = self._blocks > self.model.sms

    def part(self, geometry: Geometry) -> L1Observer:
        """The observer of the next machine; blocks come in ascending order."""
        self._run_waves(int(geometry.blocks[0]) // (self.model.sms * self.model.resident))
        return L1Observer(geometry, self._issues, self._note)

    def estimate(self) -> L1Estimate:
        """The result, once every machine has run."""
        self._run_waves(None)
        arrays: dict[str, L1Count] = {}
        lines: dict[int, L1Count] = {}
        for (pc, array), site in self._sites.items():
            count, line = self._counts[site], int(self._line_of[pc])
            arrays[array] = arrays.get(array, L1Count()) + count
            lines[line] = lines.get(line, L1Count()) + count
        full = any(cache.evicted for cache in self._caches.values())
        total = sum(self._counts, L1Count())
        by_line = dict(sorted(lines.items()))
        return L1Estimate(self.model, total, arrays, by_line, self._shared_sm or full)

    def _note(self, event: AccessEvent, visits: _Visits) -> None:
        site = -1
        if event.kind == "load":
            site = self._sites.setdefault((event.pc, event.region.name), len(self._sites))
            if site == len(self._counts):
                self._counts.append(L1Count())
        self._n_waiting += len(visits.sector)
        if self._n_waiting > self._most:
            raise BudgetExceeded(
                f"The L1 estimate keeps at most {self._most:,} sectors of the blocks that run "
                "at the same time; choose a smaller size."
            )
        self._waiting.append(replace(visits, site=site))

    def _run_waves(self, before: int | None) -> None:
        """Runs what waits, of the waves `before` that number (None: of all)."""
        if not self._waiting:
            return
        sizes = [len(v.sector) for v in self._waiting]
        tick = np.repeat([v.tick for v in self._waiting], sizes)
        site = np.repeat([v.site for v in self._waiting], sizes)
        block = np.concatenate([v.block for v in self._waiting]).astype(np.int64)
        sector = np.concatenate([v.sector for v in self._waiting])
        kind = np.concatenate([v.kind for v in self._waiting])
        wave = block // (self.model.sms * self.model.resident)
        if before is not None and wave.max() >= before:
            if wave.min() >= before:
                return
            self._waiting = list(_later(self._waiting, self.model, before))
        else:
            self._waiting = []
        self._n_waiting = sum(len(v.sector) for v in self._waiting)
        sm = sm_of(block, self._blocks, self.model.sms, self.model.resident)
        self._replay(sm, wave, tick, site, sector, kind, before)

    def _replay(
        self,
        sm: NDArray[np.int64],
        wave: NDArray[np.int64],
        tick: NDArray[np.int64],
        site: NDArray[np.int64],
        sector: NDArray[np.int64],
        kind: NDArray[np.int8],
        before: int | None,
    ) -> None:
        order = np.lexsort((tick, wave, sm))  # stable: then by block and warp
        if before is not None:
            order = order[wave[order] < before]
        sm, wave, site = sm[order], wave[order], site[order]
        sector, kind = sector[order], kind[order]
        hit = np.zeros(len(sector), bool)
        edges = np.flatnonzero(np.diff(sm * _KEYS + wave)) + 1
        for first, end in zip([0, *edges], [*edges, len(sm)], strict=True):
            cache = self._caches.setdefault(int(sm[first]), L1Cache(self.model.lines))
            hit[first:end] = cache.visit(sector[first:end], kind[first:end])
        loads = site >= 0
        hits = np.bincount(site[loads], hit[loads], len(self._counts)).astype(np.int64)
        sectors = np.bincount(site[loads], minlength=len(self._counts))
        for place, pair in enumerate(zip(sectors.tolist(), hits.tolist(), strict=True)):
            self._counts[place] += L1Count(*pair)


def _later(waiting: list[_Visits], model: L1Model, wave: int) -> Iterator[_Visits]:
    """What belongs to this wave and those after it."""
    for visits in waiting:
        keep = visits.block >= wave * model.sms * model.resident
        if keep.any():
            yield replace(
                visits, block=visits.block[keep], sector=visits.sector[keep], kind=visits.kind[keep]
            )
