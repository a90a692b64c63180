"""A new theme is put on what is seen, and on the rest when it is shown; never in part."""

import pytest
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QLabel

from gui.looks.style_sheet import rules, stylesheet, window_name
from gui.looks.theme import current_theme, load_theme, theme_names

WAIT_MS = 20_000


def differing(one: QImage, other: QImage) -> bool:
    return one.size() != other.size() or one != other


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


@pytest.mark.slow
def test_no_window_is_painted_half_dressed(window, qtbot):
    headings = (w for w in window.findChildren(QLabel) if w.property("role") == "heading")
    label = next(heading for heading in headings if heading.isVisible())
    painted = Painted(window, label)
    for name in ("dark", "projector", "light"):
        painted.seen.clear()
        window.session.theme = name
        window.update()
        qtbot.waitUntil(lambda: bool(painted.seen), timeout=WAIT_MS)
        assert all(wanted == worn for wanted, worn in painted.seen)
        assert painted.seen[-1][0] == load_theme(name).surfaces.text_dim


@pytest.mark.parametrize("theme", ["dark", "projector"])
@pytest.mark.slow
def test_widget_by_widget_looks_as_all_at_once(window, qapp, theme):
    window.session.theme = theme
    qapp.processEvents()
    one_by_one = window.grab().toImage()
    window.setStyleSheet(stylesheet() + " ")  # Qt styles every widget anew
    qapp.processEvents()
    assert not differing(one_by_one, window.grab().toImage())


def test_what_is_hidden_is_dressed_before_it_is_painted(window, qtbot):
    page = window.step_page
    hidden = page.docks["PTX"].view
    assert not hidden.isVisible()
    window.session.theme = "dark"
    page.front("PTX")
    qtbot.waitUntil(hidden.isVisible)
    painted = Painted(hidden, window.step_page.ptx.text)
    qtbot.waitUntil(lambda: bool(painted.seen))
    text = window.step_page.ptx.text
    assert text.palette().color(text.backgroundRole()).name() == load_theme("dark").surfaces.panel


@pytest.mark.slow
def test_a_page_is_dressed_when_it_is_shown_again(window, qapp):
    window.show_page("occupancy")
    heading = window.pages.made("occupancy").findChild(QLabel)
    window.show_page("step")
    before = heading.palette().windowText().color()
    for name in ("projector", "dark"):
        window.session.theme = name
    assert heading.palette().windowText().color() == before
    window.show_page("occupancy")
    qapp.processEvents()
    shown = window.grab().toImage()
    window.setStyleSheet(stylesheet() + " ")  # Qt styles every widget anew
    qapp.processEvents()
    assert not differing(shown, window.grab().toImage())


def test_a_part_that_was_never_shown_wears_the_newest_theme(window):
    window.session.theme = "dark"
    late = QLabel("late", window)
    late.setProperty("role", "error")
    late.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    late.show()
    assert late.palette().windowText().color().name() == load_theme("dark").meanings.error
