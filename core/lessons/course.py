"""The lessons that come with the program: their order, reviews, and the tests before and after.

`resources/lessons/course.toml` says which steps are asked again, and when.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from core.errors import TilescopeError
from core.lessons.concepts import LESSONS_FOLDER
from core.lessons.expressions import LessonError
from core.lessons.lesson import Lesson
from core.lessons.reading import read_lesson

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
def load_course(folder: Path = LESSONS_FOLDER) -> Course:
    """Reads the course. Raises TilescopeError where its file is wrong."""
    file = folder / "course.toml"
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
