"""The matrix canvas's scene: grids, owners, marks, close-up."""

from dataclasses import replace

import numpy as np

from core.ladder import load_ladder
from core.recording.record_launch import record
from core.user_files.launch_texts import FileLaunch, file_workload
from gui.scenes.arrays_as_grids import bounding_box, close_up, grids_of, owned_by, rectangles
from gui.scenes.matrices import heat_caption, heat_levels, matrix_scene
from tests.gui.fake_kernels import aat, simple, tiled, vector_add


def access_step(block, name, number=0, kind="load"):
    found = [
        s
        for s in range(block.n_steps)
        if (a := block.access(s)) is not None and a.array.name == name and a.kind == kind
    ]
    return found[number]


def test_grids_of_a_rectangular_product():
    grids = grids_of(tiled(5, 7, 3, 4))
    assert [(g.label, g.rows, g.columns, g.place) for g in grids] == [
        ("A", 5, 7, (1, 0)),
        ("B", 7, 3, (0, 1)),
        ("C", 5, 3, (1, 1)),
    ]
    assert [g.result for g in grids] == [False, False, True]


def test_the_transpose_shows_the_same_elements_turned():
    left, top, _ = grids_of(aat(32, 16))
    assert (top.label, top.transposed) == ("Aᵀ", True)
    assert left.flat(3, 20) == top.flat(20, 3) == 3 * 32 + 20
    rows, columns = top.cells(np.array([3 * 32 + 20]))
    assert (rows[0], columns[0]) == (20, 3)
    assert top.flat(32, 0) == -1


def test_one_dimensional_arrays_are_wrapped_at_cache_lines():
    grids = grids_of(vector_add(1000, 256))
    assert [g.label for g in grids] == ["x", "y", "z"]
    assert grids[0].columns % 32 == 0
    assert grids[0].flat(*divmod(999, grids[0].columns)) == 999
    assert grids[0].flat(*divmod(1000, grids[0].columns)) == -1


def test_rows_of_bytes_are_sectors_so_that_a_warps_are_a_row():
    source = """__global__ void copy(unsigned char* to, const unsigned char* from) {
        int i = blockIdx.x * blockDim.x + threadIdx.x; to[i] = from[i]; }"""
    texts = (("to", "zeros:uint8[256]"), ("from", "random:uint8[256]"))
    launch = FileLaunch("k.cu", "copy", "2", "128", arguments=texts)
    grids = grids_of(record(file_workload(source, launch)))
    assert [(g.rows, g.columns) for g in grids] == [(8, 32), (8, 32)]


def test_both_mappings_own_their_elements():
    for coalesced in (True, False):
        trace = simple(10, 8, 6, (2, 4), coalesced=coalesced)
        result = grids_of(trace)[2]
        owners = np.full(60, -1)
        for block in trace.recorded_blocks:
            owned = owned_by(trace, result, block)
            if owned is not None:
                owners[owned.flats] = block * 8 + owned.threads
        assert (owners >= 0).all()
        assert len(set(owners.tolist())) == 60
        by_x, by_y = owners[1], owners[6]  # C[0, 1] and C[1, 0]
        assert (by_x, by_y) == ((1, 4) if coalesced else (4, 1))


def test_marks_of_a_load():
    block = simple(8, 12, 8, (4, 4)).block(3)  # C[4..7, 4..7]
    grids = grids_of(simple(8, 12, 8, (4, 4)))
    step = access_step(block, "A", 5)
    scene = matrix_scene(block, grids, step, thread=6)  # row 5, column 6
    a, b, c = scene.marks
    assert a.lit.tolist() == [r * 12 + 5 for r in range(4, 8)]
    assert a.verb == "load"
    assert a.thread.tolist() == [5 * 12 + 5]
    assert a.trail.tolist() == [5 * 12 + k for k in range(6)]
    assert a.tiles == ((4, 5, 4, 1),)
    assert b.tiles == ((5, 4, 1, 4),)
    assert (a.band, b.band, c.band) == ((5, 0, 1, 12), (0, 6, 12, 1), None)
    assert scene.own.tolist() == [5 * 8 + 6]
    assert not len(b.lit)
    assert not len(c.written)
    assert scene.caption == "Block (1, 1), phase 5 (of 0..11): 16 threads load A[4..7, 5]."


def test_marks_of_the_store():
    trace = simple(8, 4, 8, (4, 4))
    block = trace.block(0)
    scene = matrix_scene(block, grids_of(trace), access_step(block, "C", 0, "store"), 0)
    c = scene.marks[2]
    assert c.verb == "store"
    assert len(c.lit) == len(c.written) == 16
    truth = (trace.inputs["A"] @ trace.inputs["B"]).ravel()
    assert not np.abs(c.values - truth[c.written]).max() > 1e-5


def test_shared_loads_light_the_elements_they_are_copies_of():
    trace = tiled(8, 8, 8, 4)
    block = trace.block(1)
    step = access_step(block, "tile_b", 4 + 2)  # phase 1, k = 2: row 6 of B
    scene = matrix_scene(block, grids_of(trace), step, thread=5)
    b = scene.marks[1]
    assert b.through.tolist() == [6 * 8 + c for c in range(4, 8)]
    assert b.thread.tolist() == [6 * 8 + 5]
    assert not len(b.lit)
    assert scene.marks[0].tiles == ((0, 4, 4, 4),)
    assert b.tiles == ((4, 4, 4, 4),)
    assert scene.caption.endswith("16 threads load tile_b[2, 0..3] in shared memory.")


def test_guarded_threads_are_counted():
    trace = tiled(5, 7, 3, 4)
    block = trace.block(1)
    scene = matrix_scene(block, grids_of(trace), access_step(block, "A"), 0)
    assert scene.caption == (
        "Block (0, 1), phase 0 (of 0..1): "
        "4 threads load A[4, 0..3]; 12 masked off, 0 in their place."
    )


def test_each_side_of_a_product_with_itself_shows_its_own_rows():
    trace = aat(32, 16)
    block, grids = trace.block(1), grids_of(trace)  # C[0..15, 16..31]
    left, top, _ = matrix_scene(block, grids, access_step(block, "A"), 0).marks
    assert left.tiles == ((0, 0, 16, 16),)
    assert top.tiles == ((0, 16, 16, 16),)
    assert len(left.lit) == 256  # the first instruction loads the rows of C
    assert len(top.lit) == 0


def test_close_up_follows_the_phase():
    trace = tiled(64, 64, 64, 16, recorded=[6])  # block (2, 1)
    block, grids = trace.block(6), grids_of(trace)
    step = access_step(block, "B", 3)
    left, top, result = close_up(grids, block, step)
    assert (left.top, left.left, left.rows, left.columns) == (16, 48, 16, 16)
    assert (top.top, top.left, top.rows, top.columns) == (48, 32, 16, 16)
    assert (result.top, result.left, result.rows, result.columns) == (16, 32, 16, 16)
    assert left.extent == (64, 64)
    assert left.flat(16, 48) == 16 * 64 + 48
    plain = grids_of(vector_add(100, 64))
    assert close_up(plain, block, step) == plain


def test_rectangles_cover_each_cell_once():
    rng = np.random.default_rng(5)
    for density in (0.1, 0.5, 0.95, 1.0):
        wanted = rng.random((13, 9)) < density
        covered = np.zeros_like(wanted, dtype=int)
        for row, column, rows, columns in rectangles(*np.nonzero(wanted)):
            covered[row : row + rows, column : column + columns] += 1
        assert (covered == wanted).all()
    assert rectangles(*np.nonzero(np.ones((6, 4), bool))) == [(0, 0, 6, 4)]


def test_bounding_box():
    grid = grids_of(tiled(5, 7, 3, 4))[0]
    assert bounding_box(grid, np.array([8, 20, 25])) == (1, 1, 3, 6)


def test_heat_is_the_same_scale_for_every_launch():
    levels = heat_levels(np.array([0, 1, 3, 7, 15, 32, 1000]))
    assert levels[0] == 0
    assert levels[-1] == levels[-2] == 1
    assert (np.diff(levels) >= 0).all()
    assert np.ptp(np.diff(levels[:5])) < 1e-12  # even in doublings of one more than the count


def test_heat_says_how_often_elements_were_loaded():
    from core.ladder import load_ladder
    from core.recording.record_launch import record

    ladder = load_ladder()
    said = {}
    for name, parameters in {
        "tiled": {"n": 8, "tile": 4},
        "coalesced": {"n": 8, "block_x": 4, "block_y": 2},
    }.items():
        trace = record(ladder[name].workload(**parameters), blocks="all")
        block, grids = trace.block(0), grids_of(trace)
        assert heat_caption(block, grids, 0).endswith("nothing from global memory.")
        said[name] = heat_caption(block, grids, block.n_steps - 1)
    assert said["tiled"] == (
        "So far the block has loaded 32 elements of A once and 32 elements of B once."
    )
    assert said["coalesced"] == (
        "So far the block has loaded 16 elements of A 4 times each and "
        "32 elements of B 2 times each."
    )


def test_the_trail_is_of_the_thread_or_of_its_warp():
    """Each of 64 threads multiplies a row of A by a column of B; a warp has half of the block."""
    trace = record(load_ladder()["coalesced"].workload(n=8, block_x=8, block_y=8), blocks=[0])
    block, grids = trace.block(0), grids_of(trace)
    for thread, rows in ((5, range(4)), (40, range(4, 8))):
        alone = matrix_scene(block, grids, block.n_steps - 1, thread).marks[0].trail
        together = matrix_scene(block, grids, block.n_steps - 1, thread, warp_trail=True)
        assert alone.tolist() == [thread // 8 * 8 + k for k in range(8)]
        assert together.marks[0].trail.tolist() == [r * 8 + k for r in rows for k in range(8)]
        assert len(together.marks[1].trail) == 64
        half = matrix_scene(block, grids, block.n_steps // 2, thread, warp_trail=True)
        assert 0 < len(half.marks[1].trail) < 64


def test_a_threads_own_memory_is_named():
    trace = record(load_ladder()["tile_1d"].workload(), blocks=[0])
    block, grids = trace.block(0), grids_of(trace)
    kinds = {}
    for step in range(block.n_steps):
        access = block.access(step)
        if access is not None and access.array is None:
            kinds[access.kind] = matrix_scene(block, grids, step, 0).caption
    for kind in ("load", "store"):
        words = f"64 threads {kind} their own local memory; an optimised build may use registers;"
        assert words in kinds[kind]


def test_the_warp_of_the_selected_thread_is_marked():
    trace = vector_add(256, 64)
    block, grids = trace.block(0), grids_of(trace)
    step = access_step(block, "x")
    for thread, first in ((0, 0), (40, 32)):
        marks = matrix_scene(block, grids, step, thread).marks
        assert marks[0].warp.tolist() == list(range(first, first + 32))
        assert not len(marks[1].warp)
        assert len(marks[0].lit) == 64
    alone = vector_add(256, 32)  # of a block of one warp everything is the warp's
    assert not len(matrix_scene(alone.block(0), grids_of(alone), step, 0).marks[0].warp)


def test_an_overhang_takes_no_more_room_than_a_part_of_the_array():
    grid = replace(grids_of(tiled(8, 8, 8, 4))[0], overhang=(28, 1))
    assert grid.room == (2, 1)
    assert replace(grid, rows=64, overhang=(28, 20)).room == (16, 2)
