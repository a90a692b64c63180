"""The host's part of a `.cu` file: what no GPU runs, and what NVRTC refuses to compile.

A file for nvcc holds `main` beside its kernels. Here such things are found, so that they can be
left out with every line staying where it is. Not a C++ front end: functions at namespace level or
in a class whose header says neither `__global__` nor `__device__` nor `constexpr`, and variables at
namespace level that are neither marked for the GPU nor constant. Macros that stand for those words
are known.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from core.cancelling import check
from core.cuda.kernel_text import without_disabled
from core.cuda.source_constants import blanked

_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE | re.DOTALL)
_MARK = "\ue000"  # stands for a macro that means __device__ or __global__
_DEVICE = re.compile(rf"\b__(?:global|device)__\b|{_MARK}")
_DEFINE = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(\w+)(\()?((?:[^\n\\]|\\.|\\\n)*)", re.MULTILINE | re.DOTALL
)
_MARKS = re.compile("[;{}]")
_PAIRS = {pair: re.compile(f"[{re.escape(pair)}]") for pair in ("{}", "()")}
_ATTRIBUTE = re.compile(r"\b(?:__align__|alignas|__attribute__)\s*\((?:[^()]|\([^()]*\))*\)")
_CONSTEXPR = re.compile(r"\bconstexpr\b")
_CLASS = re.compile(r"\b(?:struct|class|union)\b(?![^(]*\()")
_ENUM = re.compile(r"\benum\b")
_ACCESS = re.compile(r"\s*(?:(?:public|private|protected)\s*:)?\s*")
_SPACE = re.compile(r"^\s*(?:inline\s+)?(?:namespace\b[\w\s:]*|extern\s*)$")
_FUNCTION = re.compile(r"([A-Za-z_]\w*|operator\s*\S+?)\s*\(")
_VARIABLE = re.compile(r"(?<=[\w>*&\s])\b([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*(?=[={;])")
_NAMED = re.compile(r"(?:\b(?:struct|class|union|enum|using)\s+)?([A-Za-z_]\w*)\s*(?=[\[={;:])")
_NO_VARIABLE = re.compile(
    r"[()]|\b(?:__\w+__|const|constexpr|using|typedef|struct|class|union|enum|template|extern|friend"
    r"|namespace|return|asm)\b|^\s*\w*\s*$"
)


@dataclass(frozen=True)
class HostItem:
    """A function or variable of the host: its name, its line, its characters `start` to `end`."""

    name: str
    line: int
    start: int
    end: int


@lru_cache(maxsize=8)
def host_items(source: str) -> tuple[HostItem, ...]:
    """The functions and namespace-level variables that only the host has, in order."""
    return tuple(_walk(_scanned(source)))


def without_host_code(source: str) -> str:
    """The source with spaces in place of its host items; the lines keep their numbers."""
    return without(source, [(item.start, item.end) for item in host_items(source)])


def without(source: str, spans: Iterable[tuple[int, int]]) -> str:
    """The source with spaces in place of those characters; the lines keep their numbers."""
    text = list(source)
    for start, end in spans:
        text[start:end] = _blank(source[start:end])
    return "".join(text)


def has_plain_constexpr(source: str) -> bool:
    """Whether a `constexpr` function says nothing of the GPU, as nvcc allows with an option."""
    found = re.finditer(r"(?:[;}]|^)([^;{}]*)\{", _scanned(source))
    return any(
        _CONSTEXPR.search(m[1]) and "(" in m[1].partition("=")[0] and not _DEVICE.search(m[1])
        for m in found
    )


def plain_statements(source: str) -> tuple[HostItem, ...]:
    """Classes and declarations at namespace level in which nothing is marked for the GPU."""
    text = _scanned(source)
    return tuple(_plain_statements(text))


def _scanned(source: str) -> str:
    """The source without comments, strings and directives; macros for `__device__` are resolved.

    Every character stays in its place.
    """
    text = without_disabled(blanked(source))
    names: list[str] = []
    kernels: list[str] = []
    for name, has_parameters, body in _DEFINE.findall(text):
        if _DEVICE.search(body):
            (kernels if has_parameters else names).append(name)
    text = _ATTRIBUTE.sub(_spaces, _DIRECTIVE.sub(_spaces, text))
    for name in names:
        text = re.sub(rf"\b{name}\b", _MARK.ljust(len(name)), text)
    for name in kernels:  # a macro that makes a whole kernel: nothing of it is the host's
        for call in reversed(list(re.finditer(rf"\b{name}\s*\(", text))):
            end = _closing(text, call.end() - 1, "()")
            text = text[: call.start()] + _blank(text[call.start() : end]) + text[end:]
    return text


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _spaces(match: re.Match[str]) -> str:
    return _blank(match[0])


def _walk(text: str) -> Iterator[HostItem]:
    start = end = 0
    inside: list[bool] = []  # for each brace that is open: whether it is a class's
    for place in _MARKS.finditer(text):
        if (at := place.start()) < end:
            continue
        check()
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


def _item(text: str, start: int, end: int, naming: re.Pattern[str]) -> HostItem:
    label = _ACCESS.match(text, start, end)
    first = label.end() if label else start
    name = naming.search(text, first, end)
    return HostItem(
        name[1] if name else "", 1 + bisect.bisect_left(_line_ends(text), first), first, end
    )


@lru_cache(maxsize=2)
def _line_ends(text: str) -> list[int]:
    return [match.start() for match in re.finditer("\n", text)]


def _is_function(header: str) -> bool:
    before = header.partition("(")[0]
    return (
        "(" in header
        and "=" not in before.replace("operator", "")
        and not _DEVICE.search(header)
        and not _CONSTEXPR.search(before)
        and not _ENUM.search(before)
    )


def _is_variable(statement: str) -> bool:
    """A declaration such as `static int *count = 0`; constants are the GPU's as well."""
    before = re.split(r"[={]", statement, maxsplit=1)[0]
    return bool(_VARIABLE.search(before.strip() + "=")) and not _NO_VARIABLE.search(before)


def _plain_statements(text: str) -> Iterator[HostItem]:
    start = end = 0
    for place in _MARKS.finditer(text):
        if (at := place.start()) < end:
            continue
        check()
        mark, header = text[at], text[start:at]
        if mark == "{" and not _SPACE.match(header):
            end = _closing(text, at)
            if "(" in header.partition("=")[0]:  # a function ends here, all else with a ;
                start = end
        else:
            if header.strip() and mark == ";" and not _DEVICE.search(header):
                yield _item(text, start, at + 1, _NAMED)
            start = at + 1


def _closing(text: str, at: int, pair: str = "{}") -> int:
    """Behind the brace that closes the one at `at`, or the end of the text."""
    depth = 0
    for place in _PAIRS[pair].finditer(text, at):
        depth += 1 if place[0] == pair[0] else -1
        if depth == 0:
            return place.end()
    return len(text)
