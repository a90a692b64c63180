"""The left column makes room in a window that is narrow for its type, and comes back when asked."""

from gui.commands.left_column import ROOM
from gui.views.view_docks import units


def widths():
    """A window that is wide enough for the column, and one that is not."""
    digit = units()[0]
    return (ROOM + 4) * digit, (ROOM - 10) * digit


def test_the_column_follows_the_room(window, qtbot):
    wide, narrow = widths()
    window.resize(wide, 800)
    assert not window.left.isHidden()
    assert window.left_column.button.isHidden()
    window.resize(narrow, 800)
    assert window.left.isHidden()
    assert window.left_column.button.isVisible()
    assert window.left_column.kept(window.enlarging.left) == -1  # nobody has hidden it
    window.resize(wide, 800)
    assert not window.left.isHidden()


def test_what_somebody_chose_stays(window, qtbot):
    wide, narrow = widths()
    window.resize(narrow, 800)
    window.left_column.button.click()
    assert not window.left.isHidden()
    window.resize(narrow - 8, 800)
    assert not window.left.isHidden()
    window.left_column.toggle()
    window.resize(wide, 800)
    assert window.left.isHidden()
    assert window.left_column.kept(window.enlarging.left) == 0
    assert window.left_column.button.isVisible()


def test_kept_widths_are_taken_up(window, qtbot):
    wide, narrow = widths()
    window.resize(wide, 800)
    window.left_column.restore(0)
    assert window.left.isHidden()
    window.left_column.restore(-1)
    assert not window.left.isHidden()
    window.resize(narrow, 800)
    assert window.left.isHidden()


def test_after_a_lesson_it_has_the_width_it_had(window, qtbot):
    wide, _ = widths()
    window.resize(wide, 800)
    body = window.body
    body.setSizes([window.left.minimumWidth() + 37, body.width()])
    width = body.sizes()[0]
    for _ in range(2):
        window.left_column.show_lesson(True)
        assert window.left.isHidden()
        window.left_column.show_lesson(False)
        window.left_column.make_room(True)  # a page without the column
        window.left_column.make_room(False)
        qtbot.waitUntil(lambda: body.sizes()[0] > 0)
        assert body.sizes()[0] == width > window.left.minimumWidth()
