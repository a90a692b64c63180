"""What "Why this number?" explains: a step's access, a total, an element's loads. No Qt here."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING

from core.analysis.counters import WAYS, Count
from core.analysis.explain import explain_access
from core.analysis.explain_total import Place, explain_total
from core.analysis.explanation import Explanation, Section, build_of
from gui.scenes.counters import CounterRow
from gui.scenes.history import history_of
from gui.scenes.why_element import Fetched, explain_fetches

if TYPE_CHECKING:
    from core.analysis.counters import Counters
    from gui.scenes.session import Session

FOLDED, SPARED = 8, 2  # lines of a list that are shown, and that are not worth a fold


@dataclass(frozen=True)
class Step:
    """The selected warp's share of the step's access to "global" or "shared" memory.

    Where the step makes none it is the latest one before it, as in the views.
    """

    space: str


Topic = Step | Place | Fetched


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
    counts = counters_of(session).by_line.get(line, {}) if session.trace is not None else {}
    found = [w for w in WAYS if counts.get(f"{space}_{w}_requests", Count()).value]
    return Place(space, found[0] if found else "ld", line)


def counters_of(session: Session) -> Counters:
    """The counters that the window shows; there must be a trace."""
    shown = getattr(session, "counts", None) or session.trace
    assert shown is not None
    counters: Counters = shown.counters
    return counters


def explain(session: Session, topic: Topic) -> Explanation:
    """The explanation of a topic as things stand now, and of which build the number is."""
    found = _explain(session, topic)
    if session.trace is None or not found.sections:
        return found
    return replace(found, sections=(*found.sections, build_of(session.trace.build.kind)))


def _explain(session: Session, topic: Topic) -> Explanation:
    block = session.block_trace
    if session.trace is None or block is None or not block.n_steps:
        return Explanation("Nothing has been recorded yet.", ())
    if isinstance(topic, Fetched):
        if not session.fit_element((topic.array, topic.index)):
            return Explanation("The launch that is shown now has no such element.", ())
        return explain_fetches(session.trace, block, topic, session.step)
    if isinstance(topic, Place):
        counters = counters_of(session)
        counts = counters.totals
        if topic.line is not None:
            counts = counters.by_line.get(topic.line, {})
        elif topic.array is not None:
            counts = counters.by_array.get(topic.array, {})
        return explain_total(counts, topic, block, session.step, session.warp)
    access = history_of(block).last_access(session.step, topic.space)
    if access is None:
        return Explanation(f"No access to {topic.space} memory yet.", ())
    found = explain_access(access, session.warp)
    when = "" if access.step == session.step else " (the last before this step)"
    title = f"{found.title}, step {access.step}{when}"
    return Explanation(title, found.sections, found.answer)


def as_html(explanation: Explanation, mono: str, unfolded: Collection[str] = ()) -> str:
    """An explanation as HTML for a text browser; `mono` is the family that figures are set in.

    Of long lists the first `FOLDED` lines are shown, then a link with the section's heading; those
    of headings in `unfolded` are shown whole.
    """
    answer = f'<p class="answer">{escape(explanation.answer)}</p>' if explanation.answer else ""
    return answer + "".join(
        _section(section, mono, whole=heading_of(section) in unfolded)
        for section in explanation.sections
    )


def heading_of(section: Section) -> str:
    """What a section is about, whatever its figure: "Sectors" of "Sectors = 32"."""
    return section.heading.partition(" = ")[0]


def _section(section: Section, mono: str, *, whole: bool) -> str:
    head = f"<h4>{escape(section.heading)}</h4>"
    text = f"<p>{escape(section.text)}</p>" if section.text else ""
    lines, more = section.lines, ""
    if len(lines) > FOLDED + SPARED and not whole:
        name = escape(heading_of(section))
        more = f'<p class="more"><a href="{name}">… {len(lines) - FOLDED} lines more</a></p>'
        lines = lines[:FOLDED]
    shown = escape("\n".join(lines))
    figures = f"<pre style=\"font-family:'{mono}'\">{shown}</pre>" if shown else ""
    return head + text + figures + more
