"""The work behind a lesson: reading it, working questions out, marking answers.

Everything here loads the emulator and may record launches, so it runs in a worker.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from core.errors import TilescopeError
from gui.scenes.lesson_sitting import Asked, Reply

if TYPE_CHECKING:
    from core.explain.explanations import Explanation
    from core.ladder import Ladder
    from core.lessons.course import Again, Course
    from core.lessons.launch_cache import Recorder
    from core.lessons.lesson import Lesson, Setting
    from core.lessons.posing_and_marking import Answer, Posed
    from core.lessons.progress import Progress
    from gui.background import Progress as Advance


@dataclass(frozen=True)
class Revealed:
    """The answer to a question that nobody answered: as a value, as text, and why.

    `following` is what the next question asks, empty after the last.
    """

    wanted: Answer
    text: str
    why: str
    following: str = ""


@dataclass(frozen=True)
class CourseRead:
    """The course with its lessons, in order, and what the learner has answered."""

    course: Course
    lessons: tuple[Lesson, ...]
    progress: Progress


@dataclass(frozen=True)
class LessonsRead:
    """Lessons from files."""

    lessons: tuple[Lesson, ...]


class Recorders:
    """One recorder of lessons for each ladder; used by the worker alone."""

    def __init__(self) -> None:
        self._of: dict[int, tuple[Ladder, Recorder]] = {}

    def of(self, ladder: Ladder) -> Recorder:
        """The recorder of a ladder."""
        from core.lessons.launch_cache import Recorder

        if id(ladder) not in self._of:
            self._of[id(ladder)] = ladder, Recorder(ladder)
        return self._of[id(ladder)][1]


def course_job(_: Advance, path: Path | None, seed: int) -> CourseRead:
    """Reads the course, and the progress in a file; with `seed` for one that begins."""
    from core.lessons.course import course_lesson, load_course
    from core.lessons.progress import Progress, load_progress

    course = load_course()
    lessons = tuple(course_lesson(name) for name in course.order)
    there = path is not None and path.exists()
    progress = load_progress(path) if there and path is not None else Progress(seed)
    return CourseRead(course, lessons, progress)


def lessons_job(_: Advance, path: Path) -> LessonsRead:
    """Reads a lesson's file, or all of a folder."""
    from core.lessons.course import lesson_files
    from core.lessons.lesson_files import read_lesson

    return LessonsRead(tuple(read_lesson(file) for file in lesson_files(path)))


def pose_job(
    _: Advance, recorders: Recorders, again: Again, values: Mapping[str, Setting], seed: int
) -> Asked:
    """Works a question out."""
    from core.lessons.lesson import Click
    from core.lessons.posing_and_marking import pose, things_of

    recorder = recorders.of(again.lesson.ladder)
    posed = pose(again.lesson, again.step, recorder, values, seed)
    return Asked(posed, things_of(posed) if isinstance(again.step.question, Click) else None)


def foresee_job(_: Advance, posed: Posed) -> None:
    """Records the launches that the answer and its explanation need, while the learner thinks."""
    from core.lessons.posing_and_marking import right_answer

    with suppress(TilescopeError):  # said once it is asked for
        right_answer(posed)
        str(posed.why)


def mark_job(_: Advance, posed: Posed, answer: Answer, sure: bool) -> Reply:
    """Marks an answer."""
    from core.lessons.posing_and_marking import mark

    return Reply(answer, sure, mark(posed, answer))


@dataclass(frozen=True)
class Explained:
    """The figures behind a question's right answer; None where there are none."""

    explanation: Explanation | None


def explain_job(_: Advance, posed: Posed) -> Explained:
    """Explains the figures behind a question's right answer; gives an `Explained`."""
    from gui.scenes.why_of_question import explain_question

    return Explained(explain_question(posed))


@dataclass(frozen=True)
class Drafted:
    """A lesson that was made of moments and written; `steps` are how many it has."""

    path: Path
    steps: int


def draft_job(
    _: Advance, moments: Sequence[tuple[str, str]], ladder: Ladder, path: Path
) -> Drafted:
    """Makes a lesson of moments, writes it, and checks it."""
    import re

    from core.atomic_files import replace_file
    from core.lessons.lesson_check import check_lesson
    from core.lessons.lesson_draft import lesson_of
    from core.lessons.lesson_files import read_lesson

    title = path.stem.replace("_", " ")
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", path.stem)[:32].strip("-") or "lesson"
    replace_file(path, lesson_of(moments, ladder, name, title))
    lesson = read_lesson(path)
    for trouble in check_lesson(lesson):
        if trouble is not None:
            raise TilescopeError(f"{path.name} was written, but {trouble}")
    return Drafted(path, len(lesson.steps))


def reveal_job(_: Advance, recorders: Recorders, posed: Posed, following: Again | None) -> Revealed:
    """Works out the answer of a question, and the words of the one that follows."""
    from core.lessons.posing_and_marking import answer_text, right_answer, situation

    wanted, asked = right_answer(posed), ""
    if following is not None:
        recorder, step = recorders.of(following.lesson.ladder), following.step
        with suppress(TilescopeError):  # said once it is asked
            asked = step.ask.said(situation(step, recorder, following.values))
    return Revealed(wanted, answer_text(posed, wanted), posed.why, asked)
