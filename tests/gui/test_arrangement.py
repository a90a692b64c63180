"""How the views are laid out by the room there is."""

from PySide6.QtCore import QSize

from gui.docks.arrangement import layout_for

VIEWS = {
    "Matrices", "Warp", "Shared", "Source", "PTX", "Phases",
    "Variables", "Counters", "Breakpoints", "Findings",
}  # fmt: skip
DIGIT, LINE = 12, 23


def cells(layout):
    return [cell for row in layout for column in row.columns for cell in column]


def names(layout):
    return [name for cell in cells(layout) for name in cell.names]


def test_every_view_has_one_place_in_every_layout():
    for size in (QSize(1264, 640), QSize(1264, 900), QSize(2000, 900), QSize(3800, 2000)):
        assert sorted(names(layout_for(size, DIGIT, LINE))) == sorted(VIEWS)


def test_a_low_page_shows_one_view_below_over_the_whole_width():
    low = layout_for(QSize(1264, 31 * LINE), DIGIT, LINE)
    assert [len(row.columns) for row in low] == [2, 1]
    assert low[1].columns[0][0].names[0] == "Source"
    higher = layout_for(QSize(1264, 33 * LINE), DIGIT, LINE)
    assert [len(row.columns) for row in higher] == [2, 2]
