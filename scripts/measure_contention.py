"""What Nsight Compute's counters of wavefronts add where others use shared memory meanwhile.

    python scripts/measure_contention.py [OUT.json]     on a Hopper GPU, with ncu

Four warps of every SM load from or store to shared memory, a known number of wavefronts. Beside
them the copy engine fills or reads other shared memory, `wgmma` reads its factors, or loads bring
lines to L1. `l1tex__data_pipe_lsu_wavefronts_mem_shared_op_*` is what the data stage counts,
`smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_*` what each instruction needs (none of
`stmatrix`). Prints both over the instructions.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout

import gpu_tools as tools
import numpy as np

from core.compiler.compile_ptx_and_cubin import compile_cubin

ROUNDS, UNROLLED, WARPS = 256, 8, 4  # of the accesses
REGION = 64 << 10  # bytes of shared memory for what stands beside, and of those for the accesses
BOX = 8 << 10  # bytes of a bulk copy
OURS = {
    "ld.shared": (
        *("ld", 4),
        '"{.reg .u32 got; ld.volatile.shared.u32 got, [%1]; add.u32 %0, %0, got;}"'
        ' : "+r"(sum) : "r"(at)',
    ),
    "st.shared": ("st", 4, '"st.volatile.shared.u32 [%1], %0;" : "+r"(sum) : "r"(at)'),
    "st.shared, 16 bytes": (
        *("st", 16),
        '"st.volatile.shared.v4.u32 [%1], {%0, %0, %0, %0};" : "+r"(sum) : "r"(at)',
    ),
    "st.shared, 4 lanes a bank": (
        *("st", 16),
        '"st.volatile.shared.u32 [%1], %0;" : "+r"(sum) : "r"(at)',
    ),
    "stmatrix.x4": (
        *("st", 16),
        '"stmatrix.sync.aligned.m8n8.x4.shared.b16 [%1], {%0, %0, %0, %0};" : "+r"(sum) : "r"(at)',
    ),
}  # fmt: skip
BESIDE = {
    "nothing": 0,
    "bulk loads": 500,
    "bulk stores": 500,
    "wgmma": 200,
    "cp.async": 800,
    "ld.global": 800,
}
"""How often each is done, which takes about as long as the accesses."""

SOURCE = r"""
__device__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void wait_for(unsigned barrier, unsigned parity)
{
    unsigned ready = 0;
    while (!ready)
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; "
                     "selp.u32 %0, 1, 0, p;}" : "=r"(ready) : "r"(barrier), "r"(parity) : "memory");
}

__device__ unsigned long long descriptor(unsigned address)  // 128-byte swizzle
{
    return (address & 0x3FFFF) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

extern "C" __global__ void __launch_bounds__(256) accesses(char* x, int times, unsigned* out)
{
    extern __shared__ __align__(1024) char raw[];
    __shared__ __align__(8) unsigned long long full[4];
    unsigned base = shared_address(raw), lane = threadIdx.x % 128, sum = 0;
    if (threadIdx.x == 0)
        for (int i = 0; i < 4; i++)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(shared_address(&full[i])));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    __syncthreads();

    if (threadIdx.x < 128) {
        for (int i = 0; i < ROUNDS; i++)
            #pragma unroll
            for (int j = 0; j < UNROLLED; j++) {
                unsigned at = base + REGION + lane * WIDTH + j * 4096;
                asm volatile(ACCESS : "memory");
            }
        if (sum == 1)
            out[0] = sum;
        return;
    }
#if BESIDE == BULK_LOADS
    if (lane != 0)
        return;
    for (int i = 0; i < times + 4; i++) {
        unsigned barrier = shared_address(&full[i % 4]);
        if (i >= 4)
            wait_for(barrier, (i / 4 - 1) % 2);
        if (i >= times)
            continue;
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                     :: "r"(barrier), "r"(BOX) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                     :: "r"(base + i % 4 * BOX), "l"(x + i % 64 * BOX), "r"(BOX), "r"(barrier) : "memory");
    }
#elif BESIDE == BULK_STORES
    if (lane != 0)
        return;
    for (int i = 0; i < times; i++) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                     :: "l"(x + (blockIdx.x * 64 + i % 64) * BOX), "r"(base + i % 4 * BOX), "r"(BOX) : "memory");
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 4;" ::: "memory");
    }
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
#elif BESIDE == WGMMA
    unsigned long long a = descriptor(base), b = descriptor(base + 8192);
    float c[64] = {};
    #pragma unroll 1
    for (int i = 0; i < times; i++) {
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        #pragma unroll
        for (int k = 0; k < 4; k++)
            asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {OWN}, %64, %65, 1, 1, 1, 0, 0;"
                         : OUTPUTS : "l"(a + 2 * k), "l"(b + 2 * k));
        asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 1;" ::: "memory");
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int i = 1; i < 64; i++)
        c[0] += c[i];
    if (c[0] == 1)
        out[1] = 1;
#elif BESIDE == CP_ASYNC
    for (int i = 0; i < times; i++) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                     :: "r"(base + i % 8 * 2048 + lane * 16), "l"(x + i % 64 * BOX + lane * 16) : "memory");
        asm volatile("cp.async.commit_group; cp.async.wait_group 4;" ::: "memory");
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
#elif BESIDE == LD_GLOBAL
    for (int i = 0; i < times; i++) {
        unsigned got;
        asm volatile("{.reg .u32 b<3>; ld.global.v4.u32 {%0, b0, b1, b2}, [%1];}"
                     : "=r"(got) : "l"(x + i % 64 * BOX + lane * 16));
        sum += got;
    }
    if (sum == 1)
        out[2] = 1;
#endif
}
"""  # noqa: E501
HARDWARE = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
BY_INSTRUCTION = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"


def cases() -> Iterator[tuple[str, str]]:
    """The accesses and what is beside them, in the order of the launches."""
    yield from ((access, beside) for access in OURS for beside in BESIDE)


def source_of(access: str, beside: str) -> str:
    """The kernel `accesses` of a case."""
    _, width, instruction = OURS[access]
    kinds = {name.upper().replace(" ", "_").replace(".", "_"): i for i, name in enumerate(BESIDE)}
    macros = kinds | {
        "BESIDE": list(BESIDE).index(beside),
        "WIDTH": width,
        "ROUNDS": ROUNDS,
        "UNROLLED": UNROLLED,
        "REGION": REGION,
        "BOX": BOX,
    }
    text = SOURCE.replace("ACCESS", instruction)
    text = text.replace("OWN", ", ".join(f"%{i}" for i in range(64)))
    text = text.replace("OUTPUTS", ", ".join(f'"+f"(c[{i}])' for i in range(64)))
    return "".join(f"#define {name} {value}\n" for name, value in macros.items()) + text


def launch_all() -> None:
    """Launches each case once, on every SM."""
    with tools.device() as cuda:
        sms = cuda.Context.get_device().get_attribute(cuda.device_attribute.MULTIPROCESSOR_COUNT)
        x, out = cuda.mem_alloc(sms * 64 * BOX), cuda.mem_alloc(64)
        cuda.memset_d8(x, 0, sms * 64 * BOX)
        for access, beside in cases():
            image = compile_cubin(source_of(access, beside), compute_capability=(9, 0))
            function = cuda.module_from_buffer(image).get_function("accesses")
            size = 2 * REGION
            function.set_attribute(cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, size)
            given = x, np.int32(BESIDE[beside]), out
            function(*given, grid=(sms, 1, 1), block=(256, 1, 1), shared=size)
            cuda.Context.synchronize()


def measure(cuda: Any, sms: int) -> Iterator[dict[str, Any]]:
    """Rows: wavefronts an instruction by both counters."""
    metrics = [one.format(what) for one in (HARDWARE, BY_INSTRUCTION) for what in ("ld", "st")]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "launch"]
        rows = tools.counted(metrics, f"{folder}/contention", command)
    instructions = sms * WARPS * ROUNDS * UNROLLED
    for (access, beside), row in zip(cases(), rows, strict=True):
        what = OURS[access][0]
        found = (float(row[m.format(what)].replace(",", "")) for m in (HARDWARE, BY_INSTRUCTION))
        hardware, exact = (round(one / instructions, 3) for one in found)
        yield {"access": access, "beside": beside, "counted": hardware, "by instruction": exact}


if __name__ == "__main__":
    if sys.argv[1:] == ["launch"]:
        launch_all()
    else:
        tools.tabulate(measure)
