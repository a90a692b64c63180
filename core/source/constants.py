"""Constants of a source text: what they are worth, and how to set them in the text itself.

`evaluate` and `read_constants` say how large `float tile[TILE][TILE + PAD]` is. Conditional
compilation is not followed, and a macro or constant that is defined with different values counts as
unknown, unless `-D` sets it.

`knobs` are those that somebody may set: `#define TILE 16`, `constexpr int PAD = 1;` and `constexpr
bool SWAP = false;`. What a compiler's -D cannot override is changed where it stands, so that the
text which runs is the text which is shown.
"""

from __future__ import annotations

import re
from collections import ChainMap, Counter
from collections.abc import Collection, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from core.cancelling import check
from core.source.c_numbers import bytes_of, parsed
from core.source.cuda_parser import text_of
from core.source.functions_and_calls import Declared, HostSyntax, declared, host_syntax
from core.source.preprocessor import blank, blanked, defined_macros, plain_text

# What they are worth.


_SIZEOF = re.compile(r"\bsizeof\s*\(\s*([a-z0-9_ ]+?)\s*\)")
_CONSTANT_WORDS = {"const", "constexpr"}
_INTEGER_TYPES = {
    *("int", "unsigned", "long", "short", "size_t", "auto", "signed", "int32_t", "uint32_t"),
    *("int64_t", "uint64_t"),
}
_PIECE = re.compile(r"\w+|\W+")
_LONGEST_EXPANSION = 4000
_MOST_EXPANSIONS = 20_000  # of macros in one text


def evaluate(text: str, constants: Mapping[str, int | None]) -> int | None:
    """The value of an integer expression of literals and names, as C computes it.

    None for any other expression, for a name that is not among the constants or is None there, for
    a division by zero, and where a number on the way has no room in 64 bits.
    """
    if len(text) > _LONGEST_EXPANSION:
        return None
    made = parsed(_SIZEOF.sub(lambda m: str(bytes_of(m[1]) or m[0]), text))
    if made is None:
        return None
    value = made(constants)  # type: ignore[arg-type]  # None is no value
    return value if isinstance(value, int) else None


@dataclass(frozen=True)
class SourceConstants:
    """A source text as the parser understands it, with its macros and constants."""

    syntax: HostSyntax
    macros: Mapping[str, str]  # object-like ones with one value

    def expanded(self, text: str) -> str:
        """`text` with macros replaced as the preprocessor would, each name once along a path.

        As it is where that would be long: no size is written so.
        """
        if len(text) >= _LONGEST_EXPANSION:
            return text
        done: list[str] = []
        length = steps = 0
        open_macros: list[tuple[str, Iterator[str]]] = [("", iter(_PIECE.findall(text)))]
        names: set[str] = set()
        while open_macros:
            name, pieces = open_macros[-1]
            for piece in pieces:
                if piece in self.macros and piece not in names:
                    names.add(piece)
                    open_macros.append((piece, iter(_PIECE.findall(self.macros[piece]))))
                    break
                done.append(piece)
                length += len(piece)
            else:
                open_macros.pop()
                names.discard(name)
            steps += 1
            if length >= _LONGEST_EXPANSION or steps > _MOST_EXPANSIONS:
                return text
        return "".join(done)

    def constants_in(self, function: str) -> MutableMapping[str, int | None]:
        """`const`/`constexpr` integers that a function sees: its own hide those outside all.

        None for those that are not known, or that have several values.
        """
        outside = self._constants.get("", {})
        inside = self._constants.get(function, {}) if function else {}
        return ChainMap(inside, outside) if inside else outside

    @cached_property
    def _constants(self) -> dict[str, dict[str, int | None]]:
        """By function the agreed value of each name."""
        agreed: dict[str, dict[str, int | None]] = {}
        last: dict[str, dict[str, int | None]] = {"": {}}
        for node in self.syntax.nodes("declared"):
            for one in filter(_is_whole_constant, declared(node)):
                around = self.syntax.around(node.start_byte)
                function = around.name if around is not None else ""
                seen = last.setdefault(function, {})
                known = agreed.setdefault(function, {})
                text = self.expanded(text_of(one.value))
                value = evaluate(text, ChainMap(seen, last[""]))
                known[one.name] = value if known.get(one.name, value) == value else None
                seen[one.name] = value
        return agreed


def _is_whole_constant(one: Declared) -> bool:
    words = set(one.type.replace("std::", "").split())
    is_plain = not (one.stars or one.extents or one.is_reference) and one.value is not None
    return is_plain and bool(words & _CONSTANT_WORDS) and bool(words & _INTEGER_TYPES)


def read_constants(source: str, defines: Mapping[str, str]) -> SourceConstants:
    """The macros and constants of a source compiled with `defines` (macro name to value)."""
    return _constants_of(source, tuple(sorted(defines.items())))


@lru_cache(maxsize=16)
def _constants_of(source: str, defines: tuple[tuple[str, str], ...]) -> SourceConstants:
    known = {**_macros(source), **dict(defines)}
    macros = {name: value for name, value in known.items() if value is not None}
    return SourceConstants(host_syntax(plain_text(source)), macros)


@lru_cache(maxsize=8)
def _macros(source: str) -> Mapping[str, str | None]:
    """The meanings of macros without parameters; None where there are several."""
    macros: dict[str, str | None] = {}
    for macro in defined_macros(blanked(source)):
        if macro.parameters is None:
            is_one = macros.get(macro.name, macro.body) == macro.body
            macros[macro.name] = macro.body if is_one else None
    return macros


# How to set them.


_SETTABLE = r"\(?\s*(\d{1,18})[uUlL]*\s*\)?"
_MACRO = re.compile(
    rf"^[ \t]*#[ \t]*define[ \t]+([A-Za-z_]\w*)[ \t]+{_SETTABLE}[ \t]*$", re.MULTILINE
)
_CONSTANT = re.compile(
    r"\b(?:const|constexpr)\b[\w\s]{0,32}?\b(?:int|unsigned|long|short|size_t|u?int\d+_t)\s+"
    rf"([A-Za-z_]\w*)\s*=\s*{_SETTABLE}\s*;"
)
_FLAG = re.compile(
    r"\b(?:const|constexpr)\b[\w\s]{0,32}?\bbool\s+([A-Za-z_]\w*)\s*=\s*(true|false)\s*;"
)
_ASKED = (  # where a name stands for itself as a condition, and is not compared with a number
    r"(?:#\s*(?:el)?if\b[^\n]*\b{0}\b(?!\s*(?:[<>+\-*/%]|[=!]=))"
    r"|\bif\s*(?:constexpr\s*)?\(\s*!?\s*{0}\s*\)|\b{0}\s*\?)"
)
_MOST_ASKED = 100  # constants for which it is looked up: each takes a search of the whole source
_ANY_MACRO = re.compile(r"#\s*(?:define|undef)\s+([A-Za-z_]\w*)")
_CONSTANTS = re.compile(
    r"\b(?:static\s+)?(?:const|constexpr)\s[\w\s]{0,40}?\b(\w+\s*=(?!=)[^;{}]*);"
)


@dataclass(frozen=True)
class Knob:
    """A constant with its value and the place of the number: characters `start` to `end`.

    `switch` says that it is a truth value: a bool (1 is true), or a 0 or 1 that a condition asks.
    """

    name: str
    value: int
    line: int
    start: int
    end: int
    switch: bool = False


@lru_cache(maxsize=4)  # of a large text it takes long, and is asked in the window's thread again
def knobs(source: str) -> tuple[Knob, ...]:
    """The constants defined once, as a plain decimal number or truth value, in the source's order.

    A name that is defined again, or is undefined anywhere, is left out: which definition counts
    depends on conditions that are not followed here.
    """
    text = blanked(source)
    defined = _ANY_MACRO.findall(text)
    found = sorted(_matches(text), key=lambda knob: knob.start)
    names, macros = Counter(knob.name for knob in found), Counter(defined)
    return tuple(knob for knob in found if names[knob.name] == 1 and macros[knob.name] < 2)


def _matches(text: str) -> Iterator[Knob]:
    asked = 0
    for pattern in (_MACRO, _CONSTANT):
        for match in pattern.finditer(text):
            digits = match[2]
            if len(digits) > 1 and digits[0] == "0":  # octal
                continue
            check()
            value, asked = int(digits), asked + 1
            switch = (
                asked <= _MOST_ASKED
                and value < 2
                and re.search(_ASKED.format(match[1]), text) is not None
            )
            yield _knob(match, value, switch=switch)
    for match in _FLAG.finditer(text):
        yield _knob(match, int(match[2] == "true"), switch=True)


def _knob(match: re.Match[str], value: int, *, switch: bool) -> Knob:
    start, end = match.span(2)
    line = match.string.count("\n", 0, start) + 1
    return Knob(match[1], value, line, start, end, switch)


def with_value(source: str, name: str, value: int) -> str:
    """The source with one of its `knobs` set. Raises KeyError for another name."""
    for knob in knobs(source):
        if knob.name == name:
            is_word = not source[knob.start].isdecimal()
            text = ("false", "true")[bool(value)] if is_word else str(value)
            return f"{source[: knob.start]}{text}{source[knob.end :]}"
    raise KeyError(name)


def with_defines(source: str, defines: Mapping[str, str]) -> str:
    """The source with `defines` in place of what it says of these names itself.

    A macro without parameters gets another meaning where it is defined, and a `const` or
    `constexpr` number makes way, so that what is given to a compiler's -D counts. Lines keep their
    numbers.
    """
    if not any(name in source for name in defines):
        return source
    text = blanked(source)
    found: list[tuple[int, int, str]] = []
    for name, value in defines.items():
        if name not in text:
            continue
        macro = rf"^([ \t]*#[ \t]*define[ \t]+{re.escape(name)})\b(?!\()((?:[^\n\\]|\\.|\\\n)*)"
        for match in re.finditer(macro, text, re.MULTILINE | re.DOTALL):
            lines = source.count("\n", *match.span(2))
            found.append((*match.span(2), f" {value}" + " \\\n" * lines))
    for match in _CONSTANTS.finditer(text):
        found += ((start, end, blank(text[start:end])) for start, end in _taken(match, defines))
    for start, end, meaning in sorted(found, reverse=True):
        source = source[:start] + meaning + source[end:]
    return source


def _taken(match: re.Match[str], names: Collection[str]) -> Iterator[tuple[int, int]]:
    """What of a declaration of constants is about these names: all of it, or with a comma."""
    parts, depth, begin = [], 0, match.start(1)
    for at in range(match.start(1), match.end(1)):
        depth += (match.string[at] in "([") - (match.string[at] in ")]")
        if match.string[at] == "," and not depth:
            parts.append((begin, at))
            begin = at + 1
    parts.append((begin, match.end(1)))
    named = [match.string[start:end].partition("=")[0].strip() in names for start, end in parts]
    if all(named):
        yield match.span()
        return
    kept = named.index(False)
    for place, (start, end) in enumerate(parts):
        if named[place]:  # the comma behind it goes with it, or that in front
            yield (start, end + 1) if place < kept else (start - 1, end)
