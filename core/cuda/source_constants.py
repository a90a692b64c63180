"""CUDA source text as tokens, with the macros and integer constants it defines.

Not a C++ front end: enough of one to know how large `float tile[TILE][TILE + PAD]` is. Conditional
compilation is not followed; a macro or constant that is defined with different values counts as
unknown, unless `-D` sets it.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

_BLANKED = re.compile(
    r'//(?:[^\n\\]|\\.|\\\n)*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"', re.DOTALL
)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE | re.DOTALL)
_DEFINE = re.compile(r"#\s*define\s+([A-Za-z_]\w*)(\(?)[ \t]*(.*)", re.DOTALL)
_TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.']*|::|<<|'(?:[^'\\\n]|\\.)*'|[^\s\w]")
_WORD = re.compile(r"[A-Za-z_]\w*")
_NUMBER = re.compile(r"\b(0[xX][\da-fA-F']+|0[bB][01']+|\d[\d']*)(?:[uUlL]*)\b")
_SIZEOF = re.compile(r"\bsizeof\s*\(\s*([a-z0-9 ]+?)\s*\)")
_SIZES = {"char": 1, "bool": 1, "short": 2, "int": 4, "unsigned": 4, "unsigned int": 4,
          "float": 4, "long long": 8, "double": 8, "float2": 8, "float4": 16}  # fmt: skip
_CONSTANT_WORDS = {"const", "constexpr"}
_INTEGER_TYPES = {"int", "unsigned", "long", "short", "size_t", "auto", "signed",
                  "int32_t", "uint32_t", "int64_t", "uint64_t"}  # fmt: skip
# Each piece ends where it must, so that there is one way only to match a text.
_EXPRESSION = re.compile(r"(?:\s|0[xXoObB][\da-fA-F]+\b|\d+\b|[A-Za-z_]\w*\b|[-()+*%/]|<<|>>)+")
_LONGEST_EXPANSION = 4000

_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.LShift: lambda a, b: a << _shift(b),
    ast.RShift: lambda a, b: a >> _shift(b),
    # C truncates towards zero, Python's // rounds down.
    ast.Div: lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
    ast.Mod: lambda a, b: abs(a) % abs(b) * (-1 if a < 0 else 1),
}


def _shift(bits: int) -> int:
    if not 0 <= bits < 64:
        raise ValueError(bits)
    return bits


def evaluate(text: str, constants: Mapping[str, int]) -> int | None:
    """The value of an integer expression of literals, names, + - * / % << >> and parentheses.

    None for any other expression, for an unknown name and for a division by zero.
    """
    plain = _SIZEOF.sub(lambda m: str(_SIZES.get(m[1], m[0])), text)
    plain = _NUMBER.sub(lambda m: _literal(m[1].replace("'", "")), plain)
    if not _EXPRESSION.fullmatch(plain):
        return None
    try:
        return _value(ast.parse(plain.strip(), mode="eval").body, constants)
    except (SyntaxError, ValueError, KeyError, ZeroDivisionError, RecursionError, MemoryError):
        return None


def _literal(digits: str) -> str:
    octal = len(digits) > 1 and digits[0] == "0" and digits[1].isdigit()
    return f"0o{digits[1:]}" if octal else digits


def _value(node: ast.expr, constants: Mapping[str, int]) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Name):
        return constants[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        value = _value(node.operand, constants)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _value(node.left, constants), _value(node.right, constants)
        return _OPERATORS[type(node.op)](left, right)
    raise ValueError(type(node).__name__)


class Token(NamedTuple):
    """A word, number or mark of the source, and its line (1-based)."""

    text: str
    line: int


@dataclass(frozen=True)
class SourceScope:
    """The function that a token stands in ("" outside all), and its template parameters."""

    function: str = ""
    template_parameters: tuple[str, ...] = ()


@dataclass(frozen=True)
class SourceText:
    """Source text without comments, strings and preprocessor lines."""

    tokens: tuple[Token, ...]
    macros: Mapping[str, str]  # object-like ones with one value

    def expanded(self, text: str) -> str:
        """`text` with macros replaced as the preprocessor would, each name once along a path."""
        return self._expand(text, frozenset())

    def _expand(self, text: str, inside: frozenset[str]) -> str:
        def replacement(match: re.Match[str]) -> str:
            name = match[0]
            if name not in self.macros or name in inside:
                return name
            return self._expand(self.macros[name], inside | {name})

        result = _WORD.sub(replacement, text) if len(text) < _LONGEST_EXPANSION else text
        return result if len(result) < _LONGEST_EXPANSION else text

    def scope_at(self, token: int) -> SourceScope:
        """The function around the token with that index."""
        return self._scopes[token]

    def constants_in(self, function: str) -> dict[str, int]:
        """`const`/`constexpr` integers that a function sees: its own hide those outside all."""
        outside = _agreed((name, value) for f, name, value in self._constants if not f)
        inside = _agreed((name, value) for f, name, value in self._constants if f == function)
        both = {**outside, **inside}
        return {name: value for name, value in both.items() if value is not None}

    @cached_property
    def _scopes(self) -> tuple[SourceScope, ...]:
        return tuple(_walk_scopes(self.tokens))

    @cached_property
    def _constants(self) -> tuple[tuple[str, str, int | None], ...]:
        found: list[tuple[str, str, int | None]] = []
        for at, token in enumerate(self.tokens):
            if token.text not in _CONSTANT_WORDS:
                continue
            function = self._scopes[at].function
            for name, text in self._initialised(at):
                so_far = {n: value for f, n, value in found if not f}
                so_far |= {n: value for f, n, value in found if f == function}
                seen = {n: value for n, value in so_far.items() if value is not None}
                found.append((function, name, evaluate(self.expanded(text), seen)))
        return tuple(found)

    def _initialised(self, at: int) -> Iterator[tuple[str, str]]:
        """(name, expression) of `const int a = 2, b = a * 2;` from its `const` on."""
        words = []
        for token in map(self.tokens.__getitem__, range(at, len(self.tokens))):
            if token.text in {";", "{", "}", ")"} and "(" not in words:
                break
            if token.text == ";":
                break
            words.append(token.text)
        if not _INTEGER_TYPES & set(words) or {"[", "*", "&"} & set(words[: _index(words, "=")]):
            return
        for part in " ".join(words).split(","):
            left, equals, right = part.partition(" = ")
            name = left.split()[-1:] or [""]
            if equals and _WORD.fullmatch(name[0]):
                yield name[0], right


def read_source(source: str, defines: Mapping[str, str]) -> SourceText:
    """The tokens and macros of a source text compiled with `defines` (macro name to value)."""
    return _read(source, tuple(sorted(defines.items())))


@lru_cache(maxsize=16)
def _read(source: str, defines: tuple[tuple[str, str], ...]) -> SourceText:
    tokens, macros = _scanned(source)
    known = {**macros, **dict(defines)}
    return SourceText(tokens, {name: v for name, v in known.items() if v is not None})


@lru_cache(maxsize=8)
def _scanned(source: str) -> tuple[tuple[Token, ...], Mapping[str, str | None]]:
    text = blanked(source)
    macros: dict[str, str | None] = {}
    for directive in _DIRECTIVE.findall(text):
        match = _DEFINE.match(directive.strip())
        if match and not match[2]:
            value = match[3].replace("\\\n", " ").strip()
            macros[match[1]] = value if macros.get(match[1], value) == value else None
    text = _DIRECTIVE.sub(_blank, text)
    lines = enumerate(text.split("\n"), 1)
    return tuple(Token(word, n) for n, line in lines for word in _TOKEN.findall(line)), macros


@lru_cache(maxsize=8)
def blanked(source: str) -> str:
    """The source with spaces in place of comments and strings; every other character stays put."""
    return _BLANKED.sub(_blank, source)


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def _index(words: list[str], word: str) -> int:
    return words.index(word) if word in words else len(words)


def _agreed(pairs: Iterator[tuple[str, int | None]]) -> dict[str, int | None]:
    """Each name's value; None where it has several."""
    values: dict[str, set[int | None]] = {}
    for name, value in pairs:
        values.setdefault(name, set()).add(value)
    return {name: found.pop() if len(found) == 1 else None for name, found in values.items()}


def _walk_scopes(tokens: tuple[Token, ...]) -> Iterator[SourceScope]:
    """The scope of each token: a function's starts at the `{` after its `)` at namespace level."""
    scope, depth, outer = SourceScope(), 0, 0
    header: list[str] = []  # what came since the last ; { or } outside all functions
    for token in tokens:
        word = token.text
        if word == "{":
            if not scope.function:
                name = _function_name(header)
                if name:
                    scope, outer = SourceScope(name, _template_parameters(header)), depth
                header = []
            depth += 1
        yield scope
        if word == "}":
            depth -= 1
            if scope.function and depth <= outer:
                scope = SourceScope()
            header = []
        elif word == ";":
            header = []
        elif not scope.function and word != "{":
            header.append(word)


def _function_name(header: list[str]) -> str:
    """The name before the parameter list of `… name(parameters) …`, "" for any other header."""
    at = 0
    if header[:1] == ["template"]:
        at = _template_end(header)
    while at < len(header):
        if header[at] == "(":
            before = header[at - 1] if at else ""
            end = _closing(header, at)
            is_attribute = before.startswith("__") and before.endswith("__")
            if not is_attribute and before != "alignas" and _WORD.fullmatch(before):
                return before
            at = end
        at += 1
    return ""


def _template_end(header: list[str]) -> int:
    depth = 0
    for at, word in enumerate(header):
        depth += (word == "<") - (word == ">")
        if word == ">" and depth == 0:
            return at + 1
    return 0


def _template_parameters(header: list[str]) -> tuple[str, ...]:
    """`template <int TILE, typename T = float>` gives ("TILE", "T")."""
    if header[:1] != ["template"]:
        return ()
    names: list[str] = []
    parameter: list[str] = []
    for word in [*header[2 : _template_end(header) - 1], ","]:
        if word == ",":
            names.append((parameter[: _index(parameter, "=")] or [""])[-1])
            parameter = []
        else:
            parameter.append(word)
    return tuple(names)


def _closing(words: list[str], at: int) -> int:
    depth = 0
    for place in range(at, len(words)):
        depth += (words[place] == "(") - (words[place] == ")")
        if depth == 0:
            return place
    return len(words) - 1
