"""The header names the launch wherever there is room, and menus and tabs stay whole."""

from itertools import pairwise

import pytest

from gui.scenes.session import Session
from gui.shell.header import Header


def shown_in(window, qtbot, theme, width, height):
    """The window wears a theme at a size."""
    window.session.theme = theme
    window.resize(width, height)
    qtbot.waitUntil(lambda: window.header.width() == width)
    window.header.restyle()


@pytest.mark.parametrize("theme", ["light", "dark", "projector"])
@pytest.mark.slow
def test_every_rung_is_named_at_1280(qtbot, window, ladder, theme):
    header = window.header
    shown_in(window, qtbot, theme, 1280, 800)
    for rung in ladder.values():
        header._title = rung.title
        header.restyle()
        header.layout().activate()
        assert not header.title.isHidden(), rung.title
        shown = header.title.text()
        assert shown == rung.title or (shown.endswith("…") and header.title.toolTip() == rung.title)
        row = [header.menu_bar, header.title]
        row += [header.tabs] if header.tabs.y() < header.title.geometry().bottom() else []
        edges = [(w.geometry().left(), w.geometry().right()) for w in row]
        assert all(right < left for (_, right), (left, _) in pairwise(edges))
        for whole in (header.menu_bar, header.tabs):
            assert whole.width() >= whole.sizeHint().width()
        assert header.tabs.geometry().right() < header.width()


@pytest.mark.slow
def test_menus_and_tabs_are_as_ever_where_there_is_room(qtbot, window):
    header = window.header
    header._title = "Uncoalesced"
    shown_in(window, qtbot, "projector", 1280, 800)
    close = header.menu_bar.sizeHint().width()
    shown_in(window, qtbot, "projector", 1920, 1080)
    assert header.menu_bar.sizeHint().width() > close
    assert header.tabs.button("step").text() == "Step through"
    assert not header.wordmark.isHidden()


def test_a_first_launch_that_failed_is_not_said_to_be_recorded_still(qtbot):
    session = Session()
    header = Header(session)
    qtbot.addWidget(header)
    assert header.facts.text() == "Recording the first launch …"
    session.trouble = "There is no such file."
    assert header.facts.text() == "Nothing has run yet"
    session.trouble = ""
    assert header.facts.text() == "Recording the first launch …"
