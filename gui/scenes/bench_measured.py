"""Results on the benchmark page: where they come from, and how they are called. No Qt here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gui.scenes.text import grouped

if TYPE_CHECKING:
    from core.gpu.result import BenchmarkResult
    from core.gpu.updates import Failure

HERE, RECORDED = "measured here", "recorded"
FAMILIES: Mapping[str, str] = {
    "float32": "float32 products",
    "tf32": "TF32 products",
    "float16": "F16 products",
    "other": "other kernels",
    "all": "all kernels",
}

CeilingKey = tuple[str, tuple[tuple[str, int], ...], str]


@dataclass(frozen=True)
class Measured:
    """A result and where it comes from: HERE, RECORDED, or a file's name."""

    result: BenchmarkResult
    origin: str = HERE
    failure: Failure | None = None

    @property
    def machine(self) -> str:
        """Results with an equal text stand in one plot."""
        return f"{self.result.device.name}, {self.when}"

    @property
    def when(self) -> str:
        """How it came here, in words."""
        day = self.result.date[:10]
        if self.origin == HERE:
            return HERE
        return f"{RECORDED} {day}" if self.origin == RECORDED else f"{day}, from {self.origin}"

    @property
    def n(self) -> int | None:
        """Its size; None where it has none."""
        return self.result.parameters.get("n")

    @property
    def tile(self) -> int | None:
        """The width of its tile or square block; None where it has neither."""
        values = self.result.parameters
        if "tile" in values:
            return values["tile"]
        x, y = values.get("block_x"), values.get("block_y")
        return x if x is not None and x == y else None

    @property
    def ceiling_key(self) -> CeilingKey | None:
        """Names the launch and the device; None for what is no rung, or edited."""
        rung = self.result.rung
        if rung is None or self.result.gflops is None:
            return None
        return rung, tuple(sorted(self.result.parameters.items())), self.result.device.name


def machines(measured: Iterable[Measured]) -> tuple[str, ...]:
    """The machines that results come from, those of this machine first."""
    found = dict.fromkeys(m.machine for m in sorted(measured, key=lambda m: m.origin != HERE))
    return tuple(found)


def family_of(measured: Measured, arithmetics: Mapping[str, str]) -> str:
    """Which results it is fair to stand beside: a key of FAMILIES.

    `arithmetics` says of the ladder's matrix products, by rung, what they compute with.
    """
    result = measured.result
    if result.rung is not None:
        return arithmetics.get(result.rung, "other")
    return "other" if result.flops is None else "float32"


def families(measured: Iterable[Measured], arithmetics: Mapping[str, str]) -> tuple[str, ...]:
    """The families there are, and all of them together where there are several."""
    there = {family_of(m, arithmetics) for m in measured}
    found = tuple(key for key in FAMILIES if key in there)
    return (*found, "all") if len(found) > 1 else found


def parameters_text(parameters: Mapping[str, int]) -> str:
    """Parameters in short: equal sizes as one, and what has x, y or m, n, k as a product."""
    left = dict(parameters)
    parts: list[str] = []
    sizes = [left.pop(name) for name in ("m", "n", "k") if name in left]
    if sizes:
        same = len(set(sizes)) == 1
        names = " × ".join(name for name in ("m", "n", "k") if name in parameters)
        shown = [sizes[0]] if same else sizes
        parts.append(f"{'n' if same else names} = {' × '.join(grouped(s) for s in shown)}")
    groups: dict[str, list[int]] = {}
    for name, value in left.items():
        stem, _, axis = name.rpartition("_")
        groups.setdefault(stem if axis in ("x", "y", "m", "n", "k") else name, []).append(value)
    parts += [
        f"{stem} {' × '.join(map(str, values))}" if len(values) > 1 else f"{stem} = {values[0]}"
        for stem, values in groups.items()
    ]
    return ", ".join(parts)


def machine_sentence(measured: Sequence[Measured]) -> str:
    """Machine, date, driver and versions of results of one machine."""
    if not measured:
        return ""
    result, when = measured[-1].result, measured[-1].when
    device = result.device
    flushed = "L2 flushed" if result.l2_flushed else "L2 not flushed"
    versions = [f"driver {device.driver} (CUDA {device.cuda_driver})"]
    nvrtc = next((m.result.nvrtc for m in measured if m.result.architecture != "cuBLAS"), None)
    versions += [f"NVRTC {nvrtc}"] if nvrtc else []
    versions += [f"{n} {v}" for n, v in result.software.items() if n == "pycuda"]
    return f"{device.name}, {when}: {', '.join(versions)}; {flushed} before each launch."
