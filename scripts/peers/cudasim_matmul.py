"""The coalesced matrix product in numba's CUDA simulator; prints the seconds of each run.

Runs in an environment of its own with numba: `python cudasim_matmul.py N RUNS`.
"""

import os
import sys
import time

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"

import numpy as np
from numba import cuda

BLOCK = 16


@cuda.jit
def coalesced(left, top, result, n):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201, D103
    row = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    column = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if row < n and column < n:
        value = np.float32(0)
        for k in range(n):
            value += left[row * n + k] * top[k * n + column]
        result[row * n + column] = value


def main() -> None:
    """Runs the kernel and checks what it computes."""
    n, runs = int(sys.argv[1]), int(sys.argv[2])
    generator = np.random.default_rng(7)
    left, top = (generator.random(n * n, dtype=np.float32) for _ in range(2))
    blocks = (-(-n // BLOCK), -(-n // BLOCK))
    for _ in range(runs):
        result = np.full(n * n, np.nan, np.float32)
        started = time.perf_counter()
        coalesced[blocks, (BLOCK, BLOCK)](left, top, result, n)
        seconds = time.perf_counter() - started
        expected = left.reshape(n, n).astype(float) @ top.reshape(n, n)
        if not np.abs(result.reshape(n, n) - expected).max() <= 1e-3:
            sys.exit("the product is wrong")
        sys.stdout.write(f"{seconds}\n")


if __name__ == "__main__":
    main()
