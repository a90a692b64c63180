"""What the plot of a sweep shows: curves of one quantity over N or over the tile. No Qt here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gui.scenes.text import grouped

if TYPE_CHECKING:
    from core.gpu.result import BenchmarkResult
    from core.gpu.updates import Failure

QUANTITIES: Mapping[str, str] = {
    "gflops": "GFLOPS",
    "speedup": "Speed-up",
    "bandwidth": "GB/s",
    "share": "% of ceiling",
}
OVER: Mapping[str, str] = {"size": "N", "tile": "Tile"}
HERE, RECORDED = "measured here", "recorded"

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


@dataclass(frozen=True)
class Request:
    """What to plot. `hold` fixes the other axis: a tile or a size, None for the best or largest.

    `baseline` is a series, None for the first one.
    """

    quantity: str = "gflops"
    over: str = "size"
    hold: int | None = None
    baseline: str | None = None


@dataclass(frozen=True)
class PlotPoint:
    """One result in a curve; `low` to `high` hold 90 % of its launches."""

    x: int
    y: float
    low: float
    high: float
    measured: Measured
    text: str


@dataclass(frozen=True)
class Curve:
    """One kernel's points by rising x."""

    key: str
    title: str
    points: tuple[PlotPoint, ...]


Ceilings = Mapping[CeilingKey, "tuple[str, float] | None"]


def machines(measured: Iterable[Measured]) -> tuple[str, ...]:
    """The machines that results come from, those of this machine first."""
    found = dict.fromkeys(m.machine for m in sorted(measured, key=lambda m: m.origin != HERE))
    return tuple(found)


def values_of(measured: Iterable[Measured], axis: str) -> tuple[int, ...]:
    """The sizes or tiles that were measured, rising."""
    found = {m.n if axis == "size" else m.tile for m in measured}
    return tuple(sorted(value for value in found if value is not None))


def series_of(measured: Iterable[Measured]) -> Mapping[str, str]:
    """The kernels that were measured, with their titles, in the order in which they came."""
    return {m.result.series: m.result.title for m in measured if m.result.samples_ms}


def curves(measured: Sequence[Measured], request: Request, ceilings: Ceilings) -> tuple[Curve, ...]:
    """A curve for each kernel that has the quantity. Of equal launches the latest counts."""
    chosen = _chosen(measured, request)
    base = _baseline(measured, chosen, request)
    found = []
    for key, title in series_of(measured).items():
        points = []
        for (series, x), one in sorted(chosen.items()):
            if series != key:
                continue
            values = _values(one, request.quantity, base.get((one.n, one.tile)), ceilings)
            if values is not None:
                points.append(PlotPoint(x, *values, one, _text(one, values, request.quantity)))
        if points:
            found.append(Curve(key, title, tuple(points)))
    return tuple(found)


def _latest(measured: Iterable[Measured]) -> list[Measured]:
    found = {}
    for m in measured:
        if m.result.samples_ms and m.result.ok is not False:
            found[(m.result.series, tuple(sorted(m.result.parameters.items())))] = m
    return list(found.values())


def _chosen(measured: Sequence[Measured], request: Request) -> dict[tuple[str, int], Measured]:
    """The fastest launch of each kernel at each x, among those that `hold` allows."""
    usable = _latest(measured)
    over_size = request.over == "size"
    hold = request.hold
    if not over_size and hold is None:
        hold = max((m.n for m in usable if m.tile is not None and m.n is not None), default=None)
    best: dict[tuple[str, int], Measured] = {}
    for m in usable:
        x, other = (m.n, m.tile) if over_size else (m.tile, m.n)
        if x is None or (hold is not None and other is not None and other != hold):
            continue
        key = (m.result.series, x)
        if key not in best or _rate(m) > _rate(best[key]):
            best[key] = m
    return best


def _rate(m: Measured) -> float:
    return m.result.gflops or (1.0 / m.result.median_ms if m.result.median_ms else 0.0)


def _baseline(
    measured: Sequence[Measured], chosen: Mapping[tuple[str, int], Measured], request: Request
) -> Mapping[tuple[int | None, int | None], Measured]:
    """The baseline's result for a size and a tile: its own at that tile, else its best."""
    titles = series_of(measured)
    key = request.baseline if request.baseline in titles else next(iter(titles), None)
    own = [m for m in _latest(measured) if m.result.series == key]
    found: dict[tuple[int | None, int | None], Measured] = {}
    for m in chosen.values():
        same = [o for o in own if o.n == m.n]
        tiled = [o for o in same if o.tile == m.tile] if request.over == "tile" else []
        held = [o for o in same if request.hold is not None and o.tile == request.hold]
        pool = tiled or held or same
        if pool:
            found[(m.n, m.tile)] = max(pool, key=_rate)
    return found


def _values(
    m: Measured, quantity: str, base: Measured | None, ceilings: Ceilings
) -> tuple[float, float, float] | None:
    """The quantity at the median, and at the slow and the fast end; None where it has none."""
    result = m.result
    if result.median_ms is None or not result.p5_ms or not result.p95_ms:
        return None
    ends = (result.median_ms, result.p95_ms, result.p5_ms)
    scale: float | None = None  # of 1 / ms
    if quantity == "gflops" and result.flops is not None:
        scale = result.flops / 1e6
    elif quantity == "bandwidth" and result.bytes_once is not None:
        scale = result.bytes_once / 1e6
    elif quantity == "speedup" and base is not None:
        scale = _work_ratio(m, base)
    elif quantity == "share" and result.flops is not None and m.ceiling_key is not None:
        ceiling = ceilings.get(m.ceiling_key)
        scale = None if ceiling is None else 100 * result.flops / 1e6 / ceiling[1]
    if scale is None:
        return None
    middle, low, high = (scale / ms for ms in ends)
    return middle, low, high


def _work_ratio(m: Measured, base: Measured) -> float | None:
    """Baseline's time for this result's work, in ms: of equal rates the speed-up is 1."""
    if base.result.median_ms is None:
        return None
    mine, theirs = m.result.flops, base.result.flops
    share = mine / theirs if mine and theirs else 1.0
    return base.result.median_ms * share


def _text(m: Measured, values: tuple[float, float, float], quantity: str) -> str:
    sizes = parameters_text(m.result.parameters)
    return f"{m.result.title}, {sizes}: {amount(values[0], quantity)}"


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


def amount(value: float, quantity: str) -> str:
    """A value with its unit."""
    if quantity == "speedup":
        return f"×{value:.2f}"
    if quantity == "share":
        return f"{value:.1f} % of the binding ceiling"
    return f"{grouped(round(value))} {QUANTITIES[quantity]}"


def plot_sentence(measured: Sequence[Measured], request: Request, drawn: Sequence[Curve]) -> str:
    """What the plot shows, in one sentence."""
    if not drawn:
        return _nothing(measured, request)
    what = {
        "gflops": "Rate at the median launch",
        "speedup": f"Speed-up against {_baseline_title(measured, request)}",
        "bandwidth": "Effective bandwidth, each array's bytes once",
        "share": "Share of the ceiling that binds",
    }[request.quantity]
    if request.over == "size":
        held = "each at its fastest tile" if request.hold is None else f"tile {request.hold}"
        return f"{what} over N, {held}; bars hold 90 % of the launches."
    n = drawn[0].points[0].measured.n
    return f"{what} over the tile at N = {grouped(n or 0)}; bars hold 90 % of the launches."


def _baseline_title(measured: Sequence[Measured], request: Request) -> str:
    titles = series_of(measured)
    return titles.get(request.baseline or "", next(iter(titles.values()), "nothing"))


def _nothing(measured: Sequence[Measured], request: Request) -> str:
    if not measured:
        return "Nothing has been measured yet."
    if request.quantity == "bandwidth":
        return "These results do not say how many bytes their arrays have: measure them anew."
    if request.quantity == "share":
        return "The ceilings of these launches are being counted."
    return "None of these results has this quantity here."


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
