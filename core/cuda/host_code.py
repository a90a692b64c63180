"""The host's part of a `.cu` file: what no GPU runs, and what NVRTC refuses to compile.

A file for nvcc holds `main` beside its kernels. Here such things are found, so that they can be
left out with every line staying where it is. Not a C++ front end: functions at namespace level or
in a class whose header says neither `__global__` nor `__device__`, and variables at namespace level
that are neither marked for the GPU nor constant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from core.cuda.source_constants import blanked

_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE | re.DOTALL)
_DEVICE = re.compile(r"\b__(?:global|device)__\b")
_CLASS = re.compile(r"\b(?:struct|class|union)\b(?![^(]*\()")
_ENUM = re.compile(r"\benum\b")
_ACCESS = re.compile(r"\s*(?:(?:public|private|protected)\s*:)?\s*")
_SPACE = re.compile(r"^\s*(?:inline\s+)?(?:namespace\b[\w\s:]*|extern\s*)$")
_FUNCTION = re.compile(r"([A-Za-z_]\w*|operator\s*\S+?)\s*\(")
_VARIABLE = re.compile(r"(?<=[\w>*&\s])\b([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*(?=[={;])")
_NO_VARIABLE = re.compile(
    r"[()]|\b(?:__\w+__|const|constexpr|using|typedef|struct|class|union|enum|template|extern|friend"
    r"|namespace|return|asm)\b|^\s*\w*\s*$"
)
_USING = re.compile(r"\busing\s+namespace\s+std\s*;")


@dataclass(frozen=True)
class HostItem:
    """A function or variable of the host: its name, its line, its characters `start` to `end`."""

    name: str
    line: int
    start: int
    end: int


def host_items(source: str) -> tuple[HostItem, ...]:
    """The functions and namespace-level variables that only the host has, in order."""
    text = _DIRECTIVE.sub(_spaces, blanked(source))
    return tuple(_walk(text))


def without_host_code(source: str) -> str:
    """The source with spaces in place of its host items; the lines keep their numbers."""
    text = list(source)
    spans = [(item.start, item.end) for item in host_items(source)]
    spans += [match.span() for match in _USING.finditer(blanked(source))]
    for start, end in spans:
        text[start:end] = _blank(source[start:end])
    return "".join(text)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _spaces(match: re.Match[str]) -> str:
    return _blank(match[0])


def _walk(text: str) -> Iterator[HostItem]:
    start = at = 0
    inside: list[bool] = []  # for each brace that is open: whether it is a class's
    while at < len(text):
        mark, header = text[at], text[start:at]
        if mark == ";":
            if not any(inside) and _is_variable(header):
                yield _item(text, start, at + 1, _VARIABLE)
            start = at + 1
        elif mark == "}":
            del inside[-1:]
            start = at + 1
        elif mark == "{":
            is_class = bool(_CLASS.search(header)) and not _ENUM.search(header)
            if is_class or _SPACE.match(header):  # goes on inside
                inside.append(is_class)
                start = at + 1
            else:
                end = _closing(text, at)
                if _is_function(header):
                    yield _item(text, start, end, _FUNCTION)
                if "(" in header.partition("=")[0]:  # else an initialiser, that a ; ends
                    start = end
                at = end - 1
        at += 1


def _item(text: str, start: int, end: int, naming: re.Pattern[str]) -> HostItem:
    label = _ACCESS.match(text, start, end)
    first = label.end() if label else start
    name = naming.search(text, first, end)
    return HostItem(name[1] if name else "", text.count("\n", 0, first) + 1, first, end)


def _is_function(header: str) -> bool:
    before = header.partition("(")[0]
    return (
        "(" in header
        and "=" not in before.replace("operator", "")
        and not _DEVICE.search(header)
        and not _ENUM.search(before)
    )


def _is_variable(statement: str) -> bool:
    """A declaration such as `static int *count = 0`; constants are the GPU's as well."""
    before = re.split(r"[={]", statement, maxsplit=1)[0]
    return bool(_VARIABLE.search(before.strip() + "=")) and not _NO_VARIABLE.search(before)


def _closing(text: str, at: int) -> int:
    """Behind the brace that closes the one at `at`, or the end of the text."""
    depth = 0
    for place in range(at, len(text)):
        depth += (text[place] == "{") - (text[place] == "}")
        if depth == 0:
            return place + 1
    return len(text)
