"""C's cells before they are stored: what the threads hold for them so far."""

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtGui import QImage

from core.ladder import load_ladder
from core.recording.record_launch import record
from gui.scenes.grids import grids_of
from gui.scenes.matrices import matrix_scene
from gui.scenes.names_and_numbers import value_text
from gui.views.matrix_canvas import MatrixCanvas


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
