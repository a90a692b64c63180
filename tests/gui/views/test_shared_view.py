"""Shared arrays of every shape lie where their cells are largest, and are painted once."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QFontMetricsF, QImage, QPainter

from core.ladder import all_kernels, load_ladder
from core.recording.record_launch import record
from core.trace.access import SharedArray
from core.trace.step_names import step_named
from gui.looks.theme import apply_theme, current_theme, load_theme
from gui.scenes.session import Session
from gui.scenes.shared_arrays_and_banks import SharedGrid, SharedScene
from gui.scenes.veils_and_picks import Lit
from gui.scenes.why_this_number import Step, explain
from gui.views.drawing_tools import AWAY, Cells, Pixmaps
from gui.views.shared_view import (
    ArrayPicture,
    BankMapPainter,
    SharedPainter,
    SharedView,
    shared_geometry,
)
from tests.core.emulator.machines import trace_of

BOX = QRectF(12, 4, 470, 330)


def grid(name, *shape, written=True):
    array = SharedArray(name, 0, shape, np.dtype(np.float32))
    rows, columns = int(np.prod(shape[:-1])), shape[-1]
    none = np.empty(0, np.int64)
    return SharedGrid(
        array=array,
        rows=rows,
        columns=columns,
        values=np.zeros((rows, columns), np.float32),
        written=np.full((rows, columns), written),
        copying=np.zeros((rows, columns), bool),
        writers=np.zeros((rows, columns), np.int32),
        warp_lit=none,
        warp_lanes=none,
        block_lit=none,
        verb="",
    )


@pytest.fixture
def light(qapp):
    apply_theme(qapp, "light")
    return load_theme("light")


@pytest.mark.parametrize(
    ("shapes", "below"),
    [
        (((16, 16), (16, 16)), False),
        (((32, 32), (32, 33)), False),
        (((8, 64), (8, 64)), True),
        (((2, 8, 68), (2, 8, 64)), True),
        (((64, 4), (64, 4)), False),
        (((32, 8), (8, 32)), False),
    ],
)
def test_arrays_lie_beside_or_below_each_other(light, shapes, below):
    grids = tuple(grid(f"tile_{i}", *shape) for i, shape in enumerate(shapes))
    found = shared_geometry(SharedScene("", grids, None), BOX, light)
    first, second = (place.box for place in found.arrays)
    assert (first.left() == second.left()) == below
    assert not first.intersects(second)
    for place, one in zip(found.arrays, grids, strict=True):
        assert BOX.contains(place.box)
        assert place.title.bottom() <= place.box.top()
        assert place.box.bottom() <= found.bank_title.top() + 1
        assert np.isclose(place.box.width(), one.columns * place.cells.wide)
        assert place.legible >= 2.0


def painted(kept, one, light):
    image = QImage(200, 100, QImage.Format.Format_ARGB32)
    image.fill(0)
    painter = QPainter(image)
    array = ArrayPicture(one, QRectF(0, 0, 160, 80), Cells(0, 0, 20, 10), light, 32)
    array.draw("cells", painter, kept)
    painter.end()
    return bytes(image.constBits())


def test_the_ground_is_painted_again_only_when_something_was_written(light, qapp, monkeypatch):
    drawn, draw = [], ArrayPicture.draw_cells
    monkeypatch.setattr(ArrayPicture, "draw_cells", lambda *a: (drawn.append(1), draw(*a)))
    kept, full, empty = Pixmaps(), grid("t", 8, 8), grid("t", 8, 8, written=False)
    first = painted(kept, full, light)
    assert painted(kept, full, light) == first
    assert len(drawn) == 1
    assert painted(kept, empty, light) != first
    assert painted(kept, full, apply_theme(qapp, "dark")) != first
    assert len(drawn) == 3


def test_arrays_of_few_rows_come_before_the_banks(qapp):
    theme = load_theme("projector")
    scene = SharedScene("", (grid("tile_a", 4, 4), grid("tile_b", 4, 4)), None)
    found = shared_geometry(scene, QRectF(12, 4, 380, 225), theme)
    line = QFontMetricsF(theme.font("small")).height()
    assert min(place.cells.high for place in found.arrays) >= 0.9 * line
    assert found.banks.height() >= 2 * line
    assert found.banks.top() >= max(place.box.bottom() for place in found.arrays)


@pytest.mark.parametrize("side", [4, 16])
def test_in_a_low_box_the_banks_stand_beside_the_arrays(light, side):
    scene = SharedScene("", (grid("tile_a", side, side), grid("tile_b", side, side)), None)
    line = QFontMetricsF(light.font("small")).height()
    box = QRectF(12, 4, 620, 8 * line)
    found = shared_geometry(scene, box, light)
    for place in found.arrays:
        assert box.contains(place.box)
        assert place.box.bottom() <= found.readout.top()
        assert place.box.right() <= found.banks.left()
        assert place.box.height() >= 3 * line
    assert found.banks.height() >= 3 * line
    assert found.bank_title.bottom() <= found.banks.top()
    assert found.labels.bottom() <= found.readout.top()


def test_by_bank_shows_a_product_that_no_array_shows(qtbot, qapp):
    apply_theme(qapp, "light")
    session = Session()
    session.trace = record(load_ladder()["tma_pipeline"].workload(m=64, k=136, n=64))
    block = session.block_trace
    product = next(e for e in block.record.transfers if e.kind == "product")
    view = SharedView(session)
    qtbot.addWidget(view)
    view.resize(560, 280)
    view.show()
    session.update(step=block.step_at(product.tick))
    assert view.map is None
    assert "Bulk copies have filled" in view.caption.text()
    before = view.grab().toImage()
    view.by_bank.setChecked(True)
    assert view.map.swizzle == 128
    assert "swizzled by 128 bytes" in view.caption.text()
    assert "no conflict" in view.caption.text()
    assert view.grab().toImage() != before
    lay = view.map_layout()
    for piece in view.map.round.pieces:
        box = lay.word(piece.offset // 128, piece.offset // 4 % 32, 4)
        assert lay.offset_at(box.center()) // 16 * 16 == piece.offset
    assert lay.offset_at(lay.readout.center()) == -1
    keys = BankMapPainter(QPainter(), current_theme(), view.map, lay).keys()
    assert [len(key.fills) for key in keys] == [1, 8]  # what goes, and the pieces of a row
    assert keys[0].words == "read now"
    assert "xor" in explain(session, Step("shared")).text
    session.update(veiled={"shared.banks"})
    assert "no conflict" not in view.caption.text()
    session.update(veiled=())
    for wide, high in ((360, 140), (900, 500)):
        view.resize(wide, high)
        lay = view.map_layout()
        assert lay.passes.bottom() <= lay.readout.top()
        assert lay.cells.right() <= wide
        assert lay.shown


def test_who_stored_an_element_is_lit_at_that_element(qtbot, qapp):
    """Where a question asks who stored what is read: the thread itself reads another element."""
    apply_theme(qapp, "light")
    session = Session()
    session.trace = record(load_ladder()["tiled"].workload(n=4, tile=2))
    view = SharedView(session)
    qtbot.addWidget(view)
    view.resize(560, 280)
    view.show()
    session.step = step_named(session.block_trace, "load:tile_a@phase0")
    scene, geometry = view.scene, view.geometry_now()
    cells = geometry.arrays[0].cells
    accessed = dict(view._lit_places(scene, geometry, Lit("thread", (1,))))
    assert accessed[1] == [cells.rect((0, 0, 1, 1))]
    stored = dict(view._lit_places(scene, geometry, Lit("thread", (1,), (2,), by_writer=True)))
    assert stored[1][0] == cells.rect((0, 1, 1, 1))
    assert stored[2][0] == cells.rect((1, 0, 1, 1))
    assert [len(boxes) for boxes in stored.values()] == [2, 2]  # in tile_a and in tile_b


def test_that_there_is_no_shared_memory_is_said_once(qtbot, light):
    session = Session()
    session.trace = record(load_ladder()["coalesced"].workload(n=4))
    view = SharedView(session)
    qtbot.addWidget(view)
    view.resize(560, 280)
    view.show()
    assert "no shared memory" in view.caption.text()
    image = view.grab().toImage()
    colors = {image.pixel(x, y) for x in range(image.width()) for y in range(image.height())}
    assert len(colors) == 1


def test_names_of_scattered_words_stand_beside_each_other(qtbot, light, monkeypatch):
    session = Session()
    source = """
__global__ void k(int* out) {
    __shared__ int s[256];
    s[threadIdx.x * threadIdx.x % 101] = 1;
    out[threadIdx.x] = 1;
}"""
    session.trace = trace_of(source, {"out": np.zeros(32, np.int32)})
    view, drawn, cells = SharedView(session), [], []
    monkeypatch.setattr("gui.views.shared_view.texts", lambda p, named, *_: drawn.extend(named))
    monkeypatch.setattr("gui.views.shared_view.write", lambda p, at, *_: cells.append(at))
    qtbot.addWidget(view)
    view.resize(400, 380)
    view.show()
    session.step = step_named(session.block_trace, "store:s")
    view.grab()
    banks, places = view.scene.banks, [box for box, word in drawn if word[0] == "×"]
    assert {f"×{n}" for n in banks.passes if n > 2} <= {word for _, word in drawn}
    assert len(places) > 1
    assert not any(a.intersects(b) for a, b in combinations(places, 2))
    assert not cells, "lanes whose names would lie over those of others have none"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_what_is_being_copied_is_hatched_as_in_the_pipeline_and_has_no_value(qtbot, qapp, theme):
    """Tile 0 of three is there and read, those behind it are on their way."""
    apply_theme(qapp, theme)
    session = Session()
    work = all_kernels()["row_times_matrix"].workload(m=24, stages=3, left=1)
    session.trace = record(work)
    view = SharedView(session)
    qtbot.addWidget(view)
    view.resize(4200, 700)  # cells wide enough for values
    view.show()
    block = session.block_trace
    session.step = step_named(block, "store:ring")
    assert view.accessibleDescription().startswith("Warp 0 begins to copy to ring[0, 0..1, 0..63]")
    (grid,) = view.scene.grids
    assert SharedPainter._sizes(grid)[0] == "3 × 4 × 64   256 being copied"
    view.by_bank.setChecked(True)
    assert view.accessibleDescription().startswith("Warp 0 begins to copy 16 bytes a lane")
    painter = BankMapPainter(QPainter(), current_theme(), view.map, view.map_layout())
    assert painter.verb == "store"
    reads = replace(view.map, title="The copy engine reads shared memory, not swizzled")
    assert BankMapPainter(QPainter(), current_theme(), reads, view.map_layout()).verb == "load"
    view.by_bank.setChecked(False)
    session.step = step_named(block, "load:ring")
    (grid,) = view.scene.grids
    assert SharedPainter._sizes(grid)[:2] == [
        "3 × 4 × 64   256 of 768 written, 512 being copied",
        "3 × 4 × 64   33 % written, 66 % being copied",
    ]
    assert view._about_cell(grid, (1, 2, 3)).endswith(", being copied: may not be there yet")
    assert " = " in view._about_cell(grid, (0, 2, 3))
    (place,) = view.geometry_now().arrays
    picture, colors = view.grab().toImage(), current_theme()
    away = blended(colors.tint("store", AWAY), colors.color("field"))
    for row, column, flying in ((1, 3, False), (5, 3, True), (11, 40, True)):
        cell = place.cells.rect((row, column, 1, 1)).toAlignedRect().adjusted(2, 2, -2, -2)
        seen = {
            QColor(picture.pixel(x, y)).getRgb()[:3]
            for x in range(cell.left(), cell.right())
            for y in range(cell.top(), cell.bottom())
        }
        assert (away in seen) == flying
        assert not flying or len(seen) == 2  # hatched, and no value in it
    session.veiled = frozenset({"pipeline"})  # which asks what is there
    view.grab()
    assert view.accessibleDescription() == "Answer first."


def blended(over, under):
    share = over.alphaF()
    pairs = zip(over.getRgb()[:3], under.getRgb()[:3], strict=True)
    return tuple(round(share * a + (1 - share) * b) for a, b in pairs)
