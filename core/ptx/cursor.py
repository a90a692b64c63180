"""A position in a list of tokens, with the few moves that the PTX parser makes."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from core.errors import PtxSyntaxError
from core.ptx.lexer import Token


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
