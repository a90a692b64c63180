"""Why a number is what it is: the rule with the values of one warp's access put in.

The rules are those of `core.analysis.coalescing` and `core.analysis.banks`; the counts themselves
come from the access, so that an explanation cannot disagree with what is shown beside it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.analysis import banks, coalescing
from core.analysis.counters import COUNTERS
from core.analysis.wording import columns, counted, lanes_name, ranges
from core.trace.arrays import label

if TYPE_CHECKING:
    from core.trace.access import Access, WarpAccess

WARP = 32
SHORT = {"load": "ld", "store": "st", "atomic": "atom"}
SAME_ON_HARDWARE = (
    "Hardware counts the same: a cache decides where a sector comes from, not how many are asked "
    "for. Only the traffic behind the cache (L2, DRAM) is smaller where it hits."
)
MORE_ON_HARDWARE = (
    "Hardware may count a little more: warps that want the shared memory at the same time are "
    "arbitrated, and some wavefronts go twice. Bank conflicts inside the warp are the same."
)


@dataclass(frozen=True)
class Section:
    """A heading (often `name = value`), a sentence, and lines of figures to be set in columns."""

    heading: str
    text: str = ""
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Explanation:
    """A number explained."""

    title: str
    sections: tuple[Section, ...]

    @property
    def text(self) -> str:
        """All of it as plain text."""
        parts = [self.title]
        for section in self.sections:
            lines = [section.heading, section.text, *(f"    {line}" for line in section.lines)]
            parts.append("\n".join(line for line in lines if line.strip()))
        return "\n\n".join(parts) + "\n"


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
        return Explanation(head, (request, *wrong, *_global(access, part, active)))
    if access.space == "shared":
        return Explanation(head, (request, *wrong, *_shared(access, part, active)))
    other = Section("Not counted", f"Accesses to {access.space} memory are not counted here.")
    return Explanation(head, (request, *wrong, other))


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


# -- global memory --------------------------------------------------------------------------------


def _global(access: Access, part: WarpAccess, active: int) -> list[Section]:
    actual, ideal, width = part.n_sectors, part.ideal_sectors, access.width
    asked = active * width
    found = [
        Section(
            f"Sectors = {actual}", _why_sectors(part, active), tuple(_sector_lines(access, part))
        ),
        Section(
            f"Ideal = {ideal}",
            "What the same lanes would take if their bytes lay side by side, and never more than "
            "the actual.",
            (
                f"min(actual, ceil(active lanes x bytes a lane / {coalescing.SECTOR}))",
                f"= min({actual}, ceil({active} x {width} / {coalescing.SECTOR}))",
                f"= min({actual}, {-(-asked // coalescing.SECTOR)}) = {ideal}",
            ),
        ),
        Section(
            f"Excessive = {actual - ideal}",
            "Actual less ideal: sectors that another order of the data or of the threads saves.",
            (
                f"{actual} - {ideal} = {actual - ideal}",
                f"efficiency = ideal / actual = {ideal} / {actual} = {ideal / actual:.1%}",
                f"bytes used of those fetched = {int(part.bytes_used.sum())} / "
                f"{actual * coalescing.SECTOR}",
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
    found.append(_nsight([f"global_{kind}_requests", f"global_{kind}_sectors"]))
    found.append(Section("On hardware", SAME_ON_HARDWARE))
    return found


def _why_sectors(part: WarpAccess, active: int) -> str:
    different = counted(len(part.sectors), "different number")
    said = (
        f"A sector is an aligned piece of {coalescing.SECTOR} bytes; address // "
        f"{coalescing.SECTOR} is its number. "
    )
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
        lanes = [int(i) for i in np.flatnonzero(_touching(part, int(sector)))]
        first = int(part.addresses[lanes[0]])
        rows.append(
            (
                str(place + 1),
                f"0x{first:x} // {coalescing.SECTOR} = 0x{int(sector) // coalescing.SECTOR:x}",
                lanes_name(lanes),
                _elements(access, part, lanes),
                f"{int(used)} of {coalescing.SECTOR} bytes used",
            )
        )
    return columns(rows)


def _touching(part: WarpAccess, sector: int) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Which lanes touch a sector (an access of a lane is aligned, so it lies in one)."""
    touches: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = part.active & (
        part.addresses // coalescing.SECTOR == sector // coalescing.SECTOR
    )
    return touches


# -- shared memory --------------------------------------------------------------------------------


def _shared(access: Access, part: WarpAccess, active: int) -> list[Section]:
    actual, ideal, width = part.wavefronts, part.ideal_wavefronts, access.width
    free = actual - part.conflicts
    row = banks.BANKS * banks.WORD
    found = [
        Section(
            "Banks",
            f"Shared memory has {banks.BANKS} banks of {banks.WORD} bytes: (offset / "
            f"{banks.WORD}) % {banks.BANKS} is the bank of a word.",
            tuple(_lane_lines(access, part)),
        ),
        Section("Words of each bank", *_bank_lines(part)),
        _wavefronts(access, part),
        Section(
            f"Conflicts = {part.conflicts}",
            "Wavefronts beyond those of an access in which no two lanes that go together meet in "
            "a bank.",
            (f"{actual} - {free} = {part.conflicts}",),
        ),
        Section(
            f"Ideal = {ideal}",
            "What the same lanes would take if their bytes lay side by side, and never more than "
            "the actual.",
            (
                f"min(actual, ceil(active lanes x bytes a lane / {row}))",
                f"= min({actual}, ceil({active} x {width} / {row}))",
                f"= min({actual}, {-(-active * width // row)}) = {ideal}",
            ),
        ),
    ]
    kind = SHORT[access.kind]
    names = [f"shared_{kind}_{what}" for what in ("requests", "wavefronts", "conflicts")]
    found += [_nsight(names), Section("On hardware", MORE_ON_HARDWARE)]
    return found


def _lane_lines(access: Access, part: WarpAccess) -> list[str]:
    rows = []
    for lane in np.flatnonzero(part.active).tolist():
        offset = int(part.addresses[lane])
        bank = offset // banks.WORD % banks.BANKS
        rows.append(
            (
                f"lane {lane}",
                _elements(access, part, [lane]),
                f"({offset} / {banks.WORD}) % {banks.BANKS} = {bank}",
            )
        )
    return columns(rows)


def _bank_lines(part: WarpAccess) -> tuple[str, tuple[str, ...]]:
    """A sentence, and the banks with the most different words, each with its words and lanes."""
    words: dict[int, dict[int, list[int]]] = {}
    for lane in np.flatnonzero(part.active).tolist():
        for word in _words(part, lane):
            words.setdefault(word % banks.BANKS, {}).setdefault(word, []).append(lane)
    most = max(len(held) for held in words.values())
    busiest = sorted(bank for bank, held in words.items() if len(held) == most)
    text = (
        f"Lanes that ask for the same word (offset / {banks.WORD}) share it; different words of "
        f"one bank go one after another. The most in one bank: {counted(most, 'different word')}, "
        f"in {counted(len(busiest), 'bank')}."
    )
    if most == 1:
        return text, ()
    rows = [
        (f"bank {bank}", f"word {word}", lanes_name(lanes))
        for bank in busiest[:1]
        for word, lanes in sorted(words[bank].items())
    ]
    more = [f"and so {'bank' if len(busiest) == 2 else 'banks'} {ranges(busiest[1:])}"]
    return text, (*columns(rows), *(more if len(busiest) > 1 else []))


def _words(part: WarpAccess, lane: int) -> range:
    first = int(part.addresses[lane]) // banks.WORD
    return range(first, first + max(part.width // banks.WORD, 1))


def _wavefronts(access: Access, part: WarpAccess) -> Section:
    """Wavefronts of groups of lanes: the largest number of words in a bank, added up."""
    heading = f"Wavefronts = {part.wavefronts}"
    size = WARP * banks.WORD // max(part.width, banks.WORD)
    for lanes in (size, 2 * size):
        passes = _passes(part, lanes)
        if lanes <= WARP and sum(passes) == part.wavefronts:
            break
    else:
        return Section(
            heading,
            "An atomic shares nothing: lanes in one bank go one after another, even those that "
            "update the same word."
            if access.kind == "atomic"
            else "Measured for accesses of this kind; see docs/counting.md.",
        )
    if len(passes) == 1:
        return Section(
            heading,
            "The bank with the most different words decides.",
            (f"max over the banks = {part.wavefronts}",),
        )
    together = {16: "half", 8: "quarter"}.get(lanes, "part")
    return Section(
        heading,
        f"With {part.width} bytes a lane each {together} of a warp goes for itself, and the bank "
        "with the most different words decides each time.",
        (f"{' + '.join(map(str, passes))} = {part.wavefronts}",),
    )


def _passes(part: WarpAccess, lanes: int) -> list[int]:
    found = []
    for start in range(0, WARP, lanes):
        group = slice(start, start + lanes)
        offsets = part.addresses[group][part.active[group]]
        found.append(int(banks.words_per_bank(offsets, part.width).max()) if len(offsets) else 0)
    return found


# -- words ----------------------------------------------------------------------------------------


def _nsight(names: Iterable[str]) -> Section:
    rows = [(name.rpartition("_")[2], COUNTERS[name]) for name in names if name in COUNTERS]
    return Section("In Nsight Compute", "", tuple(columns(rows)))


def _elements(access: Access, part: WarpAccess, lanes: list[int]) -> str:
    """`A[0,0]`, or the first and the last of several: `A[0,0] … A[0,7]`."""
    array = access.array
    flats = sorted({int(part.elements[lane]) for lane in lanes if part.elements[lane] >= 0})
    if array is None or not flats:
        return ""
    last = flats[-1] + max(part.width // array.dtype.itemsize, 1) - 1
    ends = [label(array.name, array.index(flats[0])), label(array.name, array.index(last))]
    return ends[0] if flats[0] == last else " … ".join(ends)
