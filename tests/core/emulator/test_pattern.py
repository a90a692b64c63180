"""Accesses that repeat an earlier one, moved as a whole, give what they give looked at afresh."""

from __future__ import annotations

import numpy as np
import pytest

from core.emulator.block_record import ChunkRecord
from core.emulator.events import MOST_MISSES, Pattern
from core.launch import ArrayArgument, Dim3, Launch, ScalarArgument, Workload
from core.recording.count_launch import count
from core.recording.record_launch import record
from core.rules.counting_observer import CountingObserver


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
