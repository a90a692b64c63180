"""A user's own kernel in the window: opening, its form, its mistakes."""

import os
import threading
from itertools import pairwise

import pytest
from PySide6.QtCore import QEvent, QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QGuiApplication
from PySide6.QtWidgets import QApplication, QFileDialog

from core.compiler.kernel_parameters import read_signature
from core.emulator.machine import Limits
from core.errors import ParameterError
from core.recording import record_launch
from core.user_files.launch_texts import FileLaunch
from gui.commands import editing_and_opening
from gui.jobs.opening_work import open_job
from gui.scenes.configuration import Configuration
from gui.scenes.launch_form import FILE, array_text, split_array
from gui.scenes.selection import Breakpoint
from gui.views.launch_form import FileForm, LaunchRows

RECORDING_MS = 20_000
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


@pytest.mark.parametrize(
    ("text", "dtype", "parts"),
    [
        ("zeros:float32[8,8]", "float32", ("zeros", "8,8")),
        ("float32[8]", "float32", ("random", "8")),
        ("ones:int32[8]", "float32", ("ones", "int32[8]")),
        ("range:int8[4]", "", ("range", "int8[4]")),
        ("@a b.npy", "float32", (FILE, "a b.npy")),
        ("", "float32", ("random", "")),
    ],
)
def test_array_texts(text, dtype, parts):
    assert split_array(text, dtype) == parts
    again = array_text(*parts, dtype)
    assert split_array(again, dtype) == parts or not text


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.cu"
    path.write_text(SOURCE)
    return path


@pytest.fixture
def opened(window, qtbot, file):
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        window.workbench.open_file(str(file))
    return window


@pytest.mark.slow
def test_a_kernel_chosen_while_a_file_is_read_stays(window, qtbot, file, monkeypatch):
    read = threading.Event()

    def late(progress, *args, **options):
        assert read.wait(RECORDING_MS / 1000)
        return open_job(progress, *args, **options)

    monkeypatch.setattr(editing_and_opening, "open_job", late)
    window.workbench.open_file(str(file))
    window.recorder.configure("tiled")
    read.set()
    workers = window.workbench.opener, window.recorder.worker
    qtbot.waitUntil(lambda: not any(w.busy for w in workers), timeout=RECORDING_MS)
    assert window.session.trace.workload.rung == "tiled"


def type_in(window, name, text):
    edit = window.form.file.fields[name]
    edit = getattr(edit, "shape", edit)
    edit.setText(text)
    edit.textEdited.emit(text)


def recorded(window, qtbot, act):
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        act()


@pytest.mark.slow
def test_a_file_opens_and_runs_at_once(opened, file):
    trace = opened.session.trace
    assert (trace.workload.kernel, trace.workload.source_name) == ("twice", "mine.cu")
    assert trace.outputs["v"] == pytest.approx(2 * trace.workload.launch.arrays[0].data)
    assert opened.form.file.isVisible()
    assert opened.form.editors == {}
    rows = opened.ladder_panel.list
    assert (rows.currentRow(), rows.item(0).text()) == (0, "mine.cu: twice")
    assert "kernel of your own" in opened.ladder_panel.summary.text()
    assert opened.step_page.source.edit.toPlainText() == SOURCE
    assert opened.windowTitle() == "mine.cu: twice – Tilescope"
    assert opened.session.configuration.key == str(file)
    opened.grab()


@pytest.mark.slow
def test_another_kernel_and_other_arguments(opened, qtbot):
    form = opened.form.file
    recorded(opened, qtbot, lambda: form.kernel_chosen.emit("add"))
    assert set(form.fields) >= {"arg:a", "arg:b", "arg:c", "arg:n"}
    assert form.fields["arg:c"].fill.currentText() == "zeros"
    form.fields["arg:a"].fill.setCurrentText("range")
    form.fields["arg:a"].fill.activated.emit(3)
    type_in(opened, "grid", "2")
    recorded(opened, qtbot, lambda: type_in(opened, "arg:n", "40"))
    trace = opened.session.trace
    assert trace.workload.launch.grid.count == 2
    assert trace.outputs["c"][39] == 39 + trace.workload.launch.arrays[1].data[39]
    assert trace.outputs["c"].shape == (40,), "the guessed sizes follow, the grid was typed"


@pytest.mark.slow
def test_each_mistake_stands_beside_its_field(opened, qtbot):
    form, before = opened.form.file, opened.session.trace
    type_in(opened, "block", "2000")
    type_in(opened, "arg:v", "4,x")
    with qtbot.waitSignal(opened.recorder.failed, timeout=RECORDING_MS):
        type_in(opened, "arg:n", "many")
    shown = {name: label.text() for name, label in form.errors.items() if label.isVisible()}
    assert set(shown) == {"block", "arg:v", "arg:n"}
    assert "use 1 to 1024" in shown["block"]
    assert opened.session.trace is before
    type_in(opened, "block", "32")
    type_in(opened, "arg:v", "64")
    recorded(opened, qtbot, lambda: type_in(opened, "arg:n", "64"))
    assert not any(label.isVisible() for label in form.errors.values())


@pytest.mark.slow
def test_the_launch_of_a_file_is_remembered(opened, qtbot, file):
    recorded(opened, qtbot, lambda: type_in(opened, "arg:n", "7"))
    recorded(opened, qtbot, lambda: opened.recorder.configure("tiled", {"n": 8, "tile": 4}))
    assert not opened.form.file.isVisible()
    assert opened.form.values() == {"n": 8, "tile": 4}
    recorded(opened, qtbot, lambda: opened.workbench.open_file(str(file)))
    assert dict(opened.session.configuration.own.arguments)["n"] == "7"
    assert opened.form.file.fields["arg:n"].text() == "7"


@pytest.mark.slow
def test_an_edited_signature_gets_its_fields(opened, qtbot):
    new = SOURCE.replace("float* v, int n", "float* v, int n, float by").replace("2.0f", "by")
    opened.step_page.source.edit.set_text(new)
    recorded(opened, qtbot, opened.workbench.run_source)
    trace = opened.session.trace
    assert "arg:by" in opened.form.file.fields
    assert trace.workload.source == new
    assert opened.step_page.source.original.isEnabled()
    recorded(opened, qtbot, opened.step_page.source.original.click)
    assert "arg:by" not in opened.form.file.fields
    assert opened.session.configuration.source is None


@pytest.mark.slow
def test_files_that_cannot_be_opened_are_a_sentence(window, qtbot, tmp_path):
    (tmp_path / "none.cu").write_text("int x;")
    (tmp_path / "bytes.cu").write_bytes(b"\xff\xfe\x00")
    for name, words in (
        ("none.cu", "has no kernel"),
        ("bytes.cu", "not a text file"),
        ("gone.cu", "There is no file"),
    ):
        window.message.clear()
        window.workbench.open_file(str(tmp_path / name))
        qtbot.waitUntil(lambda words=words: words in window.message.sentence, timeout=RECORDING_MS)


def drop(window, path):
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    copy, left = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
    none = Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(QPoint(300, 300), copy, data, left, none)
    QApplication.sendEvent(window, enter)
    assert enter.isAccepted()
    QApplication.sendEvent(window, QDropEvent(QPointF(300, 300), copy, data, left, none))


@pytest.mark.slow
def test_a_file_can_be_dropped(window, qtbot, file, tmp_path):
    recorded(window, qtbot, lambda: drop(window, file))
    assert window.session.trace.workload.source_name == "mine.cu"
    drop(window, tmp_path / "picture.png")
    assert "is none of .cu, .cuh, .py, .ipynb, .ptx, .npz and .txt" in window.message.sentence
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(file))])
    assert not window.step_page.source.edit.canInsertFromMimeData(data)


@pytest.mark.slow
def test_a_file_is_saved_to_its_place(opened, qtbot, monkeypatch, file, tmp_path):
    """Ctrl+S asks nothing for a file; a copy goes where the dialog says."""
    asked = []
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a: (asked.append(a), ("", ""))[1])
    file.write_bytes(b"\xef\xbb\xbf" + SOURCE.replace("\n", "\r\n").encode())
    opened.step_page.source.edit.set_text(SOURCE + "// mine: \u00b5s\n")
    assert opened.step_page.source.draft.edited
    qtbot.keyClick(opened, Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
    wanted = (SOURCE + "// mine: \u00b5s\n").replace("\n", "\r\n").encode()
    assert file.read_bytes() == b"\xef\xbb\xbf" + wanted
    assert not asked
    assert opened.message.sentence == f"Saved {file}."
    assert not opened.step_page.source.draft.edited
    copy = tmp_path / "copy.cu"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a: (str(copy), ""))
    opened.workbench.save_source_as()
    assert copy.read_text(encoding="utf-8") == SOURCE + "// mine: \u00b5s\n"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a: (str(tmp_path / "a/b"), ""))
    opened.workbench.save_source_as()
    assert "could not be written: there is no folder" in opened.message.sentence


@pytest.mark.slow
def test_a_python_file_opens_and_is_saved_as_a_cuda_source(window, qtbot, monkeypatch, tmp_path):
    path, target, asked = tmp_path / "own.py", tmp_path / "own.cu", []
    text = "code = '''\n__global__ void one(float *x) { x[threadIdx.x] += 1; }\n'''\n"
    path.write_text(text)
    recorded(window, qtbot, lambda: window.workbench.open_file(str(path)))
    assert window.session.trace.workload.kernel == "one"
    assert window.step_page.source.edit.suffix == ".cu"
    monkeypatch.setattr(
        QFileDialog, "getSaveFileName", lambda *a: (asked.append(a[2]), (str(target), ""))[1]
    )
    window.workbench.save_source()
    window.workbench.save_source()
    assert asked == [str(target)], "it is asked for once"
    assert target.read_text().strip() == text.split("\n")[1]
    assert path.read_text() == text


@pytest.mark.slow
def test_what_another_program_wrote_is_not_overwritten_unasked(opened, file):
    file.write_text("// written elsewhere\n")
    opened.step_page.source.edit.set_text(SOURCE + "// mine\n")
    opened.workbench.save_source()
    assert "Another program has changed mine.cu" in opened.message.sentence
    assert file.read_text() == "// written elsewhere\n"
    opened.message.go.click()
    assert file.read_text() == SOURCE + "// mine\n"
    opened.step_page.source.edit.set_text(SOURCE + "// mine, too\n")
    opened.workbench.save_source()
    assert file.read_text() == SOURCE + "// mine, too\n"


@pytest.mark.slow
def test_a_rung_is_saved_where_it_was_saved_first(window, qtbot, monkeypatch, tmp_path):
    recorded(window, qtbot, lambda: window.recorder.configure("tiled", {"n": 8, "tile": 4}))
    asked, target = [], tmp_path / "mine.cu"
    monkeypatch.setattr(
        QFileDialog, "getSaveFileName", lambda *a: (asked.append(a[2]), (str(target), ""))[1]
    )
    text = window.step_page.source.draft.text
    window.workbench.save_source()
    window.step_page.source.edit.set_text(text + "// more\n")
    window.workbench.save_source()
    assert asked == ["tiled.cu"]
    assert target.read_text() == text + "// more\n"
    assert window.step_page.source.draft.edited, "the rung's own text is another"


@pytest.mark.slow
def test_nothing_of_the_kernel_before_stays_beside_an_error(window, qtbot, tmp_path):
    """Until the new file runs, every view is empty and says why."""
    session = window.session
    recorded(window, qtbot, lambda: window.recorder.configure("tiled", {"n": 8, "tile": 4}))
    session.breakpoints = {Breakpoint(line=24)}
    right = "__global__ void fill(float* v)\n{\n    v[threadIdx.x] = 1;\n}\n"
    path = tmp_path / "wrong.cu"
    path.write_text(right.replace(" = 1;", " = 1"))
    with qtbot.waitSignal(window.recorder.failed, timeout=RECORDING_MS):
        window.workbench.open_file(str(path))
    assert session.trace is None
    said = "This source does not compile. Put line 4 right and press Ctrl+Return."
    assert window.step_page.warp.caption.text() == said
    assert window.step_page.source.edit.toPlainText() == path.read_text()
    assert list(window.step_page.source.edit.gutter.errors) == [4]
    assert not window.step_page.source.edit.gutter.totals
    assert not window.step_page.source.edit.gutter.breaks
    assert "Tiled" not in window.windowTitle() + window.header.title.text()
    for view in ("PTX", "Phases", "Variables", "Counters", "Breakpoints", "Source"):
        window.step_page.front(view)
        qtbot.wait(20)
    for page in ("compare", "benchmark", "ceilings", "occupancy", "step"):
        window.show_page(page)
        qtbot.wait(20)
    window.step_page.front("Source")
    assert window.step_page.ptx.text.toPlainText() == ""
    assert window.step_page.counters.model.rows == ()
    assert window.step_page.source.edit.toPlainText() == path.read_text(), "it was hidden meanwhile"
    window.step_page.source.edit.set_text(right)
    recorded(window, qtbot, window.workbench.run_source)
    assert session.trace.workload.kernel == "fill"
    recorded(window, qtbot, lambda: window.recorder.configure("tiled", {"n": 8, "tile": 4}))
    assert session.breakpoints == {Breakpoint(line=24)}


@pytest.mark.slow
def test_a_link_restores_the_moment_of_a_file(opened, qtbot, file, qapp):
    session = opened.session
    recorded(opened, qtbot, lambda: opened.form.file.kernel_chosen.emit("add"))
    recorded(opened, qtbot, lambda: type_in(opened, "arg:n", "50"))
    session.update(block=2, thread=5, element=("b", (9,)))
    session.step = session.n_steps - 2
    opened.moments.copy_link()
    link = qapp.clipboard().text()
    moment = session.step, session.block, session.thread, session.element
    launch = session.origin.configuration.own
    opened.moments.copy_instructions()
    assert qapp.clipboard().text().startswith(f"{file.name}, step {moment[0]} of ")
    assert "holds no copy of it" in qapp.clipboard().text()
    recorded(opened, qtbot, lambda: opened.recorder.configure("tiled", {"n": 8, "tile": 4}))
    recorded(opened, qtbot, lambda: opened.moments.open_link(link))
    assert session.origin.configuration.own == launch == opened.form.file.current()
    assert (session.step, session.block, session.thread, session.element) == moment
    assert opened.message.isHidden()
    file.write_text(SOURCE + "// more\n")
    recorded(opened, qtbot, lambda: opened.moments.open_link(link))
    qtbot.waitUntil(opened.message.isVisible)
    assert "has been changed since this link was made" in opened.message.sentence


@pytest.mark.slow
def test_a_link_carries_an_edited_text_even_without_the_file(opened, qtbot, file, qapp):
    edited = SOURCE.replace("2.0f", "3.0f")
    opened.step_page.source.edit.setPlainText(edited)
    recorded(opened, qtbot, opened.workbench.run_source)
    opened.moments.copy_link()
    link = qapp.clipboard().text()
    file.unlink()
    recorded(opened, qtbot, lambda: opened.recorder.configure("tiled", {"n": 8, "tile": 4}))
    recorded(opened, qtbot, lambda: opened.moments.open_link(link))
    assert opened.session.trace.workload.source == edited


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("kernel=thrice", "mine.cu has no kernel thrice: it has twice and add."),
        ("arg.w=3", "twice has no parameter w: it has v and n."),
        ("kernel=add&arg.n=9&step=2", ""),
    ],
)
def test_a_short_link_guesses_the_rest_or_says_what_is_wrong(window, qtbot, file, query, words):
    link = f"{file}?{query}"
    if not words:
        recorded(window, qtbot, lambda: window.moments.open_link(link))
        assert dict(window.form.file.current().arguments)["n"] == "9"
        assert (window.session.trace.workload.kernel, window.session.step) == ("add", 2)
        return
    window.moments.open_link(link)
    # On a busy machine "Reading takes a while." comes first.
    qtbot.waitUntil(lambda: window.message.sentence == words, timeout=20_000)


def test_a_link_to_a_pipe_or_to_nobody_is_a_sentence(window, qtbot, tmp_path):
    os.mkfifo(tmp_path / "pipe.cu")
    for link, words in (
        (f"{tmp_path}/pipe.cu?step=1", "is a pipe or a device, not a plain file."),
        ("/dev/zero?step=1", "is a pipe or a device, not a plain file."),
        ("~nobody-of-this-name/x.cu?step=1", "there is no such user's folder"),
        ("//host/share/x.cu?step=1", "leads to another computer"),
    ):
        window.message.clear()
        window.moments.open_link(link)
        qtbot.waitUntil(window.message.isVisible, timeout=5000)
        assert words in window.message.sentence
        assert not window.workbench.opener.busy


@pytest.mark.slow
def test_files_are_compared_by_a_link(window, qtbot, file):
    window.moments.open_link(f"{file}?kernel=add&step=3&vs={file}&vs.kernel=add&vs.arg.n=40")
    qtbot.waitUntil(lambda: window.session.versus is not None, timeout=RECORDING_MS)
    from gui.shell.menus import compare_page

    b = compare_page(window).comparing.b
    qtbot.waitUntil(lambda: b.trace is not None, timeout=RECORDING_MS)
    assert dict(b.configuration.own.arguments)["n"] == "40"
    assert b.configuration.own.complete


def test_the_command_line_takes_links_to_files(ladder, file):
    from gui.shell.app import parse_start

    assert parse_start(f"{file}?step=3", {}, ladder).own.path == str(file)
    assert parse_start(str(file), {}, ladder) == file
    for text in (f"{file}?step=3", str(file)):
        with pytest.raises(ParameterError, match="--set is for kernels of the ladder"):
            parse_start(text, {"n": 4}, ladder)


@pytest.mark.slow
def test_a_kernel_pasted_over_a_rung_can_run_by_itself(window, qtbot):
    recorded(window, qtbot, lambda: window.recorder.configure("tiled", {"n": 8, "tile": 4}))
    original = window.step_page.source.draft.original
    window.step_page.source.edit.setPlainText(SOURCE)
    with qtbot.waitSignal(window.recorder.failed, timeout=RECORDING_MS):
        window.workbench.run_source()
    assert "no kernel called tiled; it has: twice" in window.message.sentence
    assert window.message.go.text() == "Run it by itself"
    recorded(window, qtbot, window.message.go.click)
    assert window.session.trace.workload.kernel == "twice"
    assert window.form.file.isVisible()
    assert window.step_page.source.edit.toPlainText() == SOURCE
    assert not window.step_page.source.draft.edited
    assert window.session.origin.configuration.own.name == "untitled.cu"
    recorded(window, qtbot, lambda: window.recorder.configure("tiled", {"n": 8, "tile": 4}))
    assert window.step_page.source.edit.toPlainText() == original, "the rung has its own text again"
    window.step_page.source.edit.setPlainText("no kernel")
    with qtbot.waitSignal(window.recorder.failed, timeout=RECORDING_MS):
        window.workbench.run_source()
    assert window.message.go.isHidden() or window.message.go.text() != "Run it by itself"


@pytest.mark.slow
def test_pictures_say_what_to_do_where_nothing_has_run(window, qtbot, tmp_path):
    path = tmp_path / "wrong.cu"
    path.write_text("__global__ void fill(float* v)\n{\n    v[0] = 1\n}\n")
    with qtbot.waitSignal(window.recorder.failed, timeout=RECORDING_MS):
        window.workbench.open_file(str(path))
    assert window.session.trace is None
    assert window.step_page.warp.caption.text() == (
        "This source does not compile. Put line 4 right and press Ctrl+Return."
    )
    blank = window.step_page.matrices.grab().toImage()
    window.session.trouble = ""
    assert window.step_page.matrices.grab().toImage() != blank
    assert not window.transport.buttons["pause"].isEnabled()
    window.step_page.source.edit.set_text(path.read_text().replace("= 1", "= 1;"))
    recorded(window, qtbot, window.workbench.run_source)
    assert (window.session.trace is not None, window.session.trouble) == (True, "")


@pytest.mark.slow
def test_files_stay_in_reach_above_the_ladder(opened, qtbot, file, tmp_path):
    rows, rungs = opened.ladder_panel.list, len(opened.recorder.ladder.names)
    recorded(opened, qtbot, lambda: type_in(opened, "arg:n", "7"))
    other = tmp_path / "other.cu"
    other.write_text(SOURCE)
    recorded(opened, qtbot, lambda: opened.workbench.open_file(str(other)))
    titles = [rows.item(row).text() for row in range(rows.count())]
    assert titles[:2] == ["other.cu: twice", "mine.cu: twice"]
    assert (rows.currentRow(), len(titles)) == (0, rungs + 2)
    recorded(opened, qtbot, lambda: opened.ladder_panel.choose_next(2))
    assert opened.session.configuration.own is None
    assert rows.currentRow() == 2
    recorded(opened, qtbot, lambda: rows.setCurrentRow(1))
    own = opened.session.configuration.own
    assert (own.path, dict(own.arguments)["n"]) == (str(file), "7")
    assert (rows.currentRow(), rows.item(0).text()) == (0, "mine.cu: twice")


@pytest.mark.slow
def test_the_title_is_shortened_before_anything_else_that_counts(opened, qtbot):
    header = opened.header
    for width in (1920, 1280, 1180, 1024):
        opened.resize(width, 700)
        qtbot.waitUntil(lambda w=width: header.width() == w)
        shown, whole = header.title.text(), opened.session.trace.workload.title
        if not header.title.isVisible():
            assert width == 1024
            continue
        assert shown == whole or (shown.endswith("…") and header.title.toolTip() == whole)
        assert not header.facts.isVisible() or shown == whole
        widgets = [w for w in (header.menu_bar, header.title, header.tabs) if w.isVisible()]
        edges = [(w.geometry().left(), w.geometry().right()) for w in widgets]
        assert all(right < left for (_, right), (left, _) in pairwise(edges))


def test_the_rows_of_another_kernel_take_the_place_of_those_before(qtbot):
    form = FileForm()
    qtbot.addWidget(form)
    twice, add = (FileLaunch("mine.cu", kernel) for kernel in ("twice", "add"))
    for shown in (add, twice):
        form.show_launch(shown, ("twice", "add"), read_signature(SOURCE, shown.kernel))
    assert {"arg:v", "arg:n"} < form.fields.keys()
    assert form.current().kernel == "twice"
    before = form.widget()
    form.show_launch(add, ("twice", "add"), read_signature(SOURCE, "add"))
    form.follow(add)
    form.show_errors({})
    assert form.widget() is not before
    assert {"arg:a", "arg:b", "arg:c"} < form.fields.keys()
    form.show_errors({"arg:a": "Wrong."})
    assert form.errors["arg:a"].text() == "Wrong."
    form.show_errors({})
    assert all(label.isHidden() for label in form.errors.values())
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    assert form.viewport().findChildren(LaunchRows) == [form.widget()]


HELLO = """#include <cstdio>
__global__ void hello() { printf("thread %d\\n", threadIdx.x); }
"""


@pytest.mark.slow
def test_what_a_kernel_prints_is_shown(opened, qtbot, tmp_path):
    path = tmp_path / "hello.cu"
    path.write_text(HELLO)
    recorded(opened, qtbot, lambda: opened.workbench.open_file(str(path)))
    lines = opened.session.trace.printed
    assert len(lines) == opened.session.trace.workload.launch.block.count > 3
    said = opened.message.sentence
    assert said == f"The kernel prints {len(lines)} lines: thread 0 / thread 1 / thread 2 …"
    opened.message.go.click()
    assert QGuiApplication.clipboard().text().splitlines() == list(lines)
    recorded(opened, qtbot, lambda: opened.recorder.configure("vector_add", {"n": 8}))
    assert opened.message.sentence == ""


@pytest.mark.slow
def test_a_printed_line_of_a_gigabyte_is_cut(opened, qtbot, tmp_path):
    path = tmp_path / "wide.cu"
    path.write_text(HELLO.replace("thread %d", "%-1000000000d|"))
    recorded(opened, qtbot, lambda: opened.workbench.open_file(str(path)))
    line = opened.session.trace.printed[0]
    assert 1_000_000 < len(line) <= 1 << 20
    assert opened.message.sentence.startswith("The kernel prints 2 lines: 0  ")
    assert len(opened.message.sentence) < 600


LONG = """
__global__ void k(int* a, int most) {
    for (int i = 0; i < 10000000; i++)
        if (i < most) a[i] = i;
}
"""


@pytest.mark.parametrize("most", [65, 64])
@pytest.mark.slow
def test_what_ran_before_the_budget_was_spent_is_shown(opened, qtbot, tmp_path, most, monkeypatch):
    monkeypatch.setattr(record_launch, "Limits", lambda: Limits(20_000))
    path = tmp_path / "long.cu"
    path.write_text(LONG)
    arguments = (("a", "zeros:int32[64]"), ("most", str(most)))
    launch = FileLaunch(str(path), "k", arguments=arguments)
    recorded(opened, qtbot, lambda: opened.workbench.reopen(Configuration("", own=launch)))
    trace, said = opened.session.trace, opened.message.sentence
    assert trace.workload.kernel == "k"
    assert opened.session.n_steps > 1000
    assert "The kernel was still running after 20\u202f000 instructions" in said
    assert not opened.recorder.counter.busy  # it would not end either
    opened.step_page.views["Findings"].refresh(opened.step_page.views["Findings"].WATCHES)
    if most == 64:
        assert trace.findings == ()
        assert said.endswith("this is the record up to there.")
    else:
        assert said.startswith("Out of bounds. Line 4: thread (0,0) of block (0,0) goes out of")
        opened.message.go.click()
        assert opened.session.line == 4
        assert opened.session.block_trace.access(opened.session.step).faulty.all()


FOREVER = """
__global__ void forever(float* go) {
    float value = 0.0f;
    while (value != go[0]) value += 0.3f;
}
"""


@pytest.mark.slow
def test_after_a_stop_all_speak_of_the_launch_that_is_shown(opened, window, qtbot):
    source, session, form = window.step_page.source, window.session, window.form.file
    before, launch, kept = session.configuration, form.current(), dict(window.workbench.launches)
    source.edit.set_text(FOREVER)
    window.workbench.run_source()
    qtbot.waitUntil(lambda: window.recorder.worker.busy, timeout=RECORDING_MS)
    assert session.configuration.own.kernel == "forever"
    with qtbot.waitSignal(window.recorder.failed, timeout=RECORDING_MS):
        qtbot.keyClick(window, Qt.Key.Key_Period, Qt.KeyboardModifier.ControlModifier)
    assert session.configuration == before
    assert form.current() == launch
    assert form._rows.kernel.currentText() == launch.kernel
    assert window.workbench.launches == kept
    assert source.run.isEnabled(), "what was stopped is typed still"
    window.workbench.undo()
    assert source.edit.toPlainText() == SOURCE
    assert not source.run.isEnabled()
    recorded(window, qtbot, lambda: type_in(window, "grid", "2"))
    assert session.trace.workload.source == SOURCE


@pytest.mark.slow
def test_tab_goes_through_all_fields_of_a_launch_and_scrolls_to_them(opened, qtbot):
    window = opened
    window.resize(1366, 600)
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        window.form.file.kernel_chosen.emit("add")
    form, area = window.form.file, window.form.file.viewport()
    fields = [getattr(field, "shape", field) for field in form.fields.values()]
    qtbot.waitUntil(lambda: form.widget().height() > area.height() > 0)
    assert any(field.visibleRegion().isEmpty() for field in fields)
    window.activateWindow()
    fields[0].setFocus()
    found = [fields[0]]
    while form.isAncestorOf(QApplication.focusWidget()):
        now = QApplication.focusWidget()
        place = now.mapTo(area, now.rect().center())
        assert area.rect().contains(place), now.accessibleName()
        found.append(now)
        qtbot.keyClick(now, Qt.Key.Key_Tab)
    assert [field for field in found[1:] if field in fields] == fields
