"""A build's PTX as the GPU runs it."""

from __future__ import annotations

import contextlib
from collections import Counter
from dataclasses import dataclass, replace
from functools import lru_cache

from core.assembler.call_stack import passing, saving
from core.assembler.reconvergence import parting, yielding
from core.assembler.rewriting import Rewriting
from core.compiler.compile_ptx_and_cubin import Build
from core.compiler.cubin import MachineAccess
from core.errors import PtxSyntaxError
from core.ptx.ast import Module, registers
from core.ptx.dataflow import mentioned
from core.ptx.parser import is_kept, kept, without_unreached

LARGE = 1 << 18  # characters of PTX beyond which what the launched kernel never reaches is left out


@dataclass(frozen=True)
class _Made:
    """What the assembler made of a kernel; `kernel` is "" where all of a module are the same."""

    yields: tuple[int, ...]
    ways: tuple[tuple[int, ...], tuple[tuple[int, int], ...]]
    saves: tuple[tuple[str, int], ...]
    kind: str  # "" for a PTX file run as it stands
    kernel: str = ""
    accesses: tuple[MachineAccess, ...] = ()


def module_of(build: Build, kernel: str) -> Module:
    """The module of a build, in which `kernel` is launched: an entry, by its name in the PTX.

    Optimised code bears what the assembler does to it: fused products and sums, and unrolled loops
    over shared memory. Code with debug information, and a PTX file that is stepped through as it
    stands, keep their instructions, but it is noted where lanes yield, what functions save, what
    calls pass on the stack, and which loads the assembler leaves out. A build that is launched
    again gives the same module, unless it is large. Raises as `core.ptx.parser.parse` does.
    """
    if len(build.ptx) > LARGE:
        with contextlib.suppress(PtxSyntaxError):  # one that is told of the whole text
            return _module(build, _reached(build.ptx, kernel), kernel)
    return _module(build, build.ptx, kernel)


_reached = lru_cache(maxsize=4)(without_unreached)


def _module(build: Build, text: str, kernel: str) -> Module:
    own_lines = build.ptx == build.source
    made = _Made(build.yields, build.ways, build.saves, "" if own_lines else build.kind)
    accesses = () if own_lines else build.accesses.get(kernel, ())
    if accesses or made.kind == "as_compiled":
        made = replace(made, kernel=kernel, accesses=accesses)
    if not is_kept(text):
        return _assembled(kept(text, own_lines), made)
    return _kept_assembled(text, own_lines, made)


def _assembled(module: Module, made: _Made) -> Module:
    module = parting(saving(yielding(module, made.yields), made.saves), *made.ways)
    if not made.kind:
        return module
    if made.kind == "as_written":
        module = _without_unused_loads(passing(module))
    else:
        from core.assembler.fused_multiply_add import contracted
        from core.assembler.machine_accesses import assembled
        from core.assembler.unrolling import unrolled

        module = unrolled(contracted(assembled(module, made.kernel, made.accesses)))
    if any(access.is_spill for access in made.accesses):
        from core.assembler.spilled_registers import spilling

        module = spilling(module, made.kernel, made.accesses)
    return module


@lru_cache(maxsize=4)
def _kept_assembled(text: str, own_lines: bool, made: _Made) -> Module:
    return _assembled(kept(text, own_lines), made)


_KEPT = frozenset(("volatile", "relaxed", "acquire", "mmio"))


def _without_unused_loads(module: Module) -> Module:
    """The module in which loads whose value nothing reads make no request; they still run.

    ptxas leaves them out even in a build without optimisation. A `-G` build has them where it
    copies a structure, such as a `__half2` that is passed by value.
    """
    rewriting = Rewriting(module)
    for function in module.functions.values():
        code = module.instructions[function.first_pc : function.end_pc]
        mentions = Counter[str]()
        for one in code:
            mentions.update(mentioned(one))
        for one in code:
            is_of_memory = "param" not in one.modifiers or one.on_stack
            if one.opcode == "ld" and is_of_memory and not _KEPT & {*one.modifiers}:
                results = [*registers(one.operands[0])]
                if all(mentions[name] == 1 for name in results):
                    rewriting.replace(one.pc, (replace(one, silent=True),))
    return rewriting.module()
