"""How many bytes a clock an SM can get from the L2 cache, on a Hopper GPU.

    python scripts/measure_l2.py [OUT.json]

Every SM reads data that lies in L2 as fast as it can: by loads, by `cp.async`, by bulk copies, or
by boxes of a tensor map. SMs read data of their own, or several with neighbouring numbers read the
same at about the same time, as blocks of a matrix product do that share a tile. Prints the bytes a
clock of an SM, the mean over the SMs. docs/evidence.md has the highest of them.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout

import gpu_tools as tools
import numpy as np

from core.compiler.compile_ptx_and_cubin import compile_cubin
from core.tensor_maps import TensorMap, encoded

CLOCKS = 1_000_000  # of a launch
KINDS = ("LOADS", "COPIES", "CACHED_COPIES", "BULK_COPIES", "BOXES")
TOGETHER = (1, 2, 8, 1000)  # SMs that read the same
SIZES = (1 << 20, 8 << 20, 24 << 20)  # bytes that are read again and again
TILE = 16 << 10  # bytes that a block asks for at a time
BLOCKS = (1024, 1), (256, 1), (256, 4), (128, 4)  # threads of a block, blocks of an SM
PIECES = (16 << 10, 12), (4 << 10, 32), (2 << 10, 64)  # bytes of a bulk copy, and how many at once
ROW = 128  # bytes of a row of a tile

# Threads ask for tiles of 128-byte rows: eight lanes a row, as a matrix product does.
SOURCE = r"""
extern "C" __global__ void __launch_bounds__(THREADS)
read(const char* x, const void* map, unsigned asked, unsigned together, unsigned long long* counts)
{
    extern __shared__ __align__(1024) char raw[];
    __shared__ unsigned long long sum_of_bytes;
    unsigned sm, base = (unsigned)__cvta_generic_to_shared(raw);
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    unsigned place = (sm / together * 4 + blockIdx.y) * 61;
    unsigned long long done = 0, *mine = counts + 2 * (blockIdx.y * gridDim.x + blockIdx.x);
    if (threadIdx.x == 0)
        sum_of_bytes = 0;
    __syncthreads();
    long long begin = clock64(), end;
#if KIND == BULK_COPIES || KIND == BOXES
    if (threadIdx.x != 0)
        return;
    for (int i = 0; i < RING; i++)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(base + RING * PIECE + i * 8));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    auto copy = [&](unsigned n) {
        unsigned barrier = base + RING * PIECE + n % RING * 8, to = base + n % RING * PIECE;
        unsigned from = (place + n) % asked;
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                     :: "r"(barrier), "r"(PIECE) : "memory");
#if KIND == BOXES
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                     "[%0], [%1, {%2, %3}], [%4];"
                     :: "r"(to), "l"(map), "r"(0), "r"(from * (PIECE / 128)), "r"(barrier) : "memory");
#else
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                     "[%0], [%1], %2, [%3];"
                     :: "r"(to), "l"(x + (size_t)from * PIECE), "r"(PIECE), "r"(barrier) : "memory");
#endif
    };
    unsigned begun = 0;
    while (begun < RING)
        copy(begun++);
    for (unsigned n = 0; n < begun; n++) {
        unsigned barrier = base + RING * PIECE + n % RING * 8, ready = 0;
        while (!ready)
            asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; "
                         "selp.u32 %0, 1, 0, p;}"
                         : "=r"(ready) : "r"(barrier), "r"(n / RING % 2) : "memory");
        if ((end = clock64()) - begin < CLOCKS) {
            done += PIECE;
            mine[0] = done;
            mine[1] = end - begin;
            copy(begun++);
        }
    }
#else
    const int own = TILE / 16 / THREADS;  // pieces of 16 bytes of a tile, for each thread
    uint4 sum = {0, 0, 0, 0};
    unsigned stage = 0;
    do {
        #pragma unroll
        for (int i = 0; i < own; i++) {
            unsigned at = (i * THREADS + threadIdx.x) * 16;
            const char* from = x + (size_t)(place % asked) * TILE + at;
#if KIND == LOADS
            uint4 got;
            asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(got.x), "=r"(got.y), "=r"(got.z), "=r"(got.w) : "l"(from));
            sum.x ^= got.x;
            sum.y ^= got.y;
            sum.z ^= got.z;
            sum.w ^= got.w;
#elif KIND == COPIES
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                         :: "r"(base + stage * TILE + at), "l"(from) : "memory");
#else
            asm volatile("cp.async.ca.shared.global [%0], [%1], 16;"
                         :: "r"(base + stage * TILE + at), "l"(from) : "memory");
#endif
        }
#if KIND != LOADS
        asm volatile("cp.async.commit_group; cp.async.wait_group 2;" ::: "memory");
#endif
        stage = stage == 2 ? 0 : stage + 1;
        place++;
        done += own * 16;
    } while ((end = clock64()) - begin < CLOCKS);
    asm volatile("cp.async.wait_all;" ::: "memory");
    end = clock64();
    if ((sum.x ^ sum.y ^ sum.z ^ sum.w) == 1)
        done++;
    atomicAdd(&sum_of_bytes, done);
    __syncthreads();
    if (threadIdx.x == 0) {
        mine[0] = sum_of_bytes;
        mine[1] = end - begin;
    }
#endif
}
"""  # noqa: E501


def shapes(kind: str) -> Iterator[tuple[dict[str, int], int, int]]:
    """What a kind of access is tried with: macros, blocks an SM, bytes of shared memory."""
    if kind in ("BULK_COPIES", "BOXES"):
        for piece, ring in PIECES:
            yield {"THREADS": 32, "PIECE": piece, "RING": ring}, 1, ring * (piece + 8)
    else:
        for threads, blocks in BLOCKS:
            yield {"THREADS": threads, "PIECE": TILE, "RING": 1}, blocks, 3 * TILE


def measure(cuda: Any, sms: int) -> Iterator[dict[str, Any]]:
    """Rows: bytes a clock of an SM by kind of access, launch, size and sharing."""
    x, map_at = cuda.mem_alloc(max(SIZES)), cuda.mem_alloc(128)
    counts = cuda.mem_alloc(16 * sms * 4)
    cuda.memset_d8(x, 0, max(SIZES))
    driver = ctypes.CDLL("libcuda.so.1")
    numbers = {kind: number for number, kind in enumerate(KINDS)}
    for kind in KINDS:
        for macros, blocks, shared in shapes(kind):
            rows = macros["PIECE"] // ROW
            box = TensorMap(int(x), 2, (64, max(SIZES) // ROW), (ROW,), (64, rows), (1, 1), 128)
            cuda.memcpy_htod(map_at, encoded(driver, box.checked()))
            given = {"CLOCKS": CLOCKS, "TILE": TILE, **macros, **numbers, "KIND": numbers[kind]}
            lines = "".join(f"#define {macro} {value}\n" for macro, value in given.items())
            image = compile_cubin(lines + SOURCE, compute_capability=(9, 0))
            function = cuda.module_from_buffer(image).get_function("read")
            function.set_attribute(cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, shared)
            for size, together in product(SIZES, TOGETHER):
                asked = np.uint32(size // macros["PIECE"])
                for _ in range(2):
                    cuda.memset_d8(counts, 0, 16 * sms * blocks)
                    function(
                        *(x, map_at, asked, np.uint32(together), counts),
                        grid=(sms, blocks, 1),
                        block=(macros["THREADS"], 1, 1),
                        shared=shared,
                    )
                    cuda.Context.synchronize()
                found = np.empty((blocks, sms, 2), np.int64)
                cuda.memcpy_dtoh(found, counts)
                rates = (found[..., 0] / np.maximum(found[..., 1], 1)).sum(axis=0)
                yield {
                    "kind": kind.lower(),
                    "threads": macros["THREADS"],
                    "blocks": blocks,
                    "piece": macros["PIECE"],
                    "MiB": size >> 20,
                    "together": together,
                    "bytes a clock": round(float(rates.mean()), 2),
                }


if __name__ == "__main__":
    tools.tabulate(measure)
