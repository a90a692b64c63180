"""A trace made by hand, for views: a tiled multiply (C = A B) with the interface of `core.trace`.

`fake_trace(n=16, tile=8)` gives every block of one launch, with real values, addresses, phases and
counts. Views must not be able to tell it from a recorded one; it is here so that their tests need
neither a compiler nor an emulator.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np

from core.launch import ArrayArgument, Dim3, Launch, MatrixLayout, ScalarArgument, Workload
from core.trace import EventKind
from tests.gui.fake_record import (
    AS_WRITTEN,
    Access,
    Array,
    BlockTrace,
    Count,
    Counters,
    Finding,
    SharedArray,
    SharedState,
)

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
        self.build = AS_WRITTEN
        self.assembly = None
        self.constants: frozenset[str] = frozenset()
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
