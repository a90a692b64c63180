"""Moments of a lecture as a lesson: a first draft, one question for each, that passes the check.

What is asked follows from what the step does: sectors of an access to global memory, wavefronts of
one to shared memory, and phases where nothing is accessed. Its author goes on from there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.errors import TilescopeError
from core.ladder import Ladder
from core.launch import WARP
from core.lessons.launch_cache import Recorder
from core.lessons.lesson_expressions import LessonError
from core.lessons.vocabulary import Situation
from core.links import Link, parse_rung_link
from core.trace.step_names import step_named

MOST_NAMES = 9  # of the accesses of one kind in a phase that are named and not numbered


@dataclass(frozen=True)
class Draft:
    """A question for a kind of step; `{warp}` in its texts is the warp that is looked at."""

    veil: tuple[str, ...]
    concept: str
    ask: str
    answer: str
    hint: str
    why: str


GLOBAL = Draft(
    ("warp.figures", "warp.sectors", "counters", "gutter"),
    "sector",
    "How many sectors does warp {warp}'s request move?",
    "sectors(warp={warp})",
    "A sector has 32 bytes, eight floats side by side. Which sectors do the lanes touch?",
    "{sectors(warp={warp})}; side by side its bytes would need {ideal(warp={warp})}.",
)
SHARED = Draft(
    ("shared.figures", "shared.banks", "counters", "gutter"),
    "bank",
    "How many wavefronts does warp {warp}'s request take?",
    "wavefronts(warp={warp})",
    "Different words of one bank go one after another.",
    "{wavefronts(warp={warp})}, of them {conflicts(warp={warp})} for bank conflicts.",
)
OTHER = Draft(
    ("transport",),
    "phase",
    "How many phases does the block go through?",
    "phases()",
    "A phase is one turn of the kernel's main loop.",
    "{phases()}.",
)


def lesson_of(moments: Sequence[tuple[str, str]], ladder: Ladder, name: str, title: str) -> str:
    """A lesson file with one question for each moment: its name and its link.

    Raises LessonError that names the moment where its link is none for a lesson: one to a file of
    one's own, or to an edited source.
    """
    if not moments:
        raise LessonError("There are no moments: save one with Ctrl+Shift+M first.")
    recorder, parts = Recorder(ladder), [_head(name, title)]
    for said, text in moments:
        try:
            parts.append(_step(said, parse_rung_link(text, ladder), recorder))
        except TilescopeError as error:
            raise LessonError(f"The moment “{said}” cannot be a step: {error}") from error
    return "\n".join(parts)


def _head(name: str, title: str) -> str:
    return (
        "# Made from moments; docs/lessons.md explains every field.\n"
        f"id = {json.dumps(name)}\ntitle = {_text(title)}\n"
    )


def _step(said: str, link: Link, recorder: Recorder) -> str:
    here = Situation(link, recorder)
    access = here.block.access(here.step)
    draft = OTHER if access is None else SHARED if access.space == "shared" else GLOBAL
    if access is not None and access.space not in ("global", "shared"):
        draft = OTHER
    warp = str(link.thread // WARP)
    at = _name(here)
    shown = replace(link, at="", step=None if at else here.step)
    ask, answer, why = (
        part.replace("{warp}", warp) for part in (draft.ask, draft.answer, draft.why)
    )
    rows = [
        "[[step]]",
        f"link = {json.dumps(str(shown))}",
        *([f"at = {json.dumps(at)}"] if at else []),
        'kind = "number"',
        f"veil = {json.dumps(list(draft.veil))}",
        f"concepts = {json.dumps([draft.concept])}",
        f"ask = {_text(f'{_braces(said)}. {ask}')}",
        f"answer = {json.dumps(answer)}",
        f"hints = [{_text(draft.hint)}]",
        f"why = {_text(why)}",
    ]
    return "\n".join(rows) + "\n"


def _name(here: Situation) -> str:
    """The step by a name that goes on meaning the same; empty where none does."""
    access = here.block.access(here.step)
    if access is None:
        return ""
    phase = int(here.block.phase[here.step])
    for end in (f"@phase{phase}" if phase >= 0 else "", ""):
        for count in range(1, MOST_NAMES):
            name = f"{access.kind}:{access.target}{end}" + (f"#{count}" if count > 1 else "")
            try:
                if step_named(here.block, name) == here.step:
                    return name
            except TilescopeError:
                break
    return ""


def _braces(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}").rstrip(".")


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
