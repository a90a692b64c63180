"""How fast an SM does `mma.sync` and `wgmma`, and at what clock: products in a loop, on a GPU.

    python scripts/measure_tensor.py [OUT.json]

NVIDIA publishes the rate of the tensor cores as a whole; from compute capability 9.0 on that is the
rate of `wgmma`, and no figure for `mma.sync` is given. Here each warp does independent products in
a loop; clocks are counted on the GPU. Prints operations a clock of an SM, a multiply-add as two;
of `wgmma` the clock as well, which depends on what is multiplied: zeros draw less power.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout

import gpu_tools as tools
import numpy as np

from core.compiler import nvrtc
from core.compiler.compile_ptx_and_cubin import compile_cubin
from core.errors import TilescopeError
from core.gpu.sensors import SmClock

ROUNDS = 2000
CHAINS = 8  # independent products of a warp
WARPS = (4, 8, 16)


@dataclass(frozen=True)
class Product:
    """A shape and the types of its factors and sums, as PTX writes them, and 32-bit registers."""

    m: int
    n: int
    k: int
    factors: str
    sums: str
    changes: bool = False  # factors in every round: what is done to them alone is done anew

    @property
    def name(self) -> str:
        """As PTX has it."""
        changing = ", other factors each time" if self.changes else ""
        return f"m{self.m}n{self.n}k{self.k} {self.factors} {self.sums}{changing}"

    @property
    def registers(self) -> tuple[int, int, int]:
        """Of A, B and C, for a lane."""
        size = {"f16": 2, "bf16": 2, "tf32": 4, "e4m3": 1, "s8": 1}[self.factors]
        sums = 2 if self.sums == "f16" else 4
        return (self.m * self.k * size // 128, self.k * self.n * size // 128,
                self.m * self.n * sums // 128)  # fmt: skip

    @property
    def source(self) -> str:
        """A kernel that does it again and again."""
        a, b, c = self.registers
        letter = "f" if self.sums == "f32" else "r"
        kind = "float" if self.sums == "f32" else "unsigned"
        outputs = ", ".join(f'"+{letter}"(c[i][{j}])' for j in range(c))
        # Each chain has its own B: the assembler does a product of two 8-bit factors once for all.
        inputs = [f'"r"(a[{j}])' for j in range(a)] + [f'"r"(b[i][{j}])' for j in range(b)]
        change = f"for (int j = 0; j < {b}; j++) b[i][j] ^= round;" if self.changes else ""
        own = ", ".join(f"%{j}" for j in range(c))
        left = ", ".join(f"%{c + j}" for j in range(a))
        right = ", ".join(f"%{c + a + j}" for j in range(b))
        shape = f"m{self.m}n{self.n}k{self.k}"
        types = f"{self.sums}.{self.factors}.{self.factors}.{self.sums}"
        return f"""
extern "C" __global__ void products(unsigned* x, long long* clocks, int rounds)
{{
    unsigned a[{a}], b[{CHAINS}][{b}];
    {kind} c[{CHAINS}][{c}];
    for (int i = 0; i < {a}; i++) a[i] = x[threadIdx.x + i];
    for (int i = 0; i < {CHAINS * b}; i++) b[i / {b}][i % {b}] = x[threadIdx.x + 64 + i];
    for (int i = 0; i < {CHAINS * c}; i++) c[i / {c}][i % {c}] = x[threadIdx.x + i];
    __syncthreads();
    long long begin = clock64();
    #pragma unroll 1
    for (int round = 0; round < rounds; round++)
        #pragma unroll
        for (int i = 0; i < {CHAINS}; i++) {{
            {change}
            asm volatile("mma.sync.aligned.{shape}.row.col.{types} {{{own}}}, {{{left}}}, {{{right}}}, {{{own}}};"
                         : {outputs} : {", ".join(inputs)});
        }}
    long long end = clock64();
    for (int i = 0; i < {CHAINS * c}; i++) x[threadIdx.x + 512 * i] = c[i / {c}][i % {c}];
    if (threadIdx.x % 32 == 0) {{
        clocks[threadIdx.x / 32 + 32 * blockIdx.x] = begin;
        clocks[threadIdx.x / 32 + 16 + 32 * blockIdx.x] = end;
    }}
}}
"""  # noqa: E501


PRODUCTS = (
    Product(16, 8, 16, "f16", "f32"), Product(16, 8, 16, "f16", "f16"),
    Product(16, 8, 8, "f16", "f32"), Product(16, 8, 16, "bf16", "f32"),
    Product(16, 8, 8, "tf32", "f32"), Product(16, 8, 4, "tf32", "f32"),
    Product(16, 8, 32, "e4m3", "f32"), Product(16, 8, 32, "e4m3", "f32", changes=True),
    Product(16, 8, 32, "e4m3", "f16"), Product(16, 8, 32, "e4m3", "f16", changes=True),
    Product(16, 8, 32, "s8", "s32"),
)  # fmt: skip


GROUPS = r"""
__device__ unsigned long long descriptor(unsigned address)  // 128-byte swizzle, 8 rows apart 1024 bytes
{
    return (address & 0x3FFFF) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;
}
extern "C" __global__ void __launch_bounds__(256) products(const uint4* x, float* out, int rounds)
{
    extern __shared__ unsigned char raw[];
    unsigned base = (unsigned)__cvta_generic_to_shared(raw), pad = -base & 1023;
    for (int i = threadIdx.x; i < 3072; i += 256) ((uint4*)(raw + pad))[i] = x[i];
    float c[128] = {};
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    unsigned long long a = descriptor(base + pad + threadIdx.x / 128 * 8192);
    unsigned long long b = descriptor(base + pad + 16384);
    #pragma unroll 1
    for (int round = 0; round < rounds; round++) {
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        #pragma unroll
        for (int k = 0; k < 4; k++)
            asm volatile("wgmma.mma_async.sync.aligned.SHAPE.f32.TYPE.TYPE {OWN}, %128, %129, 1, 1, 1FLIPS;"
                         : OUTPUTS : "l"(a + 2 * k), "l"(b + 2 * k));
        asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 1;" ::: "memory");
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int i = 1; i < 128; i++) c[0] += c[i];
    out[blockIdx.x * 256 + threadIdx.x] = c[0];
}
"""  # noqa: E501
GROUP_ROUNDS, GROUP_LAUNCHES, GROUP_SHARED = 12800, 16, (48 << 10) + 1024


def measure_groups(cuda: Any, sms: int) -> Iterator[tuple[str, dict[str, float]]]:
    """The rate of two warpgroups' `wgmma` on every SM, and the clock, by factors."""
    own = ", ".join(f"%{i}" for i in range(128))
    outputs = ", ".join(f'"+f"(c[{i}])' for i in range(128))
    values = np.random.default_rng(4).uniform(-1, 1, 24 << 10).astype(np.float32)
    words = {"f16": values.astype(np.float16).view(np.uint16),
             "bf16": (values.view(np.uint32) >> 16).astype(np.uint16)}  # fmt: skip
    # Of 8-bit floats 48 Ki, of any sign and mantissa and four exponents.
    words["e4m3"] = words["f16"] & np.uint16(0x9F9F) | np.uint16(0x2020)
    clock, out = SmClock(cuda, sms), cuda.mem_alloc(4 * 256 * sms)
    for kind, random in words.items():
        k, flips = (32, "") if kind == "e4m3" else (16, ", 0, 0")
        shape = f"m64n256k{k}"
        source = GROUPS.replace("SHAPE", shape).replace("TYPE", kind).replace("FLIPS", flips)
        source = source.replace("OWN", own).replace("OUTPUTS", outputs)
        image = compile_cubin(source, compute_capability=(9, 0))
        function = cuda.module_from_buffer(image).get_function("products")
        function.set_attribute(cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, GROUP_SHARED)
        for factors, data in (("random", random), ("zeros", 0 * random)):
            x, mhz, ms = cuda.to_device(data), [], []
            for _ in range(GROUP_LAUNCHES):
                events = cuda.Event(), cuda.Event()
                clock.begin()
                events[0].record()
                function(x, out, np.int32(GROUP_ROUNDS), grid=(sms, 1, 1), block=(256, 1, 1),
                         shared=GROUP_SHARED)  # fmt: skip
                events[1].record()
                clock.end()
                cuda.Context.synchronize()
                ms.append(events[1].time_since(events[0]))
                mhz.append(clock.mhz(ms[-1]) or 0.0)
                time.sleep(0.2)
            flops = 2 * 64 * 256 * k * 4 * 2 * GROUP_ROUNDS
            took, ran = float(np.median(ms)), float(np.median(mhz))
            yield (
                f"{shape} {kind} f32, {factors}",
                {
                    "tflops": round(flops * sms / took / 1e9, 1),
                    "sm_mhz": round(ran),
                    "per_clock_and_sm": round(flops / (took * 1e3 * ran), 1),
                },
            )


def measure() -> dict[str, Any]:
    """Rates by product and by the warps of an SM."""
    rates: dict[str, dict[str, float]] = {}
    with tools.device() as cuda:
        device = cuda.Context.get_device()
        version = device.compute_capability()
        sms = device.get_attribute(cuda.device_attribute.MULTIPROCESSOR_COUNT)
        words = np.random.default_rng(3).integers(0, 1 << 15, 512 * 64, dtype=np.uint32)
        values, clocks = cuda.to_device(words), cuda.mem_alloc(8 * 32 * sms)
        for product in PRODUCTS:
            try:
                image = compile_cubin(product.source, compute_capability=version)
            except TilescopeError as error:
                print(f"{product.name}: {error}", file=sys.stderr)
                continue
            function = cuda.module_from_buffer(image).get_function("products")
            for warps in WARPS:
                for _ in range(2):
                    function(values, clocks, np.int32(ROUNDS), grid=(sms, 1, 1),
                             block=(32 * warps, 1, 1))  # fmt: skip
                cuda.Context.synchronize()
                taken = np.empty((sms, 2, 16), np.int64)
                cuda.memcpy_dtoh(taken, clocks)
                flops = 2 * product.m * product.n * product.k * CHAINS * ROUNDS * warps
                begin, end = taken[:, 0, :warps], taken[:, 1, :warps]
                rate = round(flops / float(np.median(end.max(axis=1) - begin.min(axis=1))), 1)
                rates.setdefault(product.name, {})[str(warps)] = rate
            print(product.name, rates[product.name], flush=True)
        groups = dict(measure_groups(cuda, sms)) if version[0] == 9 else {}
        print(json.dumps(groups, indent=1), flush=True)
    versions = {**tools.machine(), "nvrtc": nvrtc.version()}
    return {**versions, "per_clock_and_sm": rates, "wgmma": groups}


def main() -> None:
    """Measures, and keeps what was found where a file is named."""
    found = measure()
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
