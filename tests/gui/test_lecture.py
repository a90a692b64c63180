"""A list of named moments: as a text, and gone through in the window."""

import os
import random

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QFileDialog, QMenu

from core.errors import ParameterError, TilescopeError
from gui.looks.theme import theme_names
from gui.scenes.lists_of_moments import Named, moments_in, read, text_of, write
from gui.scenes.moment_links import go_to, window_link
from gui.scenes.saved_state import load
from gui.shell.main_window import MainWindow
from gui.shell.session_persistence import Keeper
from tests.gui.scenes.test_link_and_saved import LETTERS, SEEDS, mutated

MS = 20_000
CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def check(ladder):
    return lambda link: window_link(link, ladder, ("light", "dark"))


def test_a_list_is_a_text_that_comes_back(check):
    moments = (Named("The stride", "uncoalesced?n=64&step=39"), Named("# 2: & <b>", "tiled?n=8"))
    assert moments_in(text_of(moments), check) == moments
    assert moments_in(text_of(moments[:1]) + "\n\ncoalesced\n", check)[1].name == "coalesced"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tiled?n=8\n\ntiled?q=3\n", "Line 3 is not a moment."),
        ("# only a name\n", "There is no moment"),
        ("", "There is no moment"),
    ],
)
def test_what_is_no_list_is_a_sentence(check, text, said):
    with pytest.raises(ParameterError, match=said):
        moments_in(text, check)


def test_files_that_cannot_be_used(check, tmp_path):
    with pytest.raises(TilescopeError, match="There is no file"):
        read(tmp_path / "none.txt", check)
    (tmp_path / "binary.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TilescopeError, match="it is not text"):
        read(tmp_path / "binary.txt", check)
    (tmp_path / "long.txt").write_bytes(b"#" * (1 << 20) + b"#")
    with pytest.raises(TilescopeError, match="at most 1,048,576 are read"):
        read(tmp_path / "long.txt", check)
    os.mkfifo(tmp_path / "pipe.txt")
    with pytest.raises(TilescopeError, match="a pipe or a device"):
        read(tmp_path / "pipe.txt", check)
    with pytest.raises(TilescopeError, match="could not be written"):
        write(tmp_path / "no folder" / "x.txt", (Named("a", "tiled"),))


@pytest.mark.slow
def test_moments_are_saved_and_gone_through(window, qtbot, monkeypatch, tmp_path):
    session, lecture = window.session, window.lecture
    lecture.go(1)
    assert "no moments yet" in window.message.sentence
    names = iter(["First", "Second"])
    monkeypatch.setattr("gui.commands.links_and_moments.ask_text", lambda *a, **k: next(names))
    for link in ("tiled?n=8&tile=4&step=12&thread=3", "uncoalesced?n=16&step=20&heat=1"):
        with qtbot.waitSignal(window.recorder.recorded, timeout=MS):
            window.moments.open_link(link)
        qtbot.keyClick(window, Qt.Key.Key_M, CTRL | SHIFT)
    assert [moment.name for moment in lecture.moments] == ["First", "Second"]
    path = tmp_path / "lecture.txt"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a: (str(path), ""))
    lecture.save_list()
    with qtbot.waitSignal(window.recorder.recorded, timeout=MS):
        qtbot.keyClick(window, Qt.Key.Key_PageUp, CTRL)
    assert (session.origin.configuration.rung, session.step, session.thread) == ("tiled", 12, 3)
    assert not session.heat
    with qtbot.waitSignal(window.recorder.recorded, timeout=MS):
        qtbot.keyClick(window, Qt.Key.Key_PageDown, CTRL)
    assert (session.origin.configuration.rung, session.step, session.heat) == (
        "uncoalesced", 20, True,
    )  # fmt: skip
    lecture.go(1)
    assert "the last moment" in window.message.sentence
    menu = next(m for m in window.header.menu_bar.findChildren(QMenu) if m.title() == "Moments")
    menu.aboutToShow.emit()
    listed = {a.text(): a.isChecked() for a in menu.actions() if a.text() in ("First", "Second")}
    assert listed == {"First": False, "Second": True}
    lecture.remove()
    assert [moment.name for moment in lecture.moments] == ["First"]
    before = lecture.moments
    (tmp_path / "wrong.txt").write_text("nothing?\n")
    lecture.open_list(tmp_path / "wrong.txt")
    assert (lecture.moments, "Line 1 is not a moment" in window.message.sentence) == (before, True)
    with qtbot.waitSignal(window.recorder.recorded, timeout=MS):
        lecture.open_list(path)
    assert [moment.name for moment in lecture.moments] == ["First", "Second"]
    assert session.origin.configuration.rung == "tiled"


@pytest.fixture
def listed(window, qtbot, tmp_path):
    """A window with a list of three moments, kept in the test's own folder."""
    Keeper(window, tmp_path / "session.json")
    path = tmp_path / "lesson.txt"
    path.write_text(
        "# The stride: 32 sectors\nuncoalesced?n=16&step=9\n\n"
        "# How many fit\ntiled?n=8&tile=4&page=occupancy\n\n# Back\ntiled?n=8&tile=4&step=3\n"
    )
    with qtbot.waitSignal(window.recorder.recorded, timeout=MS):
        window.workbench.open_file(str(path))  # as `tilescope lesson.txt` does
    return window


@pytest.mark.slow
def test_a_title_shows_while_moments_are_presented(listed, qtbot):
    title, session = listed.moment_title, listed.session
    assert (title.isVisible(), title.text.text()) == (True, "The stride: 32 sectors")
    assert (title.place.text(), title.back.isEnabled()) == ("1 of 3", False)
    with qtbot.waitSignal(listed.recorder.recorded, timeout=MS):
        title.forward.click()
    assert title.text.text() == "How many fit"
    assert session.page == "occupancy"
    with qtbot.waitSignal(listed.recorder.recorded, timeout=MS):
        qtbot.keyClick(listed, Qt.Key.Key_PageDown, CTRL)
    assert (session.page, session.step, title.text.text()) == ("step", 3, "Back")
    assert not title.forward.isEnabled()
    session.step += 5  # still the moment's kernel
    assert title.isVisible()
    with qtbot.waitSignal(listed.recorder.recorded, timeout=MS):
        listed.recorder.configure("coalesced", {"n": 8})
    assert not title.isVisible()
    listed.lecture.show(0)
    title.close_button.click()
    assert not title.isVisible()


@pytest.mark.slow
def test_a_moment_returns_to_its_page_and_leaves_the_theme(listed, qtbot, monkeypatch):
    """Also of a kernel in a file, whose launch is read before it is recorded."""
    source = "__global__ void k(float* a) { a[threadIdx.x] *= 2; }"
    with qtbot.waitSignal(listed.recorder.recorded, timeout=MS):
        listed.recorder.configure("tiled", {"n": 8, "tile": 4})
    listed.step_page.source.edit.set_text(source)
    with qtbot.waitSignal(listed.recorder.recorded, timeout=MS):
        listed.workbench.run_alone()
    listed.show_page("occupancy")
    monkeypatch.setattr(
        "gui.commands.links_and_moments.ask_text", lambda *a, **k: "Mine\x1c\u2028here"
    )
    listed.lecture.save_this()
    assert listed.lecture.moments[1].name == "Mine here"
    listed.session.update(theme="dark")
    for away in (0, 2):
        with qtbot.waitSignal(listed.recorder.recorded, timeout=MS):
            listed.lecture.show(away)
        assert listed.session.page == ("step" if away == 0 else "occupancy")
        with qtbot.waitSignal(listed.recorder.recorded, timeout=MS):
            listed.lecture.show(1)
        assert (listed.session.page, listed.session.theme) == ("occupancy", "dark")
        assert listed.session.trace.workload.source == source


@pytest.mark.slow
def test_moments_keep_themselves(listed, tmp_path, ladder):
    """Saved as soon as they change, whatever becomes of the window; restored at the next start."""
    kept = load(tmp_path / "session.json")
    assert [m.name for m in kept.moments] == ["The stride: 32 sectors", "How many fit", "Back"]
    listed.lecture.show(1)
    listed.close()
    saved = load(tmp_path / "session.json")
    other = MainWindow(ladder)
    keeper = Keeper(other, tmp_path / "session.json")
    keeper.restore_window(saved)
    assert other.lecture.moments == kept.moments
    assert other.lecture.at == 1
    other.close()


def test_what_is_taken_out_of_the_list_comes_back(listed, tmp_path):
    lecture, before = listed.lecture, listed.lecture.moments
    for change, left in ((lecture.clear, 0), (lecture.remove, 2)):
        change()
        assert len(lecture.moments) == len(load(tmp_path / "session.json").moments) == left
        assert listed.message.go.text() == "Undo"
        listed.message.go.click()
        assert lecture.moments == load(tmp_path / "session.json").moments == before
    lecture.undo()
    assert len(lecture.moments) == 2
    lecture.undo()
    assert lecture.moments == before


@pytest.mark.slow
def test_mutated_links_in_the_window(window, qtbot):
    """No exception of a slot or a timer, which pytest-qt would report; at most one message."""
    rng = random.Random(8)
    with qtbot.waitSignal(window.recorder.recorded, timeout=MS):
        window.moments.open_link("tiled?n=8&tile=4")
    ladder, session = window.recorder.ladder, window.session
    for number in range(300):
        text = mutated(SEEDS[number % len(SEEDS)], rng, LETTERS)
        window.message.clear()
        opened = window.moments.open_link(text)
        assert opened or window.message.sentence.endswith(".")
        if opened:
            go_to(session, window_link(text, ladder, theme_names()))  # in what is shown
        QApplication.processEvents()
    with qtbot.waitSignal(window.recorder.recorded, timeout=MS):
        window.moments.open_link("tiled?n=12&tile=4")
