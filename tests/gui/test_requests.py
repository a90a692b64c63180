"""What one request says (a link, a file, a text that runs by itself) is not said of the next."""

import time

import pytest
from PySide6.QtCore import Qt

from core.user_files.launch_texts import LARGE
from gui.scenes.saved_state import load
from gui.scenes.selection import Breakpoint
from gui.shell.main_window import MainWindow
from gui.shell.session_persistence import Keeper
from gui.views.ladder_panel import NAME
from tests.for_ever import for_ever

RECORDING_MS = 20_000
SOON_S = 1.0  # of a processor: to fill what is stopped here takes far longer
SOURCE = """
__global__ void twice(float* v, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) v[i] = 2.0f * v[i];
}
__global__ void add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.cu"
    path.write_text(SOURCE)
    return path


def recorded(window, qtbot, act):
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        act()


@pytest.mark.slow
def test_what_a_link_says_is_not_said_of_a_file_that_is_opened_next(window, qtbot, file, tmp_path):
    other = tmp_path / "other.cu"
    other.write_text(SOURCE.replace("2.0f", "5.0f"))
    session = window.session
    window.moments.open_link(f"{file}?kernel=add&block=3&thread=7&step=9")
    recorded(window, qtbot, lambda: window.workbench.open_file(str(other)))
    assert session.origin.configuration.key == str(other)
    assert (session.block, session.thread, session.step) == (0, 0, session.first_access)
    assert window.moments.awaited is None
    recorded(window, qtbot, lambda: window.moments.open_link(f"{file}?kernel=add&block=3&step=9"))
    assert (session.block, session.step) == (3, 9)


@pytest.mark.slow
def test_a_link_is_not_taken_for_the_recording_before_it(window, qtbot, file):
    session = window.session
    window.recorder.configure("tiled", {"n": 8, "tile": 4})
    window.moments.open_link(f"{file}?kernel=add&block=3&step=7")
    qtbot.waitUntil(
        lambda: session.origin is not None and session.origin.configuration.key == str(file),
        timeout=RECORDING_MS,
    )
    assert (session.block, session.step) == (3, 7)


def click(qtbot, panel, place):
    panel.list.scrollToTop()
    qtbot.mouseClick(panel.list.viewport(), Qt.MouseButton.LeftButton, pos=place)


def pasted(window, qtbot):
    recorded(window, qtbot, lambda: window.recorder.configure("tiled", {"n": 8, "tile": 4}))
    window.step_page.source.edit.setPlainText(SOURCE)
    assert window.workbench.stands_alone


@pytest.mark.slow
def test_a_text_that_did_not_come_to_run_by_itself_stays_with_its_rung(window, qtbot, file):
    pasted(window, qtbot)
    window.workbench.run_alone()
    file.write_text(SOURCE.replace("2.0f", "5.0f"))
    recorded(window, qtbot, lambda: window.workbench.open_file(str(file)))
    assert window.session.origin.configuration.key == str(file)
    recorded(window, qtbot, lambda: window.recorder.configure("tiled", {"n": 8, "tile": 4}))
    assert window.step_page.source.edit.toPlainText() == SOURCE
    assert window.step_page.source.draft.stale


@pytest.mark.slow
def test_pasted_texts_are_told_from_one_another(window, qtbot, qapp):
    session, source = window.session, window.step_page.source
    pasted(window, qtbot)
    recorded(window, qtbot, window.workbench.run_alone)
    session.breakpoints = frozenset({Breakpoint(line=3)})
    window.moments.copy_link()
    first = qapp.clipboard().text()
    typed = SOURCE.replace("2.0f", "3.0f")
    source.edit.setPlainText(typed)  # and not run
    recorded(window, qtbot, lambda: window.recorder.configure("tiled", {"n": 8, "tile": 4}))
    other = "\n" + SOURCE.replace("2.0f", "7.0f")
    source.edit.setPlainText(other)
    recorded(window, qtbot, window.workbench.run_alone)
    assert source.edit.toPlainText() == session.trace.workload.source == other
    assert not source.draft.stale
    assert session.breakpoints == frozenset()
    again = other.replace("7.0f", "8.0f")
    source.edit.setPlainText(again)
    recorded(window, qtbot, window.workbench.run_source)
    assert source.edit.toPlainText() == session.trace.workload.source == again
    recorded(window, qtbot, lambda: window.moments.open_link(first))
    assert session.trace.workload.source == SOURCE
    assert source.edit.toPlainText() == typed, "what was typed comes back with its own text"
    assert session.breakpoints == {Breakpoint(line=3)}


@pytest.mark.slow
def test_a_pasted_text_stays_in_the_list_and_in_the_session(window, qtbot, ladder, file, tmp_path):
    pasted(window, qtbot)
    recorded(window, qtbot, window.workbench.run_alone)
    edited = SOURCE.replace("2.0f", "6.0f")
    window.step_page.source.edit.setPlainText(edited)
    recorded(window, qtbot, window.workbench.run_source)
    kept = window.session.configuration
    panel = window.ladder_panel
    names = [panel.list.item(row).data(NAME) for row in range(panel.list.count())]
    place = panel.list.visualItemRect(panel.list.item(names.index("vector_add"))).center()
    recorded(window, qtbot, lambda: click(qtbot, panel, place))
    assert panel.list.currentItem().data(NAME) == window.session.configuration.rung == "vector_add"
    assert panel.list.selectedItems() == [panel.list.currentItem()]
    file.write_text(SOURCE)
    recorded(window, qtbot, lambda: window.workbench.open_file(str(file)))
    place = panel.list.visualItemRect(panel.list.item(1)).center()
    recorded(window, qtbot, lambda: click(qtbot, panel, place))  # and its row becomes the first
    assert window.session.configuration == kept
    assert panel.list.selectedItems() == [panel.list.item(0)] == [panel.list.currentItem()]
    assert panel.list.item(0).data(NAME) == kept.key
    assert window.session.trace.workload.source == window.step_page.source.edit.toPlainText()
    assert window.session.trace.workload.source == edited
    recorded(window, qtbot, lambda: window.recorder.configure("vector_add"))
    path = tmp_path / "session.json"
    Keeper(window, path).save()
    other = MainWindow(ladder)
    Keeper(other, path).restore_window(load(path))
    assert other.workbench.recent_files() == window.workbench.recent_files()
    recorded(other, qtbot, lambda: other.workbench.open_listed(kept.key))
    assert other.session.trace.workload.source == edited
    assert other.session.configuration == kept
    other.close()


@pytest.mark.slow
def test_a_file_that_is_called_untitled_is_not_a_pasted_texts(
    window, qtbot, qapp, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "untitled.cu").write_text("// somebody's\n" + SOURCE.replace("2.0f", "9.0f"))
    pasted(window, qtbot)
    recorded(window, qtbot, window.workbench.run_alone)
    draft = window.step_page.source.draft
    assert window.session.origin.original == draft.original == draft.text == SOURCE
    assert not window.step_page.source.original.isEnabled()
    recorded(window, qtbot, window.workbench.run_source)
    assert window.session.trace.workload.source == SOURCE
    edited = SOURCE.replace("2.0f", "4.0f")
    window.step_page.source.edit.setPlainText(edited)
    recorded(window, qtbot, window.workbench.run_source)
    window.moments.copy_link()
    link = qapp.clipboard().text()
    recorded(window, qtbot, lambda: window.workbench.open_file("untitled.cu"))
    assert "// somebody's" in window.session.trace.workload.source, "the file is a file"
    recorded(window, qtbot, lambda: window.moments.open_link(link))
    assert window.session.origin.configuration.untitled
    assert window.session.trace.workload.source == window.session.origin.original == edited


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.slow
def test_a_file_that_does_not_compile_is_shown_and_can_be_put_right(window, qtbot, file, before):
    if before:
        recorded(window, qtbot, lambda: window.recorder.configure("tiled", {"n": 8, "tile": 4}))
    # With no other kernel, which would be shown in its place.
    broken = SOURCE.split("__global__ void add", maxsplit=1)[0].replace("2.0f * v", "factor * v")
    line = next(i for i, text in enumerate(broken.split("\n"), start=1) if "factor" in text)
    file.write_text(broken)
    source = window.step_page.source
    with qtbot.waitSignal(window.recorder.failed, timeout=RECORDING_MS):
        window.workbench.open_file(str(file))
    assert source.edit.toPlainText() == broken
    assert list(source.edit.gutter.errors) == [line]
    assert source.edit.gutter.totals == {}
    assert source.caption.text() == "It has not run yet. Ctrl+Return runs it."
    assert source.run.isEnabled()
    window.message.go.click()
    assert source.edit.textCursor().blockNumber() + 1 == line
    source.edit.setPlainText(SOURCE)
    recorded(window, qtbot, window.workbench.run_source)
    assert window.session.trace.workload.source == source.edit.toPlainText() == SOURCE
    assert source.edit.gutter.errors == {}
    assert source.draft.original == broken
    recorded(window, qtbot, lambda: window.recorder.configure("tiled", {"n": 8, "tile": 4}))
    assert "__global__ void tiled" in source.edit.toPlainText()


@pytest.mark.slow
def test_a_file_that_takes_long_to_read_is_stopped_at_once(window, qtbot, file, monkeypatch):
    """A small one, too: a few macros may keep a reader for ever."""
    recorded(window, qtbot, lambda: window.recorder.configure("tiled", {"n": 8, "tile": 4}))
    shown, opener = window.session.trace, window.workbench.opener
    window.workbench.waiting._timer.setInterval(200)
    with monkeypatch.context() as patched:
        patched.setattr("core.guessing.launch_guess.launch_of", for_ever)
        window.workbench.open_file(str(file))
        qtbot.waitUntil(
            lambda: window.message.sentence.startswith("Reading takes"), timeout=RECORDING_MS
        )
    window.message.go.click()
    assert not opener.busy
    assert window.message.sentence.startswith("Opening the file was stopped")
    assert window.message.property("kind") == "info", "who asked for it is told of no error"
    recorded(window, qtbot, lambda: window.recorder.configure("tiled", {"n": 8, "tile": 2}))
    assert window.session.trace is not shown
    assert window.message.sentence == ""
    recorded(window, qtbot, lambda: window.workbench.open_file(str(file)))
    assert window.session.trace.workload.source == SOURCE, "a later one is opened all the same"


@pytest.mark.slow
@pytest.mark.parametrize(
    "work", ["core.guessing.launch_guess.launch_of", "core.user_files.launch_texts._read",
             "core.compiler.compile_slice.compile_here"]
)  # fmt: skip
def test_closing_the_window_does_not_wait_for_a_file(qtbot, qapp, ladder, file, work, monkeypatch):
    window = MainWindow(ladder)
    recorded(window, qtbot, lambda: window.recorder.configure("tiled", {"n": 8, "tile": 4}))
    monkeypatch.setattr(work, for_ever)
    file.write_text(f"{SOURCE}// {work}\n")  # what nobody has read or compiled before
    window.moments.open_link(f"{file}?kernel=twice&gridDim=1&blockDim=32&arg.n=32")
    workers = window.workbench.opener, window.recorder.worker
    qtbot.waitUntil(lambda: any(one.busy for one in workers), timeout=RECORDING_MS)
    qtbot.wait(600)
    assert any(one.busy for one in workers)
    window.close()  # and wait for its threads
    qapp.processEvents()


@pytest.mark.slow
def test_closing_the_window_does_not_wait_for_an_array(qtbot, qapp, ladder, file):
    window = MainWindow(ladder)
    recorded(window, qtbot, lambda: window.recorder.configure("tiled", {"n": 8, "tile": 4}))
    launch = "kernel=twice&gridDim=1&blockDim=32&arg.n=32&arg.v=float32[1000000000]"
    window.moments.open_link(f"{file}?{launch}")
    qtbot.waitUntil(lambda: window.recorder.worker.busy, timeout=RECORDING_MS)
    qtbot.wait(600)
    assert window.recorder.worker.busy
    begun = time.process_time()
    window.close()
    assert time.process_time() - begun < SOON_S
    qapp.processEvents()


@pytest.mark.slow
def test_a_constant_of_a_large_source_is_set_off_the_windows_thread(window, qtbot, file):
    constant = "constexpr int WIDTH = 32;\n"
    file.write_text(constant + SOURCE + LARGE // 64 * f"// {60 * 'x'}\n")
    recorded(window, qtbot, lambda: window.workbench.open_file(str(file)))
    opener = window.workbench.opener
    with qtbot.waitSignal(opener.started, timeout=RECORDING_MS):
        recorded(window, qtbot, lambda: window.workbench._turn("constant", "WIDTH", 64))
    assert window.session.trace.workload.source.startswith("constexpr int WIDTH = 64;")
    with qtbot.waitSignal(opener.failed, timeout=RECORDING_MS):
        window.workbench._turn("constant", "HEIGHT", 64)
    assert window.message.sentence.startswith("HEIGHT is no longer a number in the source")


@pytest.mark.slow
def test_a_launch_before_is_spoken_of_where_there_is_one(window, qtbot):
    """At the first start nothing is shown yet."""
    waiting, said = window.workbench.waiting, []
    for _ in range(2):
        waiting._say()
        said.append(window.message.sentence)
        values = {"n": 1, "block_x": len(said)}
        recorded(window, qtbot, lambda v=values: window.recorder.configure("vector_add", v))
    assert said[0] == "Compiling and recording takes a while."
    assert said[1].endswith("takes a while; the views show the launch before.")
    assert window.form.facts.text().startswith("1 block of 2 threads, 2 threads in all; ")
    recorded(window, qtbot, lambda: window.recorder.configure("vector_add", {"n": 1, "block_x": 1}))
    assert window.form.facts.text().startswith("1 block of 1 thread, 1 thread in all; ")
