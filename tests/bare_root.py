"""A Debian of nothing but its base system, and a user in it who knows nothing of this machine.

`debootstrap` makes it. A command runs in namespaces of its own: with another root, no network and
none of this process's environment; all that it mounts is gone when it ends.
"""

import faulthandler
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.gui.real_app import pixels_of, wait_for

KERNEL = Path(__file__).resolve().parents[1] / "kernels" / "12_tiled.cu"
SUITE = os.environ.get("TILESCOPE_SUITE", "bookworm")
"""Debian's release; `docs/release.md` says what others were tried."""
USER = "student"
NEEDED = pytest.mark.skipif(
    not sys.platform.startswith("linux")
    or os.geteuid() != 0
    or shutil.which("debootstrap") is None
    or shutil.which("unshare") is None,
    reason="a bare root needs Linux, the user root, and debootstrap",
)
LIBRARIES_OF_QT = (
    *("libgl1", "libegl1", "libdbus-1-3", "libxkbcommon0", "libxkbcommon-x11-0", "fontconfig"),
    *("libglib2.0-0", "libx11-xcb1", "libxcb1"),
    *(f"libxcb-{name}" for name in ("cursor0", "icccm4", "image0", "keysyms1", "randr0")),
    *(f"libxcb-{name}" for name in ("render-util0", "shape0", "sync1", "xfixes0", "xkb1")),
)
"""What Qt's package on PyPI takes from Debian; every desktop has it."""
_ENTER = """
set -e
root=$1; shift
mount --make-rprivate /
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mkdir -p "$root/tmp/.X11-unix"
if [ -d /tmp/.X11-unix ]; then mount --bind /tmp/.X11-unix "$root/tmp/.X11-unix"; fi
exec chroot "$@"
"""


class Root:
    """A root at `path`."""

    def __init__(self, path):
        self.path = path
        self.home = path / "home" / USER

    @classmethod
    def made(cls, path, *packages):
        """A new one with Debian packages beside the base system's."""
        faulthandler.cancel_dump_traceback_later()  # it takes minutes, and that is well
        more = [f"--include={','.join(packages)}"] if packages else []
        done = subprocess.run(
            ["debootstrap", "--variant=minbase", *more, SUITE, str(path)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        said = done.stdout + done.stderr
        if done.returncode and is_offline(said):
            pytest.skip(f"debootstrap reaches no archive: {said.strip().splitlines()[-1]}")
        assert done.returncode == 0, said[-2000:]
        root = cls(path)
        root.run("useradd", "--create-home", "--shell", "/bin/sh", USER, user="root")
        return root

    def copied(self, path):
        """Another one just like it."""
        subprocess.run(["cp", "-a", "--reflink=auto", str(self.path), str(path)], check=True)
        return Root(path)

    def command(self, *command, user=USER, **environment):
        """The command line, on this machine, of a command in the root."""
        home = "/root" if user == "root" else f"/home/{user}"
        given = {
            "HOME": home,
            "PATH": "/usr/local/bin:/usr/bin:/bin" + (":/usr/sbin:/sbin" if user == "root" else ""),
            "LANG": "C.UTF-8",
            **environment,
        }
        apart = ["unshare", "--mount", "--pid", "--net", "--fork", "--kill-child"]
        enter = ["sh", "-c", _ENTER, "enter", str(self.path), f"--userspec={user}", str(self.path)]
        variables = [f"{name}={value}" for name, value in given.items()]
        go = ["env", "-i", *variables, "sh", "-c", 'cd "$HOME" && exec "$@"', "go"]
        return [*apart, *enter, *go, *map(str, command)]

    def run(self, *command, user=USER, check=True, typed="", **environment):
        """Run a command in the root and wait; what it prints must be UTF-8."""
        done = subprocess.run(
            self.command(*command, user=user, **environment),
            capture_output=True, encoding="utf-8", input=typed, check=False,
        )  # fmt: skip
        assert not check or done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done

    def write(self, name, data):
        """A file of the user's."""
        path = self.home / name
        path.write_bytes(data)
        shutil.chown(path, self.path.joinpath("home", USER).stat().st_uid)
        return f"/home/{USER}/{name}"


def is_offline(said):
    """Whether debootstrap or pip failed since they reach nothing."""
    return re.search("Failed getting release|Couldn't download|connection broken|Max retries", said)


def show_its_work(root, command, display, screen):
    """The installed command of a root: an own file, a lesson, a page to take away, the window.

    `screen` is the file with the display's frame buffer.
    """
    own = root.write("own é kernel.cu", KERNEL.read_bytes())
    traced = root.run(command, "trace", own).stdout
    assert "own é kernel.cu" in traced
    assert "requests" in traced
    # The first question of the course: a block of the coalesced kernel makes N phases.
    played = root.run(command, "lesson", "play", "1A", typed="7\n8\n").stdout
    assert "No. That is the number of the last phase" in played
    assert "Right. 8: k runs from 0 to 7" in played
    assert "binds at" in root.run(command, "ceilings", "tiled").stdout
    said = root.run(
        command, "export", "tiled?n=8&tile=4", "-o", "it.html", QT_QPA_PLATFORM="offscreen"
    ).stdout
    assert said.startswith("Wrote it.html")
    assert (root.home / "it.html").read_text("utf-8").startswith("<!")
    window = subprocess.Popen(
        root.command(command, "--lesson", "1A", "--size", "1280x800", DISPLAY=display),
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    shown = {**os.environ, "DISPLAY": display}

    def hand(*arguments):
        done = subprocess.run(
            ["xdotool", *map(str, arguments)],
            env=shown,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout.split()

    try:
        found = wait_for(
            lambda: (
                hand("search", "--onlyvisible", "--name", "– Tilescope")
                or (window.poll() is not None and pytest.fail(window.stderr.read()))
            ),
            "the window",
        )

        def drawn():
            picture = pixels_of(screen)
            return len(np.unique(picture.reshape(-1, 3), axis=0)) > 200 and picture

        wait_for(lambda: drawn() is not False, "text and colours in the window")
        hand("windowfocus", "--sync", found[0])
        hand("key", "--clearmodifiers", "ctrl+q")
        _, said = window.communicate(timeout=60)
    finally:
        window.kill()
    assert window.returncode == 0, said
    assert said.strip() == ""
