"""Makes a .deb of the one-folder application, with dpkg-deb alone.

The folder goes to /usr/lib/tilescope, its command to /usr/bin. What it depends on is read with ldd
from its libraries: the packages of this machine that own what the folder does not bring.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOME = "usr/lib/tilescope"
DATA_OF_LIBRARIES = ("fontconfig-config", "xkb-data")
"""What the folder's own libfontconfig and libxkbcommon read."""
SUMMARY = "time-travel microscope for CUDA memory"
DESCRIPTION = """\
 Step through what every thread, warp and memory transaction of a CUDA kernel
 does. Kernels are compiled by NVIDIA's compiler, which comes along, and are
 emulated: no GPU is needed."""
DESKTOP = """\
[Desktop Entry]
Type=Application
Name=Tilescope
GenericName=Microscope for CUDA memory
Comment=Step through the memory accesses of CUDA kernels
Exec=tilescope %f
Icon=tilescope
Terminal=false
Categories=Education;Development;
Keywords=CUDA;GPU;memory;coalescing;
StartupWMClass=tilescope
"""


def make(application: Path, folder: Path, version: str, *compression: str) -> Path:
    """Write tilescope_VERSION_ARCH.deb; returns its path.

    `compression` are options of dpkg-deb, such as "-z1". Raises CalledProcessError where a command
    fails, and RuntimeError where a library is missing on this machine.
    """
    architecture = _said("dpkg", "--print-architecture").strip()
    made = folder / f"tilescope_{version}_{architecture}.deb"
    with tempfile.TemporaryDirectory(dir=folder) as place:
        tree = Path(place)
        tree.chmod(0o755)
        shutil.copytree(application, tree / HOME, symlinks=True)
        lay_out(tree)
        size = sum(path.lstat().st_size for path in tree.rglob("*")) // 1024
        depends = depended_on(application)
        control = control_file(version, architecture, size, depends)
        _write(tree / "DEBIAN" / "control", control)
        for path in (tree, *tree.rglob("*")):  # whatever the mask of who builds it
            if not path.is_symlink():
                runs = path.is_dir() or os.access(path, os.X_OK)
                path.chmod(0o755 if runs else 0o644)
        command = ["dpkg-deb", "--root-owner-group", *compression, "--build", str(tree), str(made)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return made


def lay_out(tree: Path) -> None:
    """What stands around the folder: the command, the menu's entry, the icon, the licence."""
    command = tree / "usr" / "bin" / "tilescope"
    command.parent.mkdir(parents=True)
    command.symlink_to(f"/{HOME}/tilescope")
    _write(tree / "usr/share/applications/tilescope.desktop", DESKTOP)
    icon = (ROOT / "resources" / "icon.svg").read_text("utf-8")
    _write(tree / "usr/share/icons/hicolor/scalable/apps/tilescope.svg", icon)
    licences = (ROOT / "docs" / "licences.md").read_text("utf-8")
    own = (ROOT / "LICENSE").read_text("utf-8")
    _write(tree / "usr/share/doc/tilescope/copyright", f"{own}\n{licences}")


def control_file(version: str, architecture: str, kib: int, depends: Iterable[str]) -> str:
    """The package's control file; `kib` is its size once installed."""
    return (
        f"Package: tilescope\nVersion: {version}\nArchitecture: {architecture}\n"
        "Section: education\nPriority: optional\n"
        "Maintainer: Tilescope <tilescope@localhost>\n"
        f"Installed-Size: {kib}\nDepends: {', '.join(depends)}\n"
        f"Description: {SUMMARY}\n{DESCRIPTION}\n"
    )


def depended_on(application: Path) -> list[str]:
    """The packages that own the libraries which the application takes from the system."""
    found = set(DATA_OF_LIBRARIES)
    for library in sorted(from_system(application)):
        owner = _owner(library)
        if owner == "libc6":
            installed = _said("dpkg-query", "--show", "--showformat=${Version}", owner)
            owner = f"libc6 (>= {re.split('[-+]', installed)[0]})"
        found.add(owner)
    return sorted(found)


def from_system(application: Path) -> set[str]:
    """Paths of the libraries outside the folder that those in it need.

    Raises RuntimeError for one that is not on this machine.
    """
    found, missing = set(), set()
    environment = {**os.environ, "LD_LIBRARY_PATH": str(application / "lib")}
    for path in _programs(application):
        command = ["ldd", str(path)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        missing.update(re.findall(r"^\s*(\S+) => not found", done.stdout, re.MULTILINE))
        found.update(re.findall(r"=> (/\S+)", done.stdout))
    if missing:
        raise RuntimeError(f"This machine lacks {', '.join(sorted(missing))}: install them first.")
    # Resolved against the folder: the path by which ldd was led may hold links.
    inside = application.resolve()
    return {path for path in found if not Path(path).resolve().is_relative_to(inside)}


def _programs(application: Path) -> Iterator[Path]:
    for path in sorted(application.rglob("*")):
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                if file.read(4) == b"\x7fELF":
                    yield path


def _owner(library: str) -> str:
    """The package of a file. It may be registered under /usr/lib where /lib leads there."""
    for path in (library, f"/usr{library}", library.removeprefix("/usr")):
        done = subprocess.run(
            ["dpkg", "--search", path], capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            return done.stdout.split(":")[0]
    raise RuntimeError(f"No package of this machine owns {library}.")


def _said(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
