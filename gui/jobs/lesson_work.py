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

if TYPE_CHECKING:
    from core.ladder import Ladder
    from core.lessons.course import Again, Course
    from core.lessons.lesson import Lesson, Setting
    from core.lessons.marking import Answer, Verdict
    from core.lessons.posing import Posed
    from core.lessons.progress import Progress
    from core.lessons.situation import Recorder
    from gui.background.work import Job
    from gui.background.work import Progress as Advance


@dataclass(frozen=True)
class Asked:
    """A question worked out; `several` says whether more than one thing is to be clicked."""

    posed: Posed
    several: bool = False


@dataclass(frozen=True)
class Marked:
    """An answer and what it is worth."""

    answer: Answer
    sure: bool
    verdict: Verdict


@dataclass(frozen=True)
class Revealed:
    """The answer to a question that nobody answered: as a value, as text, and why."""

    wanted: Answer
    text: str
    why: str


@dataclass(frozen=True)
class CourseRead:
    """The course with its lessons, in order, and what the learner has answered."""

    course: Course
    lessons: tuple[Lesson, ...]
    progress: Progress


@dataclass(frozen=True)
class LessonsRead:
    """Lessons from files: `wanted` is a file or a folder."""

    wanted: Path
    lessons: tuple[Lesson, ...]


class Recorders:
    """One recorder of lessons for each ladder; used by the worker alone."""

    def __init__(self) -> None:
        self._of: dict[int, tuple[Ladder, Recorder]] = {}

    def of(self, ladder: Ladder) -> Recorder:
        """The recorder of a ladder."""
        from core.lessons.situation import Recorder

        if id(ladder) not in self._of:
            self._of[id(ladder)] = ladder, Recorder(ladder)
        return self._of[id(ladder)][1]


def course_job(path: Path | None, seed: int) -> Job:
    """Reads the course, and the progress in a file; with `seed` for one that begins."""

    def job(advance: Advance) -> CourseRead:
        from core.lessons.course import course_lesson, load_course
        from core.lessons.progress import Progress, load_progress

        course = load_course()
        lessons = tuple(course_lesson(name) for name in course.order)
        there = path is not None and path.exists()
        progress = load_progress(path) if there and path is not None else Progress(seed)
        return CourseRead(course, lessons, progress)

    return job


def lessons_job(path: Path) -> Job:
    """Reads a lesson's file, or all of a folder."""

    def job(advance: Advance) -> LessonsRead:
        from core.lessons.course import lesson_files
        from core.lessons.reading import read_lesson

        return LessonsRead(path, tuple(read_lesson(file) for file in lesson_files(path)))

    return job


def pose_job(recorders: Recorders, again: Again, values: Mapping[str, Setting], seed: int) -> Job:
    """Works a question out."""

    def job(advance: Advance) -> Asked:
        from core.lessons.lesson import Click
        from core.lessons.posing import pose, right_answer

        recorder = recorders.of(again.lesson.ladder)
        posed = pose(again.lesson, again.step, recorder, values, seed)
        question = again.step.question
        if not isinstance(question, Click):
            return Asked(posed)
        right = right_answer(posed)
        return Asked(posed, question.every and isinstance(right, list) and len(right) > 1)

    return job


def foresee_job(posed: Posed) -> Job:
    """Records the launches that the answer and its explanation need, while the learner thinks."""

    def job(advance: Advance) -> None:
        from core.lessons.posing import right_answer

        with suppress(TilescopeError):  # said once it is asked for
            right_answer(posed)
            str(posed.why)

    return job


def mark_job(posed: Posed, answer: Answer, sure: bool) -> Job:
    """Marks an answer."""

    def job(advance: Advance) -> Marked:
        from core.lessons.marking import mark

        return Marked(answer, sure, mark(posed, answer))

    return job


@dataclass(frozen=True)
class Drafted:
    """A lesson that was made of moments and written; `steps` are how many it has."""

    path: Path
    steps: int


def draft_job(moments: Sequence[tuple[str, str]], ladder: Ladder, path: Path) -> Job:
    """Makes a lesson of moments, writes it, and checks it."""

    def job(advance: Advance) -> Drafted:
        import re

        from core.errors import TilescopeError
        from core.files import replace_file
        from core.lessons.checking import check_lesson
        from core.lessons.drafting import lesson_of
        from core.lessons.reading import read_lesson

        title = path.stem.replace("_", " ")
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", path.stem)[:32].strip("-") or "lesson"
        replace_file(path, lesson_of(moments, ladder, name, title))
        lesson = read_lesson(path)
        for trouble in check_lesson(lesson):
            if trouble is not None:
                raise TilescopeError(f"{path.name} was written, but {trouble}")
        return Drafted(path, len(lesson.steps))

    return job


def reveal_job(posed: Posed) -> Job:
    """Works out the answer of a question."""

    def job(advance: Advance) -> Revealed:
        from core.lessons.marking import answer_text
        from core.lessons.posing import right_answer

        wanted = right_answer(posed)
        return Revealed(wanted, answer_text(posed, wanted), posed.why)

    return job
