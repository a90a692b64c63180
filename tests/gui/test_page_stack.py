"""Pages are made in short events: when they are asked for, or ahead; and what can go wrong."""

import gc
import sys
import threading

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QLabel

from gui.background.importing import Importer
from gui.background.pieces import PAUSE, Pieces
from gui.background.still import is_still
from gui.looks.theme import load_theme
from gui.scenes.selection import Configuration
from gui.shell import main_window, pages
from gui.shell.main_window import MainWindow
from gui.shell.pages import PAGES, Page
from gui.views import page_stack
from gui.views.ladder_panel import SideColumn
from gui.views.page_parts import BlankPage, PageView

AHEAD = [page.key for page in PAGES if page.ahead]
WAIT_MS = 20_000


@pytest.fixture
def eager(monkeypatch):
    """Pages are made ahead from the first moment on."""
    monkeypatch.setattr(page_stack, "FIRST_MS", 0)
    monkeypatch.setattr(page_stack, "QUIET_S", 0.0)


class Slow(PageView):
    """A page of several pieces, one of which may fail."""

    made = 0

    def __init__(self, session, fails=False):
        super().__init__(session)
        type(self).made += 1
        self.fails, self.parts, self.stopped, self.refreshed = fails, [], False, 0

    def building(self):
        for piece in range(4):
            if self.fails and piece == 2:
                raise RuntimeError("no paint left")
            self.parts.append(QLabel(str(piece), self))
            yield PAUSE

    def refreshing(self, names):
        self.refreshed += 1
        yield

    def shut_down(self):
        super().shut_down()
        self.stopped = True


@pytest.fixture
def slow(monkeypatch):
    """The page `slow` in place of the occupancy page; its class."""
    Slow.made = 0
    page = Page("occupancy", "Slow", lambda window, _: Slow(window.session), ahead=True)
    listed = tuple(page if p.key == "occupancy" else p for p in PAGES if p.key != "benchmark")
    monkeypatch.setattr(pages, "PAGES", listed)
    monkeypatch.setattr(main_window, "PAGES", listed)
    return Slow


def shown(window, key):
    return window.pages.currentWidget() is window.pages.ready(key) and not is_still(window)


def test_a_page_is_made_behind_an_empty_one(slow, window, qtbot):
    seen = []  # a quick machine may show the empty page for less than a look at it takes

    def look():
        blank = isinstance(window.pages.currentWidget(), BlankPage)
        seen.append((blank, window.pages.ready("occupancy") is not None))

    window.pages.currentChanged.connect(look)
    window.session.page = "occupancy"
    assert window.tabs.value == "occupancy"
    assert window.pages.ready("occupancy") is None
    qtbot.waitUntil(lambda: shown(window, "occupancy"))
    assert seen[0] == (True, False)
    assert not window.transport.isVisible()
    view = window.pages.ready("occupancy")
    assert [part.text() for part in view.parts] == ["0", "1", "2", "3"]
    assert all(part.isVisible() for part in view.parts)
    assert view.refreshed == 1
    window.session.page = "step"
    qtbot.waitUntil(lambda: shown(window, "step"))
    assert window.transport.isVisible()


def test_who_needs_a_page_has_it_at_once(slow, window):
    window.show_page("occupancy")
    assert shown(window, "occupancy")
    window.session.page = "step"
    window.session.page = "occupancy"
    assert window.pages.made("occupancy") is window.pages.currentWidget()
    assert window.pages.made("ceilings") is None
    assert slow.made == 1


@pytest.mark.slow
@pytest.mark.parametrize("key", [page.key for page in PAGES])
def test_every_page_is_whole_either_way(window, qtbot, key):
    window.session.configuration = Configuration("tiled", {"n": 8, "tile": 4})
    window.session.page = key
    qtbot.waitUntil(lambda: shown(window, key), timeout=WAIT_MS)
    assert window.pages.currentWidget().isVisible()
    window.show_page("step")
    window.show_page(key)
    assert shown(window, key)


def test_an_export_finishes_the_page_and_the_theme(slow, window, tmp_path):
    window.session.page = "occupancy"
    window.session.theme = "dark"
    window.exporter.save("Whole window", tmp_path / "window.png")
    assert shown(window, "occupancy")
    assert not window.dressing.busy


def test_the_last_page_that_was_asked_for_is_shown(slow, window, qtbot):
    for key in ("occupancy", "step", "occupancy", "ceilings", "occupancy"):
        window.session.page = key
        qtbot.wait(1)
    qtbot.waitUntil(lambda: shown(window, "occupancy"))
    assert slow.made == 1  # it was gone on with where it had been left


def test_pages_are_made_ahead(eager, window, qtbot):
    window.pages.make_ahead()
    qtbot.waitUntil(lambda: all(window.pages.ready(key) for key in AHEAD), timeout=WAIT_MS)
    assert window.pages.currentWidget() is window.step_page
    assert window.form.isVisible()
    assert not window.findChild(SideColumn).isVisible()  # the comparison is not shown yet
    window.session.theme = "dark"
    seen = []
    window.pages.turned.connect(lambda page: seen.append(window.pages.currentWidget()))
    window.session.page = "benchmark"
    qtbot.waitUntil(lambda: shown(window, "benchmark"))
    assert seen == [window.pages.ready("benchmark")]  # no empty page on the way
    qtbot.waitUntil(lambda: not window.dressing.busy)
    heading = window.pages.ready("benchmark").findChild(QLabel)
    panel = load_theme("dark").surfaces
    assert heading.palette().windowText().color().name() in (panel.text, panel.text_dim)


def test_nothing_is_made_while_somebody_plays(slow, monkeypatch, window, qtbot):
    monkeypatch.setattr(page_stack, "FIRST_MS", 0)
    monkeypatch.setattr(page_stack, "LATER", page_stack.Wait(5))
    monkeypatch.setattr(page_stack, "QUIET_S", 0.0)
    monkeypatch.setattr(window.session.__class__, "playing", 1)
    window.pages.make_ahead()
    qtbot.wait(60)
    assert slow.made == 0
    monkeypatch.undo()


def test_nothing_is_made_just_after_a_step(slow, monkeypatch, window, qtbot):
    monkeypatch.setattr(page_stack, "FIRST_MS", 0)
    monkeypatch.setattr(page_stack, "LATER", page_stack.Wait(5))
    monkeypatch.setattr(page_stack, "QUIET_S", 0.15)
    window.session.update(speed=5.0)
    window.pages.make_ahead()
    qtbot.wait(60)
    assert slow.made == 0
    qtbot.waitUntil(lambda: window.pages.ready("occupancy") is not None, timeout=WAIT_MS)


@pytest.mark.parametrize("events", [0, 1, 3, 6])
def test_a_window_closes_in_the_middle(eager, slow, qapp, ladder, events):
    window = MainWindow(ladder)
    window.show()
    window.pages.make_ahead()
    window.session.page = "occupancy"
    for _ in range(events):
        qapp.processEvents()
    window.close()
    works = window.findChildren(Pieces)
    assert len(works) > 3
    timers = [timer for work in works for timer in work.findChildren(QTimer)]
    assert not any(work.busy for work in works)
    assert not any(timer.isActive() for timer in timers)
    assert all(view.stopped for view in window.pages.findChildren(Slow))
    qapp.processEvents()


def broken(monkeypatch):
    """The page as it is now, but that it fails in its third piece."""
    page = Page("occupancy", "Slow", lambda window, _: Slow(window.session, fails=True), ahead=True)
    listed = tuple(page if p.key == "occupancy" else p for p in pages.PAGES)
    monkeypatch.setattr(pages, "PAGES", listed)
    monkeypatch.setattr(main_window, "PAGES", listed)


def test_a_page_that_cannot_be_made_ahead_is_reported(eager, slow, monkeypatch, window, qtbot):
    broken(monkeypatch)
    with qtbot.capture_exceptions() as caught:
        window.pages.make_ahead()
        qtbot.waitUntil(lambda: slow.made > 0, timeout=WAIT_MS)
        qtbot.waitUntil(lambda: window.pages.ready("ceilings") is not None, timeout=WAIT_MS)
        qtbot.waitUntil(lambda: not window.pages._ahead.busy, timeout=WAIT_MS)
    assert [str(error) for _, error, _ in caught] == ["no paint left"]
    assert window.pages.ready("occupancy") is None
    assert window.pages.currentWidget() is window.step_page
    assert window.isVisible()


def test_a_page_that_cannot_be_opened_says_so_and_may_be_tried_again(
    slow, monkeypatch, window, qtbot
):
    with monkeypatch.context() as patch:
        broken(patch)
        with qtbot.capture_exceptions() as caught:
            window.session.page = "occupancy"
            blank = window.pages._blank
            qtbot.waitUntil(lambda: "no paint left" in blank.sentence.text())
            assert blank.isVisible()
            assert blank.sentence.text().startswith("The page Slow could not be opened")
        assert [str(error) for _, error, _ in caught] == ["no paint left"]
        window.show_page("step")
        with pytest.raises(RuntimeError, match="no paint left"):
            window.show_page("occupancy")
        assert window.pages.made("occupancy") is None
        window.show_page("step")
    window.show_page("occupancy")
    assert shown(window, "occupancy")


def test_a_page_that_cannot_be_brought_to_date_leaves_the_window_painted(
    slow, monkeypatch, window, qtbot
):
    def fail(view, names):
        yield
        raise RuntimeError("no brush left")

    window.show_page("occupancy")
    window.show_page("step")
    monkeypatch.setattr(slow, "refreshing", fail)
    window.session.configuration = Configuration("tiled", {"n": 8, "tile": 4})
    with qtbot.capture_exceptions() as caught:
        window.session.page = "occupancy"
        qtbot.waitUntil(lambda: bool(caught))
        qtbot.waitUntil(lambda: not is_still(window))
    assert [str(error) for _, error, _ in caught] == ["no brush left"]
    window.session.page = "step"
    qtbot.waitUntil(lambda: shown(window, "step"))


def test_an_unknown_page_is_refused(window):
    with pytest.raises(KeyError, match="there is no page 'x'; there are step, compare"):
        window.pages.open("x")


# ---- modules


@pytest.fixture
def modules(tmp_path, monkeypatch):
    """Two modules, one of which cannot be imported; what they saw is in `sys`."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "seen_by_modules", [], raising=False)
    note = "import sys, threading\n"
    append = "sys.seen_by_modules.append(({!r}, threading.current_thread()))\n"
    prepare = f"def prepare():\n    {append.format('prepared')}"
    (tmp_path / "good_module.py").write_text(note + append.format("good") + prepare)
    (tmp_path / "bad_module.py").write_text("raise ImportError('not here')\n")
    yield sys.seen_by_modules
    for name in ("good_module", "bad_module"):
        sys.modules.pop(name, None)


@pytest.fixture
def importer(window):
    importer = Importer(window)
    yield importer
    importer.close()


def test_modules_are_imported_in_another_thread(importer, modules, qtbot):
    assert not importer.want(["bad_module", "good_module"])
    qtbot.waitUntil(lambda: importer.want(["bad_module", "good_module"]))
    assert [what for what, _ in modules] == ["good", "prepared"]
    assert all(thread is not threading.main_thread() for _, thread in modules)
    with pytest.raises(ImportError, match="not here"):
        importer.now(["bad_module"])


def test_what_was_imported_is_settled_before_garbage_is_collected(importer, modules, qtbot):
    settled = []
    importer.settle = lambda: settled.append((gc.isenabled(), threading.current_thread()))
    qtbot.waitUntil(lambda: importer.want(["good_module"]))
    assert [collects for collects, _ in settled] == [False]
    assert settled[0][1] is not threading.main_thread()
    assert gc.isenabled()


def test_modules_are_imported_at_once(importer, modules):
    importer.now(["good_module"])
    assert [what for what, _ in modules] == ["good"]
    assert importer.want(["good_module"])
    assert importer.want([])
