"""What is kept between two starts, as one JSON file. No Qt here.

A file that is not there, broken, or of another version is no reason not to start: it is ignored,
and the log says so.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.ladder.buffers import INPUTS
from core.launching.file_launch import FileLaunch
from gui.scenes.selection import COMPARED_VIEWS, UNITS, Breakpoint, Configuration

if TYPE_CHECKING:
    from gui.scenes.session import Session

VERSION = 2

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Saved:
    """One session: what was asked for, where it was looked at, and how the window was laid out.

    `geometry` and `layout` are Qt's, in base64; `left` is the left column's width in pixels, 0
    while it is hidden and -1 where nobody has set it; `looks` are settings of the views; `drafts`
    are edited texts, `launches` the last launch of each file, `breakpoints` those of each source,
    all by key.
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
    geometry: str = ""
    layout: str = ""
    left: int = -1
    looks: Mapping[str, Any] = field(default_factory=dict)
    breakpoints: Mapping[str, frozenset[Breakpoint]] = field(default_factory=dict)
    drafts: Mapping[str, str] = field(default_factory=dict)
    launches: Mapping[str, FileLaunch] = field(default_factory=dict)


def selection(session: Session) -> dict[str, Any]:
    """The fields of `Saved` that a session holds."""
    shown = session.origin.configuration if session.origin is not None else session.configuration
    names = ("versus", "block", "step", "thread", "line", "unit", "speed")
    return {"configuration": shown, **{name: getattr(session, name) for name in names}}


def default_path() -> Path:
    """The user's own file."""
    import platformdirs

    return platformdirs.user_state_path("tilescope", appauthor=False) / "session.json"


def save(saved: Saved, path: Path) -> None:
    """Write the file, whole or not at all; a failure is logged."""
    draft = path.with_suffix(".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps({"version": VERSION, **_plain(saved)}, indent=1), "utf-8")
        draft.replace(path)
    except OSError as error:
        log.warning("The session could not be saved in %s: %s", path, error)


def load(path: Path) -> Saved | None:
    """Read the file; None where there is none to use."""
    try:
        data = json.loads(path.read_text("utf-8"))
        if data["version"] != VERSION:
            log.warning("%s is of version %s and is ignored", path, data["version"])
            return None
        return _saved(data)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        log.warning("The session in %s cannot be read and is ignored: %r", path, error)
        return None


def _plain(saved: Saved) -> dict[str, Any]:
    return {
        **{name: getattr(saved, name) for name in _FIELDS},
        "configuration": _plain_configuration(saved.configuration),
        "versus": _plain_configuration(saved.versus),
        "launches": {path: asdict(launch) for path, launch in saved.launches.items()},
        "breakpoints": {
            key: [asdict(place) for place in places] for key, places in saved.breakpoints.items()
        },
    }


def _plain_configuration(shown: Configuration | None) -> dict[str, Any] | None:
    if shown is None:
        return None
    return {
        "rung": shown.rung,
        "parameters": dict(shown.parameters),
        "source": shown.source,
        "pasted": shown.pasted,
        "own": asdict(shown.own) if shown.own is not None else None,
    }


LOOKS: Mapping[str, type] = {
    "heat": bool,
    "close_up": bool,
    "warp_trail": bool,
    "warp_table": bool,
    "counts_by": str,
    "follow_memory": bool,
    "compared_view": str,
    "inputs": str,
}
"""The settings of views that are kept, by their names in the session."""

_FIELDS: Mapping[str, type | tuple[type, ...]] = {
    "block": int,
    "step": int,
    "thread": int,
    "line": (int, type(None)),
    "unit": str,
    "speed": (int, float),
    "theme": str,
    "text_size": int,
    "page": str,
    "toured": bool,
    "geometry": str,
    "layout": str,
    "left": int,
    "looks": dict,
    "drafts": dict,
}


def _saved(data: Mapping[str, Any]) -> Saved:
    data = {"text_size": 0, **data}  # which older files have not
    values = {name: _checked(data[name], kind, name) for name, kind in _FIELDS.items()}
    if values["unit"] not in UNITS:
        raise ValueError(f"unit {values['unit']!r}")
    for name, value in values["looks"].items():
        if name == "counts_by" and value not in ("array", "line"):
            raise ValueError(f"{name} {value!r}")
        if name == "compared_view" and value not in COMPARED_VIEWS:
            raise ValueError(f"{name} {value!r}")
        if name == "inputs" and value not in INPUTS:
            raise ValueError(f"{name} {value!r}")
        _checked(value, LOOKS[name], name)
    for text in values["drafts"].values():
        _checked(text, str, "drafts")
    return Saved(
        configuration=_configuration(data["configuration"]),
        versus=_configuration(data.get("versus")),
        launches={path: _launch(launch) for path, launch in data["launches"].items()},
        breakpoints={
            key: frozenset(_breakpoint(place) for place in places)
            for key, places in data["breakpoints"].items()
        },
        **values,
    )


def _configuration(data: Mapping[str, Any] | None) -> Configuration | None:
    if data is None:
        return None
    own = _launch(data["own"]) if data["own"] is not None else None
    parameters = {name: _checked(n, int, name) for name, n in data["parameters"].items()}
    source = _checked(data["source"], (str, type(None)), "source")
    pasted = _checked(data.get("pasted", ""), str, "pasted")
    return Configuration(_checked(data["rung"], str, "rung"), parameters, source, own, pasted)


def _launch(data: Mapping[str, Any]) -> FileLaunch:
    texts = {key: _checked(data[key], str, key) for key in data if key != "arguments"}
    pairs = [(str(name), str(text)) for name, text in data["arguments"]]
    return FileLaunch(arguments=tuple(pairs), **texts)


def _breakpoint(data: Mapping[str, Any]) -> Breakpoint:
    line = _checked(data["line"], (int, type(None)), "line")
    if data["element"] is None:
        return Breakpoint(line=line)
    name, index = data["element"]
    element = str(name), tuple(_checked(i, int, "index") for i in index)
    return Breakpoint(line=line, element=element)


def _checked(value: Any, kind: type | tuple[type, ...], name: str) -> Any:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise TypeError(f"{name} is {value!r}")
    return value
