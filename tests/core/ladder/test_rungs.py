"""Every rung, run in the emulator, computes what the registry says that it must.

The local accesses of those that, as written, have too few registers are those of an H200.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import ParameterError
from core.gpu.result_check import TF32_CUT
from core.ladder import load_ladder
from core.recording.count_launch import count
from core.recording.record_launch import record

LADDER = load_ladder()


def tiles(tile_m, tile_n, tile_k, thread_m, thread_n=None):
    """Parameters of a rung with register tiles."""
    found = {"tile_m": tile_m, "tile_n": tile_n, "tile_k": tile_k, "thread_m": thread_m}
    return found if thread_n is None else {**found, "thread_n": thread_n}


FOURS = tiles(16, 16, 4, 4, 4)
EIGHT = tiles(16, 16, 8, 4, 4)
WARP = tiles(16, 32, 8, 4, 4)
CORE = {"tile_m": 16, "tile_n": 16, "tile_k": 8, "warp_m": 16, "warp_n": 16}
SIZES = {
    "vector_add": [{"n": 1}, {"n": 33, "block_x": 32}, {"n": 100}],
    "copy_offset": [{"n": 1, "offset": 0}, {"n": 33, "offset": 5, "block_x": 32}, {"n": 100}],
    "copy_stride": [{"n": 1, "stride": 1}, {"n": 33, "stride": 9, "block_x": 32}, {"n": 100}],
    "transpose_naive": [{"m": 1, "n": 1}, {"m": 5, "n": 37, "tile": 4}, {"m": 33, "n": 40}],
    "transpose_tiled": [{"m": 1, "n": 1}, {"m": 5, "n": 37, "tile": 4}, {"m": 33, "n": 40}],
    "transpose_padded": [
        {"m": 1, "n": 1},
        {"m": 5, "n": 37, "tile": 4, "pad": 3},
        {"m": 33, "n": 40},
    ],
    "uncoalesced": [{"n": 1}, {"n": 7, "block_x": 3, "block_y": 5}, {"n": 33}],
    "coalesced": [{"n": 1}, {"n": 7, "block_x": 3, "block_y": 5}, {"n": 33}],
    "tiled": [{"n": 1, "tile": 1}, {"n": 8}, {"n": 21, "tile": 7}, {"n": 32, "tile": 32}],
    "tiled_bounds": [{"n": 1}, {"n": 10}, {"n": 33, "tile": 16}, {"n": 3, "tile": 32}],
    "tiled_rect": [
        {"m": 1, "k": 1, "n": 1},
        {"m": 6, "k": 10, "n": 14},
        {"m": 17, "k": 3, "n": 40, "tile": 8},
        {"m": 5, "k": 37, "n": 2, "tile": 16},
    ],
    "aat_strided": [{"n": 1}, {"n": 7, "block_x": 3, "block_y": 5}, {"n": 33}],
    "aat_shared": [{"n": 1, "tile": 1}, {"n": 12, "tile": 4}, {"n": 64}],
    "aat_padded": [{"n": 1, "tile": 1}, {"n": 12, "tile": 4, "pad": 3}, {"n": 64, "pad": 0}],
    "tile_1d": [{}, {"m": 1, "k": 1, "n": 1}, {"m": 33, "k": 9, "n": 18, **tiles(8, 8, 4, 2)}],
    "tile_2d": [{}, {"m": 1, "k": 1, "n": 1}, {"m": 33, "k": 9, "n": 18, **tiles(8, 16, 8, 2, 4)}],
    "vectorised": [{}, {"m": 1, "k": 4, "n": 4}, {"m": 33, "k": 12, "n": 20, **FOURS}],
    "conflict_free": [{}, {"m": 1, "k": 4, "n": 4}, {"m": 33, "k": 12, "n": 20, **FOURS}],
    "double_buffered": [{}, {"m": 1, "k": 1, "n": 4}, {"m": 33, "k": 9, "n": 20, **EIGHT}],
    "warp_tiled": [{}, {"m": 1, "k": 1, "n": 4}, {"m": 33, "k": 9, "n": 40, **WARP}],
    "tuned": [{}, {"m": 1, "k": 1, "n": 1}, {"m": 33, "k": 33, "n": 41}, {"k": 33, "stages": 4}],
    "tensor_core": [{}, {"m": 1, "k": 4, "n": 4}, {"m": 33, "k": 12, "n": 20, **CORE}],
    "tensor_tuned": [{}, {"m": 1, "k": 4, "n": 4}, {"m": 70, "k": 52, "n": 36, "group": 2}],
    "tensor_half": [{}, {"m": 1, "k": 8, "n": 8}, {"m": 70, "k": 56, "n": 40, "group": 2}],
    "wgmma": [{}, {"m": 200, "k": 72, "n": 136, "tile_n": 128, "group": 2}],
    "tma_pipeline": [{}, {"m": 200, "k": 264, "n": 72, "stages": 3, "group": 2}],
    "warp_specialised": [{}, {"m": 200, "k": 200, "n": 136, "group": 2}],
}
# Rungs with tiles small enough for many launches, and what must divide M, K and N.
BLOCK = {"block_x": 3, "block_y": 2}
ANY_SHAPE = {
    "vector_add": ({"block_x": 3}, (1, 1, 1)),
    "copy_offset": ({"block_x": 3}, (1, 1, 1)),
    "copy_stride": ({"block_x": 3}, (1, 1, 1)),
    "transpose_naive": ({"tile": 3}, (1, 1, 1)),
    "transpose_tiled": ({"tile": 3}, (1, 1, 1)),
    "transpose_padded": ({"tile": 3}, (1, 1, 1)),
    "uncoalesced": (BLOCK, (1, 1, 1)),
    "coalesced": (BLOCK, (1, 1, 1)),
    "tiled": ({"tile": 3}, (1, 1, 3)),
    "tiled_bounds": ({"tile": 3}, (1, 1, 1)),
    "tiled_rect": ({"tile": 3}, (1, 1, 1)),
    "aat_strided": (BLOCK, (1, 1, 1)),
    "aat_shared": ({"tile": 3}, (1, 1, 3)),
    "aat_padded": ({"tile": 3}, (1, 1, 3)),
    "tile_1d": (tiles(8, 8, 4, 2), (1, 1, 1)),
    "tile_2d": (tiles(8, 16, 8, 2, 4), (1, 1, 1)),
    "vectorised": (FOURS, (1, 4, 4)),
    "conflict_free": (FOURS, (1, 4, 4)),
    "double_buffered": (EIGHT, (1, 1, 4)),
    "warp_tiled": (WARP, (1, 1, 4)),
    "tuned": ({**tiles(32, 32, 8, 4, 4), "stages": 3, "group": 2}, (1, 1, 1)),
    "tensor_core": (CORE, (1, 4, 4)),
    "tensor_tuned": ({**CORE, "tile_k": 16, "stages": 3, "group": 2}, (1, 4, 4)),
    "tensor_half": ({**CORE, "tile_k": 32, "stages": 3, "group": 2}, (1, 8, 8)),
}
HARDWARE = json.loads((Path(__file__).parents[2] / "data" / "nsight_h200.json").read_text())
ROWS = [r for r in HARDWARE["counters"] if r["N"] == 128]
RUNG_OF = {"naive": "coalesced", "aat_shared": "aat_padded"}  # names of the reference's kernels
# A rung that is not listed above is tried as it comes.
CASES = [
    (rung.name, sizes)
    for rung in LADDER.values()
    if rung.group != "broken"
    for sizes in SIZES.get(rung.name, [{}])
]


def test_every_size_is_of_a_rung():
    assert {*SIZES, *ANY_SHAPE} <= {name for name, _ in CASES}


def must_be_right(trace):
    """Nothing is found, and every element is right within rounding."""
    workload = trace.workload
    assert trace.findings == ()
    inputs = {a.name: a.data.astype(np.float64) for a in workload.launch.arrays}
    for output, truth in workload.expected().items():
        length = max(inputs["A"].shape[-1], 1)
        # Rounding of a sum of products, Higham: gamma_n |A| |B|; inputs are below 1.
        bound = (length + 2) * np.finfo(np.float32).eps * length
        if workload.arithmetic == "tf32":
            bound += 2 * TF32_CUT * length
        error = np.max(np.abs(trace.outputs[output].astype(np.float64) - truth))
        assert error <= bound  # NaN, which is what the outputs hold before, never is


@pytest.mark.slow
@pytest.mark.parametrize("name", ANY_SHAPE)
@settings(max_examples=6, deadline=None, derandomize=True, database=None)
@given(
    shape=st.tuples(*[st.integers(1, 10)] * 3),
    kind=st.sampled_from(["as_written", "as_compiled"]),
)
def test_any_shape(name, shape, kind):
    parameters, multiples = ANY_SHAPE[name]
    rung = LADDER[name]
    sizes = {s: v * by for s, v, by in zip("mkn", shape, multiples, strict=True)}
    here = {s: value for s, value in sizes.items() if s in rung.defaults}
    must_be_right(record(rung.workload(seed=sum(shape), **here, **parameters), kind=kind))


FLOAT4 = ("vectorised", "conflict_free", "tensor_core", "tensor_tuned")


@pytest.mark.parametrize(
    ("name", "size", "sentence"),
    [
        *((name, size, f"use {size} = 8 or 12") for name in FLOAT4 for size in "kn"),
        *((name, "n", "use n = 8 or 12") for name in ("double_buffered", "warp_tiled")),
        *(("tensor_half", size, f"use {size} = 8 or 16") for size in "kn"),
    ],
)
def test_rows_that_no_copy_of_16_bytes_can_read_are_refused(name, size, sentence):
    with pytest.raises(ParameterError, match=f"multiple of 16 bytes.*{sentence}"):
        LADDER[name].workload(**{size: 10})


def test_idle_threads_of_the_last_block_touch_nothing():
    totals = record(LADDER["vector_add"].workload(n=33, block_x=32)).counters.totals
    assert totals["global_ld_requests"].value == 4
    assert totals["global_ld_sectors"].value == 2 * (4 + 1)
    assert totals["global_st_sectors"].value == 4 + 1


def test_tiling_saves_a_tile_width_of_loads():
    plain, tiled = (
        record(LADDER[name].workload(n=32, tile=16)).counters.totals["global_ld_requests"].value
        for name in ("coalesced", "tiled")
    )
    assert plain == 16 * tiled


@pytest.mark.parametrize(
    ("tile", "pad", "ways"),
    [
        *((32, pad, ways) for pad, ways in ((0, 32), (1, 1), (2, 2), (4, 4), (8, 8), (32, 32))),
        *((16, pad, ways) for pad, ways in ((0, 8), (1, 2), (2, 1), (4, 2))),
        *((8, pad, ways) for pad, ways in ((0, 2), (1, 2), (2, 2), (4, 1))),
    ],
)
def test_padding_decides_the_ways_of_the_conflict(tile, pad, ways):
    """The header of rung 22: gone with PAD = 32 / TILE_WIDTH."""
    trace = record(LADDER["aat_padded"].workload(n=32, tile=tile, pad=pad))
    stores = trace.counters.by_array["tile_b"]
    assert stores["shared_st_wavefronts"].value == ways * stores["shared_st_requests"].value


def test_coalescing_is_one_exchange_of_x_and_y():
    counts = {
        name: record(LADDER[name].workload(n=32)).counters.by_array
        for name in ("uncoalesced", "coalesced")
    }
    for array, before, after in (("A", 32, 1), ("B", 1, 4)):
        for name, sectors in (("uncoalesced", before), ("coalesced", after)):
            row = counts[name][array]
            assert row["global_ld_sectors"].value == sectors * row["global_ld_requests"].value


@pytest.mark.slow
@pytest.mark.parametrize(
    "row", ROWS, ids=lambda r: f"{r['kernel']}-{r['tile_width']}-{r['pad']}-{r['build']}"
)
def test_counts_equal_the_hardware(row):
    """Nsight Compute's counters on an H200, for kernels with the same accesses as the rungs."""
    name = RUNG_OF.get(row["kernel"], row["kernel"])
    sizes = {"n": row["N"], "tile": row["tile_width"]}
    if "pad" in LADDER[name].defaults:
        sizes["pad"] = row["pad"]
    workload = LADDER[name].workload(**sizes)
    totals = record(workload, kind=row["build"], blocks=[0]).counters.totals
    measured = {counter: row[counter] for counter in HARDWARE["metrics"]}
    assert {counter: totals[counter].value for counter in measured} == measured


def test_hardware_rows_are_all_there():
    assert len(ROWS) == 24


RECORDED = Path(__file__).parents[2] / "data" / "spills_h200.json"
SPILLS = json.loads(RECORDED.read_text("utf-8"))["rows"]


@pytest.mark.slow
@pytest.mark.parametrize("row", SPILLS, ids=lambda row: f"{row['rung']}-{row['sizes']['tile_n']}")
def test_spills_count_as_on_an_h200(row) -> None:
    workload = LADDER[row["rung"]].workload(**row["sizes"])
    totals = count(workload, kind="as_written").counters.totals
    assert {name: totals[name].value for name in row["counters"]} == row["counters"]
    assert all(row["counters"].values())
