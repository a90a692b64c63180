"""Which dimension of the grid a kernel's number is the extent of: the N of `if (row < N)`."""

from __future__ import annotations

import re

_DECLARED = re.compile(r"\b(\w+)\s*=(?!=)([^;{}]*)")
_INDEX = re.compile(r"\b(?:threadIdx|blockIdx)\s*\.\s*([xyz])\b")
_STEPS = 3  # by = blockIdx.y; row = by * TILE + ty; row2 = row + 8


def bounded_axes(name: str, text: str, dimensions: int) -> tuple[int, ...]:
    """The dimensions (0 is x) whose indices a kernel's body compares with `name`, in order.

    Empty where it compares none, or where only an expression of `name` bounds them.
    """
    axes = _axes_of_variables(text)
    word = re.escape(name)
    end = r"(?!\s*[*/+\-.\w])"
    first = r"(?:(?:^|[(&|!,;=?:])\s*|\+\s*(?=threadIdx))([\w.]+)"  # not the i of `2 * i < n`
    compared = re.findall(rf"{first}\s*(?:<=?|>=)\s*{word}\b{end}", text)
    compared += re.findall(rf"[(&|!,;=?:]\s*{word}\s*>=?\s*([\w.]+){end}", text)
    found = set()
    for one in compared:
        direct = _INDEX.search(one)
        axis = "xyz".index(direct[1]) if direct else axes.get(one)
        if axis is not None and axis < dimensions:
            found.add(axis)
    return tuple(sorted(found))


def _axes_of_variables(text: str) -> dict[str, int]:
    """The one dimension that a variable's value comes from, where it is one."""
    axes: dict[str, int] = {}
    for _ in range(_STEPS):
        for name, value in _DECLARED.findall(text):
            used = {"xyz".index(letter) for letter in _INDEX.findall(value)}
            used |= {axes[word] for word in re.findall(r"(?<![\w.])\w+", value) if word in axes}
            if len(used) == 1 and name not in axes:
                axes[name] = used.pop()
    return axes
