"""Shared, constant and global memory, every width, and atomics.

Accesses that repeat an earlier one, moved as a whole, give what they give looked at afresh.
"""

from __future__ import annotations

import numpy as np
import pytest

from core.emulator.block_record import ChunkRecord
from core.emulator.events import Pattern
from core.emulator.memory_unit import MOST_MISSES
from core.launch import ArrayArgument, Dim3, Launch, ScalarArgument, Workload
from core.recording.count_launch import count
from core.recording.record_launch import record
from core.rules.counting_observer import CountingObserver
from tests.core.emulator.machines import trace_of


def test_dynamic_shared_memory_starts_after_the_static() -> None:
    source = """
extern "C" __global__ void k(int* out)
{
    __shared__ int fixed[3];
    extern __shared__ double pool[];
    int t = threadIdx.x;
    if (t < 3) fixed[t] = t * 7;
    pool[t] = t * 0.5;
    __syncthreads();
    out[t] = fixed[t % 3] + (int)(2 * pool[31 - t]);
}
"""
    trace = trace_of(source, {"out": np.zeros(32, np.int32)}, shared_bytes=256)
    assert trace.outputs["out"].tolist() == [t % 3 * 7 + 31 - t for t in range(32)]
    pool = next(a for a in trace.shared_arrays if a.name == "pool")
    assert (pool.offset % 8, pool.shape, pool.dtype) == (0, (32,), np.dtype(np.float64))
    assert trace.findings == ()


@pytest.mark.parametrize("kind", ["as_written", "as_compiled"])
def test_all_widths_and_vectors(kind) -> None:
    source = """
extern "C" __global__ void k(const unsigned char* b, const short* h, const double* d,
                             const float4* q, const int2* p, double* out, uchar4* bytes)
{
    int t = threadIdx.x;
    float4 v = q[t];
    int2 w = p[t];
    out[t] = b[t] + h[t] + d[t] + v.x + 2 * v.y + 3 * v.z + 4 * v.w + w.x - w.y;
    bytes[t] = make_uchar4(t, t + 1, 255, b[t]);
}
"""
    rng = np.random.default_rng(5)
    b, h = rng.integers(0, 256, 32, np.uint8), rng.integers(-(2**15), 2**15, 32, np.int16)
    d, q = rng.random(32), rng.integers(-9, 9, (32, 4)).astype(np.float32)
    p = rng.integers(-9, 9, (32, 2)).astype(np.int32)
    arguments = {"b": b, "h": h, "d": d, "q": q, "p": p, "out": np.zeros(32),
                 "bytes": np.zeros((32, 4), np.uint8)}  # fmt: skip
    trace = trace_of(source, arguments, kind=kind)
    want = b.astype(float) + h + d + q @ [1, 2, 3, 4] + p[:, 0] - p[:, 1]
    assert np.abs(trace.outputs["out"] - want).max() <= 1e-9
    t = np.arange(32)
    assert (trace.outputs["bytes"] == np.stack([t, t + 1, 0 * t + 255, b], 1)).all()


def test_constants_and_device_variables() -> None:
    source = """
__constant__ float table[2][3] = {{1, 2, 3}, {4, 5, 6}};
__device__ int offsets[4] = {10, 20, 30};
__device__ unsigned total;
extern "C" __global__ void k(float* out)
{
    int t = threadIdx.x;
    atomicAdd(&total, 1u);
    __syncthreads();
    out[t] = table[t % 2][t % 3] * 100 + offsets[t % 4] + total;
}
"""
    trace = trace_of(source, {"out": np.zeros(32, np.float32)})
    table, offsets = np.arange(1, 7).reshape(2, 3), [10, 20, 30, 0]
    want = [float(table[t % 2, t % 3] * 100 + offsets[t % 4] + 32) for t in range(32)]
    assert trace.outputs["out"].tolist() == want


def test_atomics() -> None:
    source = """
extern "C" __global__ void k(int* c, unsigned* u, float* f, unsigned long long* w, int* old)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ int s[2];
    if (threadIdx.x < 2) s[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&s[i & 1], i);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(&c[0], s[0] + 1000 * s[1]);
    atomicMin(&c[1], -i); atomicMax(&c[2], i); atomicAnd(&c[3], ~(1 << i % 8));
    atomicOr(&c[4], 1 << i % 8); atomicXor(&c[5], i); atomicSub(&c[6], 2);
    old[i] = atomicAdd(&c[7], 1);
    atomicInc(&u[0], 9); atomicDec(&u[1], 6); atomicMin(&u[2], i + 3u);
    atomicAdd(f, 0.5f); atomicAdd(w, 1ull << 33);
    if (i == 5) atomicExch(&c[8], 77);
    atomicCAS(&c[9], 4, 44); atomicCAS(&c[10], 5, 55);
}
"""
    n = 96
    c = np.zeros(11, np.int32)
    c[3], c[9], c[10] = 0x1FF, 4, 4
    arguments = {"c": c, "u": np.array([0, 0, 99], np.uint32), "f": np.zeros(1, np.float32),
                 "w": np.zeros(1, np.uint64), "old": np.zeros(n, np.int32)}  # fmt: skip
    trace = trace_of(source, arguments, grid=3, block=32)
    i = np.arange(n)
    u0 = u1 = 0
    for _ in range(n):
        u0 = 0 if u0 >= 9 else u0 + 1
        u1 = 6 if u1 == 0 or u1 > 6 else u1 - 1
    even, odd = int(i[i % 2 == 0].sum()), int(i[i % 2 == 1].sum())
    want = [even + 1000 * odd, -95, 95, 0x100, 0xFF, int(np.bitwise_xor.reduce(i)), -2 * n, n, 77,
            44, 4]  # fmt: skip
    assert trace.outputs["c"].tolist() == want
    assert trace.outputs["u"].tolist() == [u0, u1, 3]
    assert trace.outputs["f"].tolist() == [n / 2]
    assert trace.outputs["w"].tolist() == [n << 33]
    assert sorted(trace.outputs["old"].tolist()) == list(range(n))


@pytest.fixture(autouse=True)
def _events_as_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """A record keeps accesses without their patterns; here it keeps them as they are."""
    monkeypatch.setattr(ChunkRecord, "on_access", lambda self, e: self.accesses.append(e))


SOURCE = """
struct alignas(16) Wide { float x, y, z, w; };
extern "C" __global__ void moves(const float* A, const unsigned char* bytes, const int* index,
                                 float* C, int n, int step)
{
    __shared__ float rows[8][33];
    __shared__ Wide wide[40];
    __shared__ unsigned char small[512];
    int x = threadIdx.x, y = threadIdx.y, lane = y * blockDim.x + x;
    for (int i = lane; i < 512; i += blockDim.x * blockDim.y) {
        small[i] = bytes[(i * 3 + blockIdx.x) % 256];  // moved by steps that wrap around
        if (i < 40)
            wide[i] = Wide{A[i], A[i + 1], A[i + 2], A[i + 3]};
        if (i < 8 * 33)
            rows[i / 33][i % 33] = A[i * step % n];
    }
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < 40; k++) {
        sum += rows[(y + k) % 8][(x * step + k) % 33];  // all lanes do not move alike
        if (lane % 3 != k % 2)                          // other lanes every time
            sum += A[lane * step + k];                  // 4 bytes further each time
        if (lane < 20 + k)
            sum += wide[(lane + k) % 40].z + small[(lane + k) % 512];
        sum += A[index[lane + k]];                      // no pattern at all
        if (k % 4 == 0)
            C[(blockIdx.x * 40 + k) * 128 + lane] = sum;
    }
}
"""


def _workload(step: int) -> Workload:
    generator = np.random.default_rng(31)
    n = 128 * 8 + 64
    arguments = (
        ArrayArgument("A", generator.standard_normal(n).astype("f4")),
        ArrayArgument("bytes", generator.integers(0, 255, 256, dtype="u1")),
        ArrayArgument("index", generator.integers(0, n, 256, dtype="i4")),
        ArrayArgument("C", np.full(3 * 40 * 128, np.nan, "f4"), "output"),
        ScalarArgument("n", np.int32(n)),
        ScalarArgument("step", np.int32(step)),
    )
    launch = Launch(Dim3(3), Dim3(19, 5), arguments)  # 95 threads: the last warp has an idle lane
    return Workload("moves", SOURCE, "moves.cu", "moves", launch)


@pytest.mark.slow
@pytest.mark.parametrize("step", [1, 2, 7])
@pytest.mark.parametrize("build", ["as_written", "as_compiled"])
@pytest.mark.parametrize("narrow", [0, 1024])
def test_patterns_change_nothing(
    step: int, build: str, narrow: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.emulator.memory_unit._NARROW", narrow)
    workload = _workload(step)
    quick = record(workload, kind=build, blocks="all")
    counted = count(workload, kind=build, shortcut=False)
    used = sum(event.pattern is not None for r in quick.records for event in r.accesses)
    assert used > 40  # or this tests nothing
    monkeypatch.setattr(Pattern, "moved_by", lambda *_: None)
    afresh = record(workload, kind=build, blocks="all")
    assert quick.counters == afresh.counters == counted.counters
    assert quick.findings == afresh.findings
    assert quick.outputs["C"].tobytes() == afresh.outputs["C"].tobytes()


def test_an_access_of_another_kind_is_no_repetition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.emulator.memory_unit._NARROW", 0)
    trace = record(_workload(1), blocks="all")
    events = [e for r in trace.records for e in r.accesses if e.pattern is not None]
    moved = [e for e in events if e.shift]
    assert moved
    for event in events:
        pattern = event.pattern
        assert np.array_equal(event.address, pattern.address + event.shift)
        assert pattern.shift(pattern.access, event.address, event.mask) == event.shift
        assert pattern.shift(object(), event.address, event.mask) is None
        beyond = event.address + pattern.region.nbytes
        assert pattern.shift(pattern.access, beyond, event.mask) is None
        if event.width > 1:
            assert pattern.shift(pattern.access, event.address + 1, event.mask) is None
        if event.address.size > 1:
            crooked = event.address.copy()
            crooked[-1] += event.width
            assert pattern.shift(pattern.access, crooked, event.mask) is None
        other = np.arange(95 * 3) % 2 == 0
        assert pattern.shift(pattern.access, event.address, other) is None


def test_gathers_give_up_the_search() -> None:
    trace = record(_workload(1), blocks=[0], only_recorded=True)
    by_pc: dict[int, int] = {}
    for r in trace.records:
        for event in r.accesses:
            if event.pattern is not None and not event.shift:
                by_pc[event.pc] = by_pc.get(event.pc, 0) + 1
    assert max(by_pc.values()) <= MOST_MISSES + 1


def test_a_record_keeps_no_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    with_patterns = record(_workload(2), blocks="all").records[0].accesses
    monkeypatch.undo()
    kept = record(_workload(2), blocks="all").records[0].accesses
    assert len(kept) == len(with_patterns) > 40
    for one, other in zip(kept, with_patterns, strict=True):
        assert one.pattern is None
        assert one.moved is None
        assert np.array_equal(one.address, other.address)


def counts_of(pattern: Pattern) -> list[object]:
    return [note for key, note in pattern.notes.items() if isinstance(key, int)]


@pytest.mark.parametrize("narrow", [0, 1024])
def test_an_access_that_repeats_is_counted_once(
    narrow: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.emulator.memory_unit._NARROW", narrow)
    counted = []
    count_one = CountingObserver._count
    monkeypatch.setattr(
        CountingObserver, "_count", lambda self, e: (counted.append(e), count_one(self, e))
    )
    trace = record(_workload(1), blocks="all")
    patterns = {id(e.pattern): e.pattern for r in trace.records for e in r.accesses}
    kept = [p for p in patterns.values() if p is not None]
    assert len(kept) > 3
    assert all(len(counts_of(p)) <= 32 for p in kept)  # the parts of a sector, or of a word
    accesses = [e for r in trace.records for e in r.accesses if e.pattern is not None]
    once = [e for e in counted if e.pattern is not None]
    assert len(once) == sum(len(counts_of(p)) for p in kept) < len(accesses)


@pytest.mark.slow
def test_few_lanes_remember_every_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a loop's turns alternate, the last pattern alone never comes again."""
    fresh = {}
    for narrow in (0, 1024):
        monkeypatch.setattr("core.emulator.memory_unit._NARROW", narrow)
        trace = record(_workload(1), blocks="all")
        events = [e for r in trace.records for e in r.accesses]
        fresh[narrow] = len(events) - sum(e.pattern is not None and bool(e.shift) for e in events)
    assert fresh[1024] < fresh[0]
