"""Whatever lines are seen have their colours, in a text of any length."""

import random
import time
from collections import defaultdict

import numpy as np
import pytest
from PySide6.QtGui import QFontMetrics, QImage, QTextCursor

from gui.looks.theme import apply_theme, current_theme, theme_names
from gui.scenes.source_pane import highlight, lines_inside_comments
from gui.views.code_edit import STYLES, CodeEdit

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
