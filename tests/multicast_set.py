"""Boxes and rows that are copied to one block of a cluster, or to both, and what a GPU counts.

`copies()` are boxes of a tensor map, and rows of bytes side by side. `scripts/record_cluster.py`
counts their sectors on a GPU, and tests/core/rules/test_multicast.py compares.
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
STORED = -1  # in place of a mask
SOURCE = r"""
struct alignas(64) Map { unsigned long long words[16]; };

__device__ __forceinline__ unsigned address(const void* pointer)
{
    return (unsigned)__cvta_generic_to_shared(pointer);
}

// The first block of a cluster of two copies a box, or bytes of a row, into the blocks that `mask` names.
extern "C" __global__ void __cluster_dims__(2, 1, 1)
#if ROW
KERNEL(const unsigned char* from, int start, int to, int bytes, int mask, int* out)
#else
KERNEL(const __grid_constant__ Map from, int column, int row, int bytes, int mask, int* out)
#endif
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
#if ROW && MULTICAST
        asm volatile("cp.async.bulk.shared::cluster.global"
                     ".mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;"
                     :: "r"(address(tile) + to), "l"(from + start), "r"(bytes), "r"(barrier),
                        "h"((short)mask) : "memory");
#elif ROW
        asm volatile("cp.async.bulk.shared::cluster.global"
                     ".mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                     :: "r"(address(tile) + to), "l"(from + start), "r"(bytes), "r"(barrier)
                     : "memory");
#elif MULTICAST
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
        out[blockIdx.x] = gets ? tile[TO] : -1;
}
"""  # noqa: E501
STORE = r"""
struct alignas(64) Map { unsigned long long words[16]; };

// The first thread copies a box, or bytes of a row, from shared memory to global memory.
extern "C" __global__ void
#if ROW
KERNEL(unsigned char* to, int start, int from, int bytes)
#else
KERNEL(const __grid_constant__ Map to, int column, int row)
#endif
{
    __shared__ __align__(1024) unsigned char tile[32768];
    for (int i = threadIdx.x; i < 32768; i += blockDim.x)
        tile[i] = i;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
#if ROW
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                     :: "l"(to + start), "r"((unsigned)__cvta_generic_to_shared(tile) + from),
                        "r"(bytes) : "memory");
#else
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];"
                     :: "l"(&to), "r"(column), "r"(row),
                        "r"((unsigned)__cvta_generic_to_shared(tile)) : "memory");
#endif
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
    }
}
"""


@dataclass(frozen=True)
class Box:
    """A box of 16-bit elements of an array of `ROWS` rows; `mask` names the blocks that get it.

    `mask` 0 is a copy without multicast, to the first block; one that is `STORED` goes from there
    to the array. The swizzle is in bytes, the rest in elements.
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
    narrow = [
        Box(swizzle, width, 8, columns, column, 5, mask)
        for swizzle, width in ((0, 8), (0, 24), (0, 40), (0, 72), (0, 88), (0, 248), (128, 64))
        for columns, column in ((248, 8), (256, 0), (256, 40), (248, 224))
        for mask in (STORED, 0)
    ]
    found = [*inside, *edges, *above, *narrow]
    return list({box.name: box for box in found}.values())


@dataclass(frozen=True)
class Row:
    """So many bytes at `start` of an array, and at `place` of shared memory, all in bytes.

    They are loaded by `mask`, as a box is, or stored (`STORED`).
    """

    nbytes: int
    start: int
    place: int
    mask: int

    @property
    def name(self) -> str:
        """All of it."""
        return f"row-{'-'.join(map(str, astuple(self)))}"


def rows() -> list[Row]:
    """Of many lengths, wherever they may begin within 128 bytes of global and of shared memory."""
    rng = np.random.default_rng(20261129)
    steps = (16 * int(n) for n in (*range(1, 18), 24, 32, 33, 65, 100, 256))
    return [
        Row(nbytes, 16 * int(start), 16 * int(place), mask)
        for nbytes in steps
        for start, place in (*rng.integers(0, 8, (4, 2)), (0, 0))
        for mask in (STORED, 0, 1 + int(rng.integers(2)), 3)
    ]


def copies() -> list[Box | Row]:
    """All of them."""
    return [*boxes(), *rows()]


def workload(copy: Box | Row) -> Workload:
    """The launch of a copy: one cluster; one block stores."""
    is_row, is_stored = isinstance(copy, Row), copy.mask == STORED
    array = "to" if is_stored else "from"
    if isinstance(copy, Row):
        data = np.zeros(8192, np.uint8) if is_stored else np.arange(8192, dtype=np.uint8)
        source = ArrayArgument(array, data, "inout")
        numbers = {"start": copy.start, "from" if is_stored else "to": copy.place}
        numbers["bytes"] = copy.nbytes
    else:
        data = np.arange(ROWS * copy.columns, dtype=np.uint16).reshape(ROWS, copy.columns)
        box = (copy.width, copy.height)
        what = TensorMap.of_array(data.shape, 2, box, copy.swizzle)
        source = ArrayArgument(array, data, "inout", Member(array, 0, 128, 64), map=what)
        numbers = {"column": copy.column, "row": copy.row}
        if not is_stored:
            numbers["bytes"] = 2 * copy.width * copy.height
    arguments = [source]
    if not is_stored:
        numbers["mask"] = copy.mask or 1
    arguments += [ScalarArgument(name, np.int32(number)) for name, number in numbers.items()]
    if not is_stored:
        arguments.append(ArrayArgument("out", np.zeros(2, np.int32), "inout"))
    verb = "store" if is_stored else "multicast" if copy.mask else "copy"
    kernel = f"{verb}_{'row' if is_row else 'box'}"
    defines = {"KERNEL": kernel, "ROW": str(int(is_row))}
    if not is_stored:
        defines |= {"MULTICAST": str(int(copy.mask > 0)), "TO": "to" if is_row else "0"}
    return Workload(
        title=copy.name,
        source=STORE if is_stored else SOURCE,
        source_name=f"{verb}.cu",
        kernel=kernel,
        launch=Launch(Dim3(1 if is_stored else 2), Dim3(32), tuple(arguments)),
        defines=defines,
        architecture="compute_90a",
    )
