"""The statements of a host's text that say numbers: declarations, assignments, allocations.

They are read once, in their order; `core.launching.host_values` evaluates them, often.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from core.cuda.kernel_text import closing, split_at_commas

TYPE = (
    r"(?:(?:const|constexpr|static|unsigned|signed|long|std::)\s*)*"
    r"(?:int|unsigned|long|short|char|size_t|uint|u?int\d+_t|float|double|auto|bool|dim3|uint3)"
)
_DECLARED = re.compile(rf"(?<![\w:<,])\s*{TYPE}\s+(?=[A-Za-z_])")
_ALLOCATED = re.compile(
    r"\b(?:cudaMalloc|cudaMallocManaged|cudaMallocHost|cudaMallocAsync|cudaHostAlloc)"
    r"(?:<[^>]*>)?\s*\("
)
ROUND = "([{)]}"


@dataclass(frozen=True)
class Setting:
    """`name = expression`, "" where it is only declared; `type` where that is done there."""

    name: str
    expression: str
    type: str = ""


@dataclass(frozen=True)
class Allocation:
    """Bytes of device memory for a pointer."""

    pointer: str
    nbytes: str


@dataclass(frozen=True)
class PitchedAllocation:
    """Rows of device memory; `pitch` is the variable that gets the bytes between two of them."""

    pointer: str
    pitch: str
    width: str
    height: str


Statement = Setting | Allocation | PitchedAllocation


def statements(text: str) -> Iterator[Statement]:
    """What a text without comments sets, loops and conditions taken as if they ran once."""
    text = re.sub(r"^[ \t]*#[^\n]*", "", text, flags=re.MULTILINE)
    for statement in re.split(r"[;{}]", _without_bodies_of_loops(text)):
        yield from _of(statement.strip())


def _of(statement: str) -> Iterator[Statement]:
    if allocation := _ALLOCATED.search(statement):
        inside = statement[allocation.end() :]
        parts = split_at_commas(inside[: closing(inside, 0)], ROUND)
        if len(parts) > 1:
            yield Allocation(pointer_name(parts[0]), parts[1])
        return
    if pitched := re.search(r"\bcudaMallocPitch\s*\((.*)\)", statement, re.DOTALL):
        parts = split_at_commas(pitched[1], ROUND)
        if len(parts) == 4:
            names = (pointer_name(part) for part in parts[:2])
            yield PitchedAllocation(*names, *parts[2:])
        return
    loop = re.search(r"\bfor\s*\((.*)", statement, re.DOTALL)
    text = loop[1] if loop else statement
    declared = _DECLARED.match(text)
    if declared:
        for part in split_at_commas(text[declared.end() :], ROUND):
            yield from _declared(part, declared[0].strip())
        return
    assigned = re.match(r"([\w.]+(?:->\w+)?)\s*(?<![=!<>+\-*/])=(?!=)\s*(.+)$", text, re.DOTALL)
    if assigned:
        last = re.split(r"(?<![=!<>])=(?!=)", assigned[2])[-1]
        for name in _names(assigned[1], assigned[2]):
            yield Setting(name.replace("->", "."), last)


def _declared(part: str, kind: str) -> Iterator[Setting]:
    match = re.match(r"(\w+)\s*(?:=\s*(.*)|([({].*)[)}])?\s*$", part, re.DOTALL)
    if not match:
        return
    name, given, made = match[1], match[2], match[3]
    if "dim3" in kind.split():
        expression = given or f"dim3({made[1:] if made else '1'})"
        yield Setting(name, expression, "dim3")
    else:
        yield Setting(name, given or (made[1:] if made else ""), kind)


def outside_functions(text: str) -> str:
    """The declarations at namespace level."""
    parts, at = [], 0
    for match in re.finditer(r"\{", text):
        if match.start() < at:
            continue
        header = text[at : match.start()]
        if re.search(r"\bnamespace\b[^;()]*$", header):
            parts.append(re.sub(r"[^;{}]*$", ";", header))
            at = match.end()
            continue
        parts.append(re.sub(r"[^;{}]*$", "", header))
        at = closing(text, match.end(), "{}") + 1
    return "".join([*parts, text[at:]])


def _without_bodies_of_loops(text: str) -> str:
    """As `;` ends a statement, those inside `for (…)` become ends of statements, too."""
    return re.sub(r"\b(if|while|switch)\s*\([^;{}]*\)", ";", text)


def _names(first: str, rest: str) -> Iterator[str]:
    """`a = b = c = 3`: all the names that get the value."""
    yield first
    for part in re.split(r"(?<![=!<>])=(?!=)", rest)[:-1]:
        if re.fullmatch(r"\s*[\w.]+\s*", part):
            yield part.strip()


def pointer_name(text: str) -> str:
    """`(void **)&d_a` is the pointer d_a."""
    plain = re.sub(r"\(\s*(?:const\s+)?\w+(?:\s+\w+)*\s*\*+\s*\)", "", text)
    plain = re.sub(r"\b(?:reinterpret_cast|static_cast)\s*<[^<>]*>\s*", "", plain)
    return plain.strip("&() \t\n").replace("->", ".")
