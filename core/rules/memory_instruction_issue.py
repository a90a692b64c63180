"""How a PTX memory instruction reaches the hardware, as far as the counters show it.

`-G` code addresses everything generically (`ld`, `st`, `atom` without a state space); optimised
code names the space. What follows from that was measured on an H200 (`docs/counting.md`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from core.assembler.wide_shared_loads import WideLoad, wide_loads
from core.ptx.ast import Immediate, Instruction, Module, registers
from core.ptx.dataflow import mentioned
from core.ptx.opcodes import opcode_of, space_of
from core.rules.shared_memory import Sharing

# Operations that shared memory's own unit does not do: the compiler makes a loop of a load and a
# compare-and-swap of them. Others of 8 bytes are done as they are where the address is generic.
_FLOATS = ("f16", "f16x2", "bf16", "bf16x2", "f32", "f64")


@dataclass(frozen=True)
class Issue:
    """One memory instruction. `generic`: it names no state space."""

    instruction: Instruction
    generic: bool
    result_used: bool  # of an atomic

    @property
    def sharing(self) -> Sharing:
        """What lanes of a warp share in shared memory."""
        kind = opcode_of(self.instruction).kind
        if kind in ("atomic", "reduction"):
            return "grouped" if self._counts_lanes else "apart"
        return "merged" if kind == "load" and not self.generic else "grouped"

    @property
    def is_reduction(self) -> bool:
        """Whether a global atomic counts as a reduction, whose old value nothing uses."""
        if opcode_of(self.instruction).kind == "reduction":
            return True
        has_form = not {"cas", "exch"} & set(self.instruction.modifiers)
        return not self.generic and not self.result_used and has_form

    @property
    def is_copy(self) -> bool:
        """Whether it is a `cp.async`: a load and a store in one."""
        return opcode_of(self.instruction).kind == "copy"

    @property
    def passes_l1(self) -> bool:
        """Whether what it copies does not stay in the L1 cache."""
        return self.is_copy and "cg" in self.instruction.modifiers

    @property
    def is_exchange_if_equal(self) -> bool:
        """Compare-and-swap: takes two wavefronts where other atomics take one."""
        return "cas" in self.instruction.modifiers

    @property
    def turns(self) -> int:
        """Wavefronts that it takes for each that another atomic takes."""
        return 2 if self.is_exchange_if_equal else 1

    @property
    def is_loop(self) -> bool:
        """Whether the atomic, in shared memory, is a loop of loads and compare-and-swaps."""
        modifiers = set(self.instruction.modifiers)
        if {"exch", "cas"} & modifiers:
            return False
        if modifiers & set(_FLOATS):
            return True
        wide = bool(modifiers & {"u64", "s64", "b64"})
        return wide and not (self.generic and "add" in modifiers)

    @property
    def better(self) -> Callable[..., Any] | None:
        """When a minimum or maximum of 8-byte integers changes its cell: (operand, cell)."""
        modifiers = set(self.instruction.modifiers)
        if not modifiers & {"u64", "s64"}:
            return None
        return np.greater if "max" in modifiers else np.less if "min" in modifiers else None

    @property
    def _counts_lanes(self) -> bool:
        """Adding the constant 1 for no result: done by counting the lanes of each word."""
        values = self.instruction.operands[-1:]
        one = isinstance(values[0], Immediate) and values[0].value == 1
        return not (self.generic or self.result_used) and one and not self.is_loop


class IssueTable:
    """The memory instructions of a module, by pc."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._known: dict[int, Issue] = {}

    @cached_property
    def wide(self) -> Mapping[int, WideLoad]:
        """Loads that the assembler makes of several, by the pc of the first."""
        return wide_loads(self.module)

    @cached_property
    def joined(self) -> frozenset[int]:
        """The others of those loads, and loads that a register stands for: they issue nothing."""
        silent = (i.pc for i in self.module.instructions if i.silent)
        return frozenset(pc for load in self.wide.values() for pc in load.others) | {*silent}

    def __getitem__(self, pc: int) -> Issue:
        if pc not in self._known:
            instruction = self.module.instructions[pc]
            atomic = opcode_of(instruction).kind == "atomic"
            used = atomic and self._result_is_used(instruction)
            # Machine code has no space of a cluster: its addresses are generic there.
            of_cluster = "shared::cluster" in instruction.modifiers
            generic = of_cluster or not space_of(instruction)
            self._known[pc] = Issue(instruction, generic, used)
        return self._known[pc]

    def _result_is_used(self, instruction: Instruction) -> bool:
        names = set(registers(instruction.operands[0]))
        function = self.module.function_at(instruction.pc)
        code = self.module.instructions[function.first_pc : function.end_pc]
        return any(not names.isdisjoint(mentioned(o)) for o in code if o.pc != instruction.pc)
