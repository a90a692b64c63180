"""Starts, links and pictures in the whole window; sessions are kept in the test's own folder."""

import random
from dataclasses import replace

import pytest
from pypdf import PdfReader
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QImage, QTextCursor
from PySide6.QtWidgets import QApplication, QFileDialog
from shiboken6 import isValid

from gui.looks.theme import apply_theme
from gui.scenes.saved_state import find, load, said_aside, save
from gui.scenes.selection import Breakpoint
from gui.shell.app import greet
from gui.shell.main_window import MainWindow
from gui.shell.session_persistence import Keeper, theme_of
from tests.gui.scenes.test_link_and_saved import FULL, wrong_type

RECORDING_MS = 20_000


@pytest.fixture
def open_window(qtbot, qapp, ladder):
    apply_theme(qapp, "light")
    windows = []

    def make():
        window = MainWindow(ladder)
        window.resize(1440, 900)
        window.show()
        qtbot.waitExposed(window)
        windows.append(window)
        return window

    yield make
    for window in windows:
        if isValid(window):
            window.close()
    qapp.processEvents()


@pytest.fixture
def window(open_window):
    return open_window()


def recorded(window, qtbot, act):
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        act()


@pytest.mark.slow
def test_a_link_restores_exactly_this_moment(window, qtbot, open_window):
    link = "tiled?n=8&tile=4&step=31&block=2&thread=5&theme=dark"
    recorded(window, qtbot, lambda: window.moments.open_link(link))
    session = window.session
    assert (session.step, session.block, session.thread) == (31, 2, 5)
    assert window.session.theme == "dark"
    assert window.form.values() == {"n": 8, "tile": 4}
    window.moments.copy_link()
    copied = QGuiApplication.clipboard().text()
    assert copied == "tiled?n=8&tile=4&step=31&block=2&thread=5"
    assert copied in window.message.sentence


@pytest.mark.slow
def test_a_link_for_people_without_the_application(window, qtbot):
    link = "tiled?n=8&tile=4&step=31&block=2&thread=5"
    recorded(window, qtbot, lambda: window.moments.open_link(link))
    window.session.update(theme="projector")
    window.moments.copy_instructions()
    told = QGuiApplication.clipboard().text()
    assert told.startswith(f"tiled, step 31 of {window.session.n_steps - 1}, in Tilescope")
    assert "pip install tilescope\n" in told
    assert f'tilescope "{link}"\n' in told
    assert "holds no copy" not in told
    assert "projector" not in told, "who opens it keeps a theme of their own"
    window.session.update(step=3, block=0, thread=0)
    window.session.update(theme="dark")
    # As the one line of the dialog has it: line ends have become spaces.
    recorded(window, qtbot, lambda: window.moments.open_link(told.replace("\n", " ")))
    session = window.session
    assert (session.step, session.block, session.thread) == (31, 2, 5)
    assert session.theme == "dark"


@pytest.mark.slow
def test_a_link_into_a_large_launch_records_its_block(window, qtbot):
    recorded(
        window, qtbot, lambda: window.moments.open_link("tiled?n=512&tile=16&step=40&block=33")
    )
    assert (window.session.block, window.session.step) == (33, 40)
    assert window.session.trace.recorded_blocks == (33,)


@pytest.mark.slow
def test_a_link_carries_an_edit(window, qtbot):
    recorded(window, qtbot, lambda: window.recorder.configure("tiled", {"n": 8, "tile": 4}))
    QTextCursor(window.step_page.source.edit.document()).insertText("// mine\n")
    recorded(window, qtbot, window.workbench.run_source)
    window.moments.copy_link()
    recorded(window, qtbot, lambda: window.recorder.configure("coalesced"))
    link = QGuiApplication.clipboard().text()
    recorded(window, qtbot, lambda: window.moments.open_link(link))
    assert window.session.trace.workload.source.startswith("// mine")


def test_wrong_links_are_sentences_in_the_window(window, qtbot, monkeypatch):
    monkeypatch.setattr("gui.commands.links_and_moments.ask_text", lambda *a, **k: "tiled?n=x")
    window.moments.ask_for_link()
    assert "link's n is “x”" in window.message.sentence
    with qtbot.waitSignal(window.recorder.failed, timeout=RECORDING_MS):
        window.moments.open_link("tiled?n=0&step=3")
    assert "n\u00a0=\u00a00" in window.form.error.text()
    recorded(window, qtbot, lambda: window.moments.open_link("tiled?n=8&tile=4&step=5000"))
    qtbot.waitUntil(lambda: "no step 5000" in window.message.sentence)


@pytest.mark.slow
def test_the_session_comes_back(open_window, qtbot, tmp_path):
    path = tmp_path / "session.json"
    first = open_window()
    Keeper(first, path)
    recorded(first, qtbot, lambda: first.recorder.configure("tiled", {"n": 8, "tile": 4}))
    QTextCursor(first.step_page.source.edit.document()).insertText("// run\n")
    recorded(first, qtbot, first.workbench.run_source)
    QTextCursor(first.step_page.source.edit.document()).insertText("// typed\n")
    first.session.update(block=1, step=20, thread=3, unit="line")
    first.session.update(theme="dark")
    page = first.step_page
    page.splitDockWidget(page.docks["Matrices"], page.docks["PTX"], Qt.Orientation.Vertical)
    assert page.arranged
    assert not page.tabifiedDockWidgets(page.docks["PTX"])
    first.session.breakpoints = {Breakpoint(line=25), Breakpoint(element=("A", (0, 2)))}
    first.session.update(heat=True, counts_by="line")
    first.teaching.greeted = True
    first.close()
    saved = load(path)
    assert saved.toured
    assert theme_of(saved, None) == "dark"
    assert theme_of(saved, "light") == "light"
    second = open_window()
    keeper = Keeper(second, path)
    keeper.restore_window(replace(saved, geometry=""))  # the offscreen screen is too small for it
    recorded(second, qtbot, lambda: keeper.restore_session(saved, "tiled"))
    assert second.teaching.greeted
    session = second.session
    assert (session.block, session.step, session.thread, session.unit) == (1, 20, 3, "line")
    assert session.trace.workload.source.startswith("// run")
    assert second.step_page.source.edit.toPlainText().startswith("// typed\n// run")
    assert second.step_page.source.draft.stale
    assert second.session.breakpoints == {
        Breakpoint(line=25),
        Breakpoint(element=("A", (0, 2))),
    }
    assert (second.session.heat, second.session.counts_by) == (True, "line")
    page = second.step_page
    qtbot.waitUntil(lambda: page.arranged)
    assert not page.tabifiedDockWidgets(page.docks["PTX"])
    beside = {dock.objectName() for dock in page.tabifiedDockWidgets(page.docks["Phases"])}
    assert beside == {"Source", "Pipeline", "Variables", "Counters"}
    page.reset_layout()
    assert not page.arranged
    assert page.docks["PTX"] in page.tabifiedDockWidgets(page.docks["Source"])


@pytest.mark.slow
def test_a_first_start_offers_to_learn_to_look_and_to_bring(open_window, qtbot):
    window = open_window()
    greet(window)
    assert window.teaching.greeted
    page = window.pages.made("course")
    assert window.pages.current is page
    assert not window.transport.isVisible()
    assert not window.left.isVisible()
    qtbot.waitUntil(lambda: page.shown is not None, timeout=60_000)
    assert page.ways["learn"].button.text() == "Begin lesson 1A"
    assert page.ways["learn"].button.hasFocus()
    recorded(window, qtbot, lambda: window.recorder.configure("tiled", {"n": 8, "tile": 4}))
    assert window.session.page == "course"
    page.ways["look"].button.click()
    assert window.session.page == "step"
    assert window.transport.isVisible()


@pytest.mark.slow
def test_a_file_of_ones_own_comes_back(open_window, qtbot, tmp_path):
    source = tmp_path / "mine.cu"
    source.write_text("__global__ void k(int* a) { a[threadIdx.x] = threadIdx.x; }")
    first = open_window()
    Keeper(first, tmp_path / "session.json")
    recorded(first, qtbot, lambda: first.workbench.open_file(str(source)))
    first.session.update(step=2, thread=7)
    step = first.session.step
    first.close()
    saved = load(tmp_path / "session.json")
    second = open_window()
    keeper = Keeper(second, tmp_path / "session.json")
    keeper.restore_window(saved)
    recorded(second, qtbot, lambda: keeper.restore_session(saved, "tiled"))
    assert second.session.trace.workload.source_name == "mine.cu"
    assert (second.session.step, second.session.thread) == (step, 7)
    second.close()
    source.unlink()
    third = open_window()
    keeper = Keeper(third, tmp_path / "other.json")
    recorded(third, qtbot, lambda: keeper.restore_session(saved, "tiled"))
    assert third.session.trace.workload.rung == "tiled"  # the file is gone
    qtbot.waitUntil(lambda: "could not be restored: There is no file" in third.message.sentence)


def test_closing_before_the_moment_is_there_keeps_it(window, tmp_path):
    Keeper(window, tmp_path / "session.json")
    window.moments.open_link("tiled?n=8&tile=4&step=31&block=2")
    window.close()
    saved = load(tmp_path / "session.json")
    assert (saved.configuration.rung, saved.step, saved.block) == ("tiled", 31, 2)


@pytest.mark.slow
def test_a_saved_rung_that_is_gone(open_window, qtbot, tmp_path):
    from gui.scenes.configuration import Configuration
    from gui.scenes.saved_state import Saved

    window = open_window()
    keeper = Keeper(window, tmp_path / "session.json")
    for wanted in (Configuration("gone"), Configuration("tiled", {"n": -4, "tile": 3})):
        saved = Saved(wanted, step=5)
        recorded(window, qtbot, lambda saved=saved: keeper.restore_session(saved, "tiled"))
        assert window.session.trace.workload.parameters["n"] > 0


@pytest.mark.slow
def test_pictures_of_the_window_and_of_views(window, qtbot, tmp_path, monkeypatch):
    recorded(window, qtbot, lambda: window.recorder.configure("tiled", {"n": 8, "tile": 4}))
    window.resize(1920, 1080)  # with room for more views at once
    names = list(window.pictures.views())
    assert {"Whole window", "Matrices", "Source", "Variables", "Scrub bar"} <= set(names)
    for name in names:
        for suffix in (".png", ".pdf"):
            path = tmp_path / f"{name}{suffix}"
            with qtbot.waitSignal(window.pictures.writer.finished, timeout=RECORDING_MS):
                window.pictures.save(name, path)
            if suffix == ".png":
                image = QImage(str(path))
                assert image.width() == 2 * window.pictures.views()[name].width()
            else:
                (sheet,) = PdfReader(path).pages
                view = window.pictures.views()[name]
                assert sheet.mediabox[2:] == [view.width(), view.height()]
    monkeypatch.setattr("gui.commands.saving_pictures.ask_choice", lambda *a, **k: a[2][0])
    monkeypatch.setattr(
        QFileDialog, "getSaveFileName", lambda *a: (str(tmp_path / "x"), "PDF (*.pdf)")
    )
    with qtbot.waitSignal(window.pictures.writer.finished, timeout=RECORDING_MS):
        window.pictures.ask_and_export()
    assert (tmp_path / "x.pdf").stat().st_size > 1000
    monkeypatch.setattr("gui.commands.saving_pictures.ask_choice", lambda *a, **k: "Matrices")
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a: (str(tmp_path / "m.png"), ""))
    with qtbot.waitSignal(window.pictures.writer.finished, timeout=RECORDING_MS):
        window.pictures.ask_and_export()
    assert (tmp_path / "m.png").exists()


def test_pictures_that_cannot_be_written(window, qtbot, tmp_path):
    window.pictures.save("Whole window", tmp_path / "x.svg")
    assert window.message.sentence == "x.svg is neither .png nor .pdf. Choose one of the two."
    for suffix in ("png", "pdf"):
        with qtbot.waitSignal(window.pictures.writer.failed, timeout=RECORDING_MS):
            window.pictures.save("Whole window", tmp_path / "none" / f"x.{suffix}")
        assert "could not be written" in window.message.sentence
    window.pictures.save("Nothing", tmp_path / "x.png")
    assert "no view Nothing" in window.message.sentence


@pytest.mark.slow
def test_closing_right_after_saving_keeps_every_picture(window, tmp_path):
    paths = [tmp_path / f"{n}.png" for n in range(3)]
    for path in paths:
        window.pictures.save("Whole window", path)
    window.close()
    assert all(QImage(str(path)).width() == 2 * window.width() for path in paths)


@pytest.mark.slow
def test_of_two_windows_both_keep_what_was_typed(open_window, qtbot, tmp_path):
    """What one typed comes back in the next window; where both typed into one source, as a file."""
    path = tmp_path / "session.json"
    first, second = open_window(), open_window()
    for window, rung, text in ((first, "coalesced", "// one\n"), (second, "tiled", "// two\n")):
        Keeper(window, path)
        recorded(window, qtbot, lambda w=window: w.recorder.configure("tiled", {"n": 8, "tile": 4}))
        QTextCursor(window.step_page.source.edit.document()).insertText(f"{text}// of both\n")
        recorded(window, qtbot, lambda w=window, r=rung: w.recorder.configure(r))
    QTextCursor(first.step_page.source.edit.document()).insertText("// alone\n")
    first.close()
    second.close()
    saved = load(path)
    assert saved.drafts["tiled"].startswith("// two")
    assert saved.drafts["coalesced"].startswith("// alone")
    (kept,) = saved.aside
    third = open_window()
    keeper = Keeper(third, path)
    keeper.restore_window(saved)
    third.moments.say_with_launch(said_aside(saved.aside))
    recorded(third, qtbot, lambda: keeper.restore_session(saved, "tiled"))
    assert third.step_page.source.edit.toPlainText().startswith("// two")
    qtbot.waitUntil(lambda: kept in third.message.sentence)
    recorded(third, qtbot, lambda: third.workbench.open_file(kept))
    assert third.session.trace.workload.source.startswith("// one")
    third.close()
    assert load(path).aside == ()


@pytest.mark.slow
def test_restored_sessions_that_say_what_cannot_be(open_window, qtbot, tmp_path):
    """No exception of a slot or a timer, which pytest-qt would report."""
    rng = random.Random(6)
    path = tmp_path / "session.json"
    save(FULL, path)
    whole = path.read_bytes()
    window = open_window()
    keeper = Keeper(window, None)
    sessions, restored = 120, 0
    for _ in range(sessions):
        path.write_bytes(wrong_type(whole, rng))
        saved = find(path).saved
        if saved is not None:
            restored += 1
            keeper.restore_window(saved)
            keeper.restore_session(saved, "tiled")
            QApplication.processEvents()
            keeper.saved()
    assert restored > sessions // 20
