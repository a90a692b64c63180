"""Ceilings: how fast a kernel can run on a device at most, each from exact counts and one figure.

Every ceiling is work / (units of something it needs) x (units a second that the device has). The
counts come from the emulation (`core.models.ceiling_counts`), the device's figures from its row in
the table; `docs/ceilings.md` has each rule's rate with its source, and says how well the rule
holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from core.devices.device_table import Device, capability_of
from core.errors import TilescopeError
from core.models.ceiling_counts import Counts
from core.models.machine_code_bounds import MachineNeeds, machine_needs
from core.rules.global_memory import SECTOR
from core.wording import nbytes, number, prefixed, share

# The rules behind the ceilings: one function each, from counts and a device's figures.


_ALL = 0.9995  # a share of the SMs' time that is 1.000 in three digits
_SM_PORT, _WIDE_SM_PORT = 64, 128  # bytes a clock from L2 to an SM's L1: since 7.0, since 9.0
_FIRST_WIDE = 9  # Nsight Compute says 128 of an H200, and more than 64 were measured
_FIRST_UNIFIED = 7  # major revision since which L1 and shared memory are one, with one data stage
_FIRST_CACHED = 2  # major revision since which loads from global memory are cached

NAMES: Mapping[str, str] = {
    "textbook": "Textbook: loads from DRAM",
    "dram": "DRAM: each sector once",
    "l2": "L2 to the SMs",
    "l1": "L1: distinct lines",
    "shared": "Shared memory: wavefronts",
    "data_stage": "L1 and shared memory together",
    "issue": "Issue slots",
    "registers": "Registers: two banks",
    "tensor": "Tensor cores",
    "fp32": "FP32 peak",
}

# Rates of tensor cores by the type of the factors, over that for halves with float sums; `wgmma`
# reaches all that they do, and 8-bit factors twice that (NVIDIA H100 whitepaper), as those of
# `mma.sync` do on compute capability 8.9 (NVIDIA Ada whitepaper); on 9.0 the assembler makes halves
# of 8-bit floats there.
_TENSOR_RATES: Mapping[str, float] = {"f16": 1, "bf16": 1, "tf32": 0.5}
_GROUP_RATES: Mapping[str, float] = {
    **{f"wgmma {kind}": rate for kind, rate in _TENSOR_RATES.items()},
    **{f"wgmma {kind}": 2 for kind in ("e4m3", "e5m2", "s8", "u8")},
}
_SMALL_FLOATS = ("e4m3", "e5m2")
_GROUPS_ON = 9  # the major revision that has it


@dataclass(frozen=True)
class Ceiling:
    """A rate that the kernel cannot exceed, in GFLOPS, if what it `assumes` holds.

    `formula` is the calculation with its numbers, `brief` the same with four digits of each count,
    and without factors that are 1.000. `build` says whose counts they are ("" where no
    count enters). `binds`: whether it can be the one that binds; the textbook ceiling cannot where
    the device has caches. `intensity` is the work over the bytes that it is made of, in FLOP/B, and
    `bandwidth_gbs` their rate: its place on a roofline; None where it is a rate of its own.
    """

    name: str
    title: str
    gflops: float
    formula: str
    build: str
    assumes: str
    binds: bool = True
    intensity: float | None = None
    bandwidth_gbs: float | None = None
    brief: str = ""


Made = Ceiling | str  # A ceiling, or why there is none ("" where nothing needs to be said)


@dataclass(frozen=True)
class Case:
    """A counted launch on a device, and what its machine code needs there, if that is known."""

    counts: Counts
    device: Device
    machine: MachineNeeds | None = None

    @property
    def flops(self) -> int:
        """Floating-point operations of the launch."""
        return self.counts.flops

    @property
    def major(self) -> int:
        """The device's major revision."""
        return self.device.major

    def balance(self, equal: bool) -> tuple[float, str, str]:
        """The share of the SMs' time that `equal` blocks can fill, how, and what that assumes.

        Some SM gets at least ceil(blocks / SMs) of them, and takes that long.
        """
        blocks, sms = self.counts.workload.launch.grid.count, self.device.sms
        most = -(-blocks // sms)
        if not equal or blocks == sms * most:
            return 1.0, "", ""
        alike = (
            f"; blocks are alike, and {blocks:,} of them over {sms} SMs leave one SM with "
            f"{most:,} at least"
        )
        return blocks / (sms * most), f" x {blocks:,} / {sms * most:,} blocks", alike

    def clocks(self, mhz: float) -> str:
        """SMs times a clock, as text."""
        return f"{self.device.sms} SMs x {number(mhz / 1e3)} GHz"

    def per_sm(
        self, name: str, units: int, unit: str, rate: int, assumes: str, *, equal: bool
    ) -> Ceiling:
        """A ceiling of `rate` units a clock in each SM; `equal`: each block needs as many."""
        filled, blocks, alike = self.balance(equal)
        gflops = self.device.sms * self.device.boost_mhz / 1e3 * rate * self.flops / units * filled
        rates = f" x {rate}" if rate != 1 else ""
        start = f"{self.clocks(self.device.boost_mhz)}{rates} x "
        end = f" = {number(gflops)} GFLOPS"
        formula = f"{start}{self.flops:,} FLOP / {units:,} {unit}{blocks}{end}"
        work = f"{prefixed(self.flops, 'FLOP')} / {prefixed(units, unit)}"
        brief = f"{start}{work}{blocks if filled < _ALL else ''}{end}"
        return Ceiling(
            name, NAMES[name], gflops, formula, self.counts.build, assumes + alike, brief=brief
        )

    def per_byte(
        self, name: str, loaded: int, bandwidth: float, build: str, assumes: str, binds: bool = True
    ) -> Ceiling:
        """A ceiling of so many GB/s."""
        intensity = self.flops / loaded
        gflops = intensity * bandwidth
        end = f" = {number(intensity)} FLOP/B; x {number(bandwidth)} GB/s = {number(gflops)} GFLOPS"
        formula = f"{self.flops:,} FLOP / {loaded:,} B{end}"
        brief = f"{prefixed(self.flops, 'FLOP')} / {nbytes(loaded)}{end}"
        return Ceiling(
            name, NAMES[name], gflops, formula, build, assumes, binds, intensity, bandwidth, brief
        )


def _textbook(case: Case) -> Made:
    loaded = case.counts.written.loaded_bytes
    if not loaded:
        return "it loads nothing from global memory"
    cached = case.major >= _FIRST_CACHED
    assumes = "no caches: every load of the source goes to DRAM; stores are left out"
    return case.per_byte(
        "textbook", loaded, case.device.bandwidth_gbs, "as_written", assumes, not cached
    )


def _dram(case: Case) -> Made:
    loaded = case.counts.dram_bytes
    if not loaded:
        return "it does not touch global memory"
    assumes = (
        f"caches that are cold at first and lose nothing: each {SECTOR}-byte sector that is "
        "touched is read once, or written once"
    )
    return case.per_byte("dram", loaded, case.device.bandwidth_gbs, case.counts.build, assumes)


def _l2(case: Case) -> Made:
    if case.major < _FIRST_UNIFIED:
        return "the width of the way from L2 to the SMs is not in the table before 7.0"
    loaded = case.counts.work.l2_sectors * SECTOR
    if not loaded:
        return "it does not touch global memory"
    port = _WIDE_SM_PORT if case.major >= _FIRST_WIDE else _SM_PORT
    bandwidth = port * case.device.sms * case.device.boost_mhz / 1e3
    assumes = (
        f"{port} B a clock for each SM; L1 keeps what a block loads and shares nothing between "
        "blocks; stores go through"
    )
    return case.per_byte("l2", loaded, bandwidth, case.counts.build, assumes)


def _l1(case: Case) -> Made:
    lines = case.counts.work.lines
    if case.major < _FIRST_UNIFIED:
        return "how fast L1 serves lines was measured on newer GPUs only"
    if not lines:
        return "it loads no lines through L1"
    assumes = "one distinct 128-byte line a clock per SM (as an H200's counters show)"
    return case.per_sm("l1", lines, "lines", 1, assumes, equal=case.counts.uniform)


def _shared(case: Case) -> Made:
    wavefronts = case.counts.work.wavefronts
    if not wavefronts:
        return ""
    if case.major < _FIRST_CACHED:
        return "shared memory of compute capability 1.x serves half warps, which is not counted"
    assumes = "32 banks x 4 bytes: one wavefront a clock per SM"
    return case.per_sm("shared", wavefronts, "wavefronts", 1, assumes, equal=case.counts.uniform)


def _data_stage(case: Case) -> Made:
    work = case.counts.work
    if case.major < _FIRST_UNIFIED or not (work.lines and work.wavefronts):
        return ""
    assumes = "one memory serves both, with one data stage: a line or a wavefront a clock per SM"
    units = work.lines + work.wavefronts
    return case.per_sm(
        "data_stage", units, "lines and wavefronts", 1, assumes, equal=case.counts.uniform
    )


def _issue(case: Case) -> Made:
    if case.major < _FIRST_UNIFIED:
        return "an SM's warp instructions a clock are not in the table before 7.0"
    rate = capability_of(case.device.compute_capability).partitions
    certain = case.counts.work.instructions
    assumes = (
        f"{rate} warp instructions a clock per SM; float arithmetic, memory accesses and barriers "
        "count, which the assembler cannot do without; addresses and loops come on top"
    )
    units = certain
    if case.machine is not None and case.machine.instructions > certain:
        units = case.machine.instructions
        assumes = (
            f"{rate} warp instructions a clock per SM; the fewest that NVRTC "
            f"{case.machine.compiler}'s machine code needs for the work, addresses and loops too"
        )
    return case.per_sm("issue", units, "warp instructions", rate, assumes, equal=case.counts.alike)


def _registers(case: Case) -> Made:
    machine = case.machine
    if machine is None or machine.clocks is None:
        return "" if case.counts.work.tensor else "register banks were measured on 9.0 only"
    if machine.clocks <= machine.instructions:
        return ""
    rate = capability_of(case.device.compute_capability).partitions
    assumes = (
        f"{rate} partitions, each with an even and an odd bank of registers that give one a clock; "
        "a multiply-add's factors are read within three clocks (measured on an H200)"
    )
    return case.per_sm(
        "registers", machine.clocks, "clocks of a partition", rate, assumes, equal=case.counts.alike
    )


def _tensor(case: Case) -> Made:
    done = case.counts.work.tensor
    if not done:
        return ""
    by_groups = all(name in _GROUP_RATES for name in done)
    small = dict.fromkeys(_SMALL_FLOATS, 1 if case.major == _GROUPS_ON else 2)
    rates = _GROUP_RATES if by_groups else {**_TENSOR_RATES, **small}
    rate = case.device.tensor_per_clock if by_groups else case.device.mma_sync_per_clock
    mhz = case.device.group_mhz if by_groups else case.device.boost_mhz
    if not rate:
        return f"{case.device.name} has no tensor cores in the table"
    if odd := [name for name in done if name not in rates]:
        return f"how fast tensor cores multiply {odd[0]} is not in the table"
    halves = sum(flops / rates[name] for name, flops in done.items())
    filled, blocks, alike = case.balance(case.counts.alike)
    gflops = case.device.sms * mhz / 1e3 * rate * case.flops / halves * filled
    scale = f" x {number(case.flops / halves)}" if round(halves) != case.flops else ""
    start = f"{case.clocks(mhz)} x {number(rate)} FLOP a clock{scale}"
    end = f" = {number(gflops)} GFLOPS"
    assumes = "tensor cores busy in every clock, with dense factors"
    if rate != case.device.tensor_per_clock:
        full = f"{case.device.tensor_per_clock:,}"
        assumes += f"; mma.sync reaches {number(rate)} of their {full} (measured on an H200)"
    if mhz < case.device.boost_mhz:
        assumes += (
            "; while they are busy, the clock is lower than the highest (measured on an H100)"
        )
    if scale:
        assumes += f"; {', '.join(done)} against halves with float sums, whose rate that is"
    return Ceiling(
        "tensor",
        NAMES["tensor"],
        gflops,
        start + blocks + end,
        case.counts.build,
        assumes + alike,
        brief=start + (blocks if filled < _ALL else "") + end,
    )


def _fp32(case: Case) -> Made:
    if case.counts.work.tensor:
        return "its products are done by tensor cores"
    device = case.device
    cores = f"2 x {device.cores_per_sm} cores x {case.clocks(device.boost_mhz)}"
    formula = f"{cores} = {number(device.peak_gflops)} GFLOPS"
    assumes = "every core does a multiply-add in every clock"
    return Ceiling("fp32", NAMES["fp32"], device.peak_gflops, formula, "", assumes, brief=formula)


RULES: Mapping[str, Callable[[Case], Made]] = {
    "textbook": _textbook,
    "dram": _dram,
    "l2": _l2,
    "l1": _l1,
    "shared": _shared,
    "data_stage": _data_stage,
    "issue": _issue,
    "registers": _registers,
    "tensor": _tensor,
    "fp32": _fp32,
}


@dataclass(frozen=True)
class Ceilings:
    """All ceilings of a launch on a device. `left_out` says which are missing, and why.

    `why` names the one that binds, and how the textbook ceiling can be beaten where it can.
    """

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

    def at(self, mhz: float | None) -> Ceilings:
        """The same at the clock that the SMs ran at during a launch (None: as they are)."""
        if mhz is None:
            return self
        return ceilings(self.counts, replace(self.device, boost_mhz=mhz))

    def against_textbook(self, gflops: float) -> str:
        """How a measured rate stands to the textbook ceiling: a sentence, "" where it has none."""
        textbook = self.ceilings.get("textbook")
        if textbook is None:
            return ""
        rate = f"{number(float(round(gflops) if gflops >= 100 else gflops))} GFLOPS"
        ceiling = f"the textbook ceiling of {number(textbook.gflops)} GFLOPS"
        if gflops <= textbook.gflops:
            return f"{rate} is {gflops / textbook.gflops:.1%} of {ceiling}."
        counts = self.counts
        return (
            f"{rate} is {gflops / textbook.gflops:.1f} times {ceiling}, because that lets every "
            f"load go to DRAM: threads ask for {nbytes(counts.written.loaded_bytes)}, but these "
            f"are the same {nbytes(_read(counts))} again and again, so caches can serve "
            f"{share(counts.served)} of the bytes asked for."
        )


def ceilings(counts: Counts, device: Device) -> Ceilings:
    """The ceilings of a counted launch on a device.

    Compiles the kernel for the device where that was not done before, which takes a second.
    Raises TilescopeError where the launch does no floating-point work.
    """
    if not counts.flops:
        raise TilescopeError(
            f"{counts.workload.kernel} does no floating-point work, so it has no GFLOPS and no "
            "ceilings: look at the counters of its memory traffic instead."
        )
    if any(name in _GROUP_RATES for name in counts.work.tensor) and device.major != _GROUPS_ON:
        raise TilescopeError(
            f"{counts.workload.kernel} uses wgmma, which compute capability 9.0 alone has: choose "
            "one of those devices, such as H200."
        )
    case = Case(counts, device, machine_needs(counts, device.compute_capability))
    found: dict[str, Ceiling] = {}
    left_out: dict[str, str] = {}
    for name, rule in RULES.items():
        made = rule(case)
        if isinstance(made, Ceiling):
            found[name] = made
        elif made:
            left_out[name] = made
    able = [c for c in found.values() if c.binds]
    binding = min(able, key=lambda c: c.gflops).name
    return Ceilings(counts, device, found, binding, _why(counts, device, found, binding), left_out)


def share_of_peak(ceiling: Ceiling, device: Device) -> str:
    """`8.08% of the FP32 peak`, or `14.3 times` it, as tensor cores have more."""
    share = ceiling.gflops / device.peak_gflops
    return f"{share:.2%} of the FP32 peak" if share <= 1 else f"{share:.1f} times the FP32 peak"


def _why(counts: Counts, device: Device, found: Mapping[str, Ceiling], binding: str) -> str:
    low = found[binding]
    text = f"{low.title}: binds at {number(low.gflops)} GFLOPS, {share_of_peak(low, device)}."
    textbook = found.get("textbook")
    if textbook is None or binding == "textbook" or textbook.gflops >= low.gflops:
        return text
    return (
        f"{text} The textbook ceiling, {number(textbook.gflops)} GFLOPS, can be beaten: threads "
        f"ask for {nbytes(counts.written.loaded_bytes)}, DRAM has to deliver "
        f"{nbytes(_read(counts))}, and caches can serve {share(counts.served)} of what is asked "
        "for."
    )


def _read(counts: Counts) -> int:
    return 32 * sum(counts.read_sectors.values())
