"""Small expressions in data files, evaluated without ever running them as Python.

Whole-number expressions (`ceil_div(n, tile)`) say sizes and conditions; matrix expressions
(`A @ B.T`) say what a kernel computes. Only the syntax listed in the tables below is accepted.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import TilescopeError

ARITHMETIC: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
COMPARISON: Mapping[type[ast.AST], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_MATRIX: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.MatMult: operator.matmul,
}
Meaning = Callable[[Mapping[str, int]], Any]
"""Gives what an expression, or a part of one, is for the values of its names."""
MatrixMeaning = Callable[[Mapping[str, NDArray[Any]], Mapping[str, int]], Any]
"""The same for the arrays of its names, and the values of those in slices."""
_NO_VALUES: Mapping[str, int] = MappingProxyType({})
_FUNCTIONS: Mapping[str, Callable[..., int]] = {
    "ceil_div": lambda a, b: -(-a // b),
    "min": min,
    "max": max,
}


@dataclass(frozen=True)
class IntExpression:
    """Whole-number arithmetic: + - * // %, comparisons, and/or/not, min, max, ceil_div."""

    text: str
    _tree: ast.expr = field(init=False, repr=False, compare=False)
    _meaning: Meaning = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        tree, meaning = _read_int(self.text)
        object.__setattr__(self, "_tree", tree)
        object.__setattr__(self, "_meaning", meaning)

    def __reduce__(self) -> tuple[type[IntExpression], tuple[str]]:
        """Functions cannot be pickled: they are made anew from the text."""
        return IntExpression, (self.text,)

    @property
    def names(self) -> frozenset[str]:
        """The names whose values it needs."""
        functions = {id(n.func) for n in ast.walk(self._tree) if isinstance(n, ast.Call)}
        return frozenset(
            n.id for n in ast.walk(self._tree) if isinstance(n, ast.Name) and id(n) not in functions
        )

    def evaluate(self, values: Mapping[str, int]) -> int:
        """The value; a comparison gives 0 or 1. Raises TilescopeError for an unknown name."""
        try:
            return int(self._meaning(values))
        except KeyError as missing:
            raise _unknown_name(missing, self.text, values) from None
        except ZeroDivisionError:
            raise TilescopeError(f"`{self.text}` divides by zero.") from None


@dataclass(frozen=True)
class MatrixExpression:
    """Arithmetic over arrays: @, +, -, *, .T, and slices such as A[offset:] or A[::2, 1:n]."""

    text: str
    _meaning: MatrixMeaning = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_meaning", _matrix_meaning(_parse(self.text), self.text))

    def __reduce__(self) -> tuple[type[MatrixExpression], tuple[str]]:
        """Functions cannot be pickled: they are made anew from the text."""
        return MatrixExpression, (self.text,)

    def evaluate(
        self, arrays: Mapping[str, NDArray[Any]], values: Mapping[str, int] = _NO_VALUES
    ) -> NDArray[np.float64]:
        """The value, computed in float64; `values` are for the slices."""
        try:
            return np.asarray(self._meaning(arrays, values), dtype=np.float64)
        except KeyError as missing:
            raise _unknown_name(missing, self.text, {**arrays, **values}) from None


def fill_in(template: str, values: Mapping[str, int]) -> str:
    """Replace each `{expression}` in a sentence by its value."""
    return re.sub(
        r"\{([^{}]*)\}", lambda m: str(IntExpression(m.group(1)).evaluate(values)), template
    )


@lru_cache(1024)  # rungs have most of their expressions in common
def _read_int(text: str) -> tuple[ast.expr, Meaning]:
    tree = _parse(text)
    return tree, _meaning(tree, text)


def _parse(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        raise TilescopeError(f"`{text}` is not an expression.") from None


def _refuse(node: ast.AST, text: str) -> TilescopeError:
    part = ast.unparse(node) if isinstance(node, ast.expr) else type(node).__name__
    return TilescopeError(f"`{text}`: `{part}` is not allowed in an expression.")


def _unknown_name(missing: KeyError, text: str, known: Mapping[str, object]) -> TilescopeError:
    return TilescopeError(
        f"`{text}` uses the unknown name {missing.args[0]}; known are {', '.join(known)}."
    )


def _meaning(node: ast.expr, text: str) -> Meaning:
    """A function for each part: a form asks for thousands of values while it is filled.

    Raises TilescopeError for a part that may not stand in an expression.
    """
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return lambda values: value
        case ast.Name(name):
            return operator.itemgetter(name)
        case ast.BinOp(left, op, right) if type(op) in ARITHMETIC:
            return _of_two(ARITHMETIC[type(op)], _meaning(left, text), _meaning(right, text))
        case ast.UnaryOp(ast.USub() | ast.Not() as op, operand):
            inner = _meaning(operand, text)
            operate = operator.not_ if isinstance(op, ast.Not) else operator.neg
            return lambda values: operate(inner(values))
        case ast.Compare(left, ops, comparators) if all(type(o) in COMPARISON for o in ops):
            return _compared(ops, [_meaning(part, text) for part in (left, *comparators)])
        case ast.BoolOp(op, operands):
            parts = [_meaning(part, text) for part in operands]
            decide = all if isinstance(op, ast.And) else any
            return lambda values: decide(part(values) for part in parts)
        case ast.Call(ast.Name(name), [left, right], []) if name in _FUNCTIONS:
            return _of_two(_FUNCTIONS[name], _meaning(left, text), _meaning(right, text))
    raise _refuse(node, text)


def _of_two(operate: Callable[[Any, Any], Any], left: Meaning, right: Meaning) -> Meaning:
    return lambda values: operate(left(values), right(values))


def _compared(ops: list[ast.cmpop], terms: list[Meaning]) -> Meaning:
    """One comparison, or several in a row: a < b <= c. Every term is worked out, as it may fail."""
    if len(ops) == 1:
        return _of_two(COMPARISON[type(ops[0])], *terms)
    compare = [COMPARISON[type(op)] for op in ops]

    def holds(values: Mapping[str, int]) -> bool:
        found = [term(values) for term in terms]
        return all(c(a, b) for c, a, b in zip(compare, found, found[1:], strict=False))

    return holds


def _matrix_meaning(node: ast.expr, text: str) -> MatrixMeaning:
    match node:
        case ast.Name(name):
            return lambda arrays, values: arrays[name].astype(np.float64)
        case ast.BinOp(left, op, right) if type(op) in _MATRIX:
            operate = _MATRIX[type(op)]
            one, other = _matrix_meaning(left, text), _matrix_meaning(right, text)
            return lambda arrays, values: operate(one(arrays, values), other(arrays, values))
        case ast.Attribute(inner, "T"):
            plain = _matrix_meaning(inner, text)
            return lambda arrays, values: plain(arrays, values).T
        case ast.Subscript(inner, index):
            whole = _matrix_meaning(inner, text)
            parts = index.elts if isinstance(index, ast.Tuple) else [index]
            slices = [_slice(part, text) for part in parts]
            return lambda arrays, values: whole(arrays, values)[tuple(s(values) for s in slices)]
    raise _refuse(node, text)


def _slice(part: ast.expr, text: str) -> Callable[[Mapping[str, int]], slice]:
    if not isinstance(part, ast.Slice):
        raise _refuse(part, text)
    bounds = [
        None if bound is None else _meaning(bound, text)
        for bound in (part.lower, part.upper, part.step)
    ]
    return lambda values: slice(*(None if bound is None else bound(values) for bound in bounds))
