"""What shares the data stage of L1 and shared memory with loads of shared memory, on a Hopper GPU.

    python scripts/measure_stage.py [OUT.json]

An SM's data stage serves one wavefront of shared memory, or one 128-byte line of L1, a clock. Here
some warps of every SM read shared memory as fast as they can, without conflicts, and others do
something else. If both need the stage, their rates add up to one a clock at most; if not, to more.
`wgmma` is measured alone as well: a narrow product spends more of its time on reading its factors.
Prints units of 128 bytes a clock of an SM.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout

import gpu_tools as tools
import numpy as np

from core.compiler.compile_ptx_and_cubin import compile_cubin
from core.rules.shared_memory import product_wavefronts

CLOCKS = 400_000  # of a launch
LINE = 128
L2_BYTES, L1_BYTES = 16 << 20, 32 << 10  # that are read again and again, from L2 or from L1
BOX, RING = 16 << 10, 8  # bytes of a bulk copy, and how many are under way
SHARED = 1024 + (32 << 10) + RING * BOX
COLUMNS = (8, 16, 32, 64, 128, 256)
KINDS = ("NOTHING", "STORES", "LOADS", "COPIES", "BULK_COPIES")
BESIDE = {  # what the other warps do: its kind, and the bytes that it reads of global memory
    "nothing": ("NOTHING", L2_BYTES),
    "st.shared": ("STORES", L2_BYTES),
    "ld.global that misses L1": ("LOADS", L2_BYTES),
    "ld.global that hits": ("LOADS", L1_BYTES),
    "cp.async": ("COPIES", L2_BYTES),
    "cp.async.bulk": ("BULK_COPIES", L2_BYTES),
}

# Warps 0 to 15 read shared memory, 16 to 31 do what stands beside; each counts units of 128 bytes.
MIXED = r"""
__device__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

extern "C" __global__ void __launch_bounds__(1024)
mixed(const uint4* x, unsigned lines, int reads, unsigned long long* counts)
{
    extern __shared__ __align__(1024) char raw[];
    __shared__ __align__(8) unsigned long long full[RING];
    if (threadIdx.x == 0)
        for (int i = 0; i < RING; i++)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(shared_address(&full[i])));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    __syncthreads();

    unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, base = shared_address(raw);
    unsigned long long done = 0, *mine = counts + blockIdx.x * 4;
    long long begin = clock64(), end;
    if (warp < 16) {
        if (!reads)
            return;
        unsigned from = base + lane * 4 + warp * 128, sum = 0;
        do {
            #pragma unroll
            for (int i = 0; i < 16; i++) {
                unsigned got;
                asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(got) : "r"(from + i * 2048));
                sum += got;
            }
            done += 16;
        } while ((end = clock64()) - begin < CLOCKS);
        if (sum == 1)
            done++;
        if (lane == 0) {
            atomicAdd(&mine[0], done);
            mine[1] = end - begin;
        }
        return;
    }
    unsigned place = blockIdx.x * 977 + warp - 16;
    unsigned to = base + 32768 + (warp - 16) * 2048 + lane * 16;
    uint4 sum = {0, 0, 0, 0};
    if (BESIDE == NOTHING)
        return;
    if (BESIDE == BULK_COPIES) {
        if (threadIdx.x != 512)
            return;
        auto copy = [&](unsigned n) {
            unsigned barrier = shared_address(&full[n % RING]);
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                         :: "r"(barrier), "r"(BOX) : "memory");
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                         "[%0], [%1], %2, [%3];"
                         :: "r"(base + 32768 + n % RING * BOX),
                            "l"((const char*)x + (size_t)(place + n) % (lines / (BOX / 128)) * BOX),
                            "r"(BOX), "r"(barrier) : "memory");
        };
        unsigned begun = 0;
        while (begun < RING)
            copy(begun++);
        for (unsigned n = 0; n < begun; n++) {
            unsigned barrier = shared_address(&full[n % RING]), ready = 0;
            while (!ready)
                asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; "
                             "selp.u32 %0, 1, 0, p;}"
                             : "=r"(ready) : "r"(barrier), "r"(n / RING % 2) : "memory");
            if (clock64() - begin < CLOCKS) {
                done += BOX / 128;
                mine[2] = done;
                mine[3] = clock64() - begin;
                copy(begun++);
            }
        }
        return;
    }
    do {
        #pragma unroll
        for (int j = 0; j < 4; j++) {
            const uint4* from = x + (size_t)((place + j * 16) % (lines / 4)) * 32 + lane;
            uint4 got = {0, 0, 0, 0};
#if BESIDE == STORES
            asm volatile("st.volatile.shared.v4.u32 [%0], {%1, %1, %1, %1};"
                         :: "r"(to + j * 512), "r"(lane) : "memory");
#elif BESIDE == LOADS
            asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(got.x), "=r"(got.y), "=r"(got.z), "=r"(got.w) : "l"(from));
#else
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                         :: "r"(to + j * 512), "l"(from) : "memory");
#endif
            sum.x ^= got.x;
            sum.y ^= got.y;
            sum.z ^= got.z;
            sum.w ^= got.w;
        }
#if BESIDE == COPIES
        asm volatile("cp.async.commit_group; cp.async.wait_group 1;" ::: "memory");
#endif
        place += 64;
        done += 16;
    } while ((end = clock64()) - begin < CLOCKS);
    asm volatile("cp.async.wait_all;" ::: "memory");
    if ((sum.x ^ sum.y ^ sum.z ^ sum.w) == 1)
        done++;
    if (lane == 0) {
        atomicAdd(&mine[2], done);
        mine[3] = end - begin;
    }
}
"""

# Two warpgroups multiply, and four warps beside them may read shared memory meanwhile.
PRODUCTS = r"""
__device__ unsigned long long descriptor(unsigned address)  // 128-byte swizzle
{
    return (address & 0x3FFFF) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

extern "C" __global__ void __launch_bounds__(384) products(int reads, unsigned long long* counts)
{
    extern __shared__ __align__(1024) char raw[];
    __shared__ volatile int over;
    unsigned base = (unsigned)__cvta_generic_to_shared(raw), group = threadIdx.x / 128;
    for (int i = threadIdx.x; i < 12288; i += 384)
        ((unsigned*)raw)[i] = 0;
    over = 0;
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    unsigned long long done = 0, *mine = counts + blockIdx.x * 4;
    long long begin = clock64();
    if (group < 2) {
        unsigned long long a = descriptor(base + group * 8192), b = descriptor(base + 16384);
        float c[COLUMNS / 2] = {};
        #pragma unroll 1
        for (int round = 0; round < ROUNDS; round++) {
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            #pragma unroll
            for (int k = 0; k < 4; k++)
                asm volatile("wgmma.mma_async.sync.aligned.SHAPE.f32.f16.f16 {OWN}, A, B, 1, 1, 1, 0, 0;"
                             : OUTPUTS : "l"(a + 2 * k), "l"(b + 2 * k));
            asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 1;"
                         ::: "memory");
        }
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        long long end = clock64();
        over = 1;
        for (int i = 1; i < COLUMNS / 2; i++)
            c[0] += c[i];
        if (threadIdx.x % 128 == 0) {
            atomicAdd(&mine[0], c[0] == 1 ? 0ull : 4ull * ROUNDS);
            mine[1] = end - begin;
        }
    } else if (reads) {
        unsigned from = base + threadIdx.x % 128 * 4, sum = 0;
        do {
            #pragma unroll
            for (int i = 0; i < 32; i++) {
                unsigned got;
                asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(got) : "r"(from + i * 512));
                sum += got;
            }
            done += 32;
        } while (!over);
        long long end = clock64();
        if (sum == 1)
            done++;
        if (threadIdx.x % 32 == 0) {
            atomicAdd(&mine[2], done);
            mine[3] = end - begin;
        }
    }
}
"""  # noqa: E501


def rates(cuda: Any, sms: int, function: Any, threads: int, *given: Any) -> tuple[float, float]:
    """Units a clock of an SM that the two parts of a kernel had: the medians of the SMs."""
    function.set_attribute(cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, SHARED)
    counts = cuda.mem_alloc(32 * sms)
    for _ in range(2):
        cuda.memset_d8(counts, 0, 32 * sms)
        function(*given, counts, grid=(sms, 1, 1), block=(threads, 1, 1), shared=SHARED)
        cuda.Context.synchronize()
    found = np.empty((sms, 2, 2), np.int64)
    cuda.memcpy_dtoh(found, counts)
    one, other = np.median(found[..., 0] / np.maximum(found[..., 1], 1), axis=0)
    return float(one), float(other)


def compiled(cuda: Any, source: str, name: str, **macros: int) -> Any:
    """A kernel of `source`."""
    lines = "".join(f"#define {macro} {value}\n" for macro, value in macros.items())
    image = compile_cubin(lines + source, compute_capability=(9, 0))
    return cuda.module_from_buffer(image).get_function(name)


def measure(cuda: Any, sms: int) -> Iterator[dict[str, Any]]:
    """Rows: what shared memory gave, and what was beside it, in units of 128 bytes a clock."""
    x = cuda.mem_alloc(L2_BYTES)
    cuda.memset_d8(x, 0, L2_BYTES)
    numbers = {kind: number for number, kind in enumerate(KINDS)}
    for name, (kind, size) in BESIDE.items():
        macros = {"CLOCKS": CLOCKS, "RING": RING, "BOX": BOX, "BESIDE": numbers[kind], **numbers}
        mixed = compiled(cuda, MIXED, "mixed", **macros)
        for reads in (0, 1):
            if reads or kind != "NOTHING":
                given = x, np.uint32(size // LINE), np.int32(reads)
                one, other = rates(cuda, sms, mixed, 1024, *given)
                yield {"beside": name, "ld.shared": round(one, 3), "other": round(other, 3)}
    for columns in COLUMNS:
        half = columns // 2
        own = ", ".join(f"%{i}" for i in range(half))
        outputs = ", ".join(f'"+f"(c[{i}])' for i in range(half))
        source = PRODUCTS.replace("SHAPE", f"m64n{columns}k16").replace("OUTPUTS", outputs)
        source = source.replace("OWN", own).replace("A, B,", f"%{half}, %{half + 1},")
        rounds = CLOCKS // max(columns * 2, 64)
        function = compiled(cuda, source, "products", COLUMNS=columns, ROUNDS=rounds)
        units = product_wavefronts(64, 32) + product_wavefronts(16, 2 * columns)
        for reads in (0, 1):
            one, other = rates(cuda, sms, function, 384, np.int32(reads))
            yield {
                "beside": f"wgmma m64n{columns}k16",
                "ld.shared": round(other, 3),
                "other": round(one * units, 3),
                "operations a clock": round(one * 2 * 64 * columns * 16),
            }


if __name__ == "__main__":
    tools.tabulate(measure)
