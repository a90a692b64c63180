"""What the hazards of one machine need to know of the program and of global memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from core.analysis.copies import CopiesOf
from core.analysis.hazard_knowledge import Timeline
from core.analysis.hazard_shadow import Class, Shadow
from core.analysis.rechecked import rechecked_loads
from core.emulator.memory import Region
from core.ptx.ast import Instruction, Module


@dataclass(frozen=True)
class Manner:
    """How an instruction touches memory, as far as ordering is concerned."""

    how: Class
    fenced: bool  # publishes what its thread did before, with no fence of its own
    exchanges: bool  # an atomic whose result does not depend on the old content


def manner(instruction: Instruction) -> Manner:
    """Reads it off the modifiers (PTX ISA, "ld", "st", "atom")."""
    modifiers = instruction.modifiers
    fenced = "release" in modifiers or "acq_rel" in modifiers
    if instruction.opcode in ("atom", "red"):
        return Manner("atomic", fenced, "exch" in modifiers)
    if fenced or "acquire" in modifiers or "relaxed" in modifiers or "mmio" in modifiers:
        return Manner("atomic", fenced, False)
    return Manner("volatile" if "volatile" in modifiers else "plain", False, False)


@dataclass
class GlobalState:
    """What is known of global memory; it outlives the machines that run one after another.

    `outputs` are the buffers whose content is undefined at the start, `inputs` those that the
    kernel only reads: they are watched from the first store on.
    """

    module: Module
    outputs: frozenset[str]
    inputs: frozenset[str]
    timeline: Timeline = field(default_factory=Timeline)
    shadows: dict[str, Shadow] = field(default_factory=dict)
    manners: dict[int, Manner] = field(default_factory=dict)

    @cached_property
    def _rechecked(self) -> frozenset[int]:
        return rechecked_loads(self.module)

    @cached_property
    def copies(self) -> CopiesOf:
        """The loads that only move bytes."""
        return CopiesOf(self.module)

    def manner(self, pc: int) -> Manner:
        """How the instruction touches memory."""
        found = self.manners.get(pc)
        if found is None:
            found = manner(self.module.instructions[pc])
            if found.how == "plain" and pc in self._rechecked:
                found = Manner("volatile", False, False)
            self.manners[pc] = found
        return found

    def shadow(self, region: Region, *, stores: bool) -> Shadow | None:
        """The shadow of a buffer, None where it need not be watched (yet)."""
        found = self.shadows.get(region.name)
        if found is None and (stores or region.name not in self.inputs):
            found = Shadow(
                region.nbytes, initialised=region.name not in self.outputs, private=False
            )
            self.shadows[region.name] = found
        return found
