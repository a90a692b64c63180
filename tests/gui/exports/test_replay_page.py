"""The page to replay: in a browser it says and shows what the window does."""

import json
import re

import pytest
from PySide6.QtCore import QSize

from core.errors import ParameterError, TilescopeError
from gui.exports import replay_page
from gui.exports.export_command import opened
from gui.exports.exported_views import MEMORY, Stage, chosen
from gui.looks.theme import apply_theme, theme_names
from gui.scenes.transport_bar import event_caption
from tests import chromium

LINK = "tiled?n=6&tile=3&thread=4&step=20"


@pytest.fixture(scope="module")
def session(qapp, ladder):
    apply_theme(qapp, "light")
    return opened(LINK, ladder, theme_names(), lambda _: None)


@pytest.fixture(scope="module")
def page(session):
    chapter = replay_page.Chapter(
        session, replay_page.steps_in(session), "A </script> title", session.step
    )
    start = session.step
    text = replay_page.page_of([chapter], replay_page.VIEWS, "A </script> title")
    session.step = start
    return text


def data_of(page):
    _, _, rest = page.partition('<script type="application/json" id="data">')
    return json.loads(rest.partition("</script>")[0])


def pictures(chapter, place):
    """The numbers of each picture's elements, put together as the page does it."""
    before, found = [], []
    for head, tail, middle in chapter["frames"][place]:
        before = before[:head] + middle + (before[-tail:] if tail else [])
        found.append(before)
    return found


def test_a_link_is_opened_at_its_step(session):
    assert session.step == 20
    assert session.thread == 4
    assert dict(session.parameters) == {"n": 6, "tile": 3}


@pytest.mark.slow
def test_the_page_holds_each_step_as_the_window_says_it(session, page):
    data = data_of(page)
    (chapter,) = data["chapters"]
    words = data["words"]
    assert [step["step"] for step in chapter["steps"]] == list(range(session.n_steps))
    stage = Stage(session, [("Matrices", QSize(500, 400)), (MEMORY, QSize(500, 400))])
    for number in (0, 7, 20, session.n_steps - 1):
        shown = stage.at(number)
        step = chapter["steps"][number]
        said = [[one.title, one.caption] for one in shown]
        assert [[words[word] for word in view] for view in step["views"]] == said
        assert words[step["event"]] == event_caption(session)
        assert step["line"] == (session.current_line or 0)
    titles = {words[step["views"][1][0]] for step in chapter["steps"]}
    assert titles == {"Warp and global memory", "Shared memory"}
    stage.close()


@pytest.mark.slow
def test_pictures_hold_the_values_and_nothing_twice(session, page):
    data = data_of(page)
    (chapter,) = data["chapters"]
    assert len(set(data["shapes"])) == len(data["shapes"])
    array = next(a for a in session.trace.arrays if a.name == "A")
    assert array.shape == (6, 6)
    for place in (0, 1):
        found = pictures(chapter, place)
        assert len(found) == session.n_steps
        assert all(found)
    svg = "".join(data["shapes"][i] for i in pictures(chapter, 0)[-1])
    for name in "ABC":
        assert f">{name}</text>" in svg


def test_a_page_needs_nothing_else(page):
    assert len(page.encode()) < replay_page.MOST_BYTES
    bare = page.replace("http://www.w3.org/2000/svg", "")  # a name, not an address
    assert not re.findall(r"https?://|<link|<script src|@import|url\((?!\"?data:|#)", bare)
    assert page.count("</script>") == 2
    assert "A &lt;/script&gt; title" in page


def test_no_text_of_a_kernel_ends_the_pages_data(session):
    title = "<!-- <script> <!--script--> </script>"
    text = replay_page.page_of([replay_page.Chapter(session, range(3), title)], ["Variables"], "x")
    assert text.count("</script>") == 2
    data = text.partition('<script type="application/json" id="data">')[2].partition("</script>")[0]
    assert "<!--" not in data
    assert json.loads(data)["chapters"][0]["title"] == title


def test_what_is_too_much_is_a_sentence(session):
    one = replay_page.Chapter(session, range(5), "x")
    many = replay_page.Chapter(session, [0] * (replay_page.MOST_STEPS + 1), "x")
    with pytest.raises(TilescopeError, match=r"holds 2\s000 steps.*--steps"):
        replay_page.page_of([one, many], replay_page.VIEWS, "x")
    with pytest.raises(TilescopeError, match="some of them, not 10000"):
        replay_page.steps_in(session, 10_000, None)
    assert replay_page.steps_in(session, None, 3) == range(4)
    with pytest.raises(ParameterError, match="no view Tiles: use Memory, Matrices"):
        chosen(["Tiles"])


@pytest.fixture
def browser(page, tmp_path):
    if chromium.found() is None:
        pytest.skip("there is no Chromium (apt-get install chromium)")
    file = tmp_path / "réplay page.html"
    file.write_text(page, "utf-8")
    return file


@pytest.mark.slow
def test_keys_and_buttons_step_in_a_browser(browser, session, page, tmp_path):
    data = data_of(page)
    (chapter,) = data["chapters"]
    stops = chapter["stops"]["access"]
    with chromium.opened(browser.as_uri(), tmp_path / "profile") as shown:

        def place():
            return int(shown.value("document.getElementById('scrub').value"))

        assert shown.value("document.title") == "A </script> title"
        assert place() == 20  # where the link leads
        shown.press("ArrowRight")
        ahead = next(number for number, stop in enumerate(stops) if stop > 20)
        assert place() == stops[ahead]
        shown.press("ArrowLeft")
        shown.press("ArrowLeft")
        assert place() == stops[ahead - 2]
        shown.press("End")
        assert place() == session.n_steps - 1
        shown.press("Home")
        assert place() == 0
        assert shown.value("document.getElementById('back').disabled") is True
        seen = []
        while (at := place()) not in seen:  # every step by access: what stands there
            seen.append(at)
            step = chapter["steps"][at]
            words = [data["words"][word] for word in step["views"][0]]
            assert shown.text(".picture.main h2") == words[0]
            assert shown.text(".picture.main .caption") == words[1]
            assert shown.text("#event") == data["words"][step["event"]]
            assert shown.text("#step") == f"step {at} / {session.n_steps - 1}"
            lit = shown.value("[...document.querySelectorAll('#source li')].findIndex("
                              "line => line.className == 'now') + 1")  # fmt: skip
            assert lit == step["line"]
            count = shown.value("document.querySelector('.picture.main svg').children.length")
            assert count == len(pictures(chapter, 0)[at])
            shown.click("#ahead")
        assert len(seen) >= len(stops)
        # The scrub bar, and another unit.
        shown.value("{const s = document.getElementById('scrub'); s.value = 9; s.oninput()}")
        assert place() == 9
        shown.value(
            "{const u = document.getElementById('unit'); u.value = 'barrier'; u.onchange()}"
        )
        shown.press("ArrowRight")
        assert place() == min(s for s in chapter["stops"]["barrier"] if s > 9)
        shown.press("Home")
        shown.press(" ")
        shown.value("new Promise(done => setTimeout(done, 1500))")
        assert place() > 0
        assert shown.text("#play") == "Pause"
        assert shown.errors == []


@pytest.mark.slow
def test_a_page_works_inside_another_ones_frame(browser, tmp_path):
    around = tmp_path / "course.html"
    frame = f'<iframe sandbox="allow-scripts" width="1200" height="700" src="{browser.as_uri()}">'
    around.write_text(f"<!DOCTYPE html><title>Course</title>{frame}</iframe>", "utf-8")
    with chromium.opened(around.as_uri(), tmp_path / "profile") as shown:
        inner = shown.contexts[-1]
        assert shown.value("document.title", inner) == "A </script> title"
        before = shown.value("document.getElementById('scrub').value", inner)
        shown.value("document.getElementById('ahead').click()", inner)
        assert shown.value("document.getElementById('scrub').value", inner) != before
        assert shown.errors == []
