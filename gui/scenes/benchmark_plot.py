"""What the plot of a sweep shows: curves of one quantity over N or over the tile."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gui.scenes.benchmark_results import RECORDED, CeilingKey, Measured, neighbours, parameters_text
from gui.scenes.numbers_and_sentences import grouped, spaced

if TYPE_CHECKING:
    from core.gpu.benchmark_result import BenchmarkResult

QUANTITIES: Mapping[str, str] = {
    "gflops": "GFLOPS",
    "speedup": "Speed-up",
    "bandwidth": "Effective GB/s",
    "share": "% of ceiling",
}
OVER: Mapping[str, str] = {"size": "N", "tile": "Tile"}
RATIOS = frozenset({"speedup", "share"})
"""Of rates that were measured at the GPU's highest clock."""
_FAR_APART = 20.0
NEIGHBOURS = 2  # of the chosen kernel, in the simple plot


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

    @property
    def library(self) -> bool:
        """Whether it is cuBLAS, which the kernels are compared with."""
        return any(_is_library(p.measured.result) for p in self.points)

    def end_text(self, quantity: str) -> str:
        """Its name and its value at the largest x."""
        return f"{self.title}  {_amount(self.points[-1].y, quantity)}"


Ceilings = Mapping[CeilingKey, "tuple[str, float] | None"]


def far_apart(curves: Iterable[Curve]) -> bool:
    """Whether the values are so different that only logarithms show all of them."""
    values = [p.y for curve in curves for p in curve.points if p.y > 0]
    return bool(values) and max(values) / min(values) > _FAR_APART


def values_of(measured: Iterable[Measured], axis: str) -> tuple[int, ...]:
    """The sizes or tiles that were measured, rising."""
    found = {m.n if axis == "size" else m.tile for m in measured}
    return tuple(sorted(value for value in found if value is not None))


def series_of(measured: Iterable[Measured]) -> Mapping[str, str]:
    """The kernels that were measured, with their titles, in the order in which they came."""
    return {m.result.series: m.result.title for m in measured if m.result.samples_ms}


def simple_series(
    measured: Sequence[Measured], order: Sequence[str], chosen: str
) -> frozenset[str]:
    """The series to begin with: the chosen kernel's, its neighbours' and the library's.

    `order` is that of the ladder. What somebody measured or imported is there as well.
    """
    known = series_of(measured)
    ladder = [name for name in order if name in known]
    kept = {m.result.series for m in measured if m.origin != RECORDED or _is_library(m.result)}
    return frozenset(kept.union(neighbours(ladder, chosen, NEIGHBOURS)))


def simple_results(measured: Sequence[Measured], keys: frozenset[str]) -> tuple[Measured, ...]:
    """Of the series `keys` the fastest launch at each N; all that somebody measured or imported."""
    found = [m for m in measured if m.result.series in keys]
    best = _chosen(_latest(found), Request()).values()
    return tuple(m for m in found if m.origin != RECORDED or any(m is one for one in best))


def _is_library(result: BenchmarkResult) -> bool:
    return result.architecture == "cuBLAS"


def curves(measured: Sequence[Measured], request: Request, ceilings: Ceilings) -> tuple[Curve, ...]:
    """A curve for each kernel that has the quantity. Of equal launches the latest counts."""
    usable, titles = _latest(measured), series_of(measured)
    chosen = _chosen(usable, request)
    speedup = request.quantity == "speedup"
    base = _baseline(usable, titles, chosen, request) if speedup else {}
    points: dict[str, list[PlotPoint]] = {key: [] for key in titles}
    for (series, x), one in sorted(chosen.items(), key=lambda item: item[0][1]):
        values = _values(one, request.quantity, base.get((one.n, one.tile)), ceilings)
        if values is not None:
            text = _text(one, values, request.quantity)
            points[series].append(PlotPoint(x, *values, one, text))
    return tuple(Curve(key, titles[key], tuple(own)) for key, own in points.items() if own)


def _latest(measured: Iterable[Measured]) -> list[Measured]:
    found = {}
    for m in measured:
        if m.result.samples_ms and m.result.ok is not False:
            found[(m.result.series, tuple(sorted(m.result.parameters.items())))] = m
    return list(found.values())


def _chosen(usable: Sequence[Measured], request: Request) -> dict[tuple[str, int], Measured]:
    """The fastest launch of each kernel at each x, among those that `hold` allows."""
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
    usable: Sequence[Measured],
    titles: Mapping[str, str],
    chosen: Mapping[tuple[str, int], Measured],
    request: Request,
) -> Mapping[tuple[int | None, int | None], Measured]:
    """The baseline's result for a size and a tile: its own at that tile, else its best."""
    key = request.baseline if request.baseline in titles else next(iter(titles), None)
    own = [m for m in usable if m.result.series == key]
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
    if quantity in RATIOS and (result.clock_fell or (base is not None and base.result.clock_fell)):
        return None
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
    sizes, fell = parameters_text(m.result.parameters), spaced(m.result.clock_text)
    return f"{m.result.title}, {sizes}: {_amount(values[0], quantity)}" + (fell and f"; {fell}")


def _amount(value: float, quantity: str) -> str:
    if quantity == "speedup":
        return f"×{value:.2f}"
    if quantity == "share":
        return f"{value:.1f} % of the binding ceiling"
    unit = "GB/s" if quantity == "bandwidth" else QUANTITIES[quantity]
    return f"{grouped(round(value))} {unit}"


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
