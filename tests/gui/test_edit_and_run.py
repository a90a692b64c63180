"""The source pane as an editor, in the whole window."""

import pytest
from PySide6.QtCore import QMimeData, QPoint, Qt
from PySide6.QtGui import QTextCursor

RECORDING_MS = 20_000
CONTROL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def window(window, qtbot):
    record(window, qtbot, lambda: window.recorder.configure("tiled", {"n": 8, "tile": 4}))
    return window


def record(window, qtbot, act):
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        act()


def line_of(window, words):
    lines = window.step_page.source.edit.toPlainText().split("\n")
    return next(i for i, line in enumerate(lines, start=1) if words in line)


def replace_line(window, words, new):
    line = line_of(window, words)
    cursor = QTextCursor(window.step_page.source.edit.document().findBlockByNumber(line - 1))
    cursor.select(QTextCursor.SelectionType.LineUnderCursor)
    cursor.insertText(new)
    return line


def focus_editor(window, qtbot):
    window.activateWindow()
    window.workbench.edit_source()
    qtbot.waitUntil(window.step_page.source.edit.hasFocus)


@pytest.mark.slow
def test_after_an_error_is_undone_another_size_runs_the_text_that_is_there(window, qtbot):
    source, session = window.step_page.source, window.session
    before = session.configuration
    replace_line(window, "float value = 0", "    float value = zero;")
    with qtbot.waitSignal(window.recorder.failed, timeout=RECORDING_MS):
        window.workbench.run_source()
    assert source.edit.errors
    assert "zero" in window.message.sentence
    assert session.configuration != before
    source.edit.undo()
    assert not source.draft.stale
    assert session.configuration == before
    assert not source.edit.errors
    assert not window.message.sentence
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        window.form.editors["n"].setValue(12)
    assert dict(session.trace.workload.parameters)["n"] == 12


@pytest.mark.slow
def test_an_edit_is_run_and_the_original_is_one_click_away(window, qtbot):
    source, session = window.step_page.source, window.session
    before = session.trace
    replace_line(window, "float value = 0", "    float value = 1.0f;")
    assert source.draft.stale
    assert source.state.text() == "● not run yet"
    assert "not run yet" in source.caption.text()
    assert session.trace is before
    focus_editor(window, qtbot)
    record(window, qtbot, lambda: qtbot.keyClick(source.edit, Qt.Key.Key_Return, CONTROL))
    assert session.trace.outputs["C"] == pytest.approx(before.outputs["C"] + 1.0, abs=1e-5)
    assert not source.draft.stale
    assert source.original.isEnabled()
    assert source.state.text() == ""
    record(window, qtbot, source.original.click)
    assert session.trace.workload.source == before.workload.source
    assert not source.original.isEnabled()
    source.edit.undo()
    assert "value = 1.0f" in source.edit.toPlainText()


@pytest.mark.slow
def test_parameters_keep_the_edit(window, qtbot):
    replace_line(window, "float value = 0", "    float value = 1.0f;")
    record(window, qtbot, window.workbench.run_source)
    record(window, qtbot, lambda: window.form.editors["n"].setValue(12))
    assert "value = 1.0f" in window.session.trace.workload.source
    assert window.session.parameters["n"] == 12


@pytest.mark.slow
def test_errors_stand_on_their_lines_and_nothing_is_lost(window, qtbot):
    source, before = window.step_page.source, window.session.trace
    line = replace_line(window, "float value = 0", "    float value = nothing;")
    text = source.edit.toPlainText()
    with qtbot.waitSignal(window.recorder.failed, timeout=RECORDING_MS):
        window.workbench.run_source()
    assert list(source.edit.gutter.errors) == [line]
    assert "nothing" in source.edit.gutter.errors[line]
    assert source.edit.errors[0].cursor.selectedText() == "nothing"
    assert (source.edit.toPlainText(), window.session.trace) == (text, before)
    assert source.draft.stale
    window.message.go.click()
    assert source.edit.textCursor().blockNumber() + 1 == line
    cursor = QTextCursor(source.edit.document())
    cursor.insertText("// a line above\n")
    assert list(source.edit.gutter.errors) == [line + 1]
    window.grab()
    replace_line(window, "nothing", "    float value = 0.0f;")
    record(window, qtbot, window.workbench.run_source)
    assert source.edit.gutter.errors == {}
    assert window.message.sentence == ""


def test_marks_move_with_the_text_and_are_shown_as_stale(window, qtbot):
    gutter, session = window.step_page.source.edit.gutter, window.session
    current, totals = session.current_line, dict(gutter.totals)
    assert gutter.current == current
    QTextCursor(window.step_page.source.edit.document()).insertText("\n\n")
    assert gutter.stale
    assert gutter.current == current + 2
    assert gutter.totals == {line + 2: found for line, found in totals.items()}
    replace_line(window, "tile_a[ty][tx] = ", "    // gone")
    assert len(gutter.totals) == len(totals) - 1
    assert gutter.current != current + 2 or session.current_line is not None
    window.grab()


@pytest.mark.slow
def test_unrun_text_comes_back_with_its_kernel(window, qtbot):
    replace_line(window, "float value = 0", "    float value = 5.0f;")
    record(window, qtbot, lambda: window.recorder.configure("coalesced"))
    assert "5.0f" not in window.step_page.source.edit.toPlainText()
    assert not window.step_page.source.draft.stale
    record(window, qtbot, lambda: window.recorder.configure("tiled", {"n": 8, "tile": 4}))
    assert "5.0f" in window.step_page.source.edit.toPlainText()
    assert window.step_page.source.draft.stale


@pytest.mark.slow
def test_typing_does_not_reach_the_shortcuts(window, qtbot):
    focus_editor(window, qtbot)
    edit, step, unit = window.step_page.source.edit, window.session.step, window.session.unit
    before = edit.toPlainText()
    edit.moveCursor(QTextCursor.MoveOperation.Start)
    for key in (Qt.Key.Key_Space, Qt.Key.Key_3, Qt.Key.Key_N, Qt.Key.Key_Plus, Qt.Key.Key_Right):
        qtbot.keyClick(edit, key)
    assert len(edit.toPlainText()) == len(before) + 4
    assert (window.session.step, window.session.unit, window.session.playing) == (step, unit, 0)
    qtbot.keyClick(edit, Qt.Key.Key_Escape)
    assert not edit.hasFocus()
    qtbot.keyClick(window, Qt.Key.Key_3)
    assert window.session.unit == "barrier"


@pytest.mark.slow
def test_return_indents_and_tab_is_four_spaces(window, qtbot):
    focus_editor(window, qtbot)
    edit = window.step_page.source.edit
    edit.put_caret(line_of(window, "for (int k"))
    edit.moveCursor(QTextCursor.MoveOperation.EndOfLine)
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    indent = edit.textCursor().block().text()
    assert indent.strip() == ""
    assert len(indent) >= 8
    qtbot.keyClick(edit, Qt.Key.Key_Tab)
    assert len(edit.textCursor().block().text()) == len(indent) + 4


@pytest.mark.slow
def test_a_kernel_that_lost_its_name_or_arguments_is_a_sentence(window, qtbot):
    text = window.step_page.source.edit.toPlainText()
    for new in (
        text.replace("void tiled(", "void other("),
        text.replace("int N)", "int N, int q)"),
    ):
        window.step_page.source.edit.set_text(new)
        with qtbot.waitSignal(window.recorder.failed, timeout=RECORDING_MS):
            window.workbench.run_source()
        assert window.message.sentence.endswith(".")
        assert "Traceback" not in window.message.sentence
        assert "unexpectedly" not in window.message.sentence


def test_an_endless_kernel_is_stopped_by_a_key(window, qtbot):
    shown = window.session.trace
    endless = window.session.trace.workload.source.replace(
        "float value = 0.0f;", "float value = 0.0f;\n    while (value != 1.0f) value += 0.3f;"
    )
    assert endless != shown.workload.source
    window.recorder.run_source(endless)
    qtbot.wait(300)
    assert window.recorder.worker.busy
    with qtbot.waitSignal(window.recorder.failed, timeout=2000) as failed:
        qtbot.keyClick(window, Qt.Key.Key_Period, CONTROL)
    assert "was stopped" in str(failed.args[0])
    assert not window.recorder.worker.busy
    assert window.session.trace is shown


def far_right(edit):
    edit.horizontalScrollBar().setValue(edit.horizontalScrollBar().maximum())
    assert edit.horizontalScrollBar().value() > 0


@pytest.mark.slow
def test_lines_are_shown_from_where_they_begin(window, qtbot):
    window.resize(1024, 700)
    window.workbench.edit_source()
    window.commands.leave_field()
    source, session = window.step_page.source, window.session
    source.edit.set_text(source.draft.original.replace("float value = 0", "float " + "v" * 300))
    bar = source.edit.horizontalScrollBar()
    far_right(source.edit)
    session.step += 1
    assert bar.value() == 0
    far_right(source.edit)
    source.put_original()
    assert bar.value() == 0
    replace_line(window, "float value = 0", " " * 200 + "float value = nothing;")
    line = line_of(window, "nothing")
    with qtbot.waitSignal(window.recorder.failed, timeout=RECORDING_MS):
        window.workbench.run_source()
    error = source.edit.cursorRect(source.edit.errors[0].cursor)
    assert source.edit.errors[0].line == line
    assert bar.value() > 0
    assert 0 < error.right() < source.edit.viewport().width()


def test_editing_begins_at_the_running_line(window, qtbot):
    session, edit = window.session, window.step_page.source.edit
    focus_editor(window, qtbot)
    assert edit.textCursor().blockNumber() + 1 == session.current_line
    text = edit.textCursor().block().text()
    assert edit.textCursor().positionInBlock() == len(text) - len(text.lstrip()) > 0
    window.commands.leave_field()
    session.line = line_of(window, "float value = 0")
    focus_editor(window, qtbot)
    assert edit.textCursor().blockNumber() + 1 == session.line
    edit.moveCursor(QTextCursor.MoveOperation.Start)
    focus_editor(window, qtbot)
    assert edit.textCursor().blockNumber() == 0  # the caret of one who types stays


def test_what_is_too_long_is_not_pasted(window, qtbot):
    focus_editor(window, qtbot)
    edit = window.step_page.source.edit
    edit.moveCursor(QTextCursor.MoveOperation.Start)
    before = edit.toPlainText()
    pasted = QMimeData()
    pasted.setText("int x;\n" * 200_000)
    edit.insertFromMimeData(pasted)
    assert edit.toPlainText() == before
    assert "What is pasted has" in window.message.sentence
    assert "characters" in window.message.sentence
    pasted.setText("\n" * 70_000)
    edit.insertFromMimeData(pasted)
    assert "lines, and at most" in window.message.sentence
    pasted.setText("int x;\n")
    edit.insertFromMimeData(pasted)
    assert edit.toPlainText() == f"int x;\n{before}"


def test_a_text_that_is_too_long_is_a_sentence(window, qtbot):
    """It may come with a link, and no editor could lay it out while somebody waits."""
    before = window.step_page.source.edit.toPlainText()
    with qtbot.waitSignal(window.recorder.failed, timeout=RECORDING_MS) as failed:
        window.recorder.run_source(before + "\n" * 70_000)
    assert "at most 65,536 are read" in str(failed.args[0])
    assert window.step_page.source.edit.toPlainText() == before


def text_point(window, line):
    edit = window.step_page.source.edit
    rect = edit.block_rect(edit.document().findBlockByNumber(line - 1))
    return QPoint(60, int(rect.center().y()))


@pytest.mark.slow
def test_letters_are_commands_until_the_text_is_edited(window, qtbot):
    """A click does not begin an edit; F2 does, and Escape ends it and keeps what was typed."""
    source, edit, session = window.step_page.source, window.step_page.source.edit, window.session
    window.activateWindow()
    before, line = edit.toPlainText(), edit.firstVisibleBlock().blockNumber() + 3
    qtbot.mouseClick(edit.viewport(), Qt.MouseButton.LeftButton, pos=text_point(window, line))
    qtbot.waitUntil(edit.hasFocus)
    assert source.mode.text() == "Reading"
    assert len(edit.marks) >= 1, "the caret's line is marked"
    qtbot.keyClick(edit, Qt.Key.Key_W)
    assert session.question is not None
    qtbot.keyClick(edit, Qt.Key.Key_W)
    qtbot.keyClick(edit, Qt.Key.Key_Space)
    assert session.playing
    qtbot.keyClick(edit, Qt.Key.Key_Space)
    for key in (Qt.Key.Key_Return, Qt.Key.Key_Tab, Qt.Key.Key_Backspace, Qt.Key.Key_Delete):
        qtbot.keyClick(edit, key)
    assert edit.toPlainText() == before
    focus_editor(window, qtbot)
    window.commands.leave_field()
    qtbot.mouseClick(edit.viewport(), Qt.MouseButton.LeftButton, pos=text_point(window, line))
    qtbot.keyClick(edit, Qt.Key.Key_F2)
    assert (source.mode.text(), source.switch.text()) == ("Editing", "Done: Esc")
    qtbot.keyClick(edit, Qt.Key.Key_W)
    typed = edit.toPlainText()
    assert typed != before
    assert typed.split("\n")[line - 1].replace("w", "", 1) == before.split("\n")[line - 1]
    qtbot.keyClick(edit, Qt.Key.Key_Escape)
    assert (source.mode.text(), source.switch.text()) == ("Reading", "Edit: F2")
    assert edit.toPlainText() == typed
    assert source.draft.stale


@pytest.mark.slow
def test_undo_and_redo_work_while_reading(window, qtbot):
    edit = window.step_page.source.edit
    before = edit.toPlainText()
    focus_editor(window, qtbot)
    qtbot.keyClicks(edit, "k++;")
    typed = edit.toPlainText()
    assert typed != before
    qtbot.keyClick(edit, Qt.Key.Key_Escape)
    SHIFT = Qt.KeyboardModifier.ShiftModifier
    while edit.document().isUndoAvailable():
        qtbot.keyClick(window, Qt.Key.Key_Z, CONTROL)
    assert edit.toPlainText() == before
    assert not window.step_page.source.draft.stale
    qtbot.keyClick(window, Qt.Key.Key_Z, CONTROL)
    assert window.message.sentence == "There is no edit to undo."
    qtbot.keyClick(window, Qt.Key.Key_Z, CONTROL | SHIFT)
    while edit.document().isRedoAvailable():
        qtbot.keyClick(window, Qt.Key.Key_Y, CONTROL)
    assert edit.toPlainText() == typed
    assert not edit.editing


@pytest.mark.slow
def test_editing_ends_where_the_keyboard_goes_elsewhere(window, qtbot):
    """Or the next click on a line, to select it, would have letters typed into it."""
    focus_editor(window, qtbot)
    assert window.step_page.source.edit.editing
    window.step_page.matrices.setFocus()
    qtbot.waitUntil(lambda: not window.step_page.source.edit.editing)
    window.step_page.source.switch.click()
    assert window.step_page.source.edit.editing
    window.step_page.source.switch.click()
    assert not window.step_page.source.edit.editing
    focus_editor(window, qtbot)
    record(window, qtbot, lambda: window.recorder.configure("coalesced"))
    assert not window.step_page.source.edit.editing, "another source is read at first"
