"""A lecture's moments become a lesson that passes the check."""

import pytest

from core.ladder import load_ladder
from core.lessons.launch_cache import Recorder
from core.lessons.lesson_check import check_lesson
from core.lessons.lesson_draft import lesson_of
from core.lessons.lesson_expressions import LessonError
from core.lessons.lesson_files import read_lesson
from core.lessons.posing_and_marking import pose, right_answer

MOMENTS = [
    ("The stride, {first}", "uncoalesced?n=32&block_x=32&block_y=4&step=7&thread=33"),
    ('The "turned" store', "aat_shared?n=32&tile=32&step=12"),
    ("The end", "tiled?n=12&tile=4&step=94"),
    ("Compared", "tiled?n=12&tile=4&vs=coalesced&page=compare&step=9"),
]


def test_each_moment_is_a_step_with_a_computed_answer(tmp_path):
    ladder = load_ladder()
    file = tmp_path / "lecture.toml"
    file.write_text(lesson_of(MOMENTS, ladder, "lecture", 'A "first" lecture'), encoding="utf-8")
    lesson = read_lesson(file)
    assert lesson.title == 'A "first" lecture'
    assert [str(trouble) for trouble in check_lesson(lesson) if trouble is not None] == []
    recorder = Recorder(lesson.ladder)
    posed = [pose(lesson, step, recorder) for step in lesson.steps]
    assert posed[0].ask.startswith("The stride, {first}. How many sectors does warp 1's request")
    assert right_answer(posed[0]) == 32
    kinds = [step.question.answer.text.partition("(")[0] for step in lesson.steps]
    assert kinds[0] == "sectors"
    assert kinds[2] == "phases"
    assert posed[0].link.at.startswith("load:A@phase0")


@pytest.mark.parametrize(
    ("moments", "said"),
    [
        ([], "no moments"),
        ([("Mine", "/home/ada/mine.cu?gridDim=1&step=2")], "“Mine” cannot be a step"),
        ([("Gone", "tiled?n=12&tile=4&step=100000")], "“Gone” cannot be a step"),
    ],
)
def test_what_cannot_be_a_step_is_named(moments, said):
    with pytest.raises(LessonError, match=said):
        lesson_of(moments, load_ladder(), "x", "X")
