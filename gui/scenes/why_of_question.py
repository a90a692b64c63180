"""What Why? of a lesson explains: the figures that a question's answer is worked out from.

Each is a word of lessons (`core.lessons.vocabulary`) that the answer's expression calls, at the
launch, step, warp, line or element that the question is about, wherever the views are meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from core.explain.explanations import (
    Explanation,
    Place,
    Section,
    build_of,
    explain_access,
    explain_total,
)
from core.launch import WARP
from core.lessons.lesson import Choice, Click, Number, Order, Slider
from core.lessons.lesson_expressions import Element, Expression, Value, shown
from core.lessons.posing_and_marking import Posed, at_value, right_answer
from core.lessons.vocabulary import VOCABULARY, Situation
from core.rules.counters import UNITS, WAYS
from core.trace.access import label
from gui.scenes.why_an_element_is_loaded import Fetched, explain_fetches

TITLE = "What the answer is worked out from"
OF_THE_ACCESS = VOCABULARY["sectors"].group
MOST_FIGURES = 6  # that are explained; an answer may ask for each lane's


@dataclass(frozen=True)
class Figure:
    """A word that an answer asked for: what it was given by name, where, and what it says."""

    word: str
    given: Mapping[str, Value]
    here: Situation
    value: Value

    @property
    def heading(self) -> str:
        """Such as `Times loaded (element A[0,0]) = 8`."""
        words = self.word.replace("sm_", "SM ").replace("_", " ")
        given = ", ".join(f"{name} {shown(value)}" for name, value in self.given.items())
        where = f" ({given})" if given else ""
        said = shown(self.value) or "nothing"  # of an empty list
        return f"{words[0].upper()}{words[1:]}{where} = {said}"


@dataclass
class _Listening:
    """The situation in which an answer is worked out; it keeps what was asked of it."""

    here: Situation
    figures: list[Figure] = field(default_factory=list)

    @property
    def in_window(self) -> bool:
        return self.here.in_window

    def names(self) -> Mapping[str, Value]:
        return self.here.names()

    def call(self, word: str, given: list[Value], named: Mapping[str, Value]) -> Value:
        value = self.here.call(word, given, named)
        own = VOCABULARY[word].names
        changes = {name: value for name, value in named.items() if name not in own}
        there = self.here.changed(changes) if changes else self.here
        figure = Figure(word, {**dict(zip(own, given, strict=False)), **named}, there, value)
        if figure.heading not in [known.heading for known in self.figures]:
            self.figures.append(figure)
        return value


def explain_question(posed: Posed) -> Explanation | None:
    """The figures behind the right answer; None where it asks for none: a kernel that was built.

    It answers the question: only who was told the answer may see it. Raises TilescopeError where a
    launch cannot be recorded.
    """
    found = _answer(posed)
    if found is None:
        return None
    expression, here = found
    listening = _Listening(here)
    expression.value(listening)
    figures = listening.figures[:MOST_FIGURES]
    if not figures:
        return None
    evidence = list(dict.fromkeys(part for one in figures for part in _evidence(one)))
    first = evidence[0] if evidence else Explanation(TITLE, ())
    sections = [*first.sections]
    for part in evidence[1:]:
        sections += [Section(part.title, part.answer), *part.sections]
    known = {section.heading for section in sections}
    said = [_said(figure) for figure in figures if figure.heading not in known]
    built = [build_of(here.trace.build)] if evidence else []
    return Explanation(first.title, (*said, *sections, *built), first.answer)


def _answer(posed: Posed) -> tuple[Expression, Situation] | None:
    """The expression that gives the right answer, and where it is worked out."""
    question, here = posed.step.question, posed.here
    match question:
        case Number(answer) | Click(_, answer):
            return answer, here
        case Order(_, answer) if answer is not None:
            return answer, here
        case Choice(options):
            wanted = (option.when for option in options if option.when is not None)
            return next((when, here) for when in wanted if when.holds(here))
        case Slider():
            values = right_answer(posed)
            if isinstance(values, list) and values:
                return question.goal, at_value(here, question, int(values[0]))
    return None


def _said(figure: Figure) -> Section:
    """A figure, what it means, and what it counts, one by one."""
    listed = _LISTED.get(figure.word)
    lines = tuple(listed(figure)) if listed is not None else ()
    return Section(figure.heading, VOCABULARY[figure.word].meaning, lines)


def _phases(figure: Figure) -> Iterator[str]:
    for number, phase in enumerate(figure.here.block.phases):
        yield f"phase {number}: steps {phase.first} to {phase.last}"


def _findings(figure: Figure) -> Iterator[str]:
    for finding in figure.here.trace.findings:
        yield f"line {finding.line}: {finding.kind.replace('_', ' ')}"


def _line(figure: Figure) -> Iterator[str]:
    here = figure.here
    line = int(here.block.line[here.step])
    yield f"line {line}: {here.trace.workload.source.splitlines()[line - 1].strip()}"


def _stores(figure: Figure) -> Iterator[str]:
    block, thread = figure.here.block, figure.given["thread"]
    assert isinstance(thread, int)
    for step in block.access_steps:
        access = block.access(int(step))
        if access is not None and access.kind == "store" and access.space == "global":
            index = access.element(thread)
            if index is not None:
                yield f"step {step}, line {access.line}: {label(access.target, index)}"


_LISTED: Mapping[str, Callable[[Figure], Iterator[str]]] = MappingProxyType(
    {
        "phases": _phases,
        "findings": _findings,
        "finding_lines": _findings,
        "source_line": _line,
        "stored_by": _stores,
    }
)


def _evidence(figure: Figure) -> Iterator[Explanation]:
    """What the window says anyway of the access, the element or the total of a figure."""
    here, given = figure.here, figure.given
    if VOCABULARY[figure.word].group == OF_THE_ACCESS:
        access, warp = here.block.access(here.step), given.get("warp", 0)
        if isinstance(thread := given.get("thread"), int):
            warp = thread // WARP
        if access is not None and isinstance(warp, int):
            found = explain_access(access, warp)
            yield replace(found, title=f"{found.title}, step {here.step}")
    elif figure.word in ("times_loaded", "loaders"):
        element = given["element"]
        assert isinstance(element, Element)
        asked = Fetched(element.array, element.index)
        yield explain_fetches(here.trace, here.block, asked, here.block.n_steps - 1)
    elif figure.word in ("total", "of_array"):
        space, _, rest = str(given["counter"]).partition("_")
        way = next((way for way in WAYS if rest.startswith(f"{way}_")), "")
        if space in UNITS and way:
            array = str(given["array"]) if "array" in given else None
            counters = here.whole.counters
            counts = counters.totals if array is None else counters.by_array.get(array, {})
            yield explain_total(counts, Place(space, way, array=array), here.block)
