"""Declarations of PTX: the variables of a state space, and the parameters of a function."""

from __future__ import annotations

from core.errors import PtxSyntaxError, UnsupportedPtx
from core.ptx.ast import Relocation, Variable
from core.ptx.cursor import Cursor
from core.ptx.initialisers import parse_initialiser
from core.ptx.types import TYPES, PtxType

SPACES = {".global": "global", ".const": "const", ".shared": "shared", ".local": "local"}
_MOST_BYTES = 1 << 31  # of one variable, as nvcc has it


def variables(cursor: Cursor, *, extern: bool) -> list[Variable]:
    """`.space .align N .type name[dims] = {…}, …;`"""
    space = SPACES[cursor.take().text]
    align, kind, vector = alignment_and_type(cursor)
    found = []
    while True:
        found.append(variable(cursor, space, align, kind, vector, extern=extern))
        if cursor.take().text == ";":
            return found


def parameters(cursor: Cursor) -> tuple[Variable, ...]:
    """`(.param .type name, …)`, the formal parameters or results of a function."""
    cursor.expect("(")
    found: list[Variable] = []
    while not cursor.accept(")"):
        token = cursor.take("word")
        if token.text not in (".param", ".reg"):
            raise PtxSyntaxError(token.line, f"expected .param, found {token.text!r}.")
        align, kind, vector = alignment_and_type(cursor)
        found.append(variable(cursor, token.text[1:], align, kind, vector))
        cursor.accept(",")
    return tuple(found)


def alignment_and_type(cursor: Cursor) -> tuple[int, PtxType, int]:
    """What stands before a name: the alignment (0: the type's own), type and vector length."""
    align, vector = 0, 1
    while True:
        token = cursor.take("word")
        if token.text == ".align":
            align = cursor.integer()
        elif token.text in (".v2", ".v4"):
            vector = int(token.text[2:])
        elif token.text == ".attribute":
            cursor.skip_parentheses()
        elif token.text[1:] in TYPES:
            kind = TYPES[token.text[1:]]
            return _pointer_attributes(cursor, align), kind, vector
        elif token.text not in (".ptr", ".global", ".const", ".shared", ".local"):
            raise UnsupportedPtx(token.line, token.text)


def _pointer_attributes(cursor: Cursor, align: int) -> int:
    """`.ptr .space .align N` after a parameter's type: of what is pointed to, not of it."""
    while cursor.peek().text in (".ptr", ".global", ".const", ".shared", ".local", ".align"):
        if cursor.take().text == ".align":
            cursor.take("number")
    return align


def variable(
    cursor: Cursor, space: str, align: int, kind: PtxType, vector: int, *, extern: bool = False
) -> Variable:
    """`name[dims] = {…}`."""
    name = cursor.take("word")
    count, unsized = vector, False
    while cursor.accept("["):
        if cursor.accept("]"):
            unsized = True
            continue
        count *= cursor.integer()
        cursor.expect("]")
    if count * kind.nbytes > _MOST_BYTES:
        raise PtxSyntaxError(
            name.line,
            f"{name.text} has {count * kind.nbytes:,} bytes; a variable can have {_MOST_BYTES:,}.",
        )
    initial: bytes | None = None
    relocations: tuple[Relocation, ...] = ()
    if cursor.accept("="):
        initial, relocations = parse_initialiser(cursor, kind, 0 if unsized else count)
    nbytes = 0 if unsized and initial is None else count * kind.nbytes
    if initial is not None and unsized:
        nbytes = len(initial)
    return Variable(
        name.text, space, kind, nbytes, align or kind.nbytes, initial, extern, relocations
    )
