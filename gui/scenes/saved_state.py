"""What is kept between two starts, as one JSON file.

Several windows may keep theirs in one file: each adds what it has changed since it read the file
(`merged`). Where two have edited one source, the text of the one that closed first goes into a file
of its own. A file that cannot be read is no reason not to start: it is set aside.
"""

from __future__ import annotations

import json
import logging
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from core.atomic_files import replace_file
from core.dataclasses_as_json import plain, typed
from core.errors import TilescopeError
from core.links import MOST, checksum
from core.user_files.launch_texts import FileLaunch
from core.user_files.sources_and_headers import read_plain
from gui.scenes.configuration import Configuration
from gui.scenes.lists_of_moments import Named
from gui.scenes.selection import Breakpoint
from gui.scenes.session import Session

T = TypeVar("T")

VERSION = 2
MOST_BYTES = 64 << 20  # of a file that is read

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Saved:
    """One session: what was asked for, where it was looked at, and how the window was laid out.

    `geometry` and `layout` are Qt's, in base64; `left` is the left column's width in pixels, 0
    while it is hidden and -1 where nobody has set it; `looks` are settings of the views; `drafts`
    are edited texts, `launches` the last launch of each source of the user's, `texts` of those that
    are in no file, `breakpoints` those of each source, all by key.
    """

    configuration: Configuration | None = None
    versus: Configuration | None = None
    """What it was compared with."""
    block: int = 0
    step: int = 0
    thread: int = 0
    line: int | None = None
    unit: str = "access"
    speed: float = 4.0
    theme: str = "light"
    text_size: int = 0
    """In per cent; 0 for what suits the screen."""
    page: str = "step"
    toured: bool = False
    """Whether the first start's page has been shown."""
    geometry: str = ""
    layout: str = ""
    left: int = -1
    looks: Mapping[str, Any] = field(default_factory=dict)
    breakpoints: Mapping[str, frozenset[Breakpoint]] = field(default_factory=dict)
    drafts: Mapping[str, str] = field(default_factory=dict)
    launches: Mapping[str, FileLaunch] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    moments: tuple[Named, ...] = ()
    moment: int = -1
    """The place in `moments` of the one that was shown last, -1 for none."""
    aside: tuple[str, ...] = ()
    """Files with the texts of other windows that nobody has been told of yet."""


def selection(session: Session) -> dict[str, Any]:
    """The fields of `Saved` that a session holds."""
    names = ("versus", "block", "step", "thread", "line", "unit", "speed")
    kept = {name: getattr(session, name) for name in names}
    return {"configuration": session.asked_for or session.configuration, **kept}


def default_path() -> Path:
    """The user's own file."""
    import platformdirs

    return platformdirs.user_state_path("tilescope", appauthor=False) / "session.json"


def save(saved: Saved, path: Path, base: Saved | None = None) -> None:
    """Write the file, whole or not at all; a failure is logged.

    `base` is what was read from it, or written to it, last: what others have written since stays.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            theirs = load(path)
        except TilescopeError as error:
            theirs = None
            log.warning("%s It is kept as %s.", error, _set_aside(path))
        if theirs is not None:
            saved, others = merged(base or Saved(), saved, theirs)
            files = [str(_put_aside(path.parent / "drafts", *other)) for other in others.items()]
            saved = replace(saved, aside=(*saved.aside, *files))
        data = {"version": VERSION, **plain(saved)}
        replace_file(path, json.dumps(data, indent=1))
    except (OSError, TilescopeError) as error:
        log.warning("The session could not be saved in %s: %s", path, error)


def _put_aside(folder: Path, key: str, text: str) -> Path:
    """Write a text into a file of its own, named after its source and its content."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{Path(key.partition('#')[0]).stem}-{checksum(text)}.cu"
    replace_file(path, text)
    return path


def merged(base: Saved, ours: Saved, theirs: Saved) -> tuple[Saved, dict[str, str]]:
    """Our session with what others have changed in theirs since `base`.

    Gives also, by their keys, the texts of others that ours replace.
    """
    drafts, others = _merged(base.drafts, ours.drafts, theirs.drafts)
    moments, moment = ours.moments, ours.moment
    if theirs.moments != base.moments and moments == base.moments:
        moments, moment = theirs.moments, theirs.moment
    elif theirs.moments != base.moments:
        known = {*ours.moments, *base.moments}
        moments = (*ours.moments, *(m for m in theirs.moments if m not in known))
    whole = replace(
        ours,
        toured=ours.toured or theirs.toured,
        drafts=drafts,
        launches=_merged(base.launches, ours.launches, theirs.launches)[0],
        texts=_merged(base.texts, ours.texts, theirs.texts)[0],
        breakpoints=_merged(base.breakpoints, ours.breakpoints, theirs.breakpoints)[0],
        moments=moments,
        moment=moment,
        aside=tuple(path for path in theirs.aside if path not in base.aside),
    )
    return whole, others


def _merged(
    base: Mapping[str, T], ours: Mapping[str, T], theirs: Mapping[str, T]
) -> tuple[dict[str, T], dict[str, T]]:
    """Our values with their changes since `base`, and theirs that ours replace; both by key."""
    found = {key: value for key, value in theirs.items() if key not in ours}
    for key in base.keys() & found.keys():
        if found[key] == base[key]:  # we have taken it away
            del found[key]
    others = {}
    for key, value in ours.items():
        other = theirs.get(key)
        if value == base.get(key):
            if other is not None:
                found[key] = other
            continue
        found[key] = value
        if other is not None and other not in (value, base.get(key)):
            others[key] = other
    return found, others


@dataclass(frozen=True)
class Found:
    """What there was to restore, and a sentence where that was not all."""

    saved: Saved | None
    sentence: str = ""
    usable: bool = True
    """Whether the session can be kept at its place."""


def find(path: Path) -> Found:
    """Read the file; one that cannot be read is set aside, so that nothing in it is lost."""
    try:
        return Found(load(path))
    except TilescopeError as error:
        why = f"The last session could not be restored ({str(error).rstrip('.')})"
    try:
        return Found(None, f"{why}; its file is kept as {_set_aside(path)}.")
    except OSError:
        return Found(None, f"{why}; nothing of this one will be kept until it is moved.", False)


def _set_aside(path: Path) -> Path:
    """Give a file another name beside its own; returns it. Raises OSError for what must stay."""
    mode = path.lstat().st_mode
    if stat.S_ISDIR(mode) or stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        raise OSError("no file of ours")
    number = 1
    while os.path.lexists(kept := path.with_name(f"{path.stem}-damaged-{number}{path.suffix}")):
        number += 1
    return path.rename(kept)


def said_aside(files: Sequence[str]) -> str:
    """A sentence about texts of other windows, empty where there are none."""
    if not files:
        return ""
    return f"Two windows had edited one source; what the other one held is in {', '.join(files)}."


def load(path: Path) -> Saved | None:
    """Read the file; None where there is none. Raises TilescopeError where it cannot be used."""
    if not os.path.lexists(path):
        return None
    raw = read_plain(path, MOST_BYTES)
    try:
        data = json.loads(raw, parse_int=_number, parse_float=_number, parse_constant=_number)
        if data["version"] != VERSION:
            raise TilescopeError(f"{path} is of another version of Tilescope.")
        return _saved(data)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        log.info("%s is damaged: %r", path, error)
        raise TilescopeError(f"{path} is damaged.") from None


def _number(text: str) -> int | float:
    """Raises ValueError for one that no place or parameter may have, such as NaN."""
    number = float(text) if "." in text or "e" in text.lower() else int(text)
    if not abs(number) <= MOST:
        raise ValueError(f"{text} is too large")
    return number


LOOKS = (
    *("heat", "close_up", "warp_trail", "warp_table", "counts_by", "follow_memory"),
    *("everything", "compared_view", "inputs"),
)
"""The settings of views that are kept, by their names in the session."""


def _saved(data: Mapping[str, Any]) -> Saved:
    for name in ("geometry", "layout"):
        data[name].encode("ascii")
    known = {one.name for one in fields(Saved)}
    found: Saved = typed(Saved, {n: data[n] for n in known & data.keys()}, FileLaunch)
    if not found.looks.keys() <= set(LOOKS):
        raise KeyError(*found.looks)
    for name, value in {"unit": found.unit, **found.looks}.items():
        setting = Session.settings()[name]
        typed(type(setting.default), value)
        if setting.fit is not None:
            setting.fit(None, value)
    named = (Named(*(" ".join(text.split()) for text in (m.name, m.link))) for m in found.moments)
    return replace(found, moments=tuple(named))
