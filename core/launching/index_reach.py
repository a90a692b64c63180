"""How far the indices of a kernel go, where that can be read off: `x[threadIdx.x * 2]`.

Only of kernels without branches and loops, in which every index is a straight line of the indices
of threads and blocks: then its largest value stands in a corner of the grid.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

from core.cuda.kernel_text import closing, split_at_commas
from core.cuda.source_constants import evaluate

_BRANCHES = re.compile(r"\b(if|for|while|do|switch|goto|return)\b|\?|&&|\|\|")
_LOCAL = re.compile(
    r"\b(?:const\s+)?(?:unsigned\s+int|unsigned|int|size_t|long\s+long|long|auto)\s+"
    r"(\w+\s*=[^;]*);"
)
_INDEX = re.compile(r"\b(threadIdx|blockIdx|blockDim|gridDim)\s*\.\s*([xyz])\b")
_STRAIGHT = re.compile(r"[\w\s+*()-]+")


def reach(name: str, body: str, grid: Sequence[int], block: Sequence[int]) -> int | None:
    """How many elements an array needs for the indices it is used with; None if that is not clear.

    `body` is the kernel's text; `grid` and `block` are x first.
    """
    if _BRANCHES.search(body):
        return None
    plain = _INDEX.sub(r"\1_\2", body)
    found = [_whole(index, _locals(plain)) for index in _indices(name, plain)]
    if not found or not all(index and _STRAIGHT.fullmatch(index) for index in found):
        return None
    values = [evaluate(str(i), corner) for corner in _corners(grid, block) for i in found]
    known = [value for value in values if value is not None]
    return 1 + max(known) if len(known) == len(values) else None


def only_axis(name: str, body: str) -> int | None:
    """The dimension whose index an array is used with, always and alone: 0 for `bias[col]`.

    None where it is used with more than a variable made of one dimension's indices.
    """
    plain = _INDEX.sub(r"\1_\2", body)
    variables, found = _locals(plain), set()
    for index in _indices(name, plain):
        whole = _whole(index, variables) if re.fullmatch(r"\s*\w+\s*", index) else None
        axes = {m[1] for m in re.finditer(r"\b(?:thread|block)Idx_([xyz])\b", whole or "")}
        if len(axes) != 1 or not _STRAIGHT.fullmatch(whole or ""):
            return None
        found |= axes
    return "xyz".index(found.pop()) if len(found) == 1 else None


def _indices(name: str, text: str) -> Iterator[str]:
    for found in re.finditer(rf"(?<![\w.>]){re.escape(name)}\s*\[", text):
        yield text[found.end() : closing(text, found.end(), "[]")]


def _locals(text: str) -> dict[str, str]:
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
            r"[A-Za-z_]\w*",
            lambda m: f"({variables[m[0]]})" if m[0] in variables else m[0],
            index,
        )
        if replaced == index:
            return index
        index = replaced
    return None


def _corners(grid: Sequence[int], block: Sequence[int]) -> Iterator[dict[str, int]]:
    """The indices of the first and the last thread and block along each axis."""
    blocks, threads = ([*size, 1, 1][:3] for size in (grid, block))
    sizes = {f"{what}_{axis}": n for what, size in (("gridDim", blocks), ("blockDim", threads))
             for axis, n in zip("xyz", size, strict=True)}  # fmt: skip
    names = [f"{what}_{axis}" for what in ("blockIdx", "threadIdx") for axis in "xyz"]
    ends = [(0, n - 1) if n > 1 else (0,) for n in (*blocks, *threads)]
    for corner in itertools.product(*ends):
        yield {**sizes, **dict(zip(names, corner, strict=True))}
