"""A link to one moment: `tiled?n=4&tile=2&step=12`. No Qt here.

A path in place of the rung leads to a kernel in a file (`gui.scenes.file_links`). `vs` names what
it is compared with, and `vs.` stands before its parameters; those left out are the first launch's:
`tiled?n=64&tile=8&vs=tiled&vs.tile=16`. `source` is an edited text, `check` a sum over the file's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, unquote

from core.errors import ParameterError
from core.ladder.buffers import INPUTS, Inputs
from core.launching.file_launch import FileLaunch
from gui.scenes.file_links import launch_of, name_of, names_file, pairs_of, refuse_unknown
from gui.scenes.packed import checksum, pack, unpack
from gui.scenes.selection import VIEWS, Configuration, Element

if TYPE_CHECKING:
    from core.ladder import Ladder
    from gui.scenes.session import Session

LONGEST = 8000  # characters of a link that may be typed at any prompt
LONGEST_READ = 2 * LONGEST  # what is read may have been quoted by a program on its way
PLACES = ("block", "step", "thread", "line")
LOOKS = ("heat", "close_up", "warp_trail")
LARGE = "large"
EXTRAS = (*PLACES, "element", *LOOKS, "view", LARGE, "inputs", "theme")
EXAMPLE = "tiled?n=4&tile=2&step=12"
VERSUS = "vs"


@dataclass(frozen=True)
class Moment:
    """What a link says: a rung with its parameters or a launch of a file, and where to look.

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
    own: FileLaunch | None = None
    """A launch of a kernel in a file, `rung` being empty; what it leaves empty is guessed."""
    check: str | None = None
    """`checksum` of the file's text when the link was made."""
    line: int | None = None
    element: Element | None = None
    looks: Mapping[str, bool] = field(default_factory=lambda: MappingProxyType({}))
    """How the matrices are shown: settings of the session, by name."""
    view: str | None = None
    """The view in front, by its name in `gui.step_page`."""
    inputs: Inputs | None = None
    """What the arrays of a rung hold."""
    large: bool = False
    """Whether that view alone is shown, over the whole page."""
    exact: bool = field(default=False, compare=False)
    """Whether what is not said is as at first: the first block and thread, and nothing selected."""

    @property
    def first_block(self) -> int | None:
        """The block to look at first, None for the one that is looked at."""
        return 0 if self.block is None and self.exact else self.block


def parse_link(text: str, ladder: Ladder, themes: tuple[str, ...]) -> Moment:
    """Read a link. Raises ParameterError with one sentence for whatever is wrong with it.

    Values of parameters are checked when the launch is made, by its rung or from the file.
    """
    if len(text) > LONGEST_READ:
        raise ParameterError(
            f"The link has {len(text):,} characters, and {LONGEST_READ:,} is the most."
        )
    name, _, query = _bare(text).partition("?")
    if name not in ladder and not names_file(name):
        raise ParameterError(f"The link names no kernel of the ladder: `{name}`; try {EXAMPLE}.")
    pairs = _pairs(query)
    other = pairs.pop(VERSUS, None)
    theirs = {key.removeprefix(f"{VERSUS}."): pairs.pop(key) for key in [*pairs] if _is_other(key)}
    if theirs and other is None:
        raise ParameterError(f"The link says `vs.{next(iter(theirs))}` but not which kernel: vs=…")
    own = None if name in ladder else launch_of(unquote(name), pairs)
    if own is not None:
        refuse_unknown(pairs, (*EXTRAS, "source", "check"))
    else:
        _check_keys(name, pairs, ladder, (*EXTRAS, "source"), "")
    theme, source = pairs.pop("theme", None), pairs.pop("source", None)
    check, element = pairs.pop("check", None), pairs.pop("element", None)
    if theme is not None and theme not in themes:
        raise ParameterError(f"The link's theme is `{theme}`: use {', '.join(themes)}.")
    view, large = pairs.pop("view", None), _switch(LARGE, pairs.pop(LARGE, "0"))
    if view is not None and view not in VIEWS:
        raise ParameterError(f"The link's view is `{view}`: use one of {', '.join(VIEWS)}.")
    inputs = pairs.pop("inputs", None)
    if inputs is not None and inputs not in INPUTS:
        raise ParameterError(f"The link's inputs are `{inputs}`: use {', '.join(INPUTS)}.")
    looks = {key: _switch(key, pairs.pop(key)) for key in LOOKS if key in pairs}
    numbers = {key: _number(key, value) for key, value in pairs.items()}
    places = {key: numbers.pop(key, None) for key in PLACES}
    versus = _versus(other, theirs, numbers, ladder) if other is not None else None
    return Moment(
        "" if own is not None else name,
        MappingProxyType(numbers),
        theme=theme,
        source=unpack(source) if source is not None else None,
        versus=versus,
        own=own,
        check=check,
        element=parse_element(element) if element is not None else None,
        looks=MappingProxyType(looks),
        view=view,
        inputs=inputs,
        large=large,
        exact=True,
        **places,
    )


def _bare(text: str) -> str:
    """The link of a whole command that was pasted, or of one in quotation marks."""
    text = text.strip()
    command = re.match(r"tilescope(?:\s+|:(?://)?)", text)
    return text[command.end() if command else 0 :].strip(" \"'")


def parse_element(text: str) -> Element:
    """An element such as A[0,2]. Raises ParameterError."""
    found = re.fullmatch(r"(\w+)\[ ?([0-9]{1,12}(?:, ?[0-9]{1,12})*) ?\]", text)
    if found is None:
        raise ParameterError(f"The link's element is `{text}`: write it as A[0,2].")
    return found[1], tuple(int(part) for part in found[2].split(","))


def _pairs(query: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for piece in filter(None, query.split("&")):
        key, equals, value = piece.partition("=")
        if not equals or not value:
            raise ParameterError(f"`{piece}` in the link is not NAME=VALUE, such as step=12.")
        ((key, value),) = parse_qsl(piece)
        if key in found:
            raise ParameterError(f"The link sets `{key}` twice.")
        found[key] = value
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
    values = dict(pairs)
    own = launch_of(name, values) if name not in ladder and names_file(name) else None
    source = values.pop("source", None)
    edited = unpack(source) if source is not None else None
    if own is not None:
        refuse_unknown(values, (), f"{VERSUS}.")
        return Configuration("", {}, edited, own)
    if name not in ladder:
        raise ParameterError(f"The link compares with no kernel of the ladder: `{name}`.")
    _check_keys(name, values, ladder, (), f"{VERSUS}.")
    numbers = {key: _number(f"{VERSUS}.{key}", value) for key, value in values.items()}
    rung = ladder[name]
    common = {key: value for key, value in first.items() if key in rung.defaults}
    return Configuration(name, {**rung.defaults, **common, **numbers}, edited)


def link_to(session: Session, theme: str, versus: Configuration | None = None) -> str:
    """The link to what the session shows, compared with another launch where `versus` is given.

    Raises ParameterError where a link cannot say it.
    """
    origin = session.origin
    if origin is None:
        raise ParameterError("There is nothing to link to yet: no launch has been recorded.")
    shown = origin.configuration
    parts = [*_launch(shown), *_place(session)]
    if session.inputs != "random" and shown.own is None:
        parts.append(f"inputs={session.inputs}")
    if versus is not None:
        name = name_of(versus.own) if versus.own is not None else versus.rung
        parts += [f"{VERSUS}={name}", *_launch(versus, f"{VERSUS}.")]
    parts += [f"theme={theme}"]
    if shown.own is not None and shown.source is None:
        parts.append(f"check={checksum(origin.original)}")
    parts.sort(key=lambda part: part.partition("=")[0].endswith("source"))  # the longest last
    name = name_of(shown.own) if shown.own is not None else shown.rung
    link = f"{name}?{'&'.join(parts)}"
    if len(link) > LONGEST:
        raise ParameterError(
            f"A link with the edited source would have {len(link)} characters, and {LONGEST} is "
            "the most: save the source in a file (Ctrl+Shift+S) and open that one."
        )
    return link


def _launch(shown: Configuration, prefix: str = "") -> Iterator[str]:
    if shown.own is not None:
        yield from pairs_of(shown.own, prefix)
    for key, value in shown.parameters.items():
        yield f"{prefix}{key}={value}"
    if shown.source is not None:
        yield f"{prefix}source={pack(shown.source)}"


def _place(session: Session) -> Iterator[str]:
    yield f"step={session.step}"
    for key in ("block", "thread", "line"):
        if value := getattr(session, key):
            yield f"{key}={value}"
    if session.element is not None:
        name, index = session.element
        yield f"element={quote(name)}[{','.join(map(str, index))}]"
    yield from (f"{key}=1" for key in LOOKS if getattr(session, key))
    if session.large:
        yield f"view={session.view or VIEWS[0]}"
        yield f"{LARGE}=1"


def go_to(session: Session, moment: Moment) -> str:
    """Look where a link says, once its launch is shown.

    Returns a sentence about what the launch has not, otherwise an empty string.
    """
    if moment.exact:
        plain = dict.fromkeys(LOOKS, False)
        view = {} if moment.view is None else {"view": moment.view}
        session.update(thread=0, line=None, element=None, large=moment.large, **plain, **view)
    block = {} if moment.first_block is None else {"block": moment.first_block}
    session.update(playing=0, **block)
    missing = []
    trace = session.block_trace
    session.update(**moment.looks)
    if moment.exact and moment.step is None:
        session.step = session.first_access
    for key, count in (("step", session.n_steps), ("thread", trace.n_threads if trace else 0)):
        if (wanted := getattr(moment, key)) is None:
            continue
        session.update(**{key: wanted})
        if wanted >= count:
            missing.append(f"{key} {wanted} (the last is {key}={count - 1})")
    if moment.block is not None and session.trace is not None:
        last = session.trace.workload.launch.grid.count - 1
        if moment.block > last:
            missing.append(f"block {moment.block} (the last is block={last})")
    if moment.line is not None:
        session.line = moment.line
    if moment.element is not None:
        session.update(element=moment.element)
        if session.element is None:
            name, index = moment.element
            missing.append(f"element {name}[{','.join(map(str, index))}]")
    sentence = f"The launch has no {' and no '.join(missing)}" if missing else ""
    sentence += "; a link counts from 0." if "last is" in sentence else "." if sentence else ""
    original = session.origin.original if session.origin is not None else None
    if moment.check is not None and original is not None and checksum(original) != moment.check:
        sentence = f"The file has been changed since this link was made. {sentence}".strip()
    return sentence


def _number(key: str, value: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,18}", value):
        raise ParameterError(f"The link's {key} is `{value}`: use a whole number, such as 12.")
    number = int(value)
    if key in PLACES and number < 0:
        raise ParameterError(f"The link's {key} is {number}: it counts from 0.")
    return number


def _switch(key: str, value: str) -> bool:
    if value not in ("0", "1"):
        raise ParameterError(f"The link's {key} is `{value}`: use 1 for on, 0 for off.")
    return value == "1"
