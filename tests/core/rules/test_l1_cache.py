"""The L1 estimate's own rules, which blocks share an SM, and the hard cases, against an H200.

docs/l1.md says how far off it is; tests/core/test_reference.py compares more with the hardware.
"""

import json

import numpy as np
import pytest

from core.errors import BudgetExceeded
from core.launch import ArrayArgument, Dim3, Launch, ScalarArgument, Workload
from core.recording.record_launch import record
from core.rules.l1_cache import (
    ATOMIC,
    LOAD,
    PART,
    SMS,
    WHOLE,
    L1Cache,
    L1Model,
    L1Probe,
    model_of,
    sm_of,
)
from tests.l1_sampling import sample_l1
from tests.l1_set import FOLDER, load_l1_launches, measured, placements
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


def load(cache, sectors):
    return cache.visit(sectors, np.full(len(sectors), LOAD, np.int8))


@pytest.mark.parametrize("seed", range(20))
def test_cache_equals_a_plain_lru(seed):
    random = np.random.default_rng(seed)
    lines = int(random.integers(2, 40))
    sectors = random.integers(0, int(random.integers(4, 300)), 600)
    cache = L1Cache(lines, skipped=0)
    found = [load(cache, part) for part in np.split(sectors, np.sort(random.integers(1, 600, 30)))]
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
    load(cache, np.arange(0, 16, 4))
    stores = np.arange(100, 112, 4)
    cache.visit(stores, np.full(len(stores), PART, np.int8))
    assert cache.evicted
    assert load(cache, np.array([12, 0])).tolist() == [True, False]


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


RECORD = json.loads((FOLDER / "h200_2026-11-21.json").read_text(encoding="utf-8"))["placements"]


@pytest.mark.parametrize(("place", "resident"), [(0, 32), (1, 8), (2, 2)])
def test_the_blocks_that_start_at_once_share_sms_as_on_the_gpu(place, resident):
    assert placements()[place].launch.block.count * resident == 2048
    theirs = np.array(RECORD[place])[: SMS * resident]
    ours = sm_of(np.arange(SMS * resident), SMS * resident, SMS, resident)
    assert (np.bincount(ours) == resident).all()
    pairs = np.unique(np.stack([ours, theirs]), axis=1)
    assert pairs.shape[1] == SMS  # one to one: only the names of the SMs differ


def test_later_blocks_go_anywhere_but_as_many_to_each_sm():
    first, rounds = SMS * 8, 5
    blocks = np.arange(first + SMS * rounds)
    places = sm_of(blocks, len(blocks), SMS, 8)
    assert (np.bincount(places[first:]) == rounds).all()
    assert (places[first:] != np.tile(places[first : first + SMS], rounds)).mean() > 0.7
    some = blocks[::7]
    assert (sm_of(some, len(blocks), SMS, 8) == places[::7]).all()  # a block's place is its own


def test_other_gpus_deal_their_blocks_out_in_turn():
    assert sm_of(np.arange(7), 7, 3, 2).tolist() == [0, 1, 2, 0, 1, 2, 0]


def test_up_to_as_many_blocks_as_sms_have_one_each():
    assert sorted(sm_of(np.arange(SMS), SMS, SMS, 8)) == list(range(SMS))


HARD_LAUNCHES = {launch.name: launch for launch in load_l1_launches()}
# Hit rates may be off by this much, for launches that begin so. The bounds are what was found,
# rounded up: a better model may lower them.
BOUNDS = {
    "stored-": 0.0,
    "period-": 0.01,
    "same-": 0.001,
    "walk-32k": 0.0,
    "walk-208k": 0.0,
    "walk-216k": 0.0,
    "walk-224k": 0.05,
    "walk-240k": 0.05,
    "walk-256k": 0.02,
    "walk-288k": 0.02,
    "walk-sectors-240k": 0.05,
    "walk-32-warps-240k": 0.002,
    "stride-32-1800": 0.03,
    "stride-128-1024": 0.0,
    "shared-32-132k": 0.03,
    "shared-256-8k": 0.03,
    "shared-1024-16k": 0.0,
    "shared-48k-walk-1408": 0.1,
    "crowd-256-64": 0.0,
    "gather-64k": 0.02,
    "gather-256k": 0.02,
    "gather-near": 0.01,
    "matvec-4096x1024": 0.001,
    "matvec-8192x100": 0.001,
    "array-of-structs": 0.01,
    "stencil-256x96x64": 0.005,
    "stencil-128x128x128": 0.005,
    "uncoalesced-256-16x16": 0.005,
    "coalesced-256-16x16": 0.01,
    "coalesced-256-32x4": 0.03,
    "coalesced-512-16x16": 0.01,
    "aat_padded-256-32": 0.0,
    "transpose_plain-512x512-32x8": 0.0,
}
CASES = [
    (name, bound)
    for start, bound in BOUNDS.items()
    for name in HARD_LAUNCHES
    if name.startswith(start) and (start.endswith("-") or name == start)
]


def test_the_record_is_of_the_launches():
    wanted = {(launch.name, build) for launch in HARD_LAUNCHES.values() for build in launch.builds}
    assert set(measured()) == wanted
    assert len(CASES) >= 60


@pytest.mark.slow
@pytest.mark.parametrize(("name", "bound"), CASES)
def test_hit_rate_is_near_the_hardware(name, bound):
    row = measured()[name, "as_compiled"]
    sms = max(1, min(132, int(120_000 / (row["sectors"] / 132))))
    sample = sample_l1(HARD_LAUNCHES[name].workload, sms)
    assert sample.sms <= sms
    rate = row["hits"] / row["sectors"]
    again = [abs(hits - row["hits"]) / row["sectors"] for hits in row["hits_again"]]
    assert max(again) <= 0.03, "the counter itself scatters"
    assert not abs(sample.estimate.total.hit_rate - rate) > bound + 1e-9


def test_all_sms_are_the_whole_launch():
    name = "transpose_plain-256x256-16x16"
    sample = sample_l1(HARD_LAUNCHES[name].workload, 132)
    assert sample.blocks == sample.of == 256
    assert sample.estimate.total.sectors == measured()[name, "as_compiled"]["sectors"]
