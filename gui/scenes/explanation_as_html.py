"""An explanation as HTML for a text browser."""

from __future__ import annotations

from collections.abc import Collection
from html import escape

from core.explain.explanations import Explanation, Section

FOLDED, SPARED = 8, 2  # lines of a list that are shown, and that are not worth a fold


def as_html(explanation: Explanation, mono: str, unfolded: Collection[str] = ()) -> str:
    """An explanation as HTML for a text browser; `mono` is the family that figures are set in.

    Of long lists the first `FOLDED` lines are shown, then a link with the section's heading; those
    of headings in `unfolded` are shown whole.
    """
    answer = f'<p class="answer">{escape(explanation.answer)}</p>' if explanation.answer else ""
    found = answer + "".join(
        _section(section, mono, whole=heading_of(section) in unfolded)
        for section in explanation.sections
    )
    return found.replace("\u202f", "\u00a0")  # a line of HTML would break at the narrow one


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
