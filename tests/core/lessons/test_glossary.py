"""The words of the field: each once, each found in a text."""

import pytest

from core.errors import TilescopeError
from core.lessons.course import course_lesson, load_course
from core.lessons.glossary import DRAWINGS, load_glossary

GLOSSARY = load_glossary()


def test_the_words_of_the_design_are_there():
    words = (
        "thread lane warp block grid request sector line wavefront tile phase ceiling roofline rung"
    )
    more = ["bank conflict", "arithmetic intensity", "occupancy", "as written", "as compiled"]
    assert {*words.split(), *more} <= {term.term for term in GLOSSARY.terms}
    assert {term.drawing for term in GLOSSARY.terms} == {*DRAWINGS}


def test_a_line_is_one_sentence():
    for term in GLOSSARY.terms:
        assert term.line.endswith(".")
        assert term.line[:-1].count(". ") == 0
        assert len(term.line) < 120


def test_a_line_of_the_source_is_no_line_of_memory():
    text = "All threads load A at line 18: 4 lines, byte 0 of line 0x4000. Two lines of the source."
    found = [(text[a:b], term.term) for a, b, term in GLOSSARY.find(text) if "line" in term.term]
    assert found == [
        ("line", "source line"),
        ("lines", "line"),
        ("line", "line"),
        ("lines of the source", "source line"),
    ]


def test_words_are_found_in_a_text():
    text = "A warp's request has 4 sectors; no Bank Conflicts, but bankers and online lines."
    found = [(text[a:b], term.term) for a, b, term in GLOSSARY.find(text)]
    assert found == [
        ("warp", "warp"),
        ("request", "request"),
        ("sectors", "sector"),
        ("Bank Conflicts", "bank conflict"),
        ("lines", "line"),
    ]


def test_lessons_use_most_of_the_words():
    asked = [
        step.ask.text + step.why.text
        for n in load_course().order
        for step in course_lesson(n).steps
    ]
    used = {term.term for text in asked for _, _, term in GLOSSARY.find(text)}
    assert len(used) > len(GLOSSARY.terms) // 2


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ('term = "a"\nline = "A."\ndrawing = "none"', "no drawing none"),
        ('term = "a"\nline = "A."\ndrawing = "warp"\nsee = ["b"]', "no word b"),
        ('term = "a"\nalso = ["A"]\nline = "A."\ndrawing = "warp"', "A twice"),
        ('term = "a"\nlines = "A."', "cannot be read"),
    ],
)
def test_a_wrong_row_is_named(tmp_path, row, said):
    file = tmp_path / "glossary.toml"
    file.write_text(f"[[word]]\n{row}\n")
    with pytest.raises(TilescopeError, match=said):
        load_glossary(file)
