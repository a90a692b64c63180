"""What the shared memory view shows: each array filling up, and one warp's access by bank."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.emulator.events import Ints
from core.launch import WARP
from core.rules.shared_memory import BANKS, WORD
from core.trace.access import SharedArray, owner_of
from core.trace.copies_under_way import CopiesUnderWay
from gui.scenes.block_history import history_of
from gui.scenes.cached_per_object import once_for_each
from gui.scenes.elements_of_accesses import accessed_name, all_elements, deed, elements_a_lane
from gui.scenes.illegal_accesses import at_fault, faults_in_words
from gui.scenes.names_of_elements_and_threads import element_name
from gui.scenes.numbers_and_sentences import capital, numbers_name, plural

if TYPE_CHECKING:
    from core.trace import Access, Array, BlockTrace, Trace


@dataclass(frozen=True)
class SharedGrid:
    """One `__shared__` array after the step, as rows and columns of elements.

    A longer array of one dimension is wrapped so that a row is what the 32 banks hold; the last row
    may be longer than the array, and `present` says which cells are elements.
    """

    array: SharedArray
    rows: int
    columns: int
    values: NDArray[np.generic]
    """What `written` cells hold; elsewhere they mean nothing."""
    written: NDArray[np.bool_]
    copying: NDArray[np.bool_]
    """Cells to which asynchronous copies are under way: what lies there is not known."""
    writers: NDArray[np.int32]
    warp_lit: Ints
    """Flat elements that the selected warp touches at this step, every one of each active lane."""
    warp_lanes: Ints
    """The lane of each entry of `warp_lit`."""
    block_lit: Ints
    """Flat elements that any thread of the block touches at this step, each once."""
    verb: str

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.array.shape))

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which cells are elements of the array: bool (rows, columns)."""
        cells = np.arange(self.rows * self.columns).reshape(self.rows, self.columns)
        return cells < self.size

    @cached_property
    def lanes_of(self) -> dict[int, list[int]]:
        """The lanes of the selected warp that touch an element, for each that is touched."""
        found: dict[int, list[int]] = {}
        for flat, lane in zip(self.warp_lit.tolist(), self.warp_lanes.tolist(), strict=True):
            found.setdefault(flat, []).append(lane)
        return found

    def bank_of(self, flat: int) -> int:
        """The bank of an element's first byte."""
        address = self.array.offset + flat * self.array.dtype.itemsize
        return address // WORD % BANKS


@dataclass(frozen=True)
class Word:
    """One 32-bit word asked of a bank, and the lanes that ask for it."""

    address: int
    lanes: tuple[int, ...]
    array: Array | SharedArray | None = None

    @property
    def name(self) -> str:
        """The element that the word lies in."""
        if self.array is None:
            return f"byte {self.address} of shared memory"
        flat = max(0, self.address - getattr(self.array, "offset", 0))
        return element_name(self.array, flat // self.array.dtype.itemsize)


@dataclass(frozen=True)
class BankScene:
    """One warp's access, sorted by bank. `live` is False where an earlier step's is shown."""

    live: bool
    step: int
    verb: str
    warp: int
    active: int
    words: tuple[tuple[Word, ...], ...]
    """For each of the 32 banks the distinct words asked of it."""
    wavefronts: int
    ideal: int
    conflicts: int
    """Wavefronts beyond those of an access in which no two lanes meet in a bank."""
    width: int
    """Bytes a lane."""
    passes: tuple[int, ...]
    """For each of the banks how often it goes for lanes that go together, at most."""
    fault: str = ""
    """What the lanes at fault do, in words; empty where there are none."""

    @cached_property
    def ways(self) -> int:
        """Of an n-way conflict n: the most passes that a bank takes for lanes that go together."""
        return max(self.passes, default=0)

    @cached_property
    def highest(self) -> int:
        """The most distinct words that one bank is asked for, by all lanes."""
        return max(map(len, self.words), default=0)

    @cached_property
    def asked(self) -> tuple[tuple[tuple[int, ...], ...], ...]:
        """For each of the banks the lanes that ask for each of its words."""
        return tuple(tuple([word.lanes for word in words]) for words in self.words)

    @cached_property
    def of_lane(self) -> dict[int, list[tuple[int, int]]]:
        """For each lane that takes part the bank of each of its words, and which there it is."""
        found: dict[int, list[tuple[int, int]]] = {}
        for bank, words in enumerate(self.asked):
            for number, lanes in enumerate(words):
                for lane in lanes:
                    found.setdefault(lane, []).append((bank, number))
        return found


@dataclass(frozen=True)
class SharedScene:
    """Everything drawn: the arrays, and the banks of the latest access (None before any)."""

    caption: str
    grids: tuple[SharedGrid, ...]
    banks: BankScene | None
    has_copies: bool = False
    """Whether asynchronous copies write to the arrays at any step."""


def shared_scene(trace: Trace, block_trace: BlockTrace, step: int, warp: int) -> SharedScene:
    """The scene at `step` for one warp of the block."""
    if not trace.shared_arrays:
        return SharedScene("This kernel uses no shared memory.", (), None)
    arrays = tuple(trace.shared_arrays)
    access = history_of(block_trace).last_access(step, "shared")
    now = access if access is not None and access.step == step else None
    states = block_trace.shared(step)
    copies = _copies(block_trace)
    copying = copies.at(block_trace, step)
    grids = tuple(_grid(a, states, copying, now, warp) for a in arrays if a.name in states)
    banks = _banks(access, warp, arrays, access.step == step) if access is not None else None
    return SharedScene(_caption(access, banks, grids), grids, banks, copies.has_any)


_copies = once_for_each(CopiesUnderWay)


def _grid(
    array: SharedArray,
    states: object,
    copying: NDArray[np.bool_],
    now: Access | None,
    warp: int,
) -> SharedGrid:
    state = states[array.name]  # type: ignore[index]
    columns = _columns(array)
    own = copying[array.offset : array.offset + array.nbytes]
    flying = np.zeros(state.written.shape, bool)
    if len(own):
        flying = own.reshape(-1, array.dtype.itemsize).any(axis=1).reshape(state.written.shape)
    mine = now is not None and now.array is not None and now.array.name == array.name
    lit, lanes, block = (np.empty(0, np.int64) for _ in range(3))
    if mine and now is not None:
        part, itemsize = now.warp(warp), array.dtype.itemsize
        lanes = np.repeat(np.flatnonzero(part.elements >= 0), elements_a_lane(part, itemsize))
        lit = all_elements(part, itemsize)
        block = np.unique(all_elements(now, itemsize))
    return SharedGrid(
        array=array,
        rows=-(-int(np.prod(array.shape)) // columns),
        columns=columns,
        values=_rows(state.values, columns),
        written=_rows(state.written & ~flying, columns),
        copying=_rows(flying, columns),
        writers=_rows(state.last_writer, columns),
        warp_lit=lit,
        warp_lanes=lanes,
        block_lit=block,
        verb=deed(now, 1) if mine and now is not None else "",
    )


def _columns(array: SharedArray) -> int:
    """The last axis; an array of one dimension has as many columns as fill the 32 banks."""
    if len(array.shape) > 1:
        return int(array.shape[-1])
    return min(int(array.shape[0]), max(1, BANKS * WORD // array.dtype.itemsize))


def _rows(values: NDArray[Any], columns: int) -> NDArray[Any]:
    """Values as rows; what the last row has too many is zero."""
    flat = np.asarray(values).reshape(-1)
    missing = -len(flat) % columns
    return (np.pad(flat, (0, missing)) if missing else flat).reshape(-1, columns)


def _addresses(array: Array | SharedArray | None) -> range:
    """Those of the words of a shared array; one of bytes may begin within a word."""
    if not isinstance(array, SharedArray):
        return range(0)
    return range(array.offset // WORD * WORD, array.offset + array.nbytes)


def _banks(access: Access, warp: int, arrays: tuple[SharedArray, ...], live: bool) -> BankScene:
    part, array = access.warp(warp), access.array
    wrong = at_fault(access, warp * WARP, WARP)
    asked: dict[int, list[int]] = {}
    lanes = np.flatnonzero(part.active)
    for lane, first in zip(lanes.tolist(), part.addresses[lanes].tolist(), strict=True):
        for address in range(first // WORD * WORD, first + access.width, WORD):
            asked.setdefault(address, []).append(lane)
    words: list[list[Word]] = [[] for _ in range(BANKS)]
    own = _addresses(array)
    for address in sorted(asked):  # an index may run out of an array into its neighbour
        owner = array if address in own else owner_of(arrays, address)
        words[address // WORD % BANKS].append(Word(address, tuple(asked[address]), owner))
    return BankScene(
        live=live,
        step=access.step,
        verb=deed(access, 1),
        warp=warp,
        active=int(np.count_nonzero(part.active)),
        words=tuple(map(tuple, words)),
        wavefronts=int(part.wavefronts),
        ideal=int(part.ideal_wavefronts),
        conflicts=int(part.conflicts),
        width=access.width,
        passes=tuple(np.asarray(part.ways).tolist()),
        fault=faults_in_words(access, wrong, "lane") if wrong else "",
    )


def _caption(access: Access | None, banks: BankScene | None, grids: tuple[SharedGrid, ...]) -> str:
    if access is None or banks is None or access.array is None:
        empty = all(not g.written.any() for g in grids)
        under_way = any(g.copying.any() for g in grids)
        if empty and under_way:
            return "Copies to shared memory are under way, and none has landed yet."
        if empty:
            return "Shared memory holds nothing yet."
        if under_way:
            return (
                "Copies have filled a part of shared memory, and others are under way; no lane "
                "has loaded or stored there."
            )
        return (
            "Bulk copies have filled shared memory; no lane has loaded or stored there. "
            "“By bank” shows what a wgmma reads."
        )
    before = "" if banks.live else "Last access: "
    idle = f"No lane of warp {banks.warp} takes part in this access"
    fault = f"; {banks.fault}" if banks.fault else ""
    if not banks.active:
        whole = f"warp {banks.warp}: {banks.fault}"
        return f"{before}{(whole if before else capital(whole)) if fault else idle}."
    what = accessed_name(access.warp(banks.warp), access.array)
    who = f"Warp {banks.warp} {banks.verb} {what}"
    if not banks.live:
        who = who[0].lower() + who[1:]
    return f"{before}{who}: {_verdict(banks)}{fault}."


def _verdict(banks: BankScene) -> str:
    if banks.conflicts:
        worst = [i for i, passes in enumerate(banks.passes) if passes == banks.ways]
        where = f"bank {worst[0]}" if len(worst) == 1 else f"banks {numbers_name(worst)}"
        cost = f"{plural(banks.wavefronts, 'wavefront')} where {banks.ideal} would do"
        if banks.verb == "updates":
            return f"one lane after another, {banks.ways} in {where}, {cost}"
        return f"{banks.ways}-way conflict in {where}, {cost}"
    if banks.wavefronts > 1:
        return (
            f"{plural(banks.wavefronts, 'wavefront')} for {banks.width} bytes a lane, no conflict"
        )
    words = [w for bank in banks.words for w in bank]
    shared = max((len(w.lanes) for w in words), default=0)
    if shared > 1 and banks.verb not in ("loads", "updates"):
        return f"{plural(len(words), 'word')}, up to {shared} lanes write into one, no conflict"
    if shared > 1:
        if len(words) == 1:
            return f"one word is broadcast to {shared} lanes, no conflict"
        return f"{len(words)} words, each broadcast to up to {shared} lanes, no conflict"
    return "no bank is asked for two words, no conflict"


def lane_label(lanes: tuple[int, ...]) -> str:
    """The lanes of a word in few characters: `5`, `0–15`, `16 lanes`."""
    text = numbers_name(lanes)
    return text if len(text) <= WARP // 4 else f"{len(lanes)} lanes"
