"""What a learner types as an answer: a number, or the names of what they would click.

What people write is understood, and what cannot be meant is refused with a sentence that says what
to type: a text that is half understood would be marked as an answer that nobody gave.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from core.errors import ParameterError
from core.lessons.lesson_expressions import Element, Value
from core.wording import listing

if TYPE_CHECKING:
    from core.launch import Dim3
    from core.lessons.lesson import Target

LETTERS = "ABCDEFGH"
"""Of a question's choices, of which there are two to eight."""

MOST_THINGS = 1 << 12  # that one answer names: a range could name any number
_SHOWN = 40  # characters of what was typed that a sentence repeats
_SIGNS = str.maketrans({**dict.fromkeys("−–—‐‑‒", "-"), "⁄": "/", "×": "x", "…": "..."})


# -- numbers ---------------------------------------------------------------------------------------

_GROUPS = r"[1-9][0-9]{0,2}(?:(?:,[0-9]{3}){1,4}|(?: [0-9]{3}){1,4})"
_DIGITS = rf"(?:{_GROUPS}|[0-9]{{1,15}})"
_FIGURE = rf"[+-]? ?(?:{_DIGITS}(?:\.[0-9]{{0,15}})?|\.[0-9]{{1,15}})(?:[eE][+-]?[0-9]{{1,2}})?"
_TYPED = re.compile(rf"({_FIGURE})(?: ?/ ?({_FIGURE}))?(?: ?(?![ 0-9.,])(.+))?")
_DECIMAL_COMMA = re.compile(r"([+-]?(?:[0-9]| (?=[0-9]))*),([0-9]+)(?![0-9,])")
_PER_CENT = ("%", "per cent", "percent")


def number_typed(text: str, unit: str = "", asked: str = "") -> float | int:
    """A typed number, whole where it is: `12.5`, `16,384`, `0,125`, `1/8`, `1e3`, `8 sectors`.

    A comma before three digits groups thousands, unless the number begins with 0; any other single
    comma is a decimal one. Behind the number may stand the question's `unit`, or a plural of the
    text that is `asked`, or its singular. Raises ParameterError.
    """
    plain = " ".join(text.translate(_SIGNS).split())
    comma = _DECIMAL_COMMA.match(plain)
    if comma and "," not in plain[comma.end() :]:
        whole = comma[1].lstrip("+-")
        if len(comma[2]) != 3 or not whole or whole.startswith("0"):
            plain = plain.replace(",", ".", 1)
    found = _TYPED.fullmatch(plain)
    if found is None:
        raise ParameterError(_no_number(text, unit))
    top, below, noun = found.groups()
    if noun:
        _must_be_asked(text, noun, unit, asked)
    number = _figure(top)
    if below is not None:
        if _figure(below) == 0:
            raise ParameterError(f"`{text[:_SHOWN]}` divides by 0: type a number.")
        number /= _figure(below)
    return int(number) if number.is_integer() else number


def _figure(text: str) -> float:
    return float(re.sub("[, ]", "", text))


def _no_number(text: str, unit: str) -> str:
    behind = f" The unit, {unit}, may stand behind it." if unit else ""
    return (
        f"`{text[:_SHOWN]}` is not a number: type digits, with a point for decimals, with e for a "
        f"power of ten, or as a fraction with /.{behind}"
    )


def _must_be_asked(text: str, noun: str, unit: str, asked: str) -> None:
    """Raises ParameterError where the question has no such unit."""
    written = noun.removesuffix(".").rstrip()
    noun = written.casefold()
    if noun in _PER_CENT:
        if unit == "%" or any(words in asked.casefold() for words in _PER_CENT[1:]):
            return
        raise ParameterError(
            f"`{text[:_SHOWN]}` is a share, and the question asks for none: type the number."
        )
    plurals = set(re.findall(r"[a-z]+s\b", f"{asked} {unit}".casefold())) | {"times", "x"}
    if noun == unit.casefold() or noun in plurals or f"{noun}s" in plurals:
        return
    if not re.fullmatch(r"[a-z]+(/[a-z]+)?", noun):
        raise ParameterError(_no_number(text, unit))
    raise ParameterError(
        f"`{text[:_SHOWN]}`: the question does not ask for `{written}`; type the number"
        f"{f', in {unit}' if unit else ' alone'}."
    )


# -- things ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Things:
    """What a question has to be clicked.

    `last` is the number of the last, where there is a last one; `block` the shape of the block
    whose threads are asked for; `shapes` those of the launch's arrays, shared ones too. `single`:
    one alone is asked for.
    """

    target: Target
    single: bool = False
    last: int | None = None
    block: Dim3 | None = None
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def first(self) -> int:
        """The number of the first: lines are counted from 1."""
        return 1 if self.target == "line" else 0

    @property
    def how(self) -> str:
        """How it is typed. Letters, not numbers: an example could be the answer."""
        if self.target == "element":
            return "C[row,column]" if self.single else "C[row,column], with commas between several"
        one = "(x, y) or its number" if self.target == "thread" else "a number"
        return one if self.single else f"{one}, with commas between several, or a range a-b"


_INDEX = r"[+-]?[0-9]{1,9}"
_LIST = rf"\s*{_INDEX}(?:\s*,\s*{_INDEX})*\s*"
_ELEMENT = re.compile(
    rf"([A-Za-z_]\w*)\s*(\[{_LIST}\](?!\s*\[)|(?:\[\s*{_INDEX}\s*\]\s*)+|\({_LIST}\))"
)
_NUMBER = r"[0-9]{1,9}(?!\w|\.[0-9])"
_AXIS = rf"(?:(?:threadIdx\.)?[xyz]\s*=?\s*)?{_NUMBER}"
_NAMED = rf"(?:threadIdx\.)?[xyz]\s*=?\s*{_NUMBER}"
_PLACE = rf"\(\s*{_AXIS}(?:\s*,\s*{_AXIS}){{1,2}}\s*\)|{_NAMED}(?:\s*,?\s*{_NAMED}){{1,2}}"
_BARE_PLACE = re.compile(rf"\s*(?:threads?\s*)?({_NUMBER}(?:\s*,\s*{_NUMBER}){{1,2}})\s*\.?\s*")
_TO = r"\s*(?:-|\.\.\.?|\bto\b)\s*"


def things_typed(text: str, things: Things) -> list[Value]:
    """What clicks answer with, typed. Raises ParameterError where it names nothing, or no such.

    An element is written `A[0,2]`, `A[0][2]` or `A(0, 2)`; a thread by its number or, in a block of
    known shape, as `(x, y)` or `x=3, y=1`; everything else by its number, or several as `0-7`,
    `0..7` or `0 to 7`. Letter case and the target's own name, as in `bank 3 and bank 5`, mean
    nothing.
    """
    plain = text.translate(_SIGNS)
    reading = _elements if things.target == "element" else _numbers
    found = list(reading(text, plain, things))
    if not found:
        raise ParameterError(f"`{text[:_SHOWN]}` names no {things.target}: type {things.how}.")
    if things.single and len({str(one) for one in found}) > 1:
        raise ParameterError(
            f"`{text[:_SHOWN]}` names several, and one {things.target} is asked for: "
            f"type {things.how}."
        )
    return found


def _elements(text: str, plain: str, things: Things) -> Iterator[Value]:
    at = 0
    for match in _ELEMENT.finditer(plain):
        _must_mean_nothing(text, plain[at : match.start()], things)
        index = tuple(int(one) for one in re.findall(_INDEX, match[2]))
        yield _there(match[1], index, things.shapes)
        at = match.end()
    _must_mean_nothing(text, plain[at:], things)


def _there(name: str, index: tuple[int, ...], shapes: Mapping[str, tuple[int, ...]]) -> Element:
    """The element, its array named as the launch names it. Raises ParameterError if it has none."""
    alike = [one for one in shapes if one.casefold() == name.casefold()]
    if name in shapes or len(alike) == 1:
        name = name if name in shapes else alike[0]
        shape = shapes[name]
        element = Element(name, index)
        if len(index) != len(shape):
            places = ["row", "column"] if len(shape) == 2 else list("ijklm"[: len(shape)])
            raise ParameterError(f"{element} is no element: type {name}[{','.join(places)}].")
        if not all(0 <= i < extent for i, extent in zip(index, shape, strict=True)):
            corner = Element(name, tuple(extent - 1 for extent in shape))
            raise ParameterError(f"There is no {element}: the last element is {corner}.")
        return element
    known = listing(alike or list(shapes))
    raise ParameterError(f"The launch has no array {name}: type one of {known}.")


def _numbers(text: str, plain: str, things: Things) -> Iterator[Value]:
    bare = _BARE_PLACE.fullmatch(plain)
    if bare and things.single and things.block is not None and things.block.y > 1:
        plain = f"({bare[1]})"
    target = rf"(?:{things.target}s?\s*)?"
    token = re.compile(
        rf"(?P<place>{_PLACE})|(?<![\w.])(?:(?P<low>{_NUMBER}|[0-9]{{1,9}}(?=\.\.)){_TO}{target}"
        rf"(?P<high>{_NUMBER})|(?P<one>-?{_NUMBER}))",
        re.IGNORECASE,
    )
    at = 0
    for match in token.finditer(plain):
        _must_mean_nothing(text, plain[at : match.start()], things)
        at = match.end()
        if match["place"]:
            yield _linear(match["place"], things)
        elif match["one"]:
            yield _within(int(match["one"]), things)
        else:
            low, high = sorted((int(match["low"]), int(match["high"])))
            _within(low, things)
            _within(high, things)
            if high - low >= MOST_THINGS:
                raise ParameterError(f"`{match[0]}` names more than {MOST_THINGS:,}: type fewer.")
            yield from range(low, high + 1)
    _must_mean_nothing(text, plain[at:], things)


def _must_mean_nothing(text: str, between: str, things: Things) -> None:
    """Raises ParameterError where something between the names may mean something."""
    rest = re.sub(rf"\b(?:{things.target}s?|and|the)\b|[\s,;&]", "", between, flags=re.IGNORECASE)
    if rest.strip("."):
        raise ParameterError(
            f"`{text[:_SHOWN]}` names no {things.target} that is understood: type {things.how}."
        )


def _within(number: int, things: Things) -> int:
    """The number of a thing that there is. Raises ParameterError for another."""
    if number < things.first or (things.last is not None and number > things.last):
        span = f"begin with {things.first}" if things.last is None else f"are {things.first} to "
        span += "" if things.last is None else str(things.last)
        raise ParameterError(f"There is no {things.target} {number}: {things.target}s {span}.")
    return number


def _linear(place: str, things: Things) -> int:
    """The number of the thread at `(x, y)` or `(x, y, z)`."""
    block = things.block
    if block is None:
        raise ParameterError(f"`{place}` names no {things.target}: type {things.how}.")
    given = re.findall(r"(?:threadidx\.)?([xyz]?)\s*=?\s*([0-9]+)", place.casefold())
    names = [name or axis for (name, _), axis in zip(given, "xyz", strict=False)]
    if len(set(names)) < len(names):
        raise ParameterError(f"`{place}` names one axis twice: type (x, y).")
    at = {name: int(number) for name, (_, number) in zip(names, given, strict=True)}
    x, y, z = (at.get(axis, 0) for axis in "xyz")
    if x >= block.x or y >= block.y or z >= block.z:
        raise ParameterError(f"There is no thread {place}: the block is {block}, from (0, 0) on.")
    return x + block.x * (y + block.y * z)
