"""The course in the window: its page, files of lessons, reviews, tests, and what is kept."""

import json

import pytest
from PySide6.QtCore import Qt

from core.lessons.course import load_course
from core.lessons.posing_and_marking import right_answer
from core.lessons.progress import Answered, Progress, load_progress
from gui.scenes.course_shown import course_shown
from tests.core.lessons.lesson_texts import GOOD, write_lesson

MOST_MS = 60_000


@pytest.fixture
def teaching(window, tmp_path):
    window.teaching.path = tmp_path / "progress.json"
    return window.teaching


def asked(teaching, qtbot):
    def ready():
        sitting = teaching.sitting
        return sitting is not None and sitting.stage == "asked" and not teaching.worker.busy

    qtbot.waitUntil(ready, timeout=MOST_MS)
    return teaching.sitting


def read(teaching, qtbot):
    teaching.read_course()
    qtbot.waitUntil(lambda: teaching.progress is not None, timeout=MOST_MS)


def answers_of(lesson, mark="right"):
    return [Answered(s.name, s.concepts, mark, when=f"{i:04}") for i, s in enumerate(lesson.steps)]


def test_a_solution_that_was_shown_is_said_to_be_so(teaching, qtbot):
    read(teaching, qtbot)
    lesson = next(one for one in teaching.lessons if one.name == "exercises")
    (first, *others), count = answers_of(lesson), len(lesson.steps)
    seen = Answered(first.step, first.concepts, "right", hints=len(lesson.steps[0].hints) + 1)
    rows = course_shown(teaching.course, teaching.lessons, Progress(1, (seen, *others))).lessons
    assert rows[-1].says.startswith(f"{count - 1} of {count} exercises right; solution shown: 1")
    assert not rows[-1].done
    assert rows[-1].at == 0
    rows = course_shown(teaching.course, teaching.lessons, Progress(1, (seen, first, *others)))
    assert rows.lessons[-1].done


def test_what_was_missed_is_asked_again_with_other_numbers(window, teaching, qtbot):
    teaching.begin_lesson("1A", at=5)
    sitting = asked(teaching, qtbot)
    missed = sitting.question
    for answer in ("1", "right"):
        posed = asked(teaching, qtbot).posed
        teaching.panel.field.line.setText(answer.replace("right", str(right_answer(posed))))
        teaching.panel.sure.click()
        qtbot.waitUntil(lambda: sitting.stage == "told", timeout=MOST_MS)
        teaching.go(1)
    teaching.go_to(len(sitting.questions))
    names = [label for label, _ in teaching._what_next(sitting)]
    assert "Ask the missed ones again: 1" in names
    teaching.ask_missed()
    again = asked(teaching, qtbot)
    assert [q.step for q in again.questions] == [missed.step]
    assert again.numbers in missed.step.sets
    assert again.title == f"{sitting.title}, once more"
    assert not again.marks
    teaching.panel.field.line.setText(str(right_answer(again.posed)))
    teaching.panel.sure.click()
    qtbot.waitUntil(lambda: again.stage == "told", timeout=MOST_MS)
    teaching.go(1)
    assert not any("missed" in label for label, _ in teaching._what_next(again))


def test_the_path_says_what_is_done_and_what_is_next(teaching, qtbot):
    read(teaching, qtbot)
    first, second = teaching.lessons[:2]
    begun = Answered(second.steps[0].name, second.steps[0].concepts, "wrong", belief="M4")
    answers = (*answers_of(first), *answers_of(first), begun)
    shown = course_shown(teaching.course, teaching.lessons, Progress(1, answers))
    assert [row.name for row in shown.lessons] == list(load_course().order)
    assert shown.lessons[0].done
    assert shown.next.name == second.name
    assert shown.next.begun
    assert shown.next.at == 1, "it goes on where one left"
    assert not shown.lessons[2].begun
    gaps = [one for one in answers_of(second) if one.step != second.steps[2].name]
    wrong = Answered(second.steps[2].name, second.steps[2].concepts, "wrong")
    again = course_shown(teaching.course, teaching.lessons, Progress(1, (*answers, *gaps, wrong)))
    assert again.lessons[1].at == 2, "then what was not right"
    assert again.next.name == teaching.lessons[2].name, "but what was never asked comes first"
    states = {row.title: row.state for row in shown.concepts}
    assert states["Coalescing"] == "learnt"
    assert "shaky" in states.values()
    assert any("threadIdx" in belief for row in shown.concepts for belief in row.beliefs)
    assert shown.can_review


@pytest.mark.slow
def test_the_page_leads_on_by_keys_alone(window, teaching, qtbot):
    window.show_page("course")
    page = window.pages.made("course")
    qtbot.waitUntil(lambda: page.shown is not None, timeout=MOST_MS)
    qtbot.keyClick(page.ways["learn"].button, Qt.Key.Key_Return)
    assert asked(teaching, qtbot).question.step.name == "1A.1"
    assert window.session.page == "step"
    assert not window.left.isVisible()
    teaching.leave()
    assert window.session.page == "course"
    assert not window.session.veiled
    qtbot.keyClick(page.rows[4], Qt.Key.Key_Return)
    assert asked(teaching, qtbot).question.lesson.name == page.shown.lessons[4].name


def test_to_look_at_a_kernel_ends_the_lesson_in_the_ladders_place(window, teaching, qtbot):
    window.show_page("course")
    page = window.pages.made("course")
    qtbot.waitUntil(lambda: page.shown is not None, timeout=MOST_MS)
    page.ways["learn"].button.click()
    asked(teaching, qtbot)
    assert window.left.isHidden()
    window.look_at_page("course")
    page.ways["look"].button.click()
    assert window.session.page == "step"
    assert teaching.sitting is None
    assert not window.left.isHidden()


@pytest.mark.slow
def test_an_answered_question_can_be_read_again(window, teaching, qtbot):
    teaching.begin_lesson("1A", 5)
    sitting, panel = asked(teaching, qtbot), window.lesson_panel
    veiled = window.session.veiled
    panel.field.line.setText("1")
    panel.sure.click()
    qtbot.waitUntil(lambda: sitting.stage == "told", timeout=MOST_MS)
    why = panel.why.said()
    assert why
    teaching.go(1)
    assert asked(teaching, qtbot).at == 6
    teaching.go(-1)
    assert sitting.stage == "told"
    assert panel.field.line.text() == "1"
    assert not panel.field.isEnabled()
    assert panel.verdict.text() == "Not quite."
    assert (panel.why.isVisible(), panel.why.said()) == (True, why)
    assert veiled
    assert not window.session.veiled
    assert panel.next.isVisible()
    panel.once_more.click() if panel.once_more.isVisible() else panel.again.click()
    answer = right_answer(asked(teaching, qtbot).posed)
    panel.field.line.setText(str(answer))
    panel.sure.click()
    qtbot.waitUntil(lambda: sitting.stage == "told", timeout=MOST_MS)
    teaching.go_to(len(sitting.questions))
    right = f"1 of {len(sitting.questions)} questions right"
    assert f"{right}, 0 of them at once" in panel.ask.said()
    shown = course_shown(teaching.course, teaching.lessons, teaching.progress)
    assert shown.lessons[0].says.startswith(right)
    teaching.go(-1)
    assert sitting.at == len(sitting.questions) - 1, "the last question is before the end"


@pytest.mark.slow
def test_keys_of_an_answer_and_keys_of_the_window(window, teaching, qtbot):
    window.activateWindow()
    teaching.begin_lesson("1A", 5)
    sitting, panel = asked(teaching, qtbot), window.lesson_panel
    line = panel.field.line
    qtbot.keyClicks(line, "1 sector")
    assert line.text() == "1 sector"
    assert window.session.playing == 0
    assert (panel.field.answer(), panel.mistake.text()) == (1, "")
    line.setText("1 2")
    assert "is not a number: type digits" in panel.mistake.text()
    assert not panel.sure.isEnabled(), "no mark is spent"
    qtbot.keyClick(line, Qt.Key.Key_PageDown)
    assert asked(teaching, qtbot).at == 6
    qtbot.keyClick(panel.field.line, Qt.Key.Key_PageUp)
    assert asked(teaching, qtbot).at == 5
    steps = sitting.questions
    several = next(n for n, one in enumerate(steps) if one.step.name == "1A.16")
    teaching.go_to(several)
    assert not asked(teaching, qtbot).asked.things.single
    qtbot.keyClick(panel.field.line, Qt.Key.Key_PageUp)
    assert asked(teaching, qtbot).at == several - 1
    teaching.go_to(several)
    asked(teaching, qtbot)
    window.session.pick("sector", 1)
    window.session.pick("sector", 2)
    assert panel.field.answer() == [1, 2]
    assert panel.sure.hasFocus()
    panel.field.line.setText("sectors 1-2")
    assert panel.field.answer() == [1, 2]
    qtbot.keyClick(panel.sure, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: sitting.reply is not None, timeout=MOST_MS)


@pytest.mark.slow
def test_an_order_that_misses_goals_says_which_and_then_why(window, teaching, qtbot):
    teaching.begin_lesson("6A", 5)
    sitting, panel = asked(teaching, qtbot), window.lesson_panel
    items = sitting.question.step.question.items
    wait, meet, fetch, use = (item.said(sitting.posed.here) for item in items)
    panel.answered.emit([wait, fetch, meet, use], True)
    qtbot.waitUntil(lambda: sitting.reply is not None, timeout=MOST_MS)
    assert panel.reply.text().startswith("Not met: No findings")
    assert panel.why.isHidden()
    panel.answered.emit([wait, fetch, meet, use], True)
    qtbot.waitUntil(lambda: sitting.stage == "told", timeout=MOST_MS)
    assert not panel.why.isHidden()


@pytest.mark.slow
def test_a_right_slider_shows_its_own_value(window, teaching, qtbot):
    teaching.begin_lesson("1A", 13)
    sitting, panel = asked(teaching, qtbot), window.lesson_panel
    first, second, *_ = right_answer(sitting.posed)
    panel.field.put(second)
    panel.sure.click()
    qtbot.waitUntil(lambda: sitting.stage == "told", timeout=MOST_MS)
    idle = window.recorder.worker
    qtbot.waitUntil(lambda: not idle.busy and window.moments.awaited is None, timeout=MOST_MS)
    assert sitting.reply.verdict.mark == "right"
    assert window.session.configuration.parameters["offset"] == second != first


@pytest.mark.slow
def test_a_lesson_file_is_read_again_when_it_changes(window, teaching, qtbot, tmp_path):
    file = write_lesson(tmp_path)
    teaching.open_path(file)
    before = asked(teaching, qtbot)
    assert window.lesson_panel.title.text().endswith(before.question.lesson.title)
    file.write_text(GOOD.replace(before.question.lesson.title, "Another title"), encoding="utf-8")
    title = window.lesson_panel.title
    qtbot.waitUntil(lambda: title.text().endswith("Another title"), timeout=MOST_MS)
    asked(teaching, qtbot)
    file.write_text("id = [", encoding="utf-8")
    qtbot.waitUntil(lambda: "is not valid TOML" in window.message.sentence, timeout=MOST_MS)
    assert teaching.sitting.stage == "asked"
    file.write_text(GOOD, encoding="utf-8")
    qtbot.waitUntil(lambda: title.text().endswith(before.question.lesson.title), timeout=MOST_MS)


def test_what_is_no_lesson_is_one_sentence(window, teaching, qtbot, tmp_path):
    teaching.open_path(tmp_path / "none.toml")
    qtbot.waitUntil(lambda: "none.toml" in window.message.sentence, timeout=MOST_MS)
    assert teaching.sitting is None
    teaching.begin_lesson("9Z")
    assert "There is no lesson 9Z" in window.message.sentence


def test_a_folder_of_lessons_goes_on_to_the_next(window, teaching, qtbot, tmp_path):
    write_lesson(tmp_path)
    name = next(line for line in GOOD.splitlines() if line.startswith("id = "))
    (tmp_path / "zz.toml").write_text(GOOD.replace(name, 'id = "later"'), encoding="utf-8")
    teaching.open_path(tmp_path)
    sitting = asked(teaching, qtbot)
    teaching.go_to(len(sitting.questions))
    ways = [label for label, _ in teaching._what_next(sitting)]
    assert ways == ["First open question: 1", "Lesson later", "To the course"]


@pytest.mark.slow
def test_a_test_explains_nothing_and_goes_on(window, teaching, qtbot):
    teaching.begin_test("before")
    count = len(load_course().tested)
    for place in range(2):
        sitting = asked(teaching, qtbot)
        assert sitting.at == place
        assert window.lesson_panel.hint.isHidden()
        answer = right_answer(sitting.posed)
        window.lesson_panel.field.line.setText(str(answer + place))
        window.lesson_panel.sure.click()
        qtbot.waitUntil(lambda at=place: teaching.sitting.at == at + 1, timeout=MOST_MS)
        assert window.lesson_panel.why.isHidden()
    assert len(teaching.sitting.questions) == count
    assert teaching.progress.score("before") == (1, 2)
    assert [a.origin for a in load_progress(teaching.path).answers] == ["before", "before"]


def test_a_review_has_other_numbers(window, teaching, qtbot):
    teaching.begin_review()
    qtbot.waitUntil(lambda: "begin a lesson first" in window.message.sentence, timeout=MOST_MS)
    lesson = teaching.lessons[0]
    teaching.progress = Progress(3, tuple(answers_of(lesson)))
    teaching.begin_review()
    sitting = asked(teaching, qtbot)
    assert sitting.title == "Review"
    assert all(one.values for one in sitting.questions)


@pytest.mark.slow
def test_progress_is_kept_and_exported_without_a_name(window, teaching, qtbot, tmp_path):
    teaching.begin_lesson("1A", 5)
    sitting = asked(teaching, qtbot)
    window.lesson_panel.field.line.setText("1")
    teaching.hint()
    window.lesson_panel.guess.click()
    qtbot.waitUntil(lambda: sitting.stage == "told", timeout=MOST_MS)
    kept = load_progress(teaching.path).answers
    assert [(a.step, a.mark, a.sure, a.hints) for a in kept] == [("1A.6", "wrong", False, 1)]
    for kind in ("json", "csv"):
        teaching.export(tmp_path / f"out.{kind}", kind)
    data = json.loads((tmp_path / "out.json").read_text())
    assert data["answers"][0]["step"] == "1A.6"
    assert not {"name", "when", "seed"} & set(data)
    assert "1A.6" in (tmp_path / "out.csv").read_text()
    teaching.again()
    again = asked(teaching, qtbot)
    assert again.numbers
    assert again.posed.ask != sitting.question.step.ask.text


def test_a_damaged_file_of_progress_stays_as_it_is(window, teaching, qtbot):
    teaching.path.write_text("{", encoding="utf-8")
    path = teaching.path
    teaching.begin_lesson("1A")
    asked(teaching, qtbot)
    assert path.read_text(encoding="utf-8") == "{"
    qtbot.waitUntil(lambda: "not kept" in window.message.sentence, timeout=MOST_MS)
