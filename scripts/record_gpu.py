"""Times the ladder on this machine's GPU and writes the results for resources/recorded/.

    python scripts/record_gpu.py OUT.json [--budget SECONDS] [--sizes 512,1024,2048,4096]

A point that fails is reported and left out; the sweep goes on with the next.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from core.errors import GpuUnavailable, TilescopeError
from core.gpu.benchmark import run_benchmark
from core.gpu.executor import GpuWorker
from core.gpu.jobs import BenchmarkJob, RungSubject, Timing
from core.gpu.result import BenchmarkResult, save_results

POINTS: tuple[tuple[str, dict[str, int]], ...] = (
    *(
        (rung, {"block_x": side, "block_y": side})
        for rung in ("uncoalesced", "coalesced", "aat_strided")
        for side in (16, 32)
    ),
    *(("tiled", {"tile": tile}) for tile in (8, 16, 32)),
    *(
        (rung, {"tile": tile})
        for rung in ("tiled_bounds", "tiled_rect", "aat_shared", "aat_padded")
        for tile in (16, 32)
    ),
)


def sweep(sizes: list[int], budget: float) -> list[BenchmarkResult]:
    """Every point at every size, smallest first; prints a line for each."""
    results = []
    timing = Timing(budget_s=budget, maximum=200)
    with GpuWorker() as worker:
        for n in sizes:
            for rung, shape in POINTS:
                size = {"n": n, "m": n, "k": n} if rung == "tiled_rect" else {"n": n}
                job = BenchmarkJob(RungSubject(rung, {**size, **shape}), timing)
                try:
                    result = worker.submit(run_benchmark, job).result()
                except GpuUnavailable:
                    raise
                except TilescopeError as error:
                    say(f"{rung} {n} {shape}: {error}")
                    continue
                results.append(result)
                rate = "wrong result" if result.gflops is None else f"{result.gflops:10,.1f} GFLOPS"
                say(
                    f"{rung:13} n={n:<5} {shape!s:32} {rate}  {len(result.samples_ms)} samples, "
                    f"{result.ended}, SM {result.readings.sm_mhz} MHz"
                )
    return results


def say(text: str) -> None:
    """A line of progress, at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> None:
    """Reads the command line, sweeps, saves."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--budget", type=float, default=2.0)
    parser.add_argument("--sizes", default="512,1024,2048,4096")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    try:
        results = sweep(sizes, options.budget)
    except GpuUnavailable as error:
        parser.exit(2, f"{error}\n")
    save_results(options.out, tuple(results))


if __name__ == "__main__":
    main()
