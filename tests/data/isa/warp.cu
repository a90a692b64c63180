#include "common.cuh"
typedef unsigned u32; typedef unsigned long long u64;
extern "C" __global__ void shuffles(ARGS) {
  int v = IN(int, 4); u64 w = IN(u64, 7); int t = threadIdx.x; u32 m = 0xffffffff;
  OUT(0, __shfl_sync(m, v, 5)); OUT(1, __shfl_sync(m, v, t * 3)); OUT(2, __shfl_up_sync(m, v, 3)); OUT(3, __shfl_down_sync(m, v, 7)); OUT(4, __shfl_xor_sync(m, v, 9)); OUT(5, __shfl_sync(m, v, 2, 8)); OUT(6, __shfl_up_sync(m, v, 2, 4)); OUT(7, __shfl_down_sync(m, v, 5, 16)); OUT(8, __shfl_xor_sync(m, v, 6, 8)); OUT(9, __shfl_sync(m, w, t ^ 3)); OUT(10, __shfl_down_sync(m, IN(double, 11), 1));
  OUT(11, __any_sync(m, v > 0)); OUT(12, __all_sync(m, v != 0)); OUT(13, __ballot_sync(m, v & 1)); OUT(14, __activemask()); OUT(15, __match_any_sync(m, v & 3)); int p; OUT(16, __match_all_sync(m, t >> 5, &p)); OUT(17, p); OUT(18, __match_all_sync(m, w, &p)); OUT(19, p); OUT(20, __match_any_sync(m, w & 1));
#if __CUDA_ARCH__ >= 800
  OUT(21, __reduce_add_sync(m, v)); OUT(22, __reduce_min_sync(m, v)); OUT(23, __reduce_max_sync(m, (u32)v)); OUT(24, __reduce_and_sync(m, (u32)v | 0xff)); OUT(25, __reduce_or_sync(m, (u32)v)); OUT(26, __reduce_xor_sync(m, (u32)v)); OUT(27, __reduce_add_sync(m, (u32)v));
#endif
  if (t & 1) { OUT(28, __shfl_sync(0xaaaaaaaa, v, t | 1)); OUT(29, __ballot_sync(0xaaaaaaaa, v > 0)); OUT(30, __activemask()); } __syncwarp();
  u32 u; asm("mov.u32 %0, %%lanemask_lt;" : "=r"(u)); OUT(31, u); asm("mov.u32 %0, %%lanemask_ge;" : "=r"(u)); OUT(32, u); asm("mov.u32 %0, %%laneid;" : "=r"(u)); OUT(33, u); asm("mov.u32 %0, %%warpid;" : "=r"(u)); OUT(34, u); OUT(35, (int)(gridDim.x + 10 * blockDim.x)); { int uu; asm("{.reg .pred a; vote.sync.uni.pred a, 1, -1; selp.s32 %0, 1, 0, a;}" : "=r"(uu)); OUT(37, uu); }
  asm("{.reg .pred e; elect.sync %0|e, 0xffffffff; selp.u32 %0, 1, 0, e;}" : "=r"(u)); OUT(36, u);
}
extern "C" __global__ void barriers(ARGS) {
  __shared__ int s[64]; int t = threadIdx.x; OUT(0, __syncthreads_count(IN(int, 4) > 0)); OUT(1, __syncthreads_and(t < 64)); OUT(2, __syncthreads_or(t == 70)); s[t] = t;
  if (t < 32) { asm volatile("bar.sync 1, 64;" ::: "memory"); OUT(3, s[t + 32]); } else { s[t] = 5 * t; asm volatile("bar.arrive 1, 64;" ::: "memory"); OUT(3, t); }
  asm volatile("barrier.cta.sync 2, %0;" :: "r"(blockDim.x) : "memory"); asm volatile("barrier.sync.aligned 3;" ::: "memory"); int id = 4 + (t >> 5); asm volatile("bar.sync %0, 32;" :: "r"(id) : "memory"); OUT(4, s[t ^ 1]); __threadfence(); __threadfence_block(); __threadfence_system(); __nanosleep(10);
}
