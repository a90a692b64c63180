"""Zooming and panning: a frame works for what is in sight. C's cells before they are stored."""

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QImage, QPainter

from core.ladder import load_ladder
from core.recording.record_launch import record
from gui.looks.theme import current_theme
from gui.scenes.arrays_as_grids import grids_of
from gui.scenes.cached_per_object import once_for_each
from gui.scenes.matrices import matrix_scene
from gui.scenes.numbers_and_sentences import value_text
from gui.views import matrix_drawing
from gui.views.matrix_canvas import MatrixCanvas
from gui.views.matrix_drawing import MatrixDrawing, MatrixGround, share_bars
from gui.views.matrix_layout import VALUE_WIDTH, Margins, MatrixLayout, Transform
from tests.gui.fake_kernels import aat, simple

N = 96


@pytest.fixture
def canvas(session, qtbot):
    """A canvas at the end of a launch whose block has loaded many elements."""
    session.trace = simple(N, N, N, (8, 8))
    session.last()
    canvas = MatrixCanvas(session)
    qtbot.addWidget(canvas)
    canvas.resize(640, 480)
    canvas.show()
    qtbot.waitExposed(canvas)
    return canvas


def zoom_in(canvas):
    """About the first element of A, until values are written."""
    while canvas._view.scale < VALUE_WIDTH:
        place = canvas._layout.box(canvas.grids[0], canvas._view).topLeft()
        canvas.zoom(1.2, place + QPointF(1, 1))


@pytest.mark.parametrize("trace", [simple(9, 12, 7, (4, 4)), aat(32, 16)], ids=["AB", "AAT"])
def test_elements_and_places_of_many_cells_are_those_of_each(trace):
    grids = grids_of(trace)
    layout, view = MatrixLayout(grids, Margins(30, 20, 10, 10, 15)), Transform(7.3, 3.25, -8.5, 1.7)
    for grid in grids:
        shown = (1, 2, grid.rows - 1, grid.columns - 2)
        cells = [(r, c) for r in range(1, grid.rows) for c in range(2, grid.columns)]
        assert grid.flats(shown).tolist() == [grid.flat(*cell) for cell in cells]
        rows, columns = np.array(cells).T
        each = [layout.rect(grid, view, (*cell, 1, 1)) for cell in cells]
        assert layout.cells(grid, view).rects(rows, columns) == each


def test_the_title_of_a_narrow_result_is_in_sight(canvas, monkeypatch):
    titles = {}
    monkeypatch.setattr(MatrixGround, "_write_name", lambda self, *title: titles.update(C=title))
    canvas.session.trace = simple(64, 256, 8, (8, 8))
    canvas.resize(500, 900)
    canvas.grab()
    result, (name, size, area) = canvas.grids[-1], titles["C"]
    assert (name, size) == ("C", "64 × 8")
    wide = sum(matrix_drawing.title_widths(result, current_theme()))
    assert canvas._layout.box(result, canvas._view).left() + wide > canvas.width()
    assert area.left() + wide <= canvas.width()


@pytest.mark.parametrize("heat", [False, True])
def test_only_values_in_sight_are_written(canvas, qtbot, monkeypatch, heat):
    written = []

    def write(painter, sides, words, *rest):
        written.extend(zip((QRectF(*side) for side in sides.T.tolist()), words, strict=True))

    monkeypatch.setattr(matrix_drawing, "write", write)
    canvas.session.heat = heat
    zoom_in(canvas)
    canvas.grab()
    assert 20 < len(written) < 2 * 640 * 480 / VALUE_WIDTH**2
    window = canvas.rect().toRectF()
    assert all(window.intersects(cell) for cell, _ in written)
    assert len(canvas.session.block_trace.threads) * N > 3 * len(written)  # it had loaded more


def test_each_cell_in_sight_says_how_often_it_was_loaded(canvas, monkeypatch):
    """Also before any load: what a cell holds would be taken for a count."""
    written = []

    def write_values(_, grid, flats, values, *rest, **more):
        if not grid.result:
            written.extend(values.tolist())

    monkeypatch.setattr(MatrixDrawing, "_write_values", write_values)
    zoom_in(canvas)
    canvas.session.update(heat=True, step=0)
    written.clear()
    canvas.grab()
    assert len(written) > 20
    assert set(written) == {0}
    canvas.session.last()
    written.clear()
    canvas.grab()
    assert max(written) > 0
    assert all(isinstance(count, int) for count in written)


def test_what_was_loaded_now_and_in_the_phase_is_told_apart(canvas, qtbot):
    canvas.session.heat = True
    ground = MatrixGround(
        QPainter(), current_theme(), canvas._layout, canvas._view, QRectF(), canvas.session
    )
    keys = {key.words: key for key in ground._key()}
    now, phase = keys["Loaded now"], keys["Loaded in this phase"]
    assert now.outline == phase.outline
    assert now.line != phase.line


def test_what_is_kept_goes_with_its_marks():
    class Marks:
        pass

    kept = once_for_each(lambda _: {})
    marks = Marks()
    kept(marks)["heat"] = 1
    assert kept(marks) == {"heat": 1}
    del marks
    assert kept(Marks()) == {}


def test_cells_too_far_apart_for_an_image_keep_their_colours(canvas, monkeypatch):
    grid = canvas.grids[0]
    flats = np.array([0, 1, N, N * N - 1])
    colors = np.array([[255, 0, 0, 255], [0, 0, 255, 255]], np.uint8)[[0, 1, 1, 0]]
    monkeypatch.setattr(matrix_drawing, "IMAGE_LIMIT", 10)
    picture = matrix_drawing.picture_of(grid, flats, colors)
    found = {}
    for color, rows, columns in picture.parts:
        found[color.name()] = list(zip(rows.tolist(), columns.tolist(), strict=True))
    assert found == {"#ff0000": [(0, 0), (N - 1, N - 1)], "#0000ff": [(0, 1), (1, 0)]}


def test_bars_of_a_part_lie_beyond_what_lies_outside_the_array():
    """Below and right of the rows and columns that threads masked off would have gone to."""
    grid = grids_of(simple(9, 12, 7, (4, 4)))[0]
    grid = replace(grid, top=3, left=4, rows=6, columns=8, overhang=(2, 3))
    layout = MatrixLayout((grid,), Margins(30, 20, 10, 10, 15))
    view = Transform(7.3, 3.25, -8.5, 1.7)
    box = layout.box(grid, view)
    beyond = layout.rect(grid, view, (3, 4, 6 + grid.room[0], 8 + grid.room[1]))
    assert beyond.bottom() > box.bottom() + 7
    assert beyond.right() > box.right() + 7
    (below, columns), (beside, rows) = share_bars(layout, view, grid)
    for bar, part in ((below, columns), (beside, rows)):
        assert not bar.intersects(beyond)
        assert bar.contains(part)
    assert (below.left(), below.right()) == (box.left(), box.right())
    assert columns.width() / below.width() == pytest.approx(8 / 12)
    assert (rows.top() - beside.top()) / beside.height() == pytest.approx(3 / 9)
    whole = replace(grid, top=0, left=0, rows=9, columns=12)
    assert share_bars(layout, view, whole) == []


@pytest.fixture(scope="module")
def tiled():
    return record(load_ladder()["tiled"].workload_of("small", n=4, tile=2))


def last_before_store(block):
    stores = [s for s in block.access_steps if block.access(int(s)).array.name == "C"]
    return int(min(stores)) - 1


def test_the_caption_says_what_the_selected_thread_holds(tiled):
    block, grids = tiled.block(0), grids_of(tiled)
    end = last_before_store(block)
    seen = set()
    for step in range(block.n_steps):
        scene = matrix_scene(block, grids, step, 3)
        value = next((v.value for v in block.variables(step, 3) if v.name == "value"), None)
        words = f"value holds {value_text(value)} for C[1, 1] so far." if value is not None else ""
        if step <= end and words:
            assert scene.caption.endswith(words), step
            seen.add(value)
        else:
            assert "so far" not in scene.caption
    assert len(seen) > 2
    assert max(seen) == tiled.outputs["C"][1, 1]


@pytest.mark.slow
def test_several_elements_of_one_thread_are_named_together():
    trace = record(load_ladder()["tile_1d"].workload(), blocks=[0], only_recorded=True)
    block = trace.block(0)
    said = matrix_scene(block, grids_of(trace), block.n_steps // 2, 0).caption
    assert said.endswith("values holds C[0..3, 0] so far.")


def test_a_kernel_without_such_a_variable_shows_nothing():
    trace = record(load_ladder()["vector_add"].workload())
    block, grids = trace.block(0), grids_of(trace)
    for step in range(block.n_steps):
        scene = matrix_scene(block, grids, step, 0)
        assert "so far" not in scene.caption
        assert not any(m.so_far is not None and len(m.so_far.flats) for m in scene.marks)


def picture(view, grid):
    """The pixels of a grid in a view."""
    box = view._layout.box(grid, view._view).toRect().adjusted(4, 4, -4, -4)
    image = view.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), -1, 4)
    return rows[box.top() : box.bottom(), box.left() : box.right()].copy()


def test_cells_show_the_sums_while_they_have_room_for_values(qtbot, tiled, session):
    view = MatrixCanvas(session)
    qtbot.addWidget(view)
    view.resize(700, 600)
    view.show()
    session.trace = tiled
    session.step = last_before_store(tiled.block(0))
    qtbot.waitUntil(lambda: view.scene is not None and not view.sharing.isActive())
    result = view.grids[2]
    with_sums = picture(view, result)
    marks = view.scene.marks
    bare = (*marks[:2], replace(marks[2], so_far=None))
    view.scene = replace(view.scene, marks=bare)
    without = picture(view, result)
    different = (with_sums != without).any(axis=2)
    middle = len(different) // 2, different.shape[1] // 2
    assert different[: middle[0], : middle[1]].any(), "the block's quarter of C has values"
    assert not different[middle[0] + 2 :].any(), "what other blocks store has none"
    assert not different[:, middle[1] + 2 :].any()
