"""Links to what the session shows, and going where a link leads (`core.links` reads them)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from core.errors import ParameterError
from core.ladder import Ladder
from core.links import (
    LONGEST,
    ON_PAGES,
    VERSUS,
    Link,
    checksum,
    launch_pairs,
    one_of,
    pack,
    parse_link,
    path_text,
    text_of,
)
from core.rules.shared_memory import BANKS
from gui.scenes.configuration import Conditions, Configuration
from gui.scenes.session import Session
from gui.scenes.setting_choices import PAGE_KEYS
from gui.scenes.step_views import VIEW_NAMES

GIVEN = ("inputs", "order", "seed")
MATRIX_LOOKS = ("heat", "close_up", "warp_trail")
AT_FIRST: dict[str, Any] = {
    **dict.fromkeys((*MATRIX_LOOKS, "large"), False),
    **dict.fromkeys(("line", "element", "bank", "sector")),
}
"""What the views of a step show where a link does not say it."""


def window_link(text: str, ladder: Ladder, themes: Sequence[str]) -> Link:
    """Read a link that this window can show. Raises ParameterError."""
    link = parse_link(text, ladder)
    must_be_shown(link, themes)
    return link


def must_be_shown(link: Link, themes: Sequence[str]) -> None:
    """Raise ParameterError for a page, a view or a theme that there is not."""
    for key, known in (("theme", themes), ("view", VIEW_NAMES), ("page", PAGE_KEYS)):
        if key in link.looks:
            one_of(key, link.looks[key], known)


def configuration_of(link: Link) -> Configuration:
    """The launch that a link asks for."""
    wanted = Configuration(link.rung, link.parameters, link.source, link.own)
    if wanted.untitled and link.source is not None:
        wanted = replace(wanted, pasted=checksum(link.source))
    return wanted


def conditions_of(link: Link) -> Conditions:
    """What the record of a link depends on besides its launch."""
    return Conditions(link.inputs, link.order, link.seed)


def link_to(session: Session, versus: Configuration | None = None) -> str:
    """The link to what the session shows, compared with another launch where `versus` is given.

    It names no theme: who opens it keeps their own. Raises ParameterError where a link cannot say
    it.
    """
    origin = session.origin
    if origin is None:
        raise ParameterError("There is nothing to link to yet: no launch has been recorded.")
    shown = origin.configuration
    parts = [*_launch(shown), *_place(session)]
    taken = shown.parameters if shown.own is None else {"inputs": 0, "shared": 0}
    for key in (*GIVEN, *ON_PAGES):
        value = getattr(session, key)
        if key not in taken and value != Session.settings()[key].default:
            parts.append(f"{key}={quote(str(value))}")
    if versus is not None:
        parts += [f"{VERSUS}={_name(versus)}", *_launch(versus, f"{VERSUS}.")]
    if session.page != ("step" if versus is None else "compare"):
        parts.append(f"page={session.page}")
    if shown.own is not None and shown.source is None:
        parts.append(f"check={checksum(origin.original)}")
    parts.sort(key=lambda part: part.partition("=")[0].endswith("source"))  # the longest last
    link = f"{_name(shown)}?{'&'.join(parts)}"
    if len(link) > LONGEST:
        raise ParameterError(
            f"A link with the edited source would have {len(link)} characters, and {LONGEST} is "
            "the most: save the source in a file (Ctrl+Shift+S) and open that one."
        )
    return link


def _name(shown: Configuration) -> str:
    return path_text(shown.own) if shown.own is not None else shown.rung


INSTRUCTIONS = """\
{what} in Tilescope, which shows step by step how CUDA kernels touch memory.

It runs on Linux, Windows and macOS with Python 3.11 or newer, and needs no GPU:

    pip install tilescope
    tilescope "{link}"

In an open window Ctrl+L takes the link, or this whole text.
"""
OWN_FILE = """
The link leads to a file by its path, and holds no copy of it: put yours there, or change the path.
"""


def with_instructions(session: Session, link: str) -> str:
    """A link for people who may not have the application: what it shows, and how to open it.

    `link` is the session's own (`link_to`); the text as a whole is read as a link, too.
    """
    assert session.origin is not None
    shown = session.origin.configuration
    name = Path(shown.own.path).name if shown.own is not None else shown.rung
    what = f"{name}, step {session.step} of {session.n_steps - 1},"
    holds_it = shown.own is None or shown.source is not None
    return INSTRUCTIONS.format(what=what, link=link) + ("" if holds_it else OWN_FILE)


def _launch(shown: Configuration, prefix: str = "") -> Iterator[str]:
    if shown.own is not None:
        yield from launch_pairs(shown.own, prefix)
    for key, value in shown.parameters.items():
        yield f"{prefix}{key}={value}"
    if shown.source is not None:
        yield f"{prefix}source={pack(shown.source)}"


def _place(session: Session) -> Iterator[str]:
    yield f"step={session.step}"
    plain = {"block": 0, "thread": 0, **AT_FIRST}
    for key in ("block", "thread", "line", "bank", "sector", "element", *MATRIX_LOOKS):
        if (value := getattr(session, key)) != plain[key]:
            yield f"{key}={quote(text_of(value), safe='[],')}"
    if session.large:
        yield f"view={session.view or VIEW_NAMES[0]}"
        yield "large=1"


def show_pages(session: Session, link: Link) -> None:
    """Have Ceilings and Occupancy look at what a link says; what it does not say is as at first."""
    defaults = {key: Session.settings()[key].default for key in ON_PAGES}
    said = {key: value for key, value in link.looks.items() if key in ON_PAGES}
    session.update(**(defaults if link.exact else {}) | said)


def go_to(session: Session, link: Link) -> str:
    """Look where a link says, once its launch is shown.

    Returns a sentence about what the launch lacks, otherwise an empty string.
    """
    said = {key: value for key, value in link.looks.items() if key in (*AT_FIRST, "view")}
    bank, element = said.get("bank"), said.get("element")
    if bank is not None and bank >= BANKS:
        del said["bank"]
    session.update(playing=0, block=link.block, **(AT_FIRST if link.exact else {}) | said)
    missing = []
    trace = session.block_trace
    places = {"thread": link.thread}
    if link.at and trace is not None:
        from core.trace.step_names import step_named

        try:
            session.step = step_named(trace, link.at)
        except ParameterError:
            missing.append(f"step {link.at} in block {trace.block}")
    elif link.step is not None:
        places = {"step": link.step, **places}
    elif link.exact:
        session.step = session.first_access
    session.update(**places)
    counts = {"step": session.n_steps, "thread": trace.n_threads if trace is not None else 0}
    if session.trace is not None:
        places["block"], counts["block"] = link.block, session.trace.workload.launch.grid.count
    for key, place in places.items():
        if place >= counts[key]:
            missing.append(f"{key} {place} (the last is {key}={counts[key] - 1})")
    if bank is not None and bank >= BANKS:
        missing.append(f"bank {bank} (the last is bank={BANKS - 1})")
    if element is not None and session.element is None:
        missing.append(f"element {text_of(element)}")
    sentence = f"The launch has no {' and no '.join(missing)}" if missing else ""
    sentence += "; a link counts from 0." if "last is" in sentence else "." if sentence else ""
    original = session.origin.original if session.origin is not None else None
    if link.check is not None and original is not None and checksum(original) != link.check:
        sentence = f"The file has been changed since this link was made. {sentence}".strip()
    return sentence
