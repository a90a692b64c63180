"""Finds the system libraries that Qt lacks, and installs them or says how.

    .venv/bin/python scripts/qt_libraries.py offscreen xcb

The arguments are Qt platform plugins. What is missing is read with ldd from the plugins
themselves, so the list is right for whatever version of Qt is installed.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import debian

_PACKAGES = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libGLX.so.0": "libglx0",
    "libOpenGL.so.0": "libopengl0",
    "libX11-xcb.so.1": "libx11-xcb1",
    "libX11.so.6": "libx11-6",
    "libXext.so.6": "libxext6",
    "libICE.so.6": "libice6",
    "libSM.so.6": "libsm6",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libfreetype.so.6": "libfreetype6",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libgthread-2.0.so.0": "libglib2.0-0",
    "libxcb.so.1": "libxcb1",
    "libxcb-util.so.1": "libxcb-util1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libwayland-client.so.0": "libwayland-client0",
    "libwayland-cursor.so.0": "libwayland-cursor0",
    "libwayland-egl.so.1": "libwayland-egl1",
    "libz.so.1": "zlib1g",
}
_FONTS = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.fonts", "~/.local/share/fonts")


def main(platforms: Sequence[str]) -> int:
    """Make the platforms usable; 1 when something is still missing."""
    if ready(platforms):
        return 0
    return 1


def ready(platforms: Sequence[str]) -> bool:
    """Install what the platforms lack, or print the line that does; whether all is there now."""
    if not debian.install(missing_packages(platforms), "Qt"):
        return False
    # A library that was missing may hide the needs of its own.
    return debian.install(missing_packages(platforms), "Qt") and not missing_packages(platforms)


def missing_packages(platforms: Sequence[str]) -> list[str]:
    """Debian packages that would supply what is missing, fonts included."""
    packages = {package_of(name) for p in platforms for name in missing_libraries(p)}
    if not any(any(Path(f).expanduser().rglob("*.[to]tf")) for f in _FONTS):
        packages.add("fonts-dejavu-core")
    return sorted(packages)


def missing_libraries(platform: str) -> list[str]:
    """Shared libraries that Qt's plugin for `platform` needs and this machine does not have."""
    spec = find_spec("PySide6")
    assert spec is not None, "run this with .venv/bin/python"
    assert spec.submodule_search_locations is not None
    folder = Path(spec.submodule_search_locations[0])
    files = [folder / f"Qt/plugins/platforms/libq{platform}.so", folder / "QtWidgets.abi3.so"]
    found: set[str] = set()
    for file in files:
        if file.exists():
            command = ["ldd", str(file)]
            output = subprocess.run(command, capture_output=True, text=True, check=False).stdout
            found.update(re.findall(r"^\s*(\S+) => not found", output, re.MULTILINE))
    return sorted(found)


def package_of(library: str) -> str:
    """The Debian package with a library: libxcb-cursor.so.0 is in libxcb-cursor0."""
    if library in _PACKAGES:
        return _PACKAGES[library]
    stem, _, version = library.partition(".so.")
    separator = "-" if stem[-1:].isdigit() else ""
    return f"{stem.lower()}{separator}{version}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["xcb"]))
