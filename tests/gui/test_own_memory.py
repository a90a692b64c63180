"""Constant and local memory: drawn by themselves, named, and apart from global memory."""

import numpy as np
import pytest

from core.ladder import all_kernels
from core.launch import ArrayArgument, Dim3, Launch, Workload
from core.recording.record_launch import record
from core.trace.step_names import step_named
from gui.pictures import image_of
from gui.scenes.constant_and_local_memory import own_scene
from gui.scenes.counter_table import (
    CONSTANT_HEAD,
    CounterRow,
    counter_rows,
    counters_caption,
    sections,
)
from gui.scenes.session import Session
from gui.views.constant_and_local_painter import rows_below
from gui.views.warp_view import WarpView


@pytest.fixture(scope="module")
def kinds():
    return record(all_kernels()["memory_kinds"].workload(blocks=2))


def test_a_constant_is_broadcast_from_its_own_memory(kinds):
    block = kinds.block(1)
    scene = own_scene(kinds, block, step_named(block, "load:const#3"), 0)
    assert [(word.name, word.lanes) for word in scene.words] == [("weight[2]", tuple(range(32)))]
    assert scene.words[0].value == "0.12"  # of 0.125
    assert "one word serves 32 lanes" in scene.caption
    assert ("Different words", "1") in scene.figures


def test_local_memory_has_a_place_for_each_lane_with_the_name_of_the_source(kinds):
    block = kinds.block(0)
    step = step_named(block, "store:local#2")
    scene = own_scene(kinds, block, step, 0)
    access = block.access(step)
    assert [word.lanes for word in scene.words] == [(lane,) for lane in range(32)]
    assert {word.name for word in scene.words} == {"part[1]"}
    assert access.space == "local"
    assert "each its own" in scene.caption


def test_other_steps_have_no_such_scene(kinds):
    block = kinds.block(0)
    for name in ("load:in", "store:tile", "atomic:count", "barrier"):
        assert own_scene(kinds, block, step_named(block, name), 0) is None


def test_lanes_that_ask_for_different_constants_are_told_apart():
    source = """
    __constant__ float taps[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    extern "C" __global__ void pick(float* out)
    {
        out[threadIdx.x] = taps[threadIdx.x % 3];
    }
    """
    out = ArrayArgument("out", np.full(40, np.nan, np.float32), "output")
    launch = Launch(Dim3(1), Dim3(40), (out,))
    trace = record(Workload("pick", source, "pick.cu", "pick", launch))
    block = trace.block(0)
    step = step_named(block, "load:const")
    scene = own_scene(trace, block, step, 0)
    wanted = {f"taps[{i}]": tuple(range(i, 32, 3)) for i in range(3)}
    assert {word.name: word.lanes for word in scene.words} == wanted
    assert [word.value for word in scene.words] == ["1", "2", "3"]
    assert "3 different words" in scene.caption
    second = own_scene(trace, block, step, 1)
    assert sum(second.active) == 8


def test_a_reference_in_local_memory_is_an_address_and_no_value():
    source = """
    __device__ __forceinline__ float last(float (&sums)[4]) { return sums[3]; }
    extern "C" __global__ void pick(float* out)
    {
        float sums[4] = {1, 2, 3, 4};
        sums[threadIdx.x % 4] = 5;
        out[threadIdx.x] = last(sums);
    }
    """
    out = ArrayArgument("out", np.full(32, np.nan, np.float32), "output")
    launch = Launch(Dim3(1), Dim3(32), (out,))
    trace = record(Workload("pick", source, "pick.cu", "pick", launch))
    block = trace.block(0)
    scenes = [own_scene(trace, block, step, 0) for step in range(block.n_steps)]
    words = {(s.words[0].name, s.words[0].value) for s in scenes if s is not None and s.words}
    named = {name for name, _ in words}
    assert {"the address of sums", "sums[3]"} <= named
    assert "sums" not in named
    for name, value in words:
        assert value.startswith("0x") == (name == "the address of sums"), name


@pytest.mark.parametrize("lines", [16.0, 10.5, 8.0, 5.0])
def test_what_stands_below_the_lanes_overlaps_nothing(lines):
    rows = rows_below(lines * 16, 16)
    used = rows.gap + rows.high + 16 * (1.2 * rows.labels + 1.2 * rows.foot + 1.2)
    assert used <= lines * 16
    assert rows.high >= 16
    assert rows.foot == (lines > 5.6)


def test_counters_of_constants_stand_under_a_heading_of_their_own(kinds):
    rows = sections(counter_rows(kinds, "array"))
    heads = [row for row in rows if isinstance(row, str)]
    assert heads[-1] == CONSTANT_HEAD
    below = rows[rows.index(CONSTANT_HEAD) + 1 :]
    assert [row.place for row in below] == ["weight"]
    above = rows[: rows.index(CONSTANT_HEAD)]
    assert "weight" not in {row.place for row in above if isinstance(row, CounterRow)}


def test_the_counters_say_how_many_barriers_the_warps_came_to(kinds):
    session = Session()
    session.trace = kinds
    assert kinds.counters.totals["barriers"].value == 2  # one warp in each of two blocks
    assert "came to 2 barriers" in counters_caption(session)


def test_the_view_draws_them_and_comes_back(qtbot, kinds):
    session = Session()
    session.trace = kinds
    view = WarpView(session)
    qtbot.addWidget(view)
    view.resize(540, 260)
    view.show()
    block = kinds.block(0)
    seen = []
    for name in ("load:in", "load:const", "store:local", "store:out", "load:in"):
        session.step = step_named(block, name)
        seen.append((image_of(view, 1.0), view.caption.text()))
    assert seen[0] == seen[-1]
    for i, (image, words) in enumerate(seen[:4]):
        for other, theirs in seen[i + 1 : 4]:
            assert image != other
            assert words != theirs
    session.step = step_named(block, "load:const")
    session.update(veiled={"warp"})
    assert "weight" not in view.caption.text() + view.accessibleDescription()
    covered = image_of(view, 1.0)
    session.step = step_named(block, "store:local")
    assert image_of(view, 1.0) == covered
