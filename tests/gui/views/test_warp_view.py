"""Where the parts of the warp view lie when there is little room."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QFontMetricsF

from core.ladder import load_ladder
from core.recording.record_launch import record
from gui.looks.theme import load_theme
from gui.scenes.warp_lanes import warp_scene
from gui.views.warp_view import over_cells, warp_geometry


@pytest.fixture(scope="module")
def scene():
    block = record(load_ladder()["tiled"].workload(n=16, tile=8)).block(0)
    step = next(s for s in range(block.n_steps) if (a := block.access(s)) and a.space == "global")
    return warp_scene(block, step, 0)


@pytest.mark.parametrize("theme", ["light", "projector"])
def test_no_sentence_lies_over_the_lanes_or_their_memory(qapp, scene, theme):
    look = load_theme(theme)
    line, shown = QFontMetricsF(look.font("small")).height(), []
    for height in range(round(6 * line), round(30 * line), 3):
        found = warp_geometry(scene, QRectF(0, 0, 640, height), look)
        parts = [*found.lanes, *(strip.box for strip in found.strip)]
        assert not any(found.readout.intersects(part) for part in parts), height
        shown.append(not found.readout.isEmpty())
    assert shown == sorted(shown)  # where there is room for it once, there is room in all above
    assert shown[-1]


def test_a_number_wider_than_its_cell_stays_over_cells_that_join_it(qapp):
    font = load_theme("light").font("small")
    wide = QFontMetricsF(font).horizontalAdvance("10") + 2
    size = 0.75 * wide
    cells = [QRectF(i * size, 0, size, 20) for i in range(4)]  # then a gap, and one by itself
    cells += [QRectF(10 * size, 0, size, 20)]
    numbers = [(cells[0], "10"), (cells[2], "12"), (cells[3], "13"), (cells[4], "14")]
    found = {words: area for area, words in over_cells(numbers, cells, font)}
    assert found.keys() == {"10", "12", "13"}, "no number lies beside its cells"
    run = QRectF(0, 0, 4 * size, 20)
    assert all(run.contains(area) and area.width() >= wide for area in found.values())
    assert found["10"].left() == 0
    assert found["12"].center().x() == pytest.approx(cells[2].center().x())
    assert found["13"].right() == pytest.approx(4 * size)
