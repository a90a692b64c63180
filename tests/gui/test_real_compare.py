"""Sliders and the comparison in the real window, used by keys and mouse from outside."""

import subprocess

import numpy as np
import pytest

from tests.gui.real_app import NEEDED, App, wait_for

pytestmark = NEEDED


@pytest.fixture
def start(display, tmp_path, size):
    apps = []

    def run(*options):
        apps.append(App(display, tmp_path, size, *options))
        return apps[-1]

    yield run
    for app in apps:
        if app.process.poll() is None:
            app.process.kill()
            app.process.communicate()


def focus(app):
    """Give the window the keyboard, once the X server has it under its name."""

    def try_it():
        try:
            app.focus()
        except subprocess.CalledProcessError:
            return False
        return True

    wait_for(try_it, "the window")
    return app.settled()


def drag(app, name, share):
    """Drag a slider from where its handle is to a share of its width, in many small moves."""
    x, y, width, height = app.report()["geometry"][name]
    middle = y + height // 2
    app.xdotool("mousemove", x + width // 2, middle, "mousedown", 1)
    for at in np.linspace(0.5, share, 12):
        app.xdotool("mousemove", x + round(6 + at * (width - 12)), middle)
    app.xdotool("mouseup", 1)


@pytest.mark.slow
def test_two_launches_on_one_clock(start):
    app = start("tiled?n=64&tile=16&step=30&vs=tiled&vs.tile=32")
    app.until(rung="tiled", page="compare")
    focus(app)
    wait_for(lambda: (app.report()["versus"] or {}).get("rung") == "tiled", "side B")
    first = app.settled()
    assert (first["parameters"]["tile"], first["versus"]["parameters"]["tile"]) == (16, 32)
    app.keys("Home", "shift+Right", "shift+Right", "shift+Right", "Down")
    moved = wait_for(lambda: app.report() if app.report()["thread"] == 1 else None, "the thread")
    moved = app.settled()
    assert moved["versus"]["phase"] == 1
    assert moved["versus"]["thread"] == 1

    drag(app, "tile slider", 0.0)
    app.until(parameters={"n": 64, "tile": 1})
    drag(app, "tile slider", 1.0)
    found = app.until(parameters={"n": 64, "tile": 32})
    found = app.settled()
    assert found["step"] == found["versus"]["step"], "equal launches stand at the same step"

    app.keys("ctrl+j")
    wait_for(lambda: app.report()["geometry"]["B tile slider"][2] > 50, "the form of B")
    app.settled()
    drag(app, "B tile slider", 0.0)
    wait_for(lambda: app.report()["versus"]["parameters"]["tile"] == 1, "tile 1 on side B")
    assert app.report()["parameters"]["tile"] == 32

    app.keys("v", "v", "d", "ctrl+shift+x")
    app.until(parameters={"n": 64, "tile": 1})
    wait_for(lambda: app.report()["versus"]["parameters"]["tile"] == 32, "both swapped")
    picture = app.screen()
    assert picture.shape == (800, 1280, 3)
    for part in np.array_split(picture, 4, axis=1):
        assert part.std() > 5
    assert app.quit() == (0, "")


@pytest.mark.slow
def test_keys_mashed_while_sliders_are_dragged(start):
    app = start("uncoalesced?n=32&vs=coalesced")
    app.until(page="compare", rung="uncoalesced")
    focus(app)
    drag(app, "n slider", 1.0)
    app.keys("space", "v", "Right", "End", "ctrl+d", "Home", "shift+space", "d", "ctrl+shift+d")
    drag(app, "n slider", 0.3)
    app.keys("ctrl+1", "space", "ctrl+2", "Down", "h", "z", "ctrl+shift+x", "Escape", "ctrl+j")
    drag(app, "B n slider", 0.2)
    assert app.quit() == (0, "")
