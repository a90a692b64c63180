"""Links to one moment of a launch, such as `tiled?n=4&tile=2&step=12`, read and written.

A path in place of the rung leads to a kernel in a file. `vs` names what it is compared with, and
`vs.` stands before its parameters; those left out are the first launch's:
`tiled?n=64&tile=8&vs=tiled&vs.tile=16`. `source` is an edited text, `check` a sum over the file's.
"""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl, quote, unquote

from core.errors import ParameterError, TilescopeError
from core.ladder import Ladder
from core.ladder.input_arrays import INPUTS, Inputs
from core.ladder.rung import DEFAULT_SEED
from core.user_files.launch_texts import UNTITLED, FileLaunch

if TYPE_CHECKING:
    from core.emulator.scheduling import WarpOrder

T = TypeVar("T")

EXAMPLE = "tiled?n=4&tile=2&step=12"
VERSUS = "vs"
LONGEST = 8000  # characters of a link that may be typed at any prompt
LONGEST_READ = 2 * LONGEST  # what is read may have been quoted by a program on its way
MOST = 2**31 - 1
"""The largest number that a place or a parameter may have: Qt's signals carry no larger one."""

Element = tuple[str, tuple[int, ...]]
"""An array's name and an index into it: ``("A", (0, 2))``."""


@dataclass(frozen=True)
class Link:
    """A rung with its parameters or a launch of a file, and where and how it is looked at.

    `at` is a step's name (`core.trace.step_names`), which goes before its number `step`; without
    both it is the block's first access. Steps count from 0.
    """

    rung: str = ""
    parameters: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """All of the rung's; they are checked when the launch is made."""
    at: str = ""
    step: int | None = None
    block: int = 0
    thread: int = 0
    inputs: Inputs = "random"
    seed: int = DEFAULT_SEED
    order: WarpOrder = "lockstep"
    versus: Link | None = None
    """The launch that this one is compared with."""
    looks: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """What the window shows, by the keys of `LOOKS`; it does not change the record."""
    source: str | None = None
    own: FileLaunch | None = None
    """A launch of a kernel in a file, `rung` being empty; what it leaves empty is guessed."""
    check: str | None = None
    """`checksum` of the file's text when the link was made."""
    exact: bool = field(default=True, compare=False)
    """Whether what `looks` does not say is as at first, and not as it stands."""

    def varied(self, values: Mapping[str, int | str], ladder: Ladder) -> Link:
        """The link with those of `values` that it knows: parameters, places, and pages' keys.

        What it is compared with gets the same parameters, if it has them too.
        """
        known, places, looks = dict(self.parameters), dict[str, int](), dict(self.looks)
        for name, value in values.items():
            if name in ladder[self.rung].defaults:
                if isinstance(value, int):
                    known[name] = value
            elif name in ON_PAGES:
                looks[name] = ON_PAGES[name](name, str(value))
            elif name in ("block", "thread", "seed") and isinstance(value, int):
                places[name] = value
        versus = None if self.versus is None else self.versus.varied(values, ladder)
        return replace(
            self,
            parameters=MappingProxyType(known),
            looks=MappingProxyType(looks),
            versus=versus,
            **places,  # type: ignore[arg-type]
        )

    def __str__(self) -> str:
        """The link to a rung as the window reads it."""
        pairs = {**self.parameters, **{key: text_of(value) for key, value in self.looks.items()}}
        for key in ("at", "block", "thread", "step", "inputs", "seed", "order"):
            if getattr(self, key) != getattr(Link, key):
                pairs[key] = getattr(self, key)
        if self.versus is not None:
            pairs[VERSUS] = self.versus.rung
            pairs |= {f"{VERSUS}.{key}": value for key, value in self.versus.parameters.items()}
        return f"{self.rung}?{'&'.join(f'{key}={value}' for key, value in pairs.items())}"


def text_of(value: object) -> str:
    """What stands behind the equals sign for a value of `Link.looks`."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, tuple):
        name, index = value
        return f"{name}[{','.join(map(str, index))}]"
    return str(value)


def parse_link(text: str, ladder: Ladder) -> Link:
    """Read a link. Raises ParameterError with one sentence for whatever is wrong with it.

    Values of parameters are checked when the launch is made, by its rung or from the file; names
    of pages, views and themes by the window.
    """
    if len(text) > LONGEST_READ:
        raise ParameterError(
            f"The link has {len(text):,} characters, and {LONGEST_READ:,} is the most."
        )
    name, _, query = _bare(text).partition("?")
    if name not in ladder and not names_file(name):
        from difflib import get_close_matches  # which is large, for mistakes alone

        close = get_close_matches(name[:60], ladder, 1)
        hint = f"use {close[0]}" if close else f"try {EXAMPLE}"
        raise ParameterError(f"The link names no kernel of the ladder: `{name[:60]}`; {hint}.")
    pairs = _pairs(query)
    other = pairs.pop(VERSUS, None)
    prefix = f"{VERSUS}."
    theirs = {
        key.removeprefix(prefix): pairs.pop(key) for key in [*pairs] if key.startswith(prefix)
    }
    if theirs and other is None:
        raise ParameterError(
            f"The link says `vs.{next(iter(theirs))}` but not which kernel: add vs=NAME."
        )
    check = None if name in ladder else pairs.pop("check", None)
    link = _launch(name if name in ladder else unquote(name), pairs, ladder, READERS)
    found = {key: read(key, pairs[key]) for key, read in READERS.items() if key in pairs}
    looks = {key: found.pop(key) for key in LOOKS if key in found}
    if other is not None:
        if other not in ladder and not names_file(other):
            raise ParameterError(f"The link compares with no kernel of the ladder: `{other[:60]}`.")
        versus = _launch(other, theirs, ladder, (), prefix, link.parameters)
        link = replace(link, versus=versus)
    return replace(link, looks=MappingProxyType(looks), check=check, **found)


def parse_rung_link(text: str, ladder: Ladder) -> Link:
    """A link to a rung as it is, with parameters that it takes. Raises ParameterError."""
    link = parse_link(text, ladder)
    for one in filter(None, (link, link.versus)):
        if one.own is not None or one.source is not None:
            raise ParameterError(
                f"`{text[:60]}` leads to a source of one's own: use a kernel of the ladder as it "
                "is."
            )
    link = _checked(link, ladder)
    return link if link.versus is None else replace(link, versus=_checked(link.versus, ladder))


def _checked(link: Link, ladder: Ladder) -> Link:
    parameters = dict(ladder[link.rung].check(**link.parameters))
    return replace(link, parameters=MappingProxyType(parameters))


def _bare(text: str) -> str:
    """The link of a whole command that was pasted, or of one in quotation marks."""
    text = text.strip()
    if told := re.search(r'\btilescope "([^"]+)"', text):  # in instructions for other people
        return told[1].strip()
    command = re.match(r"tilescope(?:\s+|:(?://)?)", text)
    return text[command.end() if command else 0 :].strip(" \"'")


def _pairs(query: str) -> dict[str, str]:
    """KEY=VALUE of what stands after a link's question mark. Raises ParameterError."""
    found: dict[str, str] = {}
    for piece in filter(None, query.split("&")):
        key, equals, value = piece.partition("=")
        read = parse_qsl(piece) if equals and value else []
        if len(read) != 1:
            raise ParameterError(f"`{piece}` in the link is not NAME=VALUE, such as step=12.")
        ((key, value),) = read
        if key in found:
            raise ParameterError(f"The link sets `{key}` twice.")
        found[key] = value
    return found


def _launch(
    name: str,
    pairs: dict[str, str],
    ladder: Ladder,
    more: Iterable[str],
    prefix: str = "",
    first: Mapping[str, int] = MappingProxyType({}),
) -> Link:
    """The launch that a link asks for, its keys taken out of `pairs`; `more` may stay there.

    It has the parameters of the `first` launch where `pairs` says nothing.
    """
    own = None if name in ladder else launch_of(name, pairs)
    source = pairs.pop("source", None)
    defaults = {} if own is not None else ladder[name].defaults
    known = sorted(defaults) if own is None else [*FIELDS, f"{ARGUMENT}NAME"]
    for key in pairs:
        if key not in defaults and key not in more:
            raise ParameterError(
                f"The link sets `{prefix}{key}`, unknown in a launch of "
                f"{name if own is None else 'a file'}: use {', '.join([*known, *more])}."
            )
    numbers = {key: _number(f"{prefix}{key}", pairs.pop(key)) for key in defaults if key in pairs}
    common = {key: value for key, value in first.items() if key in defaults}
    return Link(
        name if own is None else "",
        MappingProxyType({**defaults, **common, **numbers}),
        source=None if source is None else _unpack(source),
        own=own,
    )


# What each key may say.


def _number(key: str, value: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,18}", value):
        raise ParameterError(f"The link's {key} is `{value}`: use a whole number, such as 12.")
    number = int(value)
    if abs(number) > MOST:
        raise ParameterError(f"The link's {key} is {number}: {MOST} is the most.")
    return number


def _count(key: str, value: str) -> int:
    number = _number(key, value)
    if number < 0:
        raise ParameterError(f"The link's {key} is {number}: it counts from 0.")
    return number


def _switch(key: str, value: str) -> bool:
    if value not in ("0", "1"):
        raise ParameterError(f"The link's {key} is `{value}`: use 1 for on, 0 for off.")
    return value == "1"


def one_of(key: str, text: str, known: Iterable[T]) -> T:
    """The one of what is known that a link's key says. Raises ParameterError."""
    known = tuple(known)
    for one in known:
        if one == text:
            return one
    verb = "are" if key == "inputs" else "is"
    raise ParameterError(f"The link's {key} {verb} `{text}`: use {', '.join(map(str, known))}.")


def _inputs(key: str, text: str) -> Inputs:
    return one_of(key, text, INPUTS)


def _order(key: str, text: str) -> str:
    from core.emulator.scheduling import ORDERS  # the window reads links before it needs a machine

    return one_of(key, text, ORDERS)


def _ceiling(key: str, text: str) -> str:
    from core.models.ceilings import NAMES  # it loads the emulator

    return one_of(key, text, NAMES)


def _device(_: str, text: str) -> str:
    """The name of a device, of a compute capability or of an example SM, as the pages list it."""
    from core.devices.device_table import find_capability

    try:
        capability, device = find_capability(text)
    except TilescopeError as error:
        raise ParameterError(f"The link's device is not known: {error}") from None
    return capability.name if device is None else device.name


def _step_name(_: str, text: str) -> str:
    from core.trace.step_names import check_name  # it loads the emulator

    check_name(text)
    return text


def parse_element(text: str) -> Element:
    """An element such as A[0,2]. Raises ParameterError."""
    found = re.fullmatch(r"(\w+)\[ ?([0-9]{1,12}(?:, ?[0-9]{1,12})*) ?\]", text)
    if found is None:
        raise ParameterError(f"The link's element is `{text}`: write it as A[0,2].")
    index = tuple(int(part) for part in found[2].split(","))
    if max(index) > MOST:
        raise ParameterError(f"The link's element is `{text}`: {MOST} is the most in an index.")
    return found[1], index


Read = Callable[[str, str], Any]
ON_PAGES: Mapping[str, Read] = MappingProxyType(
    {
        "device": _device,
        "size": _count,
        "ceiling": _ceiling,
        "threads": _count,
        "registers": _count,
        "shared": _count,
    }
)
"""What the pages Ceilings and Occupancy are about."""
LOOKS: Mapping[str, Read] = MappingProxyType(
    {
        "page": lambda _, text: text,
        "view": lambda _, text: text,
        "heat": _switch,
        "close_up": _switch,
        "warp_trail": _switch,
        "large": _switch,
        "theme": lambda _, text: text,
        "element": lambda _, text: parse_element(text),
        "line": _count,
        "bank": _count,
        "sector": _count,
        **ON_PAGES,
    }
)
"""What the window shows: settings of its session by these names, and how each is read."""
READERS: Mapping[str, Read] = MappingProxyType(
    {
        "block": _count,
        "step": _count,
        "thread": _count,
        "at": _step_name,
        "inputs": _inputs,
        "order": _order,
        "seed": _count,
        **LOOKS,
    }
)


# An edited source as a part of a link.


MOST_SOURCE = 1 << 18  # bytes of an edited source in a link, however few its packed form has


def pack(source: str) -> str:
    """The text as base64 of its zlib form, safe in URLs and without padding."""
    return base64.urlsafe_b64encode(zlib.compress(source.encode(), 9)).decode().rstrip("=")


def _unpack(text: str) -> str:
    """The text again. Raises ParameterError where it is damaged, or larger than `MOST_SOURCE`."""
    damaged = ParameterError("The link's source is damaged: copy the whole of the link.")
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        unpacker = zlib.decompressobj()
        source = unpacker.decompress(data, MOST_SOURCE + 1)
        if len(source) > MOST_SOURCE:
            raise ParameterError(
                f"The link's source has more than {MOST_SOURCE:,} bytes: open it as a file."
            )
        if not unpacker.eof:
            raise damaged
        return source.decode()
    except (ValueError, zlib.error):
        raise damaged from None


def checksum(source: str) -> str:
    """Eight hexadecimal digits that another text is unlikely to have."""
    return f"{zlib.crc32(source.encode()):08x}"


# A launch of a kernel in a user's file as a part of a link.
#
#     /home/ada/mine.cu?kernel=add&gridDim=8&blockDim=32&arg.n=200&step=12
#
# The names are CUDA's, `arg.` stands before an argument; what is left out is guessed from the
# source.


FIELDS = {
    "kernel": "kernel",
    "gridDim": "grid",
    "blockDim": "block",
    "shared": "shared",
    "clusterDim": "cluster",
    "defines": "defines",
}
"""What a link calls the fields of a launch."""
ARGUMENT = "arg."
ELSEWHERE = re.compile(r"\s*@?\s*[/\\]{2}")
"""Begins a path on another computer, or a device, on Windows: `//host/share/x.cu`."""
UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters, and those that turn the direction of what follows."""
PLAIN = "/:\\,=[]@.*"  # characters of paths and launches that a link shows as they are


def names_file(name: str) -> bool:
    """Whether a link begins with a path, and not with the name of a rung."""
    return any(mark in name for mark in "./\\%")


def launch_of(path: str, pairs: dict[str, str]) -> FileLaunch:
    """The launch that a link asks for, its keys taken out of `pairs`; empty where it says nothing.

    A path that does not begin at the root begins where the program was started, unless it is
    `UNTITLED` and `pairs` has the text. Raises
    ParameterError for one that leads to another computer, to no user's folder, or is none.
    """
    texts = {field: pairs.pop(key) for key, field in FIELDS.items() if key in pairs}
    given = [key for key in pairs if key.startswith(ARGUMENT)]
    arguments = tuple((key.removeprefix(ARGUMENT), pairs.pop(key)) for key in given)
    for said in (path, *(text for _, text in arguments)):
        if ELSEWHERE.match(said):
            raise ParameterError(
                f"The link leads to another computer or a device, `{said}`: copy the file to a "
                "folder of your own, and open it from there."
            )
    blank = dict.fromkeys(FIELDS.values(), "")
    is_text = path == UNTITLED and "source" in pairs
    return FileLaunch(
        path=path if is_text else _whole(path), arguments=arguments, **{**blank, **texts}
    )


def _whole(path: str) -> str:
    if UNSEEN.search(path):
        raise ParameterError(f"The link's path has characters that cannot be seen: {path!a}.")
    try:
        return str(Path(path).expanduser().absolute())
    except RuntimeError:
        raise ParameterError(
            f"The link's path is `{path}`, and there is no such user's folder: write the whole "
            "path, from the root."
        ) from None


def path_text(launch: FileLaunch) -> str:
    """The path as a link begins with it."""
    return quote(launch.path, safe=PLAIN.replace("=", ""))


def launch_pairs(launch: FileLaunch, prefix: str = "") -> Iterator[str]:
    """`KEY=VALUE` for all that is said of a launch."""
    texts = {key: getattr(launch, field) for key, field in FIELDS.items()}
    texts |= {f"{ARGUMENT}{name}": text for name, text in launch.arguments}
    for key, text in texts.items():
        if text.strip():
            yield f"{prefix}{quote(key)}={quote(text, safe=PLAIN)}"
