"""What the frozen application holds, and what of its packages it leaves out.

PyInstaller follows import statements and takes every plug-in of Qt with all that it needs of the
system. What is left out here belongs to ways of drawing, and parts of packages, that the
application does not use; `tests/test_app.py` runs what is left.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

MODULES_LEFT_OUT = (
    "tkinter",
    "IPython",
    "matplotlib",
    "setuptools",
    "pip",
    "PIL._avif",
    "PIL._imagingtk",
    "PIL.ImageTk",
    # Linear programming alone is used.
    *(f"scipy.{name}" for name in ("cluster", "datasets", "integrate", "interpolate", "io")),
    *(f"scipy.{name}" for name in ("misc", "ndimage", "odr", "signal", "stats")),
)
"""Packages and modules that others would like to have."""
PLATFORMS = ("xcb", "wayland", "offscreen", "windows", "cocoa")
"""Qt's plug-ins for a screen: X11, Wayland, none, Windows and macOS."""
_FOLDERS = ("egldeviceintegrations", "generic", "networkinformation", "platformthemes", "tls")
"""Plug-ins for screens without a desktop, for GTK's file dialogs and for the network."""
_LIBRARIES = re.compile(
    r"lib(gtk-3|gdk-3|gdk_pixbuf|atk|atspi|cairo|pango|epoxy|thai|datrie|fribidi|pixman"  # of GTK
    r"|Qt6EglF|Xcomposite|Xcursor|Xdamage|Xi\.|Xinerama|Xrandr|Xfixes"
    r"|avif)"
)
BY_NAME = ("elftools", "rich._unicode_data")
"""Packages of which modules are imported by name, so that no import statement tells of them."""


def is_kept(name: str) -> bool:
    """Whether a file stays; `name` is its path in the application's folder."""
    parts = name.replace("\\", "/").split("/")
    if "plugins" in parts[:-1]:
        folder, file = parts[parts.index("plugins") + 1], parts[-1]
        if folder == "platforms":
            return any(f"q{platform}." in file for platform in PLATFORMS)
        if folder in _FOLDERS:
            return False
    # Qt's own texts: the application speaks English.
    return "translations" not in parts and not _LIBRARIES.match(parts[-1])


def nvrtc() -> list[tuple[str, str]]:
    """NVRTC's libraries with their folders in the application, as the PyPI package has them."""
    spec = find_spec("nvidia")
    found = []
    for root in spec.submodule_search_locations or () if spec else ():
        for pattern in ("libnvrtc*.so*", "nvrtc*.dll"):
            for library in sorted(Path(root).rglob(pattern)):
                if ".alt." not in library.name:
                    place = Path("nvidia") / library.parent.relative_to(root)
                    found.append((str(library), place.as_posix()))
    return found
