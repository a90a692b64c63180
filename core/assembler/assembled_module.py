"""A build's PTX as the GPU runs it."""

from __future__ import annotations

import contextlib
from functools import lru_cache

from core.assembler.yielding import yielding
from core.compiler.compiler import Build
from core.compiler.cubin import MachineAccess
from core.errors import PtxSyntaxError
from core.gc_control import uncollected
from core.ptx.ast import Module
from core.ptx.parser import is_kept, kept, parse, without_unreached

LARGE = 1 << 20
"""Characters of PTX beyond which what the launched kernel never reaches is left out."""


def module_of(build: Build, kernel: str) -> Module:
    """The module of a build, in which `kernel` is launched: an entry, by its name in the PTX.

    Optimised code bears what the assembler does to it: fused products and sums, and unrolled loops
    over shared memory. Code with debug information, and a PTX file that is stepped through as it
    stands, are left as they are, but for where lanes yield. A build that is launched again gives
    the same module, unless it is large. Raises as `core.ptx.parser.parse` does.
    """
    own_lines = build.ptx == build.source
    as_it_stands = build.kind == "as_written" or own_lines
    accesses = None if as_it_stands else build.accesses.get(kernel, ())
    if len(build.ptx) > LARGE or not is_kept(build.ptx):
        module = yielding(_parsed(build.ptx, kernel, own_lines), build.yields)
        return module if accesses is None else _assembled(module, kernel, accesses)
    if accesses is None:
        return _kept_yielding(build.ptx, own_lines, build.yields)
    return _kept_assembled(build.ptx, kernel, accesses, build.yields)


def _assembled(module: Module, kernel: str, accesses: tuple[MachineAccess, ...]) -> Module:
    from core.assembler.contraction import contracted
    from core.assembler.machine_loads import assembled
    from core.assembler.unrolling import unrolled

    return unrolled(contracted(assembled(module, kernel, accesses)))


def _parsed(text: str, kernel: str, own_lines: bool) -> Module:
    with uncollected():
        if len(text) > LARGE:
            with contextlib.suppress(PtxSyntaxError):  # one that is told of the whole text
                return parse(without_unreached(text, kernel), own_lines=own_lines)
        return kept(text, own_lines)


@lru_cache(maxsize=4)
def _kept_yielding(text: str, own_lines: bool, yields: tuple[int, ...]) -> Module:
    return yielding(kept(text, own_lines), yields)


@lru_cache(maxsize=4)
def _kept_assembled(
    text: str, kernel: str, accesses: tuple[MachineAccess, ...], yields: tuple[int, ...]
) -> Module:
    return _assembled(_kept_yielding(text, False, yields), kernel, accesses)
