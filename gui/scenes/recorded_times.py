"""What the results that come with the program say of two launches, and which is faster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gui.scenes.numbers_and_sentences import factor, grouped

if TYPE_CHECKING:
    from core.gpu.benchmark_result import BenchmarkResult
    from gui.scenes.session import Session


SIZES = ("m", "k", "n")  # as the matrices have them: A is m × k, B is k × n
TELLING = ("pad", "offset", "stride")  # what a rung with such a parameter is about
AS_FAST = 0.05  # of a rate: what differs by less is as fast


def times_text(
    first: Session, second: Session, results: tuple[BenchmarkResult, ...] | None = None
) -> str:
    """What recorded results say of the rungs of two sessions; empty where one of them has none.

    It is of the largest size at which both were measured, with the parameters that are shown. Where
    one of two rungs was not measured with its block or tile, its fastest is taken, and said to be.
    """
    from core.gpu.result_files import load_recorded  # loads much: no window needs it to begin

    one, two = _shown(first), _shown(second)
    if one is None or two is None:
        return ""
    known = load_recorded() if results is None else results
    of_one, of_two = _measured(one[0], known), _measured(two[0], known)
    common = of_one.keys() & of_two.keys()
    if not common:
        return ""
    device, size = max(common, key=lambda key: (key[1], key[0]))
    pair = []
    for rows, (_, values) in ((of_one[device, size], one), (of_two[device, size], two)):
        exact = [r for r in rows if _but_size(r.parameters) == _but_size(values)]
        near = [r for r in rows if all(r.parameters.get(x) == values.get(x) for x in TELLING)]
        if not exact and (one[0] == two[0] or not near):
            return ""
        result = max(exact or near, key=_rate)
        pair.append((result, "" if exact else f" (its fastest block, {_block(result)})"))
    (a, note_a), (b, note_b) = pair
    if a is b or (a.gflops is None) != (b.gflops is None):
        return ""
    at = f"N = {size[0]}" if len(size) == 1 else " × ".join(map(str, size))
    unit = "GB/s" if a.gflops is None else "GFLOPS"
    rates = [grouped(round(_rate(result))) for result in (a, b)]
    return (
        f"Recorded on an {device} at {at}: {rates[0]} {unit}{note_a} and {rates[1]}{note_b}, "
        f"{_speed(_rate(b) / _rate(a))}."
    )


def _speed(times: float) -> str:
    if abs(times - 1) < AS_FAST:
        return "as fast"
    return f"{factor(times)} times as fast" if times > 1 else f"{factor(1 / times)} times slower"


def _shown(session: Session) -> tuple[str, Mapping[str, int]] | None:
    """The rung that a session shows, with its parameters; None for an edited or another source."""
    origin, trace = session.origin, session.trace
    if origin is None or trace is None or origin.configuration.own is not None:
        return None
    if trace.workload.source != origin.original:
        return None
    return origin.configuration.rung, trace.workload.parameters


def _measured(
    rung: str, results: tuple[BenchmarkResult, ...]
) -> dict[tuple[str, tuple[int, ...]], list[BenchmarkResult]]:
    """The results of a rung that are right, at full clock, by device and size."""
    found: dict[tuple[str, tuple[int, ...]], list[BenchmarkResult]] = {}
    for result in results:
        fair = result.ok is not False and not result.clock_fell
        if result.rung == rung and fair and _rate(result):
            sizes = (result.parameters[name] for name in SIZES if name in result.parameters)
            key = result.device.name, tuple(dict.fromkeys(sizes))  # a square is one number
            found.setdefault(key, []).append(result)
    return found


def _but_size(parameters: Mapping[str, int]) -> dict[str, int]:
    return {name: value for name, value in parameters.items() if name not in SIZES}


def _rate(result: BenchmarkResult) -> float:
    return result.gflops or result.effective_gbs or 0.0


def _block(result: BenchmarkResult) -> str:
    x, y, z = result.block
    return f"{x} × {y}" + (f" × {z}" if z > 1 else "")
