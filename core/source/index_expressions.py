"""What the indices that a kernel uses say: shapes of arrays, extents of the grid.

`bias[col]` is a row, `A[row * N + k]` a matrix of N columns, and the N of `if (row < N)` the
extent of the dimension that `row` comes from.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping

from core.source.preprocessor import closing, split_at_commas

_LOCAL = re.compile(
    r"\b(?:const\s+)?(?:unsigned\s+int|unsigned|u?int|u?int32_t|size_t|long\s+long|long|auto)\s+"
    r"(\w+\s*=[^;]*);"
)
INDEX = re.compile(r"\b(threadIdx|blockIdx|blockDim|gridDim)\s*\.\s*([xyz])\b")
_STRAIGHT = re.compile(r"[\w\s+*()-]+")
_QUOTIENT = re.compile(
    r"(?<![\w.>*])(?<!\* )([A-Za-z_]\w*)((?:\s*/\s*(?:\w+(?![\w.(])|\([\w\s*]+\)))+)"
)
_LOOP = re.compile(r"(?<![\w.>])(\w+)\s*<\s*([A-Za-z_]\w*)\s*;\s*\1\s*\+=\s*(\w+)\s*[,)]")
_LARGEST_TILE = 1024


def only_axis(name: str, body: str) -> int | None:
    """The dimension whose index an array is used with, always and alone: 0 for `bias[col]`.

    None where it is used with more than a variable made of one dimension's indices.
    """
    plain = INDEX.sub(r"\1_\2", body)
    variables, found = local_values(plain), set()
    for index in _indices(name, plain):
        whole = _whole(index, variables) if re.fullmatch(r"\s*\w+\s*", index) else None
        axes = {m[1] for m in re.finditer(r"\b(?:thread|block)Idx_([xyz])\b", whole or "")}
        if len(axes) != 1 or not _STRAIGHT.fullmatch(whole or ""):
            return None
        found |= axes
    return "xyz".index(found.pop()) if len(found) == 1 else None


def strides(name: str, text: str, numbers: Collection[str]) -> tuple[str, str] | None:
    """The numbers that are rows and columns of a matrix: ("M", "N") for `c[row * N + col]`.

    Columns are what a row's index is multiplied by, rows what it is compared with ("" if nothing).
    None where the indices do not agree about the columns.
    """
    plain = re.sub(r"\s+", "", text)
    variables = local_values(INDEX.sub(r"\1_\2", text))
    found: dict[str, str] = {}
    for index in _indices(name, text):
        whole = re.sub(r"\s+", "", index)
        value = variables.get(whole)
        for term in _terms(re.sub(r"\s+", "", value) if value else whole, "+"):
            factors = _terms(term, "*")
            columns = [f for f in factors if f in numbers]
            if len(factors) == 2 and len(columns) == 1:
                row = factors[1 - factors.index(columns[0])]
                rows = found.get(columns[0], "") or _bound_of(_bare(row), plain, numbers)
                found[columns[0]] = rows
    if len(found) != 1:
        return None
    ((columns_name, rows_name),) = found.items()
    return rows_name, columns_name


def only_bound(name: str, text: str, numbers: Collection[str]) -> str:
    """The number that bounds an array's one index: C for `bias[i]` where `i < C`, or `bias[i % C]`.

    "blockIdx_x" for `sums[blockIdx.x]`. "" where the array has other indices or uses as well.
    """
    plain = INDEX.sub(r"\1_\2", re.sub(r"\s+", "", text))
    variables, found = local_values(INDEX.sub(r"\1_\2", text)), set()
    indices = [*_indices(name, plain)]
    if len(indices) != len(re.findall(rf"(?<![\w.>]){re.escape(name)}\b", plain)):
        return ""
    for index in indices:
        whole = re.sub(r"\s+", "", variables.get(index, index))
        if rest := re.fullmatch(r"[^%]+%(\w+)", whole):
            found.add(rest[1])
        elif whole.startswith("blockIdx_") and whole.isidentifier():
            found.add(whole)
        else:
            compared = rf"(?<![\w.+*-]){index}(?:<=?|>=?)(\w+)\b(?![*/+.(-])"
            found |= {*(re.findall(compared, plain) if index.isidentifier() else ())} or {""}
    bound = found.pop() if len(found) == 1 else ""
    return bound if bound in numbers or bound.startswith("blockIdx_") else ""


def indexed_alike(names: Collection[str], text: str) -> Mapping[str, frozenset[str]]:
    """The arrays that have an index in common with each, by name: `Q[row + x]`, `O[row + x]`."""
    found = {name: {re.sub(r"\s+", "", index) for index in _indices(name, text)} for name in names}
    variable = {
        name: {index for index in indices if re.search(r"[A-Za-z_]", index)}
        for name, indices in found.items()
    }
    return {
        name: frozenset(n for n, others in variable.items() if n != name and others & indices)
        for name, indices in variable.items()
    }


def divisors(text: str, value_of: Callable[[str], object]) -> Mapping[str, int]:
    """What a text divides by, by name: 128 for the `k` of `k / 16 / blocks`, if `blocks` is 8.

    `k / (16 * blocks)` says the same. So are the steps of a loop: 16 for the `k` of `i < k; i +=
    16`. The least common multiple of several; nothing beyond the largest tile of a matrix.
    `value_of` gives a name's number, or None.
    """
    found: dict[str, int] = {}
    loops = ((name, step) for _, name, step in _LOOP.findall(text))
    for name, chain in (*_QUOTIENT.findall(text), *loops):
        by = 1
        for part in re.findall(r"\w+", chain):
            value = int(part) if part.isdecimal() else value_of(part)
            if not isinstance(value, int) or value < 1 or part == name:
                break
            by *= value
        if 1 < by <= _LARGEST_TILE:
            found[name] = math.lcm(found.get(name, 1), by)
    return {name: by for name, by in found.items() if by <= _LARGEST_TILE}


def _terms(expression: str, mark: str) -> list[str]:
    """What stands between the marks outside all brackets, without brackets around it."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(expression):
        depth += (letter in "([") - (letter in ")]")
        if letter == mark and depth == 0:
            parts.append(expression[start:at])
            start = at + 1
    return [_bare(part) for part in (*parts, expression[start:])]


def _bare(expression: str) -> str:
    """An expression without brackets around the whole of it."""
    while expression[:1] == "(" and closing(expression, 1) == len(expression) - 1:
        expression = expression[1:-1]
    return expression


def _bound_of(expression: str, plain: str, numbers: Collection[str]) -> str:
    """The number that an expression is compared with in a text without spaces; "" if none."""
    found = re.search(rf"(?<![\w.+*-]){re.escape(expression)}\)*<=?\(*(\w+)\b(?![*/+-])", plain)
    return found[1] if found and found[1] in numbers else ""


def _indices(name: str, text: str) -> Iterator[str]:
    for found in re.finditer(rf"(?<![\w.>]){re.escape(name)}\s*\[", text):
        yield text[found.end() : closing(text, found.end(), "[]")]


def local_values(text: str) -> dict[str, str]:
    """Variables that are given a value once, where they are declared."""
    found = {}
    for declared in _LOCAL.finditer(text):
        for one in split_at_commas(declared[1]):
            name, _, value = one.partition("=")
            plain = re.escape(name.strip())
            changes = rf"\b{plain}\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)|\b{plain}\s*(?:\+\+|--)|"
            if len(re.findall(rf"(?:{changes}(?:\+\+|--)\s*{plain}\b)", text)) == 1:
                found[name.strip()] = value.strip()
    return found


def _whole(index: str, variables: Mapping[str, str]) -> str | None:
    """An index with its variables' values put in; None where they lead round in a circle."""
    for _ in range(8):
        replaced = re.sub(
            r"[A-Za-z_]\w*", lambda m: f"({variables[m[0]]})" if m[0] in variables else m[0], index
        )
        if replaced == index:
            return index
        index = replaced
    return None


_DECLARED = re.compile(r"\b(\w+)\s*=(?!=)([^;{}]*?)(?=[;{}]|,\s*\w+\s*=(?!=)|$)")
_GLOBAL_INDEX = re.compile(r"\b(?:threadIdx|blockIdx)\s*\.\s*([xyz])\b")
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
        direct = _GLOBAL_INDEX.search(one)
        axis = "xyz".index(direct[1]) if direct else axes.get(one)
        if axis is not None and axis < dimensions:
            found.add(axis)
    return tuple(sorted(found))


def is_row_pitch(name: str, text: str) -> bool:
    """Whether a kernel's body multiplies an index of y or z by `name`, as `y * step + x` does."""
    rows = [re.escape(n) for n, axis in _axes_of_variables(text).items() if axis > 0]
    rows.append(r"(?:thread|block)Idx\s*\.\s*[yz]")
    row = rf"(?<![\w.])(?:{'|'.join(rows)})\b"
    word = rf"(?<![\w.]){re.escape(name)}\b"
    cast = r"\s*(?:\(\s*\w+\s*\)\s*)?"  # as in `y * (size_t)step`
    return bool(re.search(rf"{row}\s*\*{cast}{word}|{word}\s*\*{cast}{row}", text))


def _axes_of_variables(text: str) -> dict[str, int]:
    """The one dimension that a variable's value comes from, where it is one."""
    axes: dict[str, int] = {}
    for _ in range(_STEPS):
        for name, value in _DECLARED.findall(text):
            used = {"xyz".index(letter) for letter in _GLOBAL_INDEX.findall(value)}
            used |= {axes[word] for word in re.findall(r"(?<![\w.])\w+", value) if word in axes}
            if len(used) == 1 and name not in axes:
                axes[name] = used.pop()
    return axes
