"""Ceilings: how fast a kernel can run on a device at most, each from exact counts and one figure.

Every ceiling is work / (units of something it needs) x (units a second that the device has). The
counts come from the emulation (`core.models.work`), the device's figures from its row in the table.
Each rule's rate and its source stand in `docs/ceilings.md`; how well it holds, there too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from core.compiler import BuildKind
from core.counting import count
from core.errors import TilescopeError
from core.launch import Workload
from core.models.capability import capability_of
from core.models.devices import Device
from core.models.work import Work, WorkProbe

SECTOR = 32
_SM_PORT = 64  # bytes a clock from L2 to an SM's L1, compute capability 7.0 and later
_FIRST_UNIFIED = 7  # major revision since which L1 and shared memory are one, with one data stage
_FIRST_CACHED = 2  # major revision since which loads from global memory are cached

NAMES: Mapping[str, str] = {
    "textbook": "Textbook: every load from DRAM",
    "dram": "DRAM, every byte once",
    "l2": "L2 to the SMs",
    "l1": "L1: distinct lines",
    "shared": "Shared memory: wavefronts",
    "data_stage": "L1 and shared memory together",
    "issue": "Issue slots",
    "fp32": "FP32 peak",
}


@dataclass(frozen=True)
class Ceiling:
    """A rate that the kernel cannot exceed, in GFLOPS, if what it `assumes` holds.

    `formula` is the calculation with its numbers. `build` says whose counts they are ("" where no
    count enters). `binds`: whether it can be the one that binds; the textbook ceiling cannot where
    the device has caches.
    """

    name: str
    title: str
    gflops: float
    formula: str
    build: str
    assumes: str
    binds: bool = True


@dataclass(frozen=True)
class Counts:
    """What a launch was counted to need: as written for the textbook, and in the build that runs.

    `dram_bytes` are the bytes of each array read or written, once; `transfers` and
    `least_transfers` the elements loaded, and those of the arrays loaded from.
    """

    workload: Workload
    written: Work
    work: Work
    build: BuildKind
    note: str

    @property
    def flops(self) -> int:
        """Floating-point operations: the kernel's formula, or what the emulation counted."""
        return self.workload.flops or self.work.flops

    @property
    def dram_bytes(self) -> int:
        """Bytes that DRAM must move at least: each array read once and written once."""
        return self._once(self.work.load_sectors) + self._once(self.work.store_sectors)

    @property
    def transfers(self) -> int:
        """Elements that threads load from global memory, as written."""
        return self.written.loads

    @property
    def least_transfers(self) -> int:
        """Elements of the arrays that are loaded from: each of them once."""
        sizes = {a.name: a.data.size for a in self.workload.launch.arrays}
        return sum(sizes.get(name, 0) for name in self.written.load_sectors)

    def _once(self, sectors: Mapping[str, int]) -> int:
        sizes = {a.name: a.data.nbytes for a in self.workload.launch.arrays}
        return sum(
            min(count * SECTOR, sizes.get(name, count * SECTOR)) for name, count in sectors.items()
        )


@dataclass(frozen=True)
class Ceilings:
    """All ceilings of a launch on a device. `left_out` says which are missing, and why."""

    counts: Counts
    device: Device
    ceilings: Mapping[str, Ceiling]
    binding: str
    why: str
    left_out: Mapping[str, str]

    @property
    def lowest(self) -> Ceiling:
        """The ceiling that binds."""
        return self.ceilings[self.binding]


def measure(
    workload: Workload,
    *,
    build: BuildKind = "as_compiled",
    progress: Callable[[float], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Counts:
    """Counts a launch in the build that runs and as written. Raises as `core.counting.count` does.

    In the optimised build neighbouring loads of shared memory count as the wide loads that the
    assembler makes of them (`core.analysis.wide_loads`).
    """
    found: dict[BuildKind, Work] = {}
    notes = []
    kinds: tuple[BuildKind, ...] = tuple(dict.fromkeys((build, "as_written")))
    for place, kind in enumerate(kinds):
        probe = WorkProbe()
        told = None if progress is None else _part_of(progress, place, len(kinds))
        counted = count(workload, kind=kind, probe=probe, progress=told, cancelled=cancelled)
        found[kind] = probe.total
        notes.append(counted.note)
    note = next((n for n in notes if n), "")
    return Counts(workload, found["as_written"], found[build], build, note)


def _part_of(tell: Callable[[float], None], place: int, parts: int) -> Callable[[float], None]:
    return lambda fraction: tell((place + fraction) / parts)


def ceilings(counts: Counts, device: Device) -> Ceilings:
    """The ceilings of a counted launch on a device.

    Raises TilescopeError where the launch does no floating-point work.
    """
    if not counts.flops:
        raise TilescopeError(
            f"{counts.workload.kernel} does no floating-point work, so it has no GFLOPS: "
            "look at its traffic with `tilescope trace`."
        )
    found: dict[str, Ceiling] = {}
    left_out: dict[str, str] = {}
    for name, rule in _RULES.items():
        made = rule(_Case(counts, device))
        if isinstance(made, Ceiling):
            found[name] = made
        elif made:
            left_out[name] = made
    able = [c for c in found.values() if c.binds]
    binding = min(able, key=lambda c: c.gflops).name
    return Ceilings(counts, device, found, binding, _why(counts, device, found, binding), left_out)


# -- one rule a ceiling ---------------------------------------------------------------------------


@dataclass(frozen=True)
class _Case:
    counts: Counts
    device: Device

    @property
    def flops(self) -> int:
        return self.counts.flops

    @property
    def major(self) -> int:
        return self.device.compute_capability[0]

    @property
    def sm_clocks(self) -> str:
        return f"{self.device.sms} SMs x {_number(self.device.boost_mhz / 1e3)} GHz"

    def per_sm(self, name: str, units: int, unit: str, rate: int, assumes: str) -> Ceiling:
        """A ceiling of `rate` units a clock in each SM."""
        each = self.flops / units
        gflops = self.device.sms * self.device.boost_mhz / 1e3 * rate * each
        rates = f" x {rate}" if rate != 1 else ""
        formula = (
            f"{self.sm_clocks}{rates} x {self.flops:,} FLOP / {units:,} {unit} "
            f"= {_number(gflops)} GFLOPS"
        )
        return Ceiling(name, NAMES[name], gflops, formula, self.counts.build, assumes)

    def per_byte(
        self, name: str, nbytes: int, bandwidth: float, build: str, assumes: str, binds: bool = True
    ) -> Ceiling:
        """A ceiling of so many GB/s."""
        intensity = self.flops / nbytes
        gflops = intensity * bandwidth
        formula = (
            f"{self.flops:,} FLOP / {nbytes:,} B = {_number(intensity)} FLOP/B; "
            f"x {_number(bandwidth)} GB/s = {_number(gflops)} GFLOPS"
        )
        return Ceiling(name, NAMES[name], gflops, formula, build, assumes, binds)


_Made = Ceiling | str


def _textbook(case: _Case) -> _Made:
    nbytes = case.counts.written.loaded_bytes
    if not nbytes:
        return "it loads nothing from global memory"
    cached = case.major >= _FIRST_CACHED
    assumes = "no caches: every load of the source goes to DRAM; stores are left out"
    return case.per_byte(
        "textbook", nbytes, case.device.bandwidth_gbs, "as_written", assumes, not cached
    )


def _dram(case: _Case) -> _Made:
    nbytes = case.counts.dram_bytes
    if not nbytes:
        return "it does not touch global memory"
    assumes = "caches that are cold at first and lose nothing: each array is read and written once"
    return case.per_byte("dram", nbytes, case.device.bandwidth_gbs, case.counts.build, assumes)


def _l2(case: _Case) -> _Made:
    if case.major < _FIRST_UNIFIED:
        return "the width of the way from L2 to the SMs is not in the table before 7.0"
    nbytes = case.counts.work.l2_sectors * SECTOR
    if not nbytes:
        return "it does not touch global memory"
    bandwidth = _SM_PORT * case.device.sms * case.device.boost_mhz / 1e3
    assumes = (
        f"{_SM_PORT} B a clock for each SM; L1 keeps what a block loads and shares nothing between "
        "blocks; stores go through"
    )
    return case.per_byte("l2", nbytes, bandwidth, case.counts.build, assumes)


def _l1(case: _Case) -> _Made:
    lines = case.counts.work.lines
    if case.major < _FIRST_UNIFIED:
        return "how fast L1 serves lines was measured on newer GPUs only"
    if not lines:
        return "it does not touch global memory"
    assumes = "one distinct 128-byte line a clock per SM (as an H200's counters show)"
    return case.per_sm("l1", lines, "lines", 1, assumes)


def _shared(case: _Case) -> _Made:
    wavefronts = case.counts.work.wavefronts
    if not wavefronts:
        return ""
    if case.major < _FIRST_CACHED:
        return "shared memory of compute capability 1.x serves half warps, which is not counted"
    assumes = "32 banks x 4 bytes: one wavefront a clock per SM"
    return case.per_sm("shared", wavefronts, "wavefronts", 1, assumes)


def _data_stage(case: _Case) -> _Made:
    work = case.counts.work
    if case.major < _FIRST_UNIFIED or not (work.lines and work.wavefronts):
        return ""
    assumes = "one memory serves both, with one data stage: a line or a wavefront a clock per SM"
    units = work.lines + work.wavefronts
    return case.per_sm("data_stage", units, "lines and wavefronts", 1, assumes)


def _issue(case: _Case) -> _Made:
    if case.major < _FIRST_UNIFIED:
        return "an SM's warp instructions a clock are not in the table before 7.0"
    if case.counts.work.tensor:
        return "tensor instructions take more than a slot"
    rate = capability_of(case.device.compute_capability).partitions
    assumes = (
        f"{rate} warp instructions a clock per SM; float arithmetic, memory accesses and barriers "
        "count, which the assembler cannot do without; addresses and loops come on top"
    )
    return case.per_sm("issue", case.counts.work.instructions, "warp instructions", rate, assumes)


def _fp32(case: _Case) -> _Made:
    if case.counts.work.tensor:
        return "its products are done by tensor cores"
    device = case.device
    formula = (
        f"2 x {device.cores_per_sm} cores x {case.sm_clocks} = {_number(device.peak_gflops)} GFLOPS"
    )
    assumes = "every core does a multiply-add in every clock"
    return Ceiling("fp32", NAMES["fp32"], device.peak_gflops, formula, "", assumes)


_RULES: Mapping[str, Callable[[_Case], _Made]] = {
    "textbook": _textbook,
    "dram": _dram,
    "l2": _l2,
    "l1": _l1,
    "shared": _shared,
    "data_stage": _data_stage,
    "issue": _issue,
    "fp32": _fp32,
}

# -- words ----------------------------------------------------------------------------------------


def _why(counts: Counts, device: Device, found: Mapping[str, Ceiling], binding: str) -> str:
    low = found[binding]
    peak = low.gflops / device.peak_gflops
    text = f"{low.title}: binds at {_number(low.gflops)} GFLOPS, {peak:.2%} of the FP32 peak."
    textbook = found.get("textbook")
    if textbook is None or binding == "textbook" or textbook.gflops >= low.gflops:
        return text
    asked, needed = counts.written.loaded_bytes, counts.dram_bytes
    served = max(0.0, 1 - needed / asked)
    return (
        f"{text} The textbook ceiling, {_number(textbook.gflops)} GFLOPS, can be beaten: threads "
        f"ask for {_bytes(asked)}, DRAM has to move {_bytes(needed)}, and caches can serve "
        f"{_share(served)} of what is asked for."
    )


def _share(part: float) -> str:
    """99.97 %: as many nines as it takes, never rounded up to all."""
    percent = 100 * part
    for digits in range(6):
        if round(percent, digits) < 100:
            return f"{percent:.{digits}f} %"
    return "all"


def _bytes(value: int) -> str:
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= size:
            return f"{value / size:.4g} {unit}"
    return f"{value} B"


def _number(value: float) -> str:
    """At most five significant digits below 100,000, with commas: 7,489.6."""
    if value >= 1e5:
        return f"{value:,.0f}"
    rounded = float(f"{value:.5g}")
    return f"{rounded:,.5f}".rstrip("0").rstrip(".") if rounded >= 1e-4 else f"{value:.3g}"
