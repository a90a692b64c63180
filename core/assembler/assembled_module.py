"""A build's PTX as the GPU runs it."""

from __future__ import annotations

import contextlib
from functools import lru_cache

from core.assembler.yielding import yielding
from core.compiler.compiler import Build
from core.compiler.cubin import MachineAccess
from core.errors import PtxSyntaxError
from core.ptx.ast import Module
from core.ptx.parser import is_kept, kept, without_unreached

LARGE = 1 << 18
"""Characters of PTX beyond which what the launched kernel never reaches is left out."""


def module_of(build: Build, kernel: str) -> Module:
    """The module of a build, in which `kernel` is launched: an entry, by its name in the PTX.

    Optimised code bears what the assembler does to it: fused products and sums, and unrolled loops
    over shared memory. Code with debug information, and a PTX file that is stepped through as it
    stands, are left as they are, but for where lanes yield. A build that is launched again gives
    the same module, unless it is large. Raises as `core.ptx.parser.parse` does.
    """
    if len(build.ptx) > LARGE:
        with contextlib.suppress(PtxSyntaxError):  # one that is told of the whole text
            return _module(build, _reached(build.ptx, kernel), kernel)
    return _module(build, build.ptx, kernel)


_reached = lru_cache(maxsize=4)(without_unreached)


def _module(build: Build, text: str, kernel: str) -> Module:
    own_lines = build.ptx == build.source
    as_it_stands = build.kind == "as_written" or own_lines
    yields, accesses = build.yields, build.accesses.get(kernel, ())
    if not is_kept(text):
        module = yielding(kept(text, own_lines), yields)
        return module if as_it_stands else _assembled(module, kernel, accesses)
    if as_it_stands:
        return _kept_yielding(text, own_lines, yields)
    return _kept_assembled(text, kernel, accesses, yields)


def _assembled(module: Module, kernel: str, accesses: tuple[MachineAccess, ...]) -> Module:
    from core.assembler.contraction import contracted
    from core.assembler.machine_loads import assembled
    from core.assembler.unrolling import unrolled

    return unrolled(contracted(assembled(module, kernel, accesses)))


@lru_cache(maxsize=4)
def _kept_yielding(text: str, own_lines: bool, yields: tuple[int, ...]) -> Module:
    return yielding(kept(text, own_lines), yields)


@lru_cache(maxsize=4)
def _kept_assembled(
    text: str, kernel: str, accesses: tuple[MachineAccess, ...], yields: tuple[int, ...]
) -> Module:
    return _assembled(_kept_yielding(text, False, yields), kernel, accesses)
