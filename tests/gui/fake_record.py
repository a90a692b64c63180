"""The parts of a trace made by hand: records with the interface of `core.trace`, and no more."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from core.launch import Dim3
from core.trace import EventKind
from core.trace.phases import FilledAhead
from core.trace.running_sums import SoFar

AS_WRITTEN = SimpleNamespace(kind="as_written")
"""In place of a build."""


@dataclass(frozen=True)
class Array:
    name: str
    base: int
    shape: tuple[int, ...]
    dtype: np.dtype
    role: str = "input"

    @property
    def nbytes(self) -> int:
        return int(np.prod(self.shape)) * self.dtype.itemsize

    def index(self, flat: int) -> tuple[int, ...]:
        return tuple(int(i) for i in np.unravel_index(flat, self.shape))


@dataclass(frozen=True)
class SharedArray:
    name: str
    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def nbytes(self) -> int:
        return int(np.prod(self.shape)) * self.dtype.itemsize

    def index(self, flat: int) -> tuple[int, ...]:
        return tuple(int(i) for i in np.unravel_index(flat, self.shape))


@dataclass(frozen=True)
class SharedState:
    values: np.ndarray
    written: np.ndarray
    last_writer: np.ndarray


@dataclass(frozen=True)
class Variable:
    name: str
    type: str
    value: float | int | None
    changed: bool


@dataclass(frozen=True)
class VariableRow:
    name: str
    type: str
    values: list[float | int | None]


@dataclass(frozen=True)
class Phase:
    index: int
    first: int
    last: int


@dataclass(frozen=True)
class Count:
    value: int
    ideal: int

    @property
    def excessive(self) -> int:
        return self.value - self.ideal


@dataclass(frozen=True)
class Counters:
    totals: dict[str, Count]
    by_array: dict[str, dict[str, Count]]
    by_line: dict[int, dict[str, Count]]


@dataclass(frozen=True)
class Finding:
    kind: str
    message: str
    block: int
    thread: int
    line: int
    step: int = -1
    array: str = ""
    index: tuple[int, ...] = ()


class WarpAccess:
    """One warp's share of an access."""

    def __init__(self, access: Access, warp: int) -> None:
        cut = slice(warp * 32, warp * 32 + 32)
        self.addresses, self.active = access.addresses[cut], access.active[cut]
        self.elements, self.values = access.elements[cut], access.values[cut]
        self.faulty = access.faulty[cut]
        live = self.addresses[self.active]
        all_bytes = np.unique((live[:, None] + np.arange(access.width)).ravel())
        self.sectors, used = np.unique(all_bytes // 32 * 32, return_counts=True)
        self.bytes_used = used.astype(np.uint32)
        self.lines = np.unique(all_bytes // 128 * 128)
        self.n_sectors = len(self.sectors)
        self.ideal_sectors = -(-len(all_bytes) // 32)
        self.banks = np.where(self.active, self.addresses // 4 % 32, -1).astype(np.int32)
        words = np.unique(live // 4)
        self.ways = np.bincount(words % 32, minlength=32).astype(np.int32)
        self.wavefronts = int(self.ways.max())
        self.ideal_wavefronts = 1 if len(live) else 0
        self.conflicts = self.wavefronts - self.ideal_wavefronts


@dataclass(frozen=True)
class Access:
    step: int
    kind: str
    space: str
    width: int
    line: int
    array: Array | SharedArray
    addresses: np.ndarray
    active: np.ndarray
    elements: np.ndarray
    values: np.ndarray

    fault: str = ""

    @property
    def faulty(self) -> np.ndarray:
        return np.zeros(self.active.shape, bool)

    is_copy = False

    def wanted(self, thread: int) -> int | None:
        return None

    def element(self, thread: int) -> tuple[int, ...] | None:
        flat = int(self.elements[thread])
        return self.array.index(flat) if flat >= 0 else None

    @property
    def target(self) -> str:
        return self.array.name if self.array is not None else f"{self.space} memory"

    @property
    def warp_sectors(self) -> np.ndarray:
        return np.array([self.warp(w).n_sectors for w in range(len(self.active) // 32)])

    def warp(self, w: int) -> WarpAccess:
        return WarpAccess(self, w)


@dataclass
class BlockTrace:
    """One block: lists filled by `_record`, read through the interface."""

    block: int
    index: Dim3
    n_threads: int
    threads: np.ndarray
    kind: Any = field(default_factory=list)
    line: Any = field(default_factory=list)
    phase: Any = field(default_factory=list)
    accesses: dict[int, Access] = field(default_factory=dict)
    states: list[dict[str, Any]] = field(default_factory=list)
    shared_states: list[dict[str, SharedState]] = field(default_factory=list)

    operations = ()
    instructions = ()

    def spaces_of(self, line: int) -> frozenset[str]:
        return frozenset()

    @property
    def grid(self) -> Dim3:
        return Dim3(1)

    @property
    def illegal_steps(self) -> np.ndarray:
        return np.empty(0, np.int64)

    @property
    def n_warps(self) -> int:
        return -(-self.n_threads // 32)

    @property
    def n_steps(self) -> int:
        return len(self.kind)

    @property
    def pc(self) -> np.ndarray:
        return np.asarray(self.line) * 4

    def active(self, step: int) -> np.ndarray:
        return np.arange(self.n_warps * 32) < self.n_threads

    def access(self, step: int) -> Access | None:
        return self.accesses.get(step)

    def shared(self, step: int) -> dict[str, SharedState]:
        return self.shared_states[step]

    def variable_table(self, step: int, warp: int) -> list[VariableRow]:
        rows = []
        for name, (type_, values) in self.states[step].items():
            cut = np.asarray(values)[warp * 32 : warp * 32 + 32]
            rows.append(VariableRow(name, type_, [v.item() for v in cut]))
        return rows

    def variables(self, step: int, thread: int) -> tuple[Variable, ...]:
        earlier = self.states[step - 1] if step else {}
        found = []
        for name, (type_, values) in self.states[step].items():
            before = earlier[name][1][thread] if name in earlier else None
            value = values[thread].item()
            found.append(Variable(name, type_, value, before is None or value != before))
        return tuple(found)

    def so_far(self, name: str, step: int) -> SoFar:
        """What `sum` holds, for the element that its thread stores later."""
        stores = [s for s, a in self.accesses.items() if a.kind == "store" and a.array.name == name]
        now = self.states[step].get("sum")
        if now is None or not stores or stores[0] <= step:
            none = np.empty(0, np.int64)
            return SoFar(none, none, np.empty(0, np.float32), ("sum",), none)
        who = np.arange(self.n_threads)
        flats = self.accesses[stores[0]].elements[who]
        return SoFar(flats, who, np.asarray(now[1]), ("sum",), np.zeros_like(who))

    @property
    def filling(self) -> FilledAhead:
        return FilledAhead()

    @property
    def phases(self) -> tuple[Phase, ...]:
        found = []
        for index in range(max(self.phase) + 1):
            steps = np.flatnonzero(np.asarray(self.phase) == index)
            found.append(Phase(index, int(steps[0]), int(steps[-1])))
        return tuple(found)

    @property
    def access_steps(self) -> np.ndarray:
        kind = np.asarray(self.kind)
        return np.flatnonzero((kind == EventKind.LOAD) | (kind == EventKind.STORE))

    def seek(self, step: int, unit: str, forward: bool) -> int:
        kind, phase = np.asarray(self.kind), np.asarray(self.phase)
        stops = {
            "access": self.access_steps,
            "line": np.flatnonzero(kind == EventKind.LINE),
            "barrier": np.flatnonzero(kind == EventKind.BARRIER),
            "phase": np.flatnonzero(np.diff(phase, prepend=-2)),
        }[unit]
        if forward:
            later = stops[stops > step]
            return int(later[0]) if len(later) else self.n_steps - 1
        earlier = stops[stops < step]
        return int(earlier[-1]) if len(earlier) else 0
