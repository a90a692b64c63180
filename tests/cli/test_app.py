"""The command as a whole: help, version, and the way to the window."""

import subprocess
import sys

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
