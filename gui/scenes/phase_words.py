"""Which phase a step belongs to, in words. No Qt here."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.trace import BlockTrace

FILL = "fill ahead"


def phase_name(block: BlockTrace, phase: int) -> str:
    """A phase, counted from 0 as kernels do: "phase 0 of 2", "phase 0 of 4, fill ahead"."""
    name = f"phase {phase} of {len(block.phases)}"
    return f"{name}, {FILL}" if fills(block, phase) else name


def fills(block: BlockTrace, phase: int) -> bool:
    """Whether a phase only fills tiles that later ones use."""
    return 0 <= phase < block.filling.phases


def part_name(block: BlockTrace, step: int) -> str:
    """The phase of a step, or what it comes before or after; empty where there are no phases."""
    phase = int(block.phase[step])
    if phase >= 0:
        return phase_name(block, phase)
    if not block.phases:
        return ""
    if step < block.phases[0].first:
        return FILL if block.filling.before else "before the phases"
    return "after the phases" if step > block.phases[-1].last else "between the phases"


def longest_name(block: BlockTrace) -> str:
    """The longest name that `part_name` gives for any step of a block."""
    last = len(block.phases)
    names = ["after the phases", f"phase {last} of {last}"] if last else [""]
    if last and block.filling.phases:
        names.append(f"phase {block.filling.phases} of {last}, {FILL}")
    return max(names, key=len)
