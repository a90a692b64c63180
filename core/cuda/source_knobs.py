"""Constants of a source text that can be set to another value in the text itself.

`#define TILE 16`, `constexpr int PAD = 1;` and `constexpr bool SWAP = false;`: what a compiler's -D
cannot override is changed where it stands, so that the text which runs is the text which is shown.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from core.cancelling import check
from core.cuda.source_constants import blanked

_NUMBER = r"\(?\s*(\d{1,18})[uUlL]*\s*\)?"
_MACRO = re.compile(
    rf"^[ \t]*#[ \t]*define[ \t]+([A-Za-z_]\w*)[ \t]+{_NUMBER}[ \t]*$", re.MULTILINE
)
_CONSTANT = re.compile(
    r"\b(?:const|constexpr)\b[\w\s]{0,32}?\b(?:int|unsigned|long|short|size_t|u?int\d+_t)\s+"
    rf"([A-Za-z_]\w*)\s*=\s*{_NUMBER}\s*;"
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


def with_value(source: str, name: str, value: int) -> str:
    """The source with one of its `knobs` set. Raises KeyError for another name."""
    for knob in knobs(source):
        if knob.name == name:
            is_word = not source[knob.start].isdecimal()
            text = ("false", "true")[bool(value)] if is_word else str(value)
            return f"{source[: knob.start]}{text}{source[knob.end :]}"
    raise KeyError(name)


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
