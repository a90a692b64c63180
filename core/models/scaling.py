"""Counts of a launch at a large size, from the same kernel at three small ones.

What a block needs grows by the same amount with every step of N, as its loops go round so many
times more; rows lie whole lines apart at each of these sizes, so accesses fall alike. This is
checked: the three sizes' counts must lie on a line, block for block, in every figure. Where they do
not, or some sectors of an array are left alone, the launch is counted at its own size. The source
as written, which takes far longer to run, is counted at the smallest; at the next one too where it
asks for other bytes than the optimised build.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from core.cuda.compiler import BuildKind
from core.errors import ParameterError
from core.launch import Workload
from core.models.counts import SECTOR, Counts, measure
from core.models.work import SUMS, Work

if TYPE_CHECKING:
    from core.ladder.rung import Rung

Progress = Callable[[float], None]

_STEPS = (64, 128, 256)  # floats in a row: whole lines
_LEAST = 512  # smaller launches are counted as they are
_SIZES = ("m", "n", "k")


def measure_rung(
    rung: Rung,
    parameters: Mapping[str, int],
    *,
    source: str | None = None,
    build: BuildKind = "as_compiled",
    written: bool = True,
    steps: tuple[int, ...] = _STEPS,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Counts:
    """Counts a launch of a rung, or of an edited `source` of it, over arrays of zeros.

    `written` as in `measure`; `steps` as in `measure_at`.

    Raises as `core.counting.count` does, and ParameterError.
    """
    sizes = [p.name for p in rung.parameters if p.name in _SIZES]
    given = {rung.check(**parameters)[name] for name in sizes}

    def make(n: int | None) -> Workload:
        changed = {} if n is None else dict.fromkeys(sizes, n)
        workload = rung.blank_workload(**{**parameters, **changed})
        return workload if source is None else replace(workload, source=source)

    if len(given) != 1:
        return measure(
            make(None), build=build, written=written, progress=progress, cancelled=cancelled
        )
    return measure_at(
        make, given.pop(), build=build, written=written, steps=steps, progress=progress,
        cancelled=cancelled,
    )  # fmt: skip


def along(n: int, figure: Callable[[int], int]) -> int:
    """A whole figure of a launch of size `n` that grows by the same amount with every step of N."""
    step = _STEPS[1]
    if n < _LEAST or n % step:
        return figure(n)
    first, second = figure(step), figure(2 * step)
    return first + (second - first) * (n // step - 1)


def measure_at(
    make: Callable[[int], Workload],
    n: int,
    *,
    build: BuildKind = "as_compiled",
    written: bool = True,
    steps: tuple[int, ...] = _STEPS,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Counts:
    """Counts the launch that `make` gives for N = `n`, where all its sizes are N.

    It is counted at one, two and three times the first of `steps` that serves.

    Raises as `core.counting.count` does.
    """
    for step in steps:
        if n < _LEAST or n % step:
            continue
        try:
            small = [make(step * times) for times in (1, 2, 3)]
        except ParameterError:  # a tile that is wider
            continue
        target = make(n)
        if not _grows(small, target, n // step):
            continue
        found = _counted(small, target, (n, step), build, written, progress, cancelled)
        if found is not None:
            return found
    return measure(make(n), build=build, written=written, progress=progress, cancelled=cancelled)


def _counted(
    small: list[Workload],
    target: Workload,
    sizes: tuple[int, int],
    build: BuildKind,
    written: bool,
    progress: Progress | None,
    cancelled: Callable[[], bool] | None,
) -> Counts | None:
    """The counts of `target` from the small launches, if theirs lie on a line.

    `sizes` are N of the target and of the first small launch.
    """
    counts = []
    for place, workload in enumerate(small):
        told = None if progress is None else _part(progress, place)
        both = written and place == 0
        counts.append(
            measure(workload, build=build, written=both, progress=told, cancelled=cancelled)
        )
    as_written = [counts[0].written]
    if written and not _asks_alike(counts[0].written, counts[0].work):
        second = measure(small[1], build="as_written", written=False, cancelled=cancelled)
        as_written.append(second.work)
    return _extrapolated(target, counts, as_written, *sizes)


def _part(tell: Progress, place: int) -> Progress:
    return lambda fraction: tell((place + fraction) / 3)


def _asks_alike(one: Work, other: Work) -> bool:
    """Whether both builds ask for the same of global memory: then they do so at any size."""
    return (one.loaded_bytes, one.loads, one.stored_bytes, one.load_sectors) == (
        other.loaded_bytes, other.loads, other.stored_bytes, other.load_sectors,
    )  # fmt: skip


def _extrapolated(
    target: Workload, small: list[Counts], as_written: list[Work], n: int, step: int
) -> Counts | None:
    if not all(_touches_everything(counts) for counts in small):
        return None
    times = n // step
    work = _at([c.work for c in small], small, target, times)
    written = work if len(as_written) == 1 else _at(as_written, small[:2], target, times)
    if written is None or work is None:
        return None
    first = small[0]
    return replace(
        first,
        workload=target,
        written=written,
        work=work,
        read_sectors=_whole(target, first.read_sectors),
        written_sectors=_whole(target, first.written_sectors),
        uniform=all(counts.uniform for counts in small),
        note=f"Counted at N = {step}, {2 * step} and {3 * step}, where every figure of a block "
        f"lies on a line that is followed to N = {n:,}.",
    )


def _grows(small: list[Workload], target: Workload, times: int) -> bool:
    """Whether each side of the grid grows with N, or stays: blocks that N does not fill do not."""
    grids = [workload.launch.grid for workload in small]
    for side in ("x", "y", "z"):
        first, *others = (getattr(grid, side) for grid in (*grids, target.launch.grid))
        steps = (*range(2, len(small) + 1), times)
        grown = [first * step for step in steps]
        if others not in (grown, [first] * len(others)):
            return False
    return True


def _touches_everything(counts: Counts) -> bool:
    return all(
        found == _whole(counts.workload, found)
        for found in (counts.read_sectors, counts.written_sectors)
    )


def _whole(workload: Workload, names: Mapping[str, int]) -> Mapping[str, int]:
    sizes = {a.name: -(-a.data.nbytes // SECTOR) for a in workload.launch.arrays}
    return {name: sizes.get(name, -1) for name in names}


def _at(works: list[Work], small: list[Counts], target: Workload, times: int) -> Work | None:
    """The work at `times` steps, if a block's lies on a line; None if not."""
    grids = [counts.workload.launch.grid.count for counts in small]
    blocks = target.launch.grid.count

    def line(values: list[int]) -> int | None:
        if any(value % grid for value, grid in zip(values, grids, strict=True)):
            return None
        a, b, *rest = (value // grid for value, grid in zip(values, grids, strict=True))
        return (a + (b - a) * (times - 1)) * blocks if rest in ([], [2 * b - a]) else None

    sums = {name: line([getattr(work, name) for work in works]) for name in SUMS}
    tables = {}
    for name in ("tensor", "needs", "load_sectors", "store_sectors"):
        parts = [getattr(work, name) for work in works]
        if any(part.keys() != parts[0].keys() for part in parts):
            return None
        tables[name] = {key: line([part[key] for part in parts]) for key in parts[0]}
    every = [*sums.values(), *(value for table in tables.values() for value in table.values())]
    if any(value is None for value in every):
        return None
    return Work(**sums, **tables)  # type: ignore[arg-type]
