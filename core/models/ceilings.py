"""Ceilings: how fast a kernel can run on a device at most, each from exact counts and one figure.

Every ceiling is work / (units of something it needs) x (units a second that the device has). The
counts come from the emulation (`core.models.counts`), the device's figures from its row in the
table; the rules stand in `core.models.ceiling_rules`. Each rule's rate and its source stand in
`docs/ceilings.md`; how well it holds, there too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from core.errors import TilescopeError
from core.models.ceiling_rules import NAMES, RULES, Case, Ceiling
from core.models.counts import Counts
from core.models.devices import Device
from core.models.machine_code import machine_needs
from core.models.numbers import nbytes, number, share

__all__ = ["NAMES", "Ceiling", "Ceilings", "ceilings"]


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
            f"{counts.workload.kernel} does no floating-point work, so it has no GFLOPS: "
            "look at its traffic with `tilescope trace`."
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


def _why(counts: Counts, device: Device, found: Mapping[str, Ceiling], binding: str) -> str:
    low = found[binding]
    peak = low.gflops / device.peak_gflops
    text = f"{low.title}: binds at {number(low.gflops)} GFLOPS, {peak:.2%} of the FP32 peak."
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
