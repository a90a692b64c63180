"""Asks a GPU whether three omissions show: how many words of the results are wrong.

    python scripts/probe_hopper.py

Of each pair the second kernel lacks nothing. A block ends without waiting for its bulk store to
have read shared memory, which the next block on its multiprocessor fills anew; a bulk load reads
global memory that threads of its block have just written, with no proxy fence at all or with one
for shared memory alone. docs/faults.md says what Tilescope makes of each.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this script runs from the checkout

import gpu_tools as tools

from core.gpu.driver_session import Session
from core.launch import ArrayArgument, Dim3, Launch, Workload

BLOCKS, WORDS, ROUNDS = 132 * 16, 11 << 10, 20
KERNELS = {
    "ends without a wait": ("leaves", ""),
    "waits for the reads": ("leaves", 'asm volatile("cp.async.bulk.wait_group.read 0;");'),
    "no proxy fence": ("reloads", ""),
    "a fence for shared memory": ("reloads", 'asm volatile("fence.proxy.async.shared::cta;");'),
    "a fence for global memory": ("reloads", 'asm volatile("fence.proxy.async.global;");'),
}
SOURCE = r"""
#define WORDS %(words)d
#define ADDRESS(p) ((unsigned)__cvta_generic_to_shared(p))
extern "C" __global__ void leaves(int* c) {
  __shared__ __align__(128) int tile[WORDS];
  for (int i = threadIdx.x; i < WORDS; i += blockDim.x) tile[i] = WORDS * blockIdx.x + i;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%%0], [%%1], %%2;"
      :: "l"(c + WORDS * blockIdx.x), "r"(ADDRESS(tile)), "r"(4 * WORDS) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    %(line)s
  }
}
extern "C" __global__ void reloads(int* c) {
  __shared__ __align__(128) int tile[WORDS]; __shared__ unsigned long long full;
  int* mine = c + WORDS * blockIdx.x;
  unsigned bar = ADDRESS(&full), wrong = 0;
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%%0], 1;" :: "r"(bar));
  for (int n = 0; n < 8; n++) {
    for (int i = threadIdx.x; i < WORDS; i += blockDim.x) mine[i] = WORDS * n + i;
    %(line)s
    __syncthreads();
    if (threadIdx.x == 0) {
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%%0], %%1;"
        :: "r"(bar), "r"(4 * WORDS) : "memory");
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%%0], [%%1], %%2, [%%3];"
        :: "r"(ADDRESS(tile)), "l"(mine), "r"(4 * WORDS), "r"(bar) : "memory");
    }
    asm volatile("{ .reg .pred q; again: mbarrier.try_wait.parity.shared::cta.b64 q, [%%0], %%1; "
      "@q bra done; bra again; done: }" :: "r"(bar), "r"(n & 1) : "memory");
    for (int i = threadIdx.x; i < WORDS; i += blockDim.x) wrong += tile[i] != WORDS * n + i;
    __syncthreads();
  }
  for (int i = threadIdx.x; i < WORDS; i += blockDim.x)
    mine[i] = WORDS * blockIdx.x + i + (i < blockDim.x && wrong);
}
"""


def main() -> None:
    """Runs each kernel several times and prints how many words were wrong."""
    session = Session(0)
    right = np.arange(BLOCKS * WORDS, dtype=np.int32)
    for name, (kernel, line) in KERNELS.items():
        source = SOURCE % {"words": WORDS, "line": line}
        array = ArrayArgument("c", np.zeros(BLOCKS * WORDS, np.int32), "output")
        launch = Launch(Dim3(BLOCKS), Dim3(256), (array,))
        cubin = tools.cubin_of(Workload(kernel, source, "probe.cu", kernel, launch))
        runs = (tools.launched(session, cubin, launch)["c"] for _ in range(ROUNDS))
        wrong = sum(int(np.count_nonzero(found.reshape(-1) != right)) for found in runs)
        print(f"{kernel:8} {name:28} {wrong:12,} of {ROUNDS * BLOCKS * WORDS:,} words are wrong")
    session.close()


if __name__ == "__main__":
    main()
