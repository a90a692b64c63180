"""What a learner types as an answer: a number, or the names of what they would click."""

from __future__ import annotations

import re

from core.errors import ParameterError
from core.lessons.expressions import Element, Value

LETTERS = "ABCDEFGH"
"""Of a question's choices, of which there are two to eight."""


def number_typed(text: str) -> float | int:
    """A typed number, whole where it is: `12.5`, `16,384`, `50 %`. Raises ParameterError."""
    plain = re.sub(r"[\s%]|(?<=\d),(?=\d{3}(?!\d))", "", text)
    if not re.fullmatch(r"-?\d{1,15}(\.\d{1,15})?", plain):
        raise ParameterError(f"`{text[:40]}` is not a number: type one, such as 12.5.")
    number = float(plain)
    return int(number) if number.is_integer() else number


def things_typed(text: str) -> list[Value]:
    """Elements, `A[0,2] A[1,2]`, or numbers of threads, banks and the like. Raises ParameterError.

    What is between and around them, such as `bank 3 and bank 5`, means nothing.
    """
    elements = re.findall(r"(\w+)\[([0-9]{1,9}(?:, *[0-9]{1,9})*)\]", text)
    if elements:
        return [Element(name, tuple(int(i) for i in index.split(","))) for name, index in elements]
    numbers = re.findall(r"(?<![\w.])\d{1,9}(?![\w.])", text)
    if not numbers:
        raise ParameterError(f"`{text[:40]}` names nothing: type C[1,3], or a number such as 3.")
    return [int(number) for number in numbers]
