"""A list of named moments: as a text, and gone through in the window."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QMenu

from core.errors import ParameterError, TilescopeError
from gui.scenes.link import parse_link
from gui.scenes.moment_list import Named, moments_in, read, text_of, write

MS = 20_000
CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def check(ladder):
    return lambda link: parse_link(link, ladder, ("light", "dark"))


def test_a_list_is_a_text_that_comes_back(check):
    moments = (Named("The stride", "uncoalesced?n=64&step=39"), Named("# 2: & <b>", "tiled?n=8"))
    assert moments_in(text_of(moments), check) == moments
    assert moments_in(text_of(moments[:1]) + "\n\ncoalesced\n", check)[1].name == "coalesced"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tiled?n=8\n\ntiled?q=3\n", "Line 3 is no moment."),
        ("# only a name\n", "There is no moment"),
        ("", "There is no moment"),
    ],
)
def test_what_is_no_list_is_a_sentence(check, text, said):
    with pytest.raises(ParameterError, match=said):
        moments_in(text, check)


def test_files_that_cannot_be_used(check, tmp_path):
    with pytest.raises(TilescopeError, match="cannot be read"):
        read(tmp_path / "none.txt", check)
    (tmp_path / "binary.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TilescopeError, match="it is no text"):
        read(tmp_path / "binary.txt", check)
    (tmp_path / "long.txt").write_bytes(b"#" * (1 << 20) + b"#")
    with pytest.raises(TilescopeError, match="more than 1 MiB"):
        read(tmp_path / "long.txt", check)
    with pytest.raises(TilescopeError, match="cannot be written"):
        write(tmp_path / "no folder" / "x.txt", (Named("a", "tiled"),))


def test_moments_are_saved_and_gone_through(window, qtbot, monkeypatch, tmp_path):
    session, lecture = window.session, window.lecture
    lecture.go(1)
    assert "no moments yet" in window.message.sentence
    names = iter(["First", "Second"])
    monkeypatch.setattr("gui.commands.lecture.ask_text", lambda *a, **k: next(names))
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
    assert (lecture.moments, "Line 1 is no moment" in window.message.sentence) == (before, True)
    with qtbot.waitSignal(window.recorder.recorded, timeout=MS):
        lecture.open_list(path)
    assert [moment.name for moment in lecture.moments] == ["First", "Second"]
    assert session.origin.configuration.rung == "tiled"
