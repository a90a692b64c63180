"""A link to one moment: `tiled?n=4&tile=2&step=12`. No Qt here.

`vs` names what it is compared with, and `vs.` stands before its parameters; those left out are the
first launch's: `tiled?n=64&tile=8&vs=tiled&vs.tile=16`.
"""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote

from core.errors import ParameterError
from gui.scenes.selection import Configuration

if TYPE_CHECKING:
    from core.ladder import Ladder
    from gui.scenes.session import Session

MOST_SOURCE = 1 << 20  # bytes of an edited source in a link
PLACES = ("block", "step", "thread")
EXAMPLE = "tiled?n=4&tile=2&step=12"
VERSUS = "vs"


@dataclass(frozen=True)
class Moment:
    """What a link says: a rung, its parameters, an edited source, and where to look.

    None for a place means that the link does not say. Steps count from 0, as in the session.
    """

    rung: str
    parameters: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    step: int | None = None
    block: int | None = None
    thread: int | None = None
    theme: str | None = None
    source: str | None = None
    versus: Configuration | None = None
    """The launch that this one is compared with, all its parameters given."""


def parse_link(text: str, ladder: Ladder, themes: tuple[str, ...]) -> Moment:
    """Read a link. Raises ParameterError with one sentence for whatever is wrong with it.

    Values of parameters are checked when the launch is made, by its rung.
    """
    text = text.strip()
    if text.startswith("tilescope"):  # a whole command that was pasted
        text = text.removeprefix("tilescope").strip(" \"':/")
    name, _, query = text.partition("?")
    if name not in ladder:
        raise ParameterError(f"The link names no kernel of the ladder: `{name}`; try {EXAMPLE}.")
    pairs = _pairs(query)
    other = pairs.pop(VERSUS, None)
    theirs = {key.removeprefix(f"{VERSUS}."): pairs.pop(key) for key in [*pairs] if _is_other(key)}
    if theirs and other is None:
        raise ParameterError(f"The link says `vs.{next(iter(theirs))}` but not which kernel: vs=…")
    _check_keys(name, pairs, ladder, (*PLACES, "theme", "source"), "")
    theme, source = pairs.pop("theme", None), pairs.pop("source", None)
    if theme is not None and theme not in themes:
        raise ParameterError(f"The link's theme is `{theme}`: use {', '.join(themes)}.")
    numbers = {key: _number(key, value) for key, value in pairs.items()}
    places = {key: numbers.pop(key, None) for key in PLACES}
    versus = _versus(other, theirs, numbers, ladder) if other is not None else None
    edited = _unpack(source) if source is not None else None
    return Moment(
        name, MappingProxyType(numbers), theme=theme, source=edited, versus=versus, **places
    )


def _pairs(query: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for piece in filter(None, query.split("&")):
        key, equals, value = piece.partition("=")
        if not equals or not value:
            raise ParameterError(f"`{piece}` in the link is not NAME=VALUE, such as step=12.")
        if key in found:
            raise ParameterError(f"The link sets `{key}` twice.")
        found[key] = dict(parse_qsl(piece))[key]
    return found


def _is_other(key: str) -> bool:
    return key.startswith(f"{VERSUS}.")


def _check_keys(
    name: str, keys: Mapping[str, str], ladder: Ladder, more: tuple[str, ...], prefix: str
) -> None:
    known = sorted(p.name for p in ladder[name].parameters)
    for key in keys:
        if key not in known and key not in more:
            names = ", ".join([*known, *(m for m in more if m != "source")])
            raise ParameterError(
                f"The link sets `{prefix}{key}`, which {name} has not: it has {names}."
            )


def _versus(
    name: str, pairs: Mapping[str, str], first: Mapping[str, int], ladder: Ladder
) -> Configuration:
    """What is compared with; it has the first launch's parameters where the link says nothing."""
    if name not in ladder:
        raise ParameterError(f"The link compares with no kernel of the ladder: `{name}`.")
    _check_keys(name, pairs, ladder, ("source",), f"{VERSUS}.")
    values = dict(pairs)
    source = values.pop("source", None)
    rung = ladder[name]
    parameters = {**rung.defaults, **{k: v for k, v in first.items() if k in rung.defaults}}
    parameters |= {key: _number(f"{VERSUS}.{key}", value) for key, value in values.items()}
    return Configuration(name, parameters, _unpack(source) if source is not None else None)


def link_to(session: Session, theme: str, versus: Configuration | None = None) -> str:
    """The link to what the session shows, compared with another launch where `versus` is given.

    Raises ParameterError where a link cannot say it.
    """
    origin = session.origin
    if origin is None:
        raise ParameterError("There is nothing to link to yet: no launch has been recorded.")
    shown = origin.configuration
    if shown.own is not None or (versus is not None and versus.own is not None):
        raise ParameterError("A link can lead to a kernel of the ladder, not to a file of yours.")
    parts = [f"{key}={value}" for key, value in shown.parameters.items()]
    parts += [f"step={session.step}"]
    parts += [f"{key}={value}" for key in ("block", "thread") if (value := getattr(session, key))]
    if versus is not None:
        parts.append(f"{VERSUS}={versus.rung}")
        parts += [f"{VERSUS}.{key}={value}" for key, value in versus.parameters.items()]
        if versus.source is not None:
            parts.append(f"{VERSUS}.source={quote(_pack(versus.source))}")
    parts += [f"theme={theme}"]
    if shown.source is not None:
        parts.append(f"source={quote(_pack(shown.source))}")
    return f"{shown.rung}?{'&'.join(parts)}"


def go_to(session: Session, moment: Moment) -> str:
    """Look where a link says, once its launch is shown.

    Returns a sentence about what the launch has not, otherwise an empty string.
    """
    block = {} if moment.block is None else {"block": moment.block}
    session.update(playing=0, **block)
    missing = []
    trace = session.block_trace
    for key, count in (("step", session.n_steps), ("thread", trace.n_threads if trace else 0)):
        wanted = getattr(moment, key)
        if wanted is None:
            continue
        session.update(**{key: wanted})
        if wanted >= count:
            missing.append(f"{key} {wanted} (the last is {count - 1})")
    if moment.block is not None and session.trace is not None:
        last = session.trace.workload.launch.grid.count - 1
        if moment.block > last:
            missing.append(f"block {moment.block} (the last is {last})")
    return f"The launch has no {' and no '.join(missing)}." if missing else ""


def _number(key: str, value: str) -> int:
    if not re.fullmatch(r"-?\d{1,18}", value):
        raise ParameterError(f"The link's {key} is `{value}`: use a whole number, such as 12.")
    number = int(value)
    if key in PLACES and number < 0:
        raise ParameterError(f"The link's {key} is {number}: it counts from 0.")
    return number


def _pack(source: str) -> str:
    return base64.urlsafe_b64encode(zlib.compress(source.encode(), 9)).decode().rstrip("=")


def _unpack(text: str) -> str:
    damaged = ParameterError("The link's source is damaged: copy the whole of the link.")
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        unpacker = zlib.decompressobj()
        source = unpacker.decompress(data, MOST_SOURCE)
        if not unpacker.eof:
            raise damaged
        return source.decode()
    except (ValueError, zlib.error):
        raise damaged from None
