"""The host's part of a `.cu` file: the functions and variables that no GPU has.

Functions whose headers say neither `__global__` nor `__device__` nor `constexpr`, at namespace
level or in a class, and variables at namespace level that are neither marked for the GPU nor
constant.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from core.source.slicing import without
from core.source.syntax import syntax


@dataclass(frozen=True)
class HostItem:
    """A function or variable of the host: its name, its line, its characters `start` to `end`."""

    name: str
    line: int
    start: int
    end: int


@lru_cache(maxsize=8)
def host_items(source: str) -> tuple[HostItem, ...]:
    """The functions (with bodies) and namespace-level variables that only the host has."""
    return tuple(_found(source))


def _found(source: str) -> Iterator[HostItem]:
    file = syntax(source)
    for item in file.items:
        is_declared = item.kind == "function" and not item.is_body
        if item.space == "host" and not is_declared:
            name = item.names[-1] if item.names else ""
            yield HostItem(name, file.line(item.start), item.start, item.end)
        for part in item.host_parts:
            if "{" in file.plain[part.start : part.end]:
                yield HostItem(part.name, file.line(part.start), part.start, part.end)


@lru_cache(maxsize=8)
def without_host_code(source: str) -> str:
    """The source with spaces in place of its host items; the lines keep their numbers."""
    return without(source, [(item.start, item.end) for item in host_items(source)])
