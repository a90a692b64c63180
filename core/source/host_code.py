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
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TypeVar

from core.cancelling import check
from core.errors import CompileError, Diagnostic
from core.source.constants import blanked
from core.source.kernel_text import without_disabled

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


# Files that nvcc would split into host and device code: what NVRTC cannot know is left out.
#
# First what is plainly the host's (`core.source.host_code`). What the compiler then still stumbles
# over goes step by step, as long as nothing in it is marked for the GPU: a header that is not here,
# a class with a `std::string` in it. If a kernel needs what was left out, the error says so.


_MOST_ATTEMPTS = 12
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"\n]+)[>\"].*$", re.MULTILINE)
_MISSING = re.compile(r'cannot open source file "([^"]+)"')
_UNKNOWN = re.compile(
    r'(?:identifier|has no member|namespace|not a (?:class|namespace)[^"]*) "(?:\w+::)*(\w+)"'
    r"|name followed by \"::\" must be a class or namespace name"
)
_HOST_LIBRARIES = ("thrust/",)  # they launch kernels of their own
_T = TypeVar("_T")


@dataclass
class _Attempt:
    """A text for NVRTC, and what has been left out of it."""

    text: str
    headers: dict[str, int] = field(default_factory=dict)  # name to line
    reasons: dict[str, CompileError] = field(default_factory=dict)  # by what was left out


def without_the_host(
    source: str, compile_text: Callable[[str], _T]
) -> tuple[_T, tuple[Diagnostic, ...]]:
    """`compile_text` of the device's part of `source`, and warnings of headers that are not here.

    Raises the CompileError of the part that a kernel needs, in the words of whoever wrote the file.
    """
    functions = {item.name: item.line for item in host_items(source)}
    attempt = _Attempt(without_host_code(source))
    _leave_out_headers(attempt, lambda name: name.startswith(_HOST_LIBRARIES))
    for _ in range(_MOST_ATTEMPTS):
        try:
            return compile_text(attempt.text), _warnings(attempt)
        except CompileError as error:
            if not (_header_left_out(attempt, error) or _statement_left_out(attempt, error)):
                raise _explained(error, source, functions, attempt) from None
            last = error
    raise last


def _leave_out_headers(attempt: _Attempt, chosen: Callable[[str], bool]) -> bool:
    found = [m for m in _INCLUDE.finditer(attempt.text) if chosen(m[1])]
    for match in found:
        attempt.headers[match[1]] = attempt.text.count("\n", 0, match.start()) + 1
    attempt.text = without(attempt.text, [match.span() for match in found])
    return bool(found)


def _header_left_out(attempt: _Attempt, error: CompileError) -> bool:
    """A header that is not here, or that includes one which is not."""
    for diagnostic in error.diagnostics:
        missing = _MISSING.search(diagnostic.message)
        if not missing:
            continue
        if diagnostic.line:
            return _leave_out_headers(attempt, lambda name: name == missing[1])  # noqa: B023
        place = diagnostic.message.partition(", line")[0]
        return _leave_out_headers(attempt, place.endswith)
    return False


def _statement_left_out(attempt: _Attempt, error: CompileError) -> bool:
    """Classes and declarations with an error in them and nothing that is marked for the GPU."""
    lines = {d.line for d in error.diagnostics if d.severity == "error" and d.line}
    found = []
    for item in plain_statements(attempt.text):
        last = item.line + attempt.text.count("\n", item.start, item.end)
        if any(item.line <= line <= last for line in lines):
            found.append((item.start, item.end))
            attempt.reasons.setdefault(item.name, error)
    attempt.text = without(attempt.text, found)
    return bool(found)


def _explained(
    error: CompileError, source: str, functions: Mapping[str, int], attempt: _Attempt
) -> CompileError:
    """Says of what a kernel uses and only the host has how to give it to the GPU."""
    found: list[Diagnostic] = []
    for diagnostic in error.diagnostics:
        unknown = _UNKNOWN.search(diagnostic.message)
        name = (unknown[1] or "") if unknown else ""
        if name in attempt.reasons:  # what was wrong with it in the first place
            first = attempt.reasons[name]
            return _explained(first, source, functions, replace(attempt, reasons={}))
        words = diagnostic.message
        if name and name in functions:
            words = (
                f"{name} (line {functions[name]}) belongs to the host: "
                "write __device__ before it, so that a kernel can use it"
            )
        elif "device-side kernel launch" in words:
            words = (
                "a kernel launches another one (dynamic parallelism), which cannot be followed "
                "here: trace the kernels one by one, each by a launch of its own"
            )
        elif words == "qualified name is not allowed" and diagnostic.line:
            words = _of_the_hosts_library(source.split("\n")[diagnostic.line - 1]) or words
        elif unknown and attempt.headers:
            words = f"{words}; {_left_out(attempt.headers)}"
        found.append(replace(diagnostic, message=words))
    return CompileError(str(error), tuple(found))


def _of_the_hosts_library(line: str) -> str:
    name = re.search(r"\bstd::\w+", line)
    return f"{name[0]} belongs to the host's library; no kernel can use it" if name else ""


def _warnings(attempt: _Attempt) -> tuple[Diagnostic, ...]:
    return tuple(
        Diagnostic("warning", line, None, f"{name} is not here; no kernel needs it")
        for name, line in attempt.headers.items()
        if not name.startswith(_HOST_LIBRARIES)
    )


def _left_out(headers: Mapping[str, int]) -> str:
    name, line = next(iter(headers.items()))
    more = f" (and {len(headers) - 1} more)" if len(headers) > 1 else ""
    if name.startswith(_HOST_LIBRARIES):
        return (
            f"{name}{more}, included in line {line}, serves the host only: "
            "a kernel here can use CUB's blocks and warps, and cuda::std"
        )
    return (
        f"{name}{more}, included in line {line}, is not here: "
        "put what the kernel needs of it into the file"
    )
