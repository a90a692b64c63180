"""Why a warp's access to global memory takes so many sectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.analysis import coalescing
from core.analysis.explanation import SHORT, Section, elements_of, nsight_names
from core.analysis.wording import columns, counted, lanes_name

if TYPE_CHECKING:
    from core.trace.access import Access, WarpAccess

SAME_ON_HARDWARE = (
    "A GPU that runs the same build counts the same: a cache decides where a sector comes from, "
    "not how many are asked for. Only the traffic behind the cache (L2, DRAM) is smaller where it "
    "hits."
)


def global_sections(access: Access, part: WarpAccess, active: int) -> list[Section]:
    """Sectors and lines of global memory, as formulas."""
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
                f"min(actual, ceil(active lanes × bytes a lane / {coalescing.SECTOR}))",
                f"= min({actual}, ceil({active} × {width} / {coalescing.SECTOR}))",
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
    found.append(nsight_names([f"global_{kind}_requests", f"global_{kind}_sectors"]))
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
                elements_of(access, part, lanes),
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
