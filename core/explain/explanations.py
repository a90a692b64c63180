"""Why a number is what it is: the rule with the values of one access, or of a whole total, put in.

The rules are those of `core.rules.global_memory` and `core.rules.shared_memory`; the counts
themselves come from the access, so that an explanation cannot disagree with what is shown beside
it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from core.launch import WARP
from core.rules import shared_memory
from core.rules.counters import METRICS, UNITS, WAYS, Count, measures_of
from core.rules.global_memory import LINE, LOCAL_WORD, SECTOR
from core.rules.shared_memory import BANKS, WORD
from core.trace.access import fields_of, label
from core.wording import counted, ranges

if TYPE_CHECKING:
    from core.compiler.compile_ptx_and_cubin import Build
    from core.trace.access import Access, WarpAccess
    from core.trace.block import BlockTrace


@dataclass(frozen=True)
class Section:
    """A heading (often `name = value`), a sentence, and lines of figures to be set in columns."""

    heading: str
    text: str = ""
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Explanation:
    """A number explained; `answer` is the whole of it in one sentence, where there is one."""

    title: str
    sections: tuple[Section, ...]
    answer: str = ""

    @property
    def text(self) -> str:
        """All of it as plain text."""
        parts = [self.title, *([self.answer] if self.answer else [])]
        for section in self.sections:
            lines = [section.heading, section.text, *(f"    {line}" for line in section.lines)]
            parts.append("\n".join(line for line in lines if line.strip()))
        return "\n\n".join(parts) + "\n"


def lanes_name(lanes: list[int]) -> str:
    """`lane 3`, `lanes 0–7`."""
    return f"{'lane' if len(lanes) == 1 else 'lanes'} {ranges(lanes)}"


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows with their cells padded to the same widths."""
    if not rows:
        return []
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


_AS_WRITTEN = Section(
    "Of which build",
    "The code as written, compiled without optimisation (nvcc -G): every line does the accesses "
    "that it says. An optimised build, nvcc's default and what a profile usually shows, may make "
    "fewer: it keeps variables and small arrays in registers instead of local memory, loads once "
    "what a loop would load again, and joins neighbours into loads of 8 or 16 bytes.",
)
_AS_COMPILED = Section(
    "Of which build",
    "The optimised code, as nvcc compiles it by default: it makes no second access for a value "
    "that it keeps in a register, loads once for a whole loop, or joins into a wider access.",
)


def build_of(build: Build) -> Section:
    """What the counts of a build are of."""
    found = _AS_WRITTEN if build.kind == "as_written" else _AS_COMPILED
    if not build.compiler:
        return found
    note = f" It was compiled {build.compiler_note}, which may make other accesses of it."
    return replace(found, text=found.text + note)


# One warp's access.


_SHORT = {"load": "ld", "store": "st", "atomic": "atom"}
"""Kinds of accesses in the names of counters."""


def explain_access(access: Access, warp: int) -> Explanation:
    """One warp's share of a memory access: lanes, addresses, formulas, and Nsight's names."""
    part = access.warp(warp)
    active = int(np.count_nonzero(part.active))
    name = access.target
    verb = {"load": "loads", "store": "stores"}.get(access.kind, "updates")
    if access.is_copy and access.kind == "store":
        verb = "begins to copy to"
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
        sections = request, *wrong, *_global_sections(access, part, counts)
        return Explanation(head, sections, _sectors(part, counts))
    if access.space == "shared":
        sections = request, *wrong, *_shared_sections(access, part, counts)
        return Explanation(head, sections, _wavefronts(part))
    other = Section("Not counted", f"Accesses to {access.space} memory are not counted here.")
    return Explanation(head, (request, *wrong, other))


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


# Why it takes so many sectors of global memory.


_SAME_ON_HARDWARE = (
    "A GPU that runs the same build counts the same: a cache decides where a sector comes from, "
    "not how many are asked for. Only the traffic behind the cache (L2, DRAM) is smaller where it "
    "hits."
)


def _global_sections(access: Access, part: WarpAccess, active: int) -> list[Section]:
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
    kind = _SHORT[access.kind]
    if access.is_reduction and access.width >= WORD:  # a narrower one is a loop of exchanges
        kind = "red"
    found.append(_nsight_names([f"global_{kind}_requests", f"global_{kind}_sectors"]))
    found.append(Section("On hardware", _SAME_ON_HARDWARE))
    return found


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
                _elements_of(access, part, lanes),
                f"{int(used)} of {SECTOR} bytes used",
            )
        )
    return columns(rows)


# Why it takes so many wavefronts of shared memory.


_MORE_ON_HARDWARE = (
    "A GPU that runs the same build may count a little more: warps that want the shared memory at "
    "the same time are arbitrated, and some wavefronts go twice. Bank conflicts inside the warp "
    "are the same."
)


def _shared_sections(access: Access, part: WarpAccess, active: int) -> list[Section]:
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
    kind = _SHORT[access.kind]
    names = [f"shared_{kind}_{what}" for what in ("requests", "wavefronts", "conflicts")]
    found += [_nsight_names(names), Section("On hardware", _MORE_ON_HARDWARE)]
    return found


def _lane_lines(access: Access, part: WarpAccess) -> list[str]:
    rows = []
    for lane in np.flatnonzero(part.counted).tolist():
        offset = int(part.addresses[lane])
        bank = offset // WORD % BANKS
        rows.append(
            (
                f"lane {lane}",
                _elements_of(access, part, [lane]),
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


# Local memory, what is ideal, and lanes at fault.


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
        _nsight_names([f"local_{_SHORT[access.kind]}_{what}" for what in ("requests", "sectors")]),
    )


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


def _nsight_names(names: Iterable[str]) -> Section:
    """What Nsight Compute calls the counters of these names."""
    rows = [(name.rpartition("_")[2], METRICS[name]) for name in names if name in METRICS]
    return Section("In Nsight Compute", "", tuple(columns(rows)))


def _elements_of(access: Access, part: WarpAccess, lanes: list[int]) -> str:
    """`A[0,0]`, or the first and the last of several: `A[0,0] … A[0,7]`."""
    array = access.array
    flats = sorted({int(part.elements[lane]) for lane in lanes if part.elements[lane] >= 0})
    if array is None or not flats:
        return ""
    last = flats[-1] + max(part.width // array.dtype.itemsize, 1) - 1
    ends = [label(array.name, array.index(i), fields_of(array)) for i in (flats[0], last)]
    return ends[0] if flats[0] == last else " … ".join(ends)


# Why the total of a source line or an array is what it is: its requests, and one of them.


_MOST_ACCESSES = 48  # of a block, that are looked through for the spread


@dataclass(frozen=True)
class Place:
    """Whose total: a source line, an array, or both None for the launch.

    `space` is one of `UNITS`, `way` one of `WAYS`.
    """

    space: str
    way: str
    line: int | None = None
    array: str | None = None

    @property
    def name(self) -> str:
        """The place in words."""
        where = f"Line {self.line}" if self.line is not None else self.array or "The launch"
        return f"{where}: {self.space} {WAYS[self.way]}s"

    def holds(self, access: Access) -> bool:
        """Whether an access counts here."""
        array = access.array.name if access.array is not None else None
        kind = {"red": "atomic"}.get(self.way, WAYS[self.way])
        return (
            access.space == self.space
            and access.kind == kind
            and (self.line is None or access.line == self.line)
            and (self.array is None or array == self.array)
        )


def explain_total(
    counts: Mapping[str, Count], place: Place, block: BlockTrace, step: int = 0, warp: int = 0
) -> Explanation:
    """A total taken apart; `counts` are those of the place, such as `Counters.by_line[line]`.

    The example is the access of `step` if it counts here, else the block's first that does.
    """
    unit = UNITS[place.space]
    requests = counts.get(f"{place.space}_{place.way}_requests", Count()).value
    moved = counts.get(f"{place.space}_{place.way}_{unit}", Count())
    mean = moved.value / requests if requests else 0.0
    title = f"{place.name}: {_grouped(moved.value)} {unit} where {_grouped(moved.ideal)} would do"
    total = Section(
        f"{unit.capitalize()} = {_grouped(moved.value)}",
        f"The sum over {_grouped(requests)} requests (a memory instruction of a warp each), over "
        "all blocks that were counted.",
        (f"{_grouped(requests)} requests × {mean:.4g} {unit} each on average",),
    )
    ideal = Section(
        f"Ideal = {_grouped(moved.ideal)}",
        "The same sum over what each request would take with its bytes side by side.",
        (
            f"excessive = {_grouped(moved.value)} - {_grouped(moved.ideal)} = "
            f"{_grouped(moved.excessive)}",
        ),
    )
    sections = [total, ideal, *_further(counts, place)]
    found = list(islice(_accesses(block, place), _MOST_ACCESSES + 1))
    if found:
        accesses, now = found[:_MOST_ACCESSES], block.access(step)
        whole = len(found) == len(accesses)
        sections.append(_spread(accesses, block, unit, whole=whole))
        chosen = now if now is not None and place.holds(now) else accesses[0]
        example = explain_access(chosen, _busy(chosen, warp))
        sections.append(Section("One of these requests", f"{example.title}, step {chosen.step}."))
        sections += example.sections
    elif place.space == "local" and requests:
        sections.append(
            Section(
                "Registers",
                "No step of this block shows these requests: the compiler moves registers to local "
                "memory and back where a kernel has too few of them, or a function is called.",
            )
        )
    return Explanation(title, tuple(sections))


def _further(counts: Mapping[str, Count], place: Place) -> list[Section]:
    """What else is measured of the space, such as bank conflicts."""
    found = []
    for measure in measures_of(place.space):
        count = counts.get(f"{place.space}_{place.way}_{measure.name}")
        if count is not None and measure.name not in ("requests", UNITS[place.space]):
            heading = f"{measure.name.capitalize()} = {_grouped(count.value)}"
            found.append(Section(heading, measure.rule))
    return found


def _accesses(block: BlockTrace, place: Place) -> Iterator[Access]:
    """The block's accesses that count at a place."""
    steps = np.arange(block.n_steps)
    if place.line is not None:
        steps = np.flatnonzero(np.asarray(block.line) == place.line)
    for step in steps.tolist():
        access = block.access(step)
        if access is not None and place.holds(access):
            yield access


def _spread(accesses: list[Access], block: BlockTrace, unit: str, *, whole: bool) -> Section:
    """How many requests cost how much. `whole` says that these are all the block's accesses."""
    costs: Counter[int] = Counter()
    for access in accesses:
        rows = access.warps
        found = (
            access.warp_sectors
            if unit == "sectors"
            else shared_memory.wavefronts(*rows, access.width, access.sharing)
        )
        costs.update(found[rows[1].any(axis=1)].tolist())
    lines = tuple(
        f"{_grouped(n)} × {cost} {unit} = {_grouped(n * cost)}" for cost, n in sorted(costs.items())
    )
    limit = "" if whole else f" (its first {len(accesses)} accesses)"
    return Section(f"In block {block.block}", f"Requests by what they cost{limit}:", lines)


def _busy(access: Access, warp: int) -> int:
    """The warp, or the first that takes part where it does not."""
    if access.warp(warp).active.any():
        return warp
    return int(np.flatnonzero(access.active)[0]) // WARP


def _grouped(number: int) -> str:
    return f"{number:,}".replace(",", "\u202f")
