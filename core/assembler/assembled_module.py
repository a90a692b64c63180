"""A build's PTX as the GPU runs it."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from functools import lru_cache

from core.assembler.saving import saving
from core.assembler.unused_loads import without_unused_loads
from core.assembler.yielding import yielding
from core.compiler.compiler import Build
from core.compiler.cubin import MachineAccess
from core.errors import PtxSyntaxError
from core.gc_control import uncollected
from core.ptx.ast import Module
from core.ptx.parser import parse, without_unreached

LARGE = 1 << 20
"""Characters of PTX beyond which what the launched kernel never reaches is left out."""
KEPT = 1 << 18
"""Characters of PTX up to which a module, fifteen times as large, is kept for the next launch."""


@dataclass(frozen=True)
class _Made:
    """What the assembler made of a kernel; `kernel` and `accesses` of optimised code only."""

    yields: tuple[int, ...]
    saves: tuple[tuple[str, int], ...]
    as_written: bool
    kernel: str = ""
    accesses: tuple[MachineAccess, ...] = ()


def module_of(build: Build, kernel: str) -> Module:
    """The module of a build, in which `kernel` is launched: an entry, by its name in the PTX.

    Optimised code bears what the assembler does to it: fused products and sums, and unrolled loops
    over shared memory. Code with debug information, and a PTX file that is stepped through as it
    stands, keep their instructions, but it is noted where lanes yield, what functions save, and
    which loads the assembler leaves out. A build that is launched again gives the same module,
    unless it is large. Raises as `core.ptx.parser.parse` does.
    """
    own_lines = build.ptx == build.source
    made = _Made(build.yields, build.saves, build.kind == "as_written" and not own_lines)
    if build.kind != "as_written" and not own_lines:
        made = replace(made, kernel=kernel, accesses=build.accesses.get(kernel, ()))
    if len(build.ptx) > min(KEPT, LARGE):
        return _assembled(_parsed(build.ptx, kernel, own_lines), made)
    return _kept_assembled(build.ptx, own_lines, made)


def _assembled(module: Module, made: _Made) -> Module:
    module = saving(yielding(module, made.yields), made.saves)
    if made.as_written:
        return without_unused_loads(module)
    if not made.kernel:
        return module
    from core.assembler.contraction import contracted
    from core.assembler.machine_loads import assembled
    from core.assembler.unrolling import unrolled

    return unrolled(contracted(assembled(module, made.kernel, made.accesses)))


def _parsed(text: str, kernel: str, own_lines: bool) -> Module:
    with uncollected():
        if len(text) > LARGE:
            with contextlib.suppress(PtxSyntaxError):  # one that is told of the whole text
                return parse(without_unreached(text, kernel), own_lines=own_lines)
        return parse(text, own_lines=own_lines)


_kept = lru_cache(maxsize=4)(_parsed)  # two launches side by side, in both builds


@lru_cache(maxsize=4)
def _kept_assembled(text: str, own_lines: bool, made: _Made) -> Module:
    return _assembled(_kept(text, "", own_lines), made)
