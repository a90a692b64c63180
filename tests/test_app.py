"""The application without Python: what it holds and leaves out, and that it works elsewhere."""

import faulthandler
import importlib
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests import bare_root
from tests.gui.real_app import display, size, wait_for

__all__ = ["display", "size"]  # fixtures

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = ROOT / "scripts" / "wheel"
MOST_BYTES = 150e6  # of an archive


@pytest.fixture
def script(monkeypatch):
    """A module that lies beside `make_app.py`."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("PySide6/Qt/plugins/platforms/libqxcb.so", True),
        ("PySide6/Qt/plugins/platforms/libqoffscreen.so", True),
        ("PySide6/plugins/platforms/qwindows.dll", True),
        (r"PySide6\plugins\platforms\qminimal.dll", False),
        ("PySide6/Qt/plugins/platforms/libqcocoa.dylib", True),
        ("PySide6/Qt/plugins/platforms/libqeglfs.so", False),
        ("PySide6/Qt/plugins/platforms/libqminimalegl.so", False),
        ("PySide6/Qt/plugins/iconengines/libqsvgicon.so", True),
        ("PySide6/Qt/plugins/platformthemes/libqgtk3.so", False),
        ("PySide6/Qt/translations/qt_de.qm", False),
        ("PySide6/Qt/lib/libQt6Core.so.6", True),
        ("libgtk-3.so.0", False),
        ("libX11.so.6", True),
        ("libcairo.so.2", False),
        ("pillow.libs/libavif-c6062d5f.so.16.4.2", False),
        ("tilescope/resources/themes/dark.toml", True),
    ],
)
def test_what_the_application_leaves_out(script, name, kept):
    assert script("app_parts").is_kept(name) == kept


def test_no_module_that_is_used_is_left_out(script):
    left_out = script("app_parts").MODULES_LEFT_OUT
    for path in [*(ROOT / "core").rglob("*.py"), *(ROOT / "gui").rglob("*.py")]:
        for name in re.findall(
            r"^\s*(?:from|import) ([\w.]+)", path.read_text("utf-8"), re.MULTILINE
        ):
            assert not any(name == out or name.startswith(f"{out}.") for out in left_out), path


def test_the_application_holds_the_compiler(script):
    names = [Path(library).name for library, _ in script("app_parts").nvrtc()]
    assert any(name.startswith(("libnvrtc.", "nvrtc64")) for name in names)
    assert any("builtins" in name for name in names)


def test_what_is_depended_on_is_read_from_the_libraries(script, tmp_path):
    """Of a program of this system, in a folder that brings nothing."""
    make_deb = script("make_deb")
    if shutil.which("dpkg") is None or shutil.which("ldd") is None:
        pytest.skip("no Debian")
    (tmp_path / "lib").mkdir()
    shutil.copy(shutil.which("ls"), tmp_path / "program")
    (tmp_path / "lib" / "text").write_text("no program")
    depends = make_deb.depended_on(tmp_path)
    assert any(re.fullmatch(r"libc6 \(>= [0-9.]+\)", found) for found in depends)
    assert "libselinux1" in depends
    assert set(make_deb.DATA_OF_LIBRARIES) <= set(depends)
    control = make_deb.control_file("1.2.3", "amd64", 77, depends)
    fields = dict(re.findall(r"^([A-Z][\w-]+): (.*)$", control, re.MULTILINE))
    assert (fields["Version"], fields["Installed-Size"]) == ("1.2.3", "77")
    assert fields["Depends"].split(", ") == depends
    make_deb.lay_out(tmp_path / "tree")
    entry = (tmp_path / "tree/usr/share/applications/tilescope.desktop").read_text()
    icon = tmp_path / "tree/usr/share/icons/hicolor/scalable/apps/tilescope.svg"
    assert icon.stem == re.search("^Icon=(.*)$", entry, re.MULTILINE)[1]
    assert (tmp_path / "tree/usr/bin/tilescope").readlink() == Path("/usr/lib/tilescope/tilescope")


STAND_IN = """#!/bin/sh
echo "$0"
for word; do echo "<$word>"; done
exit 3
"""


def stand_in(folder):
    """A folder of the application's shape, of a few bytes."""
    (folder / "tilescope" / "lib").mkdir(parents=True)
    program = folder / "tilescope" / "tilescope"
    program.write_text(STAND_IN)
    program.chmod(0o755)
    (folder / "tilescope" / "lib" / "one").write_text("1")
    return folder


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or not all(map(shutil.which, ("cc", "xz"))),
    reason="needs Linux, cc and xz",
)
def test_the_single_file_unpacks_itself_once_and_runs(script, tmp_path):
    make_app = script("make_app")
    packed = make_app.archive(stand_in(tmp_path / "made"), "xz -1")
    single = make_app.single_file(packed)
    assert single.read_bytes()[:4] == b"\x7fELF"  # a desktop runs it at a double click
    moved = tmp_path / "a folder é" / "Tilescope"
    moved.parent.mkdir()
    shutil.move(single, moved)
    home = tmp_path / "who ever"
    home.mkdir()
    bare = {"HOME": str(home), "PATH": "/usr/bin:/bin"}

    def run(*arguments):
        return subprocess.run(
            [moved, *arguments], env=bare, capture_output=True, text=True, check=False
        )

    first, second = run("a b", "$HOME 'é'", ""), run()
    assert (first.returncode, second.returncode) == (3, 3)
    program, *words = first.stdout.splitlines()
    assert words == ["<a b>", "<$HOME 'é'>", "<>"]
    assert Path(program).is_relative_to(home / ".cache" / "tilescope")
    assert "only this once" in first.stderr
    assert second.stderr == ""
    assert [p.name for p in (home / ".cache/tilescope").iterdir()] == [Path(program).parts[-3]]
    shutil.rmtree(home / ".cache")
    data = moved.read_bytes()
    moved.write_bytes(data[:-100] + bytes(100))
    broken = run()
    assert broken.returncode == 2
    assert "download it again" in broken.stderr
    assert not list((home / ".cache/tilescope").iterdir())


WINE = shutil.which("wine64") or shutil.which("wine64", path="/usr/lib/wine")


@pytest.mark.skipif(shutil.which("makensis") is None, reason="no NSIS")
def test_the_installer_for_windows_is_made(script, tmp_path):
    folder = stand_in(tmp_path)
    made = script("make_app").installer(folder, shutil.which("makensis"))
    assert made.read_bytes()[:2] == b"MZ"


@pytest.mark.slow
@pytest.mark.release
@pytest.mark.skipif(
    not (WINE and shutil.which("makensis")), reason="no Wine of 64 bits, or no NSIS"
)
def test_the_installer_installs_and_takes_away_again(script, display, tmp_path):
    folder = stand_in(tmp_path)
    (folder / "tilescope" / "tilescope").unlink()
    for name in ("tilescope.exe", "tilescope-window.exe"):
        (folder / "tilescope" / name).write_text("MZ")
    made = script("make_app").installer(
        folder, shutil.which("makensis"), "-DTARGET=amd64-unicode"
    )  # a stub of 64 bits, as Wine has here no other
    environment = {
        "PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "WINEPREFIX": str(tmp_path / "prefix"),
        "WINEDEBUG": "-all", "DISPLAY": display,
    }  # fmt: skip

    def wine(*command):
        return subprocess.run(
            [WINE, *map(str, command)], env=environment, capture_output=True, check=False,
            timeout=300,
        )  # fmt: skip

    def there():
        users = tmp_path / "prefix" / "drive_c" / "users"
        return {p.name for p in users.rglob("*") if "ilescope" in str(p.relative_to(users))}

    key = r"HKCU\Software\Microsoft\Windows\CurrentVersion\Uninstall\Tilescope"
    wine("wineboot", "-i")
    try:
        assert wine(made, "/S").returncode == 0
        assert {"tilescope.exe", "one", "uninstall.exe", "Tilescope.lnk"} <= there()
        said = wine("reg", "query", key).stdout.decode()
        assert script("make_app").version() in said
        (uninstall,) = (tmp_path / "prefix").rglob("uninstall.exe")
        wine(uninstall, "/S")
        wait_for(lambda: not there(), f"the end of {there()}", 60)
        assert wine("reg", "query", key).returncode != 0
    finally:
        subprocess.run([Path(WINE).with_name("wineserver"), "-k"], env=environment, check=False)


def test_a_program_without_a_console_can_print(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    entry = importlib.import_module("app_entry")
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    entry.give_streams()
    for stream in (sys.stdout, sys.stderr):
        with stream:
            print("nothing", file=stream)


@pytest.fixture(scope="module")
def application(tmp_path_factory):
    """The folder that `make app` makes."""
    if not sys.platform.startswith("linux") or shutil.which("dpkg-deb") is None:
        pytest.skip("it is built and packed on Debian here")
    folder = tmp_path_factory.mktemp("app")
    faulthandler.cancel_dump_traceback_later()  # it takes minutes, and that is well
    build = "import sys, pathlib; sys.path.insert(0, sys.argv[1]); import make_app; "
    build += "make_app.build(pathlib.Path(sys.argv[2]))"
    done = subprocess.run(
        [sys.executable, "-c", build, str(SCRIPTS), str(folder)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode and bare_root.is_offline(done.stderr):
        pytest.skip("PyInstaller cannot be fetched")
    assert done.returncode == 0, done.stderr[-3000:]
    return folder / "tilescope"


@pytest.mark.slow
@pytest.mark.release
@bare_root.NEEDED
def test_the_deb_is_installed_works_and_goes_without_a_trace(
    application, script, display, tmp_path
):
    """In a Debian that has nothing but what the package asks for: no Python, no network."""
    make_deb = script("make_deb")
    # Packed in seconds; what is given away takes minutes, and is as large as the archive.
    package = make_deb.make(application, tmp_path, "0.0.1", "-Zzstd", "-z1")
    asked = [name.split()[0] for name in make_deb.depended_on(application)]
    root = bare_root.Root.made(tmp_path / "root", *asked)
    assert root.run("python3", "--version", check=False).returncode != 0
    before = files_of(root)
    inside = root.path / "root" / package.name
    shutil.copy(package, inside)
    root.run("dpkg", "--install", f"/root/{package.name}", user="root")
    inside.unlink()
    assert "usr/share/applications/tilescope.desktop" in files_of(root)
    bare_root.show_its_work(root, "tilescope", display, tmp_path / "Xvfb_screen0")
    root.run("dpkg", "--purge", "tilescope", user="root")
    left = files_of(root) ^ before
    assert not {name for name in left if not name.startswith(("home/", "var/lib/dpkg", "var/log"))}


def files_of(root):
    """What lies in a root, without what belongs to the machine."""
    passing = ("proc/", "dev/", "sys/", "tmp/")
    names = (path.relative_to(root.path).as_posix() for path in root.path.rglob("*"))
    return {name for name in names if not name.startswith(passing)}


@pytest.mark.slow
@pytest.mark.release
def test_the_archive_is_a_folder_that_works(application, script, tmp_path):
    """Unpacked at a path with a space, without a display."""
    make_app = script("make_app")
    folder = tmp_path / "a folder é"
    folder.mkdir()
    # Packed less than what is given away; that is the smaller one.
    quick = make_app.archive(application.parent, "xz -1 -T0")
    assert quick.stat().st_size < MOST_BYTES
    with tarfile.open(quick) as packed:
        packed.extractall(folder, filter="tar")
    command = folder / "tilescope" / "tilescope"
    own = tmp_path / "own.cu"
    own.write_bytes(bare_root.KERNEL.read_bytes())
    bare = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "QT_QPA_PLATFORM": "offscreen"}

    def run(*arguments):
        return subprocess.run(
            [command, *arguments], cwd=tmp_path, env=bare, check=True, capture_output=True,
            encoding="utf-8",
        ).stdout  # fmt: skip

    assert "requests" in run("trace", "own.cu")
    assert run("export", "tiled?n=8&tile=4", "--steps", "0..3", "-o", "x.gif").startswith("Wrote")
    assert (tmp_path / "x.gif").read_bytes().startswith(b"GIF89a")
    assert run("--version").strip()
