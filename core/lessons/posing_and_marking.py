"""A question put to a learner: a step in one variant, its right answer, what an answer is worth.

Posing works out all that can be computed of a variant. Marking sets an answer against the one that
is computed, and says what is said to it.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from core.errors import TilescopeError
from core.launch import WARP, Workload
from core.lessons.launch_cache import Recorder
from core.lessons.lesson import (
    Choice,
    Click,
    Edit,
    Goal,
    Lesson,
    Mark,
    Number,
    Option,
    Order,
    Question,
    Setting,
    Slider,
    Step,
)
from core.lessons.lesson_expressions import Element, LessonError, Value, shown
from core.lessons.lesson_files import LINES
from core.lessons.typed_answers import Things
from core.lessons.vocabulary import Situation
from core.links import Link
from core.rules.shared_memory import BANKS
from core.wording import listing

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
            return list[Value](_slider_answers(posed, question))
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


def _slider_answers(posed: Posed, slider: Slider) -> list[int]:
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


# Marking: an answer against the one that is computed, and what is said to it.


Answer = Value | Sequence[Value]
"""A number; a choice's text; a list of what was clicked; a slider's value; a list of texts in
order; the source of a kernel."""

ROUNDED = 0.005  # of the answer: how far off a figure with a fraction may be by default
SEVERAL = 8  # right answers that are listed
NEAR = 0.05  # of the answer: what is nearly right


@dataclass(frozen=True)
class Met:
    """Whether one goal is met, and its sentence; `trouble` says why it could not be asked."""

    say: str
    met: bool
    trouble: str = ""


@dataclass(frozen=True)
class Verdict:
    """What an answer is worth.

    `say` is the reply to it, "" where there is none; `belief` the misconception that it shows.
    `right` is the computed answer as text, `wanted` as `right_answer` gives it, `why` the
    explanation. `goals` are those of a kernel.
    """

    mark: Mark
    say: str
    right: str
    why: str
    belief: str = ""
    goals: tuple[Met, ...] = ()
    wanted: Value = None


def mark(posed: Posed, answer: Answer) -> Verdict:
    """Marks an answer. Raises TilescopeError where it is of another kind than the question."""
    question = posed.step.question
    if isinstance(question, Edit) or (isinstance(question, Order) and question.frame):
        return _built(posed, answer)
    wanted = right_answer(posed)
    found: Mark
    match question:
        case Number():
            found = _number(question, _as_number(answer), wanted)
        case Choice():
            if answer not in posed.choices:
                raise LessonError(f"`{answer}` is none of the choices: choose one of them.")
            found = "right" if answer == wanted else "wrong"
        case Click():
            found = _clicked(question, _as_list(answer), wanted)
        case Slider():
            found = _slid(posed, question, answer, wanted)
        case Order():
            found = _ordered(_as_list(answer), wanted)
    say, belief = ("", "") if found == "right" else _reply(posed, answer)
    if found == "near" and not say:
        say = _what_lacks(question)
    return Verdict(found, say, answer_text(posed, wanted), posed.why, belief, wanted=wanted)


def _what_lacks(question: Question) -> str:
    """What keeps a nearly right answer from being right, without giving that away."""
    if isinstance(question, Click):
        return "That is right, and there are more." if question.every else "One is enough."
    if isinstance(question, Slider) and question.best != "any":
        return f"That works. Is there a {'larger' if question.best == 'most' else 'smaller'} value?"
    return "These are the right ones, in another order." if isinstance(question, Order) else ""


def answer_text(posed: Posed, wanted: Value) -> str:
    """The computed answer as it is shown."""
    question = posed.step.question
    if wanted is True:  # something to build
        return ""
    if isinstance(question, Number):
        return f"{shown(wanted)}{question.unit and ' '}{question.unit}"
    if isinstance(question, Order) and isinstance(wanted, list):
        return ", then ".join(str(item) for item in wanted)
    if isinstance(question, Click) and isinstance(wanted, list):
        names = [str(i) if isinstance(i, Element) else f"{question.target} {i}" for i in wanted]
        if not question.every and len(names) > SEVERAL:
            return f"{names[0]}, or any of {len(names) - 1} others"
        return listing(names, "and" if question.every else "or")
    if isinstance(question, Slider) and isinstance(wanted, list) and len(wanted) > SEVERAL:
        return f"{shown(wanted[0])}, or any of {len(wanted) - 1} others"
    return shown(wanted)


def _as_number(answer: Answer) -> float:
    if isinstance(answer, bool) or not isinstance(answer, int | float) or not math.isfinite(answer):
        raise LessonError("The answer is a number.")
    return float(answer)


def _as_list(answer: Answer) -> list[Value]:
    if isinstance(answer, list | tuple):
        return list(answer)
    return [answer]  # type: ignore[list-item] # a text is one, though it is a sequence


def slack_of(question: Number, wanted: float) -> float:
    """How far off a number is still right."""
    if question.tolerance is not None:
        return question.tolerance
    return 0.0 if float(wanted).is_integer() else ROUNDED * abs(wanted)


def _number(question: Number, given: float, wanted: Value) -> Mark:
    assert isinstance(wanted, int | float)
    whole = isinstance(wanted, int) or float(wanted).is_integer()
    slack = slack_of(question, wanted)
    off = abs(given - wanted)
    if off <= slack * (1 + 1e-9) + 1e-12:
        return "right"
    is_percent = question.unit == "%" and abs(given * 100 - wanted) <= slack + 1e-9
    return "near" if is_percent or (not whole and off <= NEAR * abs(wanted)) else "wrong"


def _clicked(question: Click, given: list[Value], wanted: Value) -> Mark:
    assert isinstance(wanted, list)
    clicked, right = {str(one) for one in given}, {str(one) for one in wanted}
    if not question.every and len(clicked) == 1 and clicked <= right:
        return "right"
    if question.every and clicked == right:
        return "right"
    return "near" if clicked and clicked < right else "wrong"


def _slid(posed: Posed, slider: Slider, answer: Answer, wanted: Value) -> Mark:
    assert isinstance(wanted, list)
    if isinstance(answer, bool) or not isinstance(answer, int):
        raise LessonError("The answer is a value of the slider.")
    if answer in wanted:
        return "right"
    if answer not in range(slider.low, slider.high + 1):
        raise LessonError(f"The slider goes from {slider.low} to {slider.high}.")
    return "near" if slider.goal.holds(at_value(posed.here, slider, answer)) else "wrong"


def _ordered(given: list[Value], wanted: Value) -> Mark:
    assert isinstance(wanted, list)
    texts = [str(one) for one in given]
    if texts == wanted:
        return "right"
    return "near" if sorted(texts) == sorted(map(str, wanted)) else "wrong"


def _reply(posed: Posed, answer: Answer) -> tuple[str, str]:
    """What is said to a wrong answer, and the misconception that it shows; both may be empty."""
    for said, option in zip(posed.choices, posed.options, strict=True):
        if said == answer:
            return (option.reply.said(posed.here) if option.reply else ""), option.belief
    for reply in posed.step.replies:
        if same(reply.given.value(posed.here), answer):
            return reply.say.said(posed.here), reply.belief
    return "", ""


def same(expected: Value, answer: Answer) -> bool:
    """Whether an answer is the expected one, however it is written."""
    if isinstance(expected, int | float) and isinstance(answer, int | float):
        return math.isclose(float(expected), float(answer), rel_tol=ROUNDED)
    return sorted(map(str, _as_list(expected))) == sorted(map(str, _as_list(answer)))


# -- what has to be built --------------------------------------------------------------------------


def _built(posed: Posed, answer: Answer) -> Verdict:
    question = posed.step.question
    if isinstance(question, Edit):
        if not isinstance(answer, str):
            raise LessonError("The answer is the source of a kernel.")
        source, goals = answer, question.goals
    else:
        assert isinstance(question, Order)
        source, goals = framed(question, [str(line) for line in _as_list(answer)]), question.goals
    met = goals_met(posed.here, goals, source)
    done = all(one.met for one in met)
    some = any(one.met for one in met) and not any(one.trouble for one in met)
    trouble = next((one.trouble for one in met if one.trouble), "")
    found: Mark = "right" if done else "near" if some else "wrong"
    told = done or isinstance(question, Order)  # a kernel is asked for until it meets its goals
    return Verdict(found, trouble, "", posed.why if told else "", goals=met)


def framed(order: Order, lines: Sequence[str]) -> str:
    """The source that ordered lines make, each with the indentation of its place."""
    head, _, tail = order.frame.partition(LINES)
    indent = re.search(r"[ \t]*$", head)
    return head + f"\n{indent[0] if indent else ''}".join(lines) + tail


def goals_met(here: Situation, goals: Sequence[Goal], source: str | None) -> tuple[Met, ...]:
    """Which goals a source meets. What cannot be compiled or run meets none, and says why."""
    there = here.of(here.link, source)
    found = []
    for goal in goals:
        say = goal.say.said(here)
        try:
            found.append(Met(say, goal.when.holds(there)))
        except TilescopeError as error:
            found.append(Met(say, False, str(LessonError(str(error)))))
    return tuple(found)
