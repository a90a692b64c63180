"""A lesson as a page: its questions, veiled until the answer is shown."""

import json

import pytest

from core.lessons.course import course_lesson
from core.lessons.launch_cache import Recorder
from core.lessons.posing_and_marking import pose
from gui.exports import replay_page
from gui.exports.replay_page import lesson_chapters
from gui.looks.theme import apply_theme
from tests import chromium

pytestmark = pytest.mark.slow
LESSON, FIRST, LAST = "1A", 1, 4  # some of its steps


@pytest.fixture(scope="module")
def page(qapp):
    apply_theme(qapp, "light")
    title, chapters = lesson_chapters(LESSON)
    assert len(chapters) == len(course_lesson(LESSON).steps)
    return title, replay_page.page_of(chapters[FIRST:LAST], replay_page.VIEWS, title)


def data_of(text):
    _, _, rest = text.partition('<script type="application/json" id="data">')
    return json.loads(rest.partition("</script>")[0])


def test_each_question_has_its_words(page):
    title, text = page
    lesson = course_lesson(LESSON)
    recorder = Recorder(lesson.ladder)
    chapters = data_of(text)["chapters"]
    assert title.startswith(LESSON)
    for step, chapter in zip(lesson.steps[FIRST:LAST], chapters, strict=True):
        posed = pose(lesson, step, recorder, in_window=False)
        assert chapter["asked"]["ask"] == posed.ask
        assert chapter["asked"]["why"] == posed.why
        assert chapter["asked"]["hints"] == list(posed.hints)
        assert chapter["asked"]["options"] == list(posed.choices or posed.items or posed.goals)


def test_what_a_question_veils_comes_with_the_answer(page):
    _, text = page
    data = data_of(text)
    steps = course_lesson(LESSON).steps[FIRST:LAST]
    veiled = 0
    for step, chapter in zip(steps, data["chapters"], strict=True):
        first, second = chapter["steps"]
        assert first["step"] == second["step"]
        if step.veil:
            assert (first, [f[0] for f in chapter["frames"]]) != (
                second, [f[1] for f in chapter["frames"]]
            )  # fmt: skip
            veiled += 1
        if "variables" in step.veil:
            assert first["values"] == []
            assert second["values"]
    assert veiled


def test_the_answer_of_an_exercise_is_what_a_solution_changes(qapp):
    apply_theme(qapp, "light")
    _, chapters = lesson_chapters("exercises")
    for step, chapter in zip(course_lesson("exercises").steps, chapters, strict=True):
        assert chapter.asked.goals
        head, *lines = chapter.asked.answer.splitlines()
        assert head == "One solution changes these lines:"
        added = [line[3:-1] for line in lines if line.startswith("`+ ")]
        assert added
        assert set(added) <= set(step.question.solution.splitlines())


def test_the_answer_is_shown_in_a_browser(page, tmp_path):
    if chromium.found() is None:
        pytest.skip("there is no Chromium (apt-get install chromium)")
    _, text = page
    file = tmp_path / "lesson.html"
    file.write_text(text, "utf-8")
    data = data_of(text)
    with chromium.opened(file.as_uri(), tmp_path / "profile") as shown:
        for number, chapter in enumerate(data["chapters"], start=1):
            assert shown.text("#step") == f"{number} / {len(data['chapters'])}"
            assert shown.text("#ask") == chapter["asked"]["ask"].replace("`", "")
            hidden = "document.getElementById('answer').hidden"
            assert shown.value(hidden) is True
            before = shown.text(".picture.main .caption")
            shown.click("#show")
            assert shown.value(hidden) is False
            assert shown.text("#step") == f"{number} / {len(data['chapters'])}"
            assert shown.text("#right") == chapter["asked"]["answer"].replace("`", "")
            said = chapter["steps"][1]["views"][0][1]
            assert shown.text(".picture.main .caption") == data["words"][said]
            if chapter["steps"][0]["views"][0][1] != said:
                assert before != data["words"][said]
            shown.press("ArrowRight")
            foot = "document.querySelector('footer').getBoundingClientRect().bottom <= innerHeight"
            assert shown.value(foot) is True  # its buttons are in reach, however long the question
        assert shown.errors == []
