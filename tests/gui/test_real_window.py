"""A lesson, an edit and dragged views in the real window, by keys and mouse from outside."""

import time

import numpy as np
import pytest

from tests.gui.real_app import HEIGHT, NEEDED, WIDTH, App, wait_for

pytestmark = NEEDED


@pytest.fixture
def app(display, tmp_path, size):
    app = App(display, tmp_path, size)
    yield app
    if app.process.poll() is None:
        app.process.kill()
        app.process.communicate()


@pytest.mark.slow
def test_a_lesson_with_keys_and_mouse(app):
    app.until(rung="tiled")
    app.focus()
    start = app.settled()

    app.keys("Home")
    app.until(step=0)
    app.keys("Right")
    app.until(step=start["step"])  # the first access, where the window opened
    app.keys("4", "Right")
    assert app.until(unit="phase")["step"] >= start["step"]
    app.keys("1", "End")
    app.until(step=start["n_steps"] - 1, unit="access")
    app.keys("Left")
    last = app.until(caption="All threads store C at line 32; thread 0 stores C[0, 0].")
    app.keys("shift+space")
    app.until(playing=-1)
    wait_for(lambda: app.report()["step"] < last["step"], "playing backwards")
    app.keys("space")
    app.until(playing=0)

    app.keys("Down", "Down")
    app.until(thread=2)

    geometry = app.settled()["geometry"]  # of the scrub bar and of the list, in the window
    x, y, width, height = geometry["scrub"]
    app.click(x + width // 2, y + height // 2)
    middle = wait_for(lambda: abs(app.report()["step"] - start["n_steps"] / 2) < 2, "the middle")
    assert middle

    app.click(*app.rung("copy_offset"))
    app.until(rung="copy_offset", thread=0)
    app.keys("Home")
    app.until(step=0)
    app.keys("Right")
    wait_for(lambda: "load A at line" in app.report()["caption"], "the first load of A")

    picture = app.screen()
    assert picture.shape == (HEIGHT, WIDTH, 3)
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 200  # text, lines, colours
    for part in np.array_split(picture, 4, axis=1):
        assert part.std() > 5  # no quarter of the window is blank

    code, errors = app.quit()
    assert code == 0
    assert errors.strip() == ""  # not one Qt warning, not one exception


@pytest.mark.slow
def test_a_wrong_size_typed_into_the_form(app):
    app.until(rung="tiled")
    app.focus()
    x, y, width, height = app.settled()["geometry"]["n"]
    app.xdotool("mousemove", x + width // 3, y + height // 2, "click", "--repeat", 3, 1)
    app.keys("ctrl+a")
    app.xdotool("type", "10")

    def refused():  # on a busy machine it first says that recording takes a while
        found = app.report()
        return found if any(word in found["error"] for word in ("multiple", "divi")) else None

    report = wait_for(refused, "the sentence")
    assert report["parameters"] == {"n": 8, "tile": 4}
    app.keys("ctrl+a")
    app.xdotool("type", "12")
    app.until(error="", parameters={"n": 12, "tile": 4})
    app.keys("Escape", "Home")
    app.until(step=0)
    assert app.quit() == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize(
    "size", [(1280, 800), (3840, 2160)], indirect=True, ids=lambda s: f"{s[0]}x{s[1]}"
)
def test_a_tiled_example_and_an_edit(app, size):
    """From the first step to the last by breakpoints, an edit that is run, another theme."""
    app.until(rung="tiled")
    app.focus()
    start = app.settled()
    app.keys("Home")
    app.until(step=0)
    app.keys("4", "Right")
    wait_for(lambda: app.report()["step"] > 0, "the first phase")
    line = app.settled()["current_line"]
    app.keys("1", "F9", "Home", "F8")
    there = wait_for(
        lambda: r if (r := app.report())["step"] > 0 and r["current_line"] == line else None,
        "the breakpoint",
    )
    app.keys("ctrl+e", "ctrl+Home")
    app.xdotool("type", "--delay", 5, "// by hand")
    app.keys("Return", "ctrl+Return")
    app.until(current_line=line + 1, step=there["step"])  # the same moment, one line lower
    app.keys("Escape", "End", "shift+F8", "Home", "F8")
    app.until(step=there["step"])
    app.keys("h", "alt+6", "w", "Escape", "h", "ctrl+t")
    app.until(theme="dark")
    app.keys("End")
    app.until(step=start["n_steps"] - 1)
    wait_for(lambda: np.median(app.screen()) < 60, "the dark theme, put on bit by bit")
    time.sleep(0.5)
    picture = app.screen()
    assert picture.shape == (size[1], size[0], 3)
    for part in np.array_split(picture, 4, axis=1):
        assert part.std() > 5
    assert app.quit() == (0, "")


def middle(place):
    x, y, width, height = place
    return x + width // 2, y + height // 2


@pytest.mark.slow
def test_views_are_dragged_float_and_stay_where_they_were_put(app, display, tmp_path):
    """By tab and by heading: behind another, beside another, floating, back; over two starts."""
    app.until(rung="tiled")
    app.focus()
    first = app.settled()["docks"]
    assert first["Counters"]["tab"] is not None
    assert first["Matrices"]["with"] == []

    tab = app.settled()["docks"]["PTX"]["tab"]  # away from its neighbours, below them
    left, top, wide, high = first["Source"]["place"]
    app.drag(middle(tab), (left + wide // 2, top + high - 12))
    beside = app.dock("PTX", floats=False, **{"with": []})
    assert beside["place"][0] > WIDTH // 2

    x, y, _, height = beside["heading"]  # beyond the page: nothing takes it there
    app.drag((x + 20, y + height // 2), (WIDTH // 2, HEIGHT - 20))
    floating = app.dock("PTX", floats=True)
    x, y, _, height = floating["heading"]
    app.xdotool("mousemove", x + 20, y + height // 2, "click", "--repeat", 2, "--delay", 60, 1)
    app.dock("PTX", floats=False)
    now = app.settled()["docks"]
    app.drag(middle(now["Counters"]["tab"]), middle(now["Matrices"]["place"]))
    app.dock("Matrices", **{"with": ["Counters"]})
    app.focus()
    put = app.settled()["docks"]
    assert app.quit() == (0, "")

    again = App(display, tmp_path)
    try:
        again.until(rung="tiled")
        again.focus()
        for name, dock in again.settled()["docks"].items():
            assert {k: dock[k] for k in ("with", "floats")} == {
                k: put[name][k] for k in ("with", "floats")
            }
        again.keys("ctrl+0")
        again.dock("Matrices", **{"with": []})
        back = again.settled()["docks"]
        assert {n: d["with"] for n, d in back.items()} == {n: d["with"] for n, d in first.items()}
        assert not any(dock["floats"] for dock in back.values())
        assert again.quit() == (0, "")
    finally:
        if again.process.poll() is None:
            again.process.kill()
            again.process.communicate()
