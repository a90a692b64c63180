"""Sweeps the ladder on this machine's GPU and writes the results for resources/recorded/.

    python scripts/record_gpu.py OUT.json [--budget SECONDS] [--sizes 256..4096] [--only RUNG,…]
                                          [--keep OLD.json]

Every rung of the ladder at every size, with tiles of 8, 16 and 32 and as it is tuned; cuBLAS, where
it is installed; and the warm-ups over offsets, strides and tiles. A point that fails is told and
left out. OUT.jsonl has each result as soon as it is measured. --keep takes over the results of
points that are not measured again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout

from core.errors import TilescopeError
from core.gpu.benchmark_job import Timing
from core.gpu.benchmark_result import BenchmarkResult
from core.gpu.result_files import Journal, read_results, save_results
from core.gpu.sweep import (
    Lane,
    LaneClosed,
    Outcome,
    Sweep,
    Update,
)
from core.gpu.sweep_plan import (
    CublasKernel,
    Kernel,
    Plan,
    Point,
    RungKernel,
    make_plan,
    parse_values,
)
from core.gpu.worker_process import GpuWorker
from core.ladder import Ladder, load_ladder

TILES = (8, 16, 32)
LARGE = 8192  # only what takes milliseconds there
ELEMENTS = (1 << 20, 1 << 23, 1 << 26)
OFFSETS = (0, 1, 2, 4, 8, 16, 31, 32)
STRIDES = (1, 2, 3, 4, 8, 16, 32)


def points(ladder: Ladder, sizes: Sequence[int], only: frozenset[str]) -> list[Point]:
    """Every point, those of small sizes first, none twice."""
    found: dict[str, Point] = {}
    for plan in _plans(ladder, sizes, only):
        found |= {point.key: point for point in plan.points}
    return sorted(found.values(), key=lambda p: max(p.parameters.get(n, 0) for n in "mnk"))


def _plans(ladder: Ladder, sizes: Sequence[int], only: frozenset[str]) -> Iterator[Plan]:
    def wanted(name: str) -> bool:
        return not only or name in only

    for rung in ladder.values():
        if rung.group == "broken" or not wanted(rung.name):
            continue
        kernel = RungKernel(rung, tuned=True)
        if rung.group == "ladder":
            yield make_plan([kernel], {"size": sizes})
            if kernel.targets("tile"):
                yield make_plan([kernel], {"size": sizes, "tile": TILES})
            elif max(sizes) < LARGE:
                yield make_plan([kernel], {"size": (LARGE,)})
        else:
            yield from _warm_up(kernel, sizes)
    if wanted("cublas"):
        large = () if max(sizes) >= LARGE else (LARGE,)
        yield make_plan([CublasKernel()], {"size": (*sizes, *large)})


def _warm_up(kernel: Kernel, sizes: Sequence[int]) -> Iterator[Plan]:
    if kernel.targets("tile"):
        yield make_plan([kernel], {"size": (sizes[0], sizes[-1]), "tile": TILES})
        return
    for axis, values in (("offset", OFFSETS), ("stride", STRIDES)):
        if kernel.targets(axis):
            yield make_plan([kernel], {"n": ELEMENTS[-2:-1], axis: values})
            return
    yield make_plan([kernel], {"n": ELEMENTS})


def measure(work: Sequence[Point], timing: Timing, journal: Journal) -> list[BenchmarkResult]:
    """Runs the points on the first GPU; raises TilescopeError where there is none."""
    results: list[BenchmarkResult] = []
    gone: list[str] = []

    def tell(update: Update) -> None:
        if isinstance(update, Outcome):
            if update.result is not None and update.failure is None:
                results.append(update.result)
            say(f"{len(results)}/{len(work)} {update.point.text}: {outcome_text(update)}")
        elif isinstance(update, LaneClosed):
            gone.append(update.why)

    with GpuWorker() as worker:
        sweep = Sweep(work, [Lane("GPU 0", worker)], timing, tell, journal.keep)
        sweep.start()
        sweep.wait()
    if gone and not results:
        raise TilescopeError(gone[0])
    return results


def outcome_text(outcome: Outcome) -> str:
    """A point's outcome in a line."""
    result = outcome.result
    if outcome.failure is not None or result is None:
        return outcome.failure.message if outcome.failure else "nothing"
    rate = "" if result.gflops is None else f"{result.gflops:,.1f} GFLOPS, "
    return (
        f"{rate}{result.effective_gbs or 0:,.1f} GB/s, {len(result.samples_ms)} samples, "
        f"{result.ended}, {outcome.seconds:.2f} s, SM {result.readings.sm_mhz} MHz"
    )


def merged(old: Sequence[BenchmarkResult], new: Sequence[BenchmarkResult]) -> list[BenchmarkResult]:
    """Old results whose points were not measured again, then the new ones."""

    def key(result: BenchmarkResult) -> object:
        return result.series, tuple(sorted(result.parameters.items()))

    again = {key(result) for result in new}
    return [*(r for r in old if key(r) not in again), *new]


def say(text: str) -> None:
    """A line of progress, at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> None:
    """Reads the command line, sweeps, saves."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--budget", type=float, default=0.3)
    parser.add_argument("--samples", type=int, default=60)
    parser.add_argument("--sizes", default="256..4096")
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    only = frozenset(name for name in options.only.split(",") if name)
    try:
        sizes = parse_values(options.sizes, "--sizes")
        timing = Timing(budget_s=options.budget, maximum=options.samples)
        old = read_results(options.keep) if options.keep else ()
        journal = Journal(options.out.with_suffix(".jsonl"))
        results = measure(points(load_ladder(), sizes, only), timing, journal)
    except TilescopeError as error:
        parser.exit(2, f"{error}\n")
    save_results(options.out, tuple(merged(old, results)))


if __name__ == "__main__":
    main()
