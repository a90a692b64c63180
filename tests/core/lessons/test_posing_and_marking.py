"""Marking: right, near and wrong, the reply to a wrong answer, and kernels against their goals."""

import pytest

from core.lessons.course import course_lesson
from core.lessons.launch_cache import Recorder
from core.lessons.lesson_expressions import Element, LessonError
from core.lessons.posing_and_marking import mark, pose, right_answer, variant

RECORDER = Recorder(course_lesson("1A").ladder)


def posed(name, values=None, seed=0):
    lesson = course_lesson(name.rpartition(".")[0])
    return pose(lesson, lesson[name], RECORDER, values or {}, seed)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "answer", "wanted", "belief"),
    [
        ("1A.6", 4, "right", ""),
        ("1A.6", 4.0, "right", ""),
        ("1A.6", 5, "wrong", ""),
        ("1A.6", 1, "wrong", "M1"),
        ("1A.7", 32, "wrong", "M2"),
        ("1A.9", 12.5, "right", ""),
        ("1A.9", 12.45, "right", ""),
        ("1A.9", 12, "near", ""),
        ("1A.9", 0.125, "near", ""),
        ("1A.9", 87.5, "wrong", ""),
        ("1A.3", [Element("C", (1, 3))], "right", ""),
        ("1A.3", Element("C", (1, 3)), "right", ""),
        ("1A.3", [Element("C", (3, 1))], "wrong", "M4"),
        ("3B.1", [0, 2], "right", ""),
        ("3B.1", [2, 0], "right", ""),
        ("3B.1", [2], "near", ""),
        ("3B.1", [0, 1], "wrong", "M4"),
        ("3B.1", [0, 1, 2], "wrong", ""),
        ("1B.9", [24], "right", ""),
        ("1B.9", [25], "right", ""),
        ("1B.9", [24, 25], "wrong", ""),
        ("1B.9", [29], "wrong", ""),
        ("4A.6", [0], "right", ""),
        ("4A.6", [5], "wrong", ""),
        ("1A.13", 8, "right", ""),
        ("1A.13", 9, "near", ""),
        ("1A.13", 7, "wrong", ""),
        ("4A.11", 3, "right", ""),
        ("4A.11", 2, "wrong", "M10"),
    ],
)
def test_an_answer_is_marked(name, answer, wanted, belief):
    verdict = mark(posed(name), answer)
    assert (verdict.mark, verdict.belief) == (wanted, belief)
    assert verdict.right
    assert "{" not in verdict.why


@pytest.mark.parametrize(
    ("name", "answer", "said"),
    [
        ("3B.1", [2], "That is right, and there are more."),
        ("1A.13", 9, "That works. Is there a smaller value?"),
        ("2A.10", 8, "That works. Is there a larger value?"),
        ("4A.11", 2, "With 2 only every second bank is used: two lanes meet in each."),
        ("4A.6", [0], ""),
    ],
)
def test_a_reply_says_what_an_answer_lacks(name, answer, said):
    assert mark(posed(name), answer).say == said


def test_every_choice_but_one_is_wrong_in_every_order():
    orders = set()
    for seed in range(6):
        asked = posed("1B.7", seed=seed)
        orders.add(asked.choices)
        marks = {choice: mark(asked, choice).mark for choice in asked.choices}
        assert marks.pop(right_answer(asked)) == "right"
        assert set(marks.values()) == {"wrong"}
        believing = [mark(asked, choice).belief for choice in marks]
        assert believing == ["M5", "M5"]
    assert len(orders) > 1


def test_an_order_is_marked():
    asked = posed("1B.5")
    right = right_answer(asked)
    assert sorted(right) != right or len(right) == 2
    assert mark(asked, right).mark == "right"
    assert mark(asked, right[::-1]).mark == "near"
    assert mark(asked, [asked.items[0], asked.items[0]]).mark == "wrong"


def test_lines_in_order_are_run():
    asked = posed("1B.10")
    fill_a, fill_b, first, multiply, second = (
        t.said(asked.here) for t in asked.step.question.items
    )
    for lines in (
        [fill_a, fill_b, first, multiply, second],
        [fill_b, fill_a, second, multiply, first],
    ):
        assert mark(asked, lines).mark == "right"
    early = mark(asked, [fill_a, first, fill_b, multiply, second])
    assert early.mark != "right"
    assert [goal.met for goal in early.goals] == [False, False, True]
    assert early.why  # an order is answered twice at most, and then explained
    missing = mark(asked, [fill_a, fill_b, multiply, first])
    assert not missing.goals[2].met


def test_a_kernel_is_marked_by_its_goals():
    asked = posed("exercises.2")
    solution = asked.step.question.solution
    assert mark(asked, solution).mark == "right"
    verdict = mark(asked, solution.replace("A[i] + B[i]", "A[i] - B[i]"))
    assert [goal.met for goal in verdict.goals] == [False, True]
    assert (verdict.mark, verdict.why) == ("near", "")
    broken = mark(asked, solution.replace(";", ""))
    assert broken.mark == "wrong"
    assert all(goal.trouble for goal in broken.goals)
    assert "\n" not in broken.say


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("1A.6", "4"), ("1A.6", True), ("1A.6", float("nan")), ("1A.6", [4]),
        ("1A.5", "none of these"), ("1A.13", 40), ("1A.13", "8"), ("exercises.1", 3),
    ],
)  # fmt: skip
def test_an_answer_of_another_kind_is_refused(name, answer):
    with pytest.raises(LessonError, match=r"\S"):
        mark(posed(name), answer)


def test_variants_come_in_the_learners_order_and_all_of_them():
    lesson = course_lesson("4A")
    step = lesson["4A.10"]
    assert variant(lesson, step, 1, 0) == {}
    mine = [variant(lesson, step, 1, n)["pad"] for n in range(1, len(step.sets) + 1)]
    others = [variant(lesson, step, 2, n)["pad"] for n in range(1, len(step.sets) + 1)]
    assert sorted(mine) == sorted(others) == sorted(one["pad"] for one in step.sets)
    assert mine != others
    assert variant(lesson, step, 1, len(step.sets) + 1)["pad"] == mine[0]


def test_a_variant_has_its_own_answer():
    answers = {pad: right_answer(posed("4A.10", {"pad": pad})) for pad in (1, 2, 3, 8)}
    assert answers == {1: 1, 2: 2, 3: 1, 8: 8}
