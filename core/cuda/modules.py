"""A build's PTX as the GPU runs it."""

from __future__ import annotations

from core.cuda.compiler import Build
from core.ptx.ast import Module
from core.ptx.contraction import contracted
from core.ptx.parser import parse
from core.ptx.unrolling import unrolled


def module_of(build: Build) -> Module:
    """The module of a build.

    Optimised code bears what the assembler does to it: fused products and sums, and unrolled loops
    over shared memory. Code with debug information, and a PTX file that is stepped through as it
    stands, are left as they are. Raises as `core.ptx.parser.parse` does.
    """
    module = parse(build.ptx)
    if build.kind == "as_written" or build.ptx == build.source:
        return module
    return unrolled(contracted(module))
