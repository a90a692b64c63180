"""Every lesson of the course passes its own check, and the course hangs together."""

import re

import pytest

from core.lessons.course import course_lesson, load_course
from core.lessons.lesson import Edit, load_concepts
from core.lessons.lesson_check import check_lesson

COURSE = load_course()
QUICK = {"4B", "5A"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow])
        for name in COURSE.order
    ],
)
def test_a_lesson_is_right_in_every_variant(name):
    results = list(check_lesson(course_lesson(name)))
    assert [str(trouble) for trouble in results if trouble is not None] == []
    assert len(results) >= len(course_lesson(name).steps)


def test_there_are_all_steps_and_exercises():
    steps = [step for name in COURSE.order for step in course_lesson(name).steps]
    assert len(steps) - len(course_lesson("exercises").steps) >= 105
    assert sum(isinstance(step.question, Edit) for step in steps) >= 12
    kinds = {step.kind for step in steps}
    assert kinds == {"number", "choice", "click", "slider", "order", "edit"}


def test_every_concept_and_misconception_is_used():
    steps = [step for name in COURSE.order for step in course_lesson(name).steps]
    known = load_concepts()
    assert {c for step in steps for c in step.concepts} == set(known.concepts)
    assert {b for step in steps for b in step.beliefs} == set(known.beliefs)


def test_lessons_come_after_those_that_they_need():
    order = list(COURSE.order)
    for name in order:
        for before in course_lesson(name).before:
            assert order.index(before) < order.index(name)


def test_no_text_tells_what_to_click_where_there_is_no_window():
    window = re.compile(r"\b([Cc]lick|[Dd]rag|[Ss]pace plays|[Kk]ey [A-Z]|[Pp]oint at|editor)\b")
    told = 0
    for name in COURSE.order:
        for step in course_lesson(name).steps:
            for sentence in (step.ask, step.why, *step.hints):
                elsewhere = re.sub(r"\[\[(?:[^|\]]*)\|(.*?)\]\]", r"\1", sentence.text)
                assert not window.search(elsewhere), (step.name, elsewhere)
                told += sentence.differs
    assert told >= 10
