"""What a lesson is: steps with a place to look at, a question, a veil, replies, hints and goals.

All of it is immutable and holds expressions that are not yet worked out; `posing_and_marking` works
them out for one variant of a step. `docs/lessons.md` explains the file that it is read from. At the
end stand the concepts that lessons are about, and what learners believe wrongly.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Literal, get_args

from core.errors import TilescopeError
from core.ladder import Ladder
from core.ladder.expressions import MatrixExpression
from core.lessons.lesson_expressions import Expression, Sentence, Value
from core.links import Link

VEILS: Mapping[str, str] = MappingProxyType(
    {
        "matrices.loaded": "which elements the step loads and stores",
        "matrices.owners": "whose elements are whose, in colour",
        "matrices.heat": "how often each element was loaded",
        "matrices.values": "the numbers in the cells of the result",
        "matrices.hatched": "the cells that lie beyond an edge",
        "warp": "the whole view of the warp, its heading and caption too",
        "warp.figures": "sectors, ideal, efficiency and bytes used",
        "warp.sectors": "the picture of sectors and lines",
        "warp.heading": "which memory is accessed",
        "shared": "the whole view of shared memory",
        "shared.figures": "wavefronts and conflicts",
        "shared.banks": "which lanes meet in which bank",
        "shared.writers": "who stored each element, in colour",
        "phases": "the phase table, or one column of it: `phases:1`",
        "pipeline": "the stages of shared memory, and who fills and reads them when",
        "variables": "the variables of the thread and of its warp",
        "counters": "the tables of counters, and the first-order counts",
        "findings": "the findings, the banner that announces them, and the marks at their steps",
        "compare": "the comparison with another launch",
        "ceilings": "the list of ceilings, the plot, and which one binds",
        "occupancy": "what an SM holds: the sentence, the bars and the curves",
        "occupancy.next": "the sentence about the next step down of the occupancy",
        "occupancy.matters": "why occupancy matters, and the measured example",
        "gutter": "the counts beside the lines of the source",
        "source": "the source, and its PTX",
        "transport": "how many phases and barriers there are",
        "form": "the grid and the number of blocks in the form",
        "benchmark": "the recorded and measured rates",
    }
)
"""Parts of the window that a question may veil. Why? is veiled wherever anything is, and so is the
caption of each veiled view."""

Target = Literal["element", "thread", "lane", "sector", "line", "bank"]
TARGETS: tuple[Target, ...] = get_args(Target)
"""What a click can answer with. A thread is linear in its block, a sector is counted from the start
of its array, a line is one of the source."""
Setting = int | str
"""A value that a variant sets: a text for names of `let` alone."""
Best = Literal["least", "most", "any"]
BESTS: tuple[Best, ...] = get_args(Best)
Mark = Literal["right", "near", "wrong"]
"""What an answer is worth."""


@dataclass(frozen=True)
class Number:
    """Type a number. `tolerance` is how far off is still right; None: see `slack_of`."""

    answer: Expression
    tolerance: float | None = None
    unit: str = ""


@dataclass(frozen=True)
class Option:
    """One of several to choose from. It is the answer where `when` holds; without one, never."""

    say: Sentence
    when: Expression | None = None
    reply: Sentence | None = None
    belief: str = ""


@dataclass(frozen=True)
class Choice:
    """Choose one; exactly one `when` holds in every variant."""

    options: tuple[Option, ...]


@dataclass(frozen=True)
class Click:
    """Click one thing, or each of several where the answer is a list."""

    target: Target
    answer: Expression
    every: bool = True  # of a list: all of it, or any one


@dataclass(frozen=True)
class Slider:
    """Move a parameter from `low` to `high` until `goal` holds.

    `best` says whether the least or the most such value is wanted, or any. `name` is a parameter of
    the launch, which is then made anew for each value, or only a name in expressions.
    """

    name: str
    label: str
    low: int
    high: int
    goal: Expression
    best: Best = "any"
    every: int = 1


@dataclass(frozen=True)
class Order:
    """Put items in order; some of them may be left over. The answer is a list of texts.

    With a `frame`, a kernel's source that has `/*LINES*/` in it, the items are its lines and any
    order that meets the `goals` is right.
    """

    items: tuple[Sentence, ...]
    answer: Expression | None = None
    frame: str = ""
    goals: tuple[Goal, ...] = ()


@dataclass(frozen=True)
class Goal:
    """What the learner's kernel has to reach, in words and as an expression that must hold."""

    say: Sentence
    when: Expression


@dataclass(frozen=True)
class Edit:
    """Change a kernel until every goal holds.

    `start` is the source to begin with, "" for the launch's own; `solution` is one that meets the
    goals. `expected` says what each output must be (`right()`), where the launch's rung does not.
    """

    start: str
    solution: str
    goals: tuple[Goal, ...]
    expected: Mapping[str, MatrixExpression] = field(default_factory=lambda: MappingProxyType({}))


Question = Number | Choice | Click | Slider | Order | Edit
KINDS: Mapping[str, type[Question]] = MappingProxyType(
    {
        "number": Number,
        "choice": Choice,
        "click": Click,
        "slider": Slider,
        "order": Order,
        "edit": Edit,
    }
)


@dataclass(frozen=True)
class Reply:
    """What is said to one wrong answer, and the misconception that it shows."""

    given: Expression
    say: Sentence
    belief: str = ""


@dataclass(frozen=True)
class Step:
    """One step of a lesson.

    `sets` are the sets of values with which it is asked again: parameters of the launch, `seed` of
    its inputs, or names of `let`, which holds names that expressions may use.
    """

    name: str  # "1A.4"
    link: Link
    question: Question
    ask: Sentence
    why: Sentence
    concepts: tuple[str, ...]
    veil: frozenset[str] = frozenset()
    keep: frozenset[str] = frozenset()  # veiled after the answer too: a later question asks it
    replies: tuple[Reply, ...] = ()
    hints: tuple[Sentence, ...] = ()
    let: Mapping[str, Value] = field(default_factory=lambda: MappingProxyType({}))
    sets: tuple[Mapping[str, Setting], ...] = ()
    note: str = ""  # for who teaches

    @property
    def kind(self) -> str:
        """The name of its question's kind, as the file has it."""
        return next(name for name, kind in KINDS.items() if isinstance(self.question, kind))

    def is_shown(self, hints: int) -> bool:
        """Whether its solution is among so many hints: it counts as one more than there are."""
        return hints > len(self.hints)

    @property
    def beliefs(self) -> frozenset[str]:
        """The misconceptions that a wrong answer to it may show."""
        options = self.question.options if isinstance(self.question, Choice) else ()
        named = [*(reply.belief for reply in self.replies), *(one.belief for one in options)]
        return frozenset(filter(None, named))


@dataclass(frozen=True)
class Lesson:
    """A lesson, in the order of its steps. `ladder` has the kernels that its links may name."""

    name: str
    title: str
    aim: str
    steps: tuple[Step, ...]
    ladder: Ladder
    file: Path
    before: tuple[str, ...] = ()  # lessons that come first
    text: str = ""  # what it follows

    @property
    def heading(self) -> str:
        """Its name and title; the title alone where that begins with the name."""
        named = self.title.lower().startswith(self.name.lower())
        return self.title if named else f"{self.name}  {self.title}"

    def __getitem__(self, name: str) -> Step:
        """The step of that name; KeyError if there is none."""
        for step in self.steps:
            if step.name == name:
                return step
        raise KeyError(name)


# What lessons are about, and what learners believe wrongly: the rows of resources/lessons.
#
# Every step names the concepts that it asks for, wrong answers the misconception that they show.


LESSONS_FOLDER = Path(__file__).resolve().parents[2] / "resources" / "lessons"
_CONCEPTS = LESSONS_FOLDER / "concepts.toml"


@dataclass(frozen=True)
class Concept:
    """Something to learn; `line` says it in a sentence."""

    name: str
    title: str
    line: str


@dataclass(frozen=True)
class Concepts:
    """The concepts in the order they are taught, and the misconceptions, by name."""

    concepts: Mapping[str, Concept]
    beliefs: Mapping[str, str]


@cache
def load_concepts() -> Concepts:
    """Reads the table. Raises TilescopeError where it is wrong."""
    try:
        table = tomllib.loads(_CONCEPTS.read_text(encoding="utf-8"))
        rows = [Concept(**row) for row in table["concept"]]
        beliefs = {row["name"]: row["says"] for row in table["misconception"]}
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise TilescopeError(
            f"The table of concepts, {_CONCEPTS}, cannot be read: {error}."
        ) from error
    return Concepts(MappingProxyType({row.name: row for row in rows}), MappingProxyType(beliefs))
