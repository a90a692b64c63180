"""What a run says nothing about: accesses in the kernel's source to which no thread came."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import numpy as np

from core.launch import ScalarArgument
from core.ptx.opcodes import opcode_of
from core.source.constants import knobs, with_defines
from core.source.preprocessor import blanked
from core.trace import Trace
from core.trace.program_info import source_lines

_ACCESSES = ("load", "store", "atomic")
_OWN = {"param", "local", "const"}  # spaces that no other thread writes
_CONDITION = re.compile(r"\b(?:for|while|if)\s*\(")


def touches_nothing(trace: Trace) -> bool:
    """Whether no thread touched memory that others see."""
    counted = any(int(count.value) for count in trace.counters.totals.values())
    return not counted and not trace.findings


def untested_lines(trace: Trace) -> tuple[int, ...]:
    """The source lines with accesses to memory that many threads see, none of which was executed.

    Lines are 1-based, ascending. Only the kernel's own code counts, as written; () for other code.
    """
    if trace.build.kind != "as_written" or not trace.records:
        return ()
    lines = source_lines(trace.module)
    function = trace.image.function
    accesses = [
        pc
        for pc in range(function.first_pc, function.end_pc)
        if opcode_of(trace.instructions[pc]).kind in _ACCESSES
        and not _OWN & set(trace.instructions[pc].modifiers)
    ]
    passed = np.zeros(len(trace.instructions), bool)
    for record in trace.records:
        for first, end in {*zip(record.firsts, record.ends, strict=True)}:
            passed[first:end] = True
    tested = {int(line) for line in trace.counters.by_line}
    tested |= {int(lines[pc]) for pc in accesses if passed[pc]}
    return tuple(sorted({int(lines[pc]) for pc in accesses} - tested - {0}))


def deciding(trace: Trace, line: int) -> Mapping[str, str]:
    """The launch's numbers, with their values, in the conditions of the kernel above a line."""
    work = trace.workload
    scalars = (*work.launch.arguments, *work.launch.symbols)
    known = {a.name: str(a.value) for a in scalars if isinstance(a, ScalarArgument)}
    source = with_defines(work.source, work.defines)
    known = {**{k.name: str(k.value) for k in knobs(source)}, **work.defines, **known}
    return {name: known[name] for name in _words_of_conditions(source, line) if name in known}


def _words_of_conditions(source: str, line: int) -> Iterator[str]:
    """The words of the conditions from a line up to where its function begins, nearest first."""
    for text in reversed(blanked(source).split("\n")[:line]):
        if found := _CONDITION.search(text):
            yield from re.findall(r"[A-Za-z_]\w*(?:\.\w+)*", text[found.end() :])
        if "__global__" in text:
            return
