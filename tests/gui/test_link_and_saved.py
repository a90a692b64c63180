"""Links and the saved session, without Qt."""

import json
import logging
import random
import tracemalloc
from types import SimpleNamespace

import pytest

from core.errors import ParameterError
from core.launching.file_launch import FileLaunch
from gui.scenes.link import LONGEST, LONGEST_READ, Moment, go_to, link_to, parse_link
from gui.scenes.packed import MOST_SOURCE, checksum, pack
from gui.scenes.saved import Saved, load, save, selection
from gui.scenes.selection import Breakpoint, Configuration, Origin

THEMES = ("light", "dark", "projector")


def test_a_link_says_all(ladder):
    text = "tiled?n=4&tile=2&step=12&block=3&thread=1&theme=dark"
    found = parse_link(text, ladder, THEMES)
    assert found == Moment("tiled", {"n": 4, "tile": 2}, 12, 3, 1, "dark")
    assert parse_link(f'tilescope "{text}"', ladder, THEMES) == found
    assert parse_link("tiled", ladder, THEMES) == Moment("tiled")
    assert parse_link("tiled?", ladder, THEMES).step is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nonsense?n=4", "no kernel of the ladder: `nonsense`"),
        ("?n=4", "no kernel of the ladder"),
        ("tiled?n", "`n` in the link is not NAME=VALUE"),
        ("tiled?n=", "not NAME=VALUE"),
        ("tiled?n=four", "link's n is `four`"),
        ("tiled?size=4", "sets `size`, which tiled has not"),
        ("tiled?n=4&n=5", "sets `n` twice"),
        ("tiled?step=-1", "counts from 0"),
        ("tiled?step=1e3", "whole number"),
        ("tiled?theme=pink", "theme is `pink`: use light, dark, projector"),
        ("tiled?source=!!", "damaged"),
        ("tiled?source=abcd", "damaged"),
        (f"tiled?source={pack('x' * 5000)[:-8]}", "damaged"),
        (f"tiled?source={pack('x' * (2 << 20))}", "source has more than 262,144 bytes"),
        ("tiled?element=A", "element is `A`: write it as A[0,2]"),
        ("tiled?heat=on", "heat is `on`: use 1 for on, 0 for off"),
        ("tiled?heat=5", "heat is `5`: use 1 for on, 0 for off"),
        ("tiled?warp_trail=-1", "warp_trail is `-1`: use 1"),
        ("tiled?n=\u0664", "link's n is `\u0664`"),
        ("tiled?step=" + "9" * 19, "whole number"),
        ("tiled?element=A[\u0664]", "write it as A[0,2]"),
        ("tiled?n=" + "1" * LONGEST_READ, "has 16,008 characters, and 16,000 is the most"),
        ("~nobody-of-this-name/x.cu?step=1", "there is no such user's folder"),
        ("tiled?vs=~nobody-of-this-name/x.cu", "there is no such user's folder"),
        ("//host/share/x.cu?step=1", "leads to another computer or a device, `//host/share/x.cu`"),
        (r"\\host\share\x.cu?step=1", "leads to another computer"),
        ("%5C%5C.%5Cpipe%5Cx?step=1", "leads to another computer"),
        ("tilescope:////host/share/x.cu?step=1", "leads to another computer"),
        ("tiled?vs=//host/share/x.cu", "leads to another computer"),
        ("a.cu?arg.x=@//host/share/x.npy", "leads to another computer"),
        ("a.cu?arg.x=+@+%2F%5Chost/x.npy", "leads to another computer"),
        ("/tmp/a%00b.cu?step=1", r"cannot be seen: '/tmp/a\x00b.cu'"),
        ("/tmp/a%E2%80%AEuc.b?step=1", r"cannot be seen: '/tmp/a\u202euc.b'"),
        ("tiled?gridDim=2", "sets `gridDim`, which tiled has not"),
        ("a.cu?grid=2", "sets `grid`, which a launch of a file has not: it has kernel, gridDim"),
        ("a.cu?step=x", "link's step is `x`"),
        ("a.cu?kernel=k&kernel=k", "sets `kernel` twice"),
        ("tiled?vs=b.cu&vs.n=4", "sets `vs.n`"),
    ],
)
def test_malformed_links_are_one_sentence(ladder, text, words):
    with pytest.raises(ParameterError) as caught:
        parse_link(text, ladder, THEMES)
    assert words in str(caught.value)
    assert str(caught.value).endswith(".")


def test_a_bomb_is_given_up_before_it_takes_memory(ladder):
    text = pack(" " * (4 << 20))
    assert len(text) < LONGEST
    tracemalloc.start()
    with pytest.raises(ParameterError, match="more than"):
        parse_link(f"tiled?source={text}", ladder, THEMES)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1 << 20
    assert parse_link(f"tiled?source={pack('x' * MOST_SOURCE)}", ladder, THEMES).source


def test_a_link_leads_back(ladder, session):
    edited = "// ünicode & = ?\n__global__ void tiled() {}\n"
    for source in (None, edited):
        session.origin = Origin(Configuration("tiled", {"n": 16, "tile": 8}, source), "")
        session.update(block=2, step=17, thread=9)
        found = parse_link(link_to(session, "projector"), ladder, THEMES)
        expected = Moment("tiled", {"n": 16, "tile": 8}, 17, 2, 9, "projector", source)
        assert found == expected
        session.update(block=0, step=0, thread=0)
        assert go_to(session, found) == ""
        assert (session.block, session.step, session.thread) == (2, 17, 9)


def test_places_that_the_launch_has_not(session):
    last = session.n_steps - 1
    sentence = go_to(session, Moment("tiled", {}, 9999, 77, 64))
    assert sentence == (
        f"The launch has no step 9999 (the last is step={last}) and no thread 64 (the last is "
        "thread=63) and no block 77 (the last is block=3); a link counts from 0."
    )
    assert (session.step, session.thread) == (last, 63)


def test_what_no_link_can_say(session):
    with pytest.raises(ParameterError, match="nothing to link to"):
        link_to(session, "light")
    rng = random.Random(5)
    long = "// " + "".join(chr(rng.randrange(33, 127)) for _ in range(2 * LONGEST))
    session.origin = Origin(Configuration("tiled", {"n": 16, "tile": 8}, long), "")
    with pytest.raises(ParameterError, match=r"^A link with .* save the source in a file .*\.$"):
        link_to(session, "light")


PATHS = (
    "/home/ada/mine.cu",
    "/tmp/at\u202f9\u00a0pm \u3000\U0001f469\u200d\U0001f52c.cu",
    "/tmp/a b&c=d?e+f%20ü#.cu",
    "/x/noextension",
)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("source", [None, "// edited & more\n"])
def test_a_link_to_a_file_leads_back(ladder, session, path, source):
    arguments = (("x", "zeros:float32[4,4]"), ("y", "@/data/a+b.npy"), ("s", "-1.5e+3"))
    own = FileLaunch(path, "k", "1,2", "32", "0", "T=1 PAD=2", arguments)
    session.origin = Origin(Configuration("", {}, source, own), "// as it is")
    session.update(block=1, step=5, thread=3, line=7, element=("A", (2, 1)), heat=True)
    link = link_to(session, "dark")
    assert " " not in link
    found = parse_link(f'tilescope "{link}"', ladder, THEMES)
    assert found.own == own
    assert (found.rung, found.parameters, found.source) == ("", {}, source)
    assert (found.block, found.step, found.thread, found.line) == (1, 5, 3, 7)
    assert (found.element, found.looks, found.theme) == (("A", (2, 1)), {"heat": True}, "dark")
    assert found.check == (checksum("// as it is") if source is None else None)
    compared = link_to(session, "dark", Configuration("", {}, "// b\n", own))
    assert parse_link(compared, ladder, THEMES).versus == Configuration("", {}, "// b\n", own)
    compared = link_to(session, "dark", Configuration("tiled", {"n": 16, "tile": 8}))
    versus = parse_link(compared, ladder, THEMES).versus
    assert versus == Configuration("tiled", {"n": 16, "tile": 8})


def test_a_short_link_to_a_file_says_little(ladder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = parse_link("mine.cu?arg.n=9&step=3", ladder, THEMES)
    assert found.own == FileLaunch(str(tmp_path / "mine.cu"), "", "", "", "", "", (("n", "9"),))
    assert not found.own.complete
    assert parse_link("tilescope://tiled?n=4", ladder, THEMES).rung == "tiled"
    assert parse_link("tilescope:/a/b.cu?step=1", ladder, THEMES).own.path == "/a/b.cu"


def test_line_element_and_looks_are_taken_up(session):
    moment = Moment("tiled", line=4, element=("A", (2, 1)), looks={"heat": True}, check="0")
    session.origin = Origin(Configuration("tiled", {"n": 16, "tile": 8}), "text")
    assert go_to(session, moment) == "The file has been changed since this link was made."
    assert (session.line, session.element, session.heat) == (4, ("A", (2, 1)), True)
    wrong = Moment("tiled", element=("A", (99, 1)), check=checksum("text"))
    assert go_to(session, wrong) == "The launch has no element A[99,1]."


OWN = FileLaunch("/a/b.cu", "k", "1,2", "32", "0", "T=1", (("x", "zeros:float32[4]"),))
BREAKS = frozenset({Breakpoint(line=3), Breakpoint(element=("A", (0, 2)))})
FULL = Saved(
    Configuration("tiled", {"n": 8}, "text"),
    block=1, step=2, thread=3, line=4, unit="line", speed=8.0, theme="dark", page="benchmark",
    geometry="AbC=", layout="AbC=", left=200, looks={"heat": True, "counts_by": "line"},
    drafts={"tiled": "a\nb"}, breakpoints={"tiled": BREAKS},
    launches={"/a/b.cu": OWN},
)  # fmt: skip


@pytest.mark.parametrize("saved", [FULL, Saved(), Saved(Configuration("", {}, None, OWN))])
def test_saved_and_loaded_again(tmp_path, saved):
    path = tmp_path / "new" / "session.json"
    save(saved, path)
    assert load(path) == saved
    assert [p.name for p in path.parent.iterdir()] == ["session.json"]


def changed(**values):
    return json.dumps({**json.loads(json.dumps(FULL_PLAIN)), **values})


@pytest.fixture(scope="module", autouse=True)
def plain(tmp_path_factory):
    path = tmp_path_factory.mktemp("plain") / "session.json"
    save(FULL, path)
    FULL_PLAIN.update(json.loads(path.read_text()))


FULL_PLAIN: dict = {}


@pytest.mark.parametrize(
    "values",
    [
        {"version": 99}, {"step": "x"}, {"step": True}, {"unit": "mile"}, {"configuration": 3},
        {"configuration": {}}, {"left": "x"}, {"looks": {"heat": 1}},
        {"looks": {"counts_by": "warp"}},
        {"looks": {"odd": True}},
        {"breakpoints": {"tiled": [{"line": 3}]}},
        {"breakpoints": {"tiled": [{"line": None, "element": None}]}},
        {"drafts": {"tiled": 3}},
        {"drafts": []}, {"launches": {"/a": {"path": "/a"}}}, {"launches": {"/a": {"odd": "a"}}},
    ],
)  # fmt: skip
def test_a_broken_file_is_ignored_with_a_log_line(tmp_path, caplog, values):
    path = tmp_path / "session.json"
    path.write_text(changed(**values))
    with caplog.at_level(logging.WARNING):
        assert load(path) is None
    assert "ignored" in caplog.text


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"version": 1}', "\x00"])
def test_a_file_that_is_no_session(tmp_path, caplog, text):
    path = tmp_path / "session.json"
    path.write_text(text)
    with caplog.at_level(logging.WARNING):
        assert load(path) is None
    assert "ignored" in caplog.text
    assert load(tmp_path / "none.json") is None


def test_a_folder_that_cannot_be_written_is_logged(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    save(FULL, tmp_path / "file" / "session.json")
    assert "could not be saved" in caplog.text


def test_what_of_a_session_is_kept(session):
    shown = Configuration("tiled", {"n": 16})
    session.origin = Origin(shown, "")
    session.update(step=5, unit="phase", configuration=Configuration("tiled", {"n": 0}))
    kept = selection(session)
    assert kept["configuration"] == shown  # what was shown, not what failed
    assert (kept["step"], kept["unit"]) == (5, "phase")
    session.origin = None
    assert selection(session)["configuration"].parameters == {"n": 0}
    assert SimpleNamespace(**kept).block == 0


def test_what_a_link_does_not_say_is_as_at_first(ladder, session):
    session.update(block=2, thread=9, step=17, line=3, element=("A", (1, 1)), heat=True)
    assert go_to(session, Moment("tiled", step=5)) == ""
    assert (session.block, session.thread, session.element) == (2, 9, ("A", (1, 1)))
    assert go_to(session, parse_link("tiled?n=16&tile=8&step=6", ladder, THEMES)) == ""
    assert (session.block, session.thread, session.step) == (0, 0, 6)
    assert (session.line, session.element, session.heat) == (None, None, False)


def test_a_link_without_a_step_goes_to_the_first_access(ladder, session):
    first = next(s for s in range(session.n_steps) if session.block_trace.access(s) is not None)
    for block in (0, 3):
        session.update(block=2, step=session.n_steps - 3)
        link = f"tiled?n=16&tile=8&block={block}"
        session.block = block
        assert go_to(session, parse_link(link, ladder, THEMES)) == ""
        assert (session.block, session.step) == (block, first)
    session.step = 17
    assert go_to(session, Moment("tiled", block=1)) == ""
    assert session.step == 17, "what an earlier session left open stays"
