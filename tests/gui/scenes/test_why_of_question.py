"""Why? of a lesson explains the figure, line, warp or element that its question is about."""

import pytest

from core.lessons.course import course_lesson
from core.lessons.launch_cache import Recorder
from core.lessons.posing_and_marking import pose
from gui.scenes.why_of_question import MOST_FIGURES, TITLE, explain_question


@pytest.fixture(scope="module")
def explained():
    recorders = {}

    def explain(name, **values):
        lesson = course_lesson(name.partition(".")[0])
        recorder = recorders.setdefault(lesson.name, Recorder(lesson.ladder))
        return explain_question(pose(lesson, lesson[name], recorder, values))

    return explain


def headings(explanation):
    return [section.heading for section in explanation.sections]


def test_a_question_about_phases_has_the_phases_one_by_one(explained):
    found = explained("1A.1", n=4)
    assert found.title == TITLE
    assert headings(found) == ["Phases = 4"]
    lines = found.sections[0].lines
    assert [line.partition(":")[0] for line in lines] == [f"phase {n}" for n in range(4)]


def test_an_element_its_thread_and_the_store_that_shows_it(explained):
    assert "loaded 8 times" in explained("1A.2").title
    found = explained("1A.3", x=5, y=0).sections[0]
    assert found.heading == "Stored by (thread 5) = C[0,5]"
    assert found.lines[0].endswith(": C[0,5]")


def test_the_access_of_the_question_and_not_of_another_launch(explained):
    b, a = explained("1A.6"), explained("1A.7")
    assert b.title.startswith("Line 18: warp 0 loads B")
    assert "Sectors = 4" in headings(b)
    assert a.title.startswith("Line 18: warp 0 loads A")
    assert "Sectors = 1" in headings(a)
    assert "Sectors = 5" in headings(explained("1A.14"))  # where a slider is right


def test_two_totals_are_told_apart_by_their_launches(explained):
    found = headings(explained("1A.11"))
    assert found[0].startswith("Total (counter global_ld_sectors) = ")
    assert found[1].startswith("Total (counter global_ld_sectors, of vs) = ")
    assert sum(heading.startswith("The launch: global loads: ") for heading in found) == 1


def test_a_choice_is_explained_by_what_makes_it_right(explained):
    found = headings(explained("1A.5"))
    assert found[:2] == ["Element (thread 0) = B[0,0]", "Element (thread 31) = B[0,31]"]


def test_an_answer_that_asks_for_each_lane_is_cut(explained):
    found = [one for one in headings(explained("6B.3")) if one.startswith("Element (thread ")]
    assert len(found) == MOST_FIGURES


def test_a_kernel_that_was_to_be_built_and_plain_arithmetic_have_no_figure(explained):
    assert explained("1A.15") is None
    assert explained("1B.10") is None  # built of lines in order
    assert explained("4B.7") is None  # 24.9 / 1.1


def test_a_figure_without_anything_says_so(explained):
    assert "Stored by (thread 1) = nothing" in headings(explained("1B.13"))
