"""PTX text to tokens. Debug sections are cut out first: `core.ptx.debug` reads those."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from core.cancelling import check
from core.errors import PtxSyntaxError

_TOKEN = re.compile(
    r"""
    (?:(?P<word>\.[A-Za-z_]\w*|[A-Za-z_$%](?:[\w$.]+|::)*)
  | (?P<space>\s+|//[^\n]*|/\*.*?\*/)
  | (?P<string>"(?:[^"\\\n]|\\.)*")
  | (?P<number>0[fF][0-9a-fA-F]{8}\b|0[dD][0-9a-fA-F]{16}\b|0[xX][0-9a-fA-F]+U?|0[bB][01]+U?
      |\d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+U?)
  | (?P<punctuation>[{}()\[\],;:<>=+\-*/!|&~@^?]))[ \t]*
    """,
    re.VERBOSE | re.DOTALL,
)
_SECTION = ".section"
_SECTION_HEAD = re.compile(r"\.section\s+(\S+)\s*\{")


class Token(NamedTuple):
    """`kind` is "word", "number", "string", "punctuation" or "end"."""

    kind: str
    text: str
    line: int
    start: int  # offset in the text


@dataclass(frozen=True, slots=True)
class Section:
    """A `.section name { … }`, which begins a line: offsets in the text."""

    name: str
    start: int
    body: int  # behind the opening brace
    end: int  # behind the closing one


def sections(text: str) -> Iterator[Section]:
    """The sections of PTX `text`, in order.

    One may have megabytes. It is searched with `find`, since one match of an expression would hold
    Python's lock for too long.
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
    """Behind the brace that closes what is open at `at`; -1 without one.

    It stands in the same line (`.section .debug_loc { }`), or first in a later one.
    """
    line_end = text.find("\n", at)
    line = text[at : line_end if line_end >= 0 else len(text)].partition("//")[0]
    if "}" in line:
        return at + line.index("}") + 1
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
            assert kind is not None
            yield Token(kind, match[kind], line, start)
            if kind == "string":  # a backslash may stand before the end of a line
                line += text.count("\n", start, position)
    if position != len(text):
        raise PtxSyntaxError(line, f"unexpected character {text[position]!r}.")
    yield Token("end", "", line, position)


# A position in a list of tokens, with the few moves that the PTX parser makes.


class Cursor:
    """Reads tokens one after another; every mismatch is a `PtxSyntaxError` with its line."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._next = 0

    def at_end(self) -> bool:
        """True when only the end is left."""
        return self.peek().kind == "end"

    def peek(self, ahead: int = 0) -> Token:
        """The token `ahead` of the next one, without taking it."""
        try:
            return self._tokens[self._next + ahead]
        except IndexError:
            return self._tokens[-1]

    def previous(self) -> Token:
        """The token taken last."""
        return self._tokens[self._next - 1]

    def take(self, kind: str | None = None) -> Token:
        """Takes the next token; it must be of `kind` if one is given."""
        token = self.peek()
        if token.kind == "end":
            raise PtxSyntaxError(token.line, "the text ends in the middle of a statement.")
        if kind is not None and token.kind != kind:
            raise PtxSyntaxError(token.line, f"expected a {kind}, found {token.text!r}.")
        self._next += 1
        return token

    def accept(self, text: str) -> bool:
        """Takes the next token if it is `text`."""
        token = self._tokens[self._next]
        if token.text != text or token.kind == "string":
            return False
        self._next += 1
        return True

    def expect(self, text: str) -> Token:
        """Takes the next token, which must be `text`."""
        token = self.take()
        if token.text != text:
            raise PtxSyntaxError(token.line, f"expected {text!r}, found {token.text!r}.")
        return token

    def rest_of_line(self, line: int) -> str:
        """Takes every token that is left on `line` and returns them joined by spaces."""
        taken = []
        while self.peek().line == line and not self.at_end():
            taken.append(self.take().text)
        return " ".join(taken)

    def skip_parentheses(self) -> None:
        """Takes a balanced `( … )`."""
        self.expect("(")
        depth = 1
        while depth:
            text = self.take().text
            depth += (text == "(") - (text == ")")

    def integer(self) -> int:
        """A whole number, as sizes and positions are."""
        token = self.take("number")
        value = number(token)
        if not isinstance(value, int):
            raise PtxSyntaxError(token.line, f"expected a whole number, found {token.text!r}.")
        return value

    def skip_statement(self) -> str:
        """Takes everything up to and including the next `;`, and returns it without that."""
        taken = []
        while not self.accept(";"):
            taken.append(self.take().text)
        return " ".join(taken)

    def integer_or_bits(self, bits: int = 64) -> int:
        """A number with an optional minus, as an integer; a float as its pattern of `bits` bits."""
        negative = self.accept("-")
        token = self.take("number")
        value = number(token)
        if isinstance(value, float):
            pattern = {16: "<e", 32: "<f"}.get(bits, "<d")
            try:
                packed = struct.pack(pattern, -value if negative else value)
            except OverflowError as error:
                raise PtxSyntaxError(token.line, f"{token.text} is too large.") from error
            return int.from_bytes(packed, "little")
        return -value if negative else value


def number(token: Token) -> int | float:
    """The value of a number token; `0f…` and `0d…` give their bit pattern as an integer."""
    text = token.text
    if text[:2] in ("0f", "0F", "0d", "0D"):
        return int(text[2:], 16)
    digits = text.rstrip("U")
    try:
        if digits[:2].lower() in ("0x", "0b"):
            return int(digits, 0)
        if digits.isdigit():
            octal = len(digits) > 1 and digits[0] == "0"
            return int(digits, 8 if octal else 10)
        return float(digits)
    except ValueError as error:
        raise PtxSyntaxError(token.line, f"{text!r} is not a number.") from error
