#include "common.cuh"
#include <cuda_pipeline.h>
extern "C" __global__ void copies(ARGS) {
  __shared__ __align__(16) int s[64 * 4]; __shared__ int four[64]; __shared__ long long eight[64]; int t = threadIdx.x;
  __pipeline_memcpy_async(&s[4 * t], (const int4*)(in + 30 * 2048) + TID, 16); __pipeline_commit(); __pipeline_memcpy_async(&four[t], (const int*)in + TID, 4); __pipeline_memcpy_async(&eight[t], (const long long*)in + TID, 8, (t & 1) ? 8 : 0); __pipeline_commit(); __pipeline_wait_prior(1); __syncthreads(); OUT(0, s[t ^ 5]); __pipeline_wait_prior(0); __syncthreads(); OUT(1, four[t ^ 1]); OUT(2, eight[t ^ 2]);
  unsigned a = (unsigned)__cvta_generic_to_shared(&s[4 * (63 - t)]); const unsigned char* src = in + 16 * TID; asm volatile("cp.async.cg.shared.global [%0], [%1], 16; cp.async.wait_all;" :: "r"(a), "l"(src) : "memory"); __syncthreads(); OUT(3, s[t]); unsigned n = t & 15; asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], 16, %2; cp.async.commit_group; cp.async.wait_group 0;" :: "r"(a), "l"(src), "r"(n) : "memory"); __syncthreads(); OUT(4, s[t]);
}
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
extern "C" __global__ void groups(ARGS) {
  cg::thread_block b = cg::this_thread_block(); auto w = cg::tiled_partition<32>(b); auto q = cg::tiled_partition<8>(w); int v = IN(int, 19);
  OUT(0, (int)b.thread_rank() + 100 * (int)b.size()); OUT(1, cg::reduce(w, v, cg::plus<int>())); OUT(2, cg::reduce(q, v, cg::greater<int>())); OUT(3, q.shfl_down(v, 1)); OUT(4, (int)q.meta_group_rank()); OUT(5, cg::inclusive_scan(w, v)); b.sync(); w.sync(); if (v & 1) { cg::coalesced_group c = cg::coalesced_threads(); OUT(6, (int)c.size()); OUT(7, (int)c.thread_rank()); } OUT(8, q.any(v > 3)); OUT(9, q.ballot(v > 3)); OUT(10, cg::reduce(w, (float)v, cg::plus<float>())); OUT(11, w.match_any(v & 1)); auto g = cg::this_grid(); OUT(12, (int)g.thread_rank());
}
