"""C's arithmetic on numbers: `(n + 255) / 256`, `1 << 20`, `n < 128 ? 4 : 8`.

Whole numbers and real ones are told apart as C tells them. A whole number beyond 64 bits, a
division by zero and whatever is not understood have no value. Nothing here takes long: every
operation is one on machine numbers.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from functools import lru_cache

Number = int | float
_Values = Mapping[str, Number]
Expression = Callable[[_Values], Number]

_TOKEN = re.compile(
    r"\s*(?:(?P<real>(?:\d[\d']*\.\d*|\.\d+)(?:[eE][-+]?\d+)?[fFlL]?|\d+[eE][-+]?\d+[fFlL]?)"
    r"|(?P<whole>0[xX][\da-fA-F']+|0[bB][01']+|\d[\d']*)[uUlLzZ]*(?![\w.])"
    r"|(?P<name>(?:::)?[A-Za-z_]\w*(?:::\w+)*)"
    r"|(?P<mark><<|>>|<=|>=|==|!=|&&|\|\||->|[-+*/%<>!~&|^?:(),.{}]))"
)
_REAL_TYPES = {"float", "double"}
_WHOLE_TYPES = {
    "int",
    "unsigned",
    "signed",
    "long",
    "short",
    "char",
    "size_t",
    "uint",
    "ulong",
    "bool",
    *(f"{u}int{bits}_t" for u in ("", "u", "cuu") for bits in (8, 16, 32, 64)),
}
_QUALIFIERS = {"const", "constexpr", "static", "inline", "volatile"}
_MOST = 1 << 63
_DEEPEST = 24


def _whole(value: Number) -> int:
    if isinstance(value, float):
        raise TypeError(value)  # C has no such operation on real numbers
    return value


def _bits(value: Number) -> int:
    bits = _whole(value)
    if not 0 <= bits < 64:
        raise ValueError(bits)
    return bits


def _divided(left: Number, right: Number) -> Number:
    if isinstance(left, float) or isinstance(right, float):
        return left / right
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _rest(left: Number, right: Number) -> Number:
    a, b = _whole(left), _whole(right)
    return abs(a) % abs(b) * (-1 if a < 0 else 1)


def _rounded(value: Number) -> float:
    return math.copysign(math.floor(abs(value) + 0.5), value)  # halves away from zero


_LEVELS: tuple[Mapping[str, Callable[[Number, Number], Number]], ...] = (
    {"|": lambda a, b: _whole(a) | _whole(b)},
    {"^": lambda a, b: _whole(a) ^ _whole(b)},
    {"&": lambda a, b: _whole(a) & _whole(b)},
    {"==": lambda a, b: int(a == b), "!=": lambda a, b: int(a != b)},
    {
        "<": lambda a, b: int(a < b),
        "<=": lambda a, b: int(a <= b),
        ">": lambda a, b: int(a > b),
        ">=": lambda a, b: int(a >= b),
    },
    {"<<": lambda a, b: _whole(a) << _bits(b), ">>": lambda a, b: _whole(a) >> _bits(b)},
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul, "/": _divided, "%": _rest},
)
_FUNCTIONS: Mapping[str, Callable[..., Number]] = {
    "ceil": lambda x: float(math.ceil(x)),
    "floor": lambda x: float(math.floor(x)),
    "round": _rounded,
    "sqrt": math.sqrt,
    "cbrt": lambda x: math.copysign(abs(x) ** (1 / 3), x),
    "log2": math.log2,
    "log": math.log,
    "exp2": lambda x: math.pow(2, x),
    "pow": math.pow,
    "min": min,
    "max": max,
    "abs": abs,
    "fabs": lambda x: abs(float(x)),
    "fmin": lambda a, b: float(min(a, b)),
    "fmax": lambda a, b: float(max(a, b)),
}


def of_type(kind: str, value: Number) -> Number:
    """A value as a variable of that type holds it; as it is where the type is not known."""
    words = set(kind.replace("std::", "").split()) - _QUALIFIERS
    if words & _REAL_TYPES:
        return float(value)
    if words == {"bool"}:
        return int(bool(value))
    return int(value) if words & _WHOLE_TYPES else value


@lru_cache(maxsize=4096)
def parsed(text: str) -> Expression | None:
    """What gives an expression's value from those of its names; None where it is not understood.

    What it gives raises ValueError, KeyError, TypeError or ArithmeticError where there is no value.
    """
    try:
        return _Parser(_tokens(text)).whole()
    except (ValueError, IndexError, OverflowError, RecursionError):
        return None


def _tokens(text: str) -> list[tuple[str, str]]:
    found, at, text = [], 0, text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if not match or match.lastgroup is None:
            raise ValueError(text[at:])
        found.append((match.lastgroup, match[match.lastgroup]))
        at = match.end()
    return [*found, ("end", "")]


class _Parser:
    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens, self._at, self._depth = tokens, 0, 0

    def whole(self) -> Expression:
        made = self._chosen()
        if self._tokens[self._at][0] != "end":
            raise ValueError(self._tokens[self._at][1])
        return made

    def _next(self) -> str:
        return self._tokens[self._at][1]

    def _takes(self, mark: str) -> bool:
        if self._tokens[self._at] != ("mark", mark):
            return False
        self._at += 1
        return True

    def _expect(self, mark: str) -> None:
        if not self._takes(mark):
            raise ValueError(mark)

    def _chosen(self) -> Expression:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ValueError("too deep")
        test = self._logical(("||", "&&"))
        if self._takes("?"):
            first = self._chosen()
            self._expect(":")
            second = self._chosen()
            made = _conditional(test, first, second)
        else:
            made = test
        self._depth -= 1
        return made

    def _logical(self, marks: tuple[str, ...]) -> Expression:
        if not marks:
            return self._binary(0)
        made = self._logical(marks[1:])
        while self._takes(marks[0]):
            made = _either_or_both(marks[0], made, self._logical(marks[1:]))
        return made

    def _binary(self, level: int) -> Expression:
        if level == len(_LEVELS):
            return self._unary()
        made = self._binary(level + 1)
        while self._tokens[self._at][0] == "mark" and self._next() in _LEVELS[level]:
            what = _LEVELS[level][self._next()]
            self._at += 1
            made = _applied(what, made, self._binary(level + 1))
        return made

    def _unary(self) -> Expression:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ValueError("too deep")
        made = self._unary_itself()
        self._depth -= 1
        return made

    def _unary_itself(self) -> Expression:
        if self._takes("-"):
            return _applied(operator.sub, lambda _: 0, self._unary())
        if self._takes("+"):
            return self._unary()
        if self._takes("~"):
            return _applied(lambda _, b: ~_whole(b), lambda _: 0, self._unary())
        if self._takes("!"):
            return _applied(lambda _, b: int(not b), lambda _: 0, self._unary())
        if self._takes("("):
            kind = self._type(")")
            if kind:
                return _converted(kind, self._unary())
            made = self._chosen()
            self._expect(")")
            return made
        return self._primary()

    def _type(self, end: str) -> str:
        """The words of a type and the mark behind it, both passed; "" where no type is."""
        at, words = self._at, []
        while self._tokens[at][0] == "name":
            words.append(self._tokens[at][1].removeprefix("::").removeprefix("std::"))
            at += 1
        known = _REAL_TYPES | _WHOLE_TYPES | _QUALIFIERS
        after = self._tokens[at + 1][0] if at + 1 < len(self._tokens) else "end"
        is_cast = set(words) <= known or (len(words) == 1 and after in ("name", "real", "whole"))
        if not words or self._tokens[at] != ("mark", end) or not is_cast:
            return ""
        self._at = at + 1
        return " ".join(words)

    def _primary(self) -> Expression:
        kind, text = self._tokens[self._at]
        self._at += 1
        if kind == "real":
            real = float(text.replace("'", "").rstrip("fFlL"))
            return lambda _: real
        if kind == "whole":
            whole = _literal(text.replace("'", ""))
            return lambda _: whole
        if kind != "name":
            raise ValueError(text)
        return self._named(text.removeprefix("::").removeprefix("std::"))

    def _named(self, name: str) -> Expression:
        if name in ("true", "false"):
            return lambda _: int(name == "true")
        if name == "static_cast":
            self._expect("<")
            kind = self._type(">") or "unknown"
            self._expect("(")
            return _converted(kind, self._closed(")"))
        if name in _REAL_TYPES | _WHOLE_TYPES:  # int(x), int{x}
            if not self._takes("{"):
                self._expect("(")
                return _converted(name, self._closed(")"))
            return _converted(name, self._closed("}"))
        function = _FUNCTIONS.get(name) or _FUNCTIONS.get(name.removesuffix("f"))
        if function and self._next() in ("(", "<"):
            if self._takes("<") and not self._type(">"):
                raise ValueError(name)
            return _called(function, self._arguments())
        while self._takes(".") or self._takes("->"):
            member = self._tokens[self._at]
            if member[0] != "name":
                raise ValueError(member[1])
            name, self._at = f"{name}.{member[1]}", self._at + 1
        if self._next() in ("(", "{"):
            raise ValueError(name)
        return lambda values: values[name]

    def _closed(self, mark: str) -> Expression:
        made = self._chosen()
        self._expect(mark)
        return made

    def _arguments(self) -> list[Expression]:
        self._expect("(")
        found = [self._chosen()]
        while self._takes(","):
            found.append(self._chosen())
        self._expect(")")
        return found


def _literal(text: str) -> int:
    octal = len(text) > 1 and text[0] == "0" and text.isdecimal()
    return int(_bounded(int(f"0o{text[1:]}" if octal else text, 0)))


def _bounded(value: Number) -> Number:
    if not -_MOST <= value < 2 * _MOST:  # false for NaN as well
        raise OverflowError(value)
    return value


def _applied(
    what: Callable[[Number, Number], Number], left: Expression, right: Expression
) -> Expression:
    return lambda values: _bounded(what(left(values), right(values)))


def _called(function: Callable[..., Number], arguments: list[Expression]) -> Expression:
    return lambda values: _bounded(function(*(argument(values) for argument in arguments)))


def _converted(kind: str, inner: Expression) -> Expression:
    return lambda values: of_type(kind, inner(values))


def _conditional(test: Expression, first: Expression, second: Expression) -> Expression:
    return lambda values: first(values) if test(values) else second(values)


def _either_or_both(mark: str, left: Expression, right: Expression) -> Expression:
    if mark == "||":
        return lambda values: int(bool(left(values)) or bool(right(values)))
    return lambda values: int(bool(left(values)) and bool(right(values)))
