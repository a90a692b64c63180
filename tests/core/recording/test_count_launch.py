"""Counting one block of each kind gives what counting every block gives, or says that it cannot."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from core.errors import ParameterError
from core.ladder import Parameter, Rung, load_ladder
from core.launch import ArrayArgument, Dim3, Launch, ScalarArgument, Workload
from core.recording.count_launch import count

LADDER = load_ladder()

# Sizes at which blocks straddle the edge, rows start in the middle of a line, and tiles are odd.
AWKWARD = [
    ("vector_add", {"n": 1000}),
    ("vector_add", {"n": 1, "block_x": 32}),
    ("uncoalesced", {"n": 70, "tile": 16}),
    ("uncoalesced", {"n": 33, "block_x": 7, "block_y": 5}),
    ("coalesced", {"n": 100, "tile": 16}),
    ("coalesced", {"n": 31, "block_x": 7, "block_y": 3}),
    ("tiled", {"n": 96, "tile": 16}),
    ("tiled", {"n": 35, "tile": 5}),
    ("tiled_bounds", {"n": 37, "tile": 16}),
    ("tiled_bounds", {"n": 51, "tile": 5}),
    ("tiled_rect", {"m": 50, "n": 70, "k": 33, "tile": 8}),
    ("tiled_rect", {"m": 1, "n": 65, "k": 3, "tile": 32}),
    ("aat_strided", {"n": 75, "tile": 32}),
    ("aat_shared", {"n": 80, "tile": 5}),
    ("aat_padded", {"n": 64, "tile": 32}),
]


SIZES = (0, 1, 2, 3, 5, 7, 8, 9, 13, 16, 17, 24, 31, 32, 33, 40, 50, 64, 70, 96, 100, 129, 300)


def drawn(rung: Rung, seed: int) -> dict[str, int]:
    """Parameters that the rung accepts, of several blocks and soon run, most of them awkward."""
    random = Random(f"{rung.name} {seed}")
    for _ in range(5000):
        parameters = {p.name: drawn_value(p, random) for p in rung.parameters}
        try:
            workload = rung.blank_workload(**parameters)
        except ParameterError:
            continue
        threads = workload.launch.grid.count * workload.launch.block.count
        flops = 1e6 if rung.number < 30 else 4e5
        if workload.launch.grid.count > 1 and threads < 20_000 and (workload.flops or 0) < flops:
            return parameters
    raise AssertionError(f"{rung.name}: no parameters found")


def drawn_value(parameter: Parameter, random: Random) -> int:
    """Any awkward size; of what belongs together, such as tiles and warps, mostly the default."""
    if parameter.choices is not None and random.random() < 0.6:
        return parameter.default
    return random.choice([s for s in SIZES if parameter.minimum <= s <= parameter.maximum])


# These put blocks into groups of rows, by quotients and remainders of blockIdx.
REGROUPED = {"tuned", "tensor_tuned", "tensor_half"}
NOT_FOLLOWED = {
    "wgmma",
    "tma_pipeline",
    "warp_specialised",
    "clustered",
    "clustered_tf32",
}  # what waits for copies
DRAWS = [
    (name, i)
    for name in LADDER.names
    for i in range(2 if LADDER[name].number < 30 or name in REGROUPED else 1)
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "seed"), DRAWS)
def test_kinds_equal_every_block_on_every_rung(name: str, seed: int) -> None:
    parameters = drawn(LADDER[name], seed)
    workload = LADDER[name].workload(**parameters)
    quick, full = count(workload), count(workload, shortcut=False)
    assert bool(quick.kinds) == (not quick.note)  # it says so where it ran every block
    assert quick.kinds or LADDER[name].group == "broken" or name in NOT_FOLLOWED
    assert quick.counters == full.counters, parameters


@pytest.mark.slow
@pytest.mark.parametrize(("name", "parameters"), AWKWARD)
def test_kinds_equal_every_block(name: str, parameters: dict[str, int]) -> None:
    workload = LADDER[name].workload(**parameters)
    quick, full = count(workload), count(workload, shortcut=False)
    assert not quick.note
    assert sum(kind.count for kind in quick.kinds) == workload.launch.grid.count
    assert quick.counters == full.counters


@pytest.mark.slow
def test_kinds_are_few_where_blocks_are_many() -> None:
    counted = count(LADDER["tiled"].blank_workload(n=2048, tile=32))
    assert [kind.count for kind in counted.kinds] == [64 * 64]
    # Each of the 64 x 64 blocks loads two tiles of 32 rows (32 requests of 4 sectors) in 64 phases.
    assert counted.counters.totals["global_ld_sectors"].value == 64**2 * 64 * 2 * 32 * 4


REGROUP = """
extern "C" __global__ void regroup(const float* A, float* B, int n, int width, int group)
{
    int number = blockIdx.y * gridDim.x + blockIdx.x;
    int first = number / (group * gridDim.x) * group;
    int height = min(group, (int)gridDim.y - first);
    int row = first + number % (group * gridDim.x) % height;
    int col = (number % (group * gridDim.x) / height) ^ 1;
    int x = min((int)(col * blockDim.x + threadIdx.x), width - 1);
    float sum = 0;
    for (int i = 0; i <= row % 3; i++)
        sum += A[min(row + i, n - 1) * width + x];
    if (row < n && col * blockDim.x + threadIdx.x < width)
        B[row * width + x] = sum;
}
extern "C" __global__ void regroup_unsigned(
    const float* A, float* B, unsigned n, unsigned width, unsigned group)
{
    unsigned number = blockIdx.y * gridDim.x + blockIdx.x;
    unsigned first = number / (group * gridDim.x) * group;
    unsigned row = first + number % (group * gridDim.x) % min(group, gridDim.y - first);
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = A[number / 5 + threadIdx.x % 64] + A[number % 3 * 11 + threadIdx.x % 64];
    if (row < n && x < width)
        B[row * width + x] = sum + A[row * width + x];
}
extern "C" __global__ void linear(const float* A, float* B, int n, int width, int group)
{
    int i = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;
    int row = i / width, col = i % width;
    if (row < n)
        B[i] = A[col * n + row];
}
"""


def _regroup(kernel: str, n: int, width: int, group: int, threads: int) -> Workload:
    arguments = (
        ArrayArgument("A", np.arange(n * width, dtype=np.float32)),
        ArrayArgument("B", np.zeros(n * width, np.float32), "output"),
        *(ScalarArgument(k, np.int32(v)) for k, v in
          (("n", n), ("width", width), ("group", group))),
    )  # fmt: skip
    grid = Dim3(-(-width // threads) + (-(-width // threads)) % 2, n)
    launch = Launch(grid, Dim3(threads), arguments)
    return Workload(kernel, REGROUP, "regroup.cu", kernel, launch)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["as_written", "as_compiled"])
@pytest.mark.parametrize(
    ("n", "width", "group", "threads"),
    [(7, 100, 3, 32), (13, 96, 4, 32), (9, 70, 2, 64), (5, 333, 5, 48), (1, 65, 8, 32)],
)
@pytest.mark.parametrize("kernel", ["regroup", "regroup_unsigned"])
def test_blocks_that_are_regrouped_are_followed(kernel, n, width, group, threads, kind) -> None:
    workload = _regroup(kernel, n, width, group, threads)
    quick, full = count(workload, kind=kind), count(workload, kind=kind, shortcut=False)
    assert not quick.note
    fewest = 1 if kernel == "regroup_unsigned" else 2
    assert fewest <= len(quick.kinds) < workload.launch.grid.count or n == 1
    assert sum(kind.count for kind in quick.kinds) == workload.launch.grid.count
    assert quick.counters == full.counters


@pytest.mark.parametrize("kind", ["as_written", "as_compiled"])
@pytest.mark.parametrize(("width", "followed"), [(128, True), (100, False)])
def test_rows_of_a_linear_index_are_followed_where_a_block_lies_in_one(
    width, followed, kind
) -> None:
    workload = _regroup("linear", 6, width, 1, 64)
    quick, full = count(workload, kind=kind), count(workload, kind=kind, shortcut=False)
    assert bool(quick.kinds) == followed
    assert ("not a fixed step from block to block" in quick.note) == (not followed)
    assert quick.counters == full.counters


ATOMICS = """
extern "C" __global__ void spread(int* cells, int apart, int step)
{
    int place = blockIdx.x * step + threadIdx.x * apart;
    atomicAdd(&cells[place], 1);
    atomicAdd(&cells[place / 2], 1);
}
"""


@pytest.mark.parametrize(("apart", "step"), [(5, 32), (13, 24), (1, 16), (40, 500)])
def test_atomics_are_counted_at_each_blocks_place(apart, step) -> None:
    blocks = 150
    cells = ArrayArgument("cells", np.zeros(blocks * step + 32 * apart, np.int32), "inout")
    scalars = (ScalarArgument("apart", np.int32(apart)), ScalarArgument("step", np.int32(step)))
    launch = Launch(Dim3(blocks), Dim3(32), (cells, *scalars))
    workload = Workload("spread", ATOMICS, "spread.cu", "spread", launch)
    quick, full = count(workload), count(workload, shortcut=False)
    assert [kind.count for kind in quick.kinds] == [blocks]
    assert quick.counters == full.counters


GATHER = """
extern "C" __global__ void gather(const float* A, const int* index, float* C, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        C[i] = A[index[i]];
}
extern "C" __global__ void collatz(const float* A, const int* index, float* C, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int steps = 0;
    for (int value = i < n ? index[i] : 1; value > 1; steps++)
        value = value % 2 ? 3 * value + 1 : value / 2;
    if (i < n)
        C[i] = steps;
}
"""


def _user_workload(kernel: str, n: int) -> Workload:
    generator = np.random.default_rng(3)
    arguments = (
        ArrayArgument("A", generator.random(n, dtype=np.float32)),
        ArrayArgument("index", generator.integers(0, n, n, dtype=np.int32)),
        ArrayArgument("C", np.full(n, np.nan, np.float32), "output"),
        ScalarArgument("n", np.int32(n)),
    )
    launch = Launch(Dim3(-(-n // 64)), Dim3(64), arguments)
    return Workload(kernel, GATHER, "gather.cu", kernel, launch)


@pytest.mark.parametrize(("kernel", "what"), [("gather", "an address"), ("collatz", "condition")])
def test_data_decides_so_every_block_is_run(kernel: str, what: str) -> None:
    workload = _user_workload(kernel, 300)
    counted, full = count(workload), count(workload, shortcut=False)
    assert counted.note.startswith("Every block was run: ")
    assert what in counted.note
    assert not counted.kinds
    assert counted.counters == full.counters


BY_REFERENCE = """
__device__ __noinline__ void next(const float*& at, int& left)
{
    at += 32;
    left -= 1;
}
extern "C" __global__ void walk(const float* A, float* C, int n)
{
    const float* at = A + blockIdx.x * 64 + threadIdx.x;
    int left = n;
    float value = 0.0f;
    while (left > 0) {
        value += *at;
        next(at, left);
    }
    C[blockIdx.x * blockDim.x + threadIdx.x] = value;
}
"""


def test_pointers_in_local_memory_are_followed() -> None:
    """A debug build keeps on the stack what is passed by reference."""
    generator = np.random.default_rng(5)
    arguments = (
        ArrayArgument("A", generator.random(9 * 64 + 7 * 32, dtype=np.float32)),
        ArrayArgument("C", np.zeros(9 * 48, np.float32), "output"),
        ScalarArgument("n", np.int32(7)),
    )
    workload = Workload(
        "walk", BY_REFERENCE, "walk.cu", "walk", Launch(Dim3(9), Dim3(48), arguments)
    )
    quick, full = count(workload), count(workload, shortcut=False)
    assert "ld.local" in quick.build.ptx or "cvta.local" in quick.build.ptx
    assert not quick.note
    assert quick.counters == full.counters
