"""How often the block has loaded one element, and why so often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.emulator.events import Ints
from core.explain.explanations import Explanation, Section, columns, lanes_name
from core.launch import WARP
from core.rules.counters import METRICS
from core.rules.global_memory import SECTOR
from gui.scenes.block_history import History, history_of
from gui.scenes.matrix_product import product_of
from gui.scenes.names_of_elements_and_threads import block_name, element_name
from gui.scenes.numbers_and_sentences import grouped, plural

if TYPE_CHECKING:
    from core.trace import Array, BlockTrace, Trace


@dataclass(frozen=True)
class Fetched:
    """How often the block has loaded one element of a global array so far."""

    array: str
    index: tuple[int, ...]


MOST_ROWS = 24  # requests that are listed one by one


def explain_fetches(trace: Trace, block: BlockTrace, topic: Fetched, step: int) -> Explanation:
    """Which lanes loaded the element in which steps, up to `step`, and why so many."""
    array = next(a for a in trace.arrays if a.name == topic.array)
    flat = int(np.ravel_multi_index(topic.index, array.shape))
    loads = history_of(block).loads_of(array.name, flat, step)
    count = sum(len(threads) for _, threads in loads)
    name = element_name(array, flat)

    title = f"{name}: loaded {times(count)} by block {block_name(block)}, up to step {step}"
    sections = [
        Section(
            f"Times loaded = {grouped(count)}",
            "Lanes of this block that have loaded it from global memory so far, a lane that loads "
            "it again counted again."
            if count
            else "No lane of this block has loaded it so far.",
            tuple(_requests(block, loads)),
        ),
        *_reasons(trace, block, array, topic, flat, loads, step),
        _place(array, topic, flat),
        *([_sharing(loads)] if loads else []),
    ]
    return Explanation(title, tuple(sections))


def times(count: int) -> str:
    """How often in words: once, 16 times."""
    return {0: "0 times", 1: "once"}.get(count, f"{grouped(count)} times")


def _requests(block: BlockTrace, loads: list[tuple[int, Ints]]) -> list[str]:
    """A line for each request (one warp in one step), and their sum."""
    rows: list[tuple[str, ...]] = []
    costs: list[int] = []
    for step, threads in loads:
        for warp in np.unique(threads // WARP).tolist():
            lanes = (threads[threads // WARP == warp] % WARP).tolist()
            phase = int(block.phase[step])
            costs.append(len(lanes))
            if len(rows) < MOST_ROWS:
                rows.append(
                    (
                        f"step {step}",
                        f"line {int(block.line[step])}",
                        f"phase {phase}" if phase >= 0 else "",
                        f"warp {warp}",
                        lanes_name(lanes),
                        f"+ {len(lanes)}",
                    )
                )
    lines = columns(rows)
    if len(costs) > len(rows):
        rest = sum(costs[len(rows) :])
        lines.append(f"and {plural(len(costs) - len(rows), 'request')} more: + {grouped(rest)}")
    if len(costs) > 1:
        lines.append(f"= {grouped(sum(costs))}, in {plural(len(costs), 'request')}")
    return lines


def _reasons(
    trace: Trace,
    block: BlockTrace,
    array: Array,
    topic: Fetched,
    flat: int,
    loads: list[tuple[int, Ints]],
    step: int,
) -> list[Section]:
    """How many threads there are behind the count, and how many the product needs."""
    if not loads:
        return []
    threads, often = np.unique(np.concatenate([t for _, t in loads]), return_counts=True)
    count = int(often.sum())
    least, most = int(often.min()), int(often.max())
    each = times(most) if least == most else f"{least} to {most} times"
    each += " each" if len(threads) > 1 and least == most else ""
    said = [f"{plural(len(threads), 'thread')} loaded it, {each}."]
    history = history_of(block)
    needed, where = _needed(trace, history, array, topic)
    lines: list[str] = []
    if needed:
        said.append(f"The block computes {plural(needed, 'element')} {where}, and each needs it.")
        whole, requests, all_copies = _in_all(block, array.name, flat)
        if whole >= needed:
            rest = f", {grouped(count)} of {times(whole)} so far" if count < whole else ""
            said.append(f"Each of them has its own load of it{rest}.")
            if requests < whole:
                said.append(
                    f"Lanes of one request share one fetch of it: {plural(whole, 'load')} in "
                    f"{plural(requests, 'request')}."
                )
        elif all_copies:
            said.append(_tiled(count, history.copies_read(array.name, flat, step)))
        else:
            said.append("What is loaded serves several of them, from registers or shared memory.")
        lines = [f"{needed} uses / {plural(whole, 'load')} = {needed / whole:.4g} for each load"]
        lines += [f"so far {grouped(count)} of {plural(whole, 'load')}"] if count < whole else []
    return [Section("Why that many", " ".join(said), tuple(lines))]


def _tiled(count: int, copies: int) -> str:
    """What has become of an element that goes through shared memory."""
    if not copies:
        return (
            f"Loaded {times(count)}, it is put into shared memory; no lane has loaded it from "
            "there yet."
        )
    return (
        f"Loaded {times(count)}, it was put into shared memory, and lanes have loaded it "
        f"from there {times(copies)} so far: that is what the tile saves."
    )


def _in_all(block: BlockTrace, name: str, flat: int) -> tuple[int, int, int]:
    """By how many lanes an element is loaded in the block's whole record, in how many requests.

    And by how many lanes its copies are.
    """
    history = history_of(block)
    loads = history.loads_of(name, flat, block.n_steps)
    copies = history.copies_read(name, flat, block.n_steps)
    return sum(len(who) for _, who in loads), _requests_of(loads), copies


def _requests_of(loads: list[tuple[int, Ints]]) -> int:
    return sum(len(np.unique(threads // WARP)) for _, threads in loads)


def _needed(trace: Trace, history: History, array: Array, topic: Fetched) -> tuple[int, str]:
    """Elements of a product's result that the block computes from the element, and where."""
    layout = product_of(trace)
    if layout is None or layout.left == layout.top or len(topic.index) != 2:
        return 0, ""
    result = next(a for a in trace.arrays if a.name == layout.result)
    stored = history.stored(layout.result)[0]
    if not len(stored) or array.name not in (layout.left, layout.top):
        return 0, ""
    rows, places = np.unravel_index(stored, result.shape)
    if array.name == layout.left:
        row = topic.index[0]
        return int(np.count_nonzero(rows == row)), f"in row {row} of {result.name}"
    column = topic.index[1]
    return int(np.count_nonzero(places == column)), f"in column {column} of {result.name}"


def _place(array: Array, topic: Fetched, flat: int) -> Section:
    """The element's address and sector, with the values put in."""
    size = int(array.dtype.itemsize)
    address = array.base + flat * size
    inner = [f"{i} × {array.shape[d + 1]}" for d, i in enumerate(topic.index[:-1])]
    offset = " + ".join([*inner, str(topic.index[-1])]) if len(topic.index) <= 2 else str(flat)
    return Section(
        "Address",
        f"{array.name} begins at 0x{array.base:x}; an element has {plural(size, 'byte')}.",
        (
            f"0x{array.base:x} + ({offset}) × {size} = 0x{address:x}",
            f"sector: 0x{address:x} // {SECTOR} = 0x{address // SECTOR:x}, "
            f"bytes {address % SECTOR} to {address % SECTOR + size - 1} of its {SECTOR}",
        ),
    )


def _sharing(loads: list[tuple[int, Ints]]) -> Section:
    requests = _requests_of(loads)
    names = columns([(what, METRICS[f"global_ld_{what}"]) for what in ("requests", "sectors")])
    return Section(
        "In Nsight Compute",
        "It counts requests and sectors, not loads of one element. Lanes of one request that load "
        f"the same element share its sector: these loads make {plural(requests, 'request')}, and "
        "each request fetches the element's sector once.",
        tuple(names),
    )
