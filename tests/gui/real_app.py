"""The real window on a real X server (Xvfb), driven from outside with keys and mouse by xdotool.

What happened is read from the file that `tests.gui.reported_app` keeps, and the picture from the X
server's own frame buffer.
"""

import json
import os
import shutil
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
MISSING = [tool for tool in ("Xvfb", "xdotool") if shutil.which(tool) is None]
WIDTH, HEIGHT = 1280, 800
NEEDED = [
    pytest.mark.window,
    pytest.mark.skipif(bool(MISSING), reason=f"{' and '.join(MISSING)} not installed"),
]


def wait_for(condition, what, seconds=120.0):  # far more than a machine with other work needs
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    pytest.fail(f"waited {seconds:.0f} s for {what}")


@pytest.fixture
def size(request):
    """Of the display and the window, in pixels."""
    return getattr(request, "param", (WIDTH, HEIGHT))


@pytest.fixture
def display(tmp_path, size):
    """A display of our own; yields its name and the folder with its frame buffer."""
    read, write = os.pipe()
    command = ["Xvfb", "-displayfd", str(write), "-screen", "0", f"{size[0]}x{size[1]}x24"]
    server = subprocess.Popen(
        # With no client it would begin anew, and each look for a window is the last client's end.
        [*command, "-fbdir", str(tmp_path), "-nolisten", "tcp", "-noreset"],
        pass_fds=[write],
        stderr=subprocess.DEVNULL,
    )
    os.close(write)
    with os.fdopen(read) as pipe:
        name = f":{pipe.readline().strip()}"
    yield name
    server.terminate()
    server.wait(10)


def pixels_of(file):
    """The pixels of Xvfb's frame buffer (XWD format), uint8 [height, width, 3]."""
    data = file.read_bytes()
    header = struct.unpack(">25I", data[:100])
    size, height, row, colours = header[0], header[5], header[12], header[19]
    pixels = np.frombuffer(data, np.uint8, height * row, size + colours * 12)
    return pixels.reshape(height, row // 4, 4)[:, :, :3]


class App:
    """The application's process, and hands to use it with."""

    MODULE = "tests.gui.reported_app"

    def __init__(self, display, folder, size=None, *options):
        self.folder = folder
        self.report_file = folder / "report.json"
        self.report_file.unlink(missing_ok=True)
        self.asked, self.asked_file = 0, folder / "report.asked"
        self.asked_file.unlink(missing_ok=True)
        self.environment = {**os.environ, "DISPLAY": display, "QT_QPA_PLATFORM": "xcb"}
        self.environment["XDG_STATE_HOME"] = str(folder)
        self.environment["PYTHONFAULTHANDLER"] = "1"  # a crash says where
        sized = ["--size", f"{size[0]}x{size[1]}"] if size else []
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                self.MODULE,
                self.report_file,
                "--no-tour",
                *sized,
                *options,
            ],
            cwd=ROOT,
            env=self.environment,
            stderr=subprocess.PIPE,
            text=True,
        )

    def xdotool(self, *arguments):
        return subprocess.run(
            ["xdotool", *map(str, arguments)],
            env=self.environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    def report(self):
        try:
            return json.loads(self.report_file.read_text())
        except FileNotFoundError:
            return {}

    def until(self, **wanted):
        """Wait until the report says all of these."""

        def matches():
            found = self.report()
            return found if all(found.get(k) == v for k, v in wanted.items()) else None

        return wait_for(matches, f"{wanted}; the last report was {self.report()}")

    def focus(self):
        found = wait_for(
            lambda: self.xdotool("search", "--onlyvisible", "--name", "– Tilescope").split(),
            "the window",
        )
        self.xdotool("windowmove", "--sync", found[0], 0, 0)
        self.xdotool("windowfocus", "--sync", found[0])

    def keys(self, *names):
        self.xdotool("key", "--clearmodifiers", *names)

    def settled(self):
        """The report, once the window has had all that was sent, and then not changed."""
        self.asked += 1
        draft = self.asked_file.with_suffix(".draft")
        draft.write_text(str(self.asked))
        draft.replace(self.asked_file)
        return self.until(settled=str(self.asked))

    def click(self, x, y):
        self.xdotool("mousemove", x, y, "click", 1)

    def rung(self, name):
        """The middle of a rung in the ladder, turned to by the wheel where it is out of sight."""

        def place():
            found = self.settled()["geometry"]
            if name in found["rungs"]:
                x, y, width, height = found["rungs"][name]
                return x + width // 2, y + height // 2
            x, y, width, height = found["ladder"]
            self.xdotool("mousemove", x + width // 2, y + height // 2, "click", 4)
            return None

        return wait_for(place, f"{name} in sight")

    def drag(self, start, end):
        """Drag as a hand does: press, move in steps, let go."""
        self.xdotool("mousemove", *start, "mousedown", 1)
        for part in range(1, 21):
            at = [a + (b - a) * part // 20 for a, b in zip(start, end, strict=True)]
            self.xdotool("mousemove", *at)
            time.sleep(0.02)
        self.settled()  # the place where it would go lights up
        self.xdotool("mouseup", 1)

    def dock(self, name, **wanted):
        """What the report says of a view, once all of these are so."""

        def matches():
            found = self.report()["docks"][name]
            return found if all(found[k] == v for k, v in wanted.items()) else None

        wait_for(matches, f"{name}: {wanted}; it is {self.report()['docks'][name]}")
        return self.settled()["docks"][name]

    def screen(self):
        """The display's pixels, uint8 [height, width, 3]."""
        return pixels_of(self.folder / "Xvfb_screen0")

    def quit(self):
        self.keys("ctrl+q")
        _, errors = self.process.communicate(timeout=20)
        return self.process.returncode, errors
