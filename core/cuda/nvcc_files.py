"""Files that nvcc would split into host and device code: what NVRTC cannot know is left out.

First what is plainly the host's (`core.cuda.host_code`). What the compiler then still stumbles
over goes step by step, as long as nothing in it is marked for the GPU: a header that is not here, a
class with a `std::string` in it. If a kernel needs what was left out, the error says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from core.cuda.diagnostics import Diagnostic
from core.cuda.host_code import host_items, plain_statements, without, without_host_code
from core.errors import CompileError

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
    return f"{name[0]} is of the host's library, which no kernel can use" if name else ""


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
