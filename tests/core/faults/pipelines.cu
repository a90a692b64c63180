// Producers and consumers on Hopper: who may say that a tile is free or full, and to whom.
typedef unsigned u32;
typedef unsigned long long u64;
struct alignas(64) TensorMap { u64 words[16]; };

#define ADDRESS(p) ((u32)__cvta_generic_to_shared(p))
#define PROXY_FENCE asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define FENCE asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define INIT(b, n) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(ADDRESS(&b)), "r"(n) : "memory")
#define EXPECT(b, n) asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(ADDRESS(&b)), "r"(n) : "memory")
#define WAIT_FOR(b, p) asm volatile("{ .reg .pred q; again: mbarrier.try_wait.parity.shared::cta.b64 q, [%0], %1; @q bra done; bra again; done: }" :: "r"(ADDRESS(&b)), "r"(p) : "memory")
#define MULTIPLY(d, a, b) asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b) : "memory")
#define TILE_K(p) ((u64)((ADDRESS(p) & 0x3FFFF) >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62)
#define WGMMA_COMMIT asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define WGMMA_WAIT(n) asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(n) : "memory")
#define ARRIVE(b) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(ADDRESS(&b)) : "memory")
#define COPY_IN(to, from, n, b) asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" :: "r"(ADDRESS(to)), "l"(from), "r"(n), "r"(ADDRESS(&b)) : "memory")

// One thread of a warpgroup says that its product is done, as in CUTLASS's pipelines.
//@ says_so_before_the_wait grid=1 block=160 x=input:float16[18432] c=output:float32[512]
extern "C" __global__ void says_so_before_the_wait(const char* x, float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; __shared__ u64 full, empty; int t = threadIdx.x;
  if (t == 0) { INIT(full, 1); INIT(empty, 1); }
  __syncthreads();
  if (t == 128)
    for (int i = 0; i < 4; i++) {
      WAIT_FOR(empty, (i & 1) ^ 1);
      EXPECT(full, 9216);
      COPY_IN(a, x + 9216 * i, 8192, full);  //! not_awaited a
      COPY_IN(b, x + 9216 * i + 8192, 1024, full);  //! not_awaited b
    }
  if (t < 128)
    for (int i = 0; i < 4; i++) {
      float d[4] = {};
      WAIT_FOR(full, i & 1);
      FENCE; MULTIPLY(d, TILE_K(a), TILE_K(b)); WGMMA_COMMIT;
      if (t == 64) ARRIVE(empty);
      WGMMA_WAIT(0);
      c[128 * i + t] = d[0] + d[3];
    }
}
extern "C" __global__ void says_so_before_the_wait_ok(const char* x, float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; __shared__ u64 full, empty; int t = threadIdx.x;
  if (t == 0) { INIT(full, 1); INIT(empty, 1); }
  __syncthreads();
  if (t == 128)
    for (int i = 0; i < 4; i++) {
      WAIT_FOR(empty, (i & 1) ^ 1);
      EXPECT(full, 9216);
      COPY_IN(a, x + 9216 * i, 8192, full);
      COPY_IN(b, x + 9216 * i + 8192, 1024, full);
    }
  if (t < 128)
    for (int i = 0; i < 4; i++) {
      float d[4] = {};
      WAIT_FOR(full, i & 1);
      FENCE; MULTIPLY(d, TILE_K(a), TILE_K(b)); WGMMA_COMMIT;
      WGMMA_WAIT(0);
      if (t == 64) ARRIVE(empty);
      c[128 * i + t] = d[0] + d[3];
    }
}
// A thread that reads the tile itself has to say so itself.
//@ one_says_so_for_threads_that_read grid=1 block=160 x=input:float32[128] c=output:float32[128]
extern "C" __global__ void one_says_so_for_threads_that_read(const float* x, float* c) {
  __shared__ __align__(128) float tile[32]; __shared__ u64 full, empty; int t = threadIdx.x;
  if (t == 0) { INIT(full, 1); INIT(empty, 1); }
  __syncthreads();
  if (t == 128)
    for (int i = 0; i < 4; i++) {
      WAIT_FOR(empty, (i & 1) ^ 1);
      EXPECT(full, 128);
      COPY_IN(tile, x + 32 * i, 128, full);  //! race tile
    }
  if (t < 32)
    for (int i = 0; i < 4; i++) {
      WAIT_FOR(full, i & 1);
      c[32 * i + t] = tile[t];
      if (t == 0) ARRIVE(empty);
    }
}
extern "C" __global__ void one_says_so_for_threads_that_read_ok(const float* x, float* c) {
  __shared__ __align__(128) float tile[32]; __shared__ u64 full, empty; int t = threadIdx.x;
  if (t == 0) { INIT(full, 1); INIT(empty, 1); }
  __syncthreads();
  if (t == 128)
    for (int i = 0; i < 4; i++) {
      WAIT_FOR(empty, (i & 1) ^ 1);
      EXPECT(full, 128);
      COPY_IN(tile, x + 32 * i, 128, full);
    }
  if (t < 32)
    for (int i = 0; i < 4; i++) {
      WAIT_FOR(full, i & 1);
      c[32 * i + t] = tile[t];
      __syncwarp();
      if (t == 0) ARRIVE(empty);
    }
}

// All four warps of a warpgroup multiply, or none.
#define FILL for (int i = threadIdx.x; i < 2048; i += blockDim.x) { ((u32*)a)[i] = 0x3c003c00; if (i < 256) ((u32*)b)[i] = 0x3c003c00; }
//@ three_warps_multiply grid=2 block=128 c=output:float32[256]
extern "C" __global__ void three_warps_multiply(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4] = {}; FILL
  PROXY_FENCE; __syncthreads();
  if (threadIdx.x < 96) {
    FENCE;
    MULTIPLY(d, TILE_K(a), TILE_K(b));  //! divergent_warp
    WGMMA_COMMIT; WGMMA_WAIT(0);
  }
  c[blockIdx.x * 128 + threadIdx.x] = d[0];
}
extern "C" __global__ void three_warps_multiply_ok(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4] = {}; FILL
  PROXY_FENCE; __syncthreads();
  if (threadIdx.x < 128) {
    FENCE; MULTIPLY(d, TILE_K(a), TILE_K(b)); WGMMA_COMMIT; WGMMA_WAIT(0);
  }
  c[blockIdx.x * 128 + threadIdx.x] = d[0];
}

//@ fourth_warp_waits_elsewhere grid=1 block=256 c=output:float32[256]
extern "C" __global__ void fourth_warp_waits_elsewhere(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4] = {}; FILL
  PROXY_FENCE; __syncthreads();
  if (threadIdx.x / 32 != 6) {
    FENCE;
    MULTIPLY(d, TILE_K(a), TILE_K(b));  //! divergent_warp
    WGMMA_COMMIT; WGMMA_WAIT(0);
  }
  __syncthreads();
  c[threadIdx.x] = d[0];
}
extern "C" __global__ void fourth_warp_waits_elsewhere_ok(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4] = {}; FILL
  PROXY_FENCE; __syncthreads();
  if (threadIdx.x / 32 < 4) {
    FENCE; MULTIPLY(d, TILE_K(a), TILE_K(b)); WGMMA_COMMIT; WGMMA_WAIT(0);
  }
  __syncthreads();
  c[threadIdx.x] = d[0];
}

//@ block_without_a_fourth_warp grid=1 block=96 c=output:float32[128]
extern "C" __global__ void block_without_a_fourth_warp(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4] = {}; FILL
  PROXY_FENCE; __syncthreads();
  FENCE;
  MULTIPLY(d, TILE_K(a), TILE_K(b));  //! divergent_warp
  WGMMA_COMMIT; WGMMA_WAIT(0);
  c[threadIdx.x] = d[0];
}
extern "C" __global__ void block_without_a_fourth_warp_ok(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4] = {}; FILL
  PROXY_FENCE; __syncthreads();
  c[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x] + d[0];
}

// Two warps free the tile, each by one thread, and the barrier counts one: the second arrival is the next phase's.
//@ counts_one_of_two_arrivals grid=1 block=96 x=input:float32[128] c=output:float32[128]
extern "C" __global__ void counts_one_of_two_arrivals(const float* x, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full, empty; int t = threadIdx.x;
  if (t == 0) { INIT(full, 1); INIT(empty, 1); }
  __syncthreads();
  if (t == 64)
    for (int i = 0; i < 2; i++) {
      if (i) WAIT_FOR(empty, 0);
      EXPECT(full, 256);
      COPY_IN(tile, x + 64 * i, 256, full);  //! race tile
    }
  if (t < 64)
    for (int i = 0; i < 2; i++) {
      WAIT_FOR(full, i);
      c[64 * i + t] = tile[63 - t];
      __syncwarp();
      if (t % 32 == 0) ARRIVE(empty);
    }
}
extern "C" __global__ void counts_one_of_two_arrivals_ok(const float* x, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full, empty; int t = threadIdx.x;
  if (t == 0) { INIT(full, 1); INIT(empty, 2); }
  __syncthreads();
  if (t == 64)
    for (int i = 0; i < 2; i++) {
      if (i) WAIT_FOR(empty, 0);
      EXPECT(full, 256);
      COPY_IN(tile, x + 64 * i, 256, full);
    }
  if (t < 64)
    for (int i = 0; i < 2; i++) {
      WAIT_FOR(full, i);
      c[64 * i + t] = tile[63 - t];
      __syncwarp();
      if (t % 32 == 0) ARRIVE(empty);
    }
}

// The bytes of one of two copies end the phase: it may be either.
//@ expects_one_of_two_copies grid=1 block=64 x=input:float32[128] c=output:float32[64]
extern "C" __global__ void expects_one_of_two_copies(const float* x, float* c) {
  __shared__ __align__(128) float k[64], v[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) {
    INIT(full, 1); EXPECT(full, 256); COPY_IN(k, x, 256, full); COPY_IN(v, x + 64, 256, full);
  }
  __syncthreads();
  WAIT_FOR(full, 0);
  float sum = k[63 - t];  //! not_awaited k
  sum += v[t];  //! not_awaited v
  c[t] = sum;
}
extern "C" __global__ void expects_one_of_two_copies_ok(const float* x, float* c) {
  __shared__ __align__(128) float k[64], v[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) {
    INIT(full, 2); COPY_IN(k, x, 256, full); EXPECT(full, 256); EXPECT(full, 256);
    COPY_IN(v, x + 64, 256, full);
  }
  __syncthreads();
  WAIT_FOR(full, 0);
  float sum = k[63 - t];
  sum += v[t];
  c[t] = sum;
}

// What is left over ends the next phase too soon.
//@ bytes_left_over grid=1 block=64 x=input:float32[256] c=output:float32[128]
extern "C" __global__ void bytes_left_over(const float* x, float* c) {
  __shared__ __align__(128) float k[2][64], v[2][64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) INIT(full, 1);
  __syncthreads();
  for (int i = 0; i < 2; i++) {
    if (t == 0) {
      EXPECT(full, 256); COPY_IN(k[i], x + 128 * i, 256, full); COPY_IN(v[i], x + 128 * i + 64, 256, full);
    }
    WAIT_FOR(full, i);
    float sum = k[i][63 - t];  //! not_awaited k
    sum += v[i][t];  //! not_awaited v
    c[64 * i + t] = sum;
  }
}
extern "C" __global__ void bytes_left_over_ok(const float* x, float* c) {
  __shared__ __align__(128) float k[2][64], v[2][64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) INIT(full, 1);
  __syncthreads();
  for (int i = 0; i < 2; i++) {
    if (t == 0) {
      EXPECT(full, 512); COPY_IN(k[i], x + 128 * i, 256, full); COPY_IN(v[i], x + 128 * i + 64, 256, full);
    }
    WAIT_FOR(full, i);
    float sum = k[i][63 - t];
    sum += v[i][t];
    c[64 * i + t] = sum;
  }
}

// A block of the cluster has ended: nobody arrives there, and no copy goes there.
#define RANK_OF(r) asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r))
#define CLUSTER_SYNC asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory")
#define ARRIVE_AT(b, r) asm volatile("{ .reg .b32 far; mapa.shared::cluster.u32 far, %0, %1; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [far]; }" :: "r"(ADDRESS(&b)), "r"(r) : "memory")
#define COPY_TO_ALL(to, from, n, b, blocks) asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" :: "r"(ADDRESS(to)), "l"(from), "r"(n), "r"(ADDRESS(&b)), "h"((short)blocks) : "memory")
#define COPY_OVER(to, from, n, b, r) asm volatile("{ .reg .b32 far, told; mapa.shared::cluster.u32 far, %0, %4; mapa.shared::cluster.u32 told, %3, %4; cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [far], [%1], %2, [told]; }" :: "r"(ADDRESS(to)), "r"(ADDRESS(from)), "r"(n), "r"(ADDRESS(&b)), "r"(r) : "memory")
//@ arrives_where_a_block_has_ended grid=2 block=32 c=output:int32[64]
extern "C" __global__ void __cluster_dims__(2) arrives_where_a_block_has_ended(int* c) {
  __shared__ u64 bar; int t = threadIdx.x; u32 rank; RANK_OF(rank);
  if (t == 0) INIT(bar, 32);
  CLUSTER_SYNC;
  c[32 * blockIdx.x + t] = t;
  if (rank == 0) return;
  for (int n = 0; n < 100; n++) __nanosleep(100);
  ARRIVE_AT(bar, 0);  //! remote_exit bar
}
extern "C" __global__ void __cluster_dims__(2) arrives_where_a_block_has_ended_ok(int* c) {
  __shared__ u64 bar; int t = threadIdx.x; u32 rank; RANK_OF(rank);
  if (t == 0) INIT(bar, 32);
  CLUSTER_SYNC;
  c[32 * blockIdx.x + t] = t;
  if (rank == 0) { WAIT_FOR(bar, 0); return; }
  for (int n = 0; n < 100; n++) __nanosleep(100);
  ARRIVE_AT(bar, 0);
}

//@ multicast_where_a_block_has_ended grid=2 block=32 x=input:float32[32] c=output:float32[64]
extern "C" __global__ void __cluster_dims__(2) multicast_where_a_block_has_ended(const float* x, float* c) {
  __shared__ __align__(128) float tile[32]; __shared__ u64 full; int t = threadIdx.x; u32 rank; RANK_OF(rank);
  if (t == 0) { INIT(full, 1); EXPECT(full, 128); }
  CLUSTER_SYNC;
  c[32 * blockIdx.x + t] = 1;
  if (rank == 1) return;
  for (int n = 0; n < 100; n++) __nanosleep(100);
  if (t == 0)
    COPY_TO_ALL(tile, x, 128, full, 3);  //! remote_exit tile
  WAIT_FOR(full, 0);
  c[t] = tile[31 - t];
}
extern "C" __global__ void __cluster_dims__(2) multicast_where_a_block_has_ended_ok(const float* x, float* c) {
  __shared__ __align__(128) float tile[32]; __shared__ u64 full; int t = threadIdx.x; u32 rank; RANK_OF(rank);
  if (t == 0) { INIT(full, 1); EXPECT(full, 128); }
  CLUSTER_SYNC;
  c[32 * blockIdx.x + t] = 1;
  if (rank == 1) { WAIT_FOR(full, 0); return; }
  for (int n = 0; n < 100; n++) __nanosleep(100);
  if (t == 0) COPY_TO_ALL(tile, x, 128, full, 3);
  WAIT_FOR(full, 0);
  c[t] = tile[31 - t];
}

//@ copy_over_where_a_block_has_ended grid=2 block=32 c=output:int32[64]
extern "C" __global__ void __cluster_dims__(2) copy_over_where_a_block_has_ended(int* c) {
  __shared__ __align__(128) int mine[32], tile[32]; __shared__ u64 full; int t = threadIdx.x; u32 rank; RANK_OF(rank);
  mine[t] = tile[t] = t;
  if (t == 0) { INIT(full, 1); EXPECT(full, 128); }
  PROXY_FENCE;
  CLUSTER_SYNC;
  c[32 * blockIdx.x + t] = tile[31 - t];
  if (rank == 1) return;
  for (int n = 0; n < 100; n++) __nanosleep(100);
  if (t == 0)
    COPY_OVER(tile, mine, 128, full, 1);  //! remote_exit tile
}
extern "C" __global__ void __cluster_dims__(2) copy_over_where_a_block_has_ended_ok(int* c) {
  __shared__ __align__(128) int mine[32], tile[32]; __shared__ u64 full; int t = threadIdx.x; u32 rank; RANK_OF(rank);
  mine[t] = tile[t] = t;
  if (t == 0) { INIT(full, 1); EXPECT(full, 128); }
  PROXY_FENCE;
  CLUSTER_SYNC;
  c[32 * blockIdx.x + t] = tile[31 - t];
  CLUSTER_SYNC;
  if (rank == 1) { WAIT_FOR(full, 0); c[32 * blockIdx.x + t] = tile[31 - t]; CLUSTER_SYNC; return; }
  for (int n = 0; n < 100; n++) __nanosleep(100);
  if (t == 0) COPY_OVER(tile, mine, 128, full, 1);
  CLUSTER_SYNC;
}

// A relaxed arrival orders nothing but what a fence came after.
#define CLUSTER_SYNC_RELAXED asm volatile("barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;" ::: "memory")
#define STORE_AT(p, v, r) asm volatile("{ .reg .b32 far; mapa.shared::cluster.u32 far, %0, %2; st.shared::cluster.u32 [far], %1; }" :: "r"(ADDRESS(p)), "r"(v), "r"(r) : "memory")
//@ relaxed_cluster_barrier grid=2 block=64 c=output:int32[128]
extern "C" __global__ void __cluster_dims__(2) relaxed_cluster_barrier(int* c) {
  __shared__ int s[64]; int t = threadIdx.x; u32 rank; RANK_OF(rank);
  CLUSTER_SYNC;
  STORE_AT(&s[t], 64 * rank + t, rank ^ 1);
  CLUSTER_SYNC_RELAXED;
  c[64 * blockIdx.x + t] = s[63 - t];  //! race s
  CLUSTER_SYNC;
}
extern "C" __global__ void __cluster_dims__(2) relaxed_cluster_barrier_ok(int* c) {
  __shared__ int s[64]; int t = threadIdx.x; u32 rank; RANK_OF(rank);
  CLUSTER_SYNC_RELAXED;
  STORE_AT(&s[t], 64 * rank + t, rank ^ 1);
  CLUSTER_SYNC;
  int v = s[63 - t];
  asm volatile("barrier.cluster.arrive.release; barrier.cluster.wait.acquire;" ::: "memory");
  STORE_AT(&s[63 - t], t, rank ^ 1);
  asm volatile("barrier.cluster.arrive.release; barrier.cluster.wait.acquire;" ::: "memory");
  c[64 * blockIdx.x + t] = v + s[t];
}

//@ fence_before_the_store_only grid=2 block=64 c=output:int32[128]
extern "C" __global__ void __cluster_dims__(2) fence_before_the_store_only(int* c) {
  __shared__ int s[64]; int t = threadIdx.x; u32 rank; RANK_OF(rank);
  CLUSTER_SYNC;
  asm volatile("fence.acq_rel.cluster;" ::: "memory");
  STORE_AT(&s[t], 64 * rank + t, rank ^ 1);
  CLUSTER_SYNC_RELAXED;
  c[64 * blockIdx.x + t] = s[63 - t];  //! race s
  CLUSTER_SYNC;
}
extern "C" __global__ void __cluster_dims__(2) fence_before_the_store_only_ok(int* c) {
  __shared__ int s[64]; int t = threadIdx.x; u32 rank; RANK_OF(rank);
  CLUSTER_SYNC;
  STORE_AT(&s[t], 64 * rank + t, rank ^ 1);
  asm volatile("fence.acq_rel.cluster;" ::: "memory");
  CLUSTER_SYNC_RELAXED;
  c[64 * blockIdx.x + t] = s[63 - t];
}

//@ relaxed_arrival grid=1 block=64 c=output:int32[32]
extern "C" __global__ void relaxed_arrival(int* c) {
  __shared__ int s[32]; __shared__ u64 bar; int t = threadIdx.x;
  if (t == 0) INIT(bar, 32);
  __syncthreads();
  if (t < 32) {
    s[t] = t;
    asm volatile("mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%0];" :: "r"(ADDRESS(&bar)) : "memory");
  } else {
    WAIT_FOR(bar, 0);
    c[t - 32] = s[63 - t];  //! race s
  }
}
extern "C" __global__ void relaxed_arrival_ok(int* c) {
  __shared__ int s[32]; __shared__ u64 bar; int t = threadIdx.x;
  if (t == 0) INIT(bar, 32);
  __syncthreads();
  if (t < 32) {
    s[t] = t;
    asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" :: "r"(ADDRESS(&bar)) : "memory");
  } else {
    WAIT_FOR(bar, 0);
    c[t - 32] = s[63 - t];
  }
}

// wait_group.read lets the source be used again; what was stored need not be there yet.
#define COPY_OUT(to, from, n) asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" :: "l"(to), "r"(ADDRESS(from)), "r"(n) : "memory")
#define BULK_COMMIT asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define BULK_WAIT(n) asm volatile("cp.async.bulk.wait_group %0;" :: "n"(n) : "memory")
#define BULK_WAIT_READ(n) asm volatile("cp.async.bulk.wait_group.read %0;" :: "n"(n) : "memory")
//@ stored_but_only_read grid=1 block=64 x=zero:float32[64] c=output:float32[64]
extern "C" __global__ void stored_but_only_read(float* x, float* c) {
  __shared__ __align__(128) float tile[64]; int t = threadIdx.x;
  tile[t] = t;
  PROXY_FENCE; __syncthreads();
  if (t == 0) { COPY_OUT(x, tile, 256); BULK_COMMIT; BULK_WAIT_READ(0); }
  __syncthreads();
  c[t] = x[63 - t];  //! not_awaited x
}
extern "C" __global__ void stored_but_only_read_ok(float* x, float* c) {
  __shared__ __align__(128) float tile[64]; int t = threadIdx.x;
  tile[t] = t;
  PROXY_FENCE; __syncthreads();
  if (t == 0) { COPY_OUT(x, tile, 256); BULK_COMMIT; BULK_WAIT_READ(0); }
  __syncthreads();
  tile[t] = 2 * t;
  if (t == 0) BULK_WAIT(0);
  __syncthreads();
  c[t] = x[63 - t];
}

// Of two groups the later one may still be read, and neither need be there.
//@ later_group_not_read grid=1 block=64 x=zero:float32[128] c=output:float32[64]
extern "C" __global__ void later_group_not_read(float* x, float* c) {
  __shared__ __align__(128) float tile[2][64]; int t = threadIdx.x;
  tile[0][t] = t; tile[1][t] = -t;
  PROXY_FENCE; __syncthreads();
  if (t == 0) {
    for (int i = 0; i < 2; i++) { COPY_OUT(x + 64 * i, tile[i], 256); BULK_COMMIT; }
    BULK_WAIT_READ(1);
  }
  __syncthreads();
  tile[0][t] = 1;
  tile[1][t] = 1;  //! not_awaited tile
  if (t == 0) BULK_WAIT(1);
  __syncthreads();
  float sum = x[63 - t];
  sum += x[127 - t];  //! not_awaited x
  c[t] = sum;
}
extern "C" __global__ void later_group_not_read_ok(float* x, float* c) {
  __shared__ __align__(128) float tile[2][64]; int t = threadIdx.x;
  tile[0][t] = t; tile[1][t] = -t;
  PROXY_FENCE; __syncthreads();
  if (t == 0) {
    for (int i = 0; i < 2; i++) { COPY_OUT(x + 64 * i, tile[i], 256); BULK_COMMIT; }
    BULK_WAIT_READ(1);
    BULK_WAIT_READ(0);
  }
  __syncthreads();
  tile[0][t] = 1;
  tile[1][t] = 1;
  if (t == 0) { BULK_WAIT(1); BULK_WAIT(0); }
  __syncthreads();
  float sum = x[63 - t];
  sum += x[127 - t];
  c[t] = sum;
}

// Nothing keeps a block until the others have reached into it for the last time.
#define MAP(to, p, r) asm volatile("mapa.u64 %0, %1, %2;" : "=l"(to) : "l"(p), "r"(r))
//@ last_read_of_another_block grid=4 block=64 c=output:int32[256]
extern "C" __global__ void __cluster_dims__(2) last_read_of_another_block(int* c) {
  __shared__ int s[64]; int t = threadIdx.x, i = 64 * blockIdx.x + t, *other; u32 rank; RANK_OF(rank);
  s[t] = i;
  CLUSTER_SYNC;
  MAP(other, s, rank ^ 1);
  c[i] = other[t];  //! remote_exit s
}
extern "C" __global__ void __cluster_dims__(2) last_read_of_another_block_ok(int* c) {
  __shared__ int s[64]; int t = threadIdx.x, i = 64 * blockIdx.x + t, *other; u32 rank; RANK_OF(rank);
  s[t] = i;
  CLUSTER_SYNC;
  MAP(other, s, rank ^ 1);
  c[i] = other[t];
  CLUSTER_SYNC_RELAXED;
}

//@ last_arrival_at_another_block grid=2 block=64 c=output:int32[128]
extern "C" __global__ void __cluster_dims__(2) last_arrival_at_another_block(int* c) {
  __shared__ u64 bar; int t = threadIdx.x; u32 rank; RANK_OF(rank);
  if (t == 0) INIT(bar, 64);
  CLUSTER_SYNC;
  c[64 * blockIdx.x + t] = t;
  ARRIVE_AT(bar, rank ^ 1);  //! remote_exit bar
}
extern "C" __global__ void __cluster_dims__(2) last_arrival_at_another_block_ok(int* c) {
  __shared__ u64 bar; int t = threadIdx.x; u32 rank; RANK_OF(rank);
  if (t == 0) INIT(bar, 64);
  CLUSTER_SYNC;
  c[64 * blockIdx.x + t] = t;
  ARRIVE_AT(bar, rank ^ 1);
  if (t == 5) WAIT_FOR(bar, 0);
}

//@ last_copy_to_another_block grid=2 block=64 x=input:float32[64] c=output:float32[128]
extern "C" __global__ void __cluster_dims__(2) last_copy_to_another_block(const float* x, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x; u32 rank; RANK_OF(rank);
  if (t == 0) { INIT(full, 1); EXPECT(full, 256); }
  CLUSTER_SYNC;
  if (rank == 0 && t == 0)
    COPY_TO_ALL(tile, x, 256, full, 3);  //! remote_exit tile
  if (rank == 0) { WAIT_FOR(full, 0); c[t] = tile[63 - t]; } else c[64 + t] = t;
  CLUSTER_SYNC_RELAXED;
}
extern "C" __global__ void __cluster_dims__(2) last_copy_to_another_block_ok(const float* x, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x; u32 rank; RANK_OF(rank);
  if (t == 0) { INIT(full, 1); EXPECT(full, 256); }
  CLUSTER_SYNC;
  if (rank == 0 && t == 0) COPY_TO_ALL(tile, x, 256, full, 3);
  if (rank == 0) { WAIT_FOR(full, 0); c[t] = tile[63 - t]; } else c[64 + t] = t;
  if (t == 32) WAIT_FOR(full, 0);
}
