"""Sectors, lines, wavefronts and conflicts against a reference that looks at one lane at a time."""

from __future__ import annotations

import dataclasses
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.recording import count_launch
from core.recording.record_launch import record
from core.rules import global_memory, shared_memory
from core.trace import EventKind
from core.trace.access import WarpAccess
from tests.core.emulator.machines import line_of, trace_of, workload

MANY = settings(max_examples=60, deadline=None, derandomize=True, database=None)
BASE = 1 << 46


def warp(addresses, active, width: int, space: str = "global") -> WarpAccess:
    return WarpAccess(
        0, "load", space, width, 1, None, np.array(addresses, np.int64), np.array(active, bool),
        np.zeros(32, np.float32),
    )  # fmt: skip


def accesses(seed: int, width: int) -> tuple[list[int], list[bool]]:
    """Addresses of 32 lanes: strides, gathers, few places, each with some lanes idle."""
    rng = random.Random(seed)
    way = rng.randrange(4)
    if way == 0:
        stride, start = rng.randint(0, 70), rng.randint(0, 60)
        places = [start + stride * i for i in range(32)]
    elif way == 1:
        places = [rng.randrange(4000) for _ in range(32)]
    elif way == 2:
        few = [rng.randrange(600) for _ in range(rng.randint(1, 4))]
        places = [rng.choice(few) for _ in range(32)]
    else:
        places = [i ^ rng.choice([0, 1, 5]) for i in range(32)]
    share = rng.choice([1.0, 1.0, 0.7, 0.1])
    active = [rng.random() < share for _ in range(32)]
    return [width * p for p in places], active


CASES = st.tuples(st.integers(0, 2**32), st.sampled_from([1, 2, 4, 8, 16]))


@MANY
@given(CASES)
def test_sectors_and_lines(case) -> None:
    seed, width = case
    offsets, active = accesses(seed, width)
    addresses = [BASE + o for o in offsets]
    used: dict[int, set[int]] = {}
    for address, on in zip(addresses, active, strict=True):
        for byte in range(address, address + width) if on else ():
            used.setdefault(byte // 32 * 32, set()).add(byte)
    rows, mask = np.array([addresses], np.int64), np.array([active])
    assert global_memory.sectors(rows, mask).tolist() == [len(used)]
    assert global_memory.lines(rows, mask).tolist() == [len({s // 128 for s in used})]
    if all(active):
        assert global_memory.sectors(rows, None).tolist() == [len(used)]
    view = warp(addresses, active, width)
    assert view.sectors.tolist() == sorted(used)
    assert view.bytes_used.tolist() == [len(used[s]) for s in sorted(used)]
    assert view.lines.tolist() == sorted({s // 128 * 128 for s in used})
    assert view.n_sectors == len(used)


@MANY
@given(CASES)
def test_least_sectors(case) -> None:
    """Nsight Compute's ideal: the active lanes' bytes side by side, at most the actual."""
    seed, width = case
    offsets, active = accesses(seed, width)
    view = warp([BASE + o for o in offsets], active, width)
    assert view.ideal_sectors == min(view.n_sectors, math.ceil(sum(active) * width / 32))


def words_by_bank(offsets, active, width: int) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {}
    for offset, on in zip(offsets, active, strict=True):
        for word in range(offset // 4, (offset + width - 1) // 4 + 1) if on else ():
            found.setdefault(word % 32, set()).add(word)
    return found


@MANY
@given(st.integers(0, 2**32), st.sampled_from([1, 2, 4]))
def test_wavefronts_of_narrow_accesses(seed, width) -> None:
    offsets, active = accesses(seed, width)
    by_bank = words_by_bank(offsets, active, width)
    want = max((len(words) for words in by_bank.values()), default=0)
    rows, mask = np.array([offsets], np.int64), np.array([active])
    assert shared_memory.wavefronts(rows, mask, width).tolist() == [want]
    if all(active):
        assert shared_memory.wavefronts(rows, None, width).tolist() == [want]
    view = warp(offsets, active, width, "shared")
    assert view.wavefronts == want
    assert view.conflicts == max(want - 1, 0)
    assert view.ways.tolist() == [len(by_bank.get(b, ())) for b in range(32)]
    for lane, on in enumerate(active):
        assert view.banks[lane] == (offsets[lane] // 4 % 32 if on else -1)


@pytest.mark.parametrize("rows", [1, 7])
def test_rows_are_counted_independently(rows) -> None:
    rng = np.random.default_rng(rows)
    offsets = rng.integers(0, 500, (rows, 32)) * 4
    active = rng.random((rows, 32)) < 0.6
    for count in (global_memory.sectors, global_memory.lines):
        one_by_one = [count(offsets[i : i + 1], active[i : i + 1])[0] for i in range(rows)]
        assert count(offsets, active).tolist() == one_by_one
    one_by_one = [
        shared_memory.wavefronts(offsets[i : i + 1], active[i : i + 1], 4)[0] for i in range(rows)
    ]
    assert shared_memory.wavefronts(offsets, active, 4).tolist() == one_by_one


# -- closed forms -----------------------------------------------------------------------------


@pytest.mark.parametrize("stride", range(1, 65))
def test_strides(stride) -> None:
    """Floats `stride` apart: 32 stride / 8 sectors up to one a lane; gcd(stride, 32) wavefronts."""
    lanes = [True] * 32
    offsets = [4 * stride * i for i in range(32)]
    view = warp([BASE + o for o in offsets], lanes, 4)
    last = 4 * stride * 31
    assert view.n_sectors == (32 if stride >= 8 else last // 32 + 1)
    assert view.ideal_sectors == 4
    touched = {o // 128 for o in offsets}
    assert len(view.lines) == len(touched) == (32 if stride >= 32 else last // 128 + 1)
    shared = warp(offsets, lanes, 4, "shared")
    assert shared.wavefronts == math.gcd(stride, 32)
    assert shared.conflicts == math.gcd(stride, 32) - 1


def test_broadcast_and_offsets() -> None:
    lanes = [True] * 32
    same = warp([BASE + 100] * 32, lanes, 4)
    assert (same.n_sectors, same.ideal_sectors, same.bytes_used.tolist()) == (1, 1, [4])
    assert warp([52] * 32, lanes, 4, "shared").wavefronts == 1
    for offset in range(9):
        view = warp([BASE + 4 * (i + offset) for i in range(32)], lanes, 4)
        assert view.n_sectors == (4 if offset % 8 == 0 else 5)
        assert len(view.lines) == (1 if offset == 0 else 2)
        assert view.bytes_used.sum() == 128


@pytest.mark.parametrize("pad", range(4))
def test_padding_a_column_access(pad) -> None:
    offsets = [4 * (32 + pad) * i for i in range(32)]
    view = warp(offsets, [True] * 32, 4, "shared")
    assert view.wavefronts == math.gcd(32 + pad, 32)


@pytest.mark.parametrize(("width", "groups"), [(8, 2), (16, 4)])
def test_wide_rows_go_by_halves_and_quarters(width, groups) -> None:
    """Consecutive elements of 8 or 16 bytes fill 32 banks two or four times."""
    view = warp([width * i for i in range(32)], [True] * 32, width, "shared")
    assert view.wavefronts == view.ideal_wavefronts == groups
    assert view.conflicts == 0
    spread = warp([128 * i for i in range(32)], [True] * 32, width, "shared")
    assert spread.wavefronts == 32
    assert spread.conflicts == 32 - groups


@pytest.mark.parametrize(
    ("width", "sharing", "want"),
    [
        *((8, "merged", 1), (8, "grouped", 2), (8, "apart", 32)),
        *((16, "merged", 2), (16, "grouped", 4), (4, "apart", 32), (4, "grouped", 1)),
    ],
)
def test_one_element_for_all_depends_on_who_asks(width, sharing, want) -> None:
    """`ld.shared` merges halves or quarters, generic loads and stores do not, atomics go apart."""
    rows = np.full((1, 32), 64)
    assert shared_memory.wavefronts(rows, None, width, sharing).tolist() == [want]
    view = warp([64] * 32, [True] * 32, width, "shared")
    assert dataclasses.replace(view, sharing=sharing).wavefronts == want


def test_nobody_active() -> None:
    rows, mask = np.zeros((2, 32), np.int64), np.zeros((2, 32), bool)
    mask[1, 3] = True
    assert global_memory.sectors(rows, mask).tolist() == [0, 1]
    assert shared_memory.wavefronts(rows, mask, 4).tolist() == [0, 1]


# -- through the emulator ---------------------------------------------------------------------

STRIDED = """
extern "C" __global__ void k(float* out, const float* in, int stride, int offset)
{
    __shared__ float s[32 * 33];
    int t = threadIdx.x;
    s[t * stride % (32 * 33)] = in[t * stride + offset];
    __syncthreads();
    out[t] = s[t * stride % (32 * 33)];
}
"""


@pytest.mark.parametrize(("stride", "offset"), [(1, 0), (1, 3), (2, 0), (8, 1), (32, 0), (33, 0)])
def test_counters_of_a_launch(stride, offset) -> None:
    arguments = {"out": np.zeros(32, np.float32), "in": np.ones(1100, np.float32),
                 "stride": np.int32(stride), "offset": np.int32(offset)}  # fmt: skip
    trace = trace_of(STRIDED, arguments)
    totals = trace.counters.totals
    sectors = len({(t * stride + offset) // 8 for t in range(32)})
    assert (totals["global_ld_requests"].value, totals["global_ld_sectors"].value) == (1, sectors)
    assert totals["global_ld_sectors"].ideal == 4
    assert totals["global_ld_sectors"].excessive == sectors - 4
    assert (totals["global_st_requests"].value, totals["global_st_sectors"].value) == (1, 4)
    for name in ("ld", "st"):
        assert totals[f"shared_{name}_requests"].value == 1
        assert totals[f"shared_{name}_wavefronts"].value == math.gcd(stride, 32)
        assert totals[f"shared_{name}_wavefronts"].ideal == 1
        assert totals[f"shared_{name}_conflicts"].value == math.gcd(stride, 32) - 1
    by_array = trace.counters.by_array
    assert by_array["in"]["global_ld_sectors"].value == sectors
    assert by_array["out"]["global_ld_sectors"].value == 0
    assert by_array["s"]["shared_st_requests"].value == 1
    line = line_of(STRIDED, "in[t * stride")
    assert trace.counters.by_line[line]["global_ld_sectors"].value == sectors
    assert trace.counters.by_line[line]["shared_st_conflicts"].value == math.gcd(stride, 32) - 1
    block = trace.block(0)
    load = int(np.flatnonzero(block.kind == EventKind.LOAD)[0])
    view = block.access(load).warp(0)
    assert view.n_sectors == sectors
    for table in (trace.counters.by_array, trace.counters.by_line):
        for name, count in totals.items():
            if name == "barriers" and table is trace.counters.by_array:
                continue  # they are of no array
            assert sum(c[name].value for c in table.values()) == count.value, name
            assert sum(c[name].ideal for c in table.values()) == count.ideal, name


BARRIERS = """
extern "C" __global__ void k(float* out, int n)
{
    __shared__ float s[96];
    int t = threadIdx.x;
    for (int i = 0; i < n; i++) {
        s[t] = i;
        __syncthreads();
    }
    if (t >= 64)
        return;
    __syncthreads();
    out[t] = s[95 - t];
}
"""


@pytest.mark.parametrize("n", [0, 3])
@pytest.mark.parametrize("ends", ["return;", ";"])
def test_barriers_count_once_for_each_warp_that_comes(n: int, ends: str) -> None:
    """Threads that have ended let the others through a barrier: these came only once."""
    arguments = {"out": np.zeros(96, np.float32), "n": np.int32(n)}
    made = workload(BARRIERS.replace("return;", ends), arguments, grid=5, block=96)
    by_kind = count_launch.count(made)
    every_block = count_launch.count(made, shortcut=False)
    assert len(by_kind.kinds) == (1 if ends == ";" else 0)  # a barrier without all is a fault
    last = 2 if ends == "return;" else 3
    for counters in (record(made).counters, by_kind.counters, every_block.counters):
        assert counters.totals["barriers"].value == 5 * (3 * n + last)
        assert counters.totals["barriers"].excessive == 0
        assert counters.by_line[12]["barriers"].value == 5 * last
        assert not any(counts["barriers"].value for counts in counters.by_array.values())
