"""The whole window, on recorded traces, without a display."""

import threading
import time

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu, QTextEdit

from gui.looks.theme import apply_theme, load_theme
from gui.shell.main_window import MainWindow

RECORDING_MS = 20_000


@pytest.fixture
def tiled(window, qtbot):
    return recorded(window, qtbot, "tiled", n=8, tile=4)


def recorded(window, qtbot, rung, **parameters):
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        window.recorder.configure(rung, parameters)
    return window


def press(qtbot, window, key, modifier=Qt.KeyboardModifier.NoModifier):
    qtbot.keyClick(window, key, modifier)


def test_full_screen_goes_back_to_the_window_there_was(window, qtbot):
    """On a small screen a maximised one would come back larger than what the frame leaves."""
    for maximised in (True, False):
        if maximised:
            window.showMaximized()
        else:
            window.showNormal()
        qtbot.waitUntil(lambda wanted=maximised: window.isMaximized() == wanted)
        before = window.geometry()
        press(qtbot, window, Qt.Key.Key_F11)
        qtbot.waitUntil(window.isFullScreen)
        press(qtbot, window, Qt.Key.Key_F11)
        qtbot.waitUntil(lambda: not window.isFullScreen())
        assert window.isMaximized() == maximised
        qtbot.waitUntil(lambda there=before: window.geometry() == there)


@pytest.mark.slow
def test_it_opens_empty_and_then_shows_the_first_access(window, qtbot):
    assert window.session.trace is None
    recorded(window, qtbot, "tiled", n=8, tile=4)
    assert window.windowTitle() == "Tiled (n = 8, tile = 4) – Tilescope"
    assert window.session.block_trace.access(window.session.step).kind == "load"
    assert window.form.values() == {"n": 8, "tile": 4}
    assert "4 blocks of 16 threads" in window.form.facts.text()


@pytest.mark.slow
def test_every_key_of_the_transport(tiled, qtbot):
    session, shift = tiled.session, Qt.KeyboardModifier.ShiftModifier
    press(qtbot, tiled, Qt.Key.Key_Home)
    assert session.step == 0
    press(qtbot, tiled, Qt.Key.Key_Right)
    first = session.step
    assert session.block_trace.access(first) is not None
    press(qtbot, tiled, Qt.Key.Key_Right, shift)
    assert session.phase == 0 or session.step > first
    press(qtbot, tiled, Qt.Key.Key_End)
    assert session.step == session.n_steps - 1
    press(qtbot, tiled, Qt.Key.Key_Left, shift)
    assert session.phase == 1
    for key, unit in zip("1234", ("access", "line", "barrier", "phase"), strict=True):
        qtbot.keyClicks(tiled, key)
        assert session.unit == unit
    press(qtbot, tiled, Qt.Key.Key_Home)
    press(qtbot, tiled, Qt.Key.Key_Space)
    assert session.playing == 1
    press(qtbot, tiled, Qt.Key.Key_Space)
    assert session.playing == 0
    press(qtbot, tiled, Qt.Key.Key_End)
    press(qtbot, tiled, Qt.Key.Key_Space, shift)
    assert session.playing == -1
    press(qtbot, tiled, Qt.Key.Key_Left)
    assert session.playing == 0


def test_keys_choose_thread_warp_and_block(tiled, qtbot):
    session = tiled.session
    press(qtbot, tiled, Qt.Key.Key_Down)
    assert session.thread == 1
    press(qtbot, tiled, Qt.Key.Key_Up)
    press(qtbot, tiled, Qt.Key.Key_Up)
    assert session.thread == 0
    press(qtbot, tiled, Qt.Key.Key_Down, Qt.KeyboardModifier.ControlModifier)
    assert session.block == 1


@pytest.mark.slow
def test_a_changed_parameter_records_again_and_keeps_the_place(tiled, qtbot):
    tiled.session.update(block=3, thread=5)
    with qtbot.waitSignal(tiled.recorder.recorded, timeout=RECORDING_MS):
        tiled.form.editors["n"].setValue(16)
    assert tiled.session.parameters == {"n": 16, "tile": 4}
    assert (tiled.session.block, tiled.session.thread) == (3, 5)


@pytest.mark.slow
def test_a_wrong_parameter_says_why_and_loses_nothing(tiled, qtbot):
    before = tiled.session.trace
    with qtbot.waitSignal(tiled.recorder.failed, timeout=RECORDING_MS):
        tiled.form.editors["n"].setValue(0)
    assert "n\u00a0=\u00a00 is too small" in tiled.form.error.text()
    assert tiled.form.error.isVisible()
    assert tiled.session.trace is before
    with qtbot.waitSignal(tiled.recorder.failed, timeout=RECORDING_MS):
        tiled.form.editors["n"].setValue(10)  # not a multiple of the tile
    assert tiled.form.values()["n"] == 10
    with qtbot.waitSignal(tiled.recorder.recorded, timeout=RECORDING_MS):
        tiled.form.editors["n"].setValue(12)
    assert tiled.form.error.isHidden()


def test_a_compile_error_goes_to_its_line_and_keeps_the_trace(tiled, qtbot):
    from core.errors import CompileError, Diagnostic

    before = tiled.session.trace
    found = Diagnostic("error", 24, None, 'identifier "x" is undefined')
    tiled.recorder.failed.emit(CompileError('Line 24: identifier "x" is undefined.', [found]))
    assert tiled.message.sentence.startswith("Line 24")
    tiled.message.go.click()
    assert tiled.session.line == 24
    assert tiled.step_page.source.edit.gutter.errors == {24: 'identifier "x" is undefined'}
    assert tiled.session.trace is before
    press(qtbot, tiled, Qt.Key.Key_Escape)
    assert tiled.message.sentence == ""


@pytest.mark.slow
def test_another_rung_starts_anew(tiled, qtbot):
    tiled.session.update(thread=9, line=24)
    with qtbot.waitSignal(tiled.recorder.recorded, timeout=RECORDING_MS):
        tiled.ladder_panel.choose_next(-2)
    assert tiled.session.trace.workload.rung == "uncoalesced"
    assert (tiled.session.thread, tiled.session.line) == (0, None)
    assert tiled.header.title.text() == "Uncoalesced"


@pytest.mark.slow
def test_every_rung_opens_in_its_default_configuration(window, qtbot, ladder):
    for name in ladder.names:
        recorded(window, qtbot, name)
        assert window.session.trace.workload.rung == name
        while window.session.seek("phase"):
            window.grab()


@pytest.mark.slow
def test_only_the_block_looked_at_is_run_when_the_launch_is_large(window, qtbot):
    recorded(window, qtbot, "tiled", n=512, tile=16)
    trace = window.session.trace
    assert not trace.complete
    assert trace.recorded_blocks == (0,)
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        window.selection._boxes["block"].setValue(33)
    assert window.session.block == 33
    assert window.session.block_trace.index.y == 1


@pytest.mark.slow
def test_a_large_launch_is_counted_whole_in_the_background(window, qtbot):
    recorded(window, qtbot, "tiled", n=512, tile=16)
    qtbot.waitUntil(lambda: window.session.counted is not None, timeout=RECORDING_MS)
    loads = window.session.counts.counters.totals["global_ld_requests"]
    assert loads.value == 2 * 32 * 32 * 32 * 8  # A and B; 32 phases; 32 x 32 blocks; 8 warps
    window.step_page.front("Counters")
    assert window.step_page.counters.caption.text().startswith("The whole launch moved")
    assert "024 blocks of 256 threads" in window.form.facts.text()
    assert "all counted" in window.form.facts.text()
    counted = window.session.counted
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        window.session.block = 5
    assert window.session.counted is counted  # the same launch: nothing is counted again
    recorded(window, qtbot, "tiled", n=8, tile=4)
    assert window.session.counted is None


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["dark", "projector", "light"])
def test_themes_change_while_it_is_open(tiled, qtbot, theme):
    tiled.session.update(theme=theme)
    image = tiled.grab().toImage()
    edge = image.pixelColor(4, image.height() - 4)
    assert (edge.lightness() < 90) == (theme == "dark")
    menu = next(m for m in tiled.findChildren(QMenu) if m.title() == "Text and theme")
    menu.aboutToShow.emit()
    ticked = [action.text() for action in menu.actions() if action.isChecked()]
    assert ticked == [f"{load_theme(theme).title} theme"]


@pytest.mark.slow
@pytest.mark.parametrize("size", [(1280, 800), (1920, 1080)])
def test_shared_memory_has_its_own_place_where_there_is_room(tiled, qtbot, size):
    tiled.resize(*size)
    wide = size[0] > 1500
    page = tiled.step_page
    shared, warp = page.docks["Shared"], page.docks["Warp"]
    qtbot.waitUntil(lambda: (warp not in page.tabifiedDockWidgets(shared)) == wide)
    assert page.in_front("Shared") == wide
    if not wide:
        while tiled.session.seek("access"):
            access = tiled.session.block_trace.access(tiled.session.step)
            if access is not None:
                assert page.in_front("Shared") == (access.space == "shared")
                assert page.in_front("Warp") == (access.space != "shared")
                assert tiled.step_page.shared.isVisible() == page.in_front("Shared")


@pytest.mark.slow
def test_a_kernel_with_faults_says_so_and_shows_where(window, qtbot):
    recorded(window, qtbot, "broken_bounds")
    session = window.session
    first = session.trace.findings[0]
    assert first.message in window.message.sentence
    window.message.go.click()
    assert (session.block, session.thread, session.line) == (first.block, first.thread, first.line)
    assert session.step == first.step
    assert window.step_page.in_front("Findings")
    count = len(session.trace.findings)
    assert window.step_page.views["Findings"].list.count() == count
    assert window.step_page.docks["Findings"].windowTitle() == f"▲ Findings {count}"
    assert f"line {first.line}" in window.step_page.views["Findings"].list.item(0).text()
    assert list(window.transport.scrub.timeline.faults) == sorted(
        {f.step for f in session.trace.findings if f.block == first.block}
    )
    last = session.trace.findings[-1]
    rows = window.step_page.views["Findings"].list
    rows.itemClicked.emit(rows.item(rows.count() - 1))
    assert (session.block, session.step) == (last.block, last.step)
    recorded(window, qtbot, "tiled")
    assert window.message.sentence == ""
    page = window.step_page
    assert page.docks["Findings"].isHidden()
    assert page.in_front("Warp") or page.in_front("Shared")


def test_cheat_sheet_lists_every_command(tiled, qtbot):
    from gui.shell.help_sheets import CheatSheet

    tiled.show_cheat_sheet()
    sheet = tiled.findChild(CheatSheet)
    text = "\n".join(column.toPlainText() for column in sheet.findChildren(QTextEdit))
    assert {"\tShift+Right\tNext phase", "\tSpace\tPlay or pause"} <= set(text.splitlines())
    for keys in ("Return", "Shift+Return", "A … H", "V", "PgDown"):  # of lessons, in no menu
        assert f"\n\t{keys}\t" in text
    sheet.close()


@pytest.mark.slow
def test_shortcuts_are_not_used_twice(window):
    keys = [key for commands in window.menus.values() for c in commands for key in c.keys]
    assert len(keys) == len(set(keys))


@pytest.mark.slow
def test_hammering_the_form_while_it_records(window, qtbot):
    recorded(window, qtbot, "tiled", n=8, tile=4)
    for n in range(8, 68, 4):
        window.recorder.configure("tiled", {"n": n, "tile": 4})
        window.session.seek()
        window.grab()
    qtbot.waitUntil(lambda: not window.recorder.worker.busy, timeout=RECORDING_MS)
    assert window.session.parameters == {"n": 64, "tile": 4}


def test_closing_while_recording_leaves_no_thread(qtbot, qapp, ladder):
    apply_theme(qapp, "light")
    window = MainWindow(ladder)
    window.show()
    window.recorder.configure("tiled", {"n": 128, "tile": 16})
    time.sleep(0.05)
    (thread,) = (t for t in threading.enumerate() if t.name.startswith("recorder"))
    window.close()
    assert not thread.is_alive()
    qapp.processEvents()


def test_a_view_floats_and_comes_home(tiled, qtbot, qapp):
    page = tiled.step_page
    dock = page.docks["PTX"]
    assert not tiled.step_page.ptx.isVisible()  # behind the source
    dock.setFloating(True)
    qtbot.waitUntil(tiled.step_page.ptx.isVisible)
    assert page.arranged
    assert dock.title.heading.isVisible()
    layout = page.save_layout()
    page.reset_layout()
    assert not dock.isFloating()
    assert page.docks["Source"] in page.tabifiedDockWidgets(dock)
    page.restore_layout(layout)
    assert dock.isFloating()
    page.restore_layout("no layout")
    page.restore_layout("")
    tiled.close()
    assert not [w for w in qapp.topLevelWidgets() if w.isVisible()]
