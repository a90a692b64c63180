"""What a first start is shown in one minute: eight stops, each a place and two sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.trace import BlockTrace


@dataclass(frozen=True)
class Stop:
    """One stop of the tour: what it says, and of what (a name of `gui.commands.touring`)."""

    place: str
    title: str
    text: str
    view: str = ""
    """The view that comes to the front for it."""
    space: str = ""
    """The memory whose first load by the block is shown meanwhile; empty for the step there is."""


STOPS: tuple[Stop, ...] = (
    Stop(
        "ladder",
        "Pick a kernel",
        "Each rung of the ladder changes one thing about how memory is read. Or drop a .cu file of "
        "your own on the window.",
    ),
    Stop(
        "configuration",
        "Change the launch",
        "Drag a slider: the kernel is compiled and run again, thread by thread, and you stay at "
        "the same moment.",
    ),
    Stop(
        "transport",
        "Move through time",
        "Right and Left step, Space plays, and the bar below goes anywhere. Everything in the "
        "window shows this one moment, forwards or back.",
    ),
    Stop(
        "Matrices",
        "See who reads what",
        "Coloured cells of C belong to threads of this block; dark cells are read or written now. "
        "“Times loaded” shows how often each element was fetched: there tiling pays.",
    ),
    Stop(
        "Warp",
        "Follow a warp to memory",
        "32 lanes, the sectors of 32 bytes that they touch, and what of them is waste. Why? opens "
        "any number to the addresses that it is made of.",
        "Warp",
        "global",
    ),
    Stop(
        "Shared",
        "Watch the banks",
        "Shared arrays fill up as the tile is loaded; below them, which lane asks which of the 32 "
        "banks, and every conflict with its lanes.",
        "Shared",
        "shared",
    ),
    Stop(
        "Source",
        "Edit and run",
        "F2 lets you change the kernel, Ctrl+Return runs it, Escape goes back to reading. A click "
        "left of a line's number sets a breakpoint, and F8 runs to it, Shift+F8 back.",
        "Source",
    ),
    Stop(
        "header",
        "Go further",
        "Compare two launches, measure on a GPU, look at ceilings and occupancy. F1 shows every "
        "key; Help > Tour shows this again. Now press Space and watch.",
    ),
)


def step_of(block: BlockTrace, space: str) -> int | None:
    """The block's first load from "global" or "shared" memory, or None."""
    for step in block.access_steps.tolist():
        access = block.access(step)
        if access is not None and (access.kind, access.space) == ("load", space):
            return int(step)
    return None
