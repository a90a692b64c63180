"""Builds the one-folder application: `make app`, by PyInstaller, from the tree of the wheel.

    python scripts/wheel/make_app.py [FOLDER]

It writes FOLDER/tilescope/ and FOLDER/tilescope-VERSION-SYSTEM.tar.xz (a zip file on Windows).
"""

from __future__ import annotations

import platform
import shutil
import sys
import tempfile
import tomllib
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))  # the build backend lies beside this script

import tilescope_build as backend

LEFT_OUT = (
    "tkinter",
    "IPython",
    "pytest",
    "_pytest",
    "hypothesis",
    "mypy",
    "matplotlib",
    "pyarrow",
)
"""Packages that other ones would like to have, and that no part of the application uses."""
BY_NAME = ("elftools",)
"""Packages of which modules are imported by name, so that no import statement tells of them."""


def main(folder: Path = backend.ROOT / "build" / "app") -> int:
    """Build it; returns the exit status."""
    if find_spec("PyInstaller") is None:
        sys.stderr.write(
            "make app needs PyInstaller: .venv/bin/python -m pip install pyinstaller\n"
        )
        return 1
    from PyInstaller.__main__ import run

    with tempfile.TemporaryDirectory() as place:
        stage = Path(place, "stage")
        stage.mkdir()
        backend.stage(backend.ROOT, stage)
        sys.path.insert(0, str(stage))
        run(options(stage, Path(place), folder))
    project = tomllib.loads((backend.ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    system = f"{platform.system()}-{platform.machine()}".lower()
    name = folder / f"tilescope-{project['version']}-{system}"
    kind = "zip" if sys.platform == "win32" else "xztar"
    made = shutil.make_archive(str(name), kind, folder, "tilescope")
    sys.stdout.write(f"{made}: {Path(made).stat().st_size / 1e6:.0f} MB\n")
    return 0


def options(stage: Path, work: Path, folder: Path) -> list[str]:
    """PyInstaller's command line."""
    package = stage / backend.PACKAGE
    found = [str(HERE / "app_entry.py"), "--noconfirm", "--log-level", "WARN"]
    found += [
        "--name",
        "tilescope",
        "--onedir",
        "--paths",
        str(stage),
        "--contents-directory",
        "lib",
    ]
    found += ["--distpath", str(folder), "--workpath", str(work), "--specpath", str(work)]
    for path in package.rglob("*.py"):  # many are imported by name
        parts = path.relative_to(stage).with_suffix("").parts
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found += ["--hidden-import", module]
    for name in backend.DATA:
        found += ["--add-data", f"{package / name}:{backend.PACKAGE}/{name}"]
    for library, place in nvrtc():
        found += ["--add-binary", f"{library}:{place}"]
    found += [part for name in BY_NAME for part in ("--collect-submodules", name)]
    found += ["--copy-metadata", backend.PACKAGE, "--collect-data", "qtawesome"]
    found += [part for name in LEFT_OUT for part in ("--exclude-module", name)]
    if sys.platform == "darwin":
        found += ["--osx-bundle-identifier", "org.tilescope.Tilescope"]
    return found


def nvrtc() -> list[tuple[Path, str]]:
    """NVRTC's libraries with their folders in the application, as the PyPI package has them."""
    spec = find_spec("nvidia")
    found = []
    for root in spec.submodule_search_locations or () if spec else ():
        for pattern in ("libnvrtc*.so*", "nvrtc*.dll"):
            for library in sorted(Path(root).rglob(pattern)):
                if ".alt." not in library.name:
                    place = Path("nvidia") / library.parent.relative_to(root)
                    found.append((library, place.as_posix()))
    return found


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:2])))
