"""C's numbers: their types by name, and arithmetic on them: `(n + 255) / 256`, `n < 128 ? 4 : 8`.

Whole numbers and real ones are told apart as C tells them. A whole number beyond 64 bits, a
division by zero and whatever is not understood have no value: None. Nothing here takes long: every
operation is one on machine numbers. It imports no NumPy: the process that compiles has this module,
too.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from core.source.cuda_parser import expression, text_in, text_of

if TYPE_CHECKING:
    from tree_sitter import Node


# Types.


NUMBERS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("char", "signed char"), "int8"),
        **dict.fromkeys(("unsigned char", "uchar"), "uint8"),
        **dict.fromkeys(("unsigned short", "ushort"), "uint16"),
        **dict.fromkeys(("unsigned", "unsigned int", "uint"), "uint32"),
        **dict.fromkeys(("long", "long long", "ptrdiff_t", "clock_t"), "int64"),
        **dict.fromkeys(("unsigned long", "ulong", "unsigned long long", "size_t"), "uint64"),
        **{f"{u}int{bits}_t": f"{u}int{bits}" for u in ("", "u") for bits in (8, 16, 32, 64)},
        "bool": "bool",
        "short": "int16",
        "int": "int32",
        "half": "float16",
        "__half": "float16",
        "float": "float32",
        "double": "float64",
    }
)
"""NumPy's names by C's, where a long has eight bytes, as on Linux."""
VECTOR_BASES = (
    *("char", "uchar", "short", "ushort", "int", "uint"),
    *("longlong", "ulonglong", "float", "double"),
)
VECTOR = re.compile(f"({'|'.join(VECTOR_BASES)})([1-4])")  # CUDA's vector types: `float4`, `uchar2`
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


def numbers_in(name: str) -> tuple[str, int] | None:
    """NumPy's name of a type of numbers or vectors, and how many there are; None for any other."""
    if name in NUMBERS:
        return NUMBERS[name], 1
    found = VECTOR.fullmatch(name)
    if found is None:
        return None
    base = found[1].replace("longlong", "long long").replace("ulong", "unsigned long")
    return NUMBERS[base], int(found[2])


def bytes_of(name: str) -> int | None:
    """The size of a number or a vector; None for any other type."""
    found = numbers_in(name)
    if found is None:
        return None
    kind, count = found
    bits = re.search(r"\d+", kind)
    return count * (int(bits[0]) // 8 if bits is not None else 1)


def of_type(kind: str, value: Number) -> Number:
    """A value as a variable of that type holds it; as it is where the type is not known."""
    words = set(kind.replace("std::", "").split()) - _QUALIFIERS
    if words & _REAL_TYPES:
        return float(value)
    if words == {"bool"}:
        return int(bool(value))
    return int(value) if words & _WHOLE_TYPES else value


def is_number_type(kind: str) -> bool:
    """Whether a type's words are those of a number of C."""
    words = set(kind.replace("std::", "").split()) - _QUALIFIERS
    return bool(words) and words <= _REAL_TYPES | _WHOLE_TYPES


# Names of types and functions.


def plain_name(text: str) -> str:
    """`::std::max` is max, `std :: size_t` is size_t."""
    return re.sub(r"^(?:::)?(?:std::)?", "", re.sub(r"\s*::\s*", "::", text))


def split_template(text: str) -> tuple[str, str]:
    """`min<int>` as ("min", "int")."""
    name, opens, rest = text.partition("<")
    return name.strip(), rest.rstrip().removesuffix(">") if opens else ""


# Arithmetic.


Number = int | float
Evaluate = Callable[[Any], Any]
"""What gives an expression's value, a number or whatever the reader's names hold, from those."""
_MOST = 1 << 63
_DEEPEST = 100
_LONGEST = 2000  # characters
_FAILS = (ValueError, TypeError, ArithmeticError)


@lru_cache(maxsize=4096)
def parsed(text: str) -> Callable[[Mapping[str, Number]], Number | None] | None:
    """What gives an expression's value from those of its names; None where it is not understood."""
    node = expression(text) if text.isascii() and len(text) <= _LONGEST else None
    try:
        return Reader(_named).read(node) if node is not None else None
    except _NotUnderstoodError:
        return None


def _named(node: Node) -> Evaluate | None:
    if node.type not in ("identifier", "qualified_identifier", "field_expression"):
        return None
    name = plain_name(text_of(node)).replace("->", ".")
    return lambda values: values.get(name)


class _NotUnderstoodError(Exception):
    """An expression has a part that no reader knows."""


class Reader:
    """Reads the tree of an expression once; what comes out is evaluated often.

    `other` is asked first what a node means: names are its business. `lenient`: what nobody knows
    has no value, instead of _NotUnderstoodError.
    """

    def __init__(self, other: Callable[[Node], Evaluate | None], *, lenient: bool = False) -> None:
        self._other, self._lenient = other, lenient
        self._depth = 0
        self._made: dict[int, tuple[Node, Evaluate]] = {}  # the nodes stay, so that ids are theirs

    def read(self, node: Node | None) -> Evaluate:
        """What gives a node's value."""
        if node is not None and node.id in self._made:
            return self._made[node.id][1]
        if node is not None:
            self._made[node.id] = node, nothing  # of what leads to itself
        self._depth += 1
        try:
            known = node is not None and self._depth < _DEEPEST and self._read(node)
        finally:
            self._depth -= 1
        if not known and not self._lenient:
            raise _NotUnderstoodError
        made = known or nothing
        if node is not None:
            self._made[node.id] = node, made
        return made

    def _read(self, node: Node) -> Evaluate | None:
        if (made := self._other(node)) is not None:
            return made
        kind = node.type
        if kind == "number_literal":
            value = literal(text_of(node))
            return None if value is None else lambda _: value
        if kind in ("true", "false"):
            truth = int(kind == "true")
            return lambda _: truth
        if kind == "parenthesized_expression" and node.named_child_count == 1:
            return self.read(node.named_children[0])
        if kind == "unary_expression":
            return _unary(
                text_in(node, "operator"), self.read(node.child_by_field_name("argument"))
            )
        if kind == "binary_expression":
            parts = (self.read(node.child_by_field_name(side)) for side in ("left", "right"))
            return _binary(text_in(node, "operator"), *parts)
        if kind == "conditional_expression":
            names = ("condition", "consequence", "alternative")
            return _conditional(*(self.read(node.child_by_field_name(name)) for name in names))
        if kind == "cast_expression":
            return self._cast(node)
        if kind in ("call_expression", "compound_literal_expression"):
            return self.called(node)
        return None

    def _cast(self, node: Node) -> Evaluate | None:
        kind, value = node.child_by_field_name("type"), node.child_by_field_name("value")
        if kind is None or value is None:
            return None
        if value.type in ("pointer_expression", "unary_expression") and "(" in text_of(kind):
            # `(n * (m)) & 3` reads as the cast of an address to a function's type.
            left, right = expression(text_of(kind)), value.child_by_field_name("argument")
            return _binary(text_of(value)[0], self.read(left), self.read(right))
        return _converted(text_of(kind), self.read(value))

    def called(self, node: Node) -> Evaluate | None:
        """`int(x)`, `int{x}`, `static_cast<int>(x)`, and the functions of `<cmath>`."""
        function = node.child_by_field_name("function") or node.child_by_field_name("type")
        given = node.child_by_field_name("arguments") or node.child_by_field_name("value")
        if function is None or given is None:
            return None
        name, template = split_template(plain_name(text_of(function)))
        arguments = [self.read(child) for child in given.named_children]
        if len(arguments) == 1 and name == "static_cast":
            return _converted(template, arguments[0])
        if len(arguments) == 1 and name in _REAL_TYPES | _WHOLE_TYPES:
            return _converted(name, arguments[0])
        what = _FUNCTIONS.get(name) or _FUNCTIONS.get(name.removesuffix("f"))
        return _computed(what, arguments) if what is not None else None


def nothing(_: Any) -> None:
    """The value of what is not understood."""


def literal(text: str) -> Number | None:
    """The number that a literal is."""
    plain = text.replace("'", "").lower()
    try:
        if plain.startswith(("0x", "0b")):
            digits = plain.rstrip("ulz")
            return _bounded(int(digits, 0)) if "." not in digits else float.fromhex(digits)
        if re.search(r"[.e]", plain):
            return _bounded(float(plain.rstrip("fl")))
        digits = plain.rstrip("ulz")
        octal = len(digits) > 1 and digits[0] == "0"
        return _bounded(int(digits, 8 if octal else 10))
    except _FAILS:
        return None


def applied(mark: str, left: Any, right: Any) -> Number | None:
    """The value of `left mark right`; None where one of them is no number, or there is none."""
    what = _OPERATORS.get(mark)
    if what is None or not _is_number(left) or not _is_number(right):
        return None
    try:
        return _bounded(what(left, right))
    except _FAILS:
        return None


def _bounded(value: Number) -> Number:
    if not -_MOST <= value < 2 * _MOST:  # false for NaN as well
        raise OverflowError(value)
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def _unary(mark: str, inner: Evaluate) -> Evaluate | None:
    what = _UNARY.get(mark)
    return _computed(what, [inner]) if what is not None else None


def _binary(mark: str, left: Evaluate, right: Evaluate) -> Evaluate | None:
    if mark in ("||", "or", "&&", "and"):
        ends = mark in ("||", "or")  # the truth of one side that says all

        def either_or_both(values: Any) -> int | None:
            first = left(values)
            if first is not None and bool(first) == ends:
                return int(ends)
            second = right(values)
            if first is None or second is None:
                return None
            return int(bool(second))

        return either_or_both
    if mark not in _OPERATORS:
        return None
    return lambda values: applied(mark, left(values), right(values))


def _conditional(test: Evaluate, first: Evaluate, second: Evaluate) -> Evaluate:
    def chosen(values: Any) -> Any:
        known = test(values)
        return None if known is None else first(values) if known else second(values)

    return chosen


def _computed(function: Callable[..., Number], arguments: list[Evaluate]) -> Evaluate:
    def value(values: Any) -> Number | None:
        given = [argument(values) for argument in arguments]
        if not all(map(_is_number, given)):
            return None
        try:
            return _bounded(function(*given))
        except _FAILS:
            return None

    return value


def _converted(kind: str, inner: Evaluate) -> Evaluate:
    def value(values: Any) -> Any:
        given = inner(values)
        is_plain = "*" not in kind and _is_number(given)
        try:
            return of_type(kind, given) if is_plain else given
        except _FAILS:
            return None

    return value


# Operators and functions.


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


_OPERATORS: Mapping[str, Callable[[Number, Number], Number]] = {
    "|": lambda a, b: _whole(a) | _whole(b),
    "^": lambda a, b: _whole(a) ^ _whole(b),
    "&": lambda a, b: _whole(a) & _whole(b),
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "<": lambda a, b: int(a < b),
    "<=": lambda a, b: int(a <= b),
    ">": lambda a, b: int(a > b),
    ">=": lambda a, b: int(a >= b),
    "<<": lambda a, b: _whole(a) << _bits(b),
    ">>": lambda a, b: _whole(a) >> _bits(b),
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divided,
    "%": _rest,
}
_UNARY: Mapping[str, Callable[[Number], Number]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": lambda a: ~_whole(a),
    "!": lambda a: int(not a),
    "not": lambda a: int(not a),
}
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
