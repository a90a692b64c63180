"""What the course page shows: the lessons with what was answered, and how each concept stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from gui.scenes.numbers_and_sentences import plural

if TYPE_CHECKING:
    from core.lessons.course import Course
    from core.lessons.lesson import Lesson
    from core.lessons.progress import Progress, State

EXERCISES = "exercises"


@dataclass(frozen=True)
class LessonRow:
    """One lesson of the path.

    `right` of `count` steps were once answered right, `shown` of the others had their solution
    shown; `at` is the first that was never answered,
    then the first that was not answered right; `shaky` are titles of concepts that are not sure
    yet. `next` marks the lesson to go on with: the first that has questions never answered, then
    the first that has some not answered right.
    """

    name: str
    title: str
    aim: str
    right: int
    count: int
    at: int
    shaky: tuple[str, ...] = ()
    next: bool = False
    begun: bool = False  # whether any step was answered
    shown: int = 0

    @property
    def done(self) -> bool:
        """Whether every step was once answered right."""
        return self.right == self.count

    @property
    def says(self) -> str:
        """How it stands, in a line."""
        kind = "exercise" if self.name == EXERCISES else "question"
        if not self.begun:
            return plural(self.count, kind)
        found = f"{self.right} of {plural(self.count, kind)} right"
        found += f"; solution shown: {self.shown}" if self.shown else ""
        return f"{found}; shaky: {', '.join(self.shaky)}" if self.shaky else found


@dataclass(frozen=True)
class ConceptRow:
    """How a concept stands; `beliefs` are misconceptions that no right answer has followed."""

    title: str
    line: str
    state: State
    right: int
    asked: int
    beliefs: tuple[str, ...] = ()


@dataclass(frozen=True)
class CourseShown:
    """All of the page. `before` and `after` are the tests: known and asked."""

    lessons: tuple[LessonRow, ...]
    concepts: tuple[ConceptRow, ...]
    review_due: bool
    can_review: bool
    before: tuple[int, int]
    after: tuple[int, int]
    tested: int

    @property
    def next(self) -> LessonRow:
        """The lesson to go on with."""
        return next((row for row in self.lessons if row.next), self.lessons[0])

    @property
    def begun(self) -> bool:
        """Whether anything was answered."""
        return any(row.state != "new" for row in self.concepts)


def course_shown(course: Course, lessons: Sequence[Lesson], progress: Progress) -> CourseShown:
    """The page after all answers."""
    from core.lessons.course import review_due
    from core.lessons.lesson import load_concepts

    table = load_concepts()
    standings = progress.standings(table.concepts)
    steps = {step.name: step for lesson in lessons for step in lesson.steps}
    met = [a for a in progress.answers if a.mark == "right" and a.step in steps]
    right = {a.step for a in met if not steps[a.step].is_shown(a.hints)}
    shown = {a.step for a in met} - right
    answered = {a.step for a in progress.answers}
    rows: list[LessonRow] = []
    unanswered: list[bool] = []
    for lesson in lessons:
        names = [step.name for step in lesson.steps]
        unseen = (place for place, name in enumerate(names) if name not in answered)
        at = next(unseen, next((p for p, name in enumerate(names) if name not in right), 0))
        about = dict.fromkeys(concept for step in lesson.steps for concept in step.concepts)
        asked = {c for a in progress.answers if a.step in names for c in a.concepts}
        shaky = tuple(
            table.concepts[name].title
            for name in about
            if name in asked and name in standings and standings[name].state == "shaky"
        )
        count = sum(name in right for name in names)
        begun = not answered.isdisjoint(names)
        told = (lesson.name, lesson.title, lesson.aim)
        seen = sum(name in shown for name in names)
        rows.append(LessonRow(*told, count, len(names), at, shaky, begun=begun, shown=seen))
        unanswered.append(not answered.issuperset(names))
    to_do = unanswered if any(unanswered) else [not row.done for row in rows]
    if any(to_do):
        place = to_do.index(True)
        rows[place] = replace(rows[place], next=True)
    concepts = tuple(
        ConceptRow(
            concept.title,
            concept.line,
            standings[name].state,
            standings[name].right,
            standings[name].asked,
            tuple(table.beliefs[b] for b in standings[name].beliefs if b in table.beliefs),
        )
        for name, concept in table.concepts.items()
    )
    pool = {name.rpartition(".")[0] for name in course.pool}
    return CourseShown(
        tuple(rows),
        concepts,
        review_due(course, progress),
        any(a.lesson in pool for a in progress.answers),
        progress.score("before"),
        progress.score("after"),
        len(course.tested),
    )


Way = Literal["learn", "look", "bring"]
WAYS: tuple[tuple[Way, str, str], ...] = (
    (
        "learn",
        "Learn",
        "Lessons that ask before they show. Each answer is computed from a kernel that ran.",
    ),
    (
        "look",
        "Look",
        "A kernel of the ladder, thread by thread: who touches which element, and when.",
    ),
    ("bring", "Bring", "A CUDA kernel of your own. Open it here, or drop the file on the window."),
)
"""What a first start offers."""
