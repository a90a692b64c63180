#include "common.cuh"
#include <cuda/barrier>
#include <cuda/atomic>
extern "C" __global__ void mbarriers(ARGS) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar; __shared__ int s[64]; int t = threadIdx.x; if (t == 0) init(&bar, 64); __syncthreads(); for (int i = 0; i < 3; i++) { s[t] = t * i; bar.arrive_and_wait(); OUT(i, s[t ^ 1]); bar.arrive_and_wait(); }
  cuda::atomic_ref<int, cuda::thread_scope_device> a(((int*)(out + 2048 * 20))[0]); a.fetch_add(1, cuda::memory_order_relaxed); 
}
