"""The setup's own logic, as far as it goes without changing the machine."""

import ast
import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

SCRIPTS = Path(__file__).resolve().parents[1] / "scripts"


@pytest.fixture
def script(monkeypatch):
    """Load a module from scripts/, which is no package and not on the path."""
    monkeypatch.syspath_prepend(str(SCRIPTS))

    def load(name):
        spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.mark.parametrize(
    ("library", "package"),
    [
        ("libxcb-cursor.so.0", "libxcb-cursor0"),
        ("libxcb-icccm.so.4", "libxcb-icccm4"),
        ("libxcb-keysyms.so.1", "libxcb-keysyms1"),
        ("libxcb-render-util.so.0", "libxcb-render-util0"),
        ("libxkbcommon-x11.so.0", "libxkbcommon-x11-0"),
        ("libEGL.so.1", "libegl1"),
        ("libGL.so.1", "libgl1"),
        ("libdbus-1.so.3", "libdbus-1-3"),
        ("libpng16.so.16", "libpng16-16"),
    ],
)
def test_debian_package_of_a_library(script, library, package):
    assert script("qt_libraries").package_of(library) == package


def test_missing_libraries_are_read_from_ldd(script, monkeypatch):
    module = script("qt_libraries")

    class Done:
        stdout = (
            "\tlibxcb-cursor.so.0 => not found\n\tlibc.so.6 => /lib/libc.so.6 (0x1)\n"
            "\tlibEGL.so.1 => not found\n"
        )

    monkeypatch.setattr(module.subprocess, "run", lambda *args, **kwargs: Done)
    assert module.missing_libraries("xcb") == ["libEGL.so.1", "libxcb-cursor.so.0"]
    assert {"libegl1", "libxcb-cursor0"} <= set(module.missing_packages(["xcb"]))


def test_without_root_the_line_to_type_is_printed(script, monkeypatch, capsys):
    module = script("debian")
    monkeypatch.setattr(module, "may_install", lambda: False)
    assert module.install(["b", "a"], "Qt") is False
    assert "sudo apt-get install a b" in capsys.readouterr().out
    assert module.install([], "Qt") is True


def test_no_display_means_headless(script, monkeypatch):
    script("debian")
    script("qt_libraries")
    module = script("run")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    assert module._display() is None
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    assert module._display() == "wayland"
    monkeypatch.setenv("DISPLAY", ":1")
    assert module._display() == "xcb"
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    assert module._display() is None


def test_pycuda_is_the_only_part_of_the_gpu_extra_that_is_built(script):
    script("debian")
    wheels, pycuda = script("gpu_extra")._requirements()
    assert pycuda.startswith("pycuda")
    assert not any(name.startswith("pycuda") for name in wheels)


ROOT = SCRIPTS.parent
OLD_PIP = "ModuleNotFoundError: No module named 'pip._vendor.certifi'"
UNREACHABLE = (
    "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError(...)'\n"
    "ERROR: Could not find a version that satisfies the requirement rich==15.0.0"
)


@pytest.fixture
def setup(script, monkeypatch, tmp_path):
    """The set-up of a checkout in `tmp_path`, with a pip that says `setup.said`."""
    module = script("setup")
    for path in (ROOT / "pyproject.toml", SCRIPTS / "requirements.lock"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    venv = tmp_path / ".venv"
    for name, path in {
        "ROOT": tmp_path,
        "VENV": venv,
        "PYTHON": venv / "bin" / "python",
        "STAMP": venv / "stamp.json",
        "LOCK": tmp_path / "requirements.lock",
    }.items():
        monkeypatch.setattr(module, name, path)
    module.said, module.made = "", 0

    def make_venv():
        module.made += 1
        module.PYTHON.parent.mkdir(parents=True, exist_ok=True)
        module.PYTHON.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        module.PYTHON.chmod(0o755)
        module.STAMP.unlink(missing_ok=True)
        return True

    monkeypatch.setattr(module, "_make_venv", make_venv)
    monkeypatch.setattr(module, "_set_up_gpu", lambda state, retry: None)
    monkeypatch.setattr(module, "pip", lambda *arguments: module.said)
    monkeypatch.setattr(sys, "argv", ["setup.py"])
    return module


def test_a_set_up_that_was_killed_is_made_anew(setup, monkeypatch):
    assert setup.main() == 0
    assert setup.main() == 0
    assert setup.made == 1  # nothing had changed

    def killed(*arguments):
        raise SystemExit(-9)

    setup.LOCK.write_text(f"{setup.LOCK.read_text()}# changed\n")
    with monkeypatch.context() as patched:
        patched.setattr(setup, "pip", killed)
        with pytest.raises(SystemExit):
            setup.main()
    assert setup.main() == 0
    assert setup.made == 2
    setup.said = OLD_PIP  # a pip that does not work is not trusted again either
    setup.LOCK.write_text(f"{setup.LOCK.read_text()}# changed again\n")
    assert setup.main() == 1
    setup.said = ""
    assert setup.main() == 0
    assert setup.made == 3


def test_without_a_network_the_network_is_named(setup, capsys):
    assert setup.main() == 0
    setup.LOCK.write_text(f"{setup.LOCK.read_text()}# changed\n")
    setup.said = UNREACHABLE
    assert setup.main() == 1
    error = capsys.readouterr().err
    assert error.startswith("The packages could not be fetched: there is no connection")
    assert "Retry" not in error
    setup.said = ""
    assert setup.main() == 0
    assert setup.made == 1  # what there was is kept
    setup.LOCK.write_text(f"{setup.LOCK.read_text()}# changed again\n")
    setup.said = "ERROR: no space left on device"
    assert setup.main() == 1
    error = capsys.readouterr().err
    assert error.startswith(setup.said)
    assert "network" not in error


def test_an_old_python_gets_its_sentence(setup, monkeypatch, capsys):
    for path in (SCRIPTS / "setup.py", SCRIPTS / "debian.py"):
        ast.parse(path.read_text(), feature_version=(3, 7))
    done = subprocess.run(  # tomllib came with 3.11
        [sys.executable, "-c", f"import sys; sys.modules['tomllib'] = None; "
         f"sys.path.insert(0, {str(SCRIPTS)!r}); import setup"],
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.stderr == b""
    monkeypatch.setattr(sys, "version_info", (3, 10, 13))
    assert setup.main() == 1
    assert capsys.readouterr().err.startswith("Tilescope needs Python 3.11 or newer; this is ")


def pins(name):
    """What a lock file names, by the package's normalised name: all its versions."""
    found = {}
    pin = re.compile(r"^([\w.-]+)==([\w.+]+)", re.MULTILINE)
    for package, version in pin.findall((SCRIPTS / name).read_text()):
        found.setdefault(normal(package), []).append(version)
    return found


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_locks_hold_what_the_project_asks_for():
    """Else: `make lock`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    for name, asked in {
        "requirements.lock": [*project["dependencies"], *extras["dev"]],
        "requirements-gpu.lock": [*project["dependencies"], *extras["gpu"], *extras["headers"]],
    }.items():
        found = pins(name)
        for requirement in map(Requirement, asked):
            versions = found[normal(requirement.name)]
            assert all(version in requirement.specifier for version in versions), requirement
        text = (SCRIPTS / name).read_text()
        assert "://" not in text  # no registry of anybody's
        assert "index-url" not in text
    locked, text = pins("requirements.lock"), (SCRIPTS / "requirements.lock").read_text()
    blocks = re.split(r"^(?=\S+==)", text, flags=re.MULTILINE)[1:]
    assert len(blocks) >= len(locked) > 40
    assert all("--hash=sha256:" in block for block in blocks)
