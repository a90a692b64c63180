"""An estimate of the L1 cache: how many sectors of global loads it answers, on an H200.

The model (`docs/l1.md` says what of it was measured, and how far off it is): each SM has lines of
128 bytes with four sectors of 32, filled sector by sector by loads, and by stores of whole sectors;
one of the oldest lines goes first; atomics drop their sectors. A load of a sector that is still on
its way is a hit. `sm_of` says on which SM a block runs; blocks that an SM holds at a time take
turns instruction by instruction.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import chain, cycle, islice
from random import Random

import numpy as np
from numpy.typing import NDArray

from core.devices.device_table import Capability, capability_of, load_devices
from core.devices.occupancy import Resources, occupancy
from core.emulator.events import AccessEvent, Ints, Mask, Observer
from core.emulator.geometry import Geometry, warp_rows
from core.emulator.launch_image import Image
from core.errors import BudgetExceeded
from core.rules.global_memory import LINE, SECTOR
from core.rules.memory_instruction_issue import IssueTable

# Which SM of an H200 each block runs on: what blocks leave in an L1 for others follows from it.
#
# Read off `%smid` of three grids on one H200 (`placements` in `tests/data/l1`). Of its 132 SMs 124
# take their turns in a fixed cycle, two blocks at a time. A group of eight has turns of its own,
# more often, until it is full: so neither b and b + 132 nor b and b + 124 share an SM for long.
# What comes after the SMs are full goes where a block has ended, here in the order in which they
# began.
#
# SMs are numbered by their turns: 0 to 123 are those of the cycle, 124 to 131 the group's.


_CYCLE, _GROUP = 124, 8
SMS = _CYCLE + _GROUP
# Blocks of the others between two turns of the group: at first, and then again and again.
_FEW_BLOCKS = ((76,), (92, 98, 90, 92))  # up to 8 on an SM (256 and 1,024 threads each)
_MANY_BLOCKS = ((24, 48, 52, 72), (92, 92, 98, 90))  # 32 on an SM (64 threads each)
_FEW = 16
_SEED = 1


def sm_of(block: Ints, blocks: int, sms: int, resident: int) -> Ints:
    """The SM of each of some of a launch's `blocks`, where an SM holds `resident` of them.

    Up to as many blocks as SMs have one each. On other GPUs it is block mod `sms`.
    """
    if sms != SMS or blocks <= sms:
        return block % sms
    turns = _turns(resident)
    found = turns[np.minimum(block, len(turns) - 1)]
    late = np.flatnonzero(block >= len(turns))
    rounds, where = np.unique(block[late] // SMS, return_inverse=True)
    if len(late):
        one_each = (np.random.default_rng((_SEED, one)) for one in rounds.tolist())
        orders = np.stack([generator.permutation(SMS) for generator in one_each])
        found[late] = orders[where, block[late] % SMS]
    return found


@cache
def _turns(resident: int) -> Ints:
    """The SMs of the blocks that start at once."""
    first, then = _FEW_BLOCKS if resident <= _FEW else _MANY_BLOCKS
    others = iter(np.tile(np.arange(_CYCLE), resident).tolist())
    group = list(range(_CYCLE, SMS))
    found: list[int] = []
    for apart in islice(chain(first, cycle(then)), resident):
        found += [*group, *islice(others, apart)]
    return np.array([*found, *others], np.int64)


# One SM's L1 cache of an H200, and how much of it shared memory leaves (`docs/l1.md`).


DEVICE = "H200"
UNIFIED_KIB = 256  # L1 and shared memory of an SM (NVIDIA Hopper Tuning Guide)
KEPT_LINES = 20  # of the rest, as far as measured: 224 KiB hold somewhat less than 1,792 lines
SKIPPED = 130  # lines older than the evicted one, on average
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

    def visit(self, sectors: Ints, kinds: NDArray[np.int8]) -> Mask:
        """Which visits are loads that hit; sectors by number, in order of time."""
        hits = np.zeros(len(sectors), bool)
        for place, (sector, kind) in enumerate(zip(sectors.tolist(), kinds.tolist(), strict=True)):
            if kind == LOAD:
                hits[place] = self._load(sector)
            else:
                self._write(sector, kind)
        return hits

    def _load(self, sector: int) -> bool:
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
            skip = int(self._random.expovariate(1 / self._skipped)) if self._skipped else 0
            del self._lines[next(islice(self._lines, skip % len(self._lines), None))]
        self._lines[line] = filled


MOST_VISITS = 1 << 25  # sectors kept at a time, 25 bytes each
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


_VISIT = np.dtype(
    [("tick", "i8"), ("site", "i4"), ("block", "i4"), ("sector", "i8"), ("kind", "i1")]
)
"""An instruction visits a sector: its block by linear index, and its site, -1: it loads nothing."""
_Visits = NDArray[np.void]


class L1Observer(Observer):
    """Records the accesses of one machine to global memory."""

    def __init__(
        self, geometry: Geometry, issues: IssueTable, keep: Callable[[AccessEvent, _Visits], None]
    ) -> None:
        self._geometry, self._issues, self._keep = geometry, issues, keep
        self._blocks = np.repeat(geometry.blocks, geometry.warps)

    def on_access(self, event: AccessEvent) -> None:
        """Notes an access to global memory; loads are what counts as global_ld_sectors."""
        if event.pc in self._issues.joined:
            return  # no request is made for it
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
        visits = np.zeros(len(block), _VISIT)  # by block, warp after warp
        visits["tick"], visits["block"], visits["sector"] = event.tick, block, sectors[first]
        visits["kind"] = kind
        self._keep(event, visits)


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
        visits["site"] = site
        self._n_waiting += len(visits)
        if self._n_waiting > self._most:
            raise BudgetExceeded(
                f"The L1 estimate keeps at most {self._most:,} sectors of the blocks that run "
                "at the same time; choose a smaller size."
            )
        self._waiting.append(visits)

    def _run_waves(self, before: int | None) -> None:
        """Runs the waiting visits of the waves `before` that number (None: of all)."""
        if not self._waiting:
            return
        visits = np.concatenate(self._waiting)
        wave = visits["block"] // (self.model.sms * self.model.resident)
        now = np.ones(len(visits), bool) if before is None else wave < before
        if not now.any():
            return
        self._waiting = [visits[~now]]
        self._n_waiting = len(self._waiting[0])
        self._replay(visits[now], wave[now])

    def _replay(self, visits: _Visits, wave: Ints) -> None:
        block = visits["block"].astype(np.int64)
        sm = sm_of(block, self._blocks, self.model.sms, self.model.resident)
        order = np.lexsort((visits["tick"], wave, sm))  # stable: then by block and warp
        visits, turn = visits[order], (sm * _KEYS + wave)[order]
        hit = np.zeros(len(visits), bool)
        edges = np.flatnonzero(np.diff(turn)) + 1
        for first, end in zip([0, *edges], [*edges, len(visits)], strict=True):
            cache = self._caches.setdefault(int(turn[first] // _KEYS), L1Cache(self.model.lines))
            part = visits[first:end]
            hit[first:end] = cache.visit(part["sector"], part["kind"])
        loads, site = visits["site"] >= 0, visits["site"]
        hits = np.bincount(site[loads], hit[loads], len(self._counts)).astype(np.int64)
        sectors = np.bincount(site[loads], minlength=len(self._counts))
        for place, pair in enumerate(zip(sectors.tolist(), hits.tolist(), strict=True)):
            self._counts[place] += L1Count(*pair)
