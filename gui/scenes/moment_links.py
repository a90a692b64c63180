"""A link to one moment: `tiled?n=4&tile=2&step=12`; and lists of such links, in files.

A path in place of the rung leads to a kernel in a file. `vs` names what it is compared with, and
`vs.` stands before its parameters; those left out are the first launch's:
`tiled?n=64&tile=8&vs=tiled&vs.tile=16`. `source` is an edited text, `check` a sum over the file's.
"""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, unquote

from core.atomic_files import replace_file
from core.errors import ParameterError, TilescopeError
from core.ladder.input_arrays import INPUTS
from core.lessons.step_links import LONGEST, VERSUS, link_pairs, must_be_short, take_versus
from core.own_files.launch_texts import FileLaunch
from core.own_files.sources_and_headers import read_plain
from core.rules.shared_memory import BANKS
from gui.scenes.session import Session
from gui.scenes.session_values import MOST, PAGE_KEYS, UNTITLED, Conditions, Configuration, Element
from gui.scenes.step_views import VIEW_NAMES

if TYPE_CHECKING:
    from core.ladder import Ladder, Rung

T = TypeVar("T")


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


def name_of(launch: FileLaunch) -> str:
    """The path as a link begins with it."""
    return quote(launch.path, safe=PLAIN.replace("=", ""))


def _pairs_of(launch: FileLaunch, prefix: str = "") -> Iterator[str]:
    """`KEY=VALUE` for all that is said of a launch."""
    texts = {key: getattr(launch, field) for key, field in FIELDS.items()}
    texts |= {f"{ARGUMENT}{name}": text for name, text in launch.arguments}
    for key, text in texts.items():
        if text.strip():
            yield f"{prefix}{quote(key)}={quote(text, safe=PLAIN)}"


LONGEST_READ = 2 * LONGEST  # what is read may have been quoted by a program on its way
PLACES = ("block", "step", "thread", "line", "bank", "sector")
LOOKS = ("heat", "close_up", "warp_trail")
LARGE = "large"
SIZES = ("size", "threads", "registers", "shared")
PAGES = ("device", "ceiling", *SIZES)
"""Settings of Ceilings and Occupancy, by their names in the session."""
GIVEN = ("inputs", "order", "seed")
EXTRAS = (*PLACES, "at", "element", *LOOKS, "view", LARGE, "page", *PAGES, *GIVEN, "theme")
EXAMPLE = "tiled?n=4&tile=2&step=12"


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
    at: str | None = None
    """The step by name (`core.trace.step_names`), which goes before its number."""
    line: int | None = None
    bank: int | None = None
    sector: int | None = None
    element: Element | None = None
    looks: Mapping[str, bool] = field(default_factory=lambda: MappingProxyType({}))
    """How the matrices are shown: settings of the session, by name."""
    view: str | None = None
    """The view in front, by its name in `gui.scenes.step_views`."""
    page: str | None = None
    """The page, by its key; None for the one that steps, or that compares where `versus` is."""
    given: Conditions = field(default_factory=Conditions)
    """What the arrays of a rung hold, and in which order its warps take turns."""
    pages: Mapping[str, str | int] = field(default_factory=lambda: MappingProxyType({}))
    """What Ceilings and Occupancy look at: settings of the session, by name."""
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
    must_be_short(text, LONGEST_READ)
    name, _, query = _bare(text).partition("?")
    if name not in ladder and not names_file(name):
        raise ParameterError(f"The link names no kernel of the ladder: `{name}`; try {EXAMPLE}.")
    pairs = link_pairs(query)
    other, theirs = take_versus(pairs)
    if theirs and other is None:
        key = next(iter(theirs))
        raise ParameterError(f"The link says `vs.{key}` but not which kernel: add vs=NAME.")
    own = None if name in ladder else launch_of(unquote(name), pairs)
    source = pairs.pop("source", None)
    check = pairs.pop("check", None) if own is not None else None
    _refuse_unknown(pairs, None if own is not None else ladder[name], EXTRAS)
    theme, element = pairs.pop("theme", None), pairs.pop("element", None)
    if theme is not None:
        _one_of("theme is", theme, themes)
    view, large = pairs.pop("view", None), _switch(LARGE, pairs.pop(LARGE, "0"))
    if view is not None and view not in VIEW_NAMES:
        raise ParameterError(f"The link's view is `{view}`: use one of {', '.join(VIEW_NAMES)}.")
    page = pairs.pop("page", None)
    if page is not None and page not in PAGE_KEYS:
        raise ParameterError(f"The link's page is `{page}`: use one of {', '.join(PAGE_KEYS)}.")
    defaults = {} if own is not None else ladder[name].defaults
    given = _given(pairs, defaults)
    pages = _pages({key: pairs.pop(key) for key in PAGES if key in pairs and key not in defaults})
    at = pairs.pop("at", None)
    if at is not None:
        from core.trace.step_names import check_name  # it loads the emulator

        check_name(at)
    looks = {key: _switch(key, pairs.pop(key)) for key in LOOKS if key in pairs}
    numbers = {key: _number(key, value) for key, value in pairs.items()}
    places = {key: numbers.pop(key, None) for key in PLACES}
    versus = _versus(other, theirs, numbers, ladder) if other is not None else None
    return Moment(
        "" if own is not None else name,
        MappingProxyType(numbers),
        theme=theme,
        source=_unpack(source) if source is not None else None,
        versus=versus,
        own=own,
        check=check,
        at=at,
        element=parse_element(element) if element is not None else None,
        looks=MappingProxyType(looks),
        view=view,
        page=page,
        given=given,
        pages=MappingProxyType(pages),
        large=large,
        exact=True,
        **places,
    )


def _given(pairs: dict[str, str], parameters: Mapping[str, int]) -> Conditions:
    """What a record depends on besides its launch, its keys taken out of `pairs`."""
    own = [key for key in GIVEN if key in pairs and key not in parameters]
    texts = {key: pairs.pop(key) for key in own}
    given = Conditions()
    if "inputs" in texts:
        given = replace(given, inputs=_one_of("inputs are", texts["inputs"], INPUTS))
    if "order" in texts:
        from core.emulator.scheduling import ORDERS  # it loads the emulator

        given = replace(given, order=_one_of("order is", texts["order"], ORDERS))
    if "seed" in texts:
        given = replace(given, seed=_number("seed", texts["seed"]))
    return given


def _one_of(what: str, text: str, known: tuple[T, ...]) -> T:
    for one in known:
        if one == text:
            return one
    raise ParameterError(f"The link's {what} `{text}`: use {', '.join(map(str, known))}.")


def _pages(texts: Mapping[str, str]) -> dict[str, str | int]:
    found: dict[str, str | int] = {}
    for key, text in texts.items():
        if key in SIZES:
            found[key] = _number(key, text)
        elif key == "device":
            found[key] = _device(text)
        else:
            from core.models.ceilings import NAMES  # it loads the emulator

            found[key] = _one_of("ceiling is", text, tuple(NAMES))
    return found


def _device(text: str) -> str:
    """The name of a device, of a compute capability or of an example SM, as the pages list it."""
    from core.devices.device_table import find_capability

    try:
        capability, device = find_capability(text)
    except TilescopeError as error:
        raise ParameterError(f"The link's device is not known: {error}") from None
    return capability.name if device is None else device.name


def _bare(text: str) -> str:
    """The link of a whole command that was pasted, or of one in quotation marks."""
    text = text.strip()
    if told := re.search(r'\btilescope "([^"]+)"', text):  # in a text of `with_instructions`
        return told[1].strip()
    command = re.match(r"tilescope(?:\s+|:(?://)?)", text)
    return text[command.end() if command else 0 :].strip(" \"'")


def parse_element(text: str) -> Element:
    """An element such as A[0,2]. Raises ParameterError."""
    found = re.fullmatch(r"(\w+)\[ ?([0-9]{1,12}(?:, ?[0-9]{1,12})*) ?\]", text)
    if found is None:
        raise ParameterError(f"The link's element is `{text}`: write it as A[0,2].")
    index = tuple(int(part) for part in found[2].split(","))
    if max(index) > MOST:
        raise ParameterError(f"The link's element is `{text}`: {MOST} is the most in an index.")
    return found[1], index


def _refuse_unknown(
    keys: Iterable[str], rung: Rung | None, more: Iterable[str] = (), prefix: str = ""
) -> None:
    """Raise ParameterError for a key that a link to a rung, or to a file, cannot have.

    `more` are those that it can have besides the launch's own.
    """
    what = "a file" if rung is None else rung.name
    known = [*FIELDS, f"{ARGUMENT}NAME"] if rung is None else sorted(rung.defaults)
    known += more
    for key in keys:
        if key not in known:
            raise ParameterError(
                f"The link sets `{prefix}{key}`, unknown in a launch of {what}: "
                f"use {', '.join(known)}."
            )


def _versus(
    name: str, pairs: Mapping[str, str], first: Mapping[str, int], ladder: Ladder
) -> Configuration:
    """What is compared with; it has the first launch's parameters where the link says nothing."""
    values = dict(pairs)
    own = launch_of(name, values) if name not in ladder and names_file(name) else None
    source = values.pop("source", None)
    edited = _unpack(source) if source is not None else None
    if own is not None:
        _refuse_unknown(values, None, prefix=f"{VERSUS}.")
        return Configuration("", {}, edited, own)
    if name not in ladder:
        raise ParameterError(f"The link compares with no kernel of the ladder: `{name}`.")
    rung = ladder[name]
    _refuse_unknown(values, rung, prefix=f"{VERSUS}.")
    numbers = {key: _number(f"{VERSUS}.{key}", value) for key, value in values.items()}
    common = {key: value for key, value in first.items() if key in rung.defaults}
    return Configuration(name, {**rung.defaults, **common, **numbers}, edited)


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
    for key in (*GIVEN, *PAGES):
        value = getattr(session, key)
        if key not in taken and value != Session.settings()[key].default:
            parts.append(f"{key}={quote(str(value))}")
    if versus is not None:
        name = name_of(versus.own) if versus.own is not None else versus.rung
        parts += [f"{VERSUS}={name}", *_launch(versus, f"{VERSUS}.")]
    if session.page != ("step" if versus is None else "compare"):
        parts.append(f"page={session.page}")
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
        yield from _pairs_of(shown.own, prefix)
    for key, value in shown.parameters.items():
        yield f"{prefix}{key}={value}"
    if shown.source is not None:
        yield f"{prefix}source={pack(shown.source)}"


def _place(session: Session) -> Iterator[str]:
    yield f"step={session.step}"
    for key in ("block", "thread", "line"):
        if value := getattr(session, key):
            yield f"{key}={value}"
    for key in ("bank", "sector"):
        if (value := getattr(session, key)) is not None:
            yield f"{key}={value}"
    if session.element is not None:
        name, index = session.element
        yield f"element={quote(name)}[{','.join(map(str, index))}]"
    yield from (f"{key}=1" for key in LOOKS if getattr(session, key))
    if session.large:
        yield f"view={session.view or VIEW_NAMES[0]}"
        yield f"{LARGE}=1"


def show_pages(session: Session, moment: Moment) -> None:
    """Have Ceilings and Occupancy look at what a link says; what it does not say is as at first."""
    defaults = {key: Session.settings()[key].default for key in PAGES}
    session.update(**(defaults if moment.exact else {}) | dict(moment.pages))


def go_to(session: Session, moment: Moment) -> str:
    """Look where a link says, once its launch is shown.

    Returns a sentence about what the launch lacks, otherwise an empty string.
    """
    if moment.exact:
        plain: dict[str, Any] = dict.fromkeys(LOOKS, False)
        view = {} if moment.view is None else {"view": moment.view}
        plain |= dict.fromkeys(("line", "element", "bank", "sector"))
        session.update(thread=0, large=moment.large, **plain, **view)
    block = {} if moment.first_block is None else {"block": moment.first_block}
    session.update(playing=0, **block)
    missing = []
    trace = session.block_trace
    session.update(**moment.looks)
    if moment.exact and moment.step is None:
        session.step = session.first_access
    if moment.at is not None and trace is not None:
        from core.trace.step_names import step_named

        try:
            session.step = step_named(trace, moment.at)
        except ParameterError:
            missing.append(f"step {moment.at} in block {trace.block}")
    for key, count in (("step", session.n_steps), ("thread", trace.n_threads if trace else 0)):
        wanted = getattr(moment, key)
        if wanted is None or (key == "step" and moment.at is not None):
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
    if moment.bank is not None and moment.bank >= BANKS:
        missing.append(f"bank {moment.bank} (the last is bank={BANKS - 1})")
    elif moment.bank is not None:
        session.bank = moment.bank
    if moment.sector is not None:
        session.sector = moment.sector
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
    if key in (*PLACES, *SIZES, "seed") and number < 0:
        raise ParameterError(f"The link's {key} is {number}: it counts from 0.")
    if abs(number) > MOST:
        raise ParameterError(f"The link's {key} is {number}: {MOST} is the most.")
    return number


def _switch(key: str, value: str) -> bool:
    if value not in ("0", "1"):
        raise ParameterError(f"The link's {key} is `{value}`: use 1 for on, 0 for off.")
    return value == "1"


# A list of named moments, as a plain text of links: what a lecture goes through.
#
#     # The stride: 32 sectors
#     uncoalesced?n=64&step=39
#
# A line that begins with `#` names the link below it; empty lines mean nothing.


MOST_BYTES = 1 << 20  # of a file that is read


@dataclass(frozen=True)
class Named:
    """One moment: its link, and what it is called."""

    name: str
    link: str


def text_of(moments: Sequence[Named]) -> str:
    """The list as it stands in a file."""
    return "".join(f"# {moment.name}\n{moment.link}\n\n" for moment in moments)


def moments_in(text: str, check: Callable[[str], object]) -> tuple[Named, ...]:
    """The moments of a file's text; a link without a name is called by itself.

    `check(link)` raises ParameterError for what is not a link. Raises ParameterError with the line.
    """
    found, name = [], ""
    for number, line in enumerate(map(str.strip, text.splitlines()), start=1):
        if line.startswith("#"):
            name = line[1:].strip()
        elif line:
            try:
                check(line)
            except ParameterError as error:
                raise ParameterError(f"Line {number} is not a moment. {error}") from error
            found.append(Named(name or line, line))
            name = ""
    if not found:
        raise ParameterError("There is no moment in the file: put a link on each line.")
    return tuple(found)


def read(path: Path, check: Callable[[str], object]) -> tuple[Named, ...]:
    """The moments of a file. Raises TilescopeError."""
    try:
        text = read_plain(path, MOST_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise TilescopeError(f"{path} cannot be read: it is not text.") from None
    return moments_in(text, check)


def write(path: Path, moments: Sequence[Named]) -> None:
    """Put a list into a file. Raises TilescopeError."""
    replace_file(path, text_of(moments))
