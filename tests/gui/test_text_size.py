"""Text size: every view, menu and dialog follows, and it is kept between starts."""

import json
from collections import Counter

import pytest
from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QLabel,
    QLayout,
    QMenu,
    QPushButton,
    QTabBar,
    QToolButton,
    QWidget,
)

from gui.looks.style_sheet import rules, size_rules, window_name
from gui.looks.theme import NORMAL, apply_theme, current_theme, load_theme, theme_names
from gui.scenes.launch_form import KnobRow
from gui.scenes.saved_state import Saved, load, save
from gui.scenes.session import Session
from gui.scenes.setting_choices import TEXT_SIZES
from gui.shell.session_persistence import Keeper, text_size_of
from gui.views.answer_fields import OrderField
from gui.views.captions_and_panels import Panel
from gui.views.launch_form import KnobRows


class Screen:
    """What is asked of a screen."""

    def __init__(self, high, dots=96.0):
        self._high, self._dots = high, dots

    def size(self):
        return QSize(self._high * 16 // 9, self._high)

    def logicalDotsPerInchY(self):
        return self._dots


@pytest.mark.parametrize("name", theme_names())
def test_type_and_distances_grow_alike_and_colours_stay(qapp, name):
    plain, large = load_theme(name), load_theme(name, 150)
    for kind, points in vars(plain.sizes).items():
        assert getattr(large.sizes, kind) == pytest.approx(1.5 * points, abs=0.01)
    assert large.spacing.control == round(1.5 * plain.spacing.control)
    assert (large.surfaces, large.meanings) == (plain.surfaces, plain.meanings)
    assert large.font().pointSizeF() == pytest.approx(1.5 * plain.font().pointSizeF())
    assert large.mono().pointSizeF() == pytest.approx(1.5 * plain.mono().pointSizeF())
    assert load_theme(name, NORMAL) is plain
    assert large.key != plain.key


def test_a_session_has_the_nearest_size_there_is():
    session = Session()
    for asked, given in ((123, 130), (1, 80), (1000, 200), (100, 100)):
        session.text_size = asked
        assert session.text_size == given
    assert tuple(sorted(TEXT_SIZES)) == TEXT_SIZES
    assert NORMAL in TEXT_SIZES


def styled(window):
    """The points of type of everything that the style sheet dresses, by widget."""
    kinds = (QLabel, QToolButton, QPushButton, QMenu, QTabBar)
    found = {}
    for widget in (widget for kind in kinds for widget in window.findChildren(kind)):
        if widget.objectName() == "wordmark" or isinstance(widget.parent(), QTabBar):
            continue  # three points larger than the rest at any size; arrows without a word
        widget.ensurePolished()
        found[widget] = round(widget.font().pointSizeF(), 2)
    return found


def wear(window, size, theme="light"):
    window.session.update(theme=theme, text_size=size)
    window.dressing.dress_hidden(window)


@pytest.mark.parametrize(("theme", "size"), [("light", 150), ("projector", 80)])
@pytest.mark.slow
def test_the_sheet_says_for_each_size_what_a_sheet_of_its_own_would(window, qtbot, theme, size):
    wear(window, size, theme)
    found = styled(window)
    own = rules(load_theme(theme, size))
    window.setStyleSheet(own)  # Qt styles every widget anew
    assert found == styled(window)
    assert len(set(found.values())) > 3


def test_there_are_rules_for_every_theme_and_size(qapp):
    text = size_rules()
    for name in theme_names():
        for size in TEXT_SIZES:
            assert (f'#{window_name(name)}[textSize="{size}"] QLabel' in text) is (size != NORMAL)


@pytest.mark.slow
def test_everything_follows_and_comes_back(window, qtbot):
    before, height = styled(window), window.transport.height()
    digits, source = window.left.minimumWidth(), window.step_page.source.edit.font().pointSizeF()
    wear(window, 150)
    qtbot.wait(20)
    assert current_theme() is load_theme("light", 150)
    assert window.step_page.source.edit.font().pointSizeF() == pytest.approx(1.5 * source)
    assert window.transport.height() > height
    assert window.left.minimumWidth() == pytest.approx(1.5 * digits, rel=0.1)
    after = styled(window)
    grown = [after[widget] / points for widget, points in before.items() if widget in after]
    assert len(grown) > 50
    assert min(grown) == pytest.approx(1.5, rel=0.02)
    assert max(grown) == pytest.approx(1.5, rel=0.02)
    wear(window, NORMAL)
    again = styled(window)
    assert all(again[widget] == points for widget, points in before.items() if widget in again)
    assert current_theme() is load_theme("light")


@pytest.mark.slow
def test_the_largest_text_leaves_the_window_as_large_as_it_is(window, qtbot):
    window.resize(1024, 768)
    wear(window, TEXT_SIZES[-1], "projector")
    qtbot.wait(30)
    assert window.size() == QSize(1024, 768)
    assert window.transport.geometry().bottom() < 768


@pytest.mark.slow
def test_keys_go_through_the_sizes_and_stop_at_the_ends(window, qtbot):
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    control, shift = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
    seen, speed = [], window.session.speed
    for _ in TEXT_SIZES:
        QTest.keyClick(window, Qt.Key.Key_Plus, control)
        seen.append(window.session.text_size)
    assert seen == [115, 130, 150, 175, 200, 200, 200, 200]
    QTest.keyClick(window, Qt.Key.Key_Minus, control)
    assert window.session.text_size == 175
    QTest.keyClick(window, Qt.Key.Key_T, control | shift)
    assert window.session.text_size == NORMAL
    QTest.keyClick(window, Qt.Key.Key_Minus, control)
    assert window.session.text_size == 90
    assert window.session.speed == speed


@pytest.mark.parametrize(
    ("screen", "size"),
    [
        (Screen(800), 100),
        (Screen(1080), 100),
        (Screen(1440), 100),
        (Screen(2160), 150),
        (Screen(2160, dots=192.0), 100),  # fonts are twice as large already
        (Screen(4320), 200),
    ],
)
def test_the_first_guess_is_readable_on_a_high_screen(screen, size):
    assert text_size_of(None, screen) == size
    assert text_size_of(Saved(text_size=115), screen) == 115
    assert text_size_of(Saved(), screen) == size


@pytest.mark.slow
def test_a_chosen_size_is_kept_and_a_guess_is_not(window, tmp_path):
    path = tmp_path / "session.json"
    keeper = Keeper(window, path)
    assert keeper.saved().text_size == 0
    wear(window, 130)
    keeper.save()
    assert load(path).text_size == 130
    data = json.loads(path.read_text())
    del data["text_size"]  # as an earlier version wrote it
    path.write_text(json.dumps(data))
    assert load(path).text_size == 0
    save(Saved(text_size=130), path)
    assert load(path).text_size == 130


def edges_of(window):
    """How many layouts there are of each kind of widget, edges and gap."""
    found = Counter()
    for widget in window.findChildren(QWidget):
        for layout in widget.findChildren(QLayout):
            edges = layout.contentsMargins()
            found[type(widget), edges.left(), edges.right(), layout.spacing()] += 1
    return found


def test_distances_follow_and_come_back(window, qtbot):
    """Of a page that is seen, and of one that is hidden meanwhile."""
    window.pages.open("occupancy")
    window.pages.open("step")
    before = edges_of(window)
    assert (Panel, 12, 8, 2) in before
    wear(window, 150)
    assert window.transport.rows.contentsMargins().left() == 18
    large = edges_of(window)
    assert (Panel, 12, 8, 2) not in large
    assert (Panel, 18, 12, 2) in large
    wear(window, NORMAL)
    assert edges_of(window) == before


def test_fields_of_a_kernel_have_the_room_of_their_type(qapp, qtbot):
    apply_theme(qapp, "light")
    rows, lines = KnobRows(), OrderField(["a = 1;", "b = 2;"], code=True)
    for widget in (rows, lines):
        qtbot.addWidget(widget)
        widget.show()
    rows.show_rows((KnobRow("define", "TILE", 8, (4, 8, 16), "of the file"),))
    wide, high = rows.fields["TILE"].width(), lines.pool.height()
    apply_theme(qapp, "light", 200)
    rows.restyle()
    QApplication.sendEvent(lines.pool, QEvent(QEvent.Type.StyleChange))
    qtbot.waitUntil(lambda: rows.fields["TILE"].width() > 1.9 * wide)
    assert lines.pool.font().pointSizeF() == pytest.approx(2 * 0.9 * load_theme("light").sizes.mono)
    assert lines.pool.height() > 1.5 * high
    apply_theme(qapp, "light")
