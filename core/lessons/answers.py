"""What a learner types as an answer: a number, or the names of what they would click."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from core.errors import ParameterError
from core.lessons.expressions import Element, Value

if TYPE_CHECKING:
    from core.launch import Dim3
    from core.lessons.lesson import Target

LETTERS = "ABCDEFGH"
"""Of a question's choices, of which there are two to eight."""


_INDEX = r"[0-9]{1,9}"
_LIST = rf"\s*{_INDEX}(?:\s*,\s*{_INDEX})*\s*"
_ELEMENT = re.compile(
    rf"([A-Za-z_]\w*)\s*(\[{_LIST}\](?!\s*\[)|(?:\[\s*{_INDEX}\s*\]\s*)+|\({_LIST}\))"
)
_AXIS = rf"(?:[xyz]\s*=?\s*)?{_INDEX}"
_PLACE = rf"\(\s*{_AXIS}(?:\s*,\s*{_AXIS}){{1,2}}\s*\)"
_NUMBER = re.compile(rf"({_PLACE})|(?<![\w.]){_INDEX}(?![\w.])")


def number_typed(text: str) -> float | int:
    """A typed number, whole where it is: `12.5`, `16,384`, `50 %`. Raises ParameterError."""
    plain = re.sub(r"[\s%]|(?<=\d),(?=\d{3}(?!\d))", "", text)
    if not re.fullmatch(r"-?\d{1,15}(\.\d{1,15})?", plain):
        raise ParameterError(f"`{text[:40]}` is not a number: type digits alone.")
    number = float(plain)
    return int(number) if number.is_integer() else number


def things_typed(text: str, target: Target, block: Dim3 | None = None) -> list[Value]:
    """What a click on `target` answers with, typed. Raises ParameterError where it names nothing.

    An element is written `A[0,2]`, `A[0][2]` or `A(0, 2)`; a thread by its number or, in a `block`
    of known shape, as `(x, y)`; everything else by its number. What is between and around them,
    such as `bank 3 and bank 5`, means nothing.
    """
    found: list[Value] = []
    if target == "element":
        for name, index in _ELEMENT.findall(text):
            found.append(Element(name, tuple(int(i) for i in re.findall(r"[0-9]+", index))))
    elif "[" not in text:
        found += [
            _linear(match[1], block) if match[1] else int(match[0])
            for match in _NUMBER.finditer(text)
        ]
    if not found:  # letters, not numbers: an example could be the answer
        how = {"element": "C[row,column]", "thread": "(x, y) or its number"}.get(target, "a number")
        raise ParameterError(f"`{text[:40]}` names no {target}: type {how}.")
    return found


def _linear(place: str, block: Dim3 | None) -> int:
    """The number of the thread at `(x, y)` or `(x, y, z)`."""
    if block is None:
        raise ParameterError(f"`{place}` is no number: type one.")
    x, y, z = (*(int(one) for one in re.findall(r"[0-9]+", place)), 0)[:3]
    if x >= block.x or y >= block.y or z >= block.z:
        raise ParameterError(f"There is no thread {place}: the block is {block}, from (0, 0) on.")
    return x + block.x * (y + block.y * z)
