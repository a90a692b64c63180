"""Launches that test the L1 estimate where it is hard: capacity, shared SMs, stores, whole kernels.

`scripts/record_l1.py` takes their counters on a GPU. Values do not matter here, save for a gather's
indices, which come from the same formula on every machine.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from core.ladder import load_ladder
from core.launch import ArrayArgument, Dim3, Launch, ScalarArgument, Workload
from tests.reference_set import FOLDER as REFERENCE
from tests.reference_set import mixed

FOLDER = Path(__file__).parent / "data" / "l1"
KIB = 1024
BUILDS = ("as_written", "as_compiled")


@dataclass(frozen=True)
class L1Launch:
    """One launch. `group` is what it tests; `builds` are those that were measured."""

    name: str
    group: str
    workload: Workload
    builds: tuple[str, ...] = BUILDS


@cache
def load_l1_launches() -> tuple[L1Launch, ...]:
    """All launches, in the order in which they were measured."""
    makers = (_capacity, _strides, _carve_outs, _blocks, _stores, _rungs, _kernels)
    found = tuple(launch for maker in makers for launch in maker())
    assert len({launch.name for launch in found}) == len(found)
    return found


@cache
def measured() -> dict[tuple[str, str], dict[str, Any]]:
    """What an H200 counted, by launch and build: sectors and hits of global loads, and more."""
    rows = json.loads((FOLDER / "h200_2026-11-21.json").read_text(encoding="utf-8"))["rows"]
    return {(row["launch"], row["build"]): row for row in rows}


def placements() -> tuple[Workload, ...]:
    """Launches that write on which SM each block runs: 32, 8 and 2 blocks an SM."""
    return tuple(
        _workload(
            FOLDER / "placement.cu", (132 * held * 2 + 70,), (threads,),
            {"sm": np.zeros(132 * held * 2 + 70, np.uint32)}, outputs=("sm",),
        )
        for held, threads in ((32, 64), (8, 256), (2, 1024))
    )  # fmt: skip


def _workload(source, grid, block, arrays, scalars=(), defines=None, shared=0, outputs=("out",)):
    arguments = [
        ArrayArgument(name, data, "inout" if name in outputs else "input")
        for name, data in arrays.items()
    ]
    arguments += [ScalarArgument(name, np.int32(value)) for name, value in scalars]
    launch = Launch(Dim3(*grid), Dim3(*block), tuple(arguments), shared)
    return Workload(
        title=source.stem,
        source=source.read_text(encoding="utf-8"),
        source_name=source.name,
        kernel=source.stem,
        launch=launch,
        defines={name: str(value) for name, value in (defines or {}).items()},
    )


def _walk(
    lines, *, blocks=1, threads=32, warps=1, stride=1, rounds=3, words=32, apart=0, period=1,
    shared=0,
):  # fmt: skip
    reach = (period - 1) * apart + (lines - 1) * stride + 1
    return _workload(
        FOLDER / "walk.cu", (blocks,), (threads,),
        {"in": np.zeros(reach * 32, "f4"), "out": np.zeros(blocks * threads, "f4")},
        defines={
            "LINES": lines, "STRIDE": stride, "ROUNDS": rounds, "WORDS": words, "WARPS": warps,
            "APART": apart, "PERIOD": period, "SHARED": shared,
        },
        shared=shared,
    )  # fmt: skip


def _capacity() -> Iterator[L1Launch]:
    """One block goes round 32 to 512 KiB, whole lines or one sector of each."""
    sizes = (32, 64, 96, 128, 160, 192, 208, 216, 224, 232, 240, 244, 248, 252, 256, 264, 288, 320)
    for kib in (*sizes, 384, 512):
        yield L1Launch(f"walk-{kib}k", "capacity", _walk(kib * 8), ("as_compiled",))
    for kib in (64, 128, 192, 224, 240, 248, 256, 288, 320, 512, 1024):
        yield L1Launch(
            f"walk-sectors-{kib}k", "capacity", _walk(kib * 8, words=8), ("as_compiled",)
        )
    for kib in (128, 192, 240, 256, 288, 384):
        walk = _walk(kib * 8, threads=1024, warps=32)
        yield L1Launch(f"walk-32-warps-{kib}k", "capacity", walk, ("as_compiled",))


def _strides() -> Iterator[L1Launch]:
    for stride in (2, 4, 8, 16, 32, 64, 128):
        for lines in (64, 256, 1024, 1800):
            walk = _walk(lines, stride=stride)
            yield L1Launch(f"stride-{stride}-{lines}", "strides", walk, ("as_compiled",))


def _carve_outs() -> Iterator[L1Launch]:
    """Shared memory takes room: what the driver chooses for few and many blocks an SM."""
    for threads in (32, 256, 1024):
        for kib in (0.5, 1, 3, 4, 7, 8, 16, 24, 32, 48, 64, 100, 132, 200, 227):
            walk = _walk(1024, threads=threads, shared=int(kib * KIB))
            name = f"shared-{threads}-{kib:g}k"
            yield L1Launch(name, "carve-outs", walk, ("as_compiled",))
    for kib in (16, 48, 100):
        for lines in (640, 896, 1152, 1408, 1536, 1792):
            walk = _walk(lines, threads=1024, shared=kib * KIB)
            yield L1Launch(f"shared-{kib}k-walk-{lines}", "carve-outs", walk, ("as_compiled",))


def _blocks() -> Iterator[L1Launch]:
    """Many blocks load the same lines: all of them, the blocks of an SM, or neighbours."""
    for threads in (32, 256):
        for blocks in (132, 264, 528, 1056, 2112, 6000):
            walk = _walk(16, blocks=blocks, threads=threads, rounds=1)
            yield L1Launch(f"same-{threads}-{blocks}", "blocks", walk, ("as_compiled",))
    for period in (66, 132, 264, 528):
        walk = _walk(16, blocks=2112, threads=256, rounds=1, apart=16, period=period)
        yield L1Launch(f"period-{period}", "blocks", walk, ("as_compiled",))
    for apart in (4, 8, 12):
        walk = _walk(16, blocks=2112, threads=256, rounds=1, apart=apart, period=2112)
        yield L1Launch(f"overlap-{apart}", "blocks", walk, ("as_compiled",))
    for lines in (64, 256, 1024):  # together more than the L1, each alone less
        for threads in (64, 256, 1024):
            walk = _walk(
                lines, blocks=1056, threads=threads, warps=threads // 32, rounds=4, apart=lines,
                period=1056,
            )  # fmt: skip
            name = f"crowd-{threads}-{lines}"
            yield L1Launch(name, "blocks", walk, ("as_compiled",))


def _stores() -> Iterator[L1Launch]:
    """Octal digits of `stored.cu`, read from the right."""
    for steps in ("11", "12", "121", "13", "131", "14", "141", "15", "151", "1113", "1112"):
        for blocks in (1, 264):
            arrays = {"data": np.zeros(blocks * 1024, "f4"), "out": np.zeros(blocks * 256, "f4")}
            workload = _workload(
                FOLDER / "stored.cu", (blocks,), (256,), arrays, defines={"STEPS": f"0{steps}"},
                outputs=("data", "out"),
            )  # fmt: skip
            yield L1Launch(f"stored-{steps}-{blocks}", "stores", workload, ("as_compiled",))


def _rungs() -> Iterator[L1Launch]:
    """The ladder's matrix products."""
    ladder = load_ladder()
    shapes = (
        {"block_x": 16, "block_y": 16},
        {"block_x": 32, "block_y": 32},
        {"block_x": 32, "block_y": 4},
    )
    for n in (256, 512, 1024, 2048):
        for name in ("uncoalesced", "coalesced"):
            for shape in shapes:
                label = f"{name}-{n}-{shape['block_x']}x{shape['block_y']}"
                yield L1Launch(label, "kernels", ladder[name].blank_workload(n=n, **shape))
        for tile in (8, 16, 32):
            for name in ("tiled", "aat_strided", "aat_padded"):
                if name == "tiled" or (n <= 1024 and tile > 8):
                    parameters = {"n": n, "tile": tile}
                    workload = ladder[name].blank_workload(**parameters)
                    yield L1Launch(f"{name}-{n}-{tile}", "kernels", workload)
    bounds = ladder["tiled_bounds"].blank_workload(n=1000, tile=16)
    yield L1Launch("tiled_bounds-1000-16", "kernels", bounds)


def _kernels() -> Iterator[L1Launch]:
    """Kernels of the reference set, with grids that fill the GPU."""
    for n in (256, 512, 1024, 2048):
        for block in ((32, 8), (16, 16), (32, 32)):
            yield _transpose("transpose_plain", n, n, block)
    yield _transpose("transpose_plain", 1000, 1500, (32, 8))
    tile = {"TILE": 32, "PAD": 1}
    yield _transpose("transpose_tile", 1024, 1024, (32, 8), tile)
    n = 1 << 20
    for kib in (64, 256, 1024, 16384):
        cells = kib * KIB // 4
        index = (mixed(n, 3) % np.uint64(cells)).astype(np.int32)
        yield _simple("gather", f"gather-{kib}k", n, {"in": np.zeros(cells, "f4"), "index": index})
    near = (np.arange(n) + (mixed(n, 5) % np.uint64(64)).astype(np.int64)).clip(0, n - 1)
    arrays = {"in": np.zeros(n, "f4"), "index": near.astype(np.int32)}
    yield _simple("gather", "gather-near", n, arrays)
    for nx, ny, nz, block in (
        (128, 128, 128, (32, 4, 2)),
        (256, 96, 64, (32, 8, 1)),
        (512, 512, 8, (64, 4, 1)),
    ):
        grid = tuple(-(-size // b) for size, b in zip((nx, ny, nz), block, strict=True))
        arrays = {"in": np.zeros(nx * ny * nz, "f4"), "out": np.zeros(nx * ny * nz, "f4")}
        scalars = (("nx", nx), ("ny", ny), ("nz", nz))
        workload = _workload(REFERENCE / "stencil_3d.cu", grid, block, arrays, scalars)
        yield L1Launch(f"stencil-{nx}x{ny}x{nz}", "kernels", workload)
    for rows, cols in ((4096, 1024), (1024, 8192), (8192, 100)):
        arrays = {
            "A": np.zeros(rows * cols, "f4"),
            "x": np.zeros(cols, "f4"),
            "y": np.zeros(rows, "f4"),
        }
        workload = _workload(
            REFERENCE / "matvec_1d.cu", (-(-rows // 8),), (256,), arrays,
            (("rows", rows), ("cols", cols)), outputs=("y",),
        )  # fmt: skip
        yield L1Launch(f"matvec-{rows}x{cols}", "kernels", workload)
    n = 300_000
    arrays = {"in": np.zeros(7 * n, "f4"), "energy": np.zeros(n, "f4"), "kinds": np.zeros(n, "i4")}
    structs = _workload(
        REFERENCE / "array_of_structs.cu", (-(-n // 192),), (192,), arrays, (("n", n),),
        outputs=("energy", "kinds"),
    )  # fmt: skip
    yield L1Launch("array-of-structs", "kernels", structs)


def _transpose(name, rows, cols, block, defines=None):
    arrays = {"in": np.zeros(rows * cols, "f4"), "out": np.zeros(rows * cols, "f4")}
    height = block[1] if name == "transpose_plain" else 32
    workload = _workload(
        REFERENCE / f"{name}.cu", (-(-cols // block[0]), -(-rows // height)), block, arrays,
        (("rows", rows), ("cols", cols)), {"ELEMENT": "float", **(defines or {})},
    )  # fmt: skip
    return L1Launch(f"{name}-{rows}x{cols}-{block[0]}x{block[1]}", "kernels", workload)


def _simple(kernel, name, n, arrays):
    workload = _workload(
        REFERENCE / f"{kernel}.cu", (-(-n // 256),), (256,), {**arrays, "out": np.zeros(n, "f4")},
        (("n", n),), {"ELEMENT": "float"},
    )  # fmt: skip
    return L1Launch(name, "kernels", workload)
