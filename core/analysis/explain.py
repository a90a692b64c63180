"""Why a number is what it is: the rule with the values of one warp's access put in.

The rules are those of `core.analysis.coalescing` and `core.analysis.banks`; the counts themselves
come from the access, so that an explanation cannot disagree with what is shown beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.analysis import coalescing
from core.analysis.explain_global import global_sections
from core.analysis.explain_shared import shared_sections
from core.analysis.explanation import Explanation, Section
from core.analysis.wording import columns, counted
from core.trace.arrays import label

if TYPE_CHECKING:
    from core.trace.access import Access, WarpAccess

WARP = 32


def explain_access(access: Access, warp: int) -> Explanation:
    """One warp's share of a memory access: lanes, addresses, formulas, and Nsight's names."""
    part = access.warp(warp)
    active = int(np.count_nonzero(part.active))
    name = access.target
    verb = {"load": "loads", "store": "stores"}.get(access.kind, "updates")
    head = f"Line {access.line}: warp {warp} {verb} {name}"
    wrong = _at_fault(access, warp)
    if not active:
        why = (
            "All lanes that take part are at fault" if wrong else "No lane of this warp takes part"
        )
        idle = Section("Requests = 0", f"{why}, so nothing is asked for.")
        return Explanation(head, (idle, *wrong))
    request = Section(
        "Requests = 1",
        f"One memory instruction of one warp is one request, here with {active} active lanes of "
        f"{access.width} bytes each.",
    )
    if access.space == "global":
        sections = request, *wrong, *global_sections(access, part, active)
        return Explanation(head, sections, _sectors(part, active))
    if access.space == "shared":
        sections = request, *wrong, *shared_sections(access, part, active)
        return Explanation(head, sections, _wavefronts(part))
    other = Section("Not counted", f"Accesses to {access.space} memory are not counted here.")
    return Explanation(head, (request, *wrong, other))


def _sectors(part: WarpAccess, active: int) -> str:
    """Why a request to global memory moves as many sectors as it does, in one sentence."""
    moved, ideal = part.n_sectors, part.ideal_sectors
    used = int(part.bytes_used.sum())
    least = -(-used // coalescing.SECTOR)
    if moved == ideal and moved > least:
        return (
            f"{counted(moved, 'sector')}: no more than lanes with bytes of their own would take, "
            f"so none is in excess; the {used} different bytes would fit into {least}."
        )
    if moved == ideal:
        return (
            f"{counted(moved, 'sector')}: the {used} different bytes that the lanes ask for take "
            "no fewer."
        )
    if part.kind == "atomic":
        why = f"the passes of the atomic visit {counted(moved, 'sector')}"
    elif moved == active:
        why = f"each lane's {part.width} bytes lie in a sector of their own"
    else:
        why = f"the bytes of {counted(active, 'lane')} lie in so many different ones"
    return f"{counted(moved, 'sector')}: {why}; {ideal} would do."


def _wavefronts(part: WarpAccess) -> str:
    """Why a request to shared memory takes as many wavefronts as it does, in one sentence."""
    taken, ideal = part.wavefronts, part.ideal_wavefronts
    if not part.conflicts:
        return f"{counted(taken, 'wavefront')}: no bank is asked for two words at a time."
    most = int(part.ways.max())
    worst = np.flatnonzero(part.ways == most).tolist()
    where = f"bank {worst[0]}" if len(worst) == 1 else f"each of {len(worst)} banks"
    what = "lane that updates it" if part.kind == "atomic" else "word that it is asked for"
    halves = " for lanes that go together" if len(part.groups) > 1 else ""
    return (
        f"{counted(taken, 'wavefront')}: {where} is passed through {most} times{halves}, once for "
        f"each {what}; {ideal} would do."
    )


def _at_fault(access: Access, warp: int) -> tuple[Section, ...]:
    """The lanes whose access is illegal, with where they wanted to go; nothing without any."""
    lanes = np.flatnonzero(access.warp(warp).faulty).tolist()
    if not lanes:
        return ()
    why = "lies in no array" if access.fault == "out_of_bounds" else "is not aligned"
    rows = []
    for lane in lanes:
        wanted, address = access.wanted(warp * WARP + lane), access.addresses[warp * WARP + lane]
        name = "" if wanted is None else label(access.target, (wanted,))
        rows.append((f"lane {lane}", name, f"address 0x{int(address):x}"))
    said = (
        f"What {'this lane asks' if len(lanes) == 1 else 'these lanes ask'} for {why}. A GPU stops "
        "the kernel with an error; the emulator goes on, gives 0 for a load and stores nothing. "
        "They are in none of the counts."
    )
    return (Section(f"At fault = {len(lanes)}", said, tuple(columns(rows))),)
