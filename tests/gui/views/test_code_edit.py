"""Text is edited against what was compiled, and whatever lines are seen have their colours."""

import random
import time
from collections import defaultdict

import numpy as np
import pytest
from PySide6.QtGui import QFontMetrics, QImage, QTextCursor

from gui.looks.theme import apply_theme, current_theme, theme_names
from gui.scenes.edited_source import Draft, line_map
from gui.scenes.source_pane import highlight, lines_inside_comments
from gui.views.code_edit import STYLES, CodeEdit

OLD = "a\nb\nc\nd\ne"


@pytest.mark.parametrize(
    ("new", "places"),
    [
        (OLD, {1: 1, 2: 2, 3: 3, 4: 4, 5: 5}),
        ("x\na\nb\nc\nd\ne", {1: 2, 2: 3, 3: 4, 4: 5, 5: 6}),
        ("a\nb\nC\nd\ne", {1: 1, 2: 2, 4: 4, 5: 5}),
        ("a\ne", {1: 1, 5: 2}),
        ("a\nb\nb\nc\nd\ne", {1: 1, 2: 2, 3: 4, 4: 5, 5: 6}),
        ("", {}),
    ],
)
def test_lines_that_were_not_touched_keep_their_place(new, places):
    assert dict(line_map(OLD, new)) == places


def test_line_map_on_random_edits():
    generator = random.Random(3)
    for _ in range(300):
        old = [generator.choice("abcd") for _ in range(generator.randrange(1, 12))]
        first = generator.randrange(len(old) + 1)
        last = generator.randrange(first, len(old) + 1)
        new = old[:first] + [generator.choice("xab") for _ in range(generator.randrange(4))]
        new += old[last:]
        found = line_map("\n".join(old), "\n".join(new or [""]))
        assert all(old[a - 1] == (new or [""])[b - 1] for a, b in found.items())
        assert len(set(found.values())) == len(found)
        assert len(found) >= min(first, len(new)) or not new


def test_lines_between_two_edits_keep_their_places():
    assert dict(line_map("a\nb\nc\nd\ne", "a\nB\nc\nD\nnew\ne")) == {1: 1, 3: 3, 5: 6}


def test_every_line_that_is_not_deleted_has_an_heir():
    """Random programs with lines edited, added above and below, and deleted between lines kept."""
    draw = random.Random(11)
    for _ in range(200):
        old = [f"x{i} = {draw.random()};" for i in range(draw.randrange(1, 14))]
        new, heirs = [], {}
        for number, line in enumerate(old, 1):
            what = draw.choice(("keep", "keep", "edit", "above", "below", "delete"))
            if what == "delete" and new and new[-1] == old[number - 2] and number < len(old):
                continue
            if what == "above":
                new.append(f"// {draw.random()}")
            heirs[number] = len(new) + 1
            new.append(line + "  // more" if what == "edit" else line)
            if what == "below":
                new.append("")
        found = line_map("\n".join(old), "\n".join(new), heirs=True)
        same = {a: b for a, b in heirs.items() if new[b - 1] == old[a - 1]}
        assert {a: found[a] for a in same} == same
        edited = heirs.keys() - same.keys()
        assert {a: found[a] for a in edited} == {a: heirs[a] for a in edited}


def test_a_rewritten_text_takes_no_time():
    a, b = (["\n".join(f"{name}{i} = {i};" for i in range(20_000))] for name in "ab")
    start = time.process_time()
    assert len(line_map(a[0], b[0], heirs=True)) == 20_000
    assert len(line_map(a[0], b[0] + "\nmore", heirs=True)) == 20_000
    long = "x" * 65_000
    assert dict(line_map(f"{long}a", f"{long}b\n{long}c", heirs=True)) == {1: 1}
    assert time.process_time() - start < 2


def test_typed_text_outlives_traces_of_the_same_source():
    draft = Draft()
    assert draft.load("tiled", "one", "one") == "one"
    assert not draft.stale
    draft.text = "one more"
    assert (draft.stale, draft.edited) == (True, True)
    assert draft.load("tiled", "one", "one") == "one more"  # another n was recorded meanwhile
    assert draft.load("tiled", "one", "one more") == "one more"  # it was run
    assert (draft.stale, draft.edited) == (False, True)
    assert draft.load("tiled", "one", "one") == "one"  # back to the original
    assert (draft.stale, draft.edited) == (False, False)


def test_typed_text_comes_back_with_its_source():
    draft = Draft()
    draft.load("tiled", "one", "one")
    draft.text = "ONE"
    assert draft.load("padded", "two", "two") == "two"
    assert draft.kept() == {"tiled": "ONE"}
    assert draft.load("tiled", "one", "one") == "ONE"
    draft.text = "one"
    assert draft.kept() == {}
    again = Draft()
    again.restore({"padded": "2"})
    assert again.load("padded", "two", "two") == "2"
    assert again.stale


def test_places_of_marks_while_edited():
    draft = Draft()
    draft.load("k", OLD, OLD)
    assert (draft.place(4), draft.origin(4), draft.place(None)) == (4, 4, None)
    draft.text = "a\nnew\nb\nc\nd\ne"
    assert (draft.place(1), draft.place(4), draft.origin(5), draft.origin(2)) == (1, 5, 4, None)


def test_any_line_of_a_long_text_comes_into_sight(qtbot, qapp):
    from gui.looks.theme import apply_theme
    from gui.views.code_edit import CodeEdit

    apply_theme(qapp, "light")
    edit = CodeEdit()
    qtbot.addWidget(edit)
    edit.resize(500, 197)
    edit.show()
    edit.setPlainText("\n".join(f"int line_{i};" for i in range(1, 400)))
    for line in (399, 1, 75, 380, 3, 200, 201, 190):
        edit.reveal(line)
        block = edit.document().findBlockByNumber(line - 1)
        rect = edit.block_rect(block)
        assert rect.top() >= 0
        assert rect.bottom() <= edit.viewport().height(), line
    place = edit.verticalScrollBar().value()
    edit.reveal(191)
    assert edit.verticalScrollBar().value() == place, "what is seen already stays where it is"


def test_an_exercise_keeps_its_text_apart_from_its_source():
    draft = Draft()
    draft.load("sum", "original", "original")
    draft.text = "typed before"
    assert draft.begin("sum", "1", "exercise") == "exercise"
    assert (draft.first, draft.of_exercise) == ("exercise", True)
    assert draft.load("sum", "original", "exercise") == "exercise"
    assert draft.kept() == {"sum": "typed before"}
    draft.text = "an attempt"
    assert draft.begin("sum", "1", "exercise") is None, "it is on already"
    assert draft.begin("sum", "2", "the next exercise") == "the next exercise"
    assert draft.kept() == {"sum": "typed before", "sum#1": "an attempt"}
    draft.load("sum", "original", "the next exercise")
    draft.text = "original"  # which solves it
    draft.load("sum", "original", "original")
    assert draft.begin("sum", "1", "exercise") == "an attempt"
    assert draft.kept()["sum#2"] == "original"
    draft.end()
    assert draft.load("sum", "original", "original") == "typed before"
    assert (draft.first, draft.of_exercise) == ("original", False)
    again = Draft()
    again.restore(draft.kept())
    again.load("sum", "original", "original")
    assert again.begin("sum", "1", "exercise") == "an attempt"


def test_an_exercise_of_another_source_begins_with_its_own_text():
    draft = Draft()
    draft.load("sum", "original", "original")
    draft.text = "typed before"
    draft.load("other", "else", "else")
    assert draft.begin("sum", "1", "exercise") is None
    assert draft.first == "else"
    assert draft.load("sum", "original", "exercise") == "exercise"
    assert draft.first == "exercise"
    draft.text = "an attempt"
    draft.load("other", "else", "else")
    assert draft.load("sum", "original", "exercise") == "an attempt"
    draft.end()
    draft.load("other", "else", "else")
    assert draft.load("sum", "original", "original") == "typed before"


RECORDING_MS = 20_000
OWN = """// adds one to each
extern "C" __global__ void bump(float* a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = a[i] + 1.0f;
}
"""


def record(window, qtbot, act):
    with qtbot.waitSignal(window.recorder.recorded, timeout=RECORDING_MS):
        act()


def painted(edit, names):
    """Of each line in view, by number: the theme's colours of those names that its letters have."""
    image = edit.viewport().grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    width, height = image.width(), image.height()
    pixels = np.frombuffer(image.constBits(), np.uint8).reshape(height, -1)[:, : width * 4]
    rgb = pixels.reshape(height, width, 4)[:, :, 2::-1].astype(int)
    found, block = {}, edit.firstVisibleBlock()
    while block.isValid() and (rect := edit.block_rect(block)).top() < height:
        rows = rgb[max(int(rect.top()), 0) : int(rect.bottom()) + 1].reshape(-1, 3)
        found[block.blockNumber() + 1] = {
            name
            for name in names
            if len(rows)
            and (np.abs(rows - current_theme().color(name).getRgb()[:3]).sum(1) <= 6).any()
        }
        block = block.next()
    return found


def check(window, theme):
    """Of the text in view: comments, keywords and names have their own colours in the pixels."""
    edit, wanted = window.step_page.source.edit, defaultdict(set)
    text = edit.toPlainText().split("\n")
    for line, spans in enumerate(highlight(edit.toPlainText()), start=1):
        wanted[line] = {STYLES[s.category][0] for s in spans if s.length > 2}
    names = {name for name, _ in STYLES.values()}
    running = {window.step_page.source.edit.gutter.current}
    shown = {n: c for n, c in painted(edit, names).items() if n not in running}
    assert len(shown) >= 5
    for line, colours in shown.items():
        if text[line - 1].strip():
            assert colours >= wanted[line], (theme, line, text[line - 1], colours, wanted[line])
    assert len(set().union(*shown.values())) >= 5


@pytest.mark.slow
@pytest.mark.parametrize("theme", theme_names())
def test_the_source_is_coloured_from_the_start_and_after_each_change(
    window, qtbot, tmp_path, theme
):
    window.session.update(theme=theme)
    window.resize(1600, 1000)
    window.session.update(view="Source", large=True)
    window.step_page.front("Source")
    record(window, qtbot, lambda: window.recorder.configure("tiled", {"n": 8, "tile": 4}))
    check(window, theme)
    record(window, qtbot, lambda: window.recorder.configure("coalesced"))
    check(window, theme)
    path = tmp_path / "bump.cu"
    path.write_text(OWN, encoding="utf-8")
    record(window, qtbot, lambda: window.workbench.open_file(str(path)))
    check(window, theme)
    others = [name for name in theme_names() if name != theme]
    window.session.update(theme=others[0])
    check(window, others[0])


@pytest.mark.slow
@pytest.mark.parametrize("theme", theme_names())
def test_the_listing_is_coloured_from_the_start(window, qtbot, theme):
    window.session.update(theme=theme)
    record(window, qtbot, lambda: window.recorder.configure("tiled", {"n": 8, "tile": 4}))
    window.step_page.front("PTX")
    text = window.step_page.ptx.text
    qtbot.waitUntil(text.isVisible)
    text.grab()
    first = text.firstVisibleBlock().blockNumber() + 1
    seen = [colours(text, line) for line in range(first, first + 5)]
    assert all(found & of("barrier", "load", "store", "text", "text_dim") for found in seen)
    assert set().union(*seen) >= of("text_faint", "barrier")


@pytest.fixture
def edit(qtbot, qapp):
    apply_theme(qapp, "light")
    edit = CodeEdit()
    edit.resize(700, 400)
    qtbot.addWidget(edit)
    edit.show()
    return edit


def colours(edit, line):
    formats = edit.document().findBlockByNumber(line - 1).layout().formats()
    return {f.format.foreground().color().name() for f in formats}


def of(*names):
    return {current_theme().color(name).name() for name in names}


def test_a_comment_that_is_opened_far_above_reaches_what_is_seen(edit):
    lines = [f"float f{i}(int n) {{ return {i}.0f * n; }}" for i in range(3000)]
    edit.setPlainText("\n".join(lines))
    edit.reveal(2900)
    edit.grab()
    assert colours(edit, 2900) > of("barrier", "store")
    QTextCursor(edit.document()).insertText("/*")
    edit.grab()
    assert colours(edit, 2900) == of("text_faint")
    edit.undo()
    edit.reveal(2900)
    edit.grab()
    assert colours(edit, 2900) > of("barrier", "store")


def test_typing_colours_the_line_at_once(edit):
    edit.setPlainText("int a;\n\nint b;")
    edit.grab()
    cursor = QTextCursor(edit.document().findBlockByNumber(1))
    cursor.insertText("return 1; // said")
    edit.grab()
    assert colours(edit, 2) == of("barrier", "store", "text_faint")


def test_a_part_is_coloured_as_within_the_whole():
    """In any window of lines: comments, whatever opens or closes them, numbers and builtins."""
    draw = random.Random(5)
    pieces = ["/* a", "b */ int c = 3;", "// x /*", 'char s[] = "/*";', "} else if (i < 3) {"]
    pieces += ["float t = threadIdx.x; /* y */ int z = 2;", "c = '\"'; /* q", "return 4;"]
    for _ in range(200):
        source = "\n".join(draw.choice(pieces) for _ in range(draw.randrange(1, 12)))
        whole, inside = highlight(source), lines_inside_comments(source)
        lines = source.split("\n")
        first = draw.randrange(len(lines))
        opening = ["/*"] if first in inside else []
        part = highlight("\n".join(opening + lines[first:]))[len(opening) :]
        for found, wanted in zip(part, whole[first:], strict=True):
            plain = ("comment", "number", "builtin")
            assert [s for s in found if s.category in plain] == [
                s for s in wanted if s.category in plain
            ]


def test_a_branch_is_no_function():
    spans = highlight("    } else if (i < n) {\n        a[i] = 1;\n    }")
    assert "function" not in {s.category for line in spans for s in line}


@pytest.mark.slow
def test_a_megabyte_is_shown_and_scrolled_without_a_wait(edit):
    """Colouring works on what is seen: it takes a small part of what laying out takes."""
    text = "\n".join(f"float f{i}(int n) {{ return {i}.0f * n; }} // {i}" for i in range(24_000))
    assert len(text) > 1 << 20
    edit.setPlainText(text)
    edit.grab()
    start = time.process_time()
    for line in range(1, 24_000, 1000):
        edit.reveal(line)
        edit.grab()
        assert len(colours(edit, line)) >= 3
    each = (time.process_time() - start) / 24
    print(f"{1000 * each:.1f} ms for each place")
    assert each < 0.3


def test_an_error_beside_another_line_names_its_own(edit):
    edit.setPlainText("short\n" + "x" * 200 + "\nalso short\n")
    edit.show_errors([(1, 1, "first"), (2, 1, 'expected a ";"')])
    metrics = QFontMetrics(current_theme().font("small"))
    (first, above), (second, below) = sorted(edit.messages(metrics), key=lambda m: m[1].top())
    assert (first, second) == ("first", 'line 2: expected a ";"')
    blocks = [edit.document().findBlockByNumber(n) for n in range(3)]
    assert above.top() == int(edit.block_rect(blocks[0]).top())
    assert below.top() == int(edit.block_rect(blocks[2]).top())
