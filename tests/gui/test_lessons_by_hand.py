"""Every lesson is played to its end in the real window, by keys and by mouse, and photographed.

TILESCOPE_PICTURES names a folder for the pictures: each question before and after its answer.
"""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from core.lessons.course import course_lesson, load_course
from tests.gui.real_app import NEEDED, App, display, size, wait_for

__all__ = ["display", "size"]  # fixtures

LESSONS = load_course().order
pytestmark = [
    *NEEDED,
    pytest.mark.slow,
    pytest.mark.release,
    pytest.mark.skipif(shutil.which("xclip") is None, reason="xclip not installed"),
]


class LessonApp(App):
    MODULE = "tests.gui.lesson_app"

    def lesson(self, **wanted):
        """The lesson's report, once it says all of these."""

        def matches():
            found = self.report().get("lesson", {})
            return found if all(found.get(k) == v for k, v in wanted.items()) else None

        return wait_for(matches, f"{wanted}; the last report was {self.report().get('lesson')}")

    def act(self, what, given):
        if what == "key":
            self.keys(given)
        elif what == "type":
            self.xdotool("type", "--delay", "5", given)
        elif what == "paste":
            subprocess.run(["xclip", "-selection", "clipboard"], input=given, text=True,
                           env=self.environment, check=True, stdout=subprocess.DEVNULL)  # fmt: skip
            self.keys("ctrl+v")
        else:
            self.xdotool("mousemove", *given, "click", "1")
        time.sleep(0.05)

    def picture(self, name):
        folder = os.environ.get("TILESCOPE_PICTURES")
        if folder:
            self.settled()
            time.sleep(0.5)  # what a worker draws
            Path(folder).mkdir(parents=True, exist_ok=True)
            command = ["import", "-window", "root", str(Path(folder) / f"{name}.png")]
            subprocess.run(command, env=self.environment, check=True)


@pytest.mark.parametrize("lesson", LESSONS)
@pytest.mark.parametrize("way", ["keys", "mouse"])
@pytest.mark.parametrize(
    ("size", "theme"), [((1366, 768), "light"), ((1920, 1080), "projector")], indirect=["size"]
)
def test_a_lesson_is_played_to_its_end(display, tmp_path, lesson, way, size, theme):
    app = LessonApp(display, tmp_path, size, "--theme", theme, "--lesson", lesson)
    try:
        play(app, lesson, way, theme)
    finally:
        app.process.terminate()
        app.process.communicate(timeout=60)


def play(app, lesson, way, theme):
    app.lesson(at=0, asked=True)
    app.focus()
    steps = course_lesson(lesson).steps
    for place, step in enumerate(steps):
        found = app.lesson(at=place, asked=True)
        name = f"{lesson}_{place + 1:02}_{theme}_{way}"
        app.picture(f"{name}_a")
        if way == "mouse" and found["kind"] == "order":
            while acts := app.settled()["lesson"]["mouse"]:
                app.act(*acts[0])
        else:
            for act in app.settled()["lesson"][way]:  # where all lies once it lies still
                app.act(*act)
        if not found["built"]:
            if way == "keys":
                app.keys("Return")
            else:
                app.act("click", app.settled()["lesson"]["sure"])
        told = app.lesson(at=place, stage="told")
        app.picture(f"{name}_b")
        assert told["mark"] == "right", step.name
        if way == "keys":
            app.keys("Next")
        else:
            app.act("click", app.settled()["lesson"]["next"])
    app.lesson(stage="ended")
    app.picture(f"{lesson}_end_{theme}_{way}")
