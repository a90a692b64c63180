"""What a learner has answered, and what follows from it: learnt or shaky, concept by concept.

Answers are kept as they came, and everything else is worked out from them. Whoever keeps them
chooses the file; nothing here leaves the machine, and what is exported names nobody.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from core.atomic_files import replace_file
from core.dataclasses_as_json import plain, typed
from core.errors import TilescopeError
from core.lessons.lesson import Mark, Setting
from core.user_files.sources_and_headers import read_plain

Origin = Literal["lesson", "review", "before", "after"]
"""Where a question was asked: in its lesson, a review, or the test before or after the course."""
State = Literal["new", "shaky", "learnt"]
FORMAT = 1
MOST_BYTES = 32 << 20  # of a file of progress
MOST_SEED = 2**31 - 1


@dataclass(frozen=True)
class Answered:
    """One answer. `attempt` counts the answers to this question from 0, `hints` those seen before.

    `values` are the variant's; `belief` is the misconception that a wrong answer showed. `seconds`
    passed since the question was asked; `when` is the time in ISO 8601, UTC.
    """

    step: str
    concepts: tuple[str, ...]
    mark: Mark
    sure: bool = True
    attempt: int = 0
    hints: int = 0
    values: Mapping[str, Setting] = field(default_factory=lambda: MappingProxyType({}))
    belief: str = ""
    origin: Origin = "lesson"
    seconds: float = 0.0
    when: str = ""

    @property
    def lesson(self) -> str:
        """The lesson that its step belongs to."""
        return self.step.rpartition(".")[0]

    @property
    def counts(self) -> bool:
        """Whether it says something about what is known: a first answer, before the reply to it."""
        return self.attempt == 0

    @property
    def known(self) -> bool:
        """Right at once and without a hint."""
        return self.mark == "right" and self.attempt == 0 and self.hints == 0


@dataclass(frozen=True)
class Standing:
    """How a concept stands.

    It is learnt where the last two first answers were right without a hint, and the last was sure;
    it is shaky where any were given and it is not learnt. `beliefs` are misconceptions that no
    right answer has followed.
    """

    concept: str
    state: State = "new"
    asked: int = 0
    right: int = 0
    beliefs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Progress:
    """All answers of one learner in the order of time. `seed` makes their numbers their own."""

    seed: int
    answers: tuple[Answered, ...] = ()

    def with_answer(self, one: Answered) -> Progress:
        """With one answer more."""
        return replace(self, answers=(*self.answers, one))

    def standing(self, concept: str) -> Standing:
        """How a concept stands after all answers."""
        found = [a for a in self.answers if concept in a.concepts and a.counts]
        last = found[-2:]
        learnt = len(last) == 2 and all(a.known for a in last) and last[-1].sure
        state: State = "learnt" if learnt else "shaky" if found else "new"
        open_ones: dict[str, None] = {}
        for answer in self.answers:
            if concept in answer.concepts:
                open_ones |= {answer.belief: None} if answer.belief else {}
                open_ones = {} if answer.known else open_ones
        right = sum(a.known for a in found)
        return Standing(concept, state, len(found), right, tuple(open_ones))

    def standings(self, concepts: Iterable[str]) -> Mapping[str, Standing]:
        """How each of several concepts stands."""
        return MappingProxyType({name: self.standing(name) for name in concepts})

    def done(self, steps: Iterable[str]) -> bool:
        """Whether each of these steps was once answered right."""
        return {*steps} <= {a.step for a in self.answers if a.mark == "right"}

    def times_asked(self, step: str) -> int:
        """How many questions of a step were put: the next one's number, from 0."""
        return sum(a.step == step and a.attempt == 0 for a in self.answers)

    def score(self, origin: Origin) -> tuple[int, int]:
        """Questions known, and questions asked, in the tests before or after, or the reviews."""
        found = [a for a in self.answers if a.origin == origin and a.counts]
        return sum(a.known for a in found), len(found)


# -- the file --------------------------------------------------------------------------------------


def save_progress(path: Path, progress: Progress) -> None:
    """Write it as JSON, whole or not at all. Raises TilescopeError."""
    data = {"format": FORMAT, **plain(progress)}
    replace_file(path, json.dumps(data, indent=1, ensure_ascii=False) + "\n")


def keep_answer(path: Path, progress: Progress) -> Progress:
    """Write it with the answers that another window has written since. Raises TilescopeError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    theirs = load_progress(path).answers if path.exists() else ()
    known = {_identity(a) for a in progress.answers}
    others = [a for a in theirs if _identity(a) not in known]
    if others:
        every = sorted([*progress.answers, *others], key=lambda a: a.when)
        progress = replace(progress, answers=tuple(every))
    save_progress(path, progress)
    return progress


def _identity(one: Answered) -> tuple[object, ...]:
    return one.when, one.step, one.attempt, one.origin, one.mark


def load_progress(path: Path) -> Progress:
    """Read it. Raises TilescopeError where there is no such file, or it is none of progress."""
    try:
        data = json.loads(read_plain(path, MOST_BYTES).decode("utf-8"))
        if data["format"] != FORMAT:
            raise TilescopeError(
                f"{path.name} is of format {data['format']}, and this program reads {FORMAT}: "
                "use the program that wrote it."
            )
        return Progress(_seed(data["seed"]), typed(tuple[Answered, ...], data["answers"]))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise TilescopeError(
            f"{path.name} is not a file of progress: move it away to begin anew ({error!r:.80})."
        ) from None


def _seed(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_SEED:
        raise ValueError("the seed is not a whole number")
    return value


# -- for a teacher ---------------------------------------------------------------------------------

_COLUMNS = ("step", "origin", "concepts", "attempt", "mark", "sure", "hints", "belief", "seconds")


def export_json(progress: Progress, concepts: Sequence[str]) -> str:
    """The answers and standings, without times of day."""
    standings = [asdict(progress.standing(concept)) for concept in concepts]
    before, after = progress.score("before"), progress.score("after")
    data = {
        "before": {"known": before[0], "asked": before[1]},
        "after": {"known": after[0], "asked": after[1]},
        "concepts": standings,
        "answers": [dict(zip(_COLUMNS, _row(a), strict=True)) for a in progress.answers],
    }
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def export_csv(progress: Progress) -> str:
    """The answers as a table, without times of day."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(_COLUMNS)
    writer.writerows(map(_row, progress.answers))
    return text.getvalue()


def _row(one: Answered) -> list[Any]:
    told = [one.step, one.origin, " ".join(one.concepts), one.attempt, one.mark, one.sure]
    return [*told, one.hints, one.belief, round(one.seconds)]
