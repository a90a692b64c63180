"""The command as a whole: help, version, and the way to the window."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from core.cli import app

ROOT_COMMANDS = ("trace", "bench", "devices")


def test_help_lists_the_commands(capsys):
    assert app.main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(command in text for command in ROOT_COMMANDS)


def test_version(capsys):
    assert app.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("tilescope 0.")


def test_unknown_command(capsys):
    assert app.main(["tile"]) == 2
    assert "No such command 'tile'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "window"),
    [
        (["tiled"], True),
        (["tiled?n=4&step=12"], True),
        (["nonsense?n=4"], True),  # the window's own parser says what is wrong
        (["kernel.cu"], True),
        (["--fresh"], True),
        (["trace", "tiled"], False),
        (["--help"], False),
    ],
)
def test_what_goes_to_the_window(arguments, window):
    assert app.opens_window(arguments) is window


@pytest.mark.parametrize(("leaves", "status"), [(0, 0), (3, 3), (None, 0)])
def test_no_argument_opens_the_window(monkeypatch, leaves, status):
    opened = []

    def run_module(name, **options):
        opened.append((name, options["run_name"]))
        raise SystemExit(leaves)

    monkeypatch.setattr(app.runpy, "run_module", run_module)
    assert app.main([]) == status
    assert opened == [("gui", "__main__")]


def test_no_memory_is_one_sentence(capsys, monkeypatch):
    def starve(arguments):
        raise MemoryError

    monkeypatch.setattr(app, "run", starve)
    assert app.main(["trace", "tiled"]) == 2
    assert "not enough memory" in capsys.readouterr().err


def test_neither_qt_nor_the_window_is_imported_by_a_command():
    code = (
        "import sys; from core.cli.app import main; main(['trace', 'tiled']);"
        "print([m for m in sys.modules if m.split('.')[0] in ('gui', 'PySide6', 'pyqtgraph')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


LONG = (
    "#define TEN(x) x x x x x x x x x x\n"
    "#define MANY(x) TEN(TEN(TEN(TEN(TEN(TEN(x))))))\n"
    "__global__ void k(float* v) { MANY(v[threadIdx.x] = v[threadIdx.x] * 1.5f + 1;) }\n"
)  # the compiler takes minutes


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks the system for processes")
def test_ctrl_c_ends_a_compilation(tmp_path):
    source = tmp_path / "long.cu"
    source.write_text(LONG)
    code = f"import sys; from core.cli.app import main; sys.exit(main(['trace', {str(source)!r}]))"
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    compiler = wait_for(lambda: next(iter(children_of(process.pid)), None))
    wait_for(lambda: processor_s(compiler) > 2)  # it has loaded, and is at work
    process.send_signal(signal.SIGINT)
    assert "Traceback" not in process.communicate(timeout=WAIT_S)[1]
    assert process.returncode == 130
    wait_for(lambda: not Path(f"/proc/{compiler}").exists())


WAIT_S = 60


def wait_for(what):
    end = time.monotonic() + WAIT_S
    while not (found := what()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


def children_of(process):
    return Path(f"/proc/{process}/task/{process}/children").read_text().split()


def processor_s(process):
    words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
