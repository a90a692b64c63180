"""Accesses of a block by its cluster's addresses, to its own memory and to others'.

`reaches()` makes them; `scripts/record_cluster.py` counts them on a GPU, and
tests/core/rules/test_reaching.py compares.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from core.launch import ArrayArgument, Dim3, Launch, Workload
from core.rules.counters import METRICS as ALL_METRICS

RECORDED = Path(__file__).parent / "data" / "hopper" / "reaching_h200.json"
_COUNTED = ("shared_ld", "shared_st", "shared_atom")
METRICS = {name: metric for name, metric in ALL_METRICS.items() if name.startswith(_COUNTED)}
BUILDS = {"as_written": ("-G",), "as_compiled": ()}
KINDS = {
    "add": ("int", "atomicAdd(to, 1);"),
    "add used": ("int", "sum += atomicAdd(to, 1);"),
    "add float": ("float", "atomicAdd(to, 1.0f);"),
    "add 8": ("unsigned long long", "atomicAdd(to, 3ull);"),
    "max 8": ("unsigned long long", "atomicMax(to, (unsigned long long)threadIdx.x);"),
    "exchange": ("int", "sum += atomicExch(to, threadIdx.x);"),
    "compare": ("int", "sum += atomicCAS(to, 0, threadIdx.x);"),
    "load": ("int", "sum += *to;"),
    "load 16": ("int4", "sum += to->x + to->y + to->z + to->w;"),
    "store": ("int", "*to = threadIdx.x;"),
    "store 8": ("int2", "*to = make_int2(threadIdx.x, 1);"),
}
"""By name: the type of an element, and what each lane does with its own (`to`)."""
SOURCE = r"""
// The lanes of the first block go to the elements of the blocks that they are given.
__global__ void KERNEL(int *out, const int *rank, const int *place)
{
    __shared__ ELEMENT box[64];
    int *words = (int *)box;
    for (int i = threadIdx.x; i < sizeof(box) / 4; i += 32) words[i] = 0;
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
    int sum = 0;
    if (__clusterRelativeBlockRank() == 0 && place[threadIdx.x] >= 0) {
        ELEMENT *to = (ELEMENT *)__cluster_map_shared_rank(box, rank[threadIdx.x]);
        to += place[threadIdx.x];
        OPERATION
    }
    __syncwarp();
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
    out[blockIdx.x * 32 + threadIdx.x] = words[threadIdx.x] + sum;
}
"""


@dataclass(frozen=True)
class Reach:
    """An access of a kind, in a build, in a cluster of so many blocks: each lane's block and place.

    A place of -1 is a lane that does nothing.
    """

    kind: str
    build: str
    pattern: str
    blocks: int
    ranks: tuple[int, ...]
    places: tuple[int, ...]

    @property
    def name(self) -> str:
        """All of it, in short."""
        return f"{self.kind}, {self.build}, {self.pattern}"


def _patterns() -> Iterator[tuple[str, int, np.ndarray, np.ndarray]]:
    lane = np.arange(32)
    zeros, ones, half, odd = lane * 0, lane * 0 + 1, lane // 16, lane % 2
    yield "others apart", 2, ones, lane
    yield "others one place", 2, ones, zeros
    yield "others two a bank", 2, ones, lane % 16 + 32 * half
    yield "own apart", 2, zeros, lane
    yield "own one place", 2, zeros, zeros
    yield "own two a bank", 2, zeros, lane % 16 + 32 * half
    yield "own pairs", 2, zeros, lane // 2
    yield "halves apart", 2, half, lane
    yield "halves alike", 2, half, lane % 16
    yield "every second", 2, odd, lane % 8 + 32 * (lane // 8 % 2)
    yield "halves of one place each", 2, half, zeros
    yield "own apart, others one place", 2, half, np.where(half == 0, lane, 3)
    yield "own one place, others apart", 2, half, np.where(half == 0, 3, lane)
    yield "four blocks", 4, lane // 8, lane % 8
    yield "three others", 4, 1 + lane % 3, lane // 3
    yield "one lane to another", 2, ones, np.where(lane == 5, 7, -1)
    yield "one own lane", 2, zeros, np.where(lane == 5, 7, -1)
    rng = np.random.default_rng(5)
    for number in range(6):
        blocks = (2, 2, 4, 4, 8, 2)[number]
        places = rng.integers(-8 if number == 5 else 0, 64, 32)
        yield f"random {number}", blocks, rng.integers(0, blocks, 32), np.maximum(places, -1)


def reaches() -> list[Reach]:
    """All; of code as written every third, without those in which lanes do nothing.

    After such a branch the machine's warps stay apart there, longer than we know how to tell.
    """
    return [
        Reach(kind, build, pattern, blocks, tuple(ranks.tolist()), tuple(places.tolist()))
        for build in BUILDS
        for kind in KINDS
        for number, (pattern, blocks, ranks, places) in enumerate(_patterns())
        if build == "as_compiled" or (number % 3 == 1 and places.min() >= 0)
    ]


def workload(reach: Reach) -> Workload:
    """The launch of one: a cluster, of which the first block accesses."""
    element, operation = KINDS[reach.kind]
    kernel = "reach_" + reach.kind.replace(" ", "_")
    return Workload(
        title=reach.name,
        source=SOURCE,
        source_name="reaching.cu",
        kernel=kernel,
        launch=Launch(
            Dim3(reach.blocks),
            Dim3(32),
            (
                ArrayArgument("out", np.zeros(32 * reach.blocks, np.int32), "inout"),
                ArrayArgument("rank", np.array(reach.ranks, np.int32), "input"),
                ArrayArgument("place", np.array(reach.places, np.int32), "input"),
            ),
            cluster=Dim3(reach.blocks),
        ),
        defines={"KERNEL": kernel, "ELEMENT": element, "OPERATION": operation},
        architecture="compute_90",
    )
