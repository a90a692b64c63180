"""A question's clicks: by mouse and by keys, in every view; and what is lit once it is answered."""

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtWidgets import QApplication

from core.ladder import all_kernels
from core.lessons.lesson_expressions import Element
from gui.looks.theme import apply_theme
from gui.pictures import image_of
from gui.scenes.question_in_views import MOST_SECTORS, cells_to_pick
from gui.scenes.veils_and_picks import Lit
from gui.shell.main_window import MainWindow

RECORDING_MS = 60_000
PLACES = {
    "element": ("Matrices", "uncoalesced?n=8&block_x=8&block_y=2&at=load:A"),
    "thread": ("Shared", "tiled?n=4&tile=2&at=load:tile_a"),
    "lane": ("Shared", "aat_padded?n=16&tile=16&pad=3&at=store:tile_b"),
    "sector": ("Warp", "copy_stride?n=64&stride=3&block_x=8&at=load:A"),
    "bank": ("Shared", "aat_shared?n=32&tile=32&at=store:tile_b"),
    "line": ("Source", "broken_reuse_barrier?n=8&tile=4&at=load:tile_a"),
}


@pytest.fixture
def window(qtbot, qapp):
    apply_theme(qapp, "light")
    window = MainWindow(all_kernels())
    window.resize(1366, 768)
    window.show()
    qtbot.waitExposed(window)
    yield window
    window.close()
    qapp.processEvents()


@pytest.fixture
def heard(window):
    log = []
    window._keep = lambda *what: log.append(what)
    window.session.picked.connect(window._keep)
    return log


def opened(window, qtbot, target):
    view, link = PLACES[target]
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        assert window.moments.open_link(link)
    window.step_page.front(view)
    window.session.pick_target = target
    qtbot.wait(100)
    return window.step_page.views[view]


@pytest.mark.slow
@pytest.mark.parametrize("target", ["sector", "bank", "lane", "thread"])
def test_a_click_on_a_cell_answers_and_moves_nothing(window, qtbot, heard, target):
    view = opened(window, qtbot, target)
    assert view.pad.isVisible()
    before = dict(window.session.values)
    number, box = list(view.pad.cells().items())[2]
    qtbot.mouseClick(view.pad, Qt.MouseButton.LeftButton, pos=box.center().toPoint())
    assert heard == [(target, number)]
    assert window.session.values == before
    window.session.pick_target = None
    assert not view.pad.isVisible()


def test_a_click_on_an_element_answers_and_selects_nothing(window, qtbot, heard):
    view = opened(window, qtbot, "element")
    grid = view.grids[0]
    box = view._layout.rect(grid, view._view, (2, 1, 1, 1))
    view.click_at(QPointF(box.center()))
    assert heard == [("element", Element(grid.array.name, (2, 1)))]
    assert window.session.element is None
    window.session.pick_target = None
    view.click_at(QPointF(box.center()))
    assert window.session.element == (grid.array.name, (2, 1))


@pytest.mark.slow
def test_a_click_on_a_line_answers(window, qtbot, heard):
    view = opened(window, qtbot, "line")
    view.edit.line_clicked.emit(26)
    view.edit.line_double_clicked.emit(26)
    assert heard == [("line", 26)]
    assert window.session.line is None


@pytest.mark.slow
@pytest.mark.parametrize("target", PLACES)
def test_keys_select_and_answer(window, qtbot, heard, target):
    opened(window, qtbot, target)
    session = window.session
    keys = {
        "thread": (Qt.Key.Key_Down, Qt.KeyboardModifier.NoModifier),
        "lane": (Qt.Key.Key_Down, Qt.KeyboardModifier.NoModifier),
        "sector": (Qt.Key.Key_S, Qt.KeyboardModifier.NoModifier),
        "bank": (Qt.Key.Key_K, Qt.KeyboardModifier.NoModifier),
        "line": (Qt.Key.Key_Down, Qt.KeyboardModifier.AltModifier),
    }
    focus = window.step_page.main_view()
    focus.setFocus()
    if target in ("sector", "bank", "line", "element"):
        qtbot.keyClick(focus, Qt.Key.Key_P)
        assert not heard
        assert f"No {target} is selected" in window.message.sentence
    if target == "element":
        session.element = ("B", (3, 2))
    else:
        qtbot.keyClick(focus, *keys[target])
        if target in ("sector", "bank"):
            qtbot.keyClick(focus, *keys[target])
    qtbot.keyClick(focus, Qt.Key.Key_P)
    wanted = {"element": Element("B", (3, 2)), "line": session.line}.get(target, 1)
    assert heard == [(target, wanted)]


def test_any_line_can_be_selected_while_a_question_asks_for_one(window, qtbot):
    opened(window, qtbot, "line")
    session, stopping = window.session, window.commands.stopping
    now = session.current_line
    stopping.choose_line(forward=True)
    assert session.line == now + 1  # no step is at the brace


@pytest.mark.slow
def test_what_is_typed_may_be_nothing_there_is(window, qtbot):
    for target in PLACES:
        view = opened(window, qtbot, target)
        window.session.pick_target = None
        trace = window.session.trace
        odd: list[Element | int] = [0, 31, 32, 999_999_999]
        for array in (*trace.arrays, *trace.shared_arrays):
            odd += [
                Element(array.name, index) for index in ((1,), (0, 99), (0, 0, 0), (999_999_999, 0))
            ]
        odd.append(Element("nothing", (0, 0)))
        for lit in (Lit(target, (), tuple(odd)), Lit(target, (0,), tuple(odd)), None):
            window.session.lit = lit
            qtbot.wait(50)
            assert not image_of(view, 1.0).isNull()


ANSWERS = {  # the right one and another
    "element": ((Element("A", (1, 0)),), (Element("A", (0, 1)),)),
    "thread": ((0, 1), (0, 2)),
    "lane": ((0, 5), (3,)),
    "sector": ((0, 1, 2), (0, 3)),
    "bank": ((0,), (0, 3)),
    "line": ((31,), (27,)),
}


@pytest.mark.slow
def test_both_answers_are_lit_and_named(window, qtbot):
    for target, (right, given) in ANSWERS.items():
        view = opened(window, qtbot, target)
        window.session.pick_target = None
        qtbot.wait(400)  # the page is laid out
        both_are_lit(window, qtbot, view, target, right, given)


def both_are_lit(window, qtbot, view, target, right, given):
    seen = [image_of(view, 1.0)]
    for lit in (Lit(target, (), given), Lit(target, right, given), Lit(target, right, right), None):
        window.session.update(lit=lit)
        qtbot.wait(50)
        seen.append(image_of(view, 1.0))
        told = view.accessibleDescription() + view.caption.text()
        assert ("Right: " in told) == (lit is not None and bool(lit.right))
        assert ("Yours: " in told) == (lit is not None)
    chosen, both, same, none = seen[1:]
    assert none == seen[0] or target == "line"  # which the lit ones have moved
    assert len({image.cacheKey() for image in seen}) == len(seen)
    for one, other in ((seen[0], chosen), (chosen, both), (both, same)):
        assert one != other, target


@pytest.mark.slow
def test_a_bank_and_a_sector_can_be_selected_without_a_question(window, qtbot):
    view = opened(window, qtbot, "bank")
    session = window.session
    session.pick_target = None
    QApplication.processEvents()
    before = image_of(view, 1.0)
    session.bank = 7
    QApplication.processEvents()
    assert image_of(view, 1.0) != before
    assert "bank=7" in window.moments.link_now()
    g = view.geometry_now()
    place = QPoint(int(g.banks.left() + 3.5 * g.banks.width() / 32), int(g.labels.center().y()))
    qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=place)
    assert session.bank == 3
    warp = opened(window, qtbot, "sector")
    session.pick_target = None
    QApplication.processEvents()
    rect = warp.geometry_now().strip[0].sectors[1]
    qtbot.mouseClick(warp, Qt.MouseButton.LeftButton, pos=rect.center().toPoint())
    assert session.sector == 1
    link = f"{window.moments.link_now()}"
    session.update(sector=None)
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        assert window.moments.open_link(link)
    assert session.sector == 1


def test_cells_tell_nothing_of_the_access(window, qtbot):
    opened(window, qtbot, "sector")
    session = window.session
    assert cells_to_pick(session).numbers == range(24)
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        assert window.moments.open_link("copy_stride?n=4096&stride=1&block_x=32&block=9&at=load:A")
    found = cells_to_pick(session).numbers
    assert len(found) == MOST_SECTORS
    assert found.start % MOST_SECTORS == 0
    assert 9 * 4 in found
