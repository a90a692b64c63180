"""What a person sees first in the real window: each page and theme, by what it must contain."""

from collections import Counter

import numpy as np
import pytest

from gui.looks.theme import theme_names
from gui.shell.pages import PAGES
from tests.gui.real_app import NEEDED, App, wait_for

SIZE = (1366, 768)
SHORT_OF = 30  # of 255 in each channel: the smoothing of letters' edges
pytestmark = NEEDED


class SeenApp(App):
    """The application, which says what can be read of it."""

    MODULE = "tests.gui.first_sight"

    def seen(self, page, theme):
        """The report on a page in a theme, when nothing is at work and it stands still."""

        def arrived():
            found = self.report()
            there = found.get("page") == page and found.get("theme") == theme
            sight = found.get("sight", {})
            return there and sight["said"] and not sight["busy"] and not sight["cut"]

        self.until(page=page, theme=theme)
        try:
            wait_for(arrived, "the whole page")
        except pytest.fail.Exception:
            sight = self.report()["sight"]
            raise AssertionError(f"{page}, {theme}: {sight}") from None
        return self.settled()["sight"]


def pixels_near(picture, colour):
    """How many pixels have a colour, or nearly."""
    far = np.abs(picture.astype(int) - np.array(colour)).max(axis=2)
    return int((far < SHORT_OF).sum())


@pytest.fixture
def size():
    return SIZE


THEMES = [
    name if name == "light" else pytest.param(name, marks=pytest.mark.slow)
    for name in theme_names()
]  # `make check` looks at one


@pytest.mark.parametrize("theme", THEMES)
def test_each_page_is_whole_and_the_source_is_coloured(theme, display, tmp_path):
    app = SeenApp(display, tmp_path, SIZE, "--fresh", "--theme", theme, "tiled")
    try:
        app.until(rung="tiled")
        app.focus()
        for number, page in enumerate(PAGES, start=1):
            app.keys(f"ctrl+{number}")
            sight = app.seen(page.key, theme)
            picture = app.screen()
            assert picture.shape == (SIZE[1], SIZE[0], 3)
            for part in np.array_split(picture, 4, axis=1):
                assert part.std() > 3, page.key  # no quarter of the window is blank
            if page.clock:
                x, y, width, height = sight["transport"]
                assert min(x, y) >= 0
                assert x + width <= SIZE[0]
                assert y + height <= SIZE[1]
                assert picture[y : y + height, x : x + width].std() > 3
            if page.key == "step":
                if sight["source"] is None:  # large type: it lies behind another tab
                    app.keys("ctrl+e", "Escape")
                    wait_for(lambda: app.report()["sight"]["source"], "the source")
                    sight, picture = app.settled()["sight"], app.screen()
                check_words(picture, sight)
        assert app.quit() == (0, "")
    finally:
        if app.process.poll() is None:
            app.process.kill()
            app.process.communicate()


def check_words(picture, sight):
    """Most kinds of words in the source have their colours on the screen."""
    x, y, width, height = sight["source"]
    source = picture[y : y + height, x : x + width, ::-1]  # the frame buffer holds blue first
    found = Counter({k: pixels_near(source, c) for k, c in sight["words"].items()})
    for kind in ("keyword", "type", "number"):
        assert found[kind] > 10, found
