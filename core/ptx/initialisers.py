"""Initial values of variables: numbers, nested lists, and addresses of other symbols."""

from __future__ import annotations

from dataclasses import dataclass

from core.errors import PtxSyntaxError, UnsupportedPtx
from core.ptx.ast import Relocation
from core.ptx.cursor import Cursor
from core.ptx.types import PtxType


@dataclass
class _Values:
    data: bytearray
    relocations: list[Relocation]


def parse_initialiser(
    cursor: Cursor, kind: PtxType, count: int
) -> tuple[bytes, tuple[Relocation, ...]]:
    """The bytes after `=`, at most `count` elements (0: any number), and the addresses to fill in.

    What follows them in the variable is zero.

    A symbol may stand as `name`, `name+offset`, `generic(name)` or `mask(0xFF…)(name)` (PTX ISA,
    "Initializers"). Raises `UnsupportedPtx` for anything else.
    """
    found = _Values(bytearray(), [])
    if cursor.peek().text == "{":
        _list(cursor, kind, found)
    else:
        _element(cursor, kind, found)
    if count and len(found.data) > count * kind.nbytes:
        raise PtxSyntaxError(cursor.previous().line, "more values than the variable has elements.")
    return bytes(found.data), tuple(found.relocations)


def _list(cursor: Cursor, kind: PtxType, found: _Values) -> None:
    cursor.expect("{")
    while not cursor.accept("}"):
        if cursor.peek().text == "{":
            _list(cursor, kind, found)
        else:
            _element(cursor, kind, found)
        if cursor.peek().text != "}":
            cursor.expect(",")


def _element(cursor: Cursor, kind: PtxType, found: _Values) -> None:
    token = cursor.peek()
    if token.kind == "number" or token.text == "-":
        value = cursor.integer_or_bits(kind.bits) & (2**kind.bits - 1)
        found.data += value.to_bytes(kind.nbytes, "little")
        return
    if token.kind != "word":
        raise UnsupportedPtx(token.line, f"= {token.text}", "is an initialiser we cannot read")
    found.relocations.append(_symbol(cursor, len(found.data), kind))
    found.data += bytes(kind.nbytes)


def _symbol(cursor: Cursor, position: int, kind: PtxType) -> Relocation:
    name = cursor.take("word").text
    shift, nbytes = 0, kind.nbytes
    if name == "mask":  # one byte of the address, chosen by the mask
        cursor.expect("(")
        mask = cursor.integer_or_bits()
        cursor.expect(")")
        shift = (mask & -mask).bit_length() - 1
        cursor.expect("(")
        name = cursor.take("word").text
        if name == "generic":
            name = _in_parentheses(cursor)
        cursor.expect(")")
    elif name == "generic":
        name = _in_parentheses(cursor)
    addend = 0
    while cursor.peek().text in ("+", "-"):
        sign = -1 if cursor.take().text == "-" else 1
        addend += sign * cursor.integer_or_bits()
    return Relocation(position, nbytes, name, addend, shift)


def _in_parentheses(cursor: Cursor) -> str:
    cursor.expect("(")
    name = cursor.take("word").text
    cursor.expect(")")
    return name
