"""Which arrays' contents decide where an access goes.

A kernel that takes places from memory (`x[index[i]]`, `for (j = row[i]; j < row[i + 1]; j++)`) goes
where its data sends it. Where these data are a guess, an access that leads astray, or two that meet
in one place, say nothing of the kernel: `is_left_open` tells such findings from its faults. Nor
does an assertion of what they hold (`assert(label[i] < labels)`), or a thread that waits for ever
for what they name (`while (ready[index[i]] == 0) { }`), and whoever waits for that thread.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from core.explain.value_flow import Aim, Flow, FlowReader, Load, Node, loads_in, values
from core.launch import WARP
from core.ptx import ast
from core.ptx.dataflow import results
from core.ptx.loops import back_edges, leaves_loop
from core.trace.access import SharedArray

if TYPE_CHECKING:
    from core.trace.access import Array
    from core.trace.block import BlockTrace
    from core.trace.finding import Finding
    from core.trace.trace import Trace

_OF_CONTENTS = (
    "out_of_bounds",
    "misaligned",
    "bad_call",
    "bad_tensor_map",
    "race",
    "assert",
    "livelock",
)
"""Kinds of findings that other contents of memory can rule out."""
_OF_WAITING = ("divergent_warp", "inactive_lane", "deadlock")
"""Kinds of findings that a thread which never comes can lead to: in its warp, or in its block."""

_known: WeakKeyDictionary[Trace, Mapping[Finding, set[str]]] = WeakKeyDictionary()
"""What the findings of a trace rest on: following a thread takes as long as it ran."""


def resting_on(trace: Trace, guessed: frozenset[str]) -> Mapping[Finding, tuple[str, ...]]:
    """The findings that contents of `guessed` arrays lead to, and which arrays these are."""
    if not guessed:
        return {}
    if trace not in _known:
        known = {
            finding: _Origins(trace, finding).of(finding)
            for finding in trace.findings
            if finding.kind in _OF_CONTENTS and finding.block in trace.recorded_blocks
        }
        known |= {f: {f.array} for f in trace.findings if f.is_in_front}
        known |= _behind_a_loop(trace, known)
        _known[trace] = {**known, **_awaited_in_vain(trace, known)}
    wanted = guessed | {name.partition(".")[0] for name in guessed}  # variables given by member
    found = {finding: tuple(sorted(names & wanted)) for finding, names in _known[trace].items()}
    return {finding: names for finding, names in found.items() if names}


def _awaited_in_vain(trace: Trace, known: Mapping[Finding, set[str]]) -> Mapping[Finding, set[str]]:
    """What hangs rest on in blocks whose copies did not begin: as their map is none, or astray."""
    copies = [finding for finding in known if _is_of_copy(trace, finding)]
    found: dict[Finding, set[str]] = {}
    for hang in trace.findings if copies else ():
        behind = [known[f] for f in copies if f.block == hang.block]
        if hang.kind == "hang" and behind and all(behind):
            found[hang] = set[str]().union(*behind)
    return found


def _behind_a_loop(trace: Trace, known: Mapping[Finding, set[str]]) -> Mapping[Finding, set[str]]:
    """What findings rest on whose threads wait for one that loops for ever."""
    loops = {f: _loop_of(trace, f) for f in known if f.kind == "livelock"}
    found: dict[Finding, set[str]] = {}
    for finding in trace.findings if loops else ():
        if finding.kind not in _OF_WAITING or finding.block not in trace.recorded_blocks:
            continue
        block = trace.block(finding.block)
        mates = range(block.n_threads)
        if finding.kind != "deadlock":
            first = finding.thread // WARP * WARP
            mates = mates[first : first + WARP]
        last = [int(block.executed(mate).pcs[-1]) for mate in mates]
        behind = [
            known[livelock]
            for livelock, (first, end) in loops.items()
            if any(first <= pc < end for pc in last)
        ]
        if behind and all(behind):
            found[finding] = set[str]().union(*behind)
    return found


def _loop_of(trace: Trace, livelock: Finding) -> tuple[int, int]:
    """Where the loop begins and ends that a thread goes round for ever."""
    executed = trace.block(livelock.block).executed(livelock.thread)
    jump = int(executed.pcs[executed.ticks <= livelock.tick][-1])
    loops = back_edges(trace.module, trace.module.function_at(jump))
    return next(((first, end) for first, end in loops if end == jump + 1), (jump, jump + 1))


def _is_of_copy(trace: Trace, finding: Finding) -> bool:
    """Whether a bulk copy did not begin because of what is found."""
    if finding.kind not in ("bad_tensor_map", "out_of_bounds", "misaligned"):
        return False
    if finding.block not in trace.recorded_blocks:
        return False
    executed = trace.block(finding.block).executed(finding.thread)
    pcs = executed.pcs[executed.ticks == finding.tick].tolist()
    return any({"async", "bulk"} <= {*trace.instructions[pc].modifiers} for pc in pcs)


def is_left_open(trace: Trace, finding: Finding) -> bool:
    """Whether other contents than those that a finding rests on may rule it out.

    Not of a race in an array that threads read: two that add to one bin do so with any data worth
    the name. But `out[place[i]] = x` is right where every place is another, and so is a sum that
    the thread adds to its own `x` there, or `out[pair[i].to] += x[pair[i].from]`. Nor where threads
    read other elements alone, as a table's keys beside its values. An atomic in another block's
    shared memory is there for what other blocks do to the same element.
    """
    if finding.kind != "race":
        return True
    if finding.block in trace.recorded_blocks:
        access = trace.block(finding.block).access(finding.step)
        if access is not None and (access.kind, access.space) == ("atomic", "cluster"):
            return False
    row = trace.counters.by_array.get(finding.array, {})
    reads = ("ld_requests", "atom_requests")
    if not any(int(count.value) for name, count in row.items() if name.endswith(reads)):
        return True
    if finding.block not in trace.recorded_blocks:
        return False
    if not _is_read(trace, finding):
        return True
    loaded, stored = _own_places(trace.block(finding.block), finding.array)
    first = {place: min(steps) for place, steps in stored.items()}
    if all(place in first and first[place] < min(steps) for place, steps in loaded.items()):
        return True
    return loaded.keys() <= stored.keys() and _Origins(trace, finding).moves(finding)


def _is_read(trace: Trace, race: Finding) -> bool:
    """Whether any thread reads the element that a race is about, as far as the record says."""
    array = next((a for a in trace.arrays if a.name == race.array), None)
    if array is None or len(race.index) != len(array.shape):
        return True
    flat = int(np.ravel_multi_index(race.index, array.shape))
    for block in map(trace.block, trace.recorded_blocks):
        accesses = map(block.access, block.touches(array.name, flat).tolist())
        if any(access is not None and access.kind != "store" for access in accesses):
            return True
    return False


def _own_places(
    block: BlockTrace, array: str
) -> tuple[Mapping[tuple[int, int], list[int]], Mapping[tuple[int, int], list[int]]]:
    """The steps at which threads load, and store, elements of an array, by both."""
    loaded: dict[tuple[int, int], list[int]] = {}
    stored: dict[tuple[int, int], list[int]] = {}
    for step in block.access_steps.tolist():
        access = block.access(step)
        if access is None or access.target != array:
            continue
        known = stored if access.kind == "store" else loaded
        threads = np.flatnonzero(access.active)
        for place in zip(threads.tolist(), access.elements[threads].tolist(), strict=True):
            known.setdefault(place, []).append(step)
    return loaded, stored


class _Origins:
    """Follows the values of one block's threads back to what memory held as the launch began."""

    def __init__(self, trace: Trace, finding: Finding) -> None:
        """The block is that in which a finding lies."""
        self._trace, self._block = trace, trace.block(finding.block)
        self._module, self._launch = trace.module, trace.workload.launch
        self._arrays: dict[str, Array | SharedArray] = {
            **{array.name: array for array in trace.arrays},
            **{array.name: array for array in trace.shared_arrays},
        }
        self._reader = FlowReader(trace, self._block, aims=True)
        self._flows: dict[int, Flow] = {}

    def of(self, finding: Finding) -> set[str]:
        """The arrays whose contents make the address at fault, or end the loop that counts it.

        Of an assertion those that its condition is made of. Of a livelock those that lead to what
        it waits for; that itself too, but not where it is 0, as flags and locks are at first. Of a
        tensor map the one it lies in; but none where the launch passes such a map, which did not
        get to where the copy looks for it.
        """
        if finding.kind == "bad_tensor_map":
            return {finding.array} - {""} - self._maps_passed()
        if finding.kind == "assert":
            test = self._reader.of(finding.thread).last_test
            return self._beginnings([test] if test is not None else [])
        if finding.kind == "livelock":
            loop = _loop_of(self._trace, finding)
            tests = self._reader.of(finding.thread).tests.items()
            awaited = loads_in(
                *(node for pc, node in tests if leaves_loop(self._module, pc, *loop))
            )
            places = [load.place for load in awaited if load.place is not None]
            return self._beginnings([*places, *(load for load in awaited if load.value != 0)])
        if finding.kind == "bad_call":
            aim = self._reader.of(finding.thread).last_call
        else:
            aim = self._reader.of(finding.thread, finding.tick).aim
        return self._beginnings([aim.address, *self._bounds(aim)]) if aim is not None else set()

    def _maps_passed(self) -> set[str]:
        """The arguments that are tensor maps of as many dimensions as all copies here want."""
        copies = [
            i.modifiers
            for i in self._module.instructions
            if i.opcode == "cp" and "tensor" in i.modifiers and "prefetch" not in i.modifiers
        ]
        return {
            a.name
            for a in self._launch.arrays
            if a.map is not None and all(f"{len(a.map.sizes)}d" in wanted for wanted in copies)
        }

    def moves(self, finding: Finding) -> bool:
        """Whether one table leads a race's thread both to what it adds and to where.

        Such as a list of pairs, from and to: it may name each place once.
        """
        stores = [s for s in self._flow(finding.thread).stores if s.target.array == finding.array]
        added = [[x for x in loads_in(s.node) if x.array != finding.array] for s in stores]
        table = self.of(finding)
        return bool(stores) and all(
            any(table & self._beginnings([x.place]) for x in loads if x.place is not None)
            for loads in added
        )

    def _beginnings(self, nodes: Iterable[Node]) -> set[str]:
        """The arrays that held, as the launch began, what nodes are made of.

        What a faulty load gives follows from where it goes.
        """
        found: set[str] = set()
        pending = loads_in(*nodes)
        seen: set[tuple[str, tuple[int, ...], int]] = set()
        while pending:
            load = pending.pop()
            key = load.array, load.index, load.step
            if key in seen:
                continue
            seen.add(key)
            written = load.place if load.fault else self._written(load)
            if written is None:
                found.add(self._copied_from(load) or load.array)
            else:
                pending += loads_in(written)
        return found

    def _written(self, load: Load) -> Node | None:
        """What a thread of the block had stored there last; None if none had before."""
        for step, writers in self._writes(load):
            for store in self._flow(int(writers[-1])).stores if len(writers) else ():
                if store.step == step and store.target.index == load.index:
                    return store.node
        return None

    def _copied_from(self, load: Load) -> str:
        """The array from which a bulk copy brought what is loaded from shared memory; "" for none.

        Of a copy that was multicast, in the block that began it.
        """
        array = self._arrays.get(load.array)
        if not isinstance(array, SharedArray) or not load.index:
            return ""
        flat = int(np.ravel_multi_index(load.index, array.shape))
        place = self._block.place * self._block.shared_stride
        place += array.offset + flat * array.dtype.itemsize
        for step, event in reversed(self._block.operations):
            for span in event.writes if step <= load.step else ():
                there = (span.place <= place) & (place < span.place + span.width)
                if span.region.space == "shared" and event.reads and there.any():
                    return event.reads[0].region.name
        return ""

    def _writes(self, load: Load) -> Iterator[tuple[int, NDArray[np.intp]]]:
        """Stores to what is loaded before it is, the last one first: steps, and whose they are.

        An atomic that finds what is loaded later has changed nothing, as a swap that fails.
        """
        array = self._arrays.get(load.array)
        if array is None:  # a variable of the module
            steps = [s for s, a in self._reader.accesses.items() if a.target == load.array]
        elif not load.index:
            return
        else:
            flat = int(np.ravel_multi_index(load.index, array.shape))
            steps = self._block.touches(load.array, flat).tolist()
        for step in sorted((s for s in steps if s < load.step), reverse=True):
            access = self._reader.accesses[step]
            if access.kind == "load":
                continue
            takes_part = access.active
            if access.kind == "atomic" and access.values.ndim == 1:
                takes_part = takes_part & (access.values != load.value)
            if array is not None:
                count = max(1, access.width // array.dtype.itemsize)
                behind = flat - access.elements
                takes_part = takes_part & (behind >= 0) & (behind < count)
            yield step, np.flatnonzero(takes_part)

    def _flow(self, thread: int) -> Flow:
        if thread not in self._flows:
            self._flows[thread] = self._reader.of(thread)
        return self._flows[thread]

    def _bounds(self, aim: Aim) -> Iterator[Node]:
        """What ends the loops, around the access, whose counters its address is made of."""
        for first, end in back_edges(self._module, self._module.function_at(aim.pc)):
            if first <= aim.pc < end and self._counts(aim.pc, first, end):
                yield from (
                    n for pc, n in aim.tests.items() if leaves_loop(self._module, pc, first, end)
                )

    def _counts(self, pc: int, first: int, end: int) -> bool:
        """Whether the loop makes a register of the address out of what it held before."""
        sources: dict[str, set[str]] = {}
        for instruction in self._module.instructions[first:end]:
            for register in results(instruction):
                sources.setdefault(register, set()).update(values(instruction))
        addresses = (
            o for o in self._module.instructions[pc].operands if isinstance(o, ast.Address)
        )
        return any(
            register in _closure(sources[register], sources)
            for register in _closure(ast.registers(*addresses), sources)
            if register in sources
        )


def _closure(names: Iterable[str], sources: Mapping[str, Collection[str]]) -> set[str]:
    """Registers, and all that they are made of."""
    pending, found = list(names), set[str]()
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending += sources.get(name, ())
    return found
