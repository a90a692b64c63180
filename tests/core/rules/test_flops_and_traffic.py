"""What the ceilings are made of, against Nsight Compute's counters and the seeds' arithmetic."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from core.ladder import load_ladder
from core.launch import ArrayArgument, Dim3, Launch, ScalarArgument, Workload
from core.recording.count_launch import count
from core.rules.flops_and_traffic import Work, WorkProbe

LADDER = load_ladder()
DATA = Path(__file__).resolve().parents[2] / "data"
NSIGHT = json.loads((DATA / "nsight_h200.json").read_text())["counters"]
STAGE = json.loads((DATA / "data_stage_h200.json").read_text())["launches"]
RUNGS = {"naive": "coalesced", "aat_shared": "aat_padded"}


def work(rung: str, kind: str, *, shortcut: bool = True, **parameters: int) -> Work:
    probe = WorkProbe()
    workload = LADDER[rung].blank_workload(**parameters)
    counted = count(workload, kind=kind, probe=probe, shortcut=shortcut)
    assert not counted.note
    return probe.total


@pytest.mark.slow
@pytest.mark.parametrize(
    "row",
    [r for r in NSIGHT if r["N"] == 128],
    ids=lambda r: f"{r['kernel']}-{r['tile_width']}-{r['pad']}-{r['build']}",
)
def test_wavefronts_and_sectors_equal_nsight_computes(row) -> None:
    name, tile = RUNGS.get(row["kernel"], row["kernel"]), row["tile_width"]
    sizes = {"n": 128, "pad": row["pad"]} if name == "aat_padded" else {"n": 128}
    has_tile = any(p.name == "tile" for p in LADDER[name].parameters)
    sizes |= {"tile": tile} if has_tile else {"block_x": tile, "block_y": tile}
    found = work(name, row["build"], **sizes)
    assert found.wavefronts == row["shared_ld_wavefronts"] + row["shared_st_wavefronts"]
    assert sum(found.load_sectors.values()) == row["global_ld_sectors"]
    assert sum(found.store_sectors.values()) == row["global_st_sectors"]


@pytest.mark.slow
@pytest.mark.parametrize("row", STAGE, ids=lambda r: f"{r['rung']}-{r['parameters']}")
def test_lines_and_wavefronts_are_the_data_stages(row) -> None:
    found = work(row["rung"], "as_compiled", **row["parameters"])
    # The hardware adds arbitration between warps to shared memory's wavefronts: 0.8 % here.
    assert found.lines + found.wavefronts == pytest.approx(row["wavefronts"], rel=0.01)
    if not found.wavefronts:
        assert found.lines == pytest.approx(row["wavefronts"], rel=0.002)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rung", "sizes"),
    [
        ("coalesced", {"n": 100, "block_x": 16, "block_y": 16}),
        ("uncoalesced", {"n": 70, "block_x": 7, "block_y": 5}),
        ("tiled", {"n": 96, "tile": 16}),
        ("tiled_rect", {"m": 50, "n": 70, "k": 33, "tile": 8}),
        ("aat_padded", {"n": 64, "tile": 32}),
    ],
)
@pytest.mark.parametrize("kind", ["as_written", "as_compiled"])
def test_one_block_of_each_kind_stands_for_all(rung, sizes, kind) -> None:
    quick, full = work(rung, kind, **sizes), work(rung, kind, shortcut=False, **sizes)
    # Sectors that a block loads once: blocks of a kind differ where rows start in mid-sector, and
    # where A and its transpose meet on the diagonal.
    assert quick.l2_sectors == pytest.approx(full.l2_sectors, rel=0.35)
    names = ("loaded_bytes", "stored_bytes", "loads", "lines", "wavefronts", "instructions")
    for name in (*names, "flops", "load_sectors", "store_sectors"):
        assert getattr(quick, name) == getattr(full, name), name


def test_a_block_loads_each_sector_once() -> None:
    # 2 x 2 blocks of 32 x 32: each loads 32 rows of A and 32 columns of B, 64 floats long: 8
    # sectors a row of A, 4 for each of B's 64 rows; stores 32 x 4 sectors.
    found = work("coalesced", "as_compiled", n=64, block_x=32, block_y=32)
    assert found.l2_sectors == 4 * (32 * 8 + 64 * 4 + 32 * 4)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["as_written", "as_compiled"])
@pytest.mark.parametrize("rung", [n for n in LADDER.names if not n.startswith("broken")])
def test_counted_operations_are_the_formulas(rung: str, kind: str) -> None:
    workload = LADDER[rung].blank_workload()
    probe = WorkProbe()
    count(workload, kind=kind, probe=probe)
    if rung in ("tiled_bounds", "tiled_rect"):  # they multiply zeros beyond the edge too
        assert probe.total.flops >= workload.flops
    else:
        assert probe.total.flops == (workload.flops or 0)


SOURCE = """
extern "C" __global__ void mixed(const float4* A, float* C, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float4 a = A[i];
        C[i] = a.x * a.y + a.z - a.w;
    }
}
"""


def test_wide_loads_and_idle_lanes() -> None:
    n = 40  # 32 lanes of the first warp, 8 of the second; 16 bytes a lane
    arguments = (
        ArrayArgument("A", np.zeros((n, 4), np.float32)),
        ArrayArgument("C", np.zeros(n, np.float32), "output"),
        ScalarArgument("n", np.int32(n)),
    )
    launch = Launch(Dim3(1), Dim3(64), arguments)
    probe = WorkProbe()
    count(Workload("mixed", SOURCE, "mixed.cu", "mixed", launch), kind="as_compiled", probe=probe)
    found = probe.total
    assert (found.loaded_bytes, found.stored_bytes) == (16 * n, 4 * n)
    assert found.lines == 4 + 1 + 1 + 1  # 512 and 128 bytes loaded, 128 and 32 stored
    assert found.flops == 4 * 64 - 4 * 24 - 64 + 24  # fma and a subtraction: 3 for each of 40 lanes
    # A load, a store, fma and subtraction for each of two warps.
    assert found.instructions == 2 * 4
