"""What the ceilings page shows: a launch's ceilings, measured runs, sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from core.wording import number, prefixed
from gui.scenes.names_of_elements_and_threads import block_text
from gui.scenes.numbers_and_sentences import grouped, plural, thin_spaced

if TYPE_CHECKING:
    from core.devices.device_table import Device
    from core.explain.explanations import Explanation
    from core.gpu.benchmark_result import BenchmarkResult
    from core.models.ceiling_counts import Counts
    from core.models.ceilings import Ceilings


@dataclass(frozen=True)
class Row:
    """One ceiling as the list shows it. `state` is "binding", "textbook" or "above".

    `formula` has counts in four digits, `exact` all of them.
    """

    name: str
    title: str
    gflops: float
    of_peak: float
    state: str
    formula: str
    assumes: str
    counts: str
    exact: str = ""

    @property
    def rate(self) -> str:
        """The rate as text."""
        return f"{rate_text(self.gflops)} GFLOPS"

    @property
    def note(self) -> str:
        """What to say beside the title."""
        return "binds" if self.state == "binding" else ""

    @property
    def remark(self) -> str:
        """What stands below the formula of a ceiling that is chosen, binds, or can be beaten."""
        beaten = "Caches can beat it. " if self.state == "textbook" else ""
        counted = f" Counted {self.counts}." if self.counts else ""
        return f"{beaten}Assumes {self.assumes}.{counted}"


def rows(found: Ceilings) -> tuple[Row, ...]:
    """The ceilings, the lowest first."""
    peak = found.device.peak_gflops
    made = [
        Row(
            name=name,
            title=one.title,
            gflops=one.gflops,
            of_peak=one.gflops / peak,
            state="binding" if name == found.binding else "above" if one.binds else "textbook",
            formula=thin_spaced(one.brief),
            assumes=thin_spaced(one.assumes),
            counts=one.build.replace("_", " "),
            exact=thin_spaced(one.formula),
        )
        for name, one in found.ceilings.items()
    ]
    return tuple(sorted(made, key=lambda row: row.gflops))


def rate_text(gflops: float) -> str:
    """A rate with its digits in groups of three: 8 126, 234.05."""
    return thin_spaced(number(gflops))


@dataclass(frozen=True)
class Run:
    """A measured launch of a rung. `gflops` is the rate at the median."""

    rung: str
    title: str
    parameters: Mapping[str, int]
    block: str
    gflops: float
    device: str
    recorded: bool
    date: str
    fell: str = ""
    """What the SM clock did, where it fell while this was timed."""
    mhz: float | None = None
    """The clock of the SMs during the launches, where their own counters said it."""

    @property
    def key(self) -> tuple[str, tuple[tuple[str, int], ...]]:
        """Names the launch, whatever it was measured on."""
        return self.rung, tuple(sorted(self.parameters.items()))

    @property
    def where(self) -> str:
        """Where and when it was measured."""
        how = "recorded" if self.recorded else "measured"
        return f"{how} on {self.device}, {self.date}"

    @property
    def sentence(self) -> str:
        """What the point stands for."""
        fell = f"; the {thin_spaced(self.fell)}" if self.fell else ""
        return f"{self.name}: {rate_text(round(self.gflops))} GFLOPS, {self.where}{fell}."

    @property
    def name(self) -> str:
        """The kernel and its block: "Uncoalesced, block 8 × 8"."""
        return f"{self.title}, {self.block}"


@cache
def same_gpu(reported: str, device: Device) -> bool:
    """Whether a driver's name for a GPU is that of a row of the table."""
    from core.devices.device_table import load_devices
    from core.errors import TilescopeError

    if reported == device.name:
        return True
    try:
        return load_devices().find(reported).name == device.name
    except TilescopeError:
        return False


def runs_at(
    results: Iterable[BenchmarkResult], size: int | None, device: Device, *, recorded: bool
) -> tuple[Run, ...]:
    """The results of rungs with a rate on that device, at one size (None: at any)."""
    found = []
    for result in results:
        if result.rung is None or not result.gflops or not same_gpu(result.device.name, device):
            continue
        sizes = {v for k, v in result.parameters.items() if k in ("m", "n", "k")}
        if size is not None and sizes != {size}:
            continue
        found.append(
            Run(
                result.rung,
                result.title,
                dict(result.parameters),
                block_text(result.block),
                result.gflops,
                result.device.name,
                recorded,
                result.date[:10],
                result.clock_text,
                result.readings.launch_mhz,
            )
        )
    return tuple(found)


def run_of(runs: Iterable[Run], rung: str, parameters: Mapping[str, int]) -> Run | None:
    """The best run of exactly this launch."""
    key = (rung, tuple(sorted(parameters.items())))
    fitting = [run for run in runs if run.key == key]
    return max(fitting, key=lambda run: run.gflops, default=None)


def headline(found: Ceilings) -> str:
    """Which ceiling binds."""
    from core.models.ceilings import share_of_peak  # it loads the emulator

    low, sides = found.lowest, found.counts.workload.launch.block
    block = block_text((sides.x, sides.y, sides.z))
    blocks, sms = found.counts.workload.launch.grid.count, found.device.sms
    small = f" A small launch: {plural(blocks, 'block')} for {sms} SMs." if blocks < sms else ""
    return thin_spaced(
        f"With {block}, {low.title} binds at {number(low.gflops)} GFLOPS, "
        f"{share_of_peak(low, found.device)}.{small}"
    )


def placing(placed: int, of: int) -> str:
    """How far the measured runs are placed on the plot."""
    return f"Measured runs are being placed: {placed} of {of}."


def measured(found: Ceilings, run: Run) -> str:
    """How a run stands to the binding ceiling and to the textbook's."""
    if run.fell:
        return f"{run.sentence} A rate at another clock is compared with no ceiling."
    share = run.gflops / found.at(run.mhz).lowest.gflops
    clock = "" if run.mhz is None else f" at the {run.mhz:,.0f} MHz that the SMs ran at"
    stands = f"{share:.1%} of the binding ceiling{clock}"
    if share > 1:
        stands = f"above the binding ceiling{clock}, {share:.1%}: the model is wrong"
    text = f"{run.sentence} That is {stands}. {found.against_textbook(run.gflops)}"
    return thin_spaced(text.rstrip())


def unmeasured(found: Ceilings, runs: Iterable[Run] = (), elsewhere: Iterable[Run] = ()) -> str:
    """What is said where the launch was not measured on the device.

    `runs` are others of its kernel at its size, `elsewhere` those at any size.
    """
    sizes = {name for run in elsewhere for name in run.parameters if name in ("m", "n", "k")}
    where = {frozenset(): "", frozenset({"n"}): " at this N"}.get(frozenset(sizes), " at this size")
    where = "" if runs else where  # what they say is of this size
    _, _, rest = found.why.partition("peak.")
    best = max(runs, key=lambda run: run.gflops, default=None)
    other = ""
    if best is not None:
        other = (
            f" Measured with another launch: {best.name}, {rate_text(round(best.gflops))} GFLOPS. "
            "Click its point to see its ceilings."
        )
    return f"Not measured on {found.device.name}{where}.{other}{thin_spaced(rest)}"


def simple(shown: Iterable[Row]) -> tuple[Row, ...]:
    """The ceilings to begin with: the one that binds, the textbook's, and the FP32 peak."""
    return tuple(row for row in shown if row.state != "above" or row.name == "fp32")


def explanation(found: Ceilings, title: str, said: str) -> Explanation:
    """The ceilings of a launch with their formulas; `said` is how the measured run stands."""
    from core.explain.explanations import Explanation, Section

    sections = [
        Section(
            f"{row.title} = {row.rate}{' (binds)' * (row.note != '')}", row.remark, (row.exact,)
        )
        for row in rows(found)
    ]
    first = Section("Measured", said)
    return Explanation(
        f"Ceilings of {title} on {found.device.name}", (first, *sections), headline(found)
    )


@dataclass(frozen=True)
class LegendKey:
    """A line of the roofline's legend: a sign, the theme's name of its colour, and words."""

    sign: str
    color: str
    words: str


def legend(*, measured: bool, chains: bool, fell: bool, few: bool) -> tuple[LegendKey, ...]:
    """What the points and lines of the roofline stand for.

    `measured`: the launch of the ceilings has a point; `chains`: points are joined; `fell`: the
    clock fell at one; `few`: other launches of a kernel are left out.
    """
    keys = [LegendKey("●", "store", "this launch, whose ceilings are drawn")] if measured else []
    keys.append(LegendKey("○", "load", "another launch, under ceilings of its own: click it"))
    if chains:
        keys.append(LegendKey("─", "load", "from kernel to kernel along the ladder"))
    if not few:
        keys.append(LegendKey("∘", "load", "the same kernel with another block"))
    if fell:
        keys.append(LegendKey("▽", "load", "the SM clock fell meanwhile"))
    return tuple(keys)


def transfers(counts: Counts) -> str:
    """FLOP over elements transferred: as written, and with each element once."""
    if not counts.transfers or not counts.least_transfers:
        return ""
    own, best = counts.flops / counts.transfers, counts.flops / counts.least_transfers
    return (
        f"FLOP for each element loaded: {_brief(counts.flops, 'FLOP')} / "
        f"{_brief(counts.transfers, 'elements')} = {rate_text(own)}; "
        f"if each were loaded only once: {rate_text(best)}."
    )


def exact_transfers(counts: Counts) -> str:
    """All digits of the same figures."""
    return f"{grouped(counts.flops)} FLOP, {grouped(counts.transfers)} elements loaded"


def _brief(value: float, unit: str) -> str:
    """A count in four digits: 137.4 GFLOP."""
    return thin_spaced(prefixed(value, unit))


def left_out(found: Ceilings) -> str:
    """Which ceilings are missing, and why."""
    from core.models.ceilings import NAMES

    return " ".join(f"{NAMES[name]}: {why}." for name, why in found.left_out.items())
