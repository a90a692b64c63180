"""The start leaves out what it can; Ctrl-C, SIGTERM and SIGHUP close the window and lose nothing.

Where there is no display, one sentence says so.
"""

import json
import linecache
import os
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import PySide6.QtCore  # noqa: F401  its import hook is what is tested
import pytest

from core.ladder import load_ladder
from gui.shell.app import read_no_sources
from tests.gui.real_app import MISSING, wait_for

ROOT = Path(__file__).resolve().parents[3]
POSIX = pytest.mark.skipif(os.name != "posix", reason="signals and named pipes are POSIX's")
WAIT_S = 120
OTHER_SIGNALS = ["SIGTERM", "SIGHUP", "SIGTERM dialog"]
TYPING = """
import signal, sys
from PySide6.QtCore import QTimer
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QApplication, QDialog
from gui.shell.app import main
from gui.shell.main_window import MainWindow

signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever the test's own parent ignores
for name in ("SIGTERM", "SIGHUP"):
    signal.signal(getattr(signal, name), signal.SIG_DFL)
app = QApplication(["tilescope"])

def type_in():
    window = next((w for w in app.topLevelWidgets() if isinstance(w, MainWindow)), None)
    if window is None or window.step_page.source.draft.key != "tiled":
        return
    clock.stop()
    QTextCursor(window.step_page.source.edit.document()).insertText("// typed\\n")
    window.session.playing = 1  # events that run Python all the time
    if "dialog" in sys.argv:
        QTimer.singleShot(0, lambda: window.moments.ask_for_link())
        QTimer.singleShot(100, lambda: print("ready", flush=True))
    else:
        print("ready", flush=True)

clock = QTimer()
clock.timeout.connect(type_in)
clock.start(20)
sys.exit(main(["--no-tour", "--session", sys.argv[1]]))
"""


@contextmanager
def typing(session, *more):
    """A window whose source was typed in, that steps by itself; at `more` it asks something."""
    process = subprocess.Popen(
        [sys.executable, "-c", TYPING, str(session), *more],
        cwd=ROOT,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.slow
@POSIX
@pytest.mark.parametrize(
    "name", ["SIGINT", *(pytest.param(n, marks=pytest.mark.slow) for n in OTHER_SIGNALS)]
)
def test_a_signal_closes_the_window_and_keeps_the_edit(tmp_path, name):
    name, *more = name.split()
    with typing(tmp_path / "session.json", *more) as process:
        process.send_signal(getattr(signal, name))
        _, errors = process.communicate(timeout=WAIT_S)
    assert process.returncode == 128 + getattr(signal, name)
    assert "Traceback" not in errors
    assert "KeyboardInterrupt" not in errors
    kept = json.loads((tmp_path / "session.json").read_text())
    source = load_ladder()["tiled"].source
    assert kept["drafts"] == {"tiled": f"// typed\n{source}"}


@POSIX
@pytest.mark.slow
def test_two_processes_that_close_at_once_keep_both_texts(tmp_path):
    path = tmp_path / "session.json"
    with typing(path) as one, typing(path) as other:
        for window in (one, other):
            window.send_signal(signal.SIGTERM)
        for window in (one, other):
            window.communicate(timeout=WAIT_S)
    assert json.loads(path.read_text())["drafts"]["tiled"].startswith("// typed\n")
    assert [p.name for p in tmp_path.iterdir()] == ["session.json"]  # no lock, nothing half written


@POSIX
@pytest.mark.slow
@pytest.mark.window
@pytest.mark.skipif(bool(MISSING), reason=f"{' and '.join(MISSING)} not installed")
def test_ctrl_c_in_make_run_keeps_the_session(display, tmp_path):
    """The terminal's Ctrl-C goes to every process of the group, the script's and the window's."""
    shown = {k: v for k, v in os.environ.items() if k not in SHOWN}
    shown |= {"DISPLAY": display, "XDG_STATE_HOME": str(tmp_path / "state")}
    process = subprocess.Popen(
        ["env", "--default-signal=INT", sys.executable, "scripts/run.py"],
        cwd=ROOT, env=shown, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    find = ["xdotool", "search", "--onlyvisible", "--name", "– Tilescope"]
    try:
        wait_for(
            lambda: subprocess.run(find, env=shown, capture_output=True, check=False).stdout,
            "the window", WAIT_S,
        )  # fmt: skip
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=WAIT_S)
    finally:
        with suppress(ProcessLookupError):  # it has ended, as it should
            os.killpg(process.pid, signal.SIGKILL)
        print(process.communicate()[1])  # why there was no window, if there was none
    assert "Traceback" not in errors
    path = tmp_path / "state" / "tilescope" / "session.json"
    wait_for(path.exists, "the session")
    assert json.loads(path.read_text())["configuration"]["rung"] == "tiled"


def without_display(**more):
    environment = {k: v for k, v in os.environ.items() if k not in SHOWN} | more
    command = [sys.executable, "-m", "gui", "--session", os.devnull]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


SHOWN = ("QT_QPA_PLATFORM", "WAYLAND_DISPLAY", "DISPLAY")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems have a display")
@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, "there is no display;"),
        ({"DISPLAY": ":987"}, "Qt cannot use `:987`"),
        ({"QT_QPA_PLATFORM": "none-such"}, "Qt cannot use `none-such`"),
    ],
)
def test_no_display_is_one_sentence(more, said):
    done = without_display(**more)
    assert done.returncode == 2
    assert done.stdout == ""
    (sentence,) = done.stderr.splitlines()
    assert sentence.startswith("The window cannot be opened: ")
    assert said in sentence
    assert "`python -m gui.headless out`" in sentence


def test_pyside_reads_no_source_of_what_is_imported_after_it(tmp_path, monkeypatch):
    feature = sys.modules["PySide6.support.feature"]
    monkeypatch.setattr(feature, "_mod_uses_pyside", feature._mod_uses_pyside)
    monkeypatch.syspath_prepend(tmp_path)

    def is_read(name):
        (tmp_path / f"{name}.py").write_text("X = 1\n")
        return __import__(name).__file__ in linecache.cache

    assert is_read("imported_before_tilescope_starts")
    read_no_sources()
    assert not is_read("imported_after_tilescope_starts")
