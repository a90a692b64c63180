"""Expressions of a lesson, evaluated by walking their syntax tree: nothing in them is ever run.

They look like Python's: numbers, texts, lists, arithmetic, comparisons, `and or not`,
`a if b else c`, `[x for x in range(9) if …]`, elements of arrays (`A[0,2]`), and calls of a closed
set of words. Their length, depth, steps and results are bounded, so that a stranger's lesson cannot
stop the program.
"""

from __future__ import annotations

import ast
import math
import operator
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from core.control_characters import visible
from core.errors import TilescopeError
from core.ladder.expressions import ARITHMETIC, COMPARISON
from core.trace.access import label
from core.wording import counted, listing, number

MOST_CHARACTERS = 600  # of an expression
MOST_DEPTH = 24  # of its tree
MOST_STEPS = 50_000  # parts that one evaluation works out
MOST_ITEMS = 4096  # of a list
MOST_NUMBER = 10**15  # beyond which whole numbers are refused


class LessonError(TilescopeError):
    """A lesson file is wrong; the sentence says where, and what to do, on one line."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(visible(message).split()))


@dataclass(frozen=True, order=True)
class Element:
    """An element of an array, `A[0,2]`."""

    array: str
    index: tuple[int, ...]

    def __str__(self) -> str:
        return label(self.array, self.index)


Value = int | float | bool | str | Element | None | list[Any]
"""What an expression gives; lists hold values."""


class Scope(Protocol):
    """What an expression is evaluated in."""

    @property
    def in_window(self) -> bool:
        """Whether its sentences are read in the window, whose keys and views they may name."""

    def names(self) -> Mapping[str, Value]:
        """The values of names: the launch's parameters, and those of the step."""

    def call(self, word: str, given: list[Value], named: Mapping[str, Value]) -> Value:
        """What a word of the vocabulary says. Raises TilescopeError."""


CheckCall = Callable[[str, int, frozenset[str]], str]
"""What is wrong with a call of a word, for so many values and these names; "" where nothing is."""
_ARITHMETIC = {**ARITHMETIC, ast.Div: operator.truediv}
_COMPARISON: Mapping[type[ast.AST], Callable[[Any, Any], bool]] = {
    **COMPARISON,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}


@dataclass(frozen=True)
class Expression:
    """One expression. Raises LessonError where it is none, or uses what there is not."""

    text: str
    _tree: ast.expr = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_tree", _parse(self.text))

    def check(self, check_call: CheckCall, names: frozenset[str]) -> None:
        """Raise LessonError for a word, a name or a number of arguments that there is not."""
        _Check(self.text, check_call).expression(self._tree, names)

    def value(self, scope: Scope) -> Value:
        """What it gives. Raises TilescopeError."""
        return _Evaluation(self.text, scope).value(self._tree)

    def number(self, scope: Scope) -> float | int:
        """The same, which must be a number."""
        found = self.value(scope)
        if isinstance(found, bool) or not isinstance(found, int | float):
            raise LessonError(f"`{self.text}` gives {shown(found)}, where a number is wanted.")
        return found

    def holds(self, scope: Scope) -> bool:
        """The same, which must be true or false."""
        found = self.value(scope)
        if not isinstance(found, bool):
            raise LessonError(
                f"`{self.text}` gives {shown(found)}, where true or false is wanted: compare it."
            )
        return found


@dataclass(frozen=True)
class Sentence:
    """A text in which `{expression}` is computed; `{{` and `}}` are braces.

    Of `[[Click|Name]]` the window says the first part, and paper, terminal and question banks the
    second. Either may be empty.
    """

    text: str
    _pieces: tuple[tuple[str | Expression, ...], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        pieces = tuple(tuple(_parts(piece)) for piece in _EITHER.split(self.text))
        object.__setattr__(self, "_pieces", pieces)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """Those in the text."""
        return tuple(p for piece in self._pieces for p in piece if isinstance(p, Expression))

    @property
    def differs(self) -> bool:
        """Whether it reads otherwise where there is no window."""
        return len(self._pieces) > 1

    def said(self, scope: Scope) -> str:
        """The sentence with its figures. Raises TilescopeError."""
        silent = 2 if scope.in_window else 1
        told = (part for n, piece in enumerate(self._pieces) if n % 3 != silent for part in piece)
        return "".join(p if isinstance(p, str) else shown(p.value(scope)) for p in told)


# What stands before each, and what its two halves are, come in turn where a text is split by it.
_EITHER = re.compile(r"\[\[((?:(?!\]\]|\|).)*)\|((?:(?!\]\]).)*)\]\]", re.DOTALL)
_PART = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]|[^{}]+")


def _parts(text: str) -> Iterator[str | Expression]:
    for found in _PART.finditer(text):
        if found[1] is not None:
            yield Expression(found[1])
        elif found[0] in ("{", "}"):
            raise LessonError(f"`{text[:60]}` has a single `{found[0]}`: write it twice.")
        else:
            yield found[0][0] if found[0] in ("{{", "}}") else found[0]


def shown(value: Value) -> str:
    """A value as sentences have it: 16,384, 12.5, A[0,2], lanes 0 and 31."""
    match value:
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return number(value) if value >= 0 else f"-{number(-value)}"
        case list():
            return listing([shown(item) for item in value])
        case None:
            return "nothing"
    return str(value)


def _ceil_div(a: int, b: int) -> int:
    return -(-a // b)


def _rounded(value: float, digits: int = 0) -> float | int:
    found = round(value, max(-15, min(digits, 15)))  # a power of ten is worked out for it
    return int(found) if digits <= 0 or found == int(found) else found


FUNCTIONS: Mapping[str, tuple[Callable[..., Any], range, str]] = {
    "abs": (abs, range(1, 2), "the size of a number without its sign"),
    "ceil_div": (_ceil_div, range(2, 3), "the quotient, rounded up"),
    "counted": (counted, range(2, 3), 'a number with its noun: `counted(2, "line")` is "2 lines"'),
    "gcd": (math.gcd, range(2, 3), "the greatest common divisor"),
    "len": (len, range(1, 2), "how many items a list has"),
    "max": (max, range(1, 9), "the largest of a list, or of several numbers"),
    "min": (min, range(1, 9), "the smallest of a list, or of several numbers"),
    "range": (range, range(1, 4), "the whole numbers from the first up to, without, the second"),
    "round": (_rounded, range(1, 3), "a number rounded to so many places, none if left out"),
    "sorted": (sorted, range(1, 2), "a list in ascending order"),
    "sum": (sum, range(1, 2), "the sum of a list"),
    "text": (shown, range(1, 2), "a value as it is written in a sentence"),
}
"""Functions that ask nothing of a launch: the function, how many arguments, what it gives."""


# Reading an expression.


def _parse(text: str) -> ast.expr:
    if len(text) > MOST_CHARACTERS:
        raise LessonError(
            f"`{text[:40]}…` has {len(text)} characters, and {MOST_CHARACTERS} is the most."
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `1if` and the like
            tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise LessonError(f"`{text}` is not an expression.") from None
    _check_depth(tree, text)
    return tree


def _check_depth(tree: ast.AST, text: str) -> None:
    level: list[ast.AST] = [tree]
    for _ in range(MOST_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return
    raise LessonError(f"`{text}` is nested too deeply: take it apart.")


class _Check:
    """Goes through an expression's parts before it is ever evaluated."""

    def __init__(self, text: str, check_call: CheckCall) -> None:
        self._text, self._check_call = text, check_call

    def expression(self, node: ast.expr, names: frozenset[str]) -> None:
        match node:
            case ast.Constant(value):
                if not isinstance(value, bool | int | float | str):
                    raise self._refused(node)
                if isinstance(value, int) and abs(value) > MOST_NUMBER:
                    raise self._refused(node)
            case ast.Name(name):
                if name not in names:
                    known = ", ".join(sorted(names)) or "none"
                    raise LessonError(
                        f"`{self._text}` uses the name {name}, which nothing has: there is {known}."
                    )
            case ast.BinOp(left, op, right) if type(op) in _ARITHMETIC:
                self._all([left, right], names)
            case ast.UnaryOp(ast.USub() | ast.Not(), operand):
                self.expression(operand, names)
            case ast.Compare(left, ops, others) if all(type(o) in _COMPARISON for o in ops):
                self._all([left, *others], names)
            case ast.BoolOp(_, operands):
                self._all(operands, names)
            case ast.IfExp(test, body, orelse):
                self._all([test, body, orelse], names)
            case ast.List(items) | ast.Tuple(items):
                self._all(items, names)
            case ast.Subscript(ast.Name(name), index) if name not in names:
                self._all(_indices(index), names)
            case ast.Subscript(inner, index):
                self._all([inner, index], names)
            case ast.ListComp(item, [one]) | ast.GeneratorExp(item, [one]):
                self._comprehension(item, one, names)
            case ast.Call(ast.Name(word), given, named):
                self._call(word, given, named, names)
            case _:
                raise self._refused(node)

    def _all(self, nodes: list[ast.expr], names: frozenset[str]) -> None:
        for node in nodes:
            self.expression(node, names)

    def _comprehension(self, item: ast.expr, one: ast.comprehension, names: frozenset[str]) -> None:
        if not isinstance(one.target, ast.Name) or one.is_async:
            raise self._refused(item)
        self.expression(one.iter, names)
        inner = names | {one.target.id}
        self._all([*one.ifs, item], inner)

    def _call(
        self, word: str, given: list[ast.expr], named: list[ast.keyword], names: frozenset[str]
    ) -> None:
        self._all([*given, *(k.value for k in named)], names)
        if word in FUNCTIONS:
            wrong = "" if len(given) in FUNCTIONS[word][1] and not named else "other arguments"
        else:
            keys = [k.arg for k in named if k.arg is not None]
            if len(keys) < len(named):
                raise LessonError(f"`{self._text}`: write out the arguments of {word}.")
            wrong = self._check_call(word, len(given), frozenset(keys))
        if wrong:
            raise LessonError(f"`{self._text}`: {word} {wrong}.")

    def _refused(self, node: ast.AST) -> LessonError:
        part = ast.unparse(node) if isinstance(node, ast.expr) else type(node).__name__
        return LessonError(f"`{self._text}`: `{part[:60]}` may not stand in an expression.")


def _indices(index: ast.expr) -> list[ast.expr]:
    return list(index.elts) if isinstance(index, ast.Tuple) else [index]


# Working an expression out.


class _Evaluation:
    """One evaluation, with what it has left of its steps."""

    def __init__(self, text: str, scope: Scope) -> None:
        self._text, self._scope, self._left = text, scope, MOST_STEPS
        self._names: dict[str, Value] = dict(scope.names())

    def value(self, node: ast.expr) -> Value:
        self._left -= 1
        if self._left < 0:
            raise LessonError(f"`{self._text}` takes too many steps: ask for less at a time.")
        try:
            return self._bounded(self._worked_out(node))
        except (TypeError, ValueError, IndexError, OverflowError, ArithmeticError) as error:
            raise LessonError(f"`{self._text}` cannot be worked out: {error}.") from None

    def _worked_out(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value):
                return value
            case ast.Name(name):
                return self._names[name]
            case ast.BinOp(left, op, right):
                sides = (self._numeric(self.value(side)) for side in (left, right))
                return _ARITHMETIC[type(op)](*sides)
            case ast.UnaryOp(ast.Not(), operand):
                return not self.value(operand)
            case ast.UnaryOp(_, operand):
                return -self._numeric(self.value(operand))
            case ast.Compare(left, ops, others):
                terms = [self.value(term) for term in (left, *others)]
                return all(
                    _COMPARISON[type(o)](a, b)
                    for o, a, b in zip(ops, terms, terms[1:], strict=False)
                )
            case ast.BoolOp(op, operands):
                return self._joined(isinstance(op, ast.And), operands)
            case ast.IfExp(test, body, orelse):
                return self.value(body if self.value(test) else orelse)
            case ast.List(items) | ast.Tuple(items):
                return [self.value(item) for item in items]
            case ast.Subscript(ast.Name(name), index) if name not in self._names:
                return Element(name, tuple(self._index(part) for part in _indices(index)))
            case ast.Subscript(inner, index):
                found = self.value(inner)
                if not isinstance(found, list):
                    raise TypeError(f"{shown(found)} is not a list")
                return found[self._index(index)]
            case ast.ListComp(item, [one]) | ast.GeneratorExp(item, [one]):
                return self._comprehension(item, one)
            case ast.Call(ast.Name(word), given, named):
                return self._call(word, given, named)
        raise LessonError(f"`{self._text}` is not an expression of a lesson.")

    @staticmethod
    def _numeric(value: Value) -> float | int:
        if not isinstance(value, int | float):
            raise TypeError(f"{shown(value)} is not a number")
        return value

    def _index(self, node: ast.expr) -> int:
        found = self.value(node)
        if isinstance(found, bool) or not isinstance(found, int):
            raise TypeError(f"{shown(found)} is not an index")
        return found

    def _joined(self, every: bool, operands: list[ast.expr]) -> bool:
        for operand in operands:
            found = self.value(operand)
            if not isinstance(found, bool):
                raise TypeError(f"{shown(found)} is neither true nor false")
            if found != every:
                return found
        return every

    def _comprehension(self, item: ast.expr, one: ast.comprehension) -> list[Value]:
        assert isinstance(one.target, ast.Name)  # _Check let no other through
        name, found = one.target.id, []
        items = self.value(one.iter)
        if not isinstance(items, list):
            raise TypeError(f"{shown(items)} is not a list")
        missing = object()
        before: Any = self._names.get(name, missing)
        for value in items:
            self._names[name] = value
            if all(self.value(test) for test in one.ifs):
                found.append(self.value(item))
        if before is missing:
            self._names.pop(name, None)
        else:
            self._names[name] = before
        return found

    def _call(self, word: str, given: list[ast.expr], named: list[ast.keyword]) -> Any:
        values = [self.value(argument) for argument in given]
        if word not in FUNCTIONS:
            return self._scope.call(word, values, {str(k.arg): self.value(k.value) for k in named})
        if word == "range":
            numbers = range(*(self._index(argument) for argument in given))
            if len(numbers) > MOST_ITEMS:
                raise ValueError(f"{len(numbers):,} numbers are too many")
            return list(numbers)
        return FUNCTIONS[word][0](*values)

    def _bounded(self, value: Any) -> Value:
        if isinstance(value, int) and abs(value) > MOST_NUMBER:
            raise OverflowError("a number grows too large")
        if isinstance(value, float) and not math.isfinite(value):
            raise OverflowError("a number grows too large, or is none")
        if isinstance(value, list | str) and len(value) > MOST_ITEMS:
            raise OverflowError("a list grows too long")
        return value  # type: ignore[no-any-return]
