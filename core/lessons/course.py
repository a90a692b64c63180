"""The lessons that come with the program: their order, reviews, and the tests before and after.

`resources/lessons/course.toml` says which steps are asked again, and when.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from core.errors import TilescopeError
from core.lessons.lesson import LESSONS_FOLDER, Lesson, Setting, Step
from core.lessons.lesson_expressions import LessonError
from core.lessons.lesson_files import read_lesson
from core.lessons.posing_and_marking import variant
from core.lessons.progress import Progress

NOT_LESSONS = ("concepts.toml", "course.toml", "glossary.toml")


@dataclass(frozen=True)
class Course:
    """The course: lessons and exercises by name, in order; what is reviewed, and what is tested.

    `reviews` are the lessons after which a review comes; `pool` are the steps that it draws from,
    `tested` those of the tests before and after.
    """

    order: tuple[str, ...]
    reviews: tuple[str, ...]
    pool: tuple[str, ...]
    tested: tuple[str, ...]
    questions: int  # of a review


@cache
def load_course() -> Course:
    """Reads the course. Raises TilescopeError where its file is wrong."""
    file = LESSONS_FOLDER / "course.toml"
    try:
        row = tomllib.loads(file.read_text(encoding="utf-8"))
        return Course(
            tuple(row["order"]),
            tuple(row["reviews"]),
            tuple(row["pool"]),
            tuple(row["tested"]),
            int(row["questions"]),
        )
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as error:
        raise TilescopeError(f"The course, {file}, cannot be read: {error}.") from error


@cache
def course_lesson(name: str) -> Lesson:
    """A lesson of the course by its name. Raises LessonError where there is none."""
    known = {one.lower(): one for one in load_course().order}
    if name.lower() not in known:
        raise LessonError(
            f"There is no lesson {name[:60]}: there are {', '.join(known.values())}; a lesson of "
            "your own is named by its file."
        )
    return read_lesson(LESSONS_FOLDER / f"{known[name.lower()]}.toml")


def lesson_files(path: Path) -> Iterator[Path]:
    """A lesson's file, or those of a folder in the order of their names. Raises LessonError."""
    if not path.is_dir():
        yield path
        return
    found = sorted(file for file in path.glob("*.toml") if file.name not in NOT_LESSONS)
    if not found:
        raise LessonError(f"There is no lesson in {path}: lessons are .toml files.")
    yield from found


# -- what is asked again ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Again:
    """A step of the course to ask with these values."""

    lesson: Lesson
    step: Step
    values: Mapping[str, Setting]


def review_due(course: Course, progress: Progress) -> bool:
    """Whether a lesson that a review follows was finished since the last review."""
    last = max((i for i, a in enumerate(progress.answers) if a.origin == "review"), default=-1)
    before = Progress(progress.seed, progress.answers[: last + 1])
    return any(
        progress.done(steps) and not before.done(steps)
        for steps in ([s.name for s in course_lesson(name).steps] for name in course.reviews)
    )


def review(course: Course, progress: Progress) -> tuple[Again, ...]:
    """The questions of a review: from lessons that were begun, each with numbers not asked lately.

    Shaky concepts come first, then what was asked longest ago; as far as possible no two are about
    the same concept first of all.
    """
    begun = {a.lesson for a in progress.answers}
    pool = [name for name in course.pool if name.rpartition(".")[0] in begun]
    order = random.Random(f"{progress.seed}/{len(progress.answers)}")
    order.shuffle(pool)
    asked = {a.step: place for place, a in enumerate(progress.answers)}

    def weight(name: str) -> tuple[bool, int]:
        shaky = any(progress.standing(c).state == "shaky" for c in _step(name)[1].concepts)
        return not shaky, asked.get(name, -1)

    chosen: list[str] = []
    seen: set[str] = set()
    ranked = sorted(pool, key=weight)
    for name in ranked:
        main = _step(name)[1].concepts[0]
        if main not in seen and len(chosen) < course.questions:
            chosen.append(name)
            seen.add(main)
    rest = [name for name in ranked if name not in chosen]
    chosen += rest[: course.questions - len(chosen)]
    return tuple(_again(name, progress.seed, progress.times_asked(name)) for name in chosen)


def exam(course: Course, origin: Literal["before", "after"], seed: int) -> tuple[Again, ...]:
    """The test before or after the course: the same steps, no number twice in the two."""
    found = []
    for name in course.tested:
        lesson, step = _step(name)
        sets = random.Random(f"test/{seed}/{name}").sample(step.sets, len(step.sets))
        found.append(Again(lesson, step, sets[0 if origin == "before" else 1]))
    return tuple(found)


def _step(name: str) -> tuple[Lesson, Step]:
    lesson = course_lesson(name.rpartition(".")[0])
    return lesson, lesson[name]


def _again(name: str, seed: int, attempt: int) -> Again:
    lesson, step = _step(name)
    return Again(lesson, step, variant(lesson, step, seed, max(attempt, 1)))
