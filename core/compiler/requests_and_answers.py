"""What is asked of a compiler, and what it made, as data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from core.compiler.cubin import MachineFacts
from core.compiler.nvrtc_or_clang import CompilerName, chosen
from core.errors import Diagnostic
from core.source.host_headers import FIRST, HELD_BY_NVCC

_INT128 = "--device-int128"
ARCHITECTURE = "--gpu-architecture="
"""How a request's first option begins: a virtual architecture follows, or a real one, "sm_90"."""


Items = tuple[tuple[str, str], ...]  # of a mapping, in an order of its own


@dataclass(frozen=True)
class Request:
    """What is to be compiled, and to what. Equal requests give equal results."""

    source: str
    source_name: str
    defines: Items
    options: tuple[str, ...]
    output: Literal["PTX", "CUBIN"]
    kernel: str = ""  # as the source names it, with its template arguments; "" for all of them
    headers: Items = ()  # of the user's own, by name
    compiler: CompilerName = field(default_factory=chosen)

    @property
    def all_options(self) -> tuple[str, ...]:
        """With the macros, and what nvcc knows without being told: types and headers."""
        text = "\n".join((self.source, *(text for _, text in self.headers)))
        wide = "__int128" in text and _INT128 not in self.options
        headers = tuple(f"--pre-include={header}" for header in _held_headers(text))
        defines = (f"-D{name}={value}" for name, value in self.defines)
        if FIRST in dict(self.headers):
            headers = (*headers, f"--pre-include={FIRST}")
        return (*self.options, *((_INT128,) if wide else ()), *headers, *defines)


@lru_cache(maxsize=4)  # of megabytes it takes a while, and each attempt asks again
def _held_headers(source: str) -> tuple[str, ...]:
    """Headers that nvcc always includes and of whose macros the source uses one of its own."""
    own = set(re.findall(r"#[ \t]*define[ \t]+(\w+)", source))

    def uses(name: str) -> bool:
        there = name in source and name not in own
        return there and re.search(rf"\b{name}\b", source) is not None

    return tuple(h for h, macros in HELD_BY_NVCC.items() if any(map(uses, macros)))


@dataclass(frozen=True)
class Compiled:
    """What was made. `entry` is the instance's name in it, "" if none was asked for.

    `compiler` is "" for NVRTC. `machine` describes the machine code that NVRTC makes with PTX for a
    real architecture, such as "sm_90"; what came with the program has it, too.
    """

    image: bytes
    diagnostics: tuple[Diagnostic, ...]
    entry: str = ""
    compiler: str = ""
    machine: MachineFacts = field(default_factory=MachineFacts)


def define_items(defines: Mapping[str, str]) -> Items:
    """Macros and their values, in an order of their own."""
    return tuple(sorted((name, str(value)) for name, value in defines.items()))
