"""PTX text to tokens. Debug sections are cut out first: `core.ptx.dwarf` reads those."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from core.cancelling import check
from core.errors import PtxSyntaxError

_TOKEN = re.compile(
    r"""
    (?P<space>\s+|//[^\n]*|/\*.*?\*/)
  | (?P<string>"(?:[^"\\\n]|\\.)*")
  | (?P<number>0[fF][0-9a-fA-F]{8}\b|0[dD][0-9a-fA-F]{16}\b|0[xX][0-9a-fA-F]+U?|0[bB][01]+U?
      |\d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+U?)
  | (?P<word>\.[A-Za-z_]\w*|[A-Za-z_$%](?:[\w$.%]|::)*)
  | (?P<punctuation>[{}()\[\],;:<>=+\-*/!|&~@^?])
    """,
    re.VERBOSE | re.DOTALL,
)
_SECTION = ".section"
_SECTION_HEAD = re.compile(r"\.section\s+(\S+)\s*\{")


@dataclass(frozen=True, slots=True)
class Token:
    """`kind` is "word", "number", "string", "punctuation" or "end"."""

    kind: str
    text: str
    line: int
    start: int  # offset in the text


@dataclass(frozen=True, slots=True)
class Section:
    """A `.section name { … }`, which stands in lines of its own: offsets in the text."""

    name: str
    start: int
    body: int  # behind the opening brace
    end: int  # behind the closing one


def sections(text: str) -> Iterator[Section]:
    """The sections of PTX `text`, in order.

    One may have megabytes. Searched for with `find`, it does not keep Python's lock for long, as
    one match of an expression over all of it does.
    """
    at = text.find(_SECTION)
    while at >= 0:
        check()
        head = _SECTION_HEAD.match(text, at) if _begins_line(text, at) else None
        end = _closing(text, head.end()) if head else -1
        if head and end > 0:
            yield Section(head[1], at, head.end(), end)
        at = text.find(_SECTION, max(end, at + 1))


def _begins_line(text: str, at: int) -> bool:
    before = at - 1
    while before >= 0 and text[before] in " \t\r":
        before -= 1
    return before < 0 or text[before] == "\n"


def _closing(text: str, at: int) -> int:
    """Behind the next closing brace that stands first in its line; -1 without one."""
    found = text.find("}", at)
    while found >= 0 and not _begins_line(text, found):
        found = text.find("}", found + 1)
    return found + 1 if found >= 0 else -1


def without_sections(text: str) -> str:
    """The text with each `.section … { … }` blanked out, line numbers kept."""
    kept: list[str] = []
    done = 0
    for section in sections(text):
        lines = text.count("\n", section.start, section.end)
        kept += (text[done : section.start], "\n" * lines)
        done = section.end
    return "".join((*kept, text[done:]))


def tokens(text: str) -> Iterator[Token]:
    """The tokens of PTX `text`, then one of kind "end".

    Raises `PtxSyntaxError` at a character that no token can start with.
    """
    line, position = 1, 0
    for match in _TOKEN.finditer(text):
        start = match.start()
        if start != position:
            break
        position = match.end()
        kind = match.lastgroup
        if kind == "space":
            check()
            line += text.count("\n", start, position)
        else:
            yield Token(kind or "", match.group(), line, start)
            if kind == "string":  # a backslash may stand before the end of a line
                line += text.count("\n", start, position)
    if position != len(text):
        raise PtxSyntaxError(line, f"unexpected character {text[position]!r}.")
    yield Token("end", "", line, position)
