"""A kernel of the user's own that loads four floats a lane: every view shows all four."""

import numpy as np
import pytest

from core.launch import ArrayArgument, Dim3, Launch, Workload
from core.recording.record_launch import record
from gui.scenes.arrays_as_grids import grids_of, owned_by
from gui.scenes.block_history import history_of
from gui.scenes.matrices import matrix_scene
from gui.scenes.shared_arrays_and_banks import shared_scene
from gui.scenes.warp_lanes import warp_scene

SOURCE = """
extern "C" __global__ void copy(const float4* in, float4* out)
{
    __shared__ float4 staged[64];
    int i = blockIdx.x * 64 + threadIdx.x;
    staged[threadIdx.x] = in[i];
    __syncthreads();
    out[i] = staged[63 - threadIdx.x];
}
"""


@pytest.fixture(scope="module")
def trace():
    data = np.random.default_rng(11).uniform(-1, 1, 512).astype(np.float32)
    arguments = (
        ArrayArgument("in", data),
        ArrayArgument("out", np.full(512, np.nan, np.float32), "output"),
    )
    launch = Launch(Dim3(2), Dim3(64), arguments)
    return record(Workload("Copy", SOURCE, "copy.cu", "copy", launch))


def step_of(block, space, kind):
    for step in range(block.n_steps):
        access = block.access(step)
        if access is not None and (access.space, access.kind) == (space, kind):
            return step
    raise AssertionError((space, kind))


def test_the_warp_touches_four_elements_a_lane(trace):
    block = trace.block(1)
    scene = warp_scene(block, step_of(block, "global", "load"), 1)
    assert (scene.wide, scene.sectors, scene.ideal, len(scene.lines)) == (4, 16, 16, 4)
    assert scene.names[3] == "in[396..399]"
    assert scene.caption == "Warp 1 loads in[384..511]: 16 sectors, none in excess."
    assert scene.lines[0].lanes[:9] == ((0,),) * 4 + ((1,),) * 4 + ((2,),)
    start = trace.workload.launch.arrays[0].data
    assert np.array_equal(scene.values[3], start[396:400])


def test_what_a_thread_has_read_and_stored(trace):
    block, grids = trace.block(0), grids_of(trace)
    history = history_of(block)
    assert history.read_by("in", 5, step_of(block, "global", "load")).tolist() == [20, 21, 22, 23]
    flats, threads, _ = history.stored("out")
    assert flats.tolist() == list(range(256))
    assert threads.tolist() == [f // 4 for f in range(256)]
    _, values = history.value_stored("out", block.n_steps)
    data = trace.workload.launch.arrays[0].data
    assert np.array_equal(np.sort(values), np.sort(data[:256]))
    scene = matrix_scene(block, grids, step_of(block, "global", "store"), 5)
    marks = scene.marks[1]
    assert len(marks.lit) == 256
    assert marks.thread.tolist() == [20, 21, 22, 23]
    owned = owned_by(trace, grids[1], 1)
    assert owned.box[2] * owned.box[3] == len(owned.flats)


def test_copies_are_traced_element_by_element(trace):
    block, grids = trace.block(0), grids_of(trace)
    scene = matrix_scene(block, grids, step_of(block, "shared", "load"), 5)
    source = scene.marks[0]
    assert sorted(source.thread.tolist()) == [232, 233, 234, 235]  # in[63 - 5], four floats
    assert len(source.through) == 256


def test_shared_memory_fills_with_all_four(trace):
    block = trace.block(0)
    scene = shared_scene(trace, block, step_of(block, "shared", "store"), 0)
    grid = scene.grids[0]
    assert grid.written.all()
    data = trace.workload.launch.arrays[0].data
    assert np.array_equal(grid.values.ravel(), data[:256])
    assert (scene.banks.wavefronts, scene.banks.ideal, scene.banks.conflicts) == (4, 4, 0)
    assert scene.caption.endswith(": 4 wavefronts for 16 bytes a lane, no conflict.")
