"""A lesson as chapters of a page: each step is a question, first veiled, then with its answer."""

from __future__ import annotations

from core.errors import Cancelled, TilescopeError
from core.lessons.course import course_lesson
from core.lessons.launches import Recorder
from core.lessons.lesson import Edit
from core.lessons.posing_and_marking import Posed, answer_text, pose, right_answer
from core.lessons.question_banks import solution_lines
from gui.exports.replay_page import Asked, Chapter
from gui.scenes.session import Session
from gui.scenes.session_values import Configuration, Origin

_LOOKS = ("heat", "close_up", "warp_trail")


def lesson_chapters(name: str) -> tuple[str, list[Chapter]]:
    """The title of a lesson of the course, and a chapter for each of its steps.

    Raises TilescopeError where a step cannot be recorded.
    """
    lesson = course_lesson(name)
    recorder = Recorder(lesson.ladder)
    found = []
    for step in lesson.steps:
        posed = pose(lesson, step, recorder, in_window=False)
        here = posed.here
        asked = Asked(
            posed.ask,
            options=posed.choices or posed.items or posed.goals,
            goals=not (posed.choices or posed.items),
            hints=posed.hints,
            answer=_answer(posed),
            why=posed.why,
        )
        title = f"{step.name}  {lesson.title}"
        try:
            session = _session(posed)
        except Cancelled:
            raise
        except TilescopeError:  # too large to be recorded: the question is about its counts
            found.append(Chapter(None, [], title, asked=asked))
            continue
        steps = [here.step, here.step]
        found.append(Chapter(session, steps, title, asked=asked, veiled=step.veil))
    return f"{lesson.name}  {lesson.title}", found


def _answer(posed: Posed) -> str:
    """What is shown as the answer; of an exercise the lines that a solution has of its own."""
    question = posed.step.question
    if not isinstance(question, Edit):
        return f"Answer: {answer_text(posed, right_answer(posed))}"
    lines = (f"`{line}`" for line in solution_lines(posed))
    return "\n".join(["One solution changes these lines:", *lines])


def _session(posed: Posed) -> Session:
    link, trace = posed.link, posed.here.trace
    session = Session()
    source = posed.here.recorder.ladder[link.rung].source
    session.origin = Origin(Configuration(link.rung, link.parameters), source)
    session.trace = trace
    session.update(**{name: link.looks[name] == "1" for name in _LOOKS if name in link.looks})
    session.update(block=link.block, thread=link.thread)
    return session
