"""Checking a lesson: every step in every variant, so that none goes stale.

What is checked of a step: its place exists; its answer can be worked out, is marked right, and is
among what can be chosen; no reply is for the right answer; an exercise's solution meets its goals
and its start does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from core.errors import TilescopeError
from core.lessons.launch_cache import Recorder
from core.lessons.lesson import Click, Edit, Lesson, Order, Setting, Slider
from core.lessons.lesson_expressions import Element, LessonError, Value, shown
from core.lessons.posing_and_marking import (
    NO_VALUES,
    Answer,
    Met,
    Posed,
    goals_met,
    mark,
    pose,
    right_answer,
    same,
    things_of,
)
from core.wording import assignments, counted

HINTS = 3  # that an exercise has


@dataclass(frozen=True)
class Trouble:
    """What is wrong with a step in one variant, as a sentence with its place."""

    step: str
    values: Mapping[str, Setting]
    sentence: str

    def __str__(self) -> str:
        sets = assignments(self.values)
        return f"{self.step}{f' with {sets}' if sets else ''}: {self.sentence}"


def told_once(troubles: Sequence[Trouble]) -> Iterator[str]:
    """Each as a sentence; one that several variants of a step share is said once."""
    variants: dict[tuple[str, str], list[Trouble]] = {}
    for one in troubles:
        variants.setdefault((one.step, one.sentence), []).append(one)
    for first, *others in variants.values():
        more = f" (The same in {counted(len(others), 'other variant')}.)"
        yield f"{first}{more if others else ''}"


def check_lesson(lesson: Lesson) -> Iterator[Trouble | None]:
    """What is wrong, one result a step and variant: None where all is well."""
    recorder = Recorder(lesson.ladder)
    for step in lesson.steps:
        asked: set[tuple[str, ...]] = set()
        for values in (NO_VALUES, *step.sets):
            try:
                posed = pose(lesson, step, recorder, values)
                _check_posed(posed)
                _must_be_new(posed, asked)
            except TilescopeError as error:
                yield Trouble(step.name, values, str(LessonError(str(error))))
            else:
                yield None


def _must_be_new(posed: Posed, asked: set[tuple[str, ...]]) -> None:
    """No two variants of a step may read the same."""
    key = (posed.ask, *sorted(posed.choices))
    if key in asked:
        raise LessonError(
            "The question reads as in another variant: put what changes into `ask`, in braces."
        )
    asked.add(key)


def _check_posed(posed: Posed) -> None:
    here, step, question = posed.here, posed.step, posed.step.question
    if here.link.at or here.link.step is not None:
        _ = here.step  # raises where there is none
    right = right_answer(posed)
    _ = posed.why
    for text in (step.ask, step.why, *step.hints):
        if text.differs:
            text.said(replace(here, in_window=False))
    match question:
        case Click():
            _must_be_there(posed, question, right)
        case Slider():
            _must_be_some(posed, question, right)
        case Order(answer=wanted) if wanted is not None:
            _must_be_among(posed, right)
        case Edit():
            _must_be_solvable(posed, question)
        case Order():
            _must_be_orderable(posed, question)
    answer = solution(posed, right)
    if mark(posed, answer).mark != "right":
        raise LessonError(f"The computed answer, {shown(right)}, is not marked right.")
    for choice in posed.choices:
        if choice != right and mark(posed, choice).mark == "right":
            raise LessonError(f"`{choice}` is marked right as well.")
    for reply in step.replies:
        _ = reply.say.said(here)
        if not posed.values and same(reply.given.value(here), answer):
            raise LessonError(f"`{reply.given.text}` has a reply for wrong answers and is right.")


def solution(posed: Posed, right: Value) -> Answer:
    """An answer that is right, as a learner would give it."""
    question = posed.step.question
    if isinstance(question, Edit):
        return question.solution
    if isinstance(question, Order) and question.frame:
        return [text.said(posed.here) for text in question.items]
    any_one = isinstance(question, Click) and not question.every
    if (isinstance(question, Slider) or any_one) and isinstance(right, list):
        return right[0]  # type: ignore[no-any-return]
    return right


def _must_be_there(posed: Posed, click: Click, right: Value) -> None:
    """What is to be clicked has to be there."""
    assert isinstance(right, list)
    if not right:
        raise LessonError("Nothing is to be clicked: the answer is an empty list.")
    if click.target == "element":
        _must_be_elements(posed, right)
        return
    things = things_of(posed)
    most = 1 << 40 if things.last is None else things.last
    for one in right:
        if isinstance(one, bool) or not isinstance(one, int) or not 0 <= one <= most:
            raise LessonError(f"{shown(one)} is not a {click.target}: the last is {most}.")


def _must_be_elements(posed: Posed, right: Sequence[Value]) -> None:
    shapes = things_of(posed).shapes
    for one in right:
        if not isinstance(one, Element):
            raise LessonError(f"{shown(one)} is not an element: write it as A[0,2].")
        shape = shapes.get(one.array, ())
        if len(shape) != len(one.index) or not all(
            0 <= i < extent for i, extent in zip(one.index, shape, strict=True)
        ):
            raise LessonError(f"The launch has no {one}.")


def _must_be_some(posed: Posed, slider: Slider, right: Value) -> None:
    assert isinstance(right, list)
    count = len(range(slider.low, slider.high + 1, slider.every))
    if not right:
        raise LessonError("No value of the slider meets the goal.")
    if slider.best == "any" and len(right) == count:
        raise LessonError("Every value of the slider meets the goal.")


def _must_be_among(posed: Posed, right: Value) -> None:
    assert isinstance(right, list)
    for text in right:
        if text not in posed.items:
            raise LessonError(f"The answer has `{text}`, which is none of the items.")
    if len(right) < 2:
        raise LessonError("An order of fewer than two items is none.")


def _must_be_solvable(posed: Posed, edit: Edit) -> None:
    """The solution meets every goal, the start does not, and there are three hints."""
    if len(posed.hints) != HINTS:
        raise LessonError(f"An exercise has {HINTS} hints, and this one {len(posed.hints)}.")
    solved = goals_met(posed.here, edit.goals, edit.solution)
    _must_be_met(solved, "The solution does not meet the goal")
    start = goals_met(posed.here, edit.goals, edit.start or None)
    if all(one.met for one in start):
        raise LessonError("The start meets every goal already.")


def _must_be_met(goals: Sequence[Met], sentence: str) -> None:
    for one in goals:
        if not one.met:
            reason = f": {one.trouble}" if one.trouble else "."
            raise LessonError(f"{sentence} `{one.say}`{reason}")


def _must_be_orderable(posed: Posed, order: Order) -> None:
    """The lines as they stand meet every goal; turned round they do not."""
    lines = [text.said(posed.here) for text in order.items]
    _must_be_met(mark(posed, lines).goals, "The lines as they stand do not meet")
    if mark(posed, lines[::-1]).mark == "right":
        raise LessonError("The lines meet every goal in the opposite order, too.")
