"""Why a number is what it is: the rule with the values of one warp's access put in.

The rules are those of `core.rules.global_memory` and `core.rules.shared_memory`; the counts
themselves come from the access, so that an explanation cannot disagree with what is shown beside
it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.explain.explanation import (
    SHORT,
    Explanation,
    Section,
    columns,
    elements_of,
    lanes_name,
    nsight_names,
)
from core.rules.global_memory import LINE, LOCAL_WORD, SECTOR
from core.rules.shared_memory import BANKS, WORD
from core.trace.access import label
from core.wording import counted, ranges

if TYPE_CHECKING:
    from core.trace.access import Access, WarpAccess


# Why a warp's access to global memory takes so many sectors.


SAME_ON_HARDWARE = (
    "A GPU that runs the same build counts the same: a cache decides where a sector comes from, "
    "not how many are asked for. Only the traffic behind the cache (L2, DRAM) is smaller where it "
    "hits."
)


def global_sections(access: Access, part: WarpAccess, active: int) -> list[Section]:
    """Sectors and lines of global memory, as formulas."""
    actual, ideal, width = part.n_sectors, part.ideal_sectors, access.width
    found = [
        Section(
            f"Sectors = {actual}", _why_sectors(part, active), tuple(_sector_lines(access, part))
        ),
        _ideal(actual, ideal, active, width, SECTOR),
        Section(
            f"Excessive = {actual - ideal}",
            "Actual less ideal: sectors that another order of the data or of the threads saves. "
            "Where there are any, the window's figures are red, else green. The bytes used are no "
            "verdict: of a float that all lanes share 4 of 32 bytes are used, and no order saves "
            "its sector.",
            (
                f"{actual} - {ideal} = {actual - ideal}",
                f"efficiency = ideal / actual = {ideal} / {actual} = {ideal / actual:.1%}",
                f"bytes used of those fetched = {int(part.bytes_used.sum())} / {actual * SECTOR}",
            ),
        ),
    ]
    lines = ", ".join(f"0x{int(line):x}" for line in part.lines[:8])
    more = f" and {len(part.lines) - 8} more" if len(part.lines) > 8 else ""
    found.append(
        Section(
            f"Lines = {len(part.lines)}",
            f"128-byte lines (address // 128) that the sectors lie in, from {lines}{more}.",
        )
    )
    kind = SHORT[access.kind]
    found.append(nsight_names([f"global_{kind}_requests", f"global_{kind}_sectors"]))
    found.append(Section("On hardware", SAME_ON_HARDWARE))
    return found


def _ideal(actual: int, ideal: int, active: int, width: int, unit: int) -> Section:
    """What is ideal where `unit` bytes cost one."""
    return Section(
        f"Ideal = {ideal}",
        "What the same lanes would take if their bytes lay side by side, and never more than the "
        "actual.",
        (
            f"min(actual, ceil(active lanes × bytes a lane / {unit}))",
            f"= min({actual}, ceil({active} × {width} / {unit}))",
            f"= min({actual}, {-(-active * width // unit)}) = {ideal}",
        ),
    )


def _why_sectors(part: WarpAccess, active: int) -> str:
    different = counted(len(part.sectors), "different number")
    said = f"A sector is an aligned piece of {SECTOR} bytes; address // {SECTOR} is its number. "
    if part.kind != "atomic":
        fetched = "Every sector that an active lane touches is fetched once"
        return f"{said}{fetched}: {different} among {counted(active, 'lane')}."
    return (
        f"{said}There {'is' if len(part.sectors) == 1 else 'are'} {different} among "
        f"{counted(active, 'lane')}, but an atomic takes passes through the cache's tags, and a "
        f"sector counts in each that visits it, {counted(part.n_sectors, 'time')} in all. "
        "Of lanes at the same place of their lines a pass serves one."
    )


def _sector_lines(access: Access, part: WarpAccess) -> list[str]:
    rows = []
    for place, (sector, used) in enumerate(zip(part.sectors, part.bytes_used, strict=True)):
        here = part.active & (part.addresses // SECTOR == int(sector) // SECTOR)
        lanes = np.flatnonzero(here).tolist()
        first = int(part.addresses[lanes[0]])
        rows.append(
            (
                str(place + 1),
                f"0x{first:x} // {SECTOR} = 0x{int(sector) // SECTOR:x}",
                lanes_name(lanes),
                elements_of(access, part, lanes),
                f"{int(used)} of {SECTOR} bytes used",
            )
        )
    return columns(rows)


# Why a warp's access to shared memory takes so many wavefronts.


WARP = 32
MORE_ON_HARDWARE = (
    "A GPU that runs the same build may count a little more: warps that want the shared memory at "
    "the same time are arbitrated, and some wavefronts go twice. Bank conflicts inside the warp "
    "are the same."
)


def shared_sections(access: Access, part: WarpAccess, active: int) -> list[Section]:
    """Banks, wavefronts and conflicts in shared memory, as formulas."""
    actual, ideal, width = part.wavefronts, part.ideal_wavefronts, access.width
    passes = sum(int(group.passes.max()) for group in part.groups)
    free = passes - part.conflicts
    found = [
        Section(
            "Banks",
            f"Shared memory has {BANKS} banks of {WORD} bytes: (offset / {WORD}) % {BANKS} is the "
            "bank of a word.",
            tuple(_lane_lines(access, part)),
        ),
        Section("Words of each bank", *_bank_lines(part)),
        _shared_wavefronts(part),
        Section(
            f"Conflicts = {part.conflicts}",
            "Wavefronts beyond those of an access in which no two lanes that go together meet in "
            "a bank.",
            (f"{passes} - {free} = {part.conflicts}",),
        ),
        _ideal(actual, ideal, active, width, BANKS * WORD),
    ]
    kind = SHORT[access.kind]
    names = [f"shared_{kind}_{what}" for what in ("requests", "wavefronts", "conflicts")]
    found += [nsight_names(names), Section("On hardware", MORE_ON_HARDWARE)]
    return found


def _lane_lines(access: Access, part: WarpAccess) -> list[str]:
    rows = []
    for lane in np.flatnonzero(part.counted).tolist():
        offset = int(part.addresses[lane])
        bank = offset // WORD % BANKS
        rows.append(
            (
                f"lane {lane}",
                elements_of(access, part, [lane]),
                f"({offset} / {WORD}) % {BANKS} = {bank}",
            )
        )
    return columns(rows)


def _bank_lines(part: WarpAccess) -> tuple[str, tuple[str, ...]]:
    """A sentence, and the busiest bank's words with their lanes, in the group that decides."""
    most = int(part.ways.max())
    group = next(g for g in part.groups if g.passes.max() == most)
    busiest = np.flatnonzero(group.passes == most).tolist()
    words: dict[int, list[int]] = {}
    for lane in range(*group.lanes.indices(WARP)):
        if part.counted[lane]:
            for word in _words(part, lane):
                if word % BANKS == busiest[0]:
                    words.setdefault(word, []).append(lane)
    what = counted(most, "lane" if part.kind == "atomic" else "different word")
    text = f"{_rule(part)} The most in one bank: {what}"
    lanes = group.lanes
    among = "" if len(part.groups) == 1 else f" of lanes {lanes.start} to {lanes.stop - 1}"
    text += f"{among}, in {counted(len(busiest), 'bank')}."
    if most == 1:
        return text, ()
    rows = [
        (f"bank {busiest[0]}", f"word {word}", lanes_name(lanes))
        for word, lanes in sorted(words.items())
    ]
    more = [f"and so {'bank' if len(busiest) == 2 else 'banks'} {ranges(busiest[1:])}"]
    return text, (*columns(rows), *(more if len(busiest) > 1 else []))


def _rule(part: WarpAccess) -> str:
    """What lanes of one bank share, in a sentence."""
    word = f"word (offset / {WORD})"
    if part.kind == "atomic":
        return (
            f"An atomic shares nothing: lanes that update one bank go one after another, those of "
            f"the same {word} as well."
        )
    share = "are served it together" if part.kind == "load" else "write into it together"
    return (
        f"Lanes that ask for the same {word} {share}; different words of one bank go one after "
        "another."
    )


def _words(part: WarpAccess, lane: int) -> range:
    first = int(part.addresses[lane]) // WORD
    return range(first, first + max(part.width // WORD, 1))


def _shared_wavefronts(part: WarpAccess) -> Section:
    """Wavefronts of groups of lanes: the most passes of a bank, added up."""
    heading = f"Wavefronts = {part.wavefronts}"
    passes = [int(group.passes.max()) for group in part.groups]
    what = "lanes that update it" if part.kind == "atomic" else "different words"
    size = len(range(*part.groups[0].lanes.indices(WARP)))
    twice = " A compare-and-swap goes twice each time." if part.exchanges else ""
    if size == WARP:
        most = f"2 × {passes[0]}" if twice else "max over the banks"
        return Section(
            heading,
            f"The bank with the most {what} decides.{twice}",
            (f"{most} = {part.wavefronts}",),
        )
    together = {16: "half", 8: "quarter"}.get(size, "part")
    return Section(
        heading,
        f"With {part.width} bytes a lane each {together} of a warp goes for itself, and the bank "
        f"with the most {what} decides each time.{twice}",
        (
            f"{'2 × (' if twice else ''}{' + '.join(map(str, passes))}{')' if twice else ''} = "
            f"{part.wavefronts}",
        ),
    )


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
    counts = int(np.count_nonzero(part.counted))
    together = (
        " The machine code puts their values together, and one lane does the atomic for all."
        if counts < active
        else ""
    )
    request = Section(
        "Requests = 1",
        f"One memory instruction of one warp is one request, here with {active} active lanes of "
        f"{access.width} bytes each.{together}",
    )
    if access.space == "local":
        return Explanation(head, (*_local_sections(access, warp), *wrong))
    if access.space == "global":
        sections = request, *wrong, *global_sections(access, part, counts)
        return Explanation(head, sections, _sectors(part, counts))
    if access.space == "shared":
        sections = request, *wrong, *shared_sections(access, part, counts)
        return Explanation(head, sections, _wavefronts(part))
    other = Section("Not counted", f"Accesses to {access.space} memory are not counted here.")
    return Explanation(head, (request, *wrong, other))


def _local_sections(access: Access, warp: int) -> tuple[Section, ...]:
    """Requests and sectors of local memory."""
    words = max(1, access.width // LOCAL_WORD)
    return (
        Section(
            f"Requests = {words}",
            f"Each {LOCAL_WORD} bytes of a lane are a request of the warp, here {access.width} "
            "bytes each.",
        ),
        Section(
            f"Sectors = {int(access.warp_sectors[warp])}",
            f"The same {LOCAL_WORD}-byte word of all lanes' stacks lies side by side, in a line of "
            f"{LINE} bytes; lanes with other indices reach other lines.",
        ),
        nsight_names([f"local_{SHORT[access.kind]}_{what}" for what in ("requests", "sectors")]),
    )


def _sectors(part: WarpAccess, active: int) -> str:
    """Why a request to global memory moves as many sectors as it does, in one sentence."""
    moved, ideal = part.n_sectors, part.ideal_sectors
    used = int(part.bytes_used.sum())
    least = -(-used // SECTOR)
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
    halves = " by lanes that go together" if len(part.groups) > 1 else ""
    asked = f"asked for {most} different words{halves}"
    if part.kind == "atomic":
        asked = f"updated by {most} lanes"
    return (
        f"{counted(taken, 'wavefront')}: {where} is {asked}, and serves one a wavefront; "
        f"{ideal} would do."
    )


_STOPS = "stops the kernel with an error"
_FAULTS = {  # of what is asked for, and what a GPU does then
    "out_of_bounds": ("lies in no array", _STOPS),
    "misaligned": ("is not aligned", _STOPS),
    "use_after_free": ("was freed before", "takes whatever lies there by then"),
}


def _at_fault(access: Access, warp: int) -> tuple[Section, ...]:
    """The lanes whose access is illegal, with where they wanted to go; nothing without any."""
    lanes = np.flatnonzero(access.warp(warp).faulty).tolist()
    if not lanes:
        return ()
    why, gpu = _FAULTS[access.fault]
    rows = []
    for lane in lanes:
        wanted, address = access.wanted(warp * WARP + lane), access.addresses[warp * WARP + lane]
        name = "" if wanted is None else label(access.target, (wanted,))
        rows.append((f"lane {lane}", name, f"address 0x{int(address):x}"))
    who = "this lane asks" if len(lanes) == 1 else "these lanes ask"
    said = (
        f"What {who} for {why}. A GPU {gpu}; the emulator goes on, gives 0 for a load and stores "
        "nothing. They are in none of the counts."
    )
    return (Section(f"At fault = {len(lanes)}", said, tuple(columns(rows))),)
