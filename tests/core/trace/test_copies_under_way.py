"""Which bytes asynchronous copies are on their way to: begun, and not known to be there."""

import numpy as np
import pytest

from core.ladder import all_kernels
from core.recording.record_launch import record
from core.recording.trace_files import load_trace, save_trace
from core.trace.copies_under_way import CopiesUnderWay
from core.trace.pipeline import pipeline
from tests.core.emulator.machines import line_of, trace_of

KERNELS = all_kernels()

HEAD = """
#define AT(place) ((unsigned)__cvta_generic_to_shared(place))
#define COPY(to, from) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" \\
    :: "r"(AT(to)), "l"(from) : "memory")
"""


def launched(body):
    """A block of two warps; `ring` holds two words a thread."""
    source = f"""{HEAD}
extern "C" __global__ void k(const int* in, int* out)
{{
    __shared__ int ring[2][64];
    __shared__ unsigned long long full;
    int i = threadIdx.x;
{body}
    out[i] = ring[0][i];
}}
"""
    given = np.random.default_rng(8).integers(1, 999, 128).astype(np.int32)
    arrays = {"in": given, "out": np.zeros(64, np.int32)}
    trace = trace_of(source, arrays, block=64)
    return source, trace, trace.block(0)


def under_way(trace, block, step):
    """For each word of `ring` whether a copy is on its way to it."""
    array = next(a for a in trace.shared_arrays if a.name == "ring")
    found = CopiesUnderWay(block).at(block, step)[array.offset : array.offset + array.nbytes]
    words = found.reshape(-1, 4)
    assert (words.all(axis=1) == words.any(axis=1)).all()
    return words.any(axis=1).reshape(array.shape)


def steps_at(block, line):
    return np.flatnonzero(block.line == line)


@pytest.mark.parametrize(
    ("rung", "parameters"),
    [
        ("row_times_matrix", {"m": 24, "stages": 3, "left": 1}),
        ("row_times_matrix", {"m": 20, "stages": 4, "left": 0}),
        ("row_times_matrix", {"m": 20, "stages": 3, "left": 2}),  # waits too little: left in flight
    ],
)
def test_a_stage_is_being_copied_until_its_group_was_waited_for(rung, parameters):
    trace = record(KERNELS[rung].workload(**parameters))
    block = trace.block(0)
    copies, made = CopiesUnderWay(block), pipeline(block, trace.shared_arrays)
    seen = set()
    for step in range(block.n_steps):
        found = copies.at(block, step)
        place = made.at(step)
        for number, stage in enumerate(made.stages):
            held = made.held(number, place)
            flying = held is not None and not 0 <= held.ready <= place
            if held is not None and made.moments[place].step == step:
                continue  # the wait itself: a line is about to be executed
            parts = [found[first:end] for first, end in stage.pieces]
            assert all((part == flying).all() for part in parts), (step, number)
            seen.add(flying)
    assert seen == {True, False}


def test_bulk_copies_are_under_way_until_their_bytes_are_there(tmp_path):
    trace = record(KERNELS["row_times_matrix_bulk"].workload(m=24, rows=4, stages=2))
    save_trace(trace, tmp_path / "t.npz")
    for one in (trace, load_trace(tmp_path / "t.npz")):
        block = one.block(0)
        copies = CopiesUnderWay(block)
        first, second, third = (step for step, _ in block.operations[:3])
        counts = [int(copies.at(block, s).sum()) for s in (first - 1, first, second)]
        assert counts == [0, 1024, 2048]
        ring = next(a for a in one.shared_arrays if a.name == "ring")
        for step in map(int, block.access_steps):
            access = block.access(step)
            if access.array is ring:  # each consumer has waited for the tile that it reads
                read = access.elements[access.active]
                assert block.shared(step)["ring"].written.reshape(-1)[read].all()
                assert not copies.at(block, step)[ring.offset + 4 * read].any()
        again = copies.at(block, third)[ring.offset :][: ring.nbytes].reshape(2, 1024)
        assert again[0].all()


@pytest.mark.parametrize("kind", ["as_written", "as_compiled"])
@pytest.mark.parametrize(
    ("rung", "parameters"),
    [
        ("double_buffered", {}),
        ("row_times_matrix", {"m": 24, "stages": 3, "left": 1}),
        ("row_times_matrix", {"m": 24, "stages": 3, "left": 2}),
    ],
)
def test_reads_meet_copies_under_way_where_a_finding_says_so(rung, parameters, kind):
    trace = record(KERNELS[rung].workload(**parameters), kind=kind, blocks=[0])
    block = trace.block(0)
    copies, early, reads = CopiesUnderWay(block), 0, 0
    for step in map(int, block.access_steps):
        access = block.access(step)
        if (access.space, access.kind) == ("shared", "load"):
            places = access.addresses[access.active][:, None] + np.arange(access.width)
            early += copies.at(block, step)[places].any()
            reads += 1
    assert reads
    assert (early > 0) == ("not_awaited" in {found.kind for found in trace.findings})


def test_each_thread_waits_for_its_own_copies():
    source, trace, block = launched("""
    COPY(&ring[0][i], &in[i]);
    asm volatile("cp.async.commit_group;");
    COPY(&ring[1][i], &in[64 + i]);
    asm volatile("cp.async.commit_group;");
    if (i < 32)
        asm volatile("cp.async.wait_group 1;" ::: "memory");  // some
    if (i >= 48)
        asm volatile("cp.async.wait_all;" ::: "memory");  // all
    __syncthreads();""")
    met = steps_at(block, line_of(source, "__syncthreads()"))[-1]
    found = under_way(trace, block, int(met))
    threads = np.arange(64)
    assert found[0].tolist() == ((threads >= 32) & (threads < 48)).tolist()
    assert found[1].tolist() == (threads < 48).tolist()
    assert (under_way(trace, block, block.n_steps - 1) == found).all()  # nobody waits for the rest


PREDICATED = """
    COPY(&ring[0][i], &in[i]);
    asm volatile("{ .reg .pred p; setp.lt.s32 p, %0, 40; @p cp.async.commit_group; }" :: "r"(i));
    COPY(&ring[1][i], &in[64 + i]);
    asm volatile("{ .reg .pred p; setp.lt.s32 p, %0, 20; @p cp.async.wait_all; }"
                 :: "r"(i) : "memory");  // of 20 threads
    asm volatile("cp.async.wait_group 1;" ::: "memory");  // of the group that is closed: none
    asm volatile("{ .reg .pred p; setp.lt.s32 p, %0, 0; @p cp.async.wait_group 0; }"
                 :: "r"(i) : "memory");  // of no thread
    __syncthreads();"""


def test_a_wait_counts_for_the_threads_that_its_guard_lets_through(tmp_path):
    source, trace, block = launched(PREDICATED)
    save_trace(trace, tmp_path / "t.npz")
    for one in (block, load_trace(tmp_path / "t.npz").block(0)):
        met = steps_at(one, line_of(source, "__syncthreads()"))[-1]
        assert under_way(trace, one, int(met)).tolist() == 2 * [(np.arange(64) >= 20).tolist()]
        waits = [m for m in pipeline(one, trace.shared_arrays).moments if m.kind == "await"]
        assert [(m.how, m.warps) for m in waits] == [
            ("cp.async.wait_all", (0,)),
            ("cp.async.wait_group 1", (0, 1)),
        ]
        executing = {
            (*i.modifiers[1:], bool(i.guard)): [
                int(t) for _, who in one.executions(i.pc) for t in who
            ]
            for i in one.instructions
            if {"commit_group", "wait_all", "wait_group"} & {*i.modifiers}
        }
        assert executing == {
            ("commit_group", True): list(range(40)),
            ("wait_all", True): list(range(20)),
            ("wait_group", False): list(range(64)),
            ("wait_group", True): [],
        }


def test_what_an_mbarrier_tracks_is_there_when_its_phase_is_over():
    source, trace, block = launched("""
    if (i == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], 64;" :: "r"(AT(&full)) : "memory");
    __syncthreads();
    COPY(&ring[0][i], &in[i]);
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" :: "r"(AT(&full)) : "memory");
    COPY(&ring[1][i], &in[64 + i]);
    asm volatile("{ .reg .pred over; again: mbarrier.try_wait.parity.shared.b64 over, [%0], 0; "
                 "@!over bra again; }" :: "r"(AT(&full)) : "memory");""")
    copied = steps_at(block, line_of(source, "COPY(&ring[0]"))[-1]
    assert under_way(trace, block, int(copied)).any(axis=1).tolist() == [True, False]
    last = under_way(trace, block, block.n_steps - 1)
    assert last.all(axis=1).tolist() == [False, True]
    assert not last[0].any()


def test_kernels_that_copy_nothing_have_none():
    trace = record(KERNELS["tiled"].workload(n=8, tile=4))
    block = trace.block(0)
    assert not any(len(CopiesUnderWay(block).at(block, s)) for s in range(block.n_steps))


def test_each_mbarrier_ends_the_copies_that_it_tracks(tmp_path):
    """`cuda::memcpy_async` has its mbarrier track copies without an arrival of its own."""
    source = """#include <cuda/barrier>
#include <utility>
extern "C" __global__ void k(const int* in, int* out)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> bar[2];
    __shared__ int ring[2][64];
    int i = threadIdx.x;
    if (i < 2) init(&bar[i], 64);
    __syncthreads();
    cuda::memcpy_async(&ring[0][i], &in[i], sizeof(int), bar[0]);
    cuda::memcpy_async(&ring[1][i], &in[64 + i], sizeof(int), bar[1]);
    auto t0 = bar[0].arrive();
    out[i] = 4;
    auto t1 = bar[1].arrive();
    bar[0].wait(std::move(t0));
    out[i] = ring[0][i];
    bar[1].wait(std::move(t1));
    out[i] = ring[1][i];
}
"""
    arrays = {"in": np.arange(1, 129).astype(np.int32), "out": np.zeros(64, np.int32)}
    trace = trace_of(source, arrays, block=64)
    save_trace(trace, tmp_path / "t.npz")
    for one in (trace, load_trace(tmp_path / "t.npz")):
        block = one.block(0)
        (between,) = steps_at(block, line_of(source, "out[i] = 4"))[:1]
        assert under_way(one, block, between)[1].all()
        (after,) = steps_at(block, line_of(source, "out[i] = ring[0]"))[-1:]
        assert not under_way(one, block, after)[0].any()
        (last,) = steps_at(block, line_of(source, "out[i] = ring[1]"))[-1:]
        assert not under_way(one, block, last).any()


def test_each_warp_has_its_own_mbarrier():
    source, trace, block = launched(
        """
    __shared__ unsigned long long own[2];
    int w = i / 32;
    if (i % 32 == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(AT(&own[w])), "r"(32 + 32 * w));
    __syncthreads();
    COPY(&ring[0][i], &in[i]);
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" :: "r"(AT(&own[w])) : "memory");
    if (w == 0) {
        int done;
        do {
            asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 0;"
                         " selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(AT(&own[0])) : "memory");
        } while (!done);
        out[i] = ring[0][i] + 1;
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
"""
    )
    (step,) = steps_at(block, line_of(source, "ring[0][i] + 1"))[:1]
    found = under_way(trace, block, step)[0]
    assert not found[:32].any(), "they are there, as their warp has seen"
    assert found[32:].all()
