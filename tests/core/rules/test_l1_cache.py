"""The L1 estimate's own rules; tests/core/test_reference.py compares it with the hardware."""

import numpy as np
import pytest

from core.errors import BudgetExceeded
from core.launch import ArrayArgument, Dim3, Launch, ScalarArgument, Workload
from core.recording.record_launch import record
from core.rules.l1_cache import ATOMIC, LOAD, PART, WHOLE, L1Cache, L1Model, L1Probe, model_of
from tests.reference_set import load_launches

LAUNCHES = {launch.name: launch for launch in load_launches()}

REPEAT = """extern "C" __global__ void repeat(const float* in, float* out, int apart, int times)
{
    int place = blockIdx.x * apart + threadIdx.x;
    float sum = 0;
    for (int i = 0; i < times; i++)
        sum += in[place + i * 32];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
"""


def estimate(workload, kind="as_written", **options):
    probe = L1Probe(**options)
    trace = record(workload, kind=kind, blocks=[0], checks=False, l1=probe)
    return probe.estimate(), trace.counters


def repeat(blocks, apart, times, threads=32):
    size = blocks * apart + threads + times * 32
    arguments = (
        ArrayArgument("in", np.ones(size, "f4"), "input"),
        ArrayArgument("out", np.zeros(blocks * threads, "f4"), "output"),
        ScalarArgument("apart", np.int32(apart)),
        ScalarArgument("times", np.int32(times)),
    )
    launch = Launch(Dim3(blocks), Dim3(threads), arguments)
    return Workload("repeat", REPEAT, "repeat.cu", "repeat", launch)


def test_arrays_and_lines_add_up():
    found, counters = estimate(LAUNCHES["stencil-3d"].workload)
    for parts, counted in (
        (found.by_array, counters.by_array),
        (found.by_line, counters.by_line),
    ):
        assert sum(part.hits for part in parts.values()) == found.total.hits
        loads = {key: row["global_ld_sectors"].value for key, row in counted.items()}
        assert {key: part.sectors for key, part in parts.items()} == {
            key: value for key, value in loads.items() if value
        }


def plain_lru(sectors, lines):
    """The cache as a list, the least recently used line first."""
    kept, hits = [], []
    for sector in sectors:
        line = next((one for one in kept if one[0] == sector // 4), None)
        hits.append(line is not None and sector in line[1])
        if line is None:
            line = (sector // 4, set())
            kept = kept[len(kept) >= lines :]
        else:
            kept.remove(line)
        line[1].add(sector)
        kept.append(line)
    return hits


@pytest.mark.parametrize("seed", range(20))
def test_cache_equals_a_plain_lru(seed):
    """In pieces of any length, so that the ways with and without evictions follow each other."""
    random = np.random.default_rng(seed)
    lines = int(random.integers(2, 40))
    sectors = random.integers(0, int(random.integers(4, 300)), 600)
    cache = L1Cache(lines, skipped=0)
    found = [cache.load(part) for part in np.split(sectors, np.sort(random.integers(1, 600, 30)))]
    wanted = plain_lru(sectors.tolist(), lines)
    assert np.concatenate(found).tolist() == wanted
    assert cache.evicted == (len(np.unique(sectors // 4)) > lines)


def test_blocks_of_one_sm_share_its_cache():
    """Three SMs, eight blocks that load the same four sectors: each SM misses them once."""
    workload = repeat(blocks=8, apart=0, times=1)
    for resident in (1, 2, 16):
        found, _ = estimate(workload, model=L1Model(3, resident, 128))
        assert (found.total.sectors, found.total.hits) == (32, 32 - 3 * 4)
        assert found.extrapolated
    alone, _ = estimate(workload, model=L1Model(8, 1, 128))
    assert (alone.total.hits, alone.extrapolated) == (0, False)


def test_blocks_held_together_crowd_each_other_out():
    """Two blocks walk the same 64 lines with room for 32: in step they share, in turn they do not.

    Block 2 meets block 0 on SM 0 of two.
    """
    workload = repeat(blocks=4, apart=0, times=64)
    together, _ = estimate(workload, model=L1Model(2, 2, 32))
    in_turn, _ = estimate(workload, model=L1Model(2, 1, 32))
    assert together.total.sectors == in_turn.total.sectors == 4 * 64 * 4
    assert together.total.hits == 2 * 64 * 4
    assert in_turn.total.hits < together.total.hits // 4  # not 0: one of the oldest lines goes


def test_what_stores_and_atomics_do_to_a_line():
    cache = L1Cache(8)
    visits = [
        (0, WHOLE), (0, LOAD),  # filled by the store
        (1, PART), (1, LOAD), (1, PART), (1, LOAD),  # not by a part, which does no harm either
        (0, ATOMIC), (0, LOAD), (0, LOAD), (5, ATOMIC), (5, LOAD),  # dropped
    ]  # fmt: skip
    sectors, kinds = (np.array(part) for part in zip(*visits, strict=True))
    found = cache.visit(sectors.astype(np.int64), kinds.astype(np.int8))
    hits = [bool(hit) for hit, (_, kind) in zip(found, visits, strict=True) if kind == LOAD]
    assert hits == [True, False, True, False, True, False]
    assert not any(hit for hit, (_, kind) in zip(found, visits, strict=True) if kind != LOAD)


def test_stores_take_room():
    """Four lines loaded, then stores to others: some of the four are gone."""
    cache = L1Cache(4, skipped=0)
    cache.load(np.arange(0, 16, 4))
    stores = np.arange(100, 112, 4)
    cache.visit(stores, np.full(len(stores), PART, np.int8))
    assert cache.evicted
    assert cache.load(np.array([12, 0])).tolist() == [True, False]


def test_waves_that_end_inside_a_run_of_blocks():
    """700 blocks of 32 run 256 at a time here; the waves of 5 x 7 blocks end elsewhere."""
    workload = repeat(blocks=700, apart=8, times=3)
    found, _ = estimate(workload, model=L1Model(5, 7, 8192))
    touched = [set() for _ in range(5)]
    for block in range(700):
        first = block * 8 // 8
        touched[block % 5] |= {first + s for s in range(12)}
    assert found.total.sectors == 700 * 12
    assert found.total.hits == 700 * 12 - sum(map(len, touched))


def test_what_does_not_fit_in_memory_is_refused():
    with pytest.raises(BudgetExceeded, match="smaller size"):
        estimate(repeat(blocks=2, apart=32, times=9), most_visits=50)


@pytest.mark.parametrize(
    ("threads", "kib", "carved"),
    [
        (32, 0, 32), (32, 1, 64), (32, 4, 164), (32, 8, 228), (32, 48, 196), (64, 3, 132),
        (96, 3, 132), (96, 6, 164), (128, 2, 100), (128, 4, 132), (128, 8, 164), (160, 12, 164),
        (192, 2, 64), (192, 16, 196), (256, 0, 32), (256, 1, 32), (256, 2, 64), (256, 4, 100),
        (256, 8, 132), (256, 16, 164), (256, 20, 196), (320, 4, 64), (320, 24, 164), (384, 2, 32),
        (384, 32, 196), (512, 0, 16), (512, 3, 32), (512, 40, 164), (640, 4, 32), (640, 12, 100),
        (640, 64, 196), (768, 0, 8), (768, 3, 16), (768, 24, 100), (768, 96, 196), (1024, 0, 8),
        (1024, 3, 8), (1024, 8, 32), (1024, 24, 64), (1024, 48, 100), (1024, 64, 132),
        (1024, 96, 196),
    ],
)  # fmt: skip
def test_carve_out_is_the_drivers(threads, kib, carved):
    """`launch__shared_mem_config_size` on an H200, driver 580.159, 2026-11-21."""
    assert model_of(threads, kib << 10).lines == (256 - carved) * 8 - 20
