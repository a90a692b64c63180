"""What the occupancy page shows: curves, what limits, how an SM is filled, examples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from core.devices.occupancy import LIMITS, Occupancy, Resources, curve, occupancy, warps_of
from core.explain.explanations import Explanation, Section, columns
from core.launch import WARP
from gui.scenes.numbers_and_sentences import grouped, plural, thin_spaced

if TYPE_CHECKING:
    from core.devices.device_table import Capability
    from core.gpu.benchmark_result import BenchmarkResult
    from core.ladder import Ladder
    from core.models.ceiling_counts import Counts

Axis = Literal["block_threads", "registers", "shared_bytes"]

TITLES: dict[Axis, str] = {
    "block_threads": "Threads a block",
    "registers": "Registers a thread",
    "shared_bytes": "Shared memory a block, KiB",
}
UNITS: dict[Axis, str] = {
    "block_threads": "threads",
    "registers": "registers",
    "shared_bytes": "KiB",
}
POINTS = 256  # of a curve of shared memory


@dataclass(frozen=True)
class Example:
    """A worked example of the text books: an SM by name, and what a block needs."""

    title: str
    sm: str
    resources: Resources


TEXTBOOK = "Textbook SM"
EXAMPLES: tuple[Example, ...] = (
    Example("Cliff, before: 10 registers a thread", TEXTBOOK, Resources(256, 10)),
    Example("Cliff, after: 12 registers a thread", TEXTBOOK, Resources(256, 12)),
    Example("Blocks of 128 threads against 8 slots", TEXTBOOK, Resources(128, 10)),
    Example("Blocks of 256 threads", TEXTBOOK, Resources(256)),
    Example("Blocks of 512 threads", TEXTBOOK, Resources(512)),
)


@dataclass(frozen=True)
class Curve:
    """Occupancy in per cent over one resource; `now` is the present value, on the same scale."""

    axis: Axis
    x: tuple[float, ...]
    y: tuple[float, ...]
    now: float
    now_y: float

    @property
    def now_text(self) -> str:
        """The present value and what it comes to: "256: 50 %", "32 B: 50 %", "2.5 KiB: 50 %"."""
        value, unit = self.now, ""
        if self.axis == "shared_bytes":
            small = value < 1
            value, unit = (value * 1024, " B") if small else (value, " KiB")
        return f"{thin_spaced(f'{value:.4g}')}{unit}: {round(self.now_y, 1):g}\u202f%"


def values(capability: Capability, axis: Axis) -> Sequence[int]:
    """The values that a curve is drawn over."""
    if axis == "block_threads":
        return range(WARP, capability.threads_per_block + 1, WARP)
    if axis == "registers":
        return range(capability.registers_per_thread + 1)
    most = capability.shared_opt_in_kib * 1024
    return range(0, most + 1, max(1, most // POINTS // 64) * 64)


def curve_of(capability: Capability, resources: Resources, axis: Axis) -> Curve:
    """The curve of one resource with the others as given."""
    over = values(capability, axis)
    found = curve(capability, resources, axis, over)
    scale = 1024 if axis == "shared_bytes" else 1
    return Curve(
        axis,
        tuple(value / scale for value in over),
        tuple(100 * one.occupancy for one in found),
        getattr(resources, axis) / scale,
        100 * occupancy(capability, resources).occupancy,
    )


def moved(capability: Capability, resources: Resources, axis: Axis, place: float) -> Resources:
    """The resources with one of them dragged to a place of its curve."""
    over = values(capability, axis)
    value = round(place * (1024 if axis == "shared_bytes" else 1))
    if axis != "registers":
        value = round(value / over.step) * over.step if isinstance(over, range) else value
    return replace(resources, **{axis: min(max(value, over[0]), over[-1])})


@dataclass(frozen=True)
class Bar:
    """A resource of an SM: what it has, what each block takes of it, and how many blocks it holds.

    `allowed` is how many blocks it would hold by itself, None for any number.
    """

    title: str
    total: int
    each: int
    blocks: int
    allowed: int | None
    limits: bool
    text: str


def bars(found: Occupancy) -> tuple[Bar, ...]:
    """How the blocks that an SM holds fill it."""
    sm, needs = found.capability, found.resources
    warps = warps_of(needs.block_threads)
    rows = (
        ("Warp slots", "warps", sm.warps, warps),
        ("Block slots", "blocks", sm.blocks, 1),
        ("Registers", "registers", sm.registers, found.registers_per_block),
        ("Shared memory, bytes", "shared", found.shared_per_sm, found.shared_per_block),
    )
    n = found.blocks
    return tuple(
        Bar(
            title,
            total,
            each,
            n,
            found.limits[name],
            name in found.limited_by,
            f"{n} × {grouped(each)} = {grouped(n * each)} of {grouped(total)}",
        )
        for title, name, total, each in rows
    )


def explanation(found: Occupancy, name: str, step: str, example: str | None) -> Explanation:
    """What limits the occupancy, and why occupancy matters.

    `step` is `cliff`'s sentence, empty to leave it out; `example` is `counter_example`'s, None to
    leave out why it matters.
    """
    sm, needs = found.capability, found.resources
    resources = bars(found)
    rows = [("resource", "an SM has", "a block takes", "blocks", "")]
    for bar in resources:
        blocks = "any" if bar.allowed is None else grouped(bar.allowed)
        rows.append(
            (bar.title, grouped(bar.total), grouped(bar.each), blocks, "limits" * bar.limits)
        )
    counts = ", ".join(grouped(bar.allowed) for bar in resources if bar.allowed is not None)
    sections = [
        Section(
            "What limits",
            "An SM takes a block only when it has all that the block needs; a resource allows as "
            "many blocks as fit into what the SM has of it.",
            tuple(columns(rows)),
        ),
        Section(
            f"Blocks = {found.blocks}",
            "The least of what the resources allow.",
            (f"min({counts}) = {found.blocks}",),
        ),
        Section(
            f"Occupancy = {_percent(found.occupancy)}",
            "Warps that an SM holds over the most that it can hold.",
            (
                f"{found.blocks} blocks × {warps_of(needs.block_threads)} warps / {sm.warps} warps "
                f"= {found.warps} / {sm.warps}",
            ),
        ),
        Section("Next step down", step.partition(": ")[2].capitalize()),
        Section("Why it matters", WHY_IT_MATTERS if example is not None else ""),
        Section("And when it does not", example or ""),
    ]
    answer = thin_spaced(found.why)
    shown = tuple(s for s in sections if s.text)
    return Explanation(f"Occupancy on {name}", shown, answer)


WHY_IT_MATTERS = (
    "A warp that waits for memory issues nothing, for hundreds of clocks after a load from DRAM. "
    "The schedulers of the SM then issue for other warps that it holds, at no cost: the more there "
    "are, the more likely one is ready. That hides latency. Occupancy counts the warps held: it is "
    "a means to speed, not speed itself."
)


def counter_example(results: Iterable[BenchmarkResult], ladder: Ladder) -> str:
    """The fastest float32 product that was measured, beside the one that holds the most warps.

    At the largest N where they differ; empty where there is none.
    """
    at: dict[tuple[str, int], list[tuple[Occupancy, BenchmarkResult]]] = {}
    for result in results:
        n = result.parameters.get("n")
        product = result.rung in ladder.names and ladder[result.rung].arithmetic == "float32"
        if product and n is not None and result.gflops and not result.clock_fell:
            at.setdefault((result.device.name, n), []).append((held_by(result), result))
    for (device, n), found in sorted(at.items(), key=lambda item: -item[0][1]):
        best = max(found, key=lambda one: one[1].gflops or 0.0)
        full = max(found, key=lambda one: (one[0].warps, one[1].gflops or 0.0))
        if full[0].warps > best[0].warps:
            return _told(device, n, best, full)
    return ""


def held_by(result: BenchmarkResult) -> Occupancy:
    """The occupancy of a launch that was measured, on the GPU that it ran on."""
    from core.devices.device_table import capability_of

    x, y, z = result.block
    shared = result.static_shared_bytes + result.dynamic_shared_bytes
    needs = Resources(x * y * z, result.registers, shared)
    return occupancy(capability_of(result.device.compute_capability), needs)


def _told(device: str, n: int, *both: tuple[Occupancy, BenchmarkResult]) -> str:
    best, full = (h.registers_per_block // h.resources.block_threads for h, _ in both)
    told = "; ".join(
        f"{result.title} holds {held.warps} of {held.capability.warps} warps "
        f"({_percent(held.occupancy)}) and reaches {grouped(round(result.gflops or 0))} GFLOPS"
        for held, result in both
    )
    return (
        f"Measured on {device} at N = {grouped(n)}: {told}. A thread of the first is given "
        f"{best} registers, of the second {full}: room for many multiplications "
        "that do not wait for one another, so that few warps keep an SM busy. "
        "More occupancy helps where warps wait, and nowhere else."
    )


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", "\u202f%")


def limit_text(found: Occupancy) -> str:
    """What each resource allows, in one sentence."""
    parts = [
        f"{LIMITS[name]} {'any number' if limit is None else grouped(limit)}"
        for name, limit in found.limits.items()
        if name != "barriers" or name in found.limited_by  # else a word that nobody needs
    ]
    return f"Blocks that each resource allows: {', '.join(parts)}."


def given_text(found: Occupancy) -> str:
    """Why a block is given more than it asks for; empty where it is not."""
    sm, needs = found.capability, found.resources
    parts = []
    if found.registers_per_block > needs.registers * needs.block_threads:
        parts.append(
            f"registers in units of {grouped(sm.register_unit)} for each "
            f"{'block' if sm.allocation == 'block' else 'warp'}"
        )
    if found.shared_per_block > needs.shared_bytes:
        own = f", {grouped(sm.shared_reserved)} of them for the system" * bool(sm.shared_reserved)
        parts.append(f"shared memory in units of {grouped(sm.shared_unit)} bytes{own}")
    return f"A block is given {', and '.join(parts)}." if parts else ""


def cliff(found: Occupancy) -> str:
    """Where the next step down lies: how little more of a resource costs how many warps."""
    sm, needs = found.capability, found.resources
    if not found.blocks:
        return ""
    for registers in range(needs.registers + 1, sm.registers_per_thread + 1):
        more = occupancy(sm, replace(needs, registers=registers))
        if more.blocks < found.blocks:
            lost = 1 - more.warps / found.warps
            return (
                f"Next step down: {plural(registers, 'register')} a thread leave "
                f"{plural(more.blocks, 'block')}, {grouped(more.threads)} threads, "
                f"{lost:.0%} fewer warps.".replace("%", "\u202f%")
            )
    return ""


@dataclass(frozen=True)
class FirstOrder:
    """First-order counts of a launch: a figure and what it is."""

    figure: str
    text: str


def first_order(counts: Counts, phases: int) -> tuple[FirstOrder, ...]:
    """Threads and blocks of a launch counted as written, and what a block loads and computes.

    `phases` is how many a block has (`core.trace.phases`). Where they do not share loads and
    arithmetic evenly, the figures are of the whole block.
    """
    launch = counts.workload.launch
    blocks = launch.grid.count
    loads, flops = counts.transfers / blocks, counts.work.flops / blocks
    even = phases > 1 and loads % phases == 0 and flops % phases == 0
    found = [
        FirstOrder(grouped(launch.block.count), "threads a block"),
        FirstOrder(grouped(blocks), f"blocks ({thin_spaced(f'{launch.grid}')}) in the grid"),
    ]
    per = "a block"
    if even:
        loads, flops, per = loads / phases, flops / phases, "a block in each phase"
        found.append(FirstOrder(grouped(phases), "phases of a block"))
    found.append(FirstOrder(_rounded(loads), f"elements loaded from global memory by {per}"))
    found.append(FirstOrder(_rounded(flops), f"multiplications and additions of {per}, on floats"))
    if loads:
        found.append(FirstOrder(f"{flops / loads:.4g}", "operations for each element loaded"))
    return tuple(found)


def _rounded(value: float) -> str:
    return (
        grouped(round(value)) if abs(value - round(value)) < 0.05 else thin_spaced(f"{value:,.1f}")
    )


def sentence(found: Occupancy, name: str) -> str:
    """How many blocks an SM holds, and what limits it."""
    return thin_spaced(f"{name}: {found.why[:1].lower()}{found.why[1:]}")


def sm_name(capability: Capability, device: str | None) -> str:
    """An SM's name for a caption."""
    if device is None:
        return capability.name if not capability.major else f"compute capability {capability.name}"
    return f"{device} (compute capability {capability.name})"
