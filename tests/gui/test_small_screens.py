"""What a small screen, a large one and the projector's type make of the window."""

import math

import pytest
from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QLabel, QTabBar, QWidget

from core.ladder import load_ladder
from core.recording.record_launch import record
from gui.commands.left_column import USUAL
from gui.looks.theme import apply_theme, theme_names
from gui.scenes.roofline import Roofline, _meet, beside, roof_boxes
from gui.shell.app import fit_screen
from gui.views.benchmark_plot import CurvesPanel, LaunchPlot, TwoParts
from gui.views.buttons_and_choices import fitting_choice
from gui.views.captions_and_panels import Caption
from gui.views.view_docks import units

SENTENCE = "16 lanes of warp 0 load A[0..3, 0..3]: 4 sectors where 2 would do."


@pytest.mark.parametrize("theme", theme_names())
def test_no_line_of_a_caption_is_wider_than_the_caption(qapp, qtbot, theme):
    apply_theme(qapp, theme)
    caption = Caption(SENTENCE)
    qtbot.addWidget(caption)
    caption.show()
    for width in range(150, 700):
        caption.resize(width, 80)
        wide = QFontMetricsF(caption.font())
        assert all(wide.horizontalAdvance(line) <= width for line in caption.shown_lines()), width


class Screen:
    def __init__(self, wide, high):
        self.free = QRect(0, 0, wide, high)

    def availableGeometry(self):
        return self.free


@pytest.mark.slow
@pytest.mark.parametrize(
    ("theme", "text", "screen", "has_room"),
    [
        ("light", 100, (1366, 768), True),
        ("projector", 100, (1366, 768), False),
        ("projector", 100, (1920, 1080), True),
        ("light", 150, (3840, 2160), True),
        ("projector", 150, (3840, 2160), True),
    ],
)
def test_a_first_window_is_as_large_as_its_type_needs(
    window, qtbot, monkeypatch, theme, text, screen, has_room
):
    """With the kernels beside the views, where the screen allows that."""
    window.session.update(theme=theme, text_size=text)
    window.hide()
    window.setWindowState(Qt.WindowState.WindowNoState)
    monkeypatch.setattr(window, "screen", lambda: Screen(*screen))
    fit_screen(window)
    window.setWindowState(Qt.WindowState.WindowNoState)
    window.show()
    qtbot.waitUntil(lambda: window.left.isHidden() is not has_room)
    assert window.width() <= screen[0]
    assert window.height() <= screen[1]


def test_a_column_has_its_usual_width_once_there_is_room(window, qtbot):
    """A first window is made smaller than it is shown; what somebody drags stays."""
    window.session.theme = "projector"
    usual = USUAL * units()[0]
    window.resize(1600, 900)
    qtbot.waitUntil(lambda: 250 < window.left.width() < usual)
    window.resize(1920, 1080)
    qtbot.waitUntil(lambda: abs(window.left.width() - usual) <= 2)
    window.body.moveSplitter(usual + 60, 1)
    qtbot.waitUntil(lambda: window.left.width() > usual + 40)
    window.resize(2200, 1100)
    assert window.left.width() > usual + 40


@pytest.mark.slow
def test_a_column_that_comes_by_itself_has_its_usual_width(window, qtbot):
    """It was hidden when its type was chosen."""
    window.resize(1000, 700)
    window.session.theme = "projector"
    qtbot.waitUntil(window.left.isHidden)
    window.resize(2400, 1300)
    usual = USUAL * units()[0]
    qtbot.waitUntil(lambda: abs(window.left.width() - usual) <= 2)


@pytest.fixture(scope="module", params=["tiled", "broken_fill_barrier"])
def trace(request):
    """Without findings, and with the tab that lists them."""
    return record(load_ladder()[request.param].workload(n=8, tile=4))


SCREENS = [QSize(1366, 768), QSize(1280, 800), QSize(1920, 1080)]


@pytest.mark.slow
@pytest.mark.parametrize("text", [100, 150, 200])
def test_nothing_in_the_left_column_is_crushed(window, qtbot, text):
    """Where the type leaves it too little room, the column scrolls."""
    window.resize(1366, 740)
    window.session.text_size = text
    form = window.form
    form.show_rung(load_ladder()["coalesced"])
    form.show_facts("8 blocks of 128 threads, 1024 threads in all; all run and counted.")
    if window.left.isHidden():
        window.left_column.toggle()
    qtbot.waitUntil(window.left.isVisible)
    qtbot.wait(100)
    rows = [form.mapping, form.inputs, form.facts, form.fields, window.selection]
    rows += [form.mapping.ways, window.ladder_panel]
    for row in rows:
        assert row.height() >= row.minimumSizeHint().height(), row
    assert (window.left.verticalScrollBar().maximum() > 0) == (text > 100)


@pytest.mark.slow
@pytest.mark.parametrize("theme", theme_names())
def test_every_tab_is_whole_on_a_screen(window, trace, qtbot, theme):
    window.session.trace = trace
    window.session.update(theme=theme, text_size=100)

    def bars():
        return [bar for bar in window.step_page.findChildren(QTabBar) if bar.isVisible()]

    for size in SCREENS:
        window.resize(size)
        qtbot.waitUntil(lambda size=size: window.size() == size)
        qtbot.waitUntil(lambda: sum(bar.count() for bar in bars()) >= 7)  # at 1920 four need none
        for bar in bars():
            qtbot.waitUntil(
                lambda bar=bar: all(bar.rect().contains(bar.tabRect(i)) for i in range(bar.count()))
            )


# ---- plots


@pytest.mark.parametrize("height", [120, 160, 400])
def test_the_median_is_said_within_the_plot(qapp, qtbot, height):
    apply_theme(qapp, "projector")
    plot = LaunchPlot()
    qtbot.addWidget(plot)
    plot.resize(420, height)
    plot.show()
    qtbot.waitExposed(plot)
    plot.show_values([9301.0 + i % 3 for i in range(20)], "GFLOPS")
    plot.grab()  # which is when the text finds its place
    qtbot.waitUntil(
        lambda: plot.text.sceneBoundingRect().top() >= plot.box.sceneBoundingRect().top()
    )


def test_controls_of_the_sweep_leave_room_for_the_launches(qtbot, qapp):
    apply_theme(qapp, "light")
    panel = CurvesPanel()
    qtbot.addWidget(panel)
    panel.show()

    def in_one_row():
        return len({w.mapTo(panel, QPoint()).y() for w in (panel.quantity, panel.over)}) == 1

    for width, fits in ((420, False), (900, True), (420, False)):
        panel.resize(width, 300)
        qtbot.waitUntil(lambda wanted=fits: in_one_row() == wanted)
        assert panel.hold.mapTo(panel, QPoint()).x() + panel.hold.width() <= width
    assert panel.minimumSizeHint().width() < 450


def test_a_control_that_grows_is_shown_whole(qtbot, qapp):
    """What it offers may come once the row has its size."""
    apply_theme(qapp, "light")
    label, box = QLabel("a control that is wide enough for more"), fitting_choice("Held fixed", "")
    around = QWidget()
    qtbot.addWidget(around)
    box.addItem("short")
    row = TwoParts((label,), (box,))
    row.setParent(around)
    around.show()
    qtbot.waitExposed(around)
    row.setGeometry(0, 0, label.sizeHint().width() + box.sizeHint().width() + 20, 120)
    qtbot.waitUntil(lambda: box.mapTo(row, QPoint()).x() > 0)
    box.addItem("a text that is much longer")
    qtbot.waitUntil(lambda: box.mapTo(row, QPoint()).x() == 0)
    assert box.width() >= box.sizeHint().width()


def test_no_name_of_a_point_is_struck_through_by_the_roof():
    frame = Roofline(1.0, 0.003, 480.0, 300.0, 150_000.0, 4814.0, 66_908.0)
    roof = roof_boxes(frame)
    assert roof[0][0] == pytest.approx(math.log10(frame.left))
    x, y = math.log10(8.0), math.log10(9000.0)
    size, gap, right = (0.9, 0.06), (0.03, 0.01), math.log10(frame.right)
    first = beside((x, y), size, gap, right, roof)
    second = beside((x, y), size, gap, right, [*roof, first])
    third = beside((x, y), size, gap, right, [*roof, first, second])
    narrow = beside((x, y), (1.3, 0.06), gap, math.log10(300.0), [*roof, first, second])
    shift = beside((x, y), (1.7, 0.06), gap, math.log10(300.0), [*roof, first, second])
    assert shift[2] == pytest.approx(math.log10(300.0))  # no room left of the point, nor right
    for box in (first, second, third, narrow, shift):
        assert not any(_meet(box, one) for one in roof)
        assert abs(box[3] - y) < 0.4  # near its point
