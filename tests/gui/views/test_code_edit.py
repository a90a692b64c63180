"""The text being edited against what was compiled, without Qt."""

import random
import time

import pytest

from gui.scenes.edited_source import Draft, line_map

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
