"""A build's PTX as the GPU runs it."""

from __future__ import annotations

import contextlib

from core.compiler.compiler import Build
from core.errors import PtxSyntaxError
from core.gc_control import uncollected
from core.ptx.ast import Module
from core.ptx.parser import parse, without_unreached

LARGE = 1 << 20
"""Characters of PTX beyond which what the launched kernel never reaches is left out."""


def module_of(build: Build, kernel: str) -> Module:
    """The module of a build, in which `kernel` is launched: an entry, by its name in the PTX.

    Optimised code bears what the assembler does to it: fused products and sums, and unrolled loops
    over shared memory. Code with debug information, and a PTX file that is stepped through as it
    stands, are left as they are. Raises as `core.ptx.parser.parse` does.
    """
    is_source = build.ptx == build.source
    module = _parsed(build.ptx, kernel, own_lines=is_source)
    if build.kind == "as_written" or is_source:
        return module
    from core.assembler.contraction import contracted
    from core.assembler.machine_loads import assembled
    from core.assembler.unrolling import unrolled

    return unrolled(contracted(assembled(module, kernel, build.accesses.get(kernel, ()))))


def _parsed(text: str, kernel: str, *, own_lines: bool) -> Module:
    with uncollected():
        if len(text) > LARGE:
            with contextlib.suppress(PtxSyntaxError):  # one that is told of the whole text
                return parse(without_unreached(text, kernel), own_lines=own_lines)
        return parse(text, own_lines=own_lines)
