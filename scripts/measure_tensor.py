"""How fast an SM does `mma.sync`: matrix products of one shape and type, timed on a GPU.

    python scripts/measure_tensor.py [OUT.json]

NVIDIA publishes the rate of the tensor cores as a whole; from compute capability 9.0 on that is the
rate of `wgmma`, and no figure for `mma.sync` is given. Here each warp does independent products in
a loop; clocks are counted on the GPU. Prints operations a clock of an SM, a multiply-add as two.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout

import gpu_tools as tools
import numpy as np

from core.compiler import nvrtc_library
from core.compiler.compiler import compile_cubin
from core.errors import TilescopeError

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

    @property
    def name(self) -> str:
        """As PTX has it."""
        return f"m{self.m}n{self.n}k{self.k} {self.factors} {self.sums}"

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
        inputs = ", ".join([f'"r"(a[{j}])' for j in range(a)] + [f'"r"(b[{j}])' for j in range(b)])
        own = ", ".join(f"%{j}" for j in range(c))
        left = ", ".join(f"%{c + j}" for j in range(a))
        right = ", ".join(f"%{c + a + j}" for j in range(b))
        shape = f"m{self.m}n{self.n}k{self.k}"
        types = f"{self.sums}.{self.factors}.{self.factors}.{self.sums}"
        return f"""
extern "C" __global__ void products(unsigned* x, long long* clocks, int rounds)
{{
    unsigned a[{a}], b[{b}];
    {kind} c[{CHAINS}][{c}];
    for (int i = 0; i < {a}; i++) a[i] = x[threadIdx.x + i];
    for (int i = 0; i < {b}; i++) b[i] = x[threadIdx.x + 64 + i];
    for (int i = 0; i < {CHAINS * c}; i++) c[i / {c}][i % {c}] = x[threadIdx.x + i];
    __syncthreads();
    long long begin = clock64();
    #pragma unroll 1
    for (int round = 0; round < rounds; round++)
        #pragma unroll
        for (int i = 0; i < {CHAINS}; i++)
            asm volatile("mma.sync.aligned.{shape}.row.col.{types} {{{own}}}, {{{left}}}, {{{right}}}, {{{own}}};"
                         : {outputs} : {inputs});
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
    Product(16, 8, 32, "e4m3", "f32"), Product(16, 8, 32, "s8", "s32"),
)  # fmt: skip


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
    return {**tools.machine(), "nvrtc": nvrtc_library.version(), "per_clock_and_sm": rates}


def main() -> None:
    """Measures, and keeps what was found where a file is named."""
    found = measure()
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
