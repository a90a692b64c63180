"""What "Why this number?" explains: a step's access, a total, an element's loads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from core.explain.bank_map import bank_map, explain_bank_map
from core.explain.explanations import Explanation, Place, build_of, explain_access, explain_total
from core.rules.counters import WAYS, Count
from gui.scenes.block_history import history_of
from gui.scenes.counter_table import CounterRow
from gui.scenes.why_an_element_is_loaded import Fetched, explain_fetches

if TYPE_CHECKING:
    from gui.scenes.session import Session


@dataclass(frozen=True)
class Step:
    """The selected warp's share of the step's access to "global" or "shared" memory.

    Where the step makes none it is the latest one before it, as in the views.
    """

    space: str


@dataclass(frozen=True)
class OnPage:
    """What a page without a clock shows, by its key; `make` explains it as it is."""

    page: str
    make: Callable[[], Explanation] = field(compare=False)


@dataclass(frozen=True)
class OfQuestion:
    """What a lesson's question was about, explained already: it stays, whatever is looked at."""

    explanation: Explanation


Topic = Step | Place | Fetched | OnPage | OfQuestion


def topic_of_moment(session: Session, front: str = "") -> Topic:
    """What is looked at: how often the selected element was loaded, or the step's access.

    `front` is the memory whose view is in front, "global" or "shared"; empty where none is.
    """
    element, trace = session.element, session.trace
    arrays = [array.name for array in trace.arrays] if trace is not None else []
    if session.heat and element is not None and element[0] in arrays:
        return Fetched(*element)
    return topic_of_step(session, front)


def topic_of_step(session: Session, front: str = "") -> Step:
    """The space that the step's access goes to; else the one in front, else the last one's."""
    block = session.block_trace
    if block is None or not block.n_steps:
        return Step(front or "global")
    access = block.access(session.step)
    if access is None and front:
        return Step(front)
    if access is None:
        history = history_of(block)
        last = [history.last_access(session.step, space) for space in ("global", "shared")]
        access = max((a for a in last if a is not None), key=lambda a: a.step, default=None)
    return Step("shared" if access is not None and access.space == "shared" else "global")


def topic_of_row(row: CounterRow) -> Place:
    """The total of a row of the counters view."""
    way = next(way for way, access in WAYS.items() if access == row.access)
    return Place(row.space, way, row.line, None if row.line is not None else row.place)


def topic_of_line(session: Session, line: int, column: str) -> Place:
    """The total of a source line: "sectors" or "wavefronts", of the first way in `WAYS`."""
    space = "global" if column == "sectors" else "shared"
    counts = session.counts.counters.by_line.get(line, {}) if session.counts is not None else {}
    found = [w for w in WAYS if counts.get(f"{space}_{w}_requests", Count()).value]
    return Place(space, found[0] if found else "ld", line)


def explain(session: Session, topic: Topic) -> Explanation:
    """The explanation of a topic as things stand now, and of which build the number is."""
    if isinstance(topic, OnPage):
        return topic.make()
    if isinstance(topic, OfQuestion):
        return topic.explanation
    found = _explain(session, topic)
    if session.trace is None or not found.sections:
        return found
    return replace(found, sections=(*found.sections, build_of(session.trace.build)))


def _explain(session: Session, topic: Step | Place | Fetched) -> Explanation:
    block, shown = session.block_trace, session.counts
    if session.trace is None or shown is None or block is None or not block.n_steps:
        return Explanation("Nothing has been recorded yet.", ())
    if isinstance(topic, Fetched):
        if not session.fit_element((topic.array, topic.index)):
            return Explanation("The launch that is shown now has no such element.", ())
        return explain_fetches(session.trace, block, topic, session.step)
    if isinstance(topic, Place):
        counters, counts = shown.counters, shown.counters.totals
        if topic.line is not None:
            counts = counters.by_line.get(topic.line, {})
        elif topic.array is not None:
            counts = counters.by_array.get(topic.array, {})
        return explain_total(counts, topic, block, session.step, session.warp)
    access = history_of(block).last_access(session.step, topic.space)
    if topic.space == "shared":
        used = bank_map(block, session.step, session.thread, access)
        if used is not None and used.is_asynchronous:
            return explain_bank_map(used)
    if access is None:
        return Explanation(f"No access to {topic.space} memory yet.", ())
    found = explain_access(access, session.warp)
    when = "" if access.step == session.step else " (the last before this step)"
    title = f"{found.title}, step {access.step}{when}"
    return Explanation(title, found.sections, found.answer)
