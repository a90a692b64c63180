"""Arrays of structures and of three axes: their names, and pictures that are no long strips."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from core.explain.phase_table import phase_table
from core.launch import ArrayArgument, Dim3, Launch, ScalarArgument, Workload
from core.recording.record_launch import record
from core.recording.trace_files import load_trace, save_trace
from core.trace import EventKind
from gui.scenes.arrays_as_grids import bounding_box, grids_of
from gui.scenes.elements_of_accesses import number_at
from gui.scenes.masked_off_threads import guards_of
from gui.scenes.matrices import matrix_scene
from gui.scenes.names_of_elements_and_threads import (
    block_name,
    element_name,
    elements_name,
    name_of_thread,
    span_name,
)
from gui.scenes.phase_table_shown import phases_caption
from gui.scenes.session import Session
from gui.scenes.shared_arrays_and_banks import Word, shared_scene
from gui.scenes.warp_lanes import warp_scene
from gui.views.shared_view import SharedView

MOVE = """
struct Velocity { float x, y; };
struct Particle { float x, y; Velocity v; float past[2]; };
__global__ void move(Particle* p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i].x += p[i].v.y;
}
"""
MIXED = """
struct Node { int next; char kind; double weight; };
__global__ void look(Node* p, int n) { int i = threadIdx.x; if (i < n) p[i].weight = p[i].next; }
"""
STENCIL = """
__global__ void stencil(float* in, int n)
{
    int x = threadIdx.x, y = threadIdx.y, z = blockIdx.z * blockDim.z + threadIdx.z;
    if (z < 6) in[(z * 5 + y) * 4 + x] += 1.0f;
}
"""


@cache
def run(source, name, shape, grid, block, dtype=np.float32):
    data = np.random.default_rng(1).integers(1, 90, shape).astype(dtype)
    made = (ArrayArgument(name, data, "inout"), ScalarArgument("n", np.int32(shape[0])))
    kernel = source.split("void ")[1].split("(")[0]
    work = Workload(kernel, source, "k.cu", kernel, Launch(grid, block, made))
    return record(work, blocks="all")


def particles():
    return run(MOVE, "p", (100, 6), Dim3(2), Dim3(64))


def slices():
    return run(STENCIL, "in", (6, 5, 4), Dim3(1, 1, 2), Dim3(4, 5, 4))


def accesses(block):
    return [s for s in range(block.n_steps) if block.access(s) is not None]


def test_fields_have_their_names(tmp_path):
    trace = particles()
    array = trace.arrays[0]
    assert array.fields == ("x", "y", "v.x", "v.y", "past[0]", "past[1]")
    load, other, store = (warp_scene(trace.block(0), s, 0) for s in accesses(trace.block(0)))
    assert load.caption == "Warp 0 loads p[0..31].v.y: 24 sectors where 4 would do."
    assert (load.names[7], other.names[7], store.names[7]) == ("p[7].v.y", "p[7].x", "p[7].x")
    assert element_name(array, 6 * 9 + 4) == "p[9].past[0]"
    assert elements_name(array, np.array([6, 7, 12, 13])) == "p[1..2].x and y"
    assert elements_name(array, np.arange(12)) == "p[0..1]"
    assert elements_name(array, np.array([0, 1, 6])) == "3 numbers of p[0..1]"
    assert span_name(array, 4, 6) == "p[0].past[0] … p[1].x"
    assert (span_name(array, 6, 11), span_name(array, 7, 7)) == ("p[1]", "p[1].y")
    save_trace(trace, tmp_path / "t.npz")
    assert load_trace(tmp_path / "t.npz").arrays[0].fields == array.fields


def test_the_phase_table_names_fields():
    small = run(MOVE, "p", (8, 6), Dim3(1), Dim3(8))
    entries = [e.text for c in phase_table(small, small.block(0)).rows[3].cells for e in c]
    assert "p[3].x" in " ".join(entries)
    assert "p[3].v.y" in " ".join(entries)


def test_bytes_of_a_mixed_structure_are_called_by_their_field():
    trace = run(MIXED, "p", (8, 16), Dim3(1), Dim3(8), np.uint8)
    fields = trace.arrays[0].fields
    assert fields == ("next",) * 4 + ("kind",) + ("",) * 3 + ("weight",) * 8
    load, store = (warp_scene(trace.block(0), s, 0) for s in accesses(trace.block(0)))
    assert load.caption.startswith("8 lanes of warp 0 load p[0..7].next: ")
    assert store.caption.startswith("8 lanes of warp 0 store p[0..7].weight: ")
    assert (load.names[3], store.names[7], load.names[8]) == ("p[3].next", "p[7].weight", "")
    rows = trace.workload.launch.arrays[0].data
    nexts = rows[:, :4].copy().view(np.int32)[:, 0].tolist()
    assert load.values[:8].tolist() == [[n] for n in nexts], "the field's number, not its bytes"
    assert store.values[:8].tolist() == [[float(n)] for n in nexts]
    assert number_at(trace.arrays[0], rows.reshape(-1), 2 * 16 + 3) == nexts[2]
    kind, hole = 2 * 16 + 4, 2 * 16 + 6
    assert [number_at(trace.arrays[0], rows.reshape(-1), at) for at in (kind, hole)] == [
        rows[2, 4].astype(np.int8), rows[2, 6],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("trace", "words"),
    [
        (lambda: run(MOVE, "p", (8, 6), Dim3(1), Dim3(8)), "8 threads (x, y) of the block; "),
        (
            lambda: run(STENCIL, "in", (6, 5, 4), Dim3(1, 1, 6), Dim3(4, 5, 2)),
            "40 threads (x, y, z) of the block; ",
        ),
    ],
)
def test_the_phase_table_says_which_index_of_a_thread_comes_first(trace, words):
    session = Session()
    session.trace = made = trace()
    assert words in phases_caption(session, phase_table(made, made.block(0)))


@pytest.mark.parametrize("make", [particles, slices])
def test_every_cell_is_one_element(make):
    (grid,) = grids_of(make())
    rows, columns = grid.cells(np.arange(grid.size))
    assert len(set(zip(rows.tolist(), columns.tolist(), strict=True))) == grid.size
    back = [grid.flat(r, c) for r, c in zip(rows.tolist(), columns.tolist(), strict=True)]
    assert back == list(range(grid.size))
    assert rows.max() < grid.extent[0]
    assert columns.max() < grid.extent[1]
    shown = grid.flats((0, 0, *grid.extent))
    assert sorted(shown.tolist()) == list(range(grid.size))
    assert 0.4 < grid.extent[0] / grid.extent[1] < 2.5  # no strip


def test_slices_stand_side_by_side_and_whole():
    (grid,) = grids_of(slices())
    assert grid.plane == (5, 4)
    for z in range(6):
        flats = np.arange(z * 20, z * 20 + 20)
        top, left, high, wide = bounding_box(grid, flats)
        assert (top % 5, left % 4, high, wide) == (0, 0, 5, 4)
    assert (grid.row_name(7), grid.column_name(6)) == ("2", "2")


def test_blocks_and_threads_have_z_where_the_launch_has_it():
    trace = slices()
    assert [block_name(trace.block(b)) for b in (0, 1)] == ["(0, 0, 0)", "(0, 0, 1)"]
    assert name_of_thread(trace.block(0), 0) == "(0, 0, 0)"
    flat = particles()
    assert block_name(flat.block(1)) == "(1, 0)"
    assert name_of_thread(flat.block(1), 3) == "(3, 0)"
    block, grids = trace.block(1), grids_of(trace)
    scene = matrix_scene(block, grids, accesses(block)[0], 0, guards_of(trace))
    assert scene.caption.startswith("Block (0, 0, 1): 40 threads load in[4..5, 0..4, 0..3]")
    assert "not in the record" not in scene.caption


SPILL = """
__global__ void spill(const float* p, int n)
{
    __shared__ float b[64], a[64];  // a build without optimisation places the last one first
    int t = threadIdx.x;
    a[t] = p[t]; b[t] = -p[t];
    __syncthreads();
    if (a[t + 32] > 0 && a[t] > 100) __trap();
}
"""


def test_an_index_that_runs_into_the_next_array_is_not_said_to_stay():
    trace = run(SPILL, "p", (64,), Dim3(1), Dim3(64))
    block = trace.block(0)
    loads = [s for s in accesses(block) if block.access(s).space == "shared"]
    step = next(s for s in loads if block.access(s).kind == "load")
    assert trace.findings == (), "on a GPU the bytes lie side by side, too"
    near, far = (shared_scene(trace, block, step, warp).caption for warp in (0, 1))
    assert near.startswith("Warp 0 loads a[32..63]: ")
    assert far.startswith("Warp 1 loads what lies outside a: ")
    banks = shared_scene(trace, block, step, 1).banks
    assert [word.name for words in banks.words[:2] for word in words] == ["b[0]", "b[1]"]
    assert Word(640, (0,)).name == "byte 640 of shared memory"
    caption = matrix_scene(block, grids_of(trace), step, 0).caption
    assert caption.endswith("load a[32..63] and what lies outside a in shared memory.")


def test_the_view_says_what_such_a_lane_loads(qtbot, monkeypatch):
    said = []
    monkeypatch.setattr(
        "gui.views.shared_view.text",
        lambda painter, area, words, *rest, **named: said.append(words),
    )
    trace, session = run(SPILL, "p", (64,), Dim3(1), Dim3(64)), Session()
    view = SharedView(session)
    qtbot.addWidget(view)
    view.resize(600, 400)
    session.trace, block = trace, trace.block(0)
    loads = (s for s in accesses(block) if block.access(s).space == "shared")
    step = next(s for s in loads if block.access(s).kind == "load")
    session.update(step=step, thread=33)
    view.show()
    qtbot.waitExposed(view)
    view.grab()
    assert "Lane 1, thread (33, 0) loads b[1], bank 1" in said


EARLY = """
__global__ void early(float* p, int n)
{
    if (threadIdx.x >= 32) return;
    __syncthreads();
    p[threadIdx.x] = 1;
}
"""


def test_threads_that_left_have_not_met_the_others_at_a_barrier():
    trace = run(EARLY, "p", (64,), Dim3(1), Dim3(64))
    block, grids = trace.block(0), grids_of(trace)
    (met,) = (s for s in range(block.n_steps) if block.kind[s] == EventKind.BARRIER)
    caption = matrix_scene(block, grids, met, 0).caption
    assert caption == "Block (0, 0): 32 threads of 64 have met at the barrier."
