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
    _tree: ast.expr = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        tree = _parse(self.text)
        _check_matrix(tree, self.text)
        object.__setattr__(self, "_tree", tree)

    def evaluate(
        self, arrays: Mapping[str, NDArray[Any]], values: Mapping[str, int] = _NO_VALUES
    ) -> NDArray[np.float64]:
        """The value, computed in float64; `values` are for the slices."""
        try:
            return np.asarray(_matrix_value(self._tree, arrays, values), dtype=np.float64)
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
    _check_int(tree, text)
    return tree, _meaning(tree)


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


def _check_int(node: ast.expr, text: str) -> None:
    match node:
        case ast.Constant(value=bool()):
            raise _refuse(node, text)
        case ast.Constant(value=int()) | ast.Name():
            return
        case ast.BinOp(left, op, right) if type(op) in ARITHMETIC:
            parts = [left, right]
        case ast.UnaryOp(ast.USub() | ast.Not(), operand):
            parts = [operand]
        case ast.Compare(left, ops, comparators) if all(type(o) in COMPARISON for o in ops):
            parts = [left, *comparators]
        case ast.BoolOp(_, operands):
            parts = operands
        case ast.Call(ast.Name(name), [_, _] as arguments, []) if name in _FUNCTIONS:
            parts = list(arguments)
        case _:
            raise _refuse(node, text)
    for part in parts:
        _check_int(part, text)


def _meaning(node: ast.expr) -> Meaning:
    """A function for each part: a form asks for thousands of values while it is filled."""
    match node:
        case ast.Constant(value):
            return lambda values: value
        case ast.Name(name):
            return operator.itemgetter(name)
        case ast.BinOp(left, op, right):
            return _of_two(ARITHMETIC[type(op)], _meaning(left), _meaning(right))
        case ast.UnaryOp(ast.Not(), operand):
            inner = _meaning(operand)
            return lambda values: not inner(values)
        case ast.UnaryOp(_, operand):
            inner = _meaning(operand)
            return lambda values: -inner(values)
        case ast.Compare(left, ops, comparators):
            return _compared(ops, [_meaning(part) for part in (left, *comparators)])
        case ast.BoolOp(op, operands):
            parts = [_meaning(part) for part in operands]
            decide = all if isinstance(op, ast.And) else any
            return lambda values: decide(part(values) for part in parts)
        case ast.Call(ast.Name(name), [left, right]):
            return _of_two(_FUNCTIONS[name], _meaning(left), _meaning(right))
    raise AssertionError(node)  # _check_int let it through


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


def _check_matrix(node: ast.expr, text: str) -> None:
    match node:
        case ast.Name():
            return
        case ast.BinOp(left, op, right) if type(op) in _MATRIX:
            _check_matrix(left, text)
            _check_matrix(right, text)
        case ast.Attribute(inner, "T"):
            _check_matrix(inner, text)
        case ast.Subscript(inner, index):
            _check_matrix(inner, text)
            for part in _slices(index, text):
                for bound in _bounds(part):
                    if bound is not None:
                        _check_int(bound, text)
        case _:
            raise _refuse(node, text)


def _matrix_value(
    node: ast.expr, arrays: Mapping[str, NDArray[Any]], values: Mapping[str, int]
) -> Any:
    match node:
        case ast.Name(name):
            return arrays[name].astype(np.float64)
        case ast.BinOp(left, op, right):
            operate = _MATRIX[type(op)]
            return operate(
                _matrix_value(left, arrays, values), _matrix_value(right, arrays, values)
            )
        case ast.Attribute(inner, _):
            return _matrix_value(inner, arrays, values).T
        case ast.Subscript(inner, index):
            slices = tuple(
                slice(*(None if bound is None else _meaning(bound)(values) for bound in ends))
                for ends in map(_bounds, _slices(index))
            )
            return _matrix_value(inner, arrays, values)[slices]
    raise AssertionError(node)


def _slices(index: ast.expr, text: str = "") -> list[ast.Slice]:
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    for part in parts:
        if not isinstance(part, ast.Slice):
            raise _refuse(part, text)
    return [part for part in parts if isinstance(part, ast.Slice)]


def _bounds(part: ast.Slice) -> tuple[ast.expr | None, ast.expr | None, ast.expr | None]:
    return part.lower, part.upper, part.step
