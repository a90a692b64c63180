"""What the warp view shows at an access to constant or to local memory.

Constant memory has a cache of its own, which serves one word at a time to all lanes that ask for
it. In local memory every thread has places of its own under the same names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.launch import WARP
from core.wording import listing
from gui.scenes.cached_per_object import once_for_each
from gui.scenes.names_of_elements_and_threads import verb_of
from gui.scenes.numbers_and_sentences import plural, value_text

if TYPE_CHECKING:
    from core.findings.address_names import Places
    from core.trace import Access, BlockTrace, Trace

ADDRESS = 8  # bytes
TITLES = {"const": "Constant memory", "local": "Local memory"}
AS_WRITTEN = {
    "const": "A cache of its own serves one word at a time. As written (-G) the kernel reads it by "
    "generic addresses, which hardware counts as global loads.",
    "local": "Every thread has its own, in DRAM behind the caches. An optimised build may use "
    "registers.",
}


@dataclass(frozen=True)
class OwnWord:
    """A place that lanes ask for: its name, and the lanes. Each has its own of local memory."""

    name: str
    lanes: tuple[int, ...]
    value: str


@dataclass(frozen=True)
class OwnScene:
    """One warp's access to constant or local memory (`space`)."""

    caption: str
    space: str
    warp: int
    verb: str
    active: tuple[bool, ...]
    words: tuple[OwnWord, ...]

    @property
    def title(self) -> str:
        """Which memory it is."""
        return TITLES[self.space]

    @property
    def figures(self) -> tuple[tuple[str, str], ...]:
        """What is counted: a label and a number each."""
        lanes = sum(self.active)
        requests = ("Requests", "1" if lanes else "0")
        if self.space == "const":
            return requests, ("Different words", str(len(self.words))), ("Lanes", str(lanes))
        return requests, ("Lanes", str(lanes)), ("Places of its own", str(lanes))


def own_scene(trace: Trace, block: BlockTrace, step: int, warp: int) -> OwnScene | None:
    """The scene of a step that accesses one of these memories; None for any other."""
    access = block.access(step) if block.n_steps else None
    if access is None or access.space not in TITLES:
        return None
    places = _places(trace)
    part, first = access.warp(warp), warp * WARP
    active = np.asarray(part.active)
    names: dict[int, tuple[str, bool]] = {}
    lanes_of: dict[tuple[int, int], list[int]] = {}
    for lane in np.flatnonzero(active).tolist():
        offset = int(access.addresses[first + lane]) - access.origin
        if offset not in names:
            names[offset] = _name(places, access, offset)
        own = lane if access.space == "local" else -1
        lanes_of.setdefault((offset, own), []).append(lane)
    held = np.asarray(part.values).reshape(WARP, -1)
    words = tuple(
        OwnWord(names[offset][0], tuple(lanes), _value(held[lanes[0], 0].item(), names[offset][1]))
        for (offset, _), lanes in sorted(lanes_of.items())
    )
    verb = verb_of(access.kind, 1)
    present = block.n_threads - first
    return OwnScene(
        _caption(access, warp, words, int(active.sum())),
        access.space,
        warp,
        verb,
        tuple(active[: min(WARP, present)].tolist()),
        words,
    )


@once_for_each
def _places(trace: Trace) -> Places:
    from core.findings.address_names import Places

    return Places(trace.program)


def _name(places: Places, access: Access, offset: int) -> tuple[str, bool]:
    """`part[2]`, `weight[1]`, and whether an address lies there; bytes where no type is known."""
    if access.space == "const":
        if offset % access.width:
            return f"byte {offset} of {access.variable}", False
        return f"{access.variable}[{offset // access.width}]", False
    place = places.at_offset("local", "local memory", offset, access.pc)
    return place.text, place.points and access.width == ADDRESS


def _value(value: float | int, is_address: bool) -> str:
    return f"{int(value):#x}" if is_address else value_text(value)


def _caption(access: Access, warp: int, words: tuple[OwnWord, ...], lanes: int) -> str:
    if not lanes:
        return f"No lane of warp {warp} takes part in this access."
    names = sorted({word.name for word in words})
    what = listing(names) if len(names) <= 3 else f"{len(names)} places of {access.target}"
    if access.space == "local":
        whose = "each its own" if lanes > 1 else "its own"
        verb = verb_of(access.kind, lanes)
        return f"{plural(lanes, 'lane')} of warp {warp} {verb} {what} in local memory, {whose}."
    subject = f"Warp {warp} {verb_of(access.kind, 1)} {what} from constant memory"
    if len(words) == 1:
        return f"{subject}: one word serves {plural(lanes, 'lane')}, a broadcast."
    return f"{subject}: {len(words)} different words, one after another."
