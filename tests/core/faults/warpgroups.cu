// Matrix products of warpgroups, and clusters.
#include <cooperative_groups.h>
typedef unsigned u32;
typedef unsigned long long u64;
struct alignas(64) TensorMap { u64 words[16]; };

#define ADDRESS(p) ((u32)__cvta_generic_to_shared(p))
#define PROXY_FENCE asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define FENCE asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define COMMIT asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define WAIT(n) asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(n) : "memory")
#define INIT(b, n) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(ADDRESS(&b)), "r"(n) : "memory")
#define EXPECT(b, n) asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(ADDRESS(&b)), "r"(n) : "memory")
#define WAIT_FOR(b, p) asm volatile("{ .reg .pred q; again: mbarrier.try_wait.parity.shared::cta.b64 q, [%0], %1; @q bra done; bra again; done: }" :: "r"(ADDRESS(&b)), "r"(p) : "memory")
#define BOX_IN(to, map, x, y, b) asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" :: "r"(ADDRESS(to)), "l"(map), "r"(x), "r"(y), "r"(ADDRESS(&b)) : "memory")
// 64 x 8 += 64 x 16 times 16 x 8, of F16
#define MULTIPLY(d, a, b) asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b) : "memory")
#define MULTIPLY_R(d, r, b) asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, 1, 1, 1, 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "l"(b) : "memory")
#define TILE_K(p) ((u64)((ADDRESS(p) & 0x3FFFF) >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62)
#define TILE_BY(p, stride) ((u64)((ADDRESS(p) & 0x3FFFF) >> 4) | 1ull << 16 | (u64)(stride >> 4) << 32 | 1ull << 62)
#define TILE_K64(p) ((u64)((ADDRESS(p) & 0x3FFFF) >> 4) | 1ull << 16 | 32ull << 32 | 2ull << 62)
#define FILL for (int i = threadIdx.x; i < 2048; i += 128) { ((u32*)a)[i] = 0x3c003c00; if (i < 256) ((u32*)b)[i] = 0x3c003c00; }

//@ sums_before_wait grid=1 block=128 c=output:float32[128]
extern "C" __global__ void sums_before_wait(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4] = {}; FILL
  PROXY_FENCE; __syncthreads();
  FENCE; MULTIPLY(d, TILE_K(a), TILE_K(b)); COMMIT;
  c[threadIdx.x] = d[0] + d[1];  //! not_awaited
  WAIT(0);
}
extern "C" __global__ void sums_before_wait_ok(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4] = {}; FILL
  PROXY_FENCE; __syncthreads();
  FENCE; MULTIPLY(d, TILE_K(a), TILE_K(b)); COMMIT;
  WAIT(0);
  c[threadIdx.x] = d[0] + d[1];
}

//@ sum_passed_before_wait grid=1 block=128 c=output:float32[128]
__device__ __noinline__ float twice(float sum) {
  return 2 * sum;  //! not_awaited
}
__device__ __noinline__ float same(float sum) {
  return sum;
}
extern "C" __global__ void sum_passed_before_wait(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4] = {}; FILL
  PROXY_FENCE; __syncthreads();
  FENCE; MULTIPLY(d, TILE_K(a), TILE_K(b)); COMMIT;
  c[threadIdx.x] = twice(same(d[1]));
  WAIT(0);
}
extern "C" __global__ void sum_passed_before_wait_ok(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4] = {}; FILL
  PROXY_FENCE; __syncthreads();
  FENCE; MULTIPLY(d, TILE_K(a), TILE_K(b)); COMMIT;
  float kept = same(d[1]);
  WAIT(0);
  c[threadIdx.x] = twice(kept);
}

//@ sum_returned_before_wait grid=1 block=128 c=output:float32[128]
extern "C" __global__ void sum_returned_before_wait(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4] = {}; FILL
  PROXY_FENCE; __syncthreads();
  FENCE; MULTIPLY(d, TILE_K(a), TILE_K(b)); COMMIT;
  float kept = same(d[1]);
  c[threadIdx.x] = kept + 1;  //! not_awaited
  WAIT(0);
}
extern "C" __global__ void sum_returned_before_wait_ok(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4] = {}; FILL
  PROXY_FENCE; __syncthreads();
  FENCE; MULTIPLY(d, TILE_K(a), TILE_K(b)); COMMIT;
  float kept = same(d[1]), other = same(threadIdx.x);
  other += 1;
  WAIT(0);
  c[threadIdx.x] = kept + other;
}

//@ wait_for_all_but_one grid=1 block=128 c=output:float32[128]
extern "C" __global__ void wait_for_all_but_one(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4] = {}; FILL
  PROXY_FENCE; __syncthreads();
  FENCE; MULTIPLY(d, TILE_K(a), TILE_K(b)); COMMIT;
  WAIT(1);
  c[threadIdx.x] = d[3] * 2;  //! not_awaited
}
extern "C" __global__ void wait_for_all_but_one_ok(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4] = {}, e[4] = {}; FILL
  PROXY_FENCE; __syncthreads();
  FENCE; MULTIPLY(d, TILE_K(a), TILE_K(b)); COMMIT;
  MULTIPLY(e, TILE_K(a), TILE_K(b)); COMMIT;
  WAIT(1);
  c[threadIdx.x] = d[3] * 2;
  WAIT(0);
}

//@ wait_without_commit_of_product grid=1 block=128 c=output:float32[128]
extern "C" __global__ void wait_without_commit_of_product(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4] = {}; FILL
  PROXY_FENCE; __syncthreads();
  FENCE; MULTIPLY(d, TILE_K(a), TILE_K(b));
  WAIT(0);
  c[threadIdx.x] = d[1] + 1;  //! not_awaited
  COMMIT; WAIT(0);
}
extern "C" __global__ void wait_without_commit_of_product_ok(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4] = {}; FILL
  PROXY_FENCE; __syncthreads();
  FENCE; MULTIPLY(d, TILE_K(a), TILE_K(b));
  COMMIT; WAIT(0);
  c[threadIdx.x] = d[1] + 1;
}

//@ tile_overwritten grid=1 block=128 c=output:float32[128]
extern "C" __global__ void tile_overwritten(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4] = {}; FILL
  PROXY_FENCE; __syncthreads();
  FENCE; MULTIPLY(d, TILE_K(a), TILE_K(b)); COMMIT;
  ((u32*)b)[threadIdx.x] = 0;  //! not_awaited b
  WAIT(0);
  c[threadIdx.x] = d[0];
}
extern "C" __global__ void tile_overwritten_ok(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4] = {}; FILL
  PROXY_FENCE; __syncthreads();
  FENCE; MULTIPLY(d, TILE_K(a), TILE_K(b)); COMMIT;
  WAIT(0);
  __syncthreads();
  ((u32*)b)[threadIdx.x] = 0;
  c[threadIdx.x] = d[0];
}

//@ tile_refilled grid=1 block=128 m=map:64x64:128:input:float16[64,128] c=output:float32[128]
extern "C" __global__ void tile_refilled(const __grid_constant__ TensorMap m, float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; __shared__ u64 full; float d[4] = {};
  if (threadIdx.x == 0) INIT(full, 1);
  for (int i = threadIdx.x; i < 256; i += 128) ((u32*)b)[i] = 0x3c003c00;
  PROXY_FENCE; __syncthreads();
  for (int i = 0; i < 2; i++) {
    if (threadIdx.x == 0) {
      EXPECT(full, 8192);
      BOX_IN(a, &m, 64 * i, 0, full);  //! not_awaited a
    }
    WAIT_FOR(full, i);
    FENCE; MULTIPLY(d, TILE_K(a), TILE_K(b)); COMMIT;
  }
  WAIT(0);
  c[threadIdx.x] = d[0];
}
extern "C" __global__ void tile_refilled_ok(const __grid_constant__ TensorMap m, float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; __shared__ u64 full; float d[4] = {};
  if (threadIdx.x == 0) INIT(full, 1);
  for (int i = threadIdx.x; i < 256; i += 128) ((u32*)b)[i] = 0x3c003c00;
  PROXY_FENCE; __syncthreads();
  for (int i = 0; i < 2; i++) {
    if (threadIdx.x == 0) { EXPECT(full, 8192); BOX_IN(a, &m, 64 * i, 0, full); }
    WAIT_FOR(full, i);
    FENCE; MULTIPLY(d, TILE_K(a), TILE_K(b)); COMMIT;
    WAIT(0);
    __syncthreads();
  }
  c[threadIdx.x] = d[0];
}

//@ product_before_copy grid=1 block=128 m=map:64x64:128:input:float16[64,128] c=output:float32[128]
extern "C" __global__ void product_before_copy(const __grid_constant__ TensorMap m, float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; __shared__ u64 full; float d[4] = {}; FILL
  if (threadIdx.x == 0) INIT(full, 1);
  PROXY_FENCE; __syncthreads();
  if (threadIdx.x == 0) { EXPECT(full, 8192); BOX_IN(a, &m, 0, 0, full); }
  FENCE;
  MULTIPLY(d, TILE_K(a), TILE_K(b));  //! not_awaited a
  COMMIT; WAIT(0); WAIT_FOR(full, 0);
  c[threadIdx.x] = d[0];
}
extern "C" __global__ void product_before_copy_ok(const __grid_constant__ TensorMap m, float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; __shared__ u64 full; float d[4] = {}; FILL
  if (threadIdx.x == 0) INIT(full, 1);
  PROXY_FENCE; __syncthreads();
  if (threadIdx.x == 0) { EXPECT(full, 8192); BOX_IN(a, &m, 0, 0, full); }
  WAIT_FOR(full, 0);
  FENCE; MULTIPLY(d, TILE_K(a), TILE_K(b)); COMMIT; WAIT(0);
  c[threadIdx.x] = d[0];
}

//@ product_where_one_thread_waits grid=1 block=128 m=map:64x64:128:input:float16[64,128] c=output:float32[128]
extern "C" __global__ void product_where_one_thread_waits(const __grid_constant__ TensorMap m, float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; __shared__ u64 full; float d[4] = {}; int t = threadIdx.x;
  for (int i = t; i < 256; i += 128) ((u32*)b)[i] = 0x3c003c00;
  if (t == 0) INIT(full, 1);
  PROXY_FENCE; __syncthreads();
  if (t == 0) { EXPECT(full, 8192); BOX_IN(a, &m, 0, 0, full); }
  if (t == 0) WAIT_FOR(full, 0);
  FENCE;
  MULTIPLY(d, TILE_K(a), TILE_K(b));  //! not_awaited a
  COMMIT; WAIT(0);
  c[t] = d[0];
}
extern "C" __global__ void product_where_one_thread_waits_ok(const __grid_constant__ TensorMap m, float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; __shared__ u64 full; float d[4] = {}; int t = threadIdx.x;
  for (int i = t; i < 256; i += 128) ((u32*)b)[i] = 0x3c003c00;
  if (t == 0) INIT(full, 1);
  PROXY_FENCE; __syncthreads();
  if (t == 0) { EXPECT(full, 8192); BOX_IN(a, &m, 0, 0, full); }
  if (t == 0) WAIT_FOR(full, 0);
  __syncthreads();
  FENCE;
  MULTIPLY(d, TILE_K(a), TILE_K(b));
  COMMIT; WAIT(0);
  c[t] = d[0];
}

//@ product_of_half_a_warp grid=1 block=128 m=map:64x64:128:input:float16[64,128] c=output:float32[128]
extern "C" __global__ void product_of_half_a_warp(const __grid_constant__ TensorMap m, float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; __shared__ u64 full; float d[4] = {}; int t = threadIdx.x;
  for (int i = t; i < 256; i += 128) ((u32*)b)[i] = 0x3c003c00;
  if (t == 0) INIT(full, 1);
  PROXY_FENCE; __syncthreads();
  if (t == 0) { EXPECT(full, 8192); BOX_IN(a, &m, 0, 0, full); }
  WAIT_FOR(full, 0);
  if (t % 32 >= 16) {
    FENCE;
    MULTIPLY(d, TILE_K(a), TILE_K(b));  //! divergent_warp
    COMMIT; WAIT(0);
  }
  c[t] = d[0];
}
extern "C" __global__ void product_of_half_a_warp_ok(const __grid_constant__ TensorMap m, float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; __shared__ u64 full; float d[4] = {}; int t = threadIdx.x;
  for (int i = t; i < 256; i += 128) ((u32*)b)[i] = 0x3c003c00;
  if (t == 0) INIT(full, 1);
  PROXY_FENCE; __syncthreads();
  if (t == 0) { EXPECT(full, 8192); BOX_IN(a, &m, 0, 0, full); }
  WAIT_FOR(full, 0);
  if (t / 32 >= 0) {
    FENCE;
    MULTIPLY(d, TILE_K(a), TILE_K(b));
    COMMIT; WAIT(0);
  }
  c[t] = d[0];
}

//@ other_swizzle grid=1 block=128 m=map:32x64:64:input:float16[64,128] c=output:float32[128]
extern "C" __global__ void other_swizzle(const __grid_constant__ TensorMap m, float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; __shared__ u64 full; float d[4] = {}; FILL
  if (threadIdx.x == 0) INIT(full, 1);
  PROXY_FENCE; __syncthreads();
  if (threadIdx.x == 0) { EXPECT(full, 4096); BOX_IN(a, &m, 0, 0, full); }
  WAIT_FOR(full, 0);
  FENCE;
  MULTIPLY(d, TILE_K(a), TILE_K(b));  //! bad_descriptor a
  COMMIT; WAIT(0);
  c[threadIdx.x] = d[0];
}
extern "C" __global__ void other_swizzle_ok(const __grid_constant__ TensorMap m, float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; __shared__ u64 full; float d[4] = {}; FILL
  if (threadIdx.x == 0) INIT(full, 1);
  PROXY_FENCE; __syncthreads();
  if (threadIdx.x == 0) { EXPECT(full, 4096); BOX_IN(a, &m, 0, 0, full); }
  WAIT_FOR(full, 0);
  FENCE; MULTIPLY(d, TILE_K64(a), TILE_K(b)); COMMIT; WAIT(0);
  c[threadIdx.x] = d[0];
}

//@ product_without_proxy_fence grid=1 block=128 c=output:float32[128]
extern "C" __global__ void product_without_proxy_fence(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4] = {}; FILL
  __syncthreads();
  FENCE;
  MULTIPLY(d, TILE_K(a), TILE_K(b));  //! proxy_fence a
  COMMIT; WAIT(0);
  c[threadIdx.x] = d[0];
}
extern "C" __global__ void product_without_proxy_fence_ok(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4] = {}; FILL
  PROXY_FENCE; __syncthreads();
  FENCE; MULTIPLY(d, TILE_K(a), TILE_K(b)); COMMIT; WAIT(0);
  c[threadIdx.x] = d[0];
}

//@ product_without_barrier grid=1 block=128 c=output:float32[128]
extern "C" __global__ void product_without_barrier(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4] = {}; FILL
  PROXY_FENCE;
  FENCE;
  MULTIPLY(d, TILE_K(a), TILE_K(b));  //! race a
  COMMIT; WAIT(0);
  c[threadIdx.x] = d[0];
}
extern "C" __global__ void product_without_barrier_ok(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4] = {}; FILL
  PROXY_FENCE;
  asm volatile("bar.sync 1, 128;" ::: "memory");
  FENCE; MULTIPLY(d, TILE_K(a), TILE_K(b)); COMMIT; WAIT(0);
  c[threadIdx.x] = d[0];
}

//@ no_fence_before_product grid=1 block=128 c=output:float32[128]
extern "C" __global__ void no_fence_before_product(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4] = {}; FILL
  PROXY_FENCE; __syncthreads();
  MULTIPLY(d, TILE_K(a), TILE_K(b));  //! no_wgmma_fence
  COMMIT; WAIT(0);
  c[threadIdx.x] = d[0];
}
extern "C" __global__ void no_fence_before_product_ok(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4] = {}; FILL
  PROXY_FENCE; __syncthreads();
  FENCE; MULTIPLY(d, TILE_K(a), TILE_K(b)); COMMIT; WAIT(0);
  c[threadIdx.x] = d[0];
}

//@ rows_overlap grid=1 block=128 c=output:float32[128]
extern "C" __global__ void rows_overlap(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4] = {}; FILL
  PROXY_FENCE; __syncthreads();
  FENCE;
  MULTIPLY(d, TILE_BY(a, 512), TILE_K(b));  //! bad_descriptor
  COMMIT; WAIT(0);
  c[threadIdx.x] = d[0];
}
extern "C" __global__ void rows_overlap_ok(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4] = {}; FILL
  PROXY_FENCE; __syncthreads();
  FENCE;
  MULTIPLY(d, TILE_BY(a, 1024), TILE_BY(b, 0));  // b has eight columns: nothing steps
  COMMIT; WAIT(0);
  c[threadIdx.x] = d[0];
}

//@ tile_not_aligned grid=1 block=128 c=output:float32[128]
extern "C" __global__ void tile_not_aligned(float* c) {
  __shared__ __align__(1024) char a[8192 + 1024], b[1024]; float d[4] = {};
  for (int i = threadIdx.x; i < 2304; i += 128) { ((u32*)a)[i] = 0x3c003c00; if (i < 256) ((u32*)b)[i] = 0x3c003c00; }
  PROXY_FENCE; __syncthreads();
  FENCE;
  MULTIPLY(d, TILE_K(a + 256), TILE_K(b));  //! bad_descriptor a
  COMMIT; WAIT(0);
  c[threadIdx.x] = d[0];
}
extern "C" __global__ void tile_not_aligned_ok(float* c) {
  __shared__ __align__(1024) char a[8192 + 1024], b[1024]; float d[4] = {};
  for (int i = threadIdx.x; i < 2304; i += 128) { ((u32*)a)[i] = 0x3c003c00; if (i < 256) ((u32*)b)[i] = 0x3c003c00; }
  PROXY_FENCE; __syncthreads();
  FENCE; MULTIPLY(d, TILE_K(a + 1024), TILE_K(b)); COMMIT; WAIT(0);
  c[threadIdx.x] = d[0];
}

//@ tile_within_pattern grid=1 block=128 m=map:64x64:128:input:float16[64,128] c=output:float32[128]
extern "C" __global__ void tile_within_pattern(const __grid_constant__ TensorMap m, float* c) {
  __shared__ __align__(1024) char a[8192 + 1024], b[1024]; float d[4] = {};
  for (int i = threadIdx.x; i < 2304; i += 128) { ((u32*)a)[i] = 0x3c003c00; if (i < 256) ((u32*)b)[i] = 0x3c003c00; }
  PROXY_FENCE; __syncthreads();
  FENCE;
  MULTIPLY(d, TILE_K(a + 256), TILE_K(b));  //! bad_descriptor a
  COMMIT; WAIT(0);
  c[threadIdx.x] = d[0];
}
// The copy swizzles by address, as the product does.
extern "C" __global__ void tile_within_pattern_ok(const __grid_constant__ TensorMap m, float* c) {
  __shared__ __align__(1024) char a[8192 + 1024], b[1024]; __shared__ u64 full; float d[4] = {}; FILL
  if (threadIdx.x == 0) INIT(full, 1);
  PROXY_FENCE; __syncthreads();
  if (threadIdx.x == 0) { EXPECT(full, 8192); BOX_IN(a + 256, &m, 0, 0, full); }
  WAIT_FOR(full, 0);
  FENCE; MULTIPLY(d, TILE_K(a + 256), TILE_K(b)); COMMIT; WAIT(0);
  c[threadIdx.x] = d[0];
}

//@ tile_beyond_shared grid=1 block=128 c=output:float32[128]
extern "C" __global__ void tile_beyond_shared(float* c) {
  __shared__ __align__(1024) char s[8192 + 1024]; char* a = s; char* b = s + 8192; float d[4] = {}; FILL
  PROXY_FENCE; __syncthreads();
  FENCE;
  MULTIPLY(d, TILE_K(s + 2048), TILE_K(b));  //! bad_descriptor
  COMMIT; WAIT(0);
  c[threadIdx.x] = d[0];
}
extern "C" __global__ void tile_beyond_shared_ok(float* c) {
  __shared__ __align__(1024) char s[8192 + 1024]; char* a = s; char* b = s + 8192; float d[4] = {}; FILL
  PROXY_FENCE; __syncthreads();
  FENCE; MULTIPLY(d, TILE_K(s), TILE_K(b)); COMMIT; WAIT(0);
  c[threadIdx.x] = d[0];
}

//@ half_a_warpgroup_never_written grid=1 block=128 c=output:float32[128]
extern "C" __global__ void half_a_warpgroup_never_written(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4] = {};
  for (int i = threadIdx.x; i < 1024; i += 128) { ((u32*)a)[i] = 0x3c003c00; if (i < 256) ((u32*)b)[i] = 0x3c003c00; }
  PROXY_FENCE; __syncthreads();
  FENCE;
  MULTIPLY(d, TILE_K(a), TILE_K(b));  //! uninitialised a
  COMMIT; WAIT(0);
  c[threadIdx.x] = d[0];
}
extern "C" __global__ void half_a_warpgroup_never_written_ok(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4] = {}; FILL
  PROXY_FENCE; __syncthreads();
  FENCE; MULTIPLY(d, TILE_K(a), TILE_K(b)); COMMIT; WAIT(0);
  c[threadIdx.x] = d[0];
}

//@ block_ends_before_it_is_read grid=4 block=32 c=output:int32[128]
extern "C" __global__ void __cluster_dims__(2) block_ends_before_it_is_read(int* c) {
  namespace cg = cooperative_groups; cg::cluster_group g = cg::this_cluster();
  __shared__ int s[32]; int t = threadIdx.x, i = 32 * blockIdx.x + t;
  s[t] = i;
  g.sync();
  if (g.block_rank() == 1) { c[i] = i; return; }
  for (int n = 0; n < 300; n++) __nanosleep(100);
  c[i] = g.map_shared_rank(s, 1)[t];  //! remote_exit s
}
extern "C" __global__ void __cluster_dims__(2) block_ends_before_it_is_read_ok(int* c) {
  namespace cg = cooperative_groups; cg::cluster_group g = cg::this_cluster();
  __shared__ int s[32]; int t = threadIdx.x, i = 32 * blockIdx.x + t;
  s[t] = i;
  g.sync();
  c[i] = g.map_shared_rank(s, 1 - g.block_rank())[t];
  g.sync();
}

//@ remote_read_without_barrier grid=2 block=32 c=output:int32[64]
extern "C" __global__ void __cluster_dims__(2) remote_read_without_barrier(int* c) {
  namespace cg = cooperative_groups; cg::cluster_group g = cg::this_cluster();
  __shared__ int s[32]; int t = threadIdx.x, i = 32 * blockIdx.x + t;
  s[t] = i;
  c[i] = g.map_shared_rank(s, 1 - g.block_rank())[t];  //! race s
  g.sync();
}
extern "C" __global__ void __cluster_dims__(2) remote_read_without_barrier_ok(int* c) {
  namespace cg = cooperative_groups; cg::cluster_group g = cg::this_cluster();
  __shared__ int s[32]; int t = threadIdx.x, i = 32 * blockIdx.x + t;
  s[t] = i;
  g.sync();
  c[i] = g.map_shared_rank(s, 1 - g.block_rank())[t];
  g.sync();
}

//@ barrier_of_one_block_only grid=2 block=64 c=output:int32[128]
extern "C" __global__ void __cluster_dims__(2) barrier_of_one_block_only(int* c) {
  namespace cg = cooperative_groups; cg::cluster_group g = cg::this_cluster();
  __shared__ int s[64]; int t = threadIdx.x, i = 64 * blockIdx.x + t;
  s[t] = i;
  __syncthreads();
  g.sync();
  int v = g.map_shared_rank(s, 1 - g.block_rank())[t];  //! remote_exit s
  c[i] = v;
  if (g.block_rank() == 0)
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");  //! divergent_barrier
}
extern "C" __global__ void __cluster_dims__(2) barrier_of_one_block_only_ok(int* c) {
  namespace cg = cooperative_groups; cg::cluster_group g = cg::this_cluster();
  __shared__ int s[64]; int t = threadIdx.x, i = 64 * blockIdx.x + t;
  s[t] = i;
  g.sync();
  int v = g.map_shared_rank(s, 1 - g.block_rank())[t];
  c[i] = v;
  g.sync();
}

//@ rank_beyond_cluster grid=2 block=32 c=output:int32[64]
extern "C" __global__ void __cluster_dims__(2) rank_beyond_cluster(int* c) {
  __shared__ int s[32]; int t = threadIdx.x, i = 32 * blockIdx.x + t; s[t] = i;
  u32 other;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(other) : "r"(ADDRESS(s)), "r"(blockIdx.x + 1));  //! bad_rank
  c[i] = other;
}
extern "C" __global__ void __cluster_dims__(2) rank_beyond_cluster_ok(int* c) {
  __shared__ int s[32]; int t = threadIdx.x, i = 32 * blockIdx.x + t; s[t] = i;
  u32 other;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(other) : "r"(ADDRESS(s)), "r"(blockIdx.x));
  c[i] = other;
}

//@ remote_arrivals_missing grid=2 block=32 c=output:int32[64]
extern "C" __global__ void __cluster_dims__(2) remote_arrivals_missing(int* c) {
  namespace cg = cooperative_groups; cg::cluster_group g = cg::this_cluster();
  __shared__ u64 bar; int t = threadIdx.x, i = 32 * blockIdx.x + t;
  if (t == 0) INIT(bar, 2);
  g.sync();
  if (t == 0) {
    u32 other;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(other) : "r"(ADDRESS(&bar)), "r"(0));
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" :: "r"(other) : "memory");
    WAIT_FOR(bar, 0);  //! hang bar
  }
  c[i] = i;
  asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");  //! deadlock
}
extern "C" __global__ void __cluster_dims__(2) remote_arrivals_missing_ok(int* c) {
  namespace cg = cooperative_groups; cg::cluster_group g = cg::this_cluster();
  __shared__ u64 bar; int t = threadIdx.x, i = 32 * blockIdx.x + t;
  if (t == 0) INIT(bar, 2);
  g.sync();
  if (t == 0) {
    u32 other;
    for (int r = 0; r < 2; r++) {
      asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(other) : "r"(ADDRESS(&bar)), "r"(r));
      asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" :: "r"(other) : "memory");
    }
    WAIT_FOR(bar, 0);
  }
  c[i] = i;
  g.sync();
}

// Sums that nobody set: a product that begins anew does not read them, one that adds does.
#define BEGIN(d, a, b) asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 0, 1, 1, 0, 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b) : "memory")
//@ sums_of_nothing grid=1 block=128 c=output:float32[128]
extern "C" __global__ void sums_of_nothing(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4]; FILL
  PROXY_FENCE; __syncthreads();
  FENCE; MULTIPLY(d, TILE_K(a), TILE_K(b)); COMMIT;  //! uninitialised d
  WAIT(0);
  c[threadIdx.x] = d[0] + d[1];
}
extern "C" __global__ void sums_of_nothing_ok(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4]; FILL
  PROXY_FENCE; __syncthreads();
  FENCE; BEGIN(d, TILE_K(a), TILE_K(b)); COMMIT;
  WAIT(0);
  c[threadIdx.x] = d[0] + d[1];
}

//@ more_registers_than_there_are grid=2 block=384 c=output:float32[768]
extern "C" __global__ void __launch_bounds__(384, 1) more_registers_than_there_are(float* c) {
  if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 248;");  //! deadlock
  }
  c[384 * blockIdx.x + threadIdx.x] = threadIdx.x;
}
extern "C" __global__ void __launch_bounds__(384, 1) more_registers_than_there_are_ok(float* c) {
  if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
  }
  c[384 * blockIdx.x + threadIdx.x] = threadIdx.x;
}

//@ registers_of_one_warp grid=2 block=384 c=output:float32[768]
extern "C" __global__ void __launch_bounds__(384, 1) registers_of_one_warp(float* c) {
  if (threadIdx.x < 128) {
    if (threadIdx.x < 32) asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");  //! deadlock
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
  }
  c[384 * blockIdx.x + threadIdx.x] = threadIdx.x;
}
extern "C" __global__ void __launch_bounds__(384, 1) registers_of_one_warp_ok(float* c) {
  if (threadIdx.x < 128) {
    if (threadIdx.x < 128) asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
  }
  c[384 * blockIdx.x + threadIdx.x] = threadIdx.x;
}
