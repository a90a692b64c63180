"""Counts of a whole launch: by memory instruction, summed up by array, source line and in total.

The names are those of `COUNTERS`; each is defined by the Nsight Compute metric beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from core.emulator.events import AccessEvent, BarrierEvent, FaultEvent
from core.emulator.groups import Geometry, warp_rows
from core.ptx.arithmetic.operation import immediate
from core.rules import atomics, global_memory, shared_memory
from core.rules.issue import Issue, IssueTable

COUNTERS: Mapping[str, str] = {
    "global_ld_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "global_ld_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "global_st_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "global_st_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "shared_ld_requests": "smsp__sass_inst_executed_op_shared_ld.sum",
    "shared_st_requests": "smsp__sass_inst_executed_op_shared_st.sum",
    "shared_ld_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared_st_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "shared_ld_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "shared_st_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "global_atom_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
    "global_atom_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
    "global_red_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
    "global_red_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
    "shared_atom_requests": "smsp__sass_inst_executed_op_shared_atom.sum",
    "shared_atom_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum",
    "shared_atom_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_atom.sum",
}

WAYS: Mapping[str, str] = {
    "ld": "load",
    "st": "store",
    "atom": "atomic",
    "red": "reduction",
}
"""Ways to access memory, as the counters' names have them, and in words.

A reduction is an atomic whose old value nobody asks for.
"""
UNITS: Mapping[str, str] = {"global": "sectors", "shared": "wavefronts"}
"""What requests to a space of memory cost."""


@dataclass(frozen=True)
class Count:
    """A counter's value, and the least it could be for the same data asked for."""

    value: int = 0
    ideal: int = 0

    @property
    def excessive(self) -> int:
        """value - ideal."""
        return self.value - self.ideal

    def __add__(self, other: Count) -> Count:
        return Count(self.value + other.value, self.ideal + other.ideal)


Counts = Mapping[str, Count]


@dataclass(frozen=True)
class Counters:
    """All counters of a launch. `by_line` is keyed by source line, `by_array` by array name."""

    totals: Counts
    by_array: Mapping[str, Counts]
    by_line: Mapping[int, Counts]


@dataclass
class Tally:
    """Running sums for each instruction and array: (requests, units, ideal units, conflicts).

    Units are those of `UNITS`. What a function of a header does counts for the instruction that
    calls it.
    """

    sums: dict[tuple[int, str, str], NDArray[np.int64]] = field(default_factory=dict)

    def add(self, pc: int, array: str, name: str, values: NDArray[np.int64]) -> None:
        """Adds to the sums of an instruction; `name` is such as "global_ld"."""
        key = (pc, array, name)
        if key in self.sums:
            self.sums[key] += values
        else:
            self.sums[key] = values.copy()

    def counters(self, line_of: Callable[[int], int]) -> Counters:
        """The sums as counters; `line_of` gives the source line of a pc."""
        arrays: dict[str, list[Counts]] = {}
        lines: dict[int, list[Counts]] = {}
        for (pc, array, name), values in self.sums.items():
            counts = _counts(name, *(int(v) for v in values))
            arrays.setdefault(array, []).append(counts)
            lines.setdefault(line_of(pc), []).append(counts)
        return Counters(
            _total(c for group in arrays.values() for c in group),
            {array: _total(group) for array, group in arrays.items()},
            {line: _total(group) for line, group in sorted(lines.items())},
        )


def _counts(name: str, requests: int, units: int, ideal: int, conflicts: int) -> Counts:
    if name.startswith("global"):
        return {
            f"{name}_requests": Count(requests, requests),
            f"{name}_sectors": Count(units, ideal),
        }
    return {
        f"{name}_requests": Count(requests, requests),
        f"{name}_wavefronts": Count(units, ideal),
        f"{name}_conflicts": Count(conflicts, 0),
    }


def _total(parts: Iterable[Counts]) -> Counts:
    total = dict.fromkeys(COUNTERS, Count())
    for part in parts:
        for name, count in part.items():
            total[name] = total[name] + count
    return total


# Counts every global and shared access that a machine makes, by the rules of this package.


SharedNamer = Callable[[int], str]
_SHORT = {"load": "ld", "store": "st"}


@dataclass(frozen=True)
class _Rows:
    """One access, warp by warp: addresses, who takes part (None: all) and how many."""

    address: NDArray[np.int64]
    active: NDArray[np.bool_] | None
    lanes: NDArray[np.int64]

    @property
    def mask(self) -> NDArray[np.bool_]:
        return np.ones(self.address.shape, bool) if self.active is None else self.active


@dataclass(frozen=True)
class _Repeated:
    """What an access counts; `lane` is the first that takes part.

    Moved by whole sectors, or by whole words of shared memory, it counts the same: in shared memory
    all lanes then change their banks alike. Not so atomics in global memory.
    """

    array: str
    name: str
    sums: NDArray[np.int64]
    lane: int


class CountingObserver:
    """Counts every global and shared access of one machine into a tally."""

    def __init__(
        self, tally: Tally, geometry: Geometry, shared_name: SharedNamer, issues: IssueTable
    ) -> None:
        """`shared_name` gives the name of the array at an offset in shared memory."""
        self.tally, self.geometry, self._shared_name = tally, geometry, shared_name
        self._issues = issues
        # By pc: what a `cp.async` has loaded; it counts when it stores.
        self._copied: dict[int, tuple[AccessEvent, _Rows]] = {}

    def on_access(self, event: AccessEvent) -> None:
        """Counts one access; a repetition counts as the first of its kind did."""
        shared = event.region.space == "shared"
        pattern = event.pattern
        if (
            pattern is None
            or self._issues[event.pc].is_copy
            or (event.kind == "atomic" and not shared)
        ):
            self._count(event)
            return
        grain = shared_memory.WORD if shared else global_memory.SECTOR
        part = event.shift % grain  # all of the shift that matters
        if part not in pattern.counted:
            self._last: _Repeated | None = None
            self._count(event)
            pattern.counted[part] = self._last
        elif (known := pattern.counted[part]) is not None:
            array = known.array
            if event.region.space == "shared":
                lane = known.lane if event.address.size > 1 else 0
                array = self._shared_name(int(event.address[lane]) - event.region.base)
            self.tally.add(_site(event), array, known.name, known.sums)

    def _count(self, event: AccessEvent) -> None:
        if event.pc in self._issues.joined:
            return  # another load brings its word along
        issue = self._issues[event.pc]
        space = event.region.space
        if space == "const" and issue.generic:
            space = "global"  # a generic address reads constants where they lie: in global memory
        if space not in ("global", "shared"):
            return
        address = np.broadcast_to(event.address, self.geometry.lanes)
        rows = warp_rows(address, self.geometry, 0)
        active = self._active(event)
        lanes = np.full(len(rows), 32) if active is None else active.sum(axis=1)
        if space == "global":
            found = _Rows(rows, active, lanes)
            (self._global_atomic if event.kind == "atomic" else self._global)(event, issue, found)
        else:
            found = _Rows(rows - event.region.base, active, lanes)
            (self._shared_atomic if event.kind == "atomic" else self._shared)(event, issue, found)

    def _global(self, event: AccessEvent, issue: Issue, rows: _Rows) -> None:
        if issue.is_copy:
            self._collect(event, rows)
            return
        units = global_memory.sectors(rows.address, rows.active)
        ideal = global_memory.ideal_sectors(units, rows.lanes, event.width)
        self._add(event, event.region.name, f"global_{_SHORT[event.kind]}", rows, units, ideal)

    def _collect(self, event: AccessEvent, rows: _Rows) -> None:
        """Adds lanes to a copy. Those that copy less than the whole load byte by byte."""
        if event.pc in self._copied:
            before, known = self._copied[event.pc]
            active = known.mask | rows.mask
            address = np.where(known.mask, known.address, rows.address)
            event, rows = before, _Rows(address, active, active.sum(axis=1))
        self._copied[event.pc] = event, rows

    def _copy(self, pc: int, issue: Issue, target: _Rows) -> None:
        """Counts what a copy loaded; `target` is where it stores."""
        if pc not in self._copied:
            return  # it only fills with zeros
        event, rows = self._copied.pop(pc)
        past = issue.passes_l1
        units = global_memory.copied_sectors(rows.address, target.address, rows.mask, past_l1=past)
        width = immediate(issue.instruction.operands[2]) or event.width
        ideal = global_memory.ideal_sectors(units, rows.lanes, width)
        self._add(event, event.region.name, "global_ld", rows, units, ideal)

    def _global_atomic(self, event: AccessEvent, issue: Issue, rows: _Rows) -> None:
        units = atomics.sectors(
            rows.address, rows.mask, event.width, exchange_if_equal=issue.is_exchange_if_equal
        )
        ideal = global_memory.ideal_sectors(units, rows.lanes, event.width)
        kind = "red" if issue.is_reduction else "atom"
        self._add(event, event.region.name, f"global_{kind}", rows, units, ideal)
        if issue.generic:
            self._add_pass(event, event.region.name, issue, rows)

    def _shared(self, event: AccessEvent, issue: Issue, rows: _Rows) -> None:
        if issue.is_copy:
            self._copy(event.pc, issue, rows)
        wide = self._issues.wide.get(event.pc)
        width = event.width if wide is None else wide.width
        address = rows.address if wide is None else rows.address + wide.shift
        units = shared_memory.wavefronts(address, rows.active, width, issue.sharing)
        ideal = shared_memory.ideal_wavefronts(units, rows.lanes, width)
        free = shared_memory.conflict_free_wavefronts(address, rows.active, width, issue.sharing)
        name = f"shared_{_SHORT[event.kind]}"
        self._add(event, self._array(rows), name, rows, units, ideal, units - free)

    def _shared_atomic(self, event: AccessEvent, issue: Issue, rows: _Rows) -> None:
        if issue.is_loop:
            self._shared_loop(event, issue, rows)
            return
        units = shared_memory.wavefronts(rows.address, rows.active, event.width, issue.sharing)
        free = shared_memory.conflict_free_wavefronts(
            rows.address, rows.active, event.width, issue.sharing
        )
        taken = units * (2 if issue.is_exchange_if_equal else 1)
        ideal = shared_memory.ideal_wavefronts(taken, rows.lanes, event.width)
        self._add(event, self._array(rows), "shared_atom", rows, taken, ideal, units - free)

    def _shared_loop(self, event: AccessEvent, issue: Issue, rows: _Rows) -> None:
        contest = self._contest(event, issue)
        found = atomics.loop(rows.address, rows.mask, event.width, contest)
        array, loads = self._array(rows), found.loads
        tried = np.array([found.rounds, found.wavefronts, found.rounds, 0], np.int64)
        self.tally.add(_site(event), array, "shared_atom", tried)
        loaded = [loads, found.load_wavefronts, loads, found.load_conflicts]
        self.tally.add(_site(event), array, "shared_ld", np.array(loaded, np.int64))
        if issue.generic:
            self._add_pass(event, array, issue, rows)
            if contest is not None:  # it is itself an instruction, whatever follows
                itself = np.array([np.count_nonzero(rows.lanes), 0, 0, 0], np.int64)
                self.tally.add(_site(event), array, "shared_atom", itself)

    def _contest(self, event: AccessEvent, issue: Issue) -> atomics.Contest | None:
        """Who would change a cell, of a minimum or maximum of 8-byte integers."""
        better = issue.better
        if better is None or not event.operands:
            return None
        given = [
            np.broadcast_to(x, self.geometry.lanes) for x in (event.operands[0], *event.values)
        ]
        operand, before = (warp_rows(values, self.geometry, 0) for values in given)
        return atomics.Contest(operand.astype(before.dtype), before, better)

    def _add_pass(self, event: AccessEvent, array: str, issue: Issue, rows: _Rows) -> None:
        """A generic atomic passes through shared memory's data stage, wherever it goes."""
        free = shared_memory.conflict_free_wavefronts(rows.address, rows.active, event.width)
        passes = int(free.sum()) * (2 if issue.is_exchange_if_equal else 1)
        sums = np.array([0, passes, passes, 0], np.int64)
        self.tally.add(_site(event), array, "shared_atom", sums)

    def _add(
        self,
        event: AccessEvent,
        array: str,
        name: str,
        rows: _Rows,
        units: NDArray[np.int64],
        ideal: NDArray[np.int64],
        conflicts: NDArray[np.int64] | None = None,
    ) -> None:
        requests = np.count_nonzero(rows.lanes)
        beyond = 0 if conflicts is None else int(conflicts.sum())
        sums = np.array([requests, units.sum(), ideal.sum(), beyond], np.int64)
        self.tally.add(_site(event), array, name, sums)
        lane = 0 if event.mask is None else int(event.mask.argmax())
        self._last = _Repeated(array, name, sums, lane)

    def _array(self, rows: _Rows) -> str:
        return self._shared_name(int(rows.address[rows.mask][0]))

    def _active(self, event: AccessEvent) -> NDArray[np.bool_] | None:
        if event.mask is None and self.geometry.threads % 32 == 0:
            return None
        mask = np.ones(self.geometry.lanes, bool) if event.mask is None else event.mask
        return warp_rows(mask, self.geometry, 0)

    def on_barrier(self, event: BarrierEvent) -> None:
        """Barriers count nothing here."""

    def on_fault(self, event: FaultEvent) -> None:
        """An access that did not happen is not counted."""


def _site(event: AccessEvent) -> int:
    """The instruction that an access counts for: its own, or the call of a header's function."""
    return event.site if event.site >= 0 else event.pc
