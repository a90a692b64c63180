"""What a launch was counted to need: the numbers that every ceiling is made of."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from itertools import pairwise
from math import comb, lcm
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from core.compiler.compile_ptx_and_cubin import BuildKind
from core.emulator.machine import Limits
from core.errors import ParameterError
from core.launch import Workload
from core.recording.count_launch import Counted, count
from core.rules.flops_and_traffic import SUMS, Asked, Work, WorkProbe
from core.rules.global_memory import SECTOR

if TYPE_CHECKING:
    from core.ladder.rung import Rung

Progress = Callable[[float], None]
# A block of a large launch may run long; its job can be cancelled (`core.cancelling`).
_LIMITS = Limits(instructions=1 << 31, seconds=None)


@dataclass(frozen=True)
class Counts:
    """What a launch needs: as written for the textbook ceiling, and in the build that runs.

    `read_sectors` and `written_sectors` are the 32-byte sectors of each array that are loaded and
    stored, each once. `alike` says that every block executes the same instructions, `uniform` that
    its accesses fall alike, too, as far as that is known without the data. `note` says why every
    block had to be run, where that was so. `counters` are those of `core.rules.counters`, by their
    names, of the build that runs.
    """

    workload: Workload
    written: Asked
    work: Work
    build: BuildKind
    read_sectors: Mapping[str, int]
    written_sectors: Mapping[str, int]
    uniform: bool
    alike: bool
    note: str
    counters: Mapping[str, int]

    @property
    def flops(self) -> int:
        """Floating-point operations: the kernel's formula, or what the emulation counted."""
        return self.workload.flops or self.work.flops

    @property
    def dram_bytes(self) -> int:
        """Bytes that DRAM must move at least: each touched sector read once and written once."""
        return SECTOR * (sum(self.read_sectors.values()) + sum(self.written_sectors.values()))

    @property
    def intensity(self) -> float | None:
        """FLOP for each byte that loads of the source ask for; None where there is neither."""
        asked = self.written.loaded_bytes
        return self.flops / asked if asked and self.flops else None

    @property
    def transfers(self) -> int:
        """Elements that threads load from global memory, as written."""
        return self.written.loads

    @property
    def least_transfers(self) -> int:
        """Elements of the arrays that are loaded from: each of them once."""
        sizes = {a.name: a.data.size for a in self.workload.launch.arrays}
        return sum(sizes.get(name, 0) for name in self.written.load_sectors)

    @property
    def served(self) -> float:
        """The share of the bytes asked for, 0 to 1, that DRAM need not deliver: caches can."""
        asked = self.written.loaded_bytes
        needed = SECTOR * sum(self.read_sectors.values())
        return max(0.0, 1 - needed / asked) if asked else 0.0


def measure(
    workload: Workload,
    *,
    build: BuildKind = "as_compiled",
    written: bool = True,
    progress: Progress | None = None,
) -> Counts:
    """Counts a launch in the build that runs and as written. Raises as `count` does.

    Without `written` the counts of the build that runs stand for both, which saves most of the
    time; this is right where the compiler drops no loads from global memory. In the optimised build
    neighbouring loads of shared memory count as the wide loads that the assembler makes of them
    (`core.assembler.wide_shared_loads`).
    """
    probes: dict[BuildKind, WorkProbe] = {}
    counted: dict[BuildKind, Counted] = {}
    kinds: tuple[BuildKind, ...] = tuple(dict.fromkeys((build, "as_written" if written else build)))
    for place, kind in enumerate(kinds):
        probe = probes[kind] = WorkProbe()
        told = _part_of(progress, place, len(kinds))
        counted[kind] = count(workload, kind=kind, limits=_LIMITS, probe=probe, progress=told)
    note = next((c.note for c in counted.values() if c.note), "")
    assembly = counted[build].assembly
    if assembly is not None and assembly.known and not assembly.exact:
        note = " ".join(filter(None, [note, *assembly.sentences]))
    own, found = probes[build], counted[build]
    return Counts(
        workload,
        Asked.of(probes["as_written"].total if written else own.total),
        own.total,
        build,
        _touched(workload, own.footprint.sectors("load"), own.total.load_sectors),
        _touched(workload, own.footprint.sectors("store"), own.total.store_sectors),
        len(found.kinds) == 1,
        found.alike,
        note,
        {name: int(one.value) for name, one in found.counters.totals.items()},
    )


def _touched(
    workload: Workload, known: Mapping[str, int], asked: Mapping[str, int]
) -> Mapping[str, int]:
    """Sectors by array; for an array too large to tell, all of it or what was asked for."""
    sizes = _sectors_of_arrays(workload)
    most = {name: min(asked, sizes.get(name, asked)) for name, asked in asked.items()}
    return {**most, **known}


def _sectors_of_arrays(workload: Workload) -> Mapping[str, int]:
    return {a.name: -(-a.data.nbytes // SECTOR) for a in workload.launch.arrays}


def _part_of(progress: Progress | None, place: int, parts: int) -> Progress | None:
    return None if progress is None else lambda fraction: progress((place + fraction) / parts)


# Counts of a launch at a large size, from the same kernel at a few small ones.
#
# What a block needs grows by the same amount with every step of N, as its loops go round so many
# times more; rows lie whole lines apart at each of these sizes, so accesses fall alike. This is
# checked: the three sizes' counts must lie on a line, block for block, in every figure. Where they
# do not, or some sectors of an array are left alone, the launch is counted at its own size.
#
# A size that is no multiple of a step has blocks at its edges that do less, but the same at every
# size so far beyond a multiple. Blocks of each sort number a product of lines in N, and each does a
# line's worth, so a figure of the launch is a cubic of N: four sizes give it, a fifth checks it.
#
# No small sizes show what a source does at another one, such as a guard that first holds beyond
# them. So only the ladder's own kernels are counted like this, each of which the tests compare with
# its counts at another size; a source that was edited is counted at its own. Of a rung as written,
# which takes far longer to run, the smallest size is enough where both builds ask global memory for
# the same, which the tests compare as well; where they do not, all are counted.


T = TypeVar("T")

_STEPS = (64, 128, 256)  # floats in a row: whole lines
_LEAST = 512  # smaller launches are counted as they are
_LEAST_EDGE = 1024  # the same, where N is no multiple: five sizes take longer than three
_SIZES = ("m", "n", "k")
_TABLES = ("tensor", "needs", "load_sectors", "store_sectors")  # of Work, beside its SUMS
_ASKED = ("loaded_bytes", "stored_bytes", "loads")  # sums of Asked


def measure_rung(
    rung: Rung,
    parameters: Mapping[str, int],
    *,
    source: str | None = None,
    build: BuildKind = "as_compiled",
    written: bool = True,
    steps: tuple[int, ...] = _STEPS,
    progress: Progress | None = None,
) -> Counts:
    """Counts a launch of a rung, or of an edited `source` of it, over arrays of zeros.

    `written` as in `measure`; `steps` as in `measure_at`. An edited source is counted as it is.

    Raises as `core.recording.count_launch.count` does, and ParameterError.
    """
    sizes = [p.name for p in rung.parameters if p.name in _SIZES]
    given = {rung.check(**parameters)[name] for name in sizes}

    def make(n: int | None) -> Workload:
        changed = {} if n is None else dict.fromkeys(sizes, n)
        workload = rung.blank_workload(**{**parameters, **changed})
        return workload if source is None else replace(workload, source=source)

    edited = source is not None and source != rung.source
    if len(given) != 1 or edited:
        return measure(make(None), build=build, written=written, progress=progress)
    return measure_at(
        make, given.pop(), build=build, written=written, steps=steps, progress=progress
    )


def along(n: int, figure: Callable[[int], int], *parts: int) -> int:
    """A whole figure of a launch of size `n` that grows by the same amount with every step of N.

    `parts` are what N is divided into, such as tiles: a step is a multiple of each.
    """
    step = lcm(_STEPS[1], *parts)
    times, edge = divmod(n, step)
    if n < _LEAST or times <= 2:
        return figure(n)
    first, second = figure(edge + step), figure(edge + 2 * step)
    return first + (second - first) * (times - 1)


def measure_at(
    make: Callable[[int], Workload],
    n: int,
    *,
    build: BuildKind = "as_compiled",
    written: bool = True,
    steps: tuple[int, ...] = _STEPS,
    progress: Progress | None = None,
) -> Counts:
    """Counts the launch that `make` gives for N = `n`, where all its sizes are N.

    It is counted at small sizes, the first of `steps` apart that serves: at its multiples, or as
    far beyond them as `n` is. This is for a kernel that does there what it does at `n`.

    Raises as `core.recording.count_launch.count` does.
    """
    for step in steps:
        edge = n % step
        sizes = [edge + step * times for times in (range(1, 6) if edge else range(1, 4))]
        if n < (_LEAST_EDGE if edge else _LEAST) or n <= sizes[-1]:
            continue
        try:
            small = [make(size) for size in sizes]
        except ParameterError:  # a tile that is wider
            continue
        target = make(n)
        if not _grows(small, target, n // step, even=not edge):
            continue
        counts = []
        for place, workload in enumerate(small):
            told, both = _part_of(progress, place, len(small)), written and place == 0
            counts.append(measure(workload, build=build, written=both, progress=told))
        as_written = [counts[0].written]
        if written and counts[0].written != Asked.of(counts[0].work):
            others = (measure(one, build="as_written", written=False) for one in small[1:])
            as_written += [one.written for one in others]
        found = _extrapolated(target, counts, as_written, sizes, n)
        if found is not None:
            return found
    return measure(make(n), build=build, written=written, progress=progress)


def _extrapolated(
    target: Workload, small: list[Counts], as_written: list[Asked], sizes: list[int], n: int
) -> Counts | None:
    """The counts of `target`, where N = `n`, from small launches, if theirs follow a rule."""
    if not all(_touches_everything(counts) for counts in small):
        return None
    step = sizes[1] - sizes[0]
    edge = sizes[0] - step
    rule = _cubic(n // step - 1) if edge else _line(small, target, n // step)
    work = _followed(rule, Work, [c.work for c in small], SUMS, _TABLES)
    if work is None:
        return None
    if len(as_written) == 1:
        written: Asked | None = Asked.of(work)
    else:
        written = _followed(rule, Asked, as_written, _ASKED, ("load_sectors",))
    counters = _table(rule, [c.counters for c in small])
    if written is None or counters is None:
        return None
    first = small[0]
    places = f"{', '.join(map(str, sizes[:-1]))} and {sizes[-1]}"
    figures = "the launch lies on a cubic" if edge else "a block lies on a line"
    return replace(
        first,
        workload=target,
        written=written,
        work=work,
        read_sectors=_whole(target, first.read_sectors),
        written_sectors=_whole(target, first.written_sectors),
        counters=counters,
        uniform=all(counts.uniform for counts in small),
        alike=all(counts.alike for counts in small),
        note=f"Counted at N = {places}, where every figure of {figures} that is followed to "
        f"N = {n:,}.",
    )


def _grows(small: list[Workload], target: Workload, times: int, *, even: bool) -> bool:
    """Whether each side of the grid grows evenly with N, `times` the first step, or stays.

    Blocks that N does not fill do not. Where N is a multiple of the step (`even`), so is a side.
    """
    grids = [workload.launch.grid for workload in small]
    for side in ("x", "y", "z"):
        first, *others = (getattr(grid, side) for grid in (*grids, target.launch.grid))
        rise = others[0] - first
        steps = (*range(1, len(small)), times - 1)
        if others != [first + rise * step for step in steps] or (even and rise not in (0, first)):
            return False
    return True


def _touches_everything(counts: Counts) -> bool:
    return all(
        found == _whole(counts.workload, found)
        for found in (counts.read_sectors, counts.written_sectors)
    )


def _whole(workload: Workload, names: Mapping[str, int]) -> Mapping[str, int]:
    sizes = _sectors_of_arrays(workload)
    return {name: sizes.get(name, -1) for name in names}


Rule = Callable[[list[int]], int | None]
"""A figure of a launch from those of small ones; None where they do not follow the rule."""


def _line(small: list[Counts], target: Workload, times: int) -> Rule:
    """What a block needs, from three sizes to `times` the first, where `target` is."""
    grids = [counts.workload.launch.grid.count for counts in small]
    blocks = target.launch.grid.count

    def end(values: list[int]) -> int | None:
        if any(value % grid for value, grid in zip(values, grids, strict=True)):
            return None
        a, b, c = (value // grid for value, grid in zip(values, grids, strict=True))
        return (a + (b - a) * (times - 1)) * blocks if c - b == b - a else None

    return end


def _cubic(steps: int) -> Rule:
    """What a launch needs, from five sizes a step apart to one `steps` beyond the first."""

    def end(values: list[int]) -> int | None:
        """By Newton's forward differences; the fourth tells whether it is a cubic."""
        found, left = 0, values
        for order in range(4):
            found += left[0] * comb(steps, order)
            left = [b - a for a, b in pairwise(left)]
        return found if left == [0] else None

    return end


def _table(rule: Rule, several: Sequence[Mapping[str, int]]) -> Mapping[str, int] | None:
    """The figures of a table, if all have the same names and each follows the rule."""
    if any(table.keys() != several[0].keys() for table in several):
        return None
    ends = {key: rule([table[key] for table in several]) for key in several[0]}
    found = {key: end for key, end in ends.items() if end is not None}
    return found if len(found) == len(ends) else None


def _followed(
    rule: Rule, kind: type[T], parts: list[T], sums: tuple[str, ...], tables: tuple[str, ...]
) -> T | None:
    """What parts lead to, if each of their figures follows the rule."""

    def figures(name: str) -> list[Any]:
        return [getattr(part, name) for part in parts]

    found: dict[str, object] = {name: rule(figures(name)) for name in sums}
    found |= {name: _table(rule, figures(name)) for name in tables}
    return None if None in found.values() else kind(**found)


# FLOP/B of launches that are counted already: the recorded runs that come with the program.
#
# `scripts/count_recorded.py` counts them and writes resources/intensities.json. A row holds for
# exactly the launch that was counted, its source included.


INTENSITIES = Path(__file__).resolve().parents[2] / "resources" / "intensities.json"


def known_intensity(rung: Rung, parameters: Mapping[str, int]) -> float | None:
    """FLOP for each byte that the loads ask for, None where this launch was never counted.

    Raises ParameterError for parameters that the rung does not have.
    """
    key = launch_key(rung, parameters)
    return _recorded().get(key)


def launch_key(rung: Rung, parameters: Mapping[str, int]) -> str:
    """Names a launch by all that its counts depend on."""
    made = rung.blank_workload(**dict(parameters))
    launch = made.launch
    shapes = [(a.name, a.data.shape, str(a.data.dtype)) for a in launch.arrays]
    told = (
        made.source,
        made.kernel,
        sorted(made.defines.items()),
        sorted(made.parameters.items()),
        str(launch.grid),
        str(launch.block),
        launch.shared_bytes,
        shapes,
        made.flops,
    )
    return sha256(repr(told).encode()).hexdigest()


@cache
def _recorded() -> Mapping[str, float]:
    """By `launch_key`; empty where the file is missing."""
    try:
        rows = json.loads(INTENSITIES.read_text(encoding="utf-8"))["launches"]
    except (OSError, ValueError, KeyError):
        return {}
    return {row["key"]: float(row["intensity"]) for row in rows}
