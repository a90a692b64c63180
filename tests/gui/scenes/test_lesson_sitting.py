"""A lesson that is sat: the first answer counts, and what was told can be read again."""

from core.lessons.course import Again, course_lesson
from core.lessons.launch_cache import Recorder
from core.lessons.posing_and_marking import Verdict, pose
from core.lessons.progress import Progress
from gui.scenes.lesson_sitting import Asked, Reply, Sitting

LESSON = course_lesson("1A")
STEPS = [step for step in LESSON.steps if step.sets][:3]
RECORDER = Recorder(LESSON.ladder)


def sitting():
    return Sitting("1A", tuple(Again(LESSON, step, {}) for step in STEPS), 1)


def ask(one):
    one.ask(Asked(pose(LESSON, one.question.step, RECORDER, one.numbers, one.seed)))


def answer(one, mark):
    return one.take(Reply(7, True, Verdict(mark, "", "8", "because")))


def test_what_was_told_is_there_when_one_goes_back():
    one = sitting()
    ask(one)
    answer(one, "wrong")
    posed, reply = one.posed, one.reply
    one.go(1)
    assert (one.stage, one.posed, one.reply) == ("opening", None, None)
    one.go(0)
    assert (one.stage, one.posed, one.reply) == ("told", posed, reply)


def test_a_question_with_other_numbers_comes_back_with_them():
    one = sitting()
    values = STEPS[0].sets[0]
    one.again(values)
    ask(one)
    answer(one, "right")
    one.go(1)
    one.go(0)
    assert one.numbers == values


def test_a_test_shows_no_answer_again():
    one = sitting()
    one.origin = "before"
    ask(one)
    answer(one, "right")
    one.go(1)
    one.go(0)
    assert one.stage == "opening"


def test_what_was_explained_is_no_first_answer_with_the_same_numbers():
    alike = next(step for step in LESSON.steps if not step.sets)
    for step, attempt in ((STEPS[0], 0), (alike, 1)):
        one = Sitting("1A, once more", [Again(LESSON, step, {})], 1, explained=True)
        ask(one)
        assert answer(one, "right").attempt == attempt


def test_the_first_answer_counts():
    one = sitting()
    for mark in ("right", "wrong"):
        ask(one)
        answer(one, mark)
        one.again({})
    assert one.marks == {0: "right"}
    one.go(1)
    for mark in ("wrong", "wrong", "right", "wrong"):
        ask(one)
        answer(one, mark)
        one.again({})
    assert one.marks == {0: "right", 1: "near"}
    assert one.score == (1, 2)
    assert one.first_open == 2
    one.marks[2] = "wrong"
    assert one.first_open is None


def test_earlier_answers_count_as_they_did():
    before, kept = sitting(), Progress(1)
    for place, marks in enumerate((("right", "wrong"), ("wrong", "right"), ("wrong", "wrong"))):
        before.go(place)
        for mark in marks:
            ask(before)
            kept = kept.with_answer(answer(before, mark))
            before.again({})
    after = sitting()
    after.take_earlier(kept.answers)
    assert after.marks == before.marks == {0: "right", 1: "near", 2: "wrong"}
    assert after.score == before.score == (1, 2)


def test_a_solution_that_was_shown_is_no_right_answer():
    exercises = course_lesson("exercises")
    questions = tuple(Again(exercises, step, {}) for step in exercises.steps[:3])
    before, kept = Sitting("x", questions, 1), Progress(1)
    for place in range(3):
        before.go(place)
        ask(before)
        while before.hint():
            pass
        before.solved = place == 1
        kept = kept.with_answer(answer(before, "right"))
    after = Sitting("x", questions, 1)
    after.take_earlier(kept.answers)
    for one in (before, after):
        assert (one.right, one.shown) == ({0, 2}, {1})
        assert one.marks == {0: "right", 1: "near", 2: "right"}
        assert one.score == (2, 2)
        assert one.missed == (1,)
    ask(after)
    after.go(1)
    ask(after)
    kept = kept.with_answer(answer(after, "right"))
    own = Sitting("x", questions, 1)
    own.take_earlier(kept.answers)
    assert 1 in own.right, "who has solved it without help later has it right"
    assert 1 not in own.shown
