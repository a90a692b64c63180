"""A lesson, a review or a test while it is sat: which question is asked, and what became of each.

No Qt. Whoever drives it (`gui.commands.lesson_teaching`) works out questions and marks elsewhere,
since a mark may take seconds, and brings them here.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from core.lessons.course import Again
    from core.lessons.lesson import Mark, Setting
    from core.lessons.posing_and_marking import Answer, Posed, Verdict
    from core.lessons.progress import Answered, Origin
    from core.lessons.typed_answers import Things

Stage = Literal["opening", "asked", "marking", "told", "ended"]
"""Being worked out; waiting for an answer; being marked; explained; past the last question."""


@dataclass(frozen=True)
class Reply:
    """One answer and what it is worth."""

    answer: Answer
    sure: bool
    verdict: Verdict


@dataclass(frozen=True)
class Asked:
    """A question worked out; `things` are what it has to be clicked."""

    posed: Posed
    things: Things | None = None


TOLD = ("asked", "reply", "values", "attempt", "hints", "solved")
"""What is kept of a question that was answered and explained, to be read again."""


@dataclass
class Sitting:
    """Where somebody is in a row of questions.

    `marks` are those of the first answers, by the question's place: a later right one makes "near"
    of another mark. `right` are the places once answered right, `shown` those whose solution was
    shown. `seed` is the learner's.
    """

    title: str
    questions: Sequence[Again]
    seed: int
    origin: Origin = "lesson"
    at: int = 0
    stage: Stage = "opening"
    asked: Asked | None = None
    hints: int = 0
    attempt: int = 0
    reply: Reply | None = None
    solved: bool = False
    """Whether the solution of an exercise was shown."""
    marks: dict[int, Mark] = field(default_factory=dict)
    right: set[int] = field(default_factory=set)
    shown: set[int] = field(default_factory=set)
    values: Mapping[str, Setting] | None = None
    """The numbers of this question where they are not its first ones."""
    explained: bool = False
    """Whether all were told before: with the same numbers, none is a first answer any more."""
    _begun: float = 0.0
    _told: dict[int, dict[str, Any]] = field(default_factory=dict)

    @property
    def posed(self) -> Posed | None:
        """The question as it was worked out; None until then."""
        return self.asked.posed if self.asked is not None else None

    @property
    def question(self) -> Again:
        """The question that is asked."""
        return self.questions[self.at]

    @property
    def numbers(self) -> Mapping[str, Setting]:
        """What the question's variant sets."""
        return self.question.values if self.values is None else self.values

    @property
    def place(self) -> str:
        """Such as `3/14`."""
        return f"{self.at + 1}/{len(self.questions)}"

    @property
    def tells(self) -> bool:
        """Whether answers are explained: in a test they are not, until its end."""
        return self.origin in ("lesson", "review")

    @property
    def is_told(self) -> bool:
        """Whether the answer was marked, and no other is waited for."""
        return self.stage == "told"

    @property
    def is_built(self) -> bool:
        """Whether the answer is a kernel, marked at each run until every goal is met."""
        return self.question.step.kind == "edit"

    # ---- going on

    def go(self, at: int) -> None:
        """Begin another question, or read one again that was told; one past the last is the end."""
        self.at = min(max(at, 0), len(self.questions) - 1)
        self.values = None
        self._begin("opening" if at < len(self.questions) else "ended")
        told = self._told.get(self.at)
        if told is not None and self.stage == "opening":
            self.stage = "told"
            for name, value in told.items():
                setattr(self, name, value)

    def again(self, values: Mapping[str, Setting]) -> None:
        """Ask the same with other numbers."""
        self.values = MappingProxyType(dict(values))
        self._begin("opening")

    def once_more(self) -> None:
        """Ask the same with the same numbers: what was explained is not a first answer any more."""
        attempt = self.attempt + 1
        self._begin("opening")
        self.attempt = attempt

    def _begin(self, stage: Stage) -> None:
        self.stage = stage
        self.asked, self.reply = None, None
        self.hints, self.attempt, self.solved = 0, 0, False

    def ask(self, asked: Asked) -> None:
        """The question was worked out."""
        self.asked, self.stage = asked, "asked"
        self._begun = time.monotonic()

    # ---- answering

    def hint(self) -> str:
        """The next hint; empty where there is none."""
        hints = self.posed.hints if self.posed is not None else ()
        if self.hints >= len(hints) or self.stage not in ("asked", "marking"):
            return ""
        self.hints += 1
        return hints[self.hints - 1]

    def take(self, reply: Reply) -> Answered | None:
        """An answer was marked: what is to be kept of it, or None where nothing is.

        A near one may be given once more before the explanation; a kernel until it is right.
        """
        self.reply, mark = reply, reply.verdict.mark
        right = mark == "right"
        if self.is_built and not right:
            self.stage = "asked"
            return None
        kept = self._answered(reply)
        first = self.marks.setdefault(self.at, "near" if self.solved else mark)
        if right:
            (self.shown if self.solved else self.right).add(self.at)
            self.marks[self.at] = "right" if first == "right" else "near"
        once_more = mark == "near" and self.attempt == 0 and self.tells
        self.stage = "asked" if once_more else "told"
        self.attempt += once_more
        if self.is_told and self.tells and self.asked is not None:
            self._told[self.at] = {name: getattr(self, name) for name in TOLD}
        return kept

    def take_earlier(self, answers: Sequence[Answered]) -> None:
        """What became of a lesson's questions when they were asked before."""
        for place, one in enumerate(self.questions):
            mine = [a for a in answers if a.step == one.step.name and a.origin == "lesson"]
            met = [a for a in answers if a.step == one.step.name and a.mark == "right"]
            own = any(not one.step.is_shown(a.hints) for a in met)
            if met:
                (self.right if own else self.shown).add(place)
            if mine:
                first: Mark = "near" if one.step.is_shown(mine[0].hints) else mine[0].mark
                self.marks[place] = "near" if met and first != "right" else first

    def _answered(self, reply: Reply) -> Answered:
        from core.lessons.progress import Answered

        step = self.question.step
        return Answered(
            step.name,
            step.concepts,
            reply.verdict.mark,
            sure=reply.sure,
            attempt=self.attempt + (self.explained and not step.sets),
            hints=self.hints + self.solved,
            values=MappingProxyType(dict(self.numbers)),
            belief=reply.verdict.belief,
            origin=self.origin,
            seconds=round(time.monotonic() - self._begun, 1),
            when=datetime.now(UTC).isoformat(timespec="seconds"),
        )

    @property
    def missed(self) -> tuple[int, ...]:
        """The places of the questions that were answered, and not right at once."""
        return tuple(sorted(place for place, mark in self.marks.items() if mark != "right"))

    @property
    def first_open(self) -> int | None:
        """The place of the first question that was never answered; None where all were."""
        places = range(len(self.questions))
        return next((place for place in places if place not in self.marks), None)

    @property
    def score(self) -> tuple[int, int]:
        """Questions that were right at once, and questions that were right at some time."""
        return sum(mark == "right" for mark in self.marks.values()), len(self.right)
