"""Why a warp's access to shared memory takes so many wavefronts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.analysis import banks
from core.analysis.explanation import SHORT, Section, elements_of, nsight_names
from core.analysis.wording import columns, counted, lanes_name, ranges

if TYPE_CHECKING:
    from core.trace.access import Access, WarpAccess

WARP = 32
MORE_ON_HARDWARE = (
    "Hardware may count a little more: warps that want the shared memory at the same time are "
    "arbitrated, and some wavefronts go twice. Bank conflicts inside the warp are the same."
)


def shared_sections(access: Access, part: WarpAccess, active: int) -> list[Section]:
    """Banks, wavefronts and conflicts in shared memory, as formulas."""
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
    found += [nsight_names(names), Section("On hardware", MORE_ON_HARDWARE)]
    return found


def _lane_lines(access: Access, part: WarpAccess) -> list[str]:
    rows = []
    for lane in np.flatnonzero(part.active).tolist():
        offset = int(part.addresses[lane])
        bank = offset // banks.WORD % banks.BANKS
        rows.append(
            (
                f"lane {lane}",
                elements_of(access, part, [lane]),
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
