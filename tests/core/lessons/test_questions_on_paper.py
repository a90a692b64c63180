"""What paper needs beside a question: its source, and a key that says nothing twice."""

import pytest

from core.lessons.course import course_lesson
from core.lessons.posing import pose
from core.lessons.question_banks import key_of, numbered, solution_lines, source_of
from core.lessons.situation import Recorder


def posed(name):
    lesson = course_lesson(name.split(".")[0])
    return pose(lesson, lesson[name], Recorder(lesson.ladder), in_window=False)


@pytest.mark.parametrize(
    ("name", "right", "rest"),
    [
        ("1A.1", "8", ": k runs from 0 to 7"),
        ("1A.2", "8", " times, once by every thread"),
        ("1A.3", "C[1,3]", ". y chooses the row"),
        ("1A.4", "C[3,1]", ". Only two lines"),
        ("1A.9", "12.5 %", ". 4 of every 32 bytes"),
        ("1A.15", "", "Exchanging x and y"),
    ],
)
def test_an_explanation_goes_on_from_its_answer(name, right, rest):
    found, why = key_of(posed(name))
    assert found == right
    assert why.startswith(rest)


def test_a_source_is_printed_unless_the_question_veils_it_or_is_about_a_page():
    source = source_of(posed("1A.4"))
    assert "uncoalesced" in source
    lines = numbered(source)
    assert lines[0] == (11, source.splitlines()[10])
    assert lines[0][1].startswith('extern "C"')
    assert lines[-1][1] == "}"
    for name in ("1A.13", "1B.10", "2A.4"):  # veiled; lines to be put in order; a page
        assert source_of(posed(name)) == ""


def test_a_solution_is_told_by_the_lines_that_it_changes():
    lines = [line.split(maxsplit=1) for line in solution_lines(posed("1A.15"))]
    assert [mark for mark, _ in lines] == ["-", "-", "+", "+"]
    assert {text.split()[1] for _, text in lines} == {"row", "col"}
    assert numbered("\n// a\n\n  x;\n\n") == [(4, "  x;")]
