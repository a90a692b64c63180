"""How the views of the Step page are laid out by the room there is, and which is in front."""

import pytest
from PySide6.QtCore import QSize

from gui.views.view_docks import APART, LOW, layout_for, units

VIEWS = {
    "Matrices", "Warp", "Shared", "Source", "PTX", "Phases",
    "Variables", "Counters", "Breakpoints", "Findings", "Pipeline",
}  # fmt: skip
DIGIT, LINE = 12, 23


def cells(layout):
    return [cell for column in layout for row in column.rows for cell in row.cells]


def names(layout):
    return [name for cell in cells(layout) for name in cell.names]


SIZES = (QSize(784, 400), QSize(1264, 640), QSize(1264, 900), QSize(2000, 900), QSize(3800, 2000))


def test_every_view_has_one_place_in_every_layout():
    for size in SIZES:
        assert sorted(names(layout_for(size, DIGIT, LINE))) == sorted(VIEWS)


def test_the_matrices_have_the_page_from_top_to_bottom():
    for size in SIZES:
        first = layout_for(size, DIGIT, LINE)[0]
        assert names((first,))[0] == "Matrices"
        assert len(names((first,))) == 1 or size.height() < LOW * LINE
        assert first.share >= 40


def test_a_low_page_shows_one_view_beside_the_matrices():
    low = layout_for(QSize(1264, 27 * LINE), DIGIT, LINE)
    assert [len(column.rows) for column in low] == [1, 1]
    higher = layout_for(QSize(1264, 29 * LINE), DIGIT, LINE)
    assert [len(column.rows) for column in higher] == [1, 2]


def test_a_view_apart_from_the_page_can_be_read(window, qtbot):
    dock = window.step_page.docks["Source"]
    digit, line = units()
    dock.setFloating(True)
    dock.resize(62, 30)  # as Qt does with one that nothing takes
    qtbot.waitUntil(lambda: dock.width() >= APART[0] * digit)
    assert dock.height() >= APART[1] * line
    dock.setFloating(False)


@pytest.mark.slow
def test_a_page_that_opens_later_has_the_code_in_front(qtbot, qapp, ladder):
    """The first start shows the page Course: the views of this one all appear at once, later."""
    from gui.looks.theme import apply_theme
    from gui.shell.main_window import MainWindow

    apply_theme(qapp, "light")
    window = MainWindow(ladder)
    qtbot.addWidget(window)
    window.resize(1366, 768)
    window.show_page("course")  # without the left column: the views have more room for a moment
    window.show()
    qtbot.waitExposed(window)
    window.look_at_page("step")
    page = window.step_page
    qtbot.waitUntil(lambda: page.in_front("Source"))
    qtbot.wait(50)
    assert page.in_front("Source")
    assert window.session.view != "Variables"
    page.docks["Variables"].raise_()  # as a click on its tab does
    qtbot.waitUntil(lambda: window.session.view == "Variables")
    window.look_at_page("compare")
    window.look_at_page("step")
    qtbot.wait(50)
    assert window.session.view == "Variables"
    assert page.in_front("Variables")
