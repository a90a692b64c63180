"""A link to one moment: `tiled?n=4&tile=2&step=12`. No Qt here."""

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

if TYPE_CHECKING:
    from core.ladder import Ladder
    from gui.scenes.session import Session

MOST_SOURCE = 1 << 20  # bytes of an edited source in a link
PLACES = ("block", "step", "thread")
EXAMPLE = "tiled?n=4&tile=2&step=12"


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
    known = {p.name for p in ladder[name].parameters}
    found: dict[str, str] = {}
    for piece in filter(None, query.split("&")):
        key, equals, value = piece.partition("=")
        if not equals or not value:
            raise ParameterError(f"`{piece}` in the link is not NAME=VALUE, such as step=12.")
        if key not in known | {*PLACES, "theme", "source"}:
            names = ", ".join([*sorted(known), *PLACES, "theme"])
            raise ParameterError(f"The link sets `{key}`, which {name} has not: it has {names}.")
        if key in found:
            raise ParameterError(f"The link sets `{key}` twice.")
        found[key] = dict(parse_qsl(piece))[key]
    theme, source = found.pop("theme", None), found.pop("source", None)
    if theme is not None and theme not in themes:
        raise ParameterError(f"The link's theme is `{theme}`: use {', '.join(themes)}.")
    numbers = {key: _number(key, value) for key, value in found.items()}
    places = {key: numbers.pop(key, None) for key in PLACES}
    edited = _unpack(source) if source is not None else None
    return Moment(name, MappingProxyType(numbers), theme=theme, source=edited, **places)


def link_to(session: Session, theme: str) -> str:
    """The link to what the session shows. Raises ParameterError where a link cannot say it."""
    origin = session.origin
    if origin is None:
        raise ParameterError("There is nothing to link to yet: no launch has been recorded.")
    shown = origin.configuration
    if shown.own is not None:
        raise ParameterError("A link can lead to a kernel of the ladder, not to a file of yours.")
    parts = [f"{key}={value}" for key, value in shown.parameters.items()]
    parts += [f"step={session.step}"]
    parts += [f"{key}={value}" for key in ("block", "thread") if (value := getattr(session, key))]
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
