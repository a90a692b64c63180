"""Tries many parameters of rungs on a GPU and keeps what it found: docs/ladder_tuning.json.

    python scripts/tune_ladder.py OUT.json [RUNG …]     all that GRIDS lists, or some of them

Every combination of a grid that the rung accepts is compiled (on all cores), checked against
cuBLAS, and timed at N = 4096 or what SIZES says: the median of a few launches. cuBLAS is timed
before and after each rung. The best are timed once more, in turns with cuBLAS, so that clocks and
temperature are the same for all. What is fast and plain then goes into the registry by hand, as
`tuned`. Rungs that are not tuned again stay in the file as they are.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout

import gpu_tools as tools
import numpy as np
from ladder_tools import sizes, tuned

from core.compiler import nvrtc_library
from core.errors import TilescopeError
from core.ladder import load_ladder

if TYPE_CHECKING:
    from core.gpu.loaded import CublasProduct, LoadedKernel
    from core.gpu.session import Session
    from core.ladder import Rung

USUAL_SIZES = (4096,)
SIZES: Mapping[str, Sequence[int]] = {
    "tuned": (1024, 2048, 4096, 4097),
    "tensor_tuned": (4096, 8192),
    "tensor_half": (4096, 8192),
}
LAUNCHES, ROUNDS, BEST = 5, 4, 8
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
Parameters = dict[str, int]
Text = tuple[str, tuple[tuple[str, str], ...]]


def accepted(name: str, size: int) -> list[Parameters]:
    """Every combination of a rung's grid that can be launched at a size."""
    rung, grid = load_ladder()[name], GRIDS[name]
    here, found = sizes(rung, size), []
    for values in itertools.product(*grid.values()):
        chosen = dict(zip(grid, values, strict=True))
        try:
            rung.check(**here, **chosen)
        except TilescopeError:
            continue
        found.append(here | chosen)
    return found


def text_of(name: str, parameters: Parameters) -> Text:
    """What the compiler sees of a combination: the rung and its defines."""
    return name, tuple(load_ladder()[name].blank_workload(**parameters).defines.items())


def compiled(job: tuple[str, Parameters]) -> tuple[bytes, str]:
    """The cubin of a combination and its kernel; runs in a process of its own."""
    name, parameters = job
    return tools.cubin_of(load_ladder()[name].blank_workload(**parameters))


def compile_all(jobs: Sequence[tuple[str, Parameters]]) -> Mapping[Text, tuple[bytes, str]]:
    """The cubin and the kernel of every combination, each text compiled once, on all cores."""
    different = {text_of(*job): job for job in jobs}
    with ProcessPoolExecutor() as pool:  # before the driver is loaded: processes are forked
        images = list(pool.map(compiled, different.values(), chunksize=2))
    return dict(zip(different, images, strict=True))


class Bench:
    """One rung at a time against cuBLAS, on the same arrays."""

    def __init__(self, session: Session, rung: Rung, size: int) -> None:
        from core.gpu.loaded import CublasProduct

        self._session, self._size = session, size
        self._work = rung.workload(**tuned(rung, size))
        self._cublas: CublasProduct = CublasProduct(session, self._work.launch, rung.arithmetic)
        self._cublas.reset()
        self._cublas.run()
        self._truth = self._cublas.outputs()["C"]
        self._loose = rung.arithmetic == "tf32"

    def yardstick(self) -> float:
        """cuBLAS's GFLOPS now."""
        return self.rate([self._cublas.time(flush=False) for _ in range(2 * LAUNCHES)])

    def rate(self, times: Sequence[float]) -> float:
        """GFLOPS from milliseconds."""
        return round(2 * self._size**3 / median(times) / 1e6, 1)

    def load(self, name: str, parameters: Parameters, image: bytes, entry: str) -> LoadedKernel:
        """A combination on the device, its arrays filled with what cuBLAS has multiplied."""
        from dataclasses import replace

        from core.gpu.loaded import LoadedKernel

        blank = load_ladder()[name].blank_workload(**parameters).launch
        data = {a.name: a for a in self._work.launch.arrays}
        arguments = tuple(data.get(argument.name, argument) for argument in blank.arguments)
        kernel = LoadedKernel(self._session, image, entry, replace(blank, arguments=arguments))
        kernel.reset()
        kernel.run()
        return kernel

    def right(self, kernel: LoadedKernel) -> bool:
        """Whether it agrees with cuBLAS: to 1e-2, or 0.5 where both are TF32."""
        error = np.max(np.abs(kernel.outputs()["C"] - self._truth))
        return bool(error <= (0.5 if self._loose else 1e-2))

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


def tune(
    session: Session, name: str, size: int, images: Sequence[tuple[bytes, str]]
) -> dict[str, Any]:
    """One rung at one size: each combination's rate, and the best in turns with cuBLAS."""
    bench, chosen = Bench(session, load_ladder()[name], size), accepted(name, size)
    before, rows = bench.yardstick(), []
    for number, parameters in enumerate(chosen):
        row: dict[str, Any] = {k: v for k, v in parameters.items() if k in GRIDS[name]}
        try:
            kernel = bench.load(name, parameters, *images[number])
        except TilescopeError as error:
            rows.append({**row, "failed": str(error)[:120]})
            continue
        first = kernel.time(flush=False)
        times = [first, *(kernel.time(flush=False) for _ in range(LAUNCHES))]
        rows.append({**row, "gflops": bench.rate(times), "registers": kernel.registers,
                     "right": bench.right(kernel), "number": number})  # fmt: skip
        kernel.release()
    able = sorted((r for r in rows if r.get("right")), key=lambda r: -r["gflops"])
    finalists = able[:BEST]
    kernels = [bench.load(name, chosen[r["number"]], *images[r["number"]]) for r in finalists]
    rates, yardstick = bench.in_turns(kernels)
    for kernel in kernels:
        kernel.release()
    for row, rate in zip(finalists, rates, strict=True):
        row["gflops_in_turns"] = rate
    cublas = [before, yardstick, bench.yardstick()]
    found = {"rung": name, "size": size, "cublas": cublas, "rows": rows}
    bench.release()
    for row in rows:
        row.pop("number", None)
    print(f"{name} at {size}: {len(rows)} combinations, cuBLAS {cublas}", flush=True)
    for row in finalists:
        print("   ", row, flush=True)
    return found


def main() -> None:
    """Compiles all, then tunes rung by rung; the file grows with each."""
    from core.gpu.session import Session

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
    images = compile_all([(name, p) for name, size in parts for p in accepted(name, size)])
    session = Session(0)
    found: dict[str, Any] = {
        **tools.machine(),
        "nvrtc": nvrtc_library.version(),
        "rungs": _kept(options.out, rungs),
    }
    for name, size in parts:
        own = [images[text_of(name, p)] for p in accepted(name, size)]
        found["rungs"].append(tune(session, name, size, own))
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
