"""More traces made by hand: other mappings, guards, rectangles, conflicts, a kernel of one's own.

Each function writes down, in order, what every thread of one block does; `Builder` turns that into
the interface of `core.trace`, with its own accesses and arrays and `fake_trace`'s block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from types import MappingProxyType, SimpleNamespace

import numpy as np

from core.launch import ArrayArgument, Dim3, Launch, MatrixLayout, Workload
from core.trace import Access, Array, EventKind, SharedArray
from core.trace.access import SharedState
from tests.gui.fake_record import AS_WRITTEN, BlockTrace, Counters

F32 = np.dtype(np.float32)


class Block(BlockTrace):
    """A block whose instructions are told apart: a number for each line, kind and array."""

    @property
    def pc(self) -> np.ndarray:
        return np.asarray(self.codes)


class Builder:
    """One block's record in the making. `mask` arguments are bool[n_threads] (None: all)."""

    def __init__(self, block: int, grid: Dim3, shape: Dim3, arrays, shared) -> None:
        count = shape.count
        flat = np.arange(count)
        self.tx, self.ty = flat % shape.x, flat // shape.x % shape.y
        self.bx, self.by = block % grid.x, block // grid.x
        threads = np.stack([self.tx, self.ty, flat // (shape.x * shape.y)], 1).astype(np.int32)
        self.out = Block(block, Dim3(self.bx, self.by), count, threads)
        self.out.codes = []
        self.arrays = {a.name: a for a in (*arrays, *shared)}
        self.shared = {
            a.name: SharedState(
                np.zeros(a.shape, np.float32), np.zeros(a.shape, bool), np.full(a.shape, -1)
            )
            for a in shared
        }
        self.phase = -1

    def event(self, kind: EventKind, line: int, name: str = "") -> int:
        out = self.out
        number = 1 + list(self.arrays).index(name) if name else 0
        out.codes.append((line * 8 + int(kind)) * 8 + number)
        out.kind.append(kind)
        out.line.append(line)
        out.phase.append(self.phase)
        out.shared_states.append(self.shared)
        return len(out.kind) - 1

    def access(self, kind: EventKind, line: int, name: str, elements, values, mask=None) -> None:
        width, count, array = self.out.n_warps * 32, self.out.n_threads, self.arrays[name]
        active = np.zeros(width, bool)
        active[:count] = True if mask is None else mask
        if not active.any():
            return
        whole = np.full(width, -1, np.int64)
        whole[:count] = elements
        whole[~active] = -1
        amount = np.zeros(width, np.float32)
        amount[:count] = np.where(active[:count], values, 0)
        shared = isinstance(array, SharedArray)
        start = array.offset if shared else array.base
        if shared and kind == EventKind.STORE:
            old = self.shared[name]
            new = SharedState(old.values.copy(), old.written.copy(), old.last_writer.copy())
            live = np.flatnonzero(active)
            new.values.flat[whole[live]] = amount[live]
            new.written.flat[whole[live]] = True
            new.last_writer.flat[whole[live]] = live
            self.shared = {**self.shared, name: new}
        step = self.event(kind, line, name)
        space = "shared" if shared else "global"
        addresses = np.where(active, start + whole * 4, 0)
        self.out.accesses[step] = Access(
            step, kind.name.lower(), space, 4, line, array, addresses, active, amount
        )

    def finish(self) -> BlockTrace:
        self.event(EventKind.EXIT, 99)
        for name in ("kind", "line", "phase"):
            setattr(self.out, name, np.asarray(getattr(self.out, name), np.int32))
        self.out.states = [{}] * self.out.n_steps
        return self.out


class KernelTrace:
    """A launch whose blocks are recorded when they are asked for."""

    def __init__(
        self, name, inputs, output, grid, shape, layout, shared, program, recorded
    ) -> None:
        base, self.arrays = 0x7F00_0000_0000, ()
        self.inputs = {k: np.asarray(v, np.float32) for k, v in inputs.items()}
        poison = np.full(output[1], np.nan, np.float32)
        self.outputs = {**self.inputs, output[0]: poison.copy()}
        for key, data in self.outputs.items():
            role = "output" if key == output[0] else "input"
            self.arrays += (Array(key, base, data.shape, F32, role),)
            base += (data.nbytes + 0x1FFF) // 0x1000 * 0x1000
        self.constants = frozenset()
        offset, self.shared_arrays = 0, ()
        for key, extent in shared.items():
            self.shared_arrays += (SharedArray(key, offset, extent, F32),)
            offset += int(np.prod(extent)) * 4
        arguments = tuple(
            ArrayArgument(k, poison if k == output[0] else v, "input")
            for k, v in self.outputs.items()
        )
        self.workload = Workload(
            title=name, source="", source_name=f"{name}.cu", kernel=name, rung=name,
            launch=Launch(grid, shape, arguments), layout=layout,
        )  # fmt: skip
        self.parameters = MappingProxyType({})
        self.build, self.findings, self.counters = AS_WRITTEN, (), Counters({}, {}, {})
        self.recorded_blocks = tuple(range(grid.count)) if recorded is None else tuple(recorded)
        self._program = program
        self.block = cache(self._block)
        self.complete = recorded is None

    def _block(self, linear: int) -> BlockTrace:
        launch = self.workload.launch
        builder = Builder(linear, launch.grid, launch.block, self.arrays, self.shared_arrays)
        values = SimpleNamespace(**self.inputs)
        self._program(builder, values, self.outputs)
        return builder.finish()


def _matrices(m: int, k: int, n: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    return {x: rng.uniform(-1, 1, s).astype(np.float32) for x, s in (("A", (m, k)), ("B", (k, n)))}


def _grid(m: int, n: int, y: int, x: int) -> Dim3:
    return Dim3(-(-n // x), -(-m // y))


def simple(m, k, n, block=(16, 16), *, coalesced=True, recorded: Iterable[int] | None = None):
    """One thread an element, one iteration a phase. `coalesced`: x runs along a row of C."""
    y, x = block

    def program(b: Builder, v, outputs) -> None:
        along, across = b.bx * x + b.tx, b.by * y + b.ty
        row, column = (across, along) if coalesced else (along, across)
        inside = (row < m) & (column < n)
        r, c = np.where(inside, row, 0), np.where(inside, column, 0)
        total = np.zeros(b.out.n_threads, np.float32)
        b.event(EventKind.LINE, 3)
        for i in range(k):
            b.phase = i
            b.event(EventKind.LINE, 7)
            b.access(EventKind.LOAD, 7, "A", r * k + i, v.A[r, i], inside)
            b.access(EventKind.LOAD, 7, "B", i * n + c, v.B[i, c], inside)
            total = total + v.A[r, i] * v.B[i, c]
        b.phase = -1
        b.access(EventKind.STORE, 9, "C", r * n + c, total, inside)
        outputs["C"][r[inside], c[inside]] = total[inside]

    grid = _grid(m, n, y, x) if coalesced else _grid(n, m, y, x)
    return KernelTrace(
        "coalesced" if coalesced else "uncoalesced", _matrices(m, k, n), ("C", (m, n)), grid,
        Dim3(x, y), MatrixLayout("A", "B", "C"), {}, program, recorded,
    )  # fmt: skip


def tiled(m, k, n, tile=16, recorded: Iterable[int] | None = None):
    """Tiles through shared memory for any M x K by K x N, with guards and zero fill."""

    def program(b: Builder, v, outputs) -> None:
        row, column = b.by * tile + b.ty, b.bx * tile + b.tx
        total = np.zeros(b.out.n_threads, np.float32)
        flat = b.ty * tile + b.tx
        b.event(EventKind.LINE, 7)
        for phase in range(-(-k // tile)):
            b.phase = phase
            for name, r, c, height, width, line in (
                ("A", row, phase * tile + b.tx, m, k, 12),
                ("B", phase * tile + b.ty, column, k, n, 15),
            ):
                inside = (r < height) & (c < width)
                data = getattr(v, name)
                value = np.where(
                    inside, data[np.minimum(r, height - 1), np.minimum(c, width - 1)], 0
                )
                b.event(EventKind.LINE, line)
                b.access(EventKind.LOAD, line, name, r * width + c, value, inside)
                target = f"tile_{name.lower()}"
                b.access(EventKind.STORE, line, target, flat, value, inside)
                b.access(EventKind.STORE, line + 1, target, flat, 0 * value, ~inside)
            b.event(EventKind.BARRIER, 18)
            one, other = b.shared["tile_a"].values, b.shared["tile_b"].values
            for i in range(tile):
                b.access(EventKind.LOAD, 20, "tile_a", b.ty * tile + i, one[b.ty, i])
                b.access(EventKind.LOAD, 20, "tile_b", i * tile + b.tx, other[i, b.tx])
                total = total + one[b.ty, i] * other[i, b.tx]
            b.event(EventKind.BARRIER, 22)
        b.phase = -1
        inside = (row < m) & (column < n)
        b.access(EventKind.STORE, 25, "C", row * n + column, total, inside)
        outputs["C"][row[inside], column[inside]] = total[inside]

    return KernelTrace(
        "tiled", _matrices(m, k, n), ("C", (m, n)), _grid(m, n, tile, tile), Dim3(tile, tile),
        MatrixLayout("A", "B", "C"), {"tile_a": (tile, tile), "tile_b": (tile, tile)}, program,
        recorded,
    )  # fmt: skip


def aat(n=32, tile=16, pad=0, recorded: Iterable[int] | None = None):
    """C = A Aᵀ through shared memory; the second tile is stored transposed (rows of tile + pad)."""
    width = tile + pad

    def program(b: Builder, v, outputs) -> None:
        row, column = b.by * tile + b.ty, b.bx * tile + b.tx
        total = np.zeros(b.out.n_threads, np.float32)
        for phase in range(n // tile):
            b.phase = phase
            k = phase * tile + b.tx
            other = b.bx * tile + b.ty
            b.access(EventKind.LOAD, 10, "A", row * n + k, v.A[row, k])
            b.access(EventKind.STORE, 10, "a", b.ty * tile + b.tx, v.A[row, k])
            b.access(EventKind.LOAD, 11, "A", other * n + k, v.A[other, k])
            b.access(EventKind.STORE, 11, "t", b.tx * width + b.ty, v.A[other, k])
            b.event(EventKind.BARRIER, 12)
            one, two = b.shared["a"].values, b.shared["t"].values
            for i in range(tile):
                b.access(EventKind.LOAD, 14, "a", b.ty * tile + i, one[b.ty, i])
                b.access(EventKind.LOAD, 14, "t", i * width + b.tx, two[i, b.tx])
                total = total + one[b.ty, i] * two[i, b.tx]
            b.event(EventKind.BARRIER, 16)
        b.phase = -1
        b.access(EventKind.STORE, 18, "C", row * n + column, total)
        outputs["C"][row, column] = total

    inputs = {"A": _matrices(n, n, n)["A"]}
    return KernelTrace(
        "aat_shared", inputs, ("C", (n, n)), _grid(n, n, tile, tile), Dim3(tile, tile),
        MatrixLayout("A", "A", "C", top_transposed=True),
        {"a": (tile, tile), "t": (tile, width)}, program, recorded,
    )  # fmt: skip


def vector_add(n=1000, block=256, stride: int = 1):
    """A kernel of one's own: no matrix layout, 1-D arrays."""

    def program(b: Builder, v, outputs) -> None:
        i = (b.bx * block + b.tx) * stride
        inside = i < n
        safe = np.where(inside, i, 0)
        for name, line in (("x", 4), ("y", 5)):
            b.access(EventKind.LOAD, line, name, safe, getattr(v, name)[safe], inside)
        b.access(EventKind.STORE, 6, "z", safe, v.x[safe] + v.y[safe], inside)
        outputs["z"][safe[inside]] = (v.x + v.y)[safe[inside]]

    rng = np.random.default_rng(3)
    inputs = {x: rng.uniform(-1, 1, n).astype(np.float32) for x in "xy"}
    return KernelTrace(
        "vector_add", inputs, ("z", (n,)), Dim3(-(-n // block)), Dim3(block), None, {}, program,
        None,
    )  # fmt: skip


Program = Callable[..., None]
