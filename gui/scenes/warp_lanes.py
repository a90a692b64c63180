"""What the warp view shows: one warp's lanes and the global memory that its access touches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from core.launch import WARP
from core.rules import global_memory
from core.rules.global_memory import LINE, SECTOR
from gui.scenes.block_history import history_of
from gui.scenes.elements_of_accesses import all_elements, elements_a_lane, numbers_of
from gui.scenes.illegal_accesses import at_fault, fault_of_thread, faults_in_words, faulty_name
from gui.scenes.names_of_elements_and_threads import elements_name, span_name, verb_of
from gui.scenes.numbers_and_sentences import numbers_name, percent, plural

if TYPE_CHECKING:
    from core.trace import Access, Array, BlockTrace, SharedArray


@dataclass(frozen=True)
class LineStrip:
    """One 128-byte line of memory: what is fetched of it, and which lanes use which cells."""

    address: int
    label: str
    fetched: tuple[bool, bool, bool, bool]
    lanes: tuple[tuple[int, ...], ...]
    """For each cell (an element, `WarpScene.cell` bytes) the lanes that touch it, in order."""
    elements: tuple[int, ...]
    """For each cell its flat element in the array, -1 outside the array."""
    touched: str
    """What is touched of it and by whom, for a short label: `5: A[5, 0]`, `0–15: A[0, 0..15]`."""


@dataclass(frozen=True)
class WarpSummary:
    """One warp of the block in the same access, for the overview."""

    warp: int
    sectors: int
    ideal: int


@dataclass(frozen=True)
class WarpScene:
    """Everything drawn for one warp. `live` is False where an earlier step's access is shown."""

    caption: str
    warp: int
    live: bool
    step: int
    verb: str
    array: str
    shape: tuple[int, ...]
    """The array's."""
    wide: int
    """Elements that each lane touches."""
    cell: int
    active: NDArray[np.bool_]
    faulty: NDArray[np.bool_]
    """Lanes whose access is illegal: bool (32,)."""
    faults: tuple[str, ...]
    """What each of them does, in words; empty for the others."""
    names: tuple[str, ...]
    elements: NDArray[np.int64]
    addresses: NDArray[np.int64]
    values: NDArray[np.generic]
    """A row a lane, a column for each element that it touches."""
    threads: NDArray[np.int32]
    lines: tuple[LineStrip, ...]
    sectors: int
    ideal: int
    bytes_used: int
    warps: tuple[WarpSummary, ...]

    three: bool = False
    """Whether the block has threads in z."""

    @property
    def bytes_fetched(self) -> int:
        """Sectors times 32 bytes."""
        return self.sectors * SECTOR

    @property
    def excess(self) -> bool:
        """Whether another order of lanes or data would take fewer sectors.

        This alone colours figures red or green, in every view. How many of the bytes fetched some
        lane uses is no verdict: a broadcast uses 4 of a sector's 32, and nothing takes fewer.
        """
        return self.sectors > self.ideal

    @property
    def use_text(self) -> str:
        """How much of what is fetched is used, and what that says."""
        share = f"{percent(self.bytes_used, self.bytes_fetched)} of the bytes used"
        whole = self.excess or self.bytes_used >= self.bytes_fetched
        return share if whole else f"{share}, no sector too many"

    @property
    def one_row_per_y(self) -> tuple[tuple[int, int, str], ...]:
        """Runs of lanes with the same threadIdx.y and z: (first lane, last lane, `y = 0`)."""
        runs: list[tuple[int, int, str]] = []
        flat = bool((self.threads[:, 1:] == 0).all())
        for lane, (_, y, z) in enumerate(self.threads.tolist()):
            text = "" if flat else f"y = {y}" + (f", z = {z}" if self.threads[:, 2].any() else "")
            if runs and runs[-1][2] == text:
                runs[-1] = (runs[-1][0], lane, text)
            else:
                runs.append((lane, lane, text))
        return tuple(runs)


def warp_scene(block_trace: BlockTrace, step: int, warp: int) -> WarpScene | None:
    """The scene at `step`: its access to global memory, or the latest one before it.

    None where the block has made no such access yet.
    """
    access = history_of(block_trace).last_access(step, "global")
    if access is None or access.array is None:
        return None
    part, first = access.warp(warp), warp * WARP
    cell = int(access.array.dtype.itemsize)
    wide = elements_a_lane(part, cell)
    threads = np.full((WARP, 3), -1, np.int32)
    present = block_trace.threads[warp * WARP : (warp + 1) * WARP]
    threads[: len(present)] = present
    live = access.step == step
    used = int(np.sum(part.bytes_used))
    return WarpScene(
        caption=_caption(access, warp, live),
        warp=warp,
        live=live,
        step=access.step,
        verb=verb_of(access.kind, 1),
        array=access.array.name,
        shape=access.array.shape,
        wide=wide,
        cell=cell,
        active=np.asarray(part.active),
        faulty=np.asarray(part.faulty),
        faults=tuple(
            fault_of_thread(access, first + lane) if part.faulty[lane] else ""
            for lane in range(WARP)
        ),
        names=tuple(
            faulty_name(access, first + lane)
            if part.faulty[lane]
            else _lane_name(access.array, element, wide)
            for lane, element in enumerate(part.elements.tolist())
        ),
        elements=np.asarray(part.elements),
        addresses=np.asarray(part.addresses),
        values=numbers_of(part, access.array),
        threads=threads[: len(present)],
        lines=_lines(access, warp, cell),
        sectors=part.n_sectors,
        ideal=part.ideal_sectors,
        bytes_used=used,
        warps=_summaries(access, block_trace.n_warps),
        three=bool(block_trace.threads[:, 2].any()),
    )


def is_scene_of(scene: WarpScene, block_trace: BlockTrace, step: int, warp: int) -> bool:
    """Whether a scene is that of a step of its record: most steps access no global memory."""
    access = history_of(block_trace).last_access(step, "global")
    at = -1 if access is None else access.step
    return (scene.step, scene.warp, scene.live) == (at, warp, at == step)


def why_empty(block_trace: BlockTrace | None, step: int, warp: int) -> str:
    """Says why there is no scene: an address outside every array has no sectors."""
    if block_trace is not None and block_trace.n_steps:
        access = history_of(block_trace).last_access(step, "global")
        if access is not None and access.fault:
            return _caption(access, warp, access.step == step)
        if any(at <= step and begun.kind == "load" for at, begun in block_trace.operations):
            return (
                "No lane has accessed global memory yet. The copy engine loads boxes: "
                "see Matrices and Pipeline."
            )
    return "No access to global memory yet."


def without_faults(scene: WarpScene) -> WarpScene:
    """The scene with lanes at fault as if they took no part: a question is about them."""
    none = np.zeros(WARP, bool)
    names = tuple("" if bad else n for n, bad in zip(scene.names, scene.faulty, strict=True))
    return replace(scene, faulty=none, faults=("",) * WARP, names=names)


def _lane_name(array: Array | SharedArray, first: int, count: int) -> str:
    return "" if first < 0 else span_name(array, first, first + count - 1)


def _caption(access: Access, warp: int, live: bool) -> str:
    """Faults first; then what is loaded, stored or updated, and what that costs."""
    lanes = int(np.count_nonzero(access.warp(warp).active))
    wrong = at_fault(access, warp * WARP, WARP)
    who = "" if lanes else f"Warp {warp}: "
    said = [f"{who}{faults_in_words(access, wrong, 'lane')}"] if wrong else []
    if lanes and access.array is not None:
        said.append(_cost(access, warp, lanes))
    elif not wrong:
        said.append(f"No lane of warp {warp} takes part in this access")
    sentence = "; ".join(said)
    if live:
        return f"{sentence}."
    starts_in_words = sentence.startswith("Warp")
    return f"Last access: {sentence[0].lower() + sentence[1:] if starts_in_words else sentence}."


def _cost(access: Access, warp: int, lanes: int) -> str:
    """`Warp 0 loads A[0..31, 4]: 32 sectors where 4 would do`."""
    part, array = access.warp(warp), access.array
    assert array is not None
    itemsize = array.dtype.itemsize
    name = elements_name(array, all_elements(part, itemsize))
    subject = f"Warp {warp} {verb_of(access.kind, 1)} {name}"
    if lanes < WARP:
        subject = f"{plural(lanes, 'lane')} of warp {warp} {verb_of(access.kind, lanes)} {name}"
    sectors = plural(part.n_sectors, "sector")
    if len(np.unique(part.elements[part.active])) == 1 and lanes > 1:
        if access.kind == "atomic":
            return f"{subject}, one lane after another: {sectors} visited in all"
        if access.kind == "store":
            return f"{subject}: one element, and the value of one lane stays"
        if elements_a_lane(part, itemsize) == 1:
            return f"{subject}: one element serves all {lanes} lanes, a broadcast"
    if part.n_sectors <= part.ideal_sectors:
        return f"{subject}: {sectors}, none in excess"
    return f"{subject}: {sectors} where {part.ideal_sectors} would do"


def _lines(access: Access, warp: int, cell: int) -> tuple[LineStrip, ...]:
    part, array = access.warp(warp), access.array
    assert array is not None
    base, size = int(getattr(array, "base", 0)), array.nbytes // cell
    fetched = set(np.asarray(part.sectors).tolist())
    touched: dict[int, list[int]] = {}
    for lane in np.flatnonzero(part.active):
        address = int(part.addresses[lane])
        for byte in range(address // cell * cell, address + access.width, cell):
            touched.setdefault(byte, []).append(int(lane))
    strips = []
    for line in np.asarray(part.lines).tolist():
        cells = range(line, line + LINE, cell)
        lanes = tuple(tuple(touched.get(address, ())) for address in cells)
        elements = [(address - base) // cell for address in cells]
        inside = [e if 0 <= e < size else -1 for e in elements]
        held = [e for e in inside if e >= 0]
        strips.append(
            LineStrip(
                address=line,
                label=span_name(array, held[0], held[-1]) if held else "",
                fetched=tuple(s in fetched for s in range(line, line + LINE, SECTOR)),  # type: ignore[arg-type]
                lanes=lanes,
                elements=tuple(inside),
                touched=_touched(array, inside, lanes),
            )
        )
    return tuple(strips)


def _touched(
    array: Array | SharedArray, elements: list[int], lanes: tuple[tuple[int, ...], ...]
) -> str:
    who = sorted({lane for cell in lanes for lane in cell})
    what = np.array([e for e, cell in zip(elements, lanes, strict=True) if cell], np.int64)
    return f"{numbers_name(who)}: {elements_name(array, what)}"


def _summaries(access: Access, n_warps: int) -> tuple[WarpSummary, ...]:
    lanes = np.count_nonzero(access.active.reshape(n_warps, WARP), axis=1)
    sectors = access.warp_sectors
    ideal = global_memory.ideal_sectors(sectors, lanes, access.width)
    figures = np.stack([np.arange(n_warps), sectors, ideal], axis=1)
    return tuple(WarpSummary(*row) for row in figures.tolist())
