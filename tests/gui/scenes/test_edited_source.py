"""Where two texts of a source differ."""

import difflib
import random

from gui.scenes.text_changes import MOST_LINES, changes


def test_changed_lines_are_those_of_difflib():
    seed = random.Random(1)
    for _ in range(200):
        old = [seed.choice("abcdef") * 3 for _ in range(seed.randint(1, 12))]
        new = [line for line in old if seed.random() > 0.2]
        for _ in range(seed.randint(0, 3)):
            new.insert(seed.randint(0, len(new)), seed.choice("xyz"))
        one, two = changes("\n".join(old), "\n".join(new) if new else "")
        kept = [line for i, line in enumerate(old, 1) if i not in one.lines]
        assert kept == [line for i, line in enumerate(new or [""], 1) if i not in two.lines]
        same = sum(
            b.size for b in difflib.SequenceMatcher(None, old, new or [""]).get_matching_blocks()
        )
        assert len(kept) >= same, "no line that is the same is marked"
        for text, side in ((old, one), (new or [""], two)):
            for line, start, length in side.spans:
                assert line in side.lines
                assert 0 <= start < start + length <= len(text[line - 1])


def test_what_differs_within_a_line_and_where_lines_are_missing():
    old = "int i;\nx[i * n + j] = 0;\nreturn;"
    one, two = changes(old, "int i;\nx[j * n + i] = 0;\n__syncthreads();\nreturn;")
    assert (one.lines, two.lines) == ({2}, {2, 3})
    one, two = changes(old, old.replace("* n", "* m"))
    assert (one.spans, two.spans) == (((2, 6, 1),), ((2, 6, 1),))
    one, two = changes(old, old.replace("return", "__syncthreads();\nreturn"))
    assert (one.lines, one.gaps, two.lines, two.gaps) == (set(), {3}, {3}, set())
    assert (one.ends, two.ends) == ((3, 3), (3, 3))
    assert changes(old, old)[0].ends is None


def test_long_texts_of_other_lines_are_marked_whole_at_once():
    old, new = ("\n".join(f"{c}{i}" for i in range(4 * MOST_LINES)) for c in "ab")
    one, two = changes(f"head\n{old}\ntail", f"head\n{new}\ntail")
    assert one.lines == two.lines == set(range(2, 4 * MOST_LINES + 2))
