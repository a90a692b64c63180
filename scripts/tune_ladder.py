"""Tries many parameters of rungs on a GPU and keeps what it found: docs/ladder_tuning.json.

    python scripts/tune_ladder.py OUT.json [RUNG …]     all that GRIDS lists, or some of them

Every combination of a grid that the rung accepts is checked and timed as `tilescope tune` does it
(core/tuning/parameter_search.py), at N = 4096 or what SIZES says, without flushing L2. cuBLAS is
timed before and after each rung. The best are timed once more, in turns with cuBLAS, so that clocks
and temperature are the same for all. What is fast and plain then goes into the registry by hand, as
`tuned`. Rungs that are not tuned again stay in the file as they are.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout

import gpu_tools as tools
from ladder_tools import sizes, tuned

from core.compiler import nvrtc
from core.gpu.benchmark_job import Timing
from core.gpu.sweep_plan import RungKernel, make_plan
from core.ladder import load_ladder
from core.tuning.kernel_tuner_files import Entry
from core.tuning.parameter_search import Candidate, all_candidates, check_and_time, chosen_order

if TYPE_CHECKING:
    from core.gpu.driver_session import Session
    from core.gpu.loaded_launch import CublasProduct, LoadedKernel
    from core.ladder import Rung

USUAL_SIZES = (4096,)
SIZES: Mapping[str, Sequence[int]] = {
    "tuned": (1024, 2048, 4096, 4097),
    "tensor_tuned": (4096, 8192),
    "tensor_half": (4096, 8192),
}
LAUNCHES, ROUNDS, BEST = 5, 4, 8
TIMING = Timing(budget_s=0.5, flush_l2=False)
Row = dict[str, Any]
_TILES = {"tile_m": (64, 128), "tile_n": (64, 128), "tile_k": (8, 16)}
_SQUARES = {**_TILES, "thread_m": (8,), "thread_n": (4, 8)}
_WARPS = {"warp_m": (64,), "warp_n": (64,)}
_WIDE = {"tile_m": (128, 256), "tile_n": (128, 256)}
GRIDS: Mapping[str, Mapping[str, Sequence[int]]] = {
    "coalesced": {"block_x": (32, 64, 128, 256, 512), "block_y": (1, 2, 4, 8, 16, 32)},
    "tile_1d": {**_TILES, "tile_n": (32, 64), "tile_k": (8, 16, 32), "thread_m": (8, 16)},
    "tile_2d": _SQUARES,
    "vectorised": _SQUARES,
    "conflict_free": _SQUARES,
    "double_buffered": _SQUARES,
    "warp_tiled": _SQUARES,
    "tuned": {
        "tile_m": (64, 128),
        "tile_n": (128, 256),
        "tile_k": (16, 32),
        "thread_m": (8, 16),
        "thread_n": (8,),
        "stages": (2, 3),
        "group": (8,),
        "blocks": (1, 2, 3),
    },
    "tensor_core": {**_TILES, "tile_k": (16,), "warp_m": (32, 64), "warp_n": (32, 64)},
    "tensor_tuned": {**_WIDE, "tile_k": (32,), **_WARPS, "stages": (3, 4), "group": (2, 4, 8, 16)},
    "tensor_half": {**_WIDE, "tile_k": (64,), **_WARPS, "stages": (3, 4), "group": (2, 4, 8, 16)},
}


def candidates(name: str, size: int) -> list[Candidate]:
    """Every combination of a rung's grid that can be launched at a size."""
    rung, grid = load_ladder()[name], GRIDS[name]
    here = {axis: (value,) for axis, value in sizes(rung, size).items()}
    plan = make_plan([RungKernel(rung, tuned=False)], {**here, **grid})
    return all_candidates(plan, list(grid))


class Bench:
    """One rung at a time against cuBLAS, on the same arrays."""

    def __init__(self, session: Session, rung: Rung, size: int) -> None:
        from core.gpu.loaded_launch import CublasProduct

        self._session, self._size, self._rung = session, size, rung
        self._work = rung.workload(**tuned(rung, size))
        self._cublas: CublasProduct = CublasProduct(session, self._work.launch, rung.arithmetic)
        self._cublas.reset()
        self._cublas.run()

    def yardstick(self) -> float:
        """cuBLAS's GFLOPS now."""
        return self.rate([self._cublas.time(flush=False) for _ in range(2 * LAUNCHES)])

    def rate(self, times: Sequence[float]) -> float:
        """GFLOPS from milliseconds."""
        return round(2 * self._size**3 / median(times) / 1e6, 1)

    def load(self, one: Candidate) -> LoadedKernel:
        """A candidate on the device, on the arrays that cuBLAS multiplies."""
        from dataclasses import replace

        from core.gpu.loaded_launch import LoadedKernel

        blank = load_ladder()[self._rung.name].blank_workload(**one.point.parameters)
        data = {a.name: a for a in self._work.launch.arrays}
        arguments = tuple(data.get(a.name, a) for a in blank.launch.arguments)
        launch = replace(blank.launch, arguments=arguments)
        kernel = LoadedKernel(self._session, *tools.cubin_of(blank), launch)
        kernel.reset()
        kernel.run()
        return kernel

    def in_turns(self, kernels: Sequence[LoadedKernel]) -> tuple[list[float], float]:
        """GFLOPS of each, and of cuBLAS, measured in rounds."""
        times: list[list[float]] = [[] for _ in range(len(kernels) + 1)]
        for _ in range(ROUNDS):
            for mine, kernel in zip(times, (*kernels, self._cublas), strict=True):
                mine += [kernel.time(flush=False) for _ in range(LAUNCHES)]
        *rates, yardstick = map(self.rate, times)
        return rates, yardstick

    def release(self) -> None:
        """Frees the device's memory."""
        self._cublas.release()


def timed(executor: Executor, name: str, size: int) -> list[tuple[Candidate, Row]]:
    """Every candidate of a rung, checked and timed, and what the file says of it."""
    rows: list[tuple[Candidate, Row]] = []

    def time_of(one: Candidate) -> Entry:
        found = check_and_time(executor, TIMING, one)
        result = found.result
        row: Row = dict(one.values)
        if result is None or result.gflops is None:
            why = found.failure.message if found.failure is not None else "it was not timed"
            row["failed"] = why[:120]
        else:
            row |= {"gflops": round(result.gflops, 1), "registers": result.registers}
            row["right"] = result.ok is not False
        rows.append((one, row))
        return Entry(one.values, None if result is None else result.median_ms)

    there = candidates(name, size)
    for _ in chosen_order(there, len(there), time_of):
        pass
    return rows


def tune(session: Session, executor: Executor, name: str, size: int) -> dict[str, Any]:
    """One rung at one size: each combination's rate, and the best in turns with cuBLAS."""
    bench = Bench(session, load_ladder()[name], size)
    before = bench.yardstick()
    every = timed(executor, name, size)
    able = sorted((r for r in every if r[1].get("right")), key=lambda r: -r[1]["gflops"])[:BEST]
    kernels = [bench.load(one) for one, _ in able]
    rates, yardstick = bench.in_turns(kernels)
    for kernel in kernels:
        kernel.release()
    for (_, row), rate in zip(able, rates, strict=True):
        row["gflops_in_turns"] = rate
    cublas = [before, yardstick, bench.yardstick()]
    bench.release()
    rows = [row for _, row in every]
    print(f"{name} at {size}: {len(rows)} combinations, cuBLAS {cublas}", flush=True)
    for _, row in able:
        print("   ", row, flush=True)
    return {"rung": name, "size": size, "cublas": cublas, "rows": rows}


def main() -> None:
    """Tunes rung by rung; the file grows with each."""
    from core.gpu.driver_session import Session
    from core.gpu.worker_process import GpuWorker

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("rungs", nargs="*", metavar="RUNG", help=", ".join(GRIDS))
    options = parser.parse_args()
    rungs = options.rungs or list(GRIDS)
    if unknown := [name for name in rungs if name not in GRIDS]:
        parser.error(f"there is no grid for {', '.join(unknown)}")
    parts = [(name, size) for name in rungs for size in SIZES.get(name, USUAL_SIZES)]
    session = Session(0)
    found: dict[str, Any] = {
        **tools.machine(),
        "nvrtc": nvrtc.version(),
        "rungs": _kept(options.out, rungs),
    }
    with GpuWorker(0) as worker:
        for name, size in parts:
            found["rungs"].append(tune(session, worker, name, size))
            options.out.write_text(_text(found), encoding="utf-8")
    session.close()


def _kept(path: Path, again: Sequence[str]) -> list[dict[str, Any]]:
    """What the file says of rungs that are not tuned again."""
    if not path.exists():
        return []
    rungs = json.loads(path.read_text(encoding="utf-8"))["rungs"]
    return [rung for rung in rungs if rung["rung"] not in again]


def _text(found: Mapping[str, Any]) -> str:
    """JSON with a combination a line."""
    text = json.dumps(found, indent=1)
    marks = {}
    for rung in found["rungs"]:
        for row in rung["rows"]:
            marks[json.dumps(row, indent=1).replace("\n", "\n    ")] = json.dumps(row)
    for long, short in marks.items():
        text = text.replace(long, short)
    return text + "\n"


if __name__ == "__main__":
    main()
