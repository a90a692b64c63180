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
_SECTION = re.compile(r"^\s*\.section\s+\S+\s*\{.*?^\s*\}", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Token:
    """`kind` is "word", "number", "string", "punctuation" or "end"."""

    kind: str
    text: str
    line: int
    start: int  # offset in the text


def without_sections(text: str) -> str:
    """The text with each `.section … { … }` blanked out, line numbers kept."""
    return _SECTION.sub(lambda m: "\n" * m.group().count("\n"), text)


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
