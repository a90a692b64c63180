"""Pages are made when they are first shown, once; and what can go wrong."""

import subprocess
import sys

import pytest
from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QLabel

from gui.scenes.configuration import Configuration
from gui.shell import main_window, pages
from gui.shell.main_window import MainWindow
from gui.shell.pages import PAGES, Page
from gui.views.page_stack import BlankPage, PageView


class Slow(PageView):
    """A page that may fail."""

    made = 0
    fails = False

    def __init__(self, session):
        super().__init__(session)
        type(self).made += 1
        self.stopped, self.refreshed = False, 0
        self.part = QLabel("part", self)
        if self.fails:
            raise RuntimeError("no paint left")

    def refresh(self, names):
        self.refreshed += 1

    def shut_down(self):
        super().shut_down()
        self.stopped = True


@pytest.fixture
def slow(monkeypatch):
    """The page `slow` in place of the occupancy page; its class."""
    monkeypatch.setattr(Slow, "made", 0)
    page = Page("occupancy", "Slow", lambda window, _: Slow(window.session))
    listed = tuple(page if p.key == "occupancy" else p for p in PAGES if p.key != "benchmark")
    monkeypatch.setattr(pages, "PAGES", listed)
    monkeypatch.setattr(main_window, "PAGES", listed)
    return Slow


def shown(window, key):
    return window.pages.currentWidget() is window.pages.made(key)


class Painted(QObject):
    """What a widget said each time that it was painted."""

    def __init__(self, widget, label):
        super().__init__(widget)
        self.label, self.seen = label, []
        widget.installEventFilter(self)

    def eventFilter(self, watched, event):
        if event.type() == QEvent.Type.Paint:
            self.seen.append(self.label.text())
        return False


def test_a_page_is_made_behind_one_that_says_so(slow, window):
    blank = window.pages.findChild(BlankPage)
    painted = Painted(blank, blank.sentence)
    window.session.page = "occupancy"
    assert painted.seen[0] == "Opening the page Slow …"
    assert shown(window, "occupancy")
    assert window.tabs.value == "occupancy"
    assert not window.transport.isVisible()
    view = window.pages.made("occupancy")
    assert view.part.isVisible()
    assert view.refreshed == 1
    window.session.page = "step"
    assert shown(window, "step")
    assert window.transport.isVisible()


def test_a_page_is_made_once_and_no_other_with_it(slow, window):
    turned = []
    window.pages.turned.connect(lambda page: turned.append(page.key))
    for key in ("occupancy", "step", "occupancy"):
        window.session.page = key
    assert turned == ["occupancy", "step", "occupancy"]
    assert window.pages.made("occupancy") is window.pages.currentWidget()
    assert window.pages.made("ceilings") is None
    assert slow.made == 1


@pytest.mark.slow
@pytest.mark.parametrize("key", [page.key for page in PAGES])
def test_every_page_can_be_shown_again(window, key):
    window.session.configuration = Configuration("tiled", {"n": 8, "tile": 4})
    for _ in range(2):
        window.show_page(key)
        assert shown(window, key)
        assert window.pages.currentWidget().isVisible()
        window.show_page("step")


def test_a_window_that_closes_has_its_pages_stop(slow, qapp, ladder):
    window = MainWindow(ladder)
    window.show()
    window.session.page = "occupancy"
    view = window.pages.made("occupancy")
    window.close()
    assert view.stopped
    qapp.processEvents()


def test_a_page_that_cannot_be_made_says_so_and_may_be_tried_again(slow, monkeypatch, window):
    with monkeypatch.context() as patch:
        patch.setattr(slow, "fails", True)
        window.session.page = "occupancy"
        blank = window.pages.currentWidget()
        assert blank.isVisible()
        assert blank.sentence.text() == (
            "The page Slow could not be opened: RuntimeError('no paint left')."
        )
        assert window.pages.made("occupancy") is None
        window.show_page("step")
        assert shown(window, "step")
    window.show_page("occupancy")
    assert shown(window, "occupancy")


def test_an_unknown_page_is_refused(window):
    with pytest.raises(KeyError, match="there is no page 'x'; there are step, compare"):
        window.pages.open("x")


READ_AHEAD = """
import sys
from PySide6.QtWidgets import QApplication
from core.ladder import load_ladder
from gui.shell.main_window import MainWindow
from gui.shell.pages import PAGES, read_ahead
app = QApplication([])
window = MainWindow(load_ladder())
assert "pyqtgraph" not in sys.modules
read_ahead().join()
before = set(sys.modules)
for key in ("benchmark", "ceilings", "occupancy"):
    window.show_page(key)
    app.processEvents()
print(sorted(n for n in set(sys.modules) - before if n.startswith(("gui.views.", "pyqtgraph."))))
window.close()
"""


@pytest.mark.slow
def test_what_pages_with_plots_need_is_imported_ahead():
    done = subprocess.run(
        [sys.executable, "-c", READ_AHEAD],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == "[]\n", done.stderr
