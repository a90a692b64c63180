"""A step as it is put to a learner: one variant of it, with all that can be computed computed."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from core.launch import Workload
from core.lessons.answers import Things
from core.lessons.lesson import (
    Choice,
    Click,
    Edit,
    Lesson,
    Number,
    Option,
    Order,
    Setting,
    Slider,
    Step,
)
from core.lessons.lesson_expressions import LessonError, Value
from core.lessons.situation import Recorder, Situation
from core.lessons.step_links import Link
from core.rules.shared_memory import BANKS
from core.trace.access import WARP

NO_VALUES: Mapping[str, Setting] = MappingProxyType({})


@dataclass(frozen=True)
class Posed:
    """A step in one variant.

    `values` are what the variant sets. `ask`, `hints` and `goals` are sentences with their figures,
    `choices` and `items` what can be chosen or put in order, as they are shown: shuffled. `here` is
    where its expressions are evaluated.
    """

    step: Step
    values: Mapping[str, Setting]
    here: Situation
    ask: str
    hints: tuple[str, ...]
    choices: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()
    options: tuple[Option, ...] = ()
    """Behind `choices`, in the same order."""

    @property
    def link(self) -> Link:
        """The place to look at."""
        return self.here.link

    @property
    def source(self) -> str:
        """The kernel's text to begin with: an exercise's own start, else the launch's."""
        question = self.step.question
        start = question.start if isinstance(question, Edit) else ""
        return start or self.here.recorder.ladder[self.link.rung].source

    @property
    def why(self) -> str:
        """The explanation, once the answer has been given."""
        return self.step.why.said(self.here)


def pose(
    lesson: Lesson,
    step: Step,
    recorder: Recorder,
    values: Mapping[str, Setting] = NO_VALUES,
    seed: int = 0,
    *,
    in_window: bool = True,
) -> Posed:
    """The step with these `values`, its choices shuffled by the learner's seed.

    `in_window` says whether the window asks it, whose keys and views sentences may name. Raises
    TilescopeError where the launch cannot be made, or an expression not worked out.
    """
    here = replace(situation(step, recorder, values), in_window=in_window)
    shuffled = random.Random(f"{seed}/{lesson.name}/{step.name}/{sorted(values.items())}")
    question = step.question
    choices: list[Option] = []
    items: list[str] = []
    goals: Sequence[str] = ()
    match question:
        case Choice(options):
            choices = shuffled.sample(options, len(options))
        case Order(texts, _, frame, wanted):
            items = [text.said(here) for text in texts]
            kept = list(items)
            while len(set(items)) > 1 and items == kept:
                shuffled.shuffle(items)
            goals = [goal.say.said(here) for goal in wanted] if frame else ()
        case Edit(_, _, wanted):
            goals = [goal.say.said(here) for goal in wanted]
    return Posed(
        step,
        MappingProxyType(dict(values)),
        here,
        step.ask.said(here),
        tuple(hint.said(here) for hint in step.hints),
        tuple(option.say.said(here) for option in choices),
        tuple(items),
        tuple(goals),
        tuple(choices),
    )


def situation(
    step: Step, recorder: Recorder, values: Mapping[str, Setting] = NO_VALUES
) -> Situation:
    """Where the step's expressions are evaluated."""
    link = step.link.varied(values, recorder.ladder)
    recorder.ladder[link.rung].check(**link.parameters)
    names: dict[str, Value] = {**step.let, **{k: v for k, v in values.items() if k in step.let}}
    here = Situation(link, recorder, names)
    question = step.question
    if isinstance(question, Edit) and question.expected:
        return replace(here, expected=_expecting(question))
    return here


def _expecting(question: Edit) -> Callable[[Workload], Workload]:
    def expecting(workload: Workload) -> Workload:
        arrays = {a.name: a.data for a in workload.launch.arrays}
        return replace(
            workload,
            layout=None,
            expected=lambda: {
                name: rule.evaluate(arrays, workload.parameters)
                for name, rule in question.expected.items()
            },
        )

    return expecting


def variant(lesson: Lesson, step: Step, seed: int, attempt: int) -> Mapping[str, Setting]:
    """The values of the learner's n-th attempt: the lesson's own at first, then its other sets.

    Their order is the learner's, by the seed; after the last they begin again.
    """
    if attempt == 0 or not step.sets:
        return NO_VALUES
    order = random.Random(f"{seed}/{lesson.name}/{step.name}").sample(step.sets, len(step.sets))
    return order[(attempt - 1) % len(order)]


def right_answer(posed: Posed) -> Value:
    """The answer, computed: a number, the text of a choice, what is to be clicked, in a list.

    A list of a slider's right values; the texts of an order; True for what has to be built. Raises
    LessonError where there is none, or more than one choice holds.
    """
    here, question = posed.here, posed.step.question
    match question:
        case Number(answer):
            return answer.number(here)
        case Choice():
            return _right_choice(posed)
        case Click(_, answer):
            found = answer.value(here)
            return found if isinstance(found, list) else [found]
        case Slider():
            return list[Value](slider_answers(posed, question))
        case Order(_, answer) if answer is not None:
            found = answer.value(here)
            if not isinstance(found, list):
                raise LessonError(f"`{answer.text}` gives no list, which an order is.")
            return [str(item) for item in found]
    return True


def things_of(posed: Posed) -> Things:
    """What a question of clicks has to be clicked. Raises TilescopeError as `right_answer` does."""
    here, question = posed.here, posed.step.question
    assert isinstance(question, Click)
    target = question.target
    shapes: dict[str, tuple[int, ...]] = {}
    if target == "element":
        shapes = {array.name: tuple(array.shape) for array in here.trace.arrays}
        shapes |= {array.name: tuple(array.shape) for array in here.trace.shared_arrays}
    last = {
        "thread": lambda: here.launch.block.count - 1,
        "lane": lambda: WARP - 1,
        "bank": lambda: BANKS - 1,
        "line": lambda: here.trace.workload.source.count("\n") + 1,
    }.get(target)
    wanted = right_answer(posed)
    assert isinstance(wanted, list)
    return Things(
        target,
        single=not question.every or len(wanted) == 1,
        last=last() if last else None,
        block=here.launch.block if target == "thread" else None,
        shapes=MappingProxyType(shapes),
    )


def _right_choice(posed: Posed) -> str:
    holding = [
        said
        for said, option in zip(posed.choices, posed.options, strict=True)
        if option.when is not None and option.when.holds(posed.here)
    ]
    if len(set(posed.choices)) < len(posed.choices):
        raise LessonError("Two of the choices read the same: word them differently.")
    if len(holding) != 1:
        said = f"{len(holding)} of the choices hold" if holding else "none of the choices holds"
        raise LessonError(f"{said[0].upper()}{said[1:]}: one `when` has to be true, and no other.")
    return holding[0]


def slider_answers(posed: Posed, slider: Slider) -> list[int]:
    """The values that are right, ascending."""
    found = []
    for value in range(slider.low, slider.high + 1, slider.every):
        if slider.goal.holds(at_value(posed.here, slider, value)):
            found.append(value)
            if slider.best == "least":
                break
    return found[-1:] if slider.best == "most" else found


def at_value(here: Situation, slider: Slider, value: int) -> Situation:
    """The situation with a slider at a value."""
    link = here.link.varied({slider.name: value}, here.recorder.ladder)
    return replace(here.of(link), values={**here.values, slider.name: value})
