"""The setup's own logic, as far as it goes without changing the machine."""

import importlib.util
import sys
from pathlib import Path

import pytest

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
