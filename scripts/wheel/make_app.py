"""Builds the one-folder application by PyInstaller: `make app`. Needs no more than Python.

    python scripts/wheel/make_app.py [FOLDER | --version]

It installs the wheel of this checkout and PyInstaller into an environment of their own, so that the
application holds what an installation brings and nothing else of this machine's Python. It writes

    FOLDER/tilescope/                       the application; tilescope in it is the command
    FOLDER/Tilescope.app/                   the same for macOS
    FOLDER/tilescope-VERSION-SYSTEM.tar.xz  its archive (.zip on Windows and macOS)
    FOLDER/tilescope_VERSION_ARCH.deb       a package of it (Debian and its kin)
    FOLDER/tilescope-VERSION-SYSTEM         for Linux: one file that runs, nothing to install
    FOLDER/tilescope-VERSION-SYSTEM.exe     for Windows: an installer, where there is NSIS
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))  # make_deb lies beside this script

import make_deb

VERSIONS = ROOT / "scripts" / "requirements-gpu.lock"
BESIDES = ("pillow>=10.1", "pyinstaller>=6.11")
"""Pillow writes GIF and WebP; ffmpeg, which writes MP4, would bring the GNU GPL with it."""


def main(folder: Path = ROOT / "build" / "app") -> int:
    """Build it; returns the exit status."""
    folder.mkdir(parents=True, exist_ok=True)
    build(folder)
    made = [archive(folder)]
    if sys.platform.startswith("linux") and shutil.which("cc"):
        made.append(single_file(made[0]))
    if makensis := nsis():
        made.append(installer(folder, makensis))
    if shutil.which("dpkg-deb"):
        made.append(make_deb.make(folder / "tilescope", folder, version()))
    for path in made:
        sys.stdout.write(f"{path}: {path.stat().st_size / 1e6:.0f} MB\n")
    return 0


def version() -> str:
    """The application's version, as pyproject.toml has it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    found: str = project["version"]
    return found


def build(folder: Path) -> None:
    """Write the application's folder. Raises CalledProcessError where a step fails."""
    environment = folder / "work" / "environment"
    venv.create(environment, clear=True, with_pip=True, symlinks=sys.platform != "win32")
    windows = sys.platform == "win32"
    python = environment / ("Scripts/python.exe" if windows else "bin/python")
    quiet = ["--quiet", "--disable-pip-version-check", "--constraint", str(VERSIONS)]
    wanted = [str(ROOT), *BESIDES]
    subprocess.run([str(python), "-m", "pip", "install", *quiet, *wanted], check=True)
    places = ["--distpath", str(folder), "--workpath", str(folder / "work" / "build")]
    command = [str(python), "-m", "PyInstaller", "--noconfirm", "--log-level", "WARN", *places]
    # Away from the checkout, whose flat modules would be found beside those of the wheel.
    subprocess.run([*command, str(HERE / "app.spec")], check=True, cwd=folder / "work")
    strip(folder / "tilescope" / "lib")


def strip(libraries: Path) -> None:
    """Take what debuggers read out of Python's own libraries, which some builds of it keep.

    Wheels have none; linking tools have changed them so that they may not be touched.
    """
    if not sys.platform.startswith("linux") or shutil.which("strip") is None:
        return
    own = [*libraries.glob("libpython3.*.so*"), *libraries.glob("python3.*/lib-dynload/*.so")]
    subprocess.run(["strip", "--strip-debug", *own], check=True)


def _name() -> str:
    return f"tilescope-{version()}-{platform.system()}-{platform.machine()}".lower()


def archive(folder: Path, compressor: str = "xz -6 -T0") -> Path:
    """Pack the application; returns the file's path. `compressor` is Linux's."""
    name = folder / _name()
    if sys.platform == "darwin":  # zipfile would lose the links within a bundle
        made = name.with_name(f"{name.name}.zip")
        bundle = folder / "Tilescope.app"
        subprocess.run(["ditto", "-c", "-k", "--keepParent", bundle, made], check=True)
        return made
    if sys.platform == "win32":
        return Path(shutil.make_archive(str(name), "zip", folder, "tilescope"))
    made = name.with_name(f"{name.name}.tar.xz")
    if shutil.which("xz") is None:
        return Path(shutil.make_archive(str(name), "xztar", folder, "tilescope"))
    # By all processors, which Python's lzma does not.
    how = ["--use-compress-program", compressor]
    subprocess.run(["tar", "-C", str(folder), *how, "-cf", str(made), "tilescope"], check=True)
    return made


def single_file(packed: Path) -> Path:
    """A program for Linux that unpacks the archive behind it once, and runs what is in it."""
    made = packed.with_name(packed.name.removesuffix(".tar.xz"))
    digest = hashlib.sha256(packed.read_bytes()).hexdigest()[:12]
    words = {"NAME": f"{version()}-{digest}", "BYTES": str(packed.stat().st_size)}
    defines = [f'-D{name}="{word}"' for name, word in words.items()]
    command = ["cc", "-O2", "-s", *defines, "-o", str(made), str(HERE / "single_file.c")]
    subprocess.run(command, check=True)
    with made.open("ab") as file, packed.open("rb") as behind:
        shutil.copyfileobj(behind, file)
    return made


def nsis() -> str | None:
    """makensis, which GitHub's Windows has beside its path; for another system's folder: None."""
    usual = Path(os.environ.get("PROGRAMFILES(X86)", "C:/"), "NSIS", "makensis.exe")
    found = shutil.which("makensis") or (str(usual) if usual.is_file() else None)
    return found if platform.system() == "Windows" else None


def installer(folder: Path, makensis: str, *options: str) -> Path:
    """The installer of the application for Windows; makensis makes it on any system."""
    made = folder / f"{_name()}.exe"
    given = {
        "VERSION": version(),
        "FOLDER": (folder / "tilescope").resolve(),
        "LICENCE": ROOT / "LICENSE",
        "OUT": made.resolve(),
    }
    defines = [f"-D{name}={value}" for name, value in given.items()]
    script = HERE / "installer.nsi"
    subprocess.run([makensis, "-V2", "-WX", *defines, *options, str(script)], check=True)
    return made


if __name__ == "__main__":
    if sys.argv[1:] == ["--version"]:
        sys.stdout.write(f"{version()}\n")
        sys.exit(0)
    sys.exit(main(*map(Path, sys.argv[1:2])))
