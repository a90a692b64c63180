"""The phase table's columns and rows have the room that their entries need."""

import pytest
from PySide6.QtGui import QFontMetrics

from core.ladder import load_ladder
from core.recording.record_launch import record
from gui.looks.theme import current_theme
from gui.scenes.phase_table_shown import folded, shape_of
from gui.scenes.session import Session
from gui.views.phase_table_view import EDGE, SCALE, PhaseView, line_height


@pytest.fixture
def view(qtbot):
    session = Session()
    session.trace = record(load_ladder()["tiled"].workload(n=12, tile=4))
    view = PhaseView(session)
    qtbot.addWidget(view)
    view.show()
    qtbot.waitUntil(lambda: view.table is not None)
    yield view
    view.shut_down()


def lines_of(cell):
    return [line for entry in cell for line in folded(entry.short)]


def test_every_line_fits_and_nothing_is_wider_than_it_must_be(view):
    metrics, grid = QFontMetrics(current_theme().mono(SCALE)), view.grid
    heads, names = grid.horizontalHeader(), grid.verticalHeader()
    for column in range(len(view.table.columns)):
        lines = [line for row in view.table.rows for line in lines_of(row.cells[column])]
        wide = max(map(metrics.horizontalAdvance, lines), default=0) + 2 * EDGE
        assert grid.columnWidth(column) == max(wide, heads.sectionSizeHint(column))
    for place, row in enumerate(view.table.rows):
        high = max(len(lines_of(cell)) for cell in row.cells) * line_height() + EDGE
        assert grid.rowHeight(place) == max(high, names.sectionSizeHint(place))


def test_the_shape_says_the_longest_line_and_the_highest_cell(view):
    shape = shape_of(view.table)
    assert len(shape.longest) == len(view.table.columns) == 4
    assert len(set(shape.lines)) == 1
    assert len(shape.lines) == 16
    assert all(len(line) <= len(shape.longest[2]) for line in lines_of(view.table.rows[3].cells[2]))
