"""Where the four warps of a warpgroup meet to begin one matrix product.

`wgmma.mma_async` is one product of a warpgroup, all of whose threads "must execute the same"
instruction (PTX ISA, "wgmma.mma_async"). The machine code makes the warps arrive
(WARPGROUP.ARRIVE), and begins the product when the four have come. So when one warp has waited for
the product (`wgmma.wait_group`), the parts of the other three are done as well; a kernel may let
one thread of a warpgroup say so. No memory is ordered by the meeting alone.

The lanes of a warp come together as well: those that are sooner wait (`.sync`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from core.emulator.events import Mask
from core.emulator.groups import WARP, WARPGROUP, Group, lanes_of_rows, warp_rows
from core.emulator.machine import ActionLanes


def met(lanes: ActionLanes) -> ActionLanes | None:
    """The lanes that begin their product now, with those that waited here; None if there are none.

    The others are held until the missing warps come, and a fault is told where they never do. If
    the result is another than `lanes`, the caller has to place its lanes.
    """
    machine = lanes.machine
    mates = _held_for(lanes)
    here = np.any([lanes.active, *mates], axis=0) if mates else lanes.active
    is_forced = lanes.group.forced
    come = _some_lanes if is_forced or lanes.op.guard >= 0 else _all_lanes
    lacking = _lacking(here, come, lanes)
    if is_forced and lacking.any():
        missing = np.flatnonzero(_of_warpgroups(lacking, lanes) & ~here)
        machine.state.fault(
            "divergent_warp",
            lanes.pc,
            lanes.group.depth,
            np.flatnonzero(lacking),
            missing,
            detail="warpgroup",
            tick=lanes.group.since,
        )
        lacking = np.zeros_like(lacking)
    lanes.group.forced = False
    if not mates and not lacking.any():
        return lanes
    machine.state.exclusive = False
    if lacking.any():
        since = machine.state.tick - 1
        held = Group(lanes.pc, lanes.group.depth, lacking, lanes.group.warp, since)
        machine.queue.held.append(held)
    unguarded = lanes.active if lanes.group.mask is None else lanes.group.mask
    unguarded = unguarded & ~lanes.active
    if unguarded.any():
        machine.place(lanes.pc + 1, lanes.group.depth, unguarded)
    ready = here & ~lacking
    if not ready.any():
        return None
    group = Group(lanes.pc, lanes.group.depth, ready)
    return replace(lanes, group=group, mask=ready)


def _held_for(lanes: ActionLanes) -> list[Mask]:
    """Takes the lanes out that were held here and belong to the warpgroups of these."""
    queue = lanes.machine.queue
    found = []
    wanted: Mask | None = None
    for group in [g for g in queue.held if g.pc == lanes.pc and g.depth == lanes.group.depth]:
        assert group.mask is not None
        wanted = _of_warpgroups(lanes.active, lanes) if wanted is None else wanted
        mine = group.mask & wanted
        if not mine.any():
            continue
        queue.held.remove(group)
        found.append(mine)
        if (group.mask & ~mine).any():
            queue.held.append(replace(group, mask=group.mask & ~mine, _lanes=None))
    return found


def _some_lanes(mask: Mask, lanes: ActionLanes) -> Mask:
    """Which warps have lanes in the mask: bool (blocks, warpgroups of a block, 4).

    Warps that a block does not have are absent.
    """
    geometry = lanes.geometry
    warps = warp_rows(mask, geometry, 0).any(axis=1).reshape(len(geometry.blocks), -1)
    short = -geometry.warps % WARPGROUP
    return np.pad(warps, ((0, 0), (0, short))).reshape(len(geometry.blocks), -1, WARPGROUP)


def _all_lanes(mask: Mask, lanes: ActionLanes) -> Mask:
    """Which warps have lanes in the mask and none beside it but such as have left the kernel."""
    beside = lanes.machine.state.alive & ~mask
    return _some_lanes(mask, lanes) & ~_some_lanes(beside, lanes)


def _lanes_in(groups: Mask, lanes: ActionLanes) -> Mask:
    """The lanes of whole warpgroups: `groups` is bool (blocks, warpgroups of a block)."""
    geometry = lanes.geometry
    warps = np.repeat(groups, WARPGROUP, axis=1)[:, : geometry.warps]
    return lanes_of_rows(np.repeat(warps.reshape(-1, 1), WARP, axis=1), geometry)


def _of_warpgroups(mask: Mask, lanes: ActionLanes) -> Mask:
    """All lanes of the warpgroups that have lanes in the mask."""
    some: Mask = np.logical_or.reduce(_some_lanes(mask, lanes), axis=2)
    return _lanes_in(some, lanes)


def _lacking(mask: Mask, come: Callable[[Mask, ActionLanes], Mask], lanes: ActionLanes) -> Mask:
    """The lanes of the mask some warp of whose warpgroup has not come."""
    whole: Mask = np.logical_and.reduce(come(mask, lanes), axis=2)
    return mask & _lanes_in(~whole, lanes)
