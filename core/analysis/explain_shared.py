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
    "A GPU that runs the same build may count a little more: warps that want the shared memory at "
    "the same time are arbitrated, and some wavefronts go twice. Bank conflicts inside the warp "
    "are the same."
)


def shared_sections(access: Access, part: WarpAccess, active: int) -> list[Section]:
    """Banks, wavefronts and conflicts in shared memory, as formulas."""
    actual, ideal, width = part.wavefronts, part.ideal_wavefronts, access.width
    passes = sum(int(group.passes.max()) for group in part.groups)
    free = passes - part.conflicts
    row = banks.BANKS * banks.WORD
    found = [
        Section(
            "Banks",
            f"Shared memory has {banks.BANKS} banks of {banks.WORD} bytes: (offset / "
            f"{banks.WORD}) % {banks.BANKS} is the bank of a word.",
            tuple(_lane_lines(access, part)),
        ),
        Section("Words of each bank", *_bank_lines(part)),
        _wavefronts(part),
        Section(
            f"Conflicts = {part.conflicts}",
            "Wavefronts beyond those of an access in which no two lanes that go together meet in "
            "a bank.",
            (f"{passes} - {free} = {part.conflicts}",),
        ),
        Section(
            f"Ideal = {ideal}",
            "What the same lanes would take if their bytes lay side by side, and never more than "
            "the actual.",
            (
                f"min(actual, ceil(active lanes × bytes a lane / {row}))",
                f"= min({actual}, ceil({active} × {width} / {row}))",
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
    """A sentence, and the busiest bank's words with their lanes, in the group that decides."""
    most = int(part.ways.max())
    group = next(g for g in part.groups if g.passes.max() == most)
    busiest = np.flatnonzero(group.passes == most).tolist()
    words: dict[int, list[int]] = {}
    for lane in range(*group.lanes.indices(WARP)):
        if part.active[lane]:
            for word in _words(part, lane):
                if word % banks.BANKS == busiest[0]:
                    words.setdefault(word, []).append(lane)
    text = f"{_rule(part)} The most in one bank: {_counted_passes(part, most)}"
    among = "" if len(part.groups) == 1 else f" of lanes {_span(group)}"
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
    word = f"word (offset / {banks.WORD})"
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


def _counted_passes(part: WarpAccess, most: int) -> str:
    return counted(most, "lane" if part.kind == "atomic" else "different word")


def _span(group: banks.Group) -> str:
    first, end, _ = group.lanes.indices(WARP)
    return f"{first} to {end - 1}"


def _words(part: WarpAccess, lane: int) -> range:
    first = int(part.addresses[lane]) // banks.WORD
    return range(first, first + max(part.width // banks.WORD, 1))


def _wavefronts(part: WarpAccess) -> Section:
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
