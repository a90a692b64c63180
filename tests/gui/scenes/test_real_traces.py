"""The scenes on traces that the emulator recorded: what is drawn agrees with what was counted."""

from collections import Counter

import numpy as np
import pytest

from core.ladder import load_ladder
from core.recording.record_launch import record
from gui.scenes.arrays_as_grids import grids_of, owned_by
from gui.scenes.block_history import history_of
from gui.scenes.matrices import matrix_scene
from gui.scenes.shared_arrays_and_banks import shared_scene
from gui.scenes.warp_lanes import warp_scene

CASES = {
    "uncoalesced": {"n": 20, "block_x": 8, "block_y": 8},
    "coalesced": {"n": 20, "block_x": 8, "block_y": 8},
    "tiled": {"n": 16, "tile": 8},
    "tiled_bounds": {"n": 13, "tile": 8},
    "tiled_rect": {"m": 5, "k": 11, "n": 9, "tile": 4},
    "aat_strided": {"n": 16, "tile": 8},
    "aat_shared": {"n": 16, "tile": 8},
    "aat_padded": {"n": 16, "tile": 8},
}


@pytest.fixture(scope="module", params=CASES)
def trace(request):
    return record(load_ladder()[request.param].workload(**CASES[request.param]))


def accesses(block, space):
    for step in range(block.n_steps):
        access = block.access(step)
        if access is not None and access.space == space:
            yield access


@pytest.mark.slow
def test_sectors_of_all_warps_add_up_to_the_counters(trace):
    found = Counter()
    for number in trace.recorded_blocks:
        block = trace.block(number)
        for access in accesses(block, "global"):
            name = "global_ld_sectors" if access.kind == "load" else "global_st_sectors"
            for warp in warp_scene(block, access.step, 0).warps:
                found[name] += warp.sectors
                found[name, "ideal"] += warp.ideal
    for name in ("global_ld_sectors", "global_st_sectors"):
        count = trace.counters.totals[name]
        assert (found[name], found[name, "ideal"]) == (count.value, count.ideal)


@pytest.mark.slow
def test_wavefronts_of_all_warps_add_up_to_the_counters(trace):
    found = Counter()
    for number in trace.recorded_blocks:
        block = trace.block(number)
        for access in accesses(block, "shared"):
            name = f"shared_{'ld' if access.kind == 'load' else 'st'}_wavefronts"
            for warp in range(block.n_warps):
                banks = shared_scene(trace, block, access.step, warp).banks
                assert banks.ways == banks.wavefronts  # one word a lane: a wavefront for each way
                found[name] += banks.wavefronts
    for name in ("shared_ld_wavefronts", "shared_st_wavefronts"):
        assert found[name] == trace.counters.totals[name].value


def test_every_element_of_c_has_one_owner_and_its_value(trace):
    result = grids_of(trace)[2]
    owners = np.zeros(result.size, int)
    values = np.full(result.size, np.nan)
    for number in trace.recorded_blocks:
        owned = owned_by(trace, result, number)
        if owned is not None:
            owners[owned.flats] += 1
        block = trace.block(number)
        flats, stored = history_of(block).value_stored(result.array.name, block.n_steps)
        values[flats] = stored
    assert (owners == 1).all()
    truth = trace.workload.expected()[result.array.name].ravel()
    assert not np.abs(values - truth).max() > 1e-4


def test_at_the_end_a_thread_has_read_its_row_and_column(trace):
    """Directly, or through copies in shared memory: the whole dot product and no more."""
    grids = grids_of(trace)
    for number in (trace.recorded_blocks[0], trace.recorded_blocks[-1]):
        block = trace.block(number)
        store = [a for a in accesses(block, "global") if a.kind == "store"][-1]
        thread = int(np.flatnonzero(store.elements >= 0)[-1])
        scene = matrix_scene(block, grids, block.n_steps - 1, thread)
        for grid, marks in zip(grids[:2], scene.marks[:2], strict=True):
            top, left, rows, columns = marks.band
            wanted = {
                grid.flat(r, c) for r in range(top, top + rows) for c in range(left, left + columns)
            }
            read = set(marks.trail.tolist())
            assert wanted <= read
            direct = trace.shared_arrays == ()
            if direct and grids[0].array is not grids[1].array:
                assert read == wanted


@pytest.mark.slow
def test_every_step_can_be_described(trace):
    block, grids = trace.block(trace.recorded_blocks[-1]), grids_of(trace)
    for step in range(block.n_steps):
        scene = matrix_scene(block, grids, step, 0)
        assert scene.caption.endswith(".")
        shared = shared_scene(trace, block, step, 0)
        assert shared.caption.endswith(".")
