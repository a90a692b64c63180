"""A trace made by hand, for views: a tiled multiply (C = A B) with the interface of `core.trace`.

`fake_trace(n=16, tile=8)` gives every block of one launch, with real values, addresses, phases and
counts. Views must not be able to tell it from a recorded one; it is here so that their tests need
neither a compiler nor an emulator.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from core.launch import ArrayArgument, Dim3, Launch, MatrixLayout, ScalarArgument, Workload
from core.trace import EventKind

SOURCE = """\
// Each block computes one tile of C; its threads load tiles of A and B into shared memory first.
extern "C" __global__ void tiled(const float* A, const float* B, float* C, int n)
{
    __shared__ float tile_a[TILE][TILE];
    __shared__ float tile_b[TILE][TILE];

    int row = blockIdx.y * TILE + threadIdx.y;
    int column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;

    for (int phase = 0; phase < n / TILE; ++phase) {
        tile_a[threadIdx.y][threadIdx.x] = A[row * n + phase * TILE + threadIdx.x];
        tile_b[threadIdx.y][threadIdx.x] = B[(phase * TILE + threadIdx.y) * n + column];
        __syncthreads();

        for (int k = 0; k < TILE; ++k)
            sum += tile_a[threadIdx.y][k] * tile_b[k][threadIdx.x];
        __syncthreads();
    }
    C[row * n + column] = sum;
}
"""
BASES = {"A": 0x7F0000000000, "B": 0x7F0000100000, "C": 0x7F0000200000}


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
        live = self.addresses[self.active]
        all_bytes = np.unique((live[:, None] + np.arange(access.width)).ravel())
        self.sectors, used = np.unique(all_bytes // 32 * 32, return_counts=True)
        self.bytes_used = used.astype(np.uint32)
        self.lines = np.unique(all_bytes // 128 * 128)
        self.n_sectors = len(self.sectors)
        self.ideal_sectors = -(-len(all_bytes) // 32)
        self.lane_sector = np.full(32, -1, np.int32)
        self.lane_sector[self.active] = np.searchsorted(self.sectors, live // 32 * 32)
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

    def element(self, thread: int) -> tuple[int, ...] | None:
        flat = int(self.elements[thread])
        return self.array.index(flat) if flat >= 0 else None

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


class _Recorder:
    """Runs the kernel of SOURCE for one block, all threads in lock-step, and notes each event."""

    def __init__(self, trace: Trace, block: int) -> None:
        self.trace, self.n, self.tile = trace, trace.n, trace.tile
        tile = self.tile
        across = self.n // tile
        self.by, self.bx = divmod(block, across)
        flat = np.arange(tile * tile)
        self.ty, self.tx = flat // tile, flat % tile
        threads = np.stack([self.tx, self.ty, 0 * flat], axis=1).astype(np.int32)
        self.out = BlockTrace(block, Dim3(self.bx, self.by, 0), tile * tile, threads)
        self.state: dict[str, Any] = {}
        shape = (tile, tile)
        self.shared = {
            a.name: SharedState(
                np.zeros(shape, np.float32), np.zeros(shape, bool), np.full(shape, -1, np.int32)
            )
            for a in trace.shared_arrays
        }

    def event(self, kind: EventKind, line: int, phase: int) -> int:
        self.out.kind.append(kind)
        self.out.line.append(line)
        self.out.phase.append(phase)
        self.out.states.append(dict(self.state))
        self.out.shared_states.append(dict(self.shared))
        return len(self.out.kind) - 1

    def access(self, kind, line, phase, array, elements, values) -> None:
        width = self.out.n_warps * 32
        count = self.out.n_threads
        base = getattr(array, "base", None)
        start = array.offset if base is None else base

        def padded(source, fill, dtype):
            whole = np.full(width, fill, dtype)
            whole[:count] = source
            return whole

        step = self.event(kind, line, phase)
        space = "shared" if base is None else "global"
        record = Access(
            step, kind.name.lower(), space, 4, line, array,
            padded(start + elements * 4, 0, np.int64),
            np.arange(width) < count,
            padded(elements, -1, np.int64),
            padded(values, 0, np.float32),
        )  # fmt: skip
        self.out.accesses[step] = record
        self.trace.count(record, self.out.n_warps)

    def store_shared(self, name: str, line: int, phase: int, values: np.ndarray) -> None:
        state = self.shared[name]
        flat = self.ty * self.tile + self.tx
        new, written, writer = state.values.copy(), state.written.copy(), state.last_writer.copy()
        new.flat[flat], written.flat[flat], writer.flat[flat] = values, True, flat
        self.shared[name] = SharedState(new, written, writer)
        self.access(EventKind.STORE, line, phase, self.trace.array(name), flat, values)

    def run(self) -> BlockTrace:
        n, tile, tx, ty = self.n, self.tile, self.tx, self.ty
        row, column = self.by * tile + ty, self.bx * tile + tx
        total = np.zeros(tile * tile, np.float32)
        a, b = self.trace.inputs["A"], self.trace.inputs["B"]
        load, line = EventKind.LOAD, EventKind.LINE
        self.event(line, 7, -1)
        self.state["row"] = ("int", row)
        self.event(line, 8, -1)
        self.state["column"] = ("int", column)
        self.event(line, 9, -1)
        self.state["sum"] = ("float", total)
        for phase in range(n // tile):
            self.state["phase"] = ("int", np.full(tile * tile, phase))
            self.event(line, 11, phase)
            self.event(line, 12, phase)
            index = row * n + phase * tile + tx
            self.access(load, 12, phase, self.trace.array("A"), index, a.flat[index])
            self.store_shared("tile_a", 12, phase, a.flat[index])
            self.event(line, 13, phase)
            index = (phase * tile + ty) * n + column
            self.access(load, 13, phase, self.trace.array("B"), index, b.flat[index])
            self.store_shared("tile_b", 13, phase, b.flat[index])
            self.event(EventKind.BARRIER, 14, phase)
            tiles = {name: self.shared[name].values for name in self.shared}
            for k in range(tile):
                self.state["k"] = ("int", np.full(tile * tile, k))
                self.event(line, 16, phase)
                self.event(line, 17, phase)
                left, right = ty * tile + k, k * tile + tx
                one, other = tiles["tile_a"].flat[left], tiles["tile_b"].flat[right]
                self.access(load, 17, phase, self.trace.array("tile_a"), left, one)
                self.access(load, 17, phase, self.trace.array("tile_b"), right, other)
                total = (total + one * other).astype(np.float32)
                self.state["sum"] = ("float", total)
            self.event(EventKind.BARRIER, 18, phase)
        self.event(line, 20, -1)
        index = row * n + column
        self.access(EventKind.STORE, 20, -1, self.trace.array("C"), index, total)
        self.trace.outputs["C"].flat[index] = total
        self.event(EventKind.EXIT, 21, -1)
        for name in ("kind", "line", "phase"):
            setattr(self.out, name, np.asarray(getattr(self.out, name), np.int32))
        return self.out


class Trace:
    """All blocks of one launch of SOURCE's kernel."""

    def __init__(self, n: int, tile: int, seed: int) -> None:
        self.n, self.tile = n, tile
        rng = np.random.default_rng(seed)
        make = lambda: rng.uniform(-1, 1, (n, n)).astype(np.float32)  # noqa: E731
        self.inputs = {"A": make(), "B": make()}
        self.outputs = {**self.inputs, "C": np.full((n, n), np.nan, np.float32)}
        roles = {"A": "input", "B": "input", "C": "output"}
        f32 = np.dtype(np.float32)
        self.arrays = tuple(Array(x, BASES[x], (n, n), f32, roles[x]) for x in "ABC")
        self.shared_arrays = (
            SharedArray("tile_a", 0, (tile, tile), f32),
            SharedArray("tile_b", tile * tile * 4, (tile, tile), f32),
        )
        self.parameters = MappingProxyType({"n": n, "tile": tile})
        self.workload = self._workload(roles)
        self.build = None
        self.findings: tuple[Finding, ...] = ()
        self.complete, self.note = True, ""
        self._sums: dict[tuple[str, int, str], list[int]] = {}
        across = n // tile
        self.recorded_blocks = tuple(range(across * across))
        self._blocks = [_Recorder(self, b).run() for b in self.recorded_blocks]

    def _workload(self, roles: dict[str, str]) -> Workload:
        across = self.n // self.tile
        arguments = [ArrayArgument(x, self.outputs[x].copy(), roles[x]) for x in "ABC"]
        scalar = ScalarArgument("n", np.int32(self.n))
        return Workload(
            title="Tiled", source=SOURCE, source_name="03_tiled.cu", kernel="tiled",
            launch=Launch(Dim3(across, across), Dim3(self.tile, self.tile), (*arguments, scalar)),
            defines={"TILE": str(self.tile)}, parameters=self.parameters,
            layout=MatrixLayout("A", "B", "C"), flops=2 * self.n**3, rung="tiled",
        )  # fmt: skip

    def array(self, name: str) -> Array | SharedArray:
        return next(a for a in (*self.arrays, *self.shared_arrays) if a.name == name)

    def block(self, linear: int) -> BlockTrace:
        return self._blocks[self.recorded_blocks.index(linear)]

    def count(self, access: Access, n_warps: int) -> None:
        way = "ld" if access.kind == "load" else "st"
        for w in range(n_warps):
            part = access.warp(w)
            found = {f"{access.space}_{way}_requests": (1, 1)}
            if access.space == "global":
                found[f"global_{way}_sectors"] = (part.n_sectors, part.ideal_sectors)
            else:
                found[f"shared_{way}_wavefronts"] = (part.wavefronts, part.ideal_wavefronts)
                found[f"shared_{way}_conflicts"] = (part.conflicts, 0)
            for name, (value, ideal) in found.items():
                key = (access.array.name, access.line, name)
                sums = self._sums.setdefault(key, [0, 0])
                sums[0] += value
                sums[1] += ideal

    @property
    def counters(self) -> Counters:
        out: tuple[dict, dict, dict] = ({}, {}, {})
        for (array, line, name), (value, ideal) in self._sums.items():
            for place in (
                out[0], out[1].setdefault(array, {}), out[2].setdefault(line, {})
            ):  # fmt: skip
                old = place.get(name, Count(0, 0))
                place[name] = Count(old.value + value, old.ideal + ideal)
        return Counters(*out)


def fake_trace(n: int = 16, tile: int = 8, seed: int = 7) -> Trace:
    """A tiled multiply of n x n matrices, every block recorded; `tile` must divide `n`."""
    return Trace(n, tile, seed)
