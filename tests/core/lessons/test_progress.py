"""What follows from answers: standings, reviews, the tests before and after, files."""

import csv
import io
import json

import pytest

from core.errors import TilescopeError
from core.lessons.course import course_lesson, exam, load_course, review, review_due
from core.lessons.progress import (
    Answered,
    Progress,
    export_csv,
    export_json,
    load_progress,
    save_progress,
)

COURSE = load_course()


def answer(step="1A.6", mark="right", **more):
    return Answered(step, tuple(more.pop("concepts", ("sector",))), mark, **more)


def after(*answers):
    return Progress(5, answers)


@pytest.mark.parametrize(
    ("answers", "state"),
    [
        ([], "new"),
        ([answer()], "shaky"),
        ([answer(), answer("1A.7")], "learnt"),
        ([answer(mark="wrong"), answer("1A.7"), answer("1A.8")], "learnt"),
        ([answer(), answer("1A.7", sure=False)], "shaky"),
        ([answer(sure=False), answer("1A.7")], "learnt"),
        ([answer(), answer("1A.7", hints=1)], "shaky"),
        ([answer(), answer("1A.7", "wrong"), answer("1A.7", attempt=1)], "shaky"),
        ([answer(), answer("1A.7"), answer("1A.8", "near")], "shaky"),
        ([answer(), answer("1A.7", concepts=["bank"])], "shaky"),
    ],
)
def test_a_concept_stands_as_its_answers_say(answers, state):
    assert after(*answers).standing("sector").state == state


def test_a_misconception_stays_until_a_right_answer():
    wrong = answer(mark="wrong", belief="M2")
    assert after(wrong).standing("sector").beliefs == ("M2",)
    assert after(wrong, answer("1A.7")).standing("sector").beliefs == ()


def steps(name):
    return [answer(s.name, concepts=s.concepts) for s in course_lesson(name).steps]


def test_a_review_is_due_after_its_lesson_alone():
    first, second = COURSE.order[:2]
    assert second in COURSE.reviews
    assert not review_due(COURSE, after(*steps(first)))
    learnt = after(*steps(first), *steps(second))
    assert review_due(COURSE, learnt)
    asked = learnt.with_answer(answer(origin="review"))
    assert not review_due(COURSE, asked)
    assert review_due(COURSE, after(*asked.answers, *steps("3B"), *steps("2A")))


def test_a_review_asks_what_is_shaky_with_other_numbers():
    shaky = answer("1B.16", "wrong", concepts=["phase"])
    progress = after(*steps("1A"), *steps("1B"), shaky)
    asked = review(COURSE, progress)
    assert len(asked) == COURSE.questions
    assert len({again.step.name for again in asked}) == len(asked)
    assert {again.lesson.name for again in asked} <= {"1A", "1B"}
    assert "phase" in asked[0].step.concepts or any("phase" in a.step.concepts for a in asked)
    assert all(again.values in again.step.sets for again in asked)
    assert review(COURSE, progress) == asked


def test_a_review_of_nothing_is_empty():
    assert review(COURSE, Progress(3)) == ()


@pytest.mark.parametrize("seed", [0, 1, 77])
def test_the_tests_ask_the_same_with_other_numbers(seed):
    first, last = exam(COURSE, "before", seed), exam(COURSE, "after", seed)
    assert [a.step.name for a in first] == [a.step.name for a in last] == list(COURSE.tested)
    assert all(a.values != b.values for a, b in zip(first, last, strict=True))


def test_what_is_asked_again_has_other_numbers():
    for name in {*COURSE.pool, *COURSE.tested}:
        lesson = course_lesson(name.rpartition(".")[0])
        assert len(lesson[name].sets) >= (2 if name in COURSE.tested else 1), name


def test_progress_is_kept_whole(tmp_path):
    progress = after(
        answer(values={"n": 16, "gpu": "T4"}, seconds=3.5, when="2026-01-02T03:04:05+00:00"),
        answer("my.1", "near", sure=False, hints=2, belief="M1", origin="review"),
    )
    file = tmp_path / "progress.json"
    save_progress(file, progress)
    assert load_progress(file) == progress


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{", "null", "7", '{"format": 1}', '{"format": 2, "seed": 0, "answers": []}',
        '{"format": 1, "seed": "x", "answers": []}', '{"format": 1, "seed": 1, "answers": [{}]}',
        '{"format": 1, "seed": 1, "answers": 5}', "[" * 100_000,
    ],
)  # fmt: skip
def test_a_broken_file_is_a_sentence(tmp_path, text):
    file = tmp_path / "progress.json"
    file.write_text(text)
    with pytest.raises(TilescopeError, match=r"progress\.json"):
        load_progress(file)


def test_an_export_names_nobody_and_no_time():
    progress = after(answer(when="2026-01-02T03:04:05+00:00", origin="before"), answer("1A.7"))
    text = export_json(progress, ["sector", "bank"])
    data = json.loads(text)
    assert "2026" not in text
    assert data["before"] == {"known": 1, "asked": 1}
    assert [one["state"] for one in data["concepts"]] == ["learnt", "new"]
    rows = list(csv.DictReader(io.StringIO(export_csv(progress))))
    assert [row["step"] for row in rows] == ["1A.6", "1A.7"]
