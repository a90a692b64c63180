"""Links and the saved session, without Qt."""

import json
import os
import random
import re
import tracemalloc
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from core.errors import ParameterError, TilescopeError
from core.links import LONGEST, LONGEST_READ, MOST, MOST_SOURCE, Link, checksum, pack, parse_link
from core.user_files.launch_texts import FileLaunch
from gui.scenes.configuration import Configuration, Origin
from gui.scenes.lists_of_moments import Named
from gui.scenes.moment_links import go_to, link_to, window_link
from gui.scenes.saved_state import Saved, find, load, merged, said_aside, save, selection
from gui.scenes.selection import Breakpoint
from gui.scenes.setting_choices import PAGE_KEYS
from gui.shell.pages import PAGES

THEMES = ("light", "dark", "projector")


def test_a_link_says_all(ladder):
    text = "tiled?n=4&tile=2&step=12&block=3&thread=1&theme=dark"
    found = window_link(text, ladder, THEMES)
    assert found == Link(
        "tiled", {"n": 4, "tile": 2}, step=12, block=3, thread=1, looks={"theme": "dark"}
    )
    assert window_link(f'tilescope "{text}"', ladder, THEMES) == found
    assert window_link("tiled", ladder, THEMES) == Link("tiled", ladder["tiled"].defaults)
    assert window_link("tiled?", ladder, THEMES).step is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nonsense?n=4", "no kernel of the ladder: `nonsense`"),
        ("?n=4", "no kernel of the ladder"),
        ("tiled?n", "`n` in the link is not NAME=VALUE"),
        ("tiled?n=", "not NAME=VALUE"),
        ("tiled?n=four", "link's n is `four`"),
        ("tiled?sizes=4", "sets `sizes`, unknown in a launch of tiled"),
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
        ("tiled?n=999999999999999999", "n is 999999999999999999: 2147483647 is the most"),
        ("tiled?n=-2147483648", "n is -2147483648: 2147483647 is the most"),
        ("tiled?line=999999999999999999", "line is 999999999999999999: 2147483647 is the most"),
        ("tiled?vs=tiled&vs.n=99999999999", "vs.n is 99999999999: 2147483647 is the most"),
        ("tiled?element=A[0,999999999999]", "2147483647 is the most in an index"),
        ("tiled?page=home", "page is `home`: use step, compare, benchmark"),
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
        ("tiled?gridDim=2", "sets `gridDim`, unknown in a launch of tiled"),
        ("a.cu?grid=2", "sets `grid`, unknown in a launch of a file: use kernel, gridDim"),
        ("a.cu?step=x", "link's step is `x`"),
        ("a.cu?kernel=k&kernel=k", "sets `kernel` twice"),
        ("tiled?vs=b.cu&vs.n=4", "sets `vs.n`"),
    ],
)
def test_malformed_links_are_one_sentence(ladder, text, words):
    with pytest.raises(ParameterError) as caught:
        window_link(text, ladder, THEMES)
    assert words in str(caught.value)
    assert str(caught.value).endswith(".")


def test_a_link_holds_its_page_and_no_theme(ladder, session):
    session.origin = Origin(Configuration("tiled", {"n": 16, "tile": 8}), "")
    assert "page" not in link_to(session)
    for page in (page.key for page in PAGES):
        session.page = page
        link = link_to(session)
        assert "theme" not in link
        assert window_link(link, ladder, THEMES).looks.get("page") == (
            None if page == "step" else page
        )
    assert tuple(page.key for page in PAGES) == PAGE_KEYS


def mutated(text, rng, alphabet):
    """Up to three of its pieces replaced, put in twice, taken out or made long."""
    for _ in range(rng.randrange(1, 4)):
        at, end = sorted(rng.randrange(len(text) + 1) for _ in range(2))
        piece = rng.choice(
            [
                "".join(rng.choices(alphabet, k=rng.randrange(6))),
                text[at : min(end, at + 9)] * 2,
                rng.choice(["9" * 18, "2147483647", "2147483648", "-1", "0", "\ud800", "%00"]),
            ]
        )
        text = text[:at] + piece + text[min(end, at + rng.randrange(9)) :]
    return text


SEEDS = (
    "tiled?n=8&tile=4&step=12&block=1&thread=3&line=22&element=A[1,2]&heat=1&view=PTX&large=1",
    "tiled?n=16&tile=8&vs=tiled_bounds&vs.n=15&vs.tile=7&inputs=places&page=occupancy&theme=dark",
    f"a.cu?kernel=k&gridDim=2,3&blockDim=32&arg.n=7&arg.a=@x.npy&source={pack('// edited')}",
    "untitled.cu?kernel=k&check=01234567&shared=9&defines=T=1&step=3&vs=b.cu&vs.kernel=q",
)
LETTERS = "0123456789&&==?.,[]-+%@/\\ nstepblockvA\x00\u202e\u0664\U0001f600"


def test_mutated_links_are_followed_or_one_sentence(ladder, session):
    rng = random.Random(2)
    session.origin = Origin(Configuration("tiled", {"n": 16, "tile": 8}), "")
    followed = 0
    for number in range(1200):
        text = mutated(SEEDS[number % len(SEEDS)], rng, LETTERS)
        moment, said = None, ""
        try:
            moment = window_link(text, ladder, THEMES)
        except ParameterError as error:
            said = str(error)
        assert said.endswith(".") == (moment is None), (text, said)
        if moment is not None:
            followed += 1
            said = go_to(session, moment)
            assert 0 <= session.step < session.n_steps
            assert abs(session.line or 0) <= MOST
        assert len(re.findall(r"[.:;]\s+[A-Z]", said)) <= 1, (text, said)
    assert 100 < followed < 1100


def test_a_bomb_is_given_up_before_it_takes_memory(ladder):
    text = pack(" " * (4 << 20))
    assert len(text) < LONGEST
    tracemalloc.start()
    with pytest.raises(ParameterError, match="more than"):
        window_link(f"tiled?source={text}", ladder, THEMES)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1 << 20
    assert window_link(f"tiled?source={pack('x' * MOST_SOURCE)}", ladder, THEMES).source


def test_a_link_leads_back(ladder, session):
    edited = "// ünicode & = ?\n__global__ void tiled() {}\n"
    for source in (None, edited):
        session.origin = Origin(Configuration("tiled", {"n": 16, "tile": 8}, source), "")
        session.update(block=2, step=17, thread=9)
        found = window_link(link_to(session), ladder, THEMES)
        expected = Link("tiled", {"n": 16, "tile": 8}, step=17, block=2, thread=9, source=source)
        assert found == expected
        session.update(block=0, step=0, thread=0)
        assert go_to(session, found) == ""
        assert (session.block, session.step, session.thread) == (2, 17, 9)


def test_places_that_the_launch_has_not(session):
    last = session.n_steps - 1
    sentence = go_to(session, Link("tiled", step=9999, block=77, thread=64))
    assert sentence == (
        f"The launch has no step 9999 (the last is step={last}) and no thread 64 (the last is "
        "thread=63) and no block 77 (the last is block=3); a link counts from 0."
    )
    assert (session.step, session.thread) == (last, 63)


def test_what_no_link_can_say(session):
    with pytest.raises(ParameterError, match="nothing to link to"):
        link_to(session)
    rng = random.Random(5)
    long = "// " + "".join(chr(rng.randrange(33, 127)) for _ in range(2 * LONGEST))
    session.origin = Origin(Configuration("tiled", {"n": 16, "tile": 8}, long), "")
    with pytest.raises(ParameterError, match=r"^A link with .* save the source in a file .*\.$"):
        link_to(session)


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
    link = link_to(session)
    assert " " not in link
    found = window_link(f'tilescope "{link}"', ladder, THEMES)
    assert found.own == own
    assert (found.rung, found.parameters, found.source) == ("", {}, source)
    assert (found.block, found.step, found.thread) == (1, 5, 3)
    assert found.looks == {"line": 7, "element": ("A", (2, 1)), "heat": True}
    assert found.check == (checksum("// as it is") if source is None else None)
    compared = link_to(session, Configuration("", {}, "// b\n", own))
    assert window_link(compared, ladder, THEMES).versus == Link(source="// b\n", own=own)
    compared = link_to(session, Configuration("tiled", {"n": 16, "tile": 8}))
    versus = window_link(compared, ladder, THEMES).versus
    assert versus == Link("tiled", {"n": 16, "tile": 8})


def test_a_short_link_to_a_file_says_little(ladder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = window_link("mine.cu?arg.n=9&step=3", ladder, THEMES)
    assert found.own == FileLaunch(str(tmp_path / "mine.cu"), "", "", "", "", "", (("n", "9"),))
    assert not found.own.complete
    assert window_link("tilescope://tiled?n=4", ladder, THEMES).rung == "tiled"
    assert window_link("tilescope:/a/b.cu?step=1", ladder, THEMES).own.path == "/a/b.cu"


def test_line_element_and_looks_are_taken_up(session):
    moment = Link("tiled", looks={"line": 4, "element": ("A", (2, 1)), "heat": True}, check="0")
    session.origin = Origin(Configuration("tiled", {"n": 16, "tile": 8}), "text")
    assert go_to(session, moment) == "The file has been changed since this link was made."
    assert (session.line, session.element, session.heat) == (4, ("A", (2, 1)), True)
    wrong = Link("tiled", looks={"element": ("A", (99, 1))}, check=checksum("text"))
    assert go_to(session, wrong) == "The launch has no element A[99,1]."


OWN = FileLaunch("/a/b.cu", "k", "1,2", "32", "0", "T=1", (("x", "zeros:float32[4]"),))
BREAKS = frozenset({Breakpoint(line=3), Breakpoint(element=("A", (0, 2)))})
FULL = Saved(
    Configuration("tiled", {"n": 8}, "text"),
    block=1, step=2, thread=3, line=4, unit="line", speed=8.0, theme="dark", page="benchmark",
    geometry="AbC=", layout="AbC=", left=200, looks={"heat": True, "counts_by": "line"},
    drafts={"tiled": "a\nb"}, breakpoints={"tiled": BREAKS},
    launches={"/a/b.cu": OWN}, moments=(Named("The stride", "tiled?n=8"),), moment=0,
    aside=("/x/y.cu",),
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
        {"breakpoints": {"tiled": [{"lines": 3}]}},
        {"breakpoints": {"tiled": [{"line": None, "element": None}]}},
        {"drafts": {"tiled": 3}},
        {"drafts": []}, {"launches": {"/a": {"path": "/a"}}}, {"launches": {"/a": {"odd": "a"}}},
        {"speed": float("nan")}, {"speed": float("inf")}, {"left": 2**63}, {"step": -(2**31)},
        {"configuration": {"rung": "tiled", "parameters": {"n": 2**31}, "source": None,
                           "own": None}},
        {"moments": [["name"]]}, {"moments": [["name", 3]]}, {"moments": "ab"}, {"aside": [3]},
        {"geometry": "\ud800"},
    ],
)  # fmt: skip
def test_a_damaged_file_is_kept_aside(tmp_path, values):
    path = tmp_path / "session.json"
    path.write_text(changed(**values))
    for number in (1, 2):
        assert is_set_aside(path, tmp_path / f"session-damaged-{number}.json")
        path.write_text(changed(**values))


def is_set_aside(path, kept):
    """Whether a start finds nothing, says so in one sentence, and keeps what was there."""
    content = path.read_bytes()
    with pytest.raises(TilescopeError):
        load(path)
    found = find(path)
    assert found.saved is None
    assert found.usable
    assert found.sentence.startswith("The last session could not be restored (")
    assert found.sentence.endswith(f"; its file is kept as {kept}.")
    return not path.exists() and kept.read_bytes() == content


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "3", '{"version": 1}', "\x00", "[" * 100_000, '{"a":' * 100_000]
)
def test_a_file_that_is_no_session(tmp_path, text):
    path = tmp_path / "session.json"
    path.write_text(text)
    assert is_set_aside(path, tmp_path / "session-damaged-1.json")
    assert find(tmp_path / "none.json").saved is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are POSIX's")
def test_a_session_that_is_a_pipe_or_a_device_keeps_nobody_waiting(tmp_path):
    path = tmp_path / "session.json"
    os.mkfifo(path)
    assert "it is a pipe or a device" in find(path).sentence
    assert (tmp_path / "session-damaged-1.json").is_fifo()
    path.symlink_to("/dev/zero")
    found = find(path)
    assert (found.saved, found.usable) == (None, True)
    assert (tmp_path / "session-damaged-2.json").is_symlink()
    for place in (Path("/dev/zero"), tmp_path):  # which must stay what they are
        found = find(place)
        assert (found.saved, found.usable) == (None, False)
        assert "nothing of this one will be kept" in found.sentence
        save(FULL, place)
    assert Path("/dev/zero").is_char_device()
    with path.open("wb") as file:
        file.truncate(10**12)  # takes no room
    assert "at most" in find(path).sentence


@pytest.mark.slow
def test_damaged_sessions_are_restored_or_set_aside(tmp_path):
    path = tmp_path / "session.json"
    save(FULL, path)
    whole = path.read_bytes()
    rng = random.Random(4)
    refused = 0
    for number in range(500):
        data = bytearray(whole)
        if number % 4 == 0:
            del data[rng.randrange(len(data)) :]
        elif number % 4 == 1:
            data = wrong_type(whole, rng)
        else:
            for _ in range(number % 4):
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(data)
        found = find(path)
        refused += found.saved is None
        assert (found.sentence == "") == (found.saved is not None) == path.exists(), data
        if found.saved is not None:
            save(found.saved, tmp_path / "again.json")
            assert load(tmp_path / "again.json") is not None
    assert 250 < refused < 500
    assert len(list(tmp_path.glob("session-damaged-*.json"))) == refused


def wrong_type(whole, rng):
    """The file with one of its values, at any depth, replaced by one of another type."""
    data = json.loads(whole)
    place, key = data, rng.choice(list(data))
    while isinstance(place[key], dict | list) and place[key] and rng.random() < 0.8:
        place = place[key]
        key = rng.choice(list(place)) if isinstance(place, dict) else rng.randrange(len(place))
    place[key] = rng.choice([None, 1, -1, 2**63, 1e400, "x", [], {}, True, [[]], {"a": None}])
    return json.dumps(data).encode()


def test_what_two_windows_keep_is_merged():
    base = Saved(drafts={"a": "0", "b": "0", "c": "0", "d": "0"}, moments=(Named("m", "x"),))
    ours = replace(base, drafts={"a": "1", "b": "0", "d": "1", "e": "1"}, step=3)
    theirs = replace(base, drafts={"a": "2", "b": "2", "c": "0", "f": "2"}, step=9, toured=True)
    found, others = merged(base, ours, theirs)
    assert found.drafts == {"a": "1", "b": "2", "d": "1", "e": "1", "f": "2"}
    assert others == {"a": "2"}
    assert (found.step, found.toured) == (3, True)
    one, two = Named("one", "x"), Named("two", "x")
    longer = replace(base, moments=(*base.moments, one), moment=1)
    other = replace(base, moments=(two, *base.moments), moment=0)
    assert merged(base, longer, other)[0].moments == (*base.moments, one, two)
    assert merged(base, base, other)[0].moments == other.moments
    assert merged(base, longer, base)[0].moments == longer.moments
    assert merged(base, replace(base, moments=()), base)[0].moments == ()


def test_the_text_of_the_window_that_closed_first_is_in_a_file(tmp_path):
    path = tmp_path / "state" / "session.json"
    base = Saved(drafts={"tiled": "0"})
    save(base, path)
    save(replace(base, drafts={"tiled": "first", "naive": "n"}), path, base)
    save(replace(base, drafts={"tiled": "second ü"}), path, base)
    found = load(path)
    assert found.drafts == {"tiled": "second ü", "naive": "n"}
    (kept,) = found.aside
    assert Path(kept).read_text("utf-8") == "first"
    assert kept in said_aside(found.aside)
    save(replace(found, aside=()), path, found)  # it has been told
    assert load(path).aside == ()
    assert Path(kept).exists()


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
    assert go_to(session, Link("tiled", step=5, block=2, thread=9, exact=False)) == ""
    assert (session.block, session.thread, session.element) == (2, 9, ("A", (1, 1)))
    assert go_to(session, window_link("tiled?n=16&tile=8&step=6", ladder, THEMES)) == ""
    assert (session.block, session.thread, session.step) == (0, 0, 6)
    assert (session.line, session.element, session.heat) == (None, None, False)


def test_a_link_without_a_step_goes_to_the_first_access(ladder, session):
    first = next(s for s in range(session.n_steps) if session.block_trace.access(s) is not None)
    for block in (0, 3):
        session.update(block=2, step=session.n_steps - 3)
        link = f"tiled?n=16&tile=8&block={block}"
        session.block = block
        assert go_to(session, window_link(link, ladder, THEMES)) == ""
        assert (session.block, session.step) == (block, first)
    session.step = 17
    assert go_to(session, Link("tiled", block=1, exact=False)) == ""
    assert session.step == 17, "what an earlier session left open stays"


def test_a_link_names_its_step(ladder, session):
    found = window_link("tiled?n=16&tile=8&block=1&at=load:B@phase1", ladder, THEMES)
    assert go_to(session, found) == ""
    access = session.block_trace.access(session.step)
    assert (session.block, access.kind, access.target) == (1, "load", "B")
    assert int(session.block_trace.phase[session.step]) == 1
    gone = window_link("tiled?n=16&tile=8&at=load:B@phase7", ladder, THEMES)
    assert go_to(session, gone) == "The launch has no step load:B@phase7 in block 0."
    with pytest.raises(ParameterError, match="names no step"):
        window_link("tiled?at=lod:B", ladder, THEMES)


def test_a_lesson_reads_what_the_window_copies(ladder, session):
    session.origin = Origin(Configuration("tiled", {"n": 16, "tile": 8}), "")
    session.update(block=2, step=17, thread=9, heat=True, line=29, element=("A", (0, 2)))
    found = parse_link(link_to(session), ladder)
    assert (found.rung, dict(found.parameters)) == ("tiled", {"n": 16, "tile": 8})
    assert (found.block, found.step, found.thread) == (2, 17, 9)
    versus = Configuration("tiled", {"n": 16, "tile": 4})
    compared = parse_link(link_to(session, versus), ladder)
    assert dict(compared.versus.parameters) == {"n": 16, "tile": 4}
