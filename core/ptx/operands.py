"""Operands of PTX instructions, and the scopes that their names live in."""

from __future__ import annotations

from dataclasses import replace

from core.errors import PtxSyntaxError, UnsupportedPtx
from core.ptx.ast import (
    Address,
    Group,
    Immediate,
    Negated,
    Operand,
    Pair,
    Register,
    Selected,
    Special,
    Symbol,
    Variable,
    Vector,
)
from core.ptx.cursor import Cursor, number
from core.ptx.lexer import Token
from core.ptx.types import PtxType

# PTX ISA, "Special Registers"; the pm family is left out on purpose.
SPECIALS = frozenset(
    [f"%{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"]
    + [f"%{n}.{a}" for n in ("clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid")
       for a in "xyz"]
    + ["%laneid", "%warpid", "%nwarpid", "%smid", "%nsmid", "%gridid", "%clock", "%clock64",
       "%clock_hi", "%globaltimer", "%globaltimer_lo", "%globaltimer_hi", "%lanemask_eq",
       "%lanemask_le", "%lanemask_lt", "%lanemask_ge", "%lanemask_gt", "%dynamic_smem_size",
       "%total_smem_size", "%is_explicit_cluster", "%cluster_ctarank", "%cluster_nctarank",
       "%aggr_smem_size", "%current_graph_exec"]
    + [f"%reserved_smem_offset_{n}" for n in ("begin", "end", "cap", "0", "1")]
    + [f"%envreg{n}" for n in range(32)]
)  # fmt: skip


class Scope:
    """Names declared in a function; an inner `{ … }` may declare a name again.

    Every register of the function ends up in `registers` under a name of its own: `%tmp` declared
    in two blocks becomes `%tmp` and `%tmp#1`.
    """

    def __init__(self) -> None:
        self.registers: dict[str, PtxType] = {}
        self.vectors: dict[str, tuple[str, ...]] = {}  # a vector register's elements
        self._names: list[dict[str, str]] = [{}]
        self._used: dict[str, int] = {}

    def push(self) -> None:
        """Enters a `{`."""
        self._names.append({})

    def pop(self) -> None:
        """Leaves a `}`."""
        self._names.pop()

    def _unique(self, name: str) -> str:
        count = self._used.get(name, 0)
        self._used[name] = count + 1
        unique = f"{name}#{count}" if count else name
        self._names[-1][name] = unique
        return unique

    def declare_register(self, name: str, kind: PtxType, vector: int = 1) -> None:
        """Declares a register, or a vector of them (`.v2`, `.v4`), in the innermost scope."""
        unique = self._unique(name)
        if vector == 1:
            self.registers[unique] = kind
            return
        self.vectors[unique] = tuple(f"{unique}.{part}" for part in "xyzw"[:vector])
        self.registers.update(dict.fromkeys(self.vectors[unique], kind))

    def declare_variable(self, variable: Variable) -> Variable:
        """Declares a variable in the innermost scope; returns it under its unique name."""
        return replace(variable, name=self._unique(variable.name))

    def resolve(self, name: str) -> str:
        """The unique name that `name` stands for here, or `name` itself.

        A name whose scope has ended stands for nothing: what comes back is declared nowhere.
        """
        for names in reversed(self._names):
            if name in names:
                return names[name]
        return f"{name}#" if name in self._used else name

    def register(self, token: Token) -> Register:
        """The register that `token` names; `PtxSyntaxError` where there is none."""
        name = self.resolve(token.text)
        if name not in self.registers:
            raise PtxSyntaxError(token.line, f"{token.text} is not a register declared here.")
        return Register(name)


def parse_operand(cursor: Cursor, scope: Scope) -> Operand:
    """The operand at the cursor, `p|q` pairs included."""
    operand = _single(cursor, scope)
    if cursor.accept("|"):
        return Pair(operand, _single(cursor, scope))
    return operand


def _single(cursor: Cursor, scope: Scope) -> Operand:
    token = cursor.peek()
    if cursor.accept("["):
        return _address(cursor, scope)
    if cursor.accept("{"):
        return Vector(_list(cursor, scope, "}"))
    if cursor.accept("("):
        return Group(_list(cursor, scope, ")"))
    if cursor.accept("!"):
        return Negated(_single(cursor, scope))
    if token.kind == "number" or token.text == "-":
        return _immediate(cursor)
    return _named(cursor, scope)


def _list(cursor: Cursor, scope: Scope, closing: str) -> tuple[Operand, ...]:
    elements: list[Operand] = []
    while not cursor.accept(closing):
        elements.append(parse_operand(cursor, scope))
        if cursor.peek().text != closing:
            cursor.expect(",")
    return tuple(elements)


def _immediate(cursor: Cursor) -> Immediate:
    negative = cursor.accept("-")
    token = cursor.take("number")
    value = number(token)
    prefix = token.text[:2].lower()
    if prefix in ("0f", "0d"):
        bits = 32 if prefix == "0f" else 64
        return Immediate(value ^ (1 << (bits - 1)) if negative else value, bits)  # type: ignore[operator]
    return Immediate(-value if negative else value)


def _named(cursor: Cursor, scope: Scope) -> Operand:
    token = cursor.take("word")
    if token.text in SPECIALS:
        return Special(token.text)
    if token.text == "WARP_SZ":
        return Immediate(32)
    name = scope.resolve(token.text)
    if name in scope.registers:
        return Register(name)
    if name in scope.vectors:
        return Vector(tuple(Register(element) for element in scope.vectors[name]))
    part = _part(token, scope)
    if part is not None:
        return part
    if token.text.startswith("%"):
        raise PtxSyntaxError(token.line, f"{token.text} is not a register declared here.")
    if token.text == "_":
        return Symbol("_")
    return Symbol(name, _offset(cursor))


def _part(token: Token, scope: Scope) -> Operand | None:
    """An element of a vector register (`v.x`, `v.r`), or a part of a register (`a.b0`, `a.h1`)."""
    base, _, part = token.text.rpartition(".")
    name = scope.resolve(base)
    if name in scope.vectors and part in (*"xyzw", *"rgba"):
        return Register(f"{name}.{'xyzw'['xyzwrgba'.index(part) % 4]}")
    if name in scope.registers and part in ("b0", "b1", "b2", "b3", "h0", "h1"):
        return Selected(Register(name), part)
    return None


def _offset(cursor: Cursor) -> int:
    total = 0
    while cursor.peek().text in ("+", "-"):
        sign = -1 if cursor.take().text == "-" else 1
        total += sign * cursor.integer_or_bits()
    return total


def _address(cursor: Cursor, scope: Scope) -> Address:
    token = cursor.peek()
    base: Register | Symbol | None = None
    if token.kind == "word":
        cursor.take()
        name = scope.resolve(token.text)
        base = Register(name) if name in scope.registers else Symbol(name)
        offset = _offset(cursor)
    else:
        offset = cursor.integer_or_bits() + _offset(cursor)
    if cursor.peek().text == ",":
        raise UnsupportedPtx(token.line, f"[{token.text}, …]", "is a texture's address")
    cursor.expect("]")
    return Address(base, offset)
