"""One warp's access as a small SVG: lanes above, the sectors or banks that they ask for below."""

from __future__ import annotations

from html import escape

import numpy as np

from core.rules.global_memory import SECTOR
from core.trace.access import Access, WarpAccess

_CELL, _GAP, _HIGH = 20, 8, 132
_WIDE = 32 * _CELL + 2
_USED, _WASTE, _IDLE, _TEXT, _LINK = "#0072b2", "#dcc0c0", "#dfe2e7", "#1b2330", "#8fa3b8"
_WRONG = "#b3261e"
MOST_SECTORS = 64


def warp_svg(access: Access, warp: int = 0) -> str:
    """The picture of a warp's access to global or shared memory, "" for any other space.

    Each lane is linked to the 32-byte sector, or the bank, of its first byte; what of a sector no
    lane asks for is shaded. A lane whose access is illegal is red and crossed out.
    """
    one = access.warp(warp)
    if access.space == "global":
        boxes, places, title = _sectors(one)
    elif access.space == "shared":
        boxes, places, title = _banks(one)
    else:
        return ""
    both = one.active.tolist(), one.faulty.tolist()
    lanes = "".join(
        f'<rect x="{1 + lane * _CELL}" y="1" width="{_CELL - 1}" height="18" '
        f'fill="{_WRONG if wrong else _USED if on else _IDLE}"/>'
        f'<text x="{1 + lane * _CELL + _CELL / 2:g}" y="14" text-anchor="middle" '
        f'fill="{"#fff" if on or wrong else _TEXT}">{lane}</text>'
        + (f'<path d="M{1 + lane * _CELL} 20l{_CELL - 1} -19" stroke="#fff"/>' if wrong else "")
        for lane, (on, wrong) in enumerate(zip(*both, strict=True))
    )
    links = "".join(
        f'<path d="M{1 + lane * _CELL + _CELL / 2:g} 20C{1 + lane * _CELL + _CELL / 2:g} 50 '
        f'{x:g} 50 {x:g} 80" stroke="{_LINK}" fill="none"/>'
        for lane, x in places.items()
    )
    words = escape(f"Warp {warp} {access.kind}s {access.target}: {title}{_at_fault(access, one)}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDE} {_HIGH}" '
        f'width="{_WIDE}" height="{_HIGH}" role="img" aria-label="{words}" '
        f'font-family="sans-serif" font-size="10"><title>{words}</title>{links}{lanes}{boxes}'
        f'<text x="1" y="{_HIGH - 6}" font-size="12" fill="{_TEXT}">{words}</text></svg>'
    )


def _sectors(one: WarpAccess) -> tuple[str, dict[int, float], str]:
    sectors = one.sectors[:MOST_SECTORS]
    wide = min((_WIDE - 2) / max(len(sectors), 1) - 2, 96)
    left = {int(sector): 1 + place * (wide + 2) for place, sector in enumerate(sectors.tolist())}
    boxes = "".join(
        f'<rect x="{x:.1f}" y="80" width="{wide:.1f}" height="22" fill="{_WASTE}"/>'
        for x in left.values()
    )
    for first, end in _stretches(one):
        sector = first // SECTOR * SECTOR
        if sector in left:
            x = left[sector] + wide * (first - sector) / SECTOR
            boxes += (
                f'<rect x="{x:.1f}" y="80" width="{wide * (end - first) / SECTOR:.1f}" '
                f'height="22" fill="{_USED}"/>'
            )
    places = {}
    for lane in np.flatnonzero(one.active).tolist():
        address = int(one.addresses[lane])
        sector = address // SECTOR * SECTOR
        if sector in left:
            places[lane] = left[sector] + wide * (address - sector + one.width / 2) / SECTOR
    what = _counted(one.n_sectors, "sector")
    return boxes, places, what + _would_do(one.n_sectors, one.ideal_sectors)


def _stretches(one: WarpAccess) -> list[tuple[int, int]]:
    """The bytes that lanes ask for: begin and end of each stretch that lies in one sector."""
    asked = one.addresses[one.active][:, None] + np.arange(one.width)
    places = np.unique(asked)
    gaps = np.flatnonzero((np.diff(places) > 1) | (places[1:] % SECTOR == 0)) + 1
    return [(int(part[0]), int(part[-1]) + 1) for part in np.split(places, gaps) if len(part)]


def _banks(one: WarpAccess) -> tuple[str, dict[int, float], str]:
    ways = one.ways.tolist()
    boxes = "".join(
        f'<rect x="{1 + bank * _CELL}" y="80" width="{_CELL - 1}" height="22" '
        f'fill="{_USED if passes else _IDLE}"/>'
        f'<text x="{1 + bank * _CELL + _CELL / 2:g}" y="95" text-anchor="middle" '
        f'fill="{"#fff" if passes else _TEXT}">{f"×{passes}" if passes > 1 else bank}</text>'
        for bank, passes in enumerate(ways)
    )
    banks = one.banks.tolist()
    places = {
        lane: 1 + banks[lane] * _CELL + _CELL / 2 for lane in np.flatnonzero(one.active).tolist()
    }
    what = _counted(one.wavefronts, "wavefront")
    return boxes, places, what + _would_do(one.wavefronts, one.ideal_wavefronts)


def _would_do(count: int, ideal: int) -> str:
    return f" where {ideal:,} would do" if ideal < count else ", and no fewer would do"


def _at_fault(access: Access, one: WarpAccess) -> str:
    """Which lanes are at fault, and in what way."""
    lanes = np.flatnonzero(one.faulty)
    if not len(lanes):
        return ""
    runs = np.split(lanes, np.flatnonzero(np.diff(lanes) > 1) + 1)
    told = ", ".join(f"{r[0]}" if len(r) == 1 else f"{r[0]} to {r[-1]}" for r in runs)
    return f"; lane{'s' * (len(lanes) > 1)} {told}: {access.fault.replace('_', ' ')}"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
