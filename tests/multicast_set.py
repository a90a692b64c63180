"""Boxes that a tensor map brings to one block of a cluster, or to both, and what a GPU counts.

`boxes()` makes them; `scripts/record_cluster.py` counts their sectors on a GPU, and
tests/core/rules/test_multicast.py compares.
"""

from __future__ import annotations

import itertools
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np

from core.launch import ArrayArgument, Dim3, Launch, Member, ScalarArgument, Workload
from core.tensor_maps import TensorMap

RECORDED = Path(__file__).parent / "data" / "hopper" / "multicast_h200.json"
ROWS = 200  # of the array
SOURCE = r"""
struct alignas(64) Map { unsigned long long words[16]; };

__device__ __forceinline__ unsigned address(const void* pointer)
{
    return (unsigned)__cvta_generic_to_shared(pointer);
}

// The first block of a cluster of two copies a box into the blocks that `mask` names.
extern "C" __global__ void __cluster_dims__(2, 1, 1)
KERNEL(const __grid_constant__ Map from, int column, int row, int bytes, int mask, int* out)
{
    __shared__ __align__(1024) unsigned char tile[32768];
    __shared__ __align__(8) unsigned long long full;
    unsigned rank, barrier = address(&full);
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    bool gets = mask >> rank & 1;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(barrier));
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        if (gets)
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                         :: "r"(barrier), "r"(bytes));
    }
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
    if (threadIdx.x == 0 && rank == 0)
#if MULTICAST
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global"
                     ".mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;"
                     :: "r"(address(tile)), "l"(&from), "r"(column), "r"(row), "r"(barrier),
                        "h"((short)mask) : "memory");
#else
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global"
                     ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                     :: "r"(address(tile)), "l"(&from), "r"(column), "r"(row), "r"(barrier)
                     : "memory");
#endif
    if (gets)
        asm volatile("{ .reg .pred over; again: "
                     "mbarrier.try_wait.parity.shared::cta.b64 over, [%0], 0; @!over bra again; }"
                     :: "r"(barrier) : "memory");
    asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");
    if (threadIdx.x == 0)
        out[blockIdx.x] = gets ? tile[0] : -1;
}
"""  # noqa: E501


@dataclass(frozen=True)
class Box:
    """A box of 16-bit elements of an array of `ROWS` rows; `mask` names the blocks that get it.

    `mask` 0 is a copy without multicast, to the first block. The swizzle is in bytes, the rest in
    elements.
    """

    swizzle: int
    width: int
    height: int
    columns: int
    column: int
    row: int
    mask: int

    @property
    def name(self) -> str:
        """All of it."""
        return "-".join(map(str, astuple(self)))


def boxes() -> list[Box]:
    """Boxes at all sorts of places, over the edges of their array as well."""
    inside = [
        Box(swizzle, width, height, columns, column, 5, mask)
        for (swizzle, width), columns, column in itertools.product(
            ((128, 64), (0, 16), (64, 32), (32, 16)), (248, 256), (0, 8, 200)
        )
        for height in ((1, 3, 8, 32) if width == 64 else (8,))
        for mask in range(4)
    ]
    edges = [
        Box(swizzle, width, 8, columns, column, 5, 1)
        for (swizzle, width), columns, column in itertools.product(
            ((128, 64), (0, 8), (0, 16), (0, 24), (64, 32), (0, 128), (0, 248)),
            (248, 256),
            (-104, -48, -32, -8, 0, 8, 16, 24, 32, 200, 208, 224, 232, 240),
        )
    ]
    above = [
        Box(swizzle, width, 8, columns, 8, row, 2)
        for swizzle, width in ((128, 64), (0, 24), (0, 128), (0, 248))
        for columns, row in ((256, 196), (248, -3), (248, 198))
    ]
    found = [*inside, *edges, *above]
    return list({box.name: box for box in found}.values())


def workload(box: Box) -> Workload:
    """The launch of a box's copy: one cluster."""
    data = np.arange(ROWS * box.columns, dtype=np.uint16).reshape(ROWS, box.columns)
    what = TensorMap.of_array(data.shape, 2, (box.width, box.height), box.swizzle)
    numbers = {
        "column": box.column,
        "row": box.row,
        "bytes": 2 * box.width * box.height,
        "mask": box.mask or 1,
    }
    arguments = (
        ArrayArgument("from", data, "inout", Member("from", 0, 128, 64), map=what),
        *(ScalarArgument(name, np.int32(number)) for name, number in numbers.items()),
        ArrayArgument("out", np.zeros(2, np.int32), "inout"),
    )
    kernel = "multicast" if box.mask else "copy"
    return Workload(
        title=box.name,
        source=SOURCE,
        source_name="multicast.cu",
        kernel=kernel,
        launch=Launch(Dim3(2), Dim3(32), arguments),
        defines={"KERNEL": kernel, "MULTICAST": str(int(box.mask > 0))},
        architecture="compute_90a",
    )
