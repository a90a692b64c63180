"""What every step shows, against closed forms and replays."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from core.ladder import load_ladder
from core.launch import Dim3
from core.recording.record_launch import record
from core.trace import EventKind
from core.trace.access import label
from tests.core.emulator.machines import line_of, trace_of

TILE, N = 4, 12
ACCESSES = (EventKind.LOAD, EventKind.STORE, EventKind.ATOMIC)


@cache
def tiled():
    return record(load_ladder()["tiled"].workload(seed=3, n=N, tile=TILE), blocks="all")


def value_of(block, step: int, thread: int, name: str):
    return {v.name: v.value for v in block.variables(step, thread)}[name]


# -- steps ------------------------------------------------------------------------------------


def test_columns_agree_in_length_and_meaning() -> None:
    trace = tiled()
    block = trace.block(5)
    assert (block.n_threads, block.n_warps, block.index) == (16, 1, Dim3(2, 1, 0))
    for column in (block.kind, block.line, block.phase, block.pc):
        assert len(column) == block.n_steps
    lines = trace.workload.source.splitlines()
    for step in range(block.n_steps):
        kind, text = EventKind(block.kind[step]), lines[block.line[step] - 1]
        instruction = trace.instructions[block.pc[step]]
        if kind is EventKind.BARRIER:
            assert "__syncthreads" in text
            assert instruction.opcode in ("bar", "barrier")
        if kind is EventKind.LOAD:
            assert instruction.opcode == "ld"
            assert "=" in text
        if kind is EventKind.STORE:
            assert instruction.opcode == "st"
        assert (block.access(step) is not None) == (kind in ACCESSES)
        assert block.active(step).shape == (32,)
        assert not block.active(step)[16:].any()


def test_how_many_steps_of_each_kind() -> None:
    block = tiled().block(0)
    phases = N // TILE
    count = {kind: int((block.kind == kind).sum()) for kind in EventKind}
    assert count[EventKind.LOAD] == phases * (2 + 2 * TILE)
    assert count[EventKind.STORE] == phases * 2 + 1
    assert count[EventKind.BARRIER] == phases * 2
    assert count[EventKind.ATOMIC] == 0
    assert count[EventKind.EXIT] == 1


def test_counts_of_a_block_are_those_of_its_steps() -> None:
    trace = tiled()
    requests = sectors = 0
    for number in trace.recorded_blocks:
        block = trace.block(number)
        for step in np.flatnonzero(block.kind == EventKind.LOAD):
            access = block.access(int(step))
            if access.space == "global":
                requests += 1
                sectors += access.warp(0).n_sectors
    assert requests == trace.counters.totals["global_ld_requests"].value
    assert sectors == trace.counters.totals["global_ld_sectors"].value


# -- accesses ---------------------------------------------------------------------------------


def test_elements_and_addresses_of_every_access() -> None:
    """Which element each thread touches in each phase of the tiled product."""
    trace = tiled()
    arrays = {a.name: a for a in trace.arrays}
    a_data, b_data = (trace.workload.launch.arguments[i].data for i in range(2))
    t = np.arange(16)
    tx, ty = t % TILE, t // TILE
    for number in (0, 4, 7):
        block = trace.block(number)
        row, col = block.index.y * TILE + ty, block.index.x * TILE + tx
        seen = dict.fromkeys(("A", "B", "C", "tile_a", "tile_b"), 0)
        inner = {"tile_a": 0, "tile_b": 0}
        for step in np.flatnonzero(np.isin(block.kind, ACCESSES)):
            access = block.access(int(step))
            name, phase = access.array.name, int(block.phase[step])
            assert access.width == 4
            assert access.active[:16].all()
            if name == "A":
                want, values = row * N + phase * TILE + tx, a_data
            elif name == "B":
                want, values = (phase * TILE + ty) * N + col, b_data
            elif name == "C":
                assert (phase, access.kind) == (-1, "store")
                want, values = row * N + col, trace.outputs["C"]
            elif access.kind == "store":
                want, values = ty * TILE + tx, None
            else:
                k = inner[name] % TILE
                inner[name] += 1
                want, values = (ty * TILE + k if name == "tile_a" else k * TILE + tx), None
            seen[name] += 1
            assert access.elements[:16].tolist() == want.tolist()
            assert (access.elements[16:] == -1).all()
            assert access.element(7) == (int(want[7]) // access.array.shape[1],
                                         int(want[7]) % access.array.shape[1])  # fmt: skip
            assert access.element(20) is None
            if name in arrays:
                base = arrays[name].base
                assert base % 256 == 0
                assert (access.addresses[:16] == base + 4 * want).all()
                assert (access.values[:16] == values.reshape(-1)[want]).all()
            else:
                assert access.space == "shared"
                assert (access.addresses[:16] == access.array.offset + 4 * want).all()
        assert seen == {"A": 3, "B": 3, "C": 1, "tile_a": 15, "tile_b": 15}


def test_labels_of_elements() -> None:
    array = tiled().arrays[1]
    assert label(array.name, array.index(2 * N + 5)) == "B[2,5]"


# -- shared memory ----------------------------------------------------------------------------


def test_shared_memory_equals_a_replay() -> None:
    trace = tiled()
    block = trace.block(3)
    state = {
        a.name: (np.zeros(a.shape, a.dtype), np.full(a.shape, -1)) for a in trace.shared_arrays
    }
    assert set(state) == {"tile_a", "tile_b"}
    for step in range(block.n_steps):
        access = block.access(step)
        if access is not None and access.space == "shared" and access.kind == "store":
            values, writer = state[access.array.name]
            for thread in np.flatnonzero(access.active):
                values[access.element(int(thread))] = access.values[thread]
                writer[access.element(int(thread))] = thread
        shown = block.shared(step)
        for name, (values, writer) in state.items():
            np.testing.assert_array_equal(shown[name].values, values)
            np.testing.assert_array_equal(shown[name].last_writer, writer)
            np.testing.assert_array_equal(shown[name].written, writer >= 0)


def test_the_tiles_hold_what_the_phase_multiplies() -> None:
    trace = tiled()
    block = trace.block(7)
    a, b = (trace.workload.launch.arguments[i].data for i in range(2))
    y, x = block.index.y * TILE, block.index.x * TILE
    for phase in block.phases:
        p = phase.index * TILE
        held = block.shared(phase.last)
        np.testing.assert_array_equal(held["tile_a"].values, a[y : y + TILE, p : p + TILE])
        np.testing.assert_array_equal(held["tile_b"].values, b[p : p + TILE, x : x + TILE])


# -- variables --------------------------------------------------------------------------------


def test_loop_counters_and_the_accumulator() -> None:
    trace = tiled()
    block = trace.block(4)
    a, b = (trace.workload.launch.arguments[i].data.astype(np.float64) for i in range(2))
    line = line_of(trace.workload.source, "value += ")
    for thread in (0, 5, 15):
        row = block.index.y * TILE + thread // TILE
        col = block.index.x * TILE + thread % TILE
        starts = [int(s) for s in np.flatnonzero(block.kind == EventKind.LINE)
                  if block.line[s] == line]  # fmt: skip
        assert len(starts) == N
        for number, step in enumerate(starts):
            assert value_of(block, step, thread, "k") == number % TILE
            assert value_of(block, step, thread, "phase") == number // TILE
            assert value_of(block, step, thread, "row") == row
            assert value_of(block, step, thread, "col") == col
            assert value_of(block, step, thread, "N") == N
            got = value_of(block, step, thread, "value")
            want = a[row, :number] @ b[:number, col]
            assert abs(got - want) <= 1e-5
        end = int(np.flatnonzero(block.kind == EventKind.STORE)[-1])
        final = value_of(block, end, thread, "value")
        assert final == trace.outputs["C"][row, col]


def test_a_table_of_a_warp_is_its_threads_one_by_one() -> None:
    block = tiled().block(2)
    for step in range(0, block.n_steps, 17):
        rows = block.variable_table(step, 0)
        for row in rows:
            assert len(row.values) == 32
            for thread in (0, 3, 15):
                assert row.values[thread] == value_of(block, step, thread, row.name)
            assert row.values[16:] == [None] * 16


def test_changed_marks_the_variables_that_a_step_changed() -> None:
    block = tiled().block(1)
    for step in range(1, block.n_steps):
        before = {v.name: v.value for v in block.variables(step - 1, 6)}
        for variable in block.variables(step, 6):
            if variable.name in before:
                assert variable.changed == (variable.value != before[variable.name])


# -- masks ------------------------------------------------------------------------------------


def test_active_lanes_with_guards() -> None:
    trace = record(load_ladder()["coalesced"].workload(n=10, block_x=8, block_y=4), blocks="all")
    for number in trace.recorded_blocks:
        block = trace.block(number)
        t = np.arange(32)
        col, row = block.index.x * 8 + t % 8, block.index.y * 4 + t // 8
        inside = (col < 10) & (row < 10)
        for step in np.flatnonzero(np.isin(block.kind, ACCESSES)):
            np.testing.assert_array_equal(block.active(int(step)), inside)
        ends = np.flatnonzero(block.kind == EventKind.EXIT)
        together = np.sum([block.active(int(s)) for s in ends], axis=0)
        assert (together == 1).all()


def test_active_lanes_of_diverging_loops() -> None:
    source = """
extern "C" __global__ void k(float* out, const float* in)
{
    float v = 0;
    for (int i = 0; i < threadIdx.x; i++)
        v += in[i];
    out[threadIdx.x] = v;
}
"""
    data = np.arange(40, dtype=np.float32)
    trace = trace_of(source, {"out": np.zeros(40, np.float32), "in": data}, block=40)
    block = trace.block(0)
    loads = np.flatnonzero(block.kind == EventKind.LOAD)
    assert len(loads) == 39
    for i, step in enumerate(loads):
        active = block.active(int(step))
        assert active.tolist() == [i < t < 40 for t in range(64)]
        access = block.access(int(step))
        assert (access.elements[active] == i).all()
        assert (access.elements[~active] == -1).all()
        assert block.phase[step] == i
    for thread in (0, 7, 20):  # the values that a thread had when it left its loop stay
        assert value_of(block, int(loads[-1]), thread, "v") == sum(range(thread))
    assert value_of(block, int(loads[-1]), 39, "v") == sum(range(38))  # its last turn is on its way


@pytest.mark.slow
def test_an_asynchronous_copy_has_not_arrived_at_the_step_that_loads() -> None:
    block = record(load_ladder()["double_buffered"].workload(k=8), blocks=[0]).block(0)
    steps = [int(s) for s in block.access_steps]
    load, store = steps[:2]
    assert [block.access(s).space for s in (load, store)] == ["global", "shared"]
    written = [sum(int(a.written.sum()) for a in block.shared(s).values()) for s in (load, store)]
    assert written == [0, block.n_threads]
