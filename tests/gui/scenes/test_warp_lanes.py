"""The warp view's scene: exact sectors, lines and words for known access patterns."""

import numpy as np
import pytest

from core.launch import ArrayArgument, Dim3, Launch, Workload
from core.recording.record_launch import record
from gui.scenes.warp_lanes import warp_scene
from tests.gui.fake_kernels import simple, tiled, vector_add


def first(block, name, kind="load"):
    for step in range(block.n_steps):
        access = block.access(step)
        if access is not None and access.array.name == name and access.kind == kind:
            return step
    raise AssertionError(name)


def test_uncoalesced_load_fetches_a_sector_for_each_lane():
    block = simple(64, 64, 64, (32, 32), coalesced=False, recorded=[0]).block(0)
    scene = warp_scene(block, first(block, "A"), 0)
    assert (scene.sectors, scene.ideal, len(scene.lines)) == (32, 4, 32)
    assert (scene.bytes_used, scene.bytes_fetched) == (128, 1024)
    assert scene.caption == "Warp 0 loads A[0..31, 0]: 32 sectors where 4 would do."
    line = scene.lines[5]
    assert line.fetched == (True, False, False, False)
    assert line.lanes[0] == (5,)
    assert not any(line.lanes[1:])
    assert line.label == "A[5, 0..31]"
    assert line.touched == "5: A[5, 0]"
    assert len(scene.warps) == 32
    assert {w.sectors for w in scene.warps} == {32}


def test_coalesced_load_uses_every_byte():
    block = simple(64, 64, 64, (32, 32), recorded=[0]).block(0)
    scene = warp_scene(block, first(block, "B"), 3)
    assert (scene.sectors, scene.ideal, scene.bytes_used) == (4, 4, 128)
    assert scene.lines[0].lanes == tuple((lane,) for lane in range(32))
    assert scene.caption == "Warp 3 loads B[0, 0..31]: 4 sectors, none in excess."


def test_broadcast():
    block = simple(64, 64, 64, (32, 32), recorded=[0]).block(0)
    scene = warp_scene(block, first(block, "A"), 2)
    assert scene.sectors == 1
    assert scene.lines[0].lanes[0] == tuple(range(32))
    assert scene.caption == "Warp 2 loads A[2, 0]: one element serves all 32 lanes, a broadcast."


def test_guard_lanes_are_inactive():
    block = vector_add(100, 64).block(1)
    scene = warp_scene(block, first(block, "x"), 1)
    assert scene.active.tolist() == [lane < 4 for lane in range(32)]
    assert scene.caption == "4 lanes of warp 1 load x[96..99]: 1 sector, none in excess."
    assert scene.names[3] == "x[99]"
    assert scene.names[4] == ""
    assert scene.lines[0].elements[:5] == (96, 97, 98, 99, -1)


def test_stride_leaves_bytes_unused():
    block = vector_add(1000, 64, 3).block(0)
    scene = warp_scene(block, first(block, "z", "store"), 0)
    assert (scene.verb, scene.sectors, scene.ideal) == ("stores", 12, 4)
    assert scene.bytes_used == 128


def test_a_step_without_global_access_shows_the_last_one():
    block = tiled(8, 8, 8, 4).block(0)
    step = first(block, "tile_a")
    scene = warp_scene(block, step, 0)
    assert not scene.live
    assert scene.array == "B"
    assert scene.caption.startswith("Last access: 16 lanes of warp 0 load B[")
    assert warp_scene(block, 0, 0) is None


def test_lanes_are_grouped_by_row():
    block = simple(32, 32, 32, (16, 16)).block(0)
    scene = warp_scene(block, first(block, "A"), 1)
    assert scene.one_row_per_y == ((0, 15, "y = 2"), (16, 31, "y = 3"))
    assert np.array_equal(scene.threads[17], [1, 3, 0])


@pytest.mark.parametrize(
    ("statement", "kind", "caption"),
    [
        (
            "y[t] = x[0];",
            "load",
            "Warp 0 loads x[0]: one element serves all 32 lanes, a broadcast.",
        ),
        ("y[0] = t;", "store", "Warp 0 stores y[0]: one element, and the value of one lane stays."),
        (
            "atomicAdd(y, 1.0f);",
            "atomic",
            "Warp 0 updates y[0], one lane after another: 32 sectors visited in all.",
        ),
    ],
)
def test_one_element_for_all_lanes_is_a_broadcast_only_of_a_load(statement, kind, caption):
    head = 'extern "C" __global__ void k(const float* x, float* y)'
    source = f"{head}\n{{\n    int t = threadIdx.x;\n    {statement}\n}}"
    made = tuple(ArrayArgument(n, np.ones(64, np.float32), "inout") for n in "xy")
    trace = record(Workload("k", source, "k.cu", "k", Launch(Dim3(1), Dim3(32), made)))
    block = trace.block(0)
    step = next(s for s in range(block.n_steps) if (a := block.access(s)) and a.kind == kind)
    assert warp_scene(block, step, 0).caption == caption


def test_a_verdict_is_of_sectors_and_never_of_bytes_used():
    strided = simple(64, 64, 64, (32, 32), coalesced=False, recorded=[0]).block(0)
    shared = simple(64, 64, 64, (32, 32), recorded=[0]).block(0)
    many, one = (warp_scene(b, first(b, "A"), 0) for b in (strided, shared))
    assert (many.bytes_used / many.bytes_fetched, one.bytes_used / one.bytes_fetched) == (
        1 / 8,
    ) * 2
    assert many.excess
    assert many.use_text == "12.5 % of the bytes used"
    assert not one.excess
    assert one.use_text == "12.5 % of the bytes used, no sector too many"
    row = warp_scene(shared, first(shared, "B"), 0)
    assert not row.excess
    assert row.use_text == "100 % of the bytes used"
