"""Which phase a step belongs to, in words. No Qt here."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.trace import BlockTrace

FILL = "fill ahead"


def phase_name(block: BlockTrace, phase: int) -> str:
    """A phase, counted from 0 as kernels do: "phase 1 (of 0..1)", "phase 0 (of 0..3), fill ahead".

    Both ends are named, since "1 of 2" would be taken for the first.
    """
    name = f"phase {phase} ({_all_of(len(block.phases))})"
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
    if not block.phases:
        return ""
    last_fill = block.filling.phases - 1
    names = ["between the phases", phase_name(block, len(block.phases) - 1)]
    return max([*names, phase_name(block, last_fill)] if last_fill >= 0 else names, key=len)


def _all_of(phases: int) -> str:
    return "the only one" if phases == 1 else f"of 0..{phases - 1}"
