"""Windows and macOS, as far as Linux can tell: every module loads, and each branch is taken."""

import os
import subprocess
import sys
from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest

from core.compiler import disk_cache, nvrtc
from core.side_process import client

ROOT = Path(__file__).resolve().parents[1]

# Foreign packages are loaded as they are here; ours a second time, on what seems another system,
# without the modules that only POSIX has.
LOAD = """
import importlib, pkgutil, sys
import core, gui

def load():
    for package in (core, gui):
        for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if not found.name.endswith("__main__"):
                importlib.import_module(found.name)

load()
for name in [n for n in sys.modules if n.partition(".")[0] in ("core", "gui")]:
    del sys.modules[name]
for name in ("fcntl", "resource", "termios", "pwd", "grp"):
    sys.modules[name] = None
sys.platform = sys.argv[1]
import core, gui
load()
print(len([n for n in sys.modules if n.partition(".")[0] in ("core", "gui")]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("system", ["win32", "darwin"])
def test_every_module_loads_elsewhere(system):
    done = subprocess.run(
        [sys.executable, "-P", "-c", LOAD, system],
        env={**os.environ, "PYTHONPATH": str(ROOT), "QT_QPA_PLATFORM": "offscreen"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 300


def test_where_things_lie_elsewhere(monkeypatch):
    monkeypatch.delenv(disk_cache.FOLDER, raising=False)
    monkeypatch.setattr(disk_cache, "_IS_LINUX", False)
    folder = disk_cache.folder()
    assert folder is not None
    assert folder.name == "compiled"
    monkeypatch.setattr(nvrtc.sys, "platform", "win32")
    assert nvrtc._packaged() is None  # cuda.pathfinder knows where Windows has it


def test_a_side_process_needs_no_pipe_where_there_is_none(monkeypatch):
    """On Windows no descriptor is handed on: the child's input ends with its parent."""
    given = {}

    class Child:
        def __init__(self, command, pass_fds=()):
            given.update(command=command, pass_fds=pass_fds)

    monkeypatch.setattr(client, "Child", Child)
    monkeypatch.setattr(client.os, "name", "nt")
    monkeypatch.setattr(client.os, "pipe", lambda: pytest.fail("asked for a pipe"))
    process = client._Process(())
    assert given["pass_fds"] == ()
    assert "-1" in given["command"]
    assert process._held == -1
    process._let_go()


@pytest.mark.parametrize(
    "path", [PureWindowsPath(r"C:\Users\Zoë Ü\my kernel.cu"), PurePosixPath("/Users/zoë/my k.cu")]
)
def test_paths_of_other_systems_go_through_links(path):
    from core.links import names_file, path_text
    from core.user_files.launch_texts import FileLaunch

    name = path_text(FileLaunch(str(path), "k"))
    assert names_file(name)
    assert " " not in name


def test_line_ends_of_windows_make_no_difference(tmp_path):
    from core.user_files.sources_and_headers import read_source

    text = "__global__ void k(float* a) {\n  a[0] = 1.0f;\n}\n"
    one, other = tmp_path / "a.cu", tmp_path / "b.cu"
    one.write_bytes(text.encode())
    other.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert read_source(one).splitlines() == read_source(other).splitlines()
