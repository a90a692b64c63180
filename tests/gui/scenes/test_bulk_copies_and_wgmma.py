"""Boxes that copies load and blocks that wgmma multiplies, in the matrices."""

from dataclasses import replace

import numpy as np
import pytest

from core.ladder import all_kernels, load_ladder
from core.recording.record_launch import record
from core.recording.trace_files import load_trace, save_trace
from gui.looks.theme import apply_theme
from gui.scenes.arrays_as_grids import bounding_box, grids_of
from gui.scenes.block_history import history_of
from gui.scenes.matrices import matrix_scene
from gui.scenes.session import Session
from gui.scenes.transport_bar import event_caption, step_words, timeline_of
from gui.scenes.warp_lanes import why_empty
from gui.views.warp_view import WarpView
from tests.core.emulator.machines import workload

LADDER = load_ladder()
ROWS, DEPTH, COLUMNS = 100, 136, 72  # none a multiple of a tile


@pytest.fixture(scope="module")
def recorded():
    return record(LADDER["tma_pipeline"].workload(m=ROWS, k=DEPTH, n=COLUMNS), blocks=[1])


@pytest.fixture(scope="module", params=["recorded", "read back"])
def trace(request, recorded, tmp_path_factory):
    if request.param == "recorded":
        return recorded
    path = tmp_path_factory.mktemp("saved") / "t.npz"
    save_trace(recorded, path)
    return load_trace(path)


@pytest.fixture(scope="module")
def block(trace):
    return trace.block(1)  # its rows of C begin at 64, its columns at 0


def operations(block, kind):
    return [e for e in block.record.transfers if e.kind == kind]


def scene_at(trace, block, event):
    grids = grids_of(trace)
    scene = matrix_scene(block, grids, block.step_at(event.tick), 0)
    return dict(zip([g.array.name for g in grids], scene.marks, strict=True)), grids, scene


@pytest.mark.slow
def test_the_global_memory_view_says_who_loads_where_no_lane_does(block):
    first = block.step_at(operations(block, "load")[0].tick)
    assert why_empty(block, first - 1, 0) == "No access to global memory yet."
    assert "copy engine loads boxes" in why_empty(block, first, 0)


@pytest.mark.slow
def test_the_view_follows_to_the_first_copy(qtbot, qapp, trace, block):
    apply_theme(qapp, "light")
    session = Session()
    session.trace = trace
    first = block.step_at(operations(block, "load")[0].tick)
    quiet = [s for s in range(block.n_steps) if block.access(s) is None]
    before, after = max(s for s in quiet if s < first), min(s for s in quiet if s >= first)
    session.update(block=1, step=before)
    view = WarpView(session)
    qtbot.addWidget(view)
    view.resize(560, 300)
    view.show()
    assert view.accessibleDescription() == "No access to global memory yet."
    session.step = after
    qtbot.waitUntil(lambda: "copy engine loads boxes" in view.accessibleDescription())


@pytest.mark.slow
def test_the_clock_stops_where_copies_and_products_begin(trace, block):
    begun = {block.step_at(e.tick) for kind in ("load", "product") for e in operations(block, kind)}
    assert len(begun) > 12
    stops, step = [], 0
    while (following := block.seek(step, "access", forward=True)) > step:
        stops.append(step := following)
    assert begun <= set(stops)
    assert set(stops) - begun <= {*block.access_steps.tolist(), block.n_steps - 1}
    line = timeline_of(trace, block)
    assert begun <= set(line.steps("load").tolist())
    assert not begun & set(line.steps("store").tolist())
    session = Session()
    session.trace = trace
    session.update(block=1, step=min(begun))
    assert event_caption(session).startswith("The copy engine loads ")
    assert step_words(block, min(begun)).endswith(": bulk copy")
    session.step = max(begun)
    assert "multiply by wgmma" in event_caption(session)
    assert step_words(block, max(begun)).endswith(": wgmma")


def box_of(grids, name, flats):
    grid = next(g for g in grids if g.array.name == name)
    return bounding_box(grid, flats)


@pytest.mark.slow
def test_a_box_is_lit_and_framed_as_far_as_it_lies_in_the_matrix(trace, block):
    loads = operations(block, "load")
    phases = -(-DEPTH // 64)
    assert len(loads) == 2 * phases
    for number, event in enumerate(loads):
        phase, name = divmod(number, 2)
        marks, grids, scene = scene_at(trace, block, event)
        depth = min(64, DEPTH - 64 * phase)
        wanted = (64, 64 * phase, ROWS - 64, depth) if name == 0 else (64 * phase, 0, depth, 64)
        one, other = ("A", "B") if name == 0 else ("B", "A")
        assert box_of(grids, one, marks[one].lit) == wanted
        assert len(marks[one].lit) == wanted[2] * wanted[3]
        assert marks[one].verb == "load"
        assert not len(marks[other].lit)
        assert "the copy engine loads" in scene.caption
        assert wanted in marks[one].tiles  # also before the phases


@pytest.mark.parametrize(
    ("rung", "parameters", "boxes"),
    [
        (
            "row_times_matrix_bulk",
            {"m": 24, "rows": 4, "stages": 2},
            [("A", (4 * tile, 0, 4, 64)) for tile in range(6)],
        ),
        (  # of its source as written, lines first load what they use from a thread's own memory
            "narrow_wgmma",
            {"k": 128},
            [("A", (0, 0, 64, 64)), ("B", (0, 0, 64, 8)), ("A", (0, 64, 64, 64))],
        ),
    ],
)
def test_a_copy_of_a_lesson_lights_and_frames_what_it_reads(rung, parameters, boxes):
    trace = record(all_kernels()[rung].workload(**parameters))
    block = trace.block(0)
    loads = operations(block, "load")
    for event, (name, wanted) in zip(loads, boxes, strict=False):
        marks, grids, scene = scene_at(trace, block, event)
        assert box_of(grids, name, marks[name].lit) == wanted
        assert len(marks[name].lit) == wanted[2] * wanted[3]
        assert marks[name].verb == "load"
        assert wanted in marks[name].tiles
        assert f"the copy engine loads {name}[" in scene.caption
        assert "local memory" not in scene.caption


def test_a_read_of_what_a_bulk_copy_has_brought_is_one_of_its_elements():
    trace = record(all_kernels()["row_times_matrix_bulk"].workload(m=24, rows=4, stages=2))
    block, grids = trace.block(0), grids_of(trace)
    number = [grid.array.name for grid in grids].index("A")
    rows = []
    for step in block.access_steps.tolist():
        access, marks = block.access(step), matrix_scene(block, grids, step, 40).marks[number]
        if access.target != "ring":
            assert not len(marks.through)
            continue
        assert box_of(grids, "A", marks.through)[1:] == (0, 1, 64)
        rows.append(box_of(grids, "A", marks.through)[0])
        assert marks.thread.tolist() == [64 * rows[-1] + 40 - 32]
    assert rows == list(range(24))  # of tiles that come into the same two stages
    assert marks.trail.tolist() == [64 * row + 40 - 32 for row in range(24)]


STORED_OVER = """
#define AT(place) ((unsigned)__cvta_generic_to_shared(place))
__global__ void k(const int* in, int* out)
{
    __shared__ alignas(16) int tile[32];
    __shared__ unsigned long long full;
    int i = threadIdx.x;
    tile[i] = in[32 + i];
    if (i == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(AT(&full)) : "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    out[i] = tile[i];
    __syncthreads();
    if (i == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 128;" :: "r"(AT(&full)));
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
            "[%0], [%1], 128, [%2];" :: "r"(AT(tile)), "l"(in), "r"(AT(&full)) : "memory");
    }
    asm volatile("{ .reg .pred over; again: mbarrier.try_wait.parity.shared.b64 over, [%0], 0; "
        "@!over bra again; }" :: "r"(AT(&full)) : "memory");
    out[32 + i] = tile[31 - i];
    __syncthreads();
    if (i < 16)
        tile[i] = in[48 + i];
    __syncthreads();
    out[64 + i] = tile[i];
}
"""


def test_what_comes_last_into_shared_memory_says_whose_copy_it_is():
    given = np.random.default_rng(4).permutation(64).astype(np.int32)
    arrays = {"in": given, "out": np.zeros(96, np.int32)}
    work = replace(workload(STORED_OVER, arrays), architecture="sm_90")
    block = record(work).block(0)
    reads = [
        step
        for step in block.access_steps.tolist()
        if (access := block.access(step)).target == "tile" and access.kind == "load"
    ]
    found = [history_of(block).read_through("in", step) for step in reads]
    lanes = np.arange(32)
    wanted = [32 + lanes, 31 - lanes, np.where(lanes < 16, 48 + lanes, lanes)]
    assert [rows.max(axis=0).tolist() for rows in found] == [one.tolist() for one in wanted]


def test_a_product_lights_its_block_of_each_matrix(trace, block):
    products = operations(block, "product")
    assert len(products) == 4 * -(-DEPTH // 64)
    for number, event in enumerate(products):
        marks, grids, scene = scene_at(trace, block, event)
        depth = min(16, DEPTH - 16 * number)
        if depth <= 0:  # zeros that came from outside are of no matrix
            assert not len(marks["A"].through)
            continue
        assert box_of(grids, "A", marks["A"].through) == (64, 16 * number, ROWS - 64, depth)
        assert box_of(grids, "B", marks["B"].through) == (16 * number, 0, depth, 64)
        assert box_of(grids, "C", marks["C"].warp) == (64, 0, ROWS - 64, 64)
        assert "multiply by wgmma: A[" in scene.caption


def test_a_product_lights_what_threads_have_stored_for_it():
    trace = record(LADDER["wgmma"].workload(m=64, k=136, n=64))
    block = trace.block(0)
    history_of(block).read_all()  # what is stored later changes no answer
    products = operations(block, "product")
    for number, event in enumerate(products[:9]):
        marks, grids, _ = scene_at(trace, block, event)
        depth = min(16, 136 - 16 * number)
        blocks = {"A": (0, 16 * number, 64, depth), "B": (16 * number, 0, depth, 64)}
        for name, wanted in blocks.items():
            assert box_of(grids, name, marks[name].through) == wanted
            assert len(marks[name].through) == wanted[2] * wanted[3]


@pytest.mark.slow
def test_the_boxes_of_a_phase_are_framed(trace, block):
    grids = grids_of(trace)
    phase = next(p for p in block.phases if p.index == 0)
    scene = matrix_scene(block, grids, phase.last, 0)
    framed = {g.array.name: m.tiles for g, m in zip(grids, scene.marks, strict=True)}
    assert (64, 64, ROWS - 64, 64) in framed["A"]  # fetched ahead, for phase 1
    assert (64, 0, 64, 64) in framed["B"]


def test_kernels_without_such_operations_are_as_before():
    trace = record(LADDER["tiled"].workload(n=8, tile=4))
    block, grids = trace.block(0), grids_of(trace)
    for step in range(block.n_steps):
        scene = matrix_scene(block, grids, step, 0)
        assert "copy engine" not in scene.caption
        if block.access(step) is None:
            assert all(not len(mark.lit) for mark in scene.marks)
    assert not np.any([len(r.transfers) for r in trace.records])
