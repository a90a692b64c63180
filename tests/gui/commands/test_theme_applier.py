"""A new theme is put on in short events, and is never painted in part."""

import time

import pytest
from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QLabel, QWidget

from gui.background.pieces import PAUSE, SLICE_S, Pieces, whole
from gui.background.still import Still, is_still
from gui.looks.style import rules, stylesheet, window_name
from gui.looks.theme import current_theme, load_theme, theme_names
from gui.shell.main_window import MainWindow

WAIT_MS = 20_000


@pytest.fixture
def pieces():
    parent = QObject()
    yield Pieces(parent)
    parent.deleteLater()


def differing(one: QImage, other: QImage) -> bool:
    return one.size() != other.size() or one != other


def test_pieces_leave_time_for_other_events(qtbot, pieces):
    done, between = [], []

    def work():
        for piece in range(8):
            time.sleep(SLICE_S if piece < 6 else 0)
            done.append(piece)
            yield PAUSE if piece == 6 else None

    others = QTimer(pieces)
    others.timeout.connect(lambda: between.append(len(done)))
    others.start(0)
    with qtbot.waitSignal(pieces.done):
        pieces.start(work())
        assert not done
        assert pieces.busy
    others.stop()
    assert done == list(range(8))
    assert not pieces.busy
    assert {1, 2, 3, 4, 5, 6, 7} <= set(between)


def test_pieces_are_finished_stopped_and_replaced(pieces):
    done, closed = [], []

    def work(name):
        try:
            for _ in range(3):
                done.append(name)
                yield
        except GeneratorExit:
            closed.append(name)
            raise

    pieces.start(work("a"))
    pieces.finish()
    assert done == ["a"] * 3
    second = work("b")
    next(second)
    pieces.start(second)
    pieces.start(work("c"))
    assert closed == ["b"]
    pieces.stop()
    pieces.finish()
    assert done == ["a"] * 3 + ["b"]


def test_the_whole_of_a_work_gives_what_it_returns():
    def work():
        yield
        return 7

    assert whole(work()) == 7


def test_a_piece_that_fails_is_reported_and_others_follow(qtbot, pieces):
    done = []

    class Work:
        def __init__(self):
            self.left = 3

        def __iter__(self):
            return self

        def __next__(self):
            if not self.left:
                raise StopIteration
            self.left -= 1
            if self.left == 1:
                raise RuntimeError("broken")
            done.append(self.left)

    with qtbot.capture_exceptions() as caught, qtbot.waitSignal(pieces.done):
        pieces.start(Work())
    assert [str(error) for _, error, _ in caught] == ["broken"]
    assert done == [2, 0]


class Events(QObject):
    """Counts events of one kind."""

    def __init__(self, watched, kind):
        super().__init__(watched)
        self.kind, self.count = kind, 0
        watched.installEventFilter(self)

    def eventFilter(self, watched, event):
        self.count += event.type() == self.kind
        return False


def test_a_window_is_held_by_several(qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    window.show()
    qtbot.waitExposed(window)
    qtbot.wait(20)
    painted = Events(window, QEvent.Type.Paint)
    one, other = Still(window), Still(window)
    window.update()  # to be painted when it is held
    one.hold([window, window])
    other.hold([window])
    window.update()
    qtbot.wait(20)
    one.release()
    assert not one
    qtbot.wait(20)
    assert is_still(window)
    assert not painted.count
    other.release()
    assert not is_still(window)
    qtbot.waitUntil(lambda: painted.count == 1)
    window.update()
    qtbot.waitUntil(lambda: painted.count == 2)


def test_every_rule_is_bound_to_a_windows_name():
    for text in stylesheet().split("}")[:-1]:
        selectors, _ = text.split("{")
        for selector in selectors.split(","):
            assert selector.strip().split(" ")[0] in {f"#{window_name(n)}" for n in theme_names()}
    assert stylesheet().count("{") == sum(rules(load_theme(n)).count("{") for n in theme_names())


class Painted(QObject):
    """Which themes a window wore each time it was painted: its own, and that of a widget in it."""

    def __init__(self, window, label):
        super().__init__()
        self.window, self.label, self.seen = window, label, []
        window.installEventFilter(self)

    def eventFilter(self, watched, event):
        if event.type() == QEvent.Type.Paint:
            color = self.label.palette().color(self.label.foregroundRole()).name()
            self.seen.append((current_theme().surfaces.text_dim, color))
        return False


def test_no_window_is_painted_half_dressed(window, qtbot):
    headings = (w for w in window.findChildren(QLabel) if w.property("role") == "heading")
    label = next(heading for heading in headings if heading.isVisible())
    painted = Painted(window, label)
    for name in ("dark", "projector", "light"):
        painted.seen.clear()
        window.session.theme = name
        window.update()
        assert window.dressing.busy
        assert is_still(window)
        qtbot.waitUntil(lambda: not window.dressing.busy, timeout=WAIT_MS)
        qtbot.waitUntil(lambda: bool(painted.seen), timeout=WAIT_MS)
        assert not is_still(window)
        assert all(wanted == worn for wanted, worn in painted.seen)
        assert painted.seen[-1][0] == load_theme(name).surfaces.text_dim


@pytest.mark.parametrize("theme", ["dark", "projector"])
def test_piece_by_piece_looks_as_all_at_once(window, qapp, qtbot, theme):
    window.session.theme = theme
    qtbot.waitUntil(lambda: not window.dressing.busy)
    qapp.processEvents()
    pieces = window.grab().toImage()
    window.setStyleSheet(stylesheet() + " ")  # Qt styles every widget anew
    qapp.processEvents()
    assert not differing(pieces, window.grab().toImage())


def test_what_is_hidden_is_dressed_before_it_is_painted(window, qtbot):
    page = window.step_page
    hidden = page.docks["PTX"].view
    assert not hidden.isVisible()
    window.session.theme = "dark"
    qtbot.waitUntil(lambda: not is_still(window))
    page.front("PTX")
    qtbot.waitUntil(hidden.isVisible)
    painted = Painted(hidden, window.ptx.text)
    qtbot.waitUntil(lambda: bool(painted.seen))
    text = window.ptx.text
    assert text.palette().color(text.backgroundRole()).name() == load_theme("dark").surfaces.panel


def test_themes_in_a_row(window, qtbot):
    for name in ("dark", "projector", "dark", "light", "projector"):
        window.session.theme = name
    qtbot.waitUntil(lambda: not window.dressing.busy)
    assert not is_still(window)
    assert window.objectName() == window_name("projector")


def test_a_window_that_goes_away_is_left_as_it_is(qapp, ladder):
    window = MainWindow(ladder)
    window.show()
    window.session.theme = "projector"
    assert window.dressing.busy
    window.close()
    assert not window.dressing.busy
    assert not [timer for timer in window.dressing.findChildren(QTimer) if timer.isActive()]
    qapp.processEvents()


def test_a_view_that_cannot_be_restyled_is_reported_and_the_others_are(window, qtbot, monkeypatch):
    told = []

    def broken():
        raise RuntimeError("no such colour")

    monkeypatch.setattr(window.warp, "restyle", broken)
    monkeypatch.setattr(window.ptx, "restyle", lambda: told.append("ptx"))
    with qtbot.capture_exceptions() as caught:
        window.session.theme = "dark"
        qtbot.waitUntil(lambda: not window.dressing.busy)
    assert [str(error) for _, error, _ in caught] == ["no such colour"]
    assert told == ["ptx"]
    assert not is_still(window)


def test_a_part_that_was_never_shown_wears_the_newest_theme(window, qtbot):
    window.session.theme = "dark"
    late = QLabel("late", window)
    late.setProperty("role", "error")
    late.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    qtbot.waitUntil(lambda: not window.dressing.busy)
    late.show()
    assert late.palette().windowText().color().name() == load_theme("dark").meanings.error
