// What goes wrong in real Hopper kernels: mbarriers, copies, products and clusters.
typedef unsigned u32;
typedef unsigned long long u64;
struct alignas(64) TensorMap { u64 words[16]; };

#define ADDRESS(p) ((u32)__cvta_generic_to_shared(p))
#define PROXY_FENCE asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define INIT_FENCE asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory")
#define INIT(b, n) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(ADDRESS(&b)), "r"((u32)(n)) : "memory")
#define EXPECT(b, n) asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(ADDRESS(&b)), "r"((u32)(n)) : "memory")
#define ARRIVE(b) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(ADDRESS(&b)) : "memory")
#define WAIT_FOR(b, p) asm volatile("{ .reg .pred q; again: mbarrier.try_wait.parity.shared::cta.b64 q, [%0], %1; @q bra done; bra again; done: }" :: "r"(ADDRESS(&b)), "r"(p) : "memory")
#define COPY_IN(to, from, n, b) asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" :: "r"(ADDRESS(to)), "l"(from), "r"((u32)(n)), "r"(ADDRESS(&b)) : "memory")
#define COPY_TO_ALL(to, from, n, b, blocks) asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" :: "r"(ADDRESS(to)), "l"(from), "r"((u32)(n)), "r"(ADDRESS(&b)), "h"((short)(blocks)) : "memory")
#define COPY_OUT(to, from, n) asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" :: "l"(to), "r"(ADDRESS(from)), "r"((u32)(n)) : "memory")
#define SUM_OUT(to, from, n) asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" :: "l"(to), "r"(ADDRESS(from)), "r"((u32)(n)) : "memory")
#define SUM_IN(to, from, n, b, rank) asm volatile("{ .reg .b32 far, bar; mapa.shared::cluster.u32 far, %0, %4; mapa.shared::cluster.u32 bar, %3, %4; cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [far], [%1], %2, [bar]; }" :: "r"(ADDRESS(to)), "r"(ADDRESS(from)), "r"((u32)(n)), "r"(ADDRESS(&b)), "r"(rank) : "memory")
#define SEND(what, x, b, v, rank) asm volatile("{ .reg .b32 far, bar; mapa.shared::cluster.u32 far, %0, %3; mapa.shared::cluster.u32 bar, %1, %3; " what " [far], %2, [bar]; }" :: "r"(ADDRESS(&x)), "r"(ADDRESS(&b)), "r"((u32)(v)), "r"(rank) : "memory")
#define STORE_AT(x, b, v, rank) SEND("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32", x, b, v, rank)
#define ADD_AT(x, b, v, rank) SEND("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32", x, b, v, rank)
#define BULK_COMMIT asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define BULK_WAIT asm volatile("cp.async.bulk.wait_group 0;" ::: "memory")
#define BULK_WAIT_READ asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory")
#define BOX_IN(to, map, x, y, b) asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" :: "r"(ADDRESS(to)), "l"(map), "r"(x), "r"(y), "r"(ADDRESS(&b)) : "memory")
#define RANK_OF(r) asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r))
#define CLUSTER_ARRIVE asm volatile("barrier.cluster.arrive.aligned;" ::: "memory")
#define CLUSTER_ARRIVE_RELAXED asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory")
#define CLUSTER_WAIT asm volatile("barrier.cluster.wait.aligned;" ::: "memory")
#define CLUSTER_SYNC CLUSTER_ARRIVE; CLUSTER_WAIT
#define ARRIVE_AT(b, r) asm volatile("{ .reg .b32 far; mapa.shared::cluster.u32 far, %0, %1; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [far]; }" :: "r"(ADDRESS(&b)), "r"(r) : "memory")
#define LOAD_FROM(v, p, r) asm volatile("{ .reg .b32 far; mapa.shared::cluster.u32 far, %1, %2; ld.shared::cluster.f32 %0, [far]; }" : "=f"(v) : "r"(ADDRESS(p)), "r"(r) : "memory")
#define FENCE asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define COMMIT asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define WAIT(n) asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(n) : "memory")
// 64 x 8 += 64 x 16 times 16 x 8, of F16
#define MULTIPLY(d, a, b) asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b) : "memory")
#define MULTIPLY_R(d, r, b) asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, 1, 1, 1, 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "l"(b) : "memory")
#define MULTIPLY_NEW(d, a, b, adds) asm volatile("{ .reg .pred p; setp.ne.b32 p, %6, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0; }" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b), "r"(adds) : "memory")
#define TILE(p) ((u64)((ADDRESS(p) & 0x3FFFF) >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62)
#define TILE_BY(p, stride) ((u64)((ADDRESS(p) & 0x3FFFF) >> 4) | 1ull << 16 | (u64)((stride) >> 4) << 32 | 1ull << 62)
#define TILE_PLAIN(p) ((u64)((ADDRESS(p) & 0x3FFFF) >> 4) | 8ull << 16 | 16ull << 32)
#define FILL for (int i = threadIdx.x; i < 2048; i += blockDim.x) { ((u32*)a)[i] = 0x3c003c00; if (i < 256) ((u32*)b)[i] = 0x3c003c00; } PROXY_FENCE; __syncthreads()

//@ init_without_barrier grid=1 block=64 c=output:int32[64]
extern "C" __global__ void init_without_barrier(int* c) {
  __shared__ u64 bar; int t = threadIdx.x;
  if (t == 0) INIT(bar, 64);
  ARRIVE(bar);  //! bad_mbarrier bar
  WAIT_FOR(bar, 0);
  c[t] = t;
}
extern "C" __global__ void init_without_barrier_ok(int* c) {
  __shared__ u64 bar; int t = threadIdx.x;
  if (t == 0) INIT(bar, 64);
  __syncthreads();
  ARRIVE(bar);
  WAIT_FOR(bar, 0);
  c[t] = t;
}

//@ waits_where_another_initialises grid=1 block=64 x=input:float32[64] c=output:float32[64]
extern "C" __global__ void waits_where_another_initialises(const float* x, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) { INIT(full, 1); INIT_FENCE; EXPECT(full, 256); COPY_IN(tile, x, 256, full); }
  WAIT_FOR(full, 0);  //! bad_mbarrier full
  c[t] = tile[t];
}
extern "C" __global__ void waits_where_another_initialises_ok(const float* x, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) { INIT(full, 1); INIT_FENCE; EXPECT(full, 256); COPY_IN(tile, x, 256, full); }
  __syncthreads();
  WAIT_FOR(full, 0);
  c[t] = tile[t];
}

//@ producer_warp_does_not_meet_the_initialiser grid=1 block=64 x=input:float32[64] c=output:float32[32]
extern "C" __global__ void producer_warp_does_not_meet_the_initialiser(const float* x, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) { INIT(full, 1); INIT_FENCE; }
  if (t < 32) asm volatile("bar.sync 1, 32;" ::: "memory");
  if (t == 32) {
    EXPECT(full, 256);  //! bad_mbarrier full
    COPY_IN(tile, x, 256, full);
  }
  if (t < 32) { WAIT_FOR(full, 0); c[t] = tile[t]; }
}
extern "C" __global__ void producer_warp_does_not_meet_the_initialiser_ok(const float* x, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) { INIT(full, 1); INIT_FENCE; }
  __syncthreads();
  if (t == 32) {
    EXPECT(full, 256);
    COPY_IN(tile, x, 256, full);
  }
  if (t < 32) { WAIT_FOR(full, 0); c[t] = tile[t]; }
}

//@ multicast_before_the_cluster_meets grid=2 block=32 x=input:float32[32] c=output:float32[64]
extern "C" __global__ void __cluster_dims__(2) multicast_before_the_cluster_meets(const float* x, float* c) {
  __shared__ __align__(128) float tile[32]; __shared__ u64 full; int t = threadIdx.x; u32 rank; RANK_OF(rank);
  if (t == 0) { INIT(full, 1); INIT_FENCE; EXPECT(full, 128); }
  __syncthreads();
  if (rank == 0 && t == 0)
    COPY_TO_ALL(tile, x, 128, full, 3);  //! bad_mbarrier full
  WAIT_FOR(full, 0);
  c[32 * blockIdx.x + t] = tile[t];
  CLUSTER_SYNC;
}
extern "C" __global__ void __cluster_dims__(2) multicast_before_the_cluster_meets_ok(const float* x, float* c) {
  __shared__ __align__(128) float tile[32]; __shared__ u64 full; int t = threadIdx.x; u32 rank; RANK_OF(rank);
  if (t == 0) { INIT(full, 1); INIT_FENCE; EXPECT(full, 128); }
  CLUSTER_SYNC;
  if (rank == 0 && t == 0)
    COPY_TO_ALL(tile, x, 128, full, 3);
  WAIT_FOR(full, 0);
  c[32 * blockIdx.x + t] = tile[t];
  CLUSTER_SYNC;
}

//@ arrival_before_the_cluster_meets grid=2 block=32 c=output:int32[64]
extern "C" __global__ void __cluster_dims__(2) arrival_before_the_cluster_meets(int* c) {
  __shared__ u64 bar; int t = threadIdx.x; u32 rank; RANK_OF(rank);
  if (t == 0) { INIT(bar, 32); INIT_FENCE; }
  __syncthreads();
  ARRIVE_AT(bar, rank ^ 1);  //! bad_mbarrier bar
  WAIT_FOR(bar, 0);
  c[32 * blockIdx.x + t] = t;
  CLUSTER_SYNC;
}
extern "C" __global__ void __cluster_dims__(2) arrival_before_the_cluster_meets_ok(int* c) {
  __shared__ u64 bar; int t = threadIdx.x; u32 rank; RANK_OF(rank);
  if (t == 0) { INIT(bar, 32); INIT_FENCE; }
  CLUSTER_SYNC;
  ARRIVE_AT(bar, rank ^ 1);
  WAIT_FOR(bar, 0);
  c[32 * blockIdx.x + t] = t;
  CLUSTER_SYNC;
}

//@ relaxed_meeting_without_init_fence grid=2 block=32 c=output:int32[64]
extern "C" __global__ void __cluster_dims__(2) relaxed_meeting_without_init_fence(int* c) {
  __shared__ u64 bar; int t = threadIdx.x; u32 rank; RANK_OF(rank);
  if (t == 0) { INIT(bar, 32); }
  __syncthreads();
  CLUSTER_ARRIVE_RELAXED; CLUSTER_WAIT;
  ARRIVE_AT(bar, rank ^ 1);  //! bad_mbarrier bar
  WAIT_FOR(bar, 0);
  c[32 * blockIdx.x + t] = t;
  CLUSTER_SYNC;
}
extern "C" __global__ void __cluster_dims__(2) relaxed_meeting_without_init_fence_ok(int* c) {
  __shared__ u64 bar; int t = threadIdx.x; u32 rank; RANK_OF(rank);
  if (t == 0) { INIT(bar, 32); INIT_FENCE; }
  __syncthreads();
  CLUSTER_ARRIVE_RELAXED; CLUSTER_WAIT;
  ARRIVE_AT(bar, rank ^ 1);
  WAIT_FOR(bar, 0);
  c[32 * blockIdx.x + t] = t;
  CLUSTER_SYNC;
}

//@ initialised_again_while_others_wait grid=1 block=64 x=input:float32[128] c=output:float32[128]
extern "C" __global__ void initialised_again_while_others_wait(const float* x, float* c) {
  __shared__ __align__(128) float tile[2][64]; __shared__ u64 full; int t = threadIdx.x;
  for (int i = 0; i < 2; i++) {
    if (t == 0) {
      INIT(full, 1);  //! bad_mbarrier full
    }
    __syncthreads();
    if (t == 0) { EXPECT(full, 256); COPY_IN(tile[i], x + 64 * i, 256, full); }
    WAIT_FOR(full, 0);
    c[64 * i + t] = tile[i][t];
  }
}
extern "C" __global__ void initialised_again_while_others_wait_ok(const float* x, float* c) {
  __shared__ __align__(128) float tile[2][64]; __shared__ u64 full; int t = threadIdx.x;
  for (int i = 0; i < 2; i++) {
    if (t == 0) {
      INIT(full, 1);
    }
    __syncthreads();
    if (t == 0) { EXPECT(full, 256); COPY_IN(tile[i], x + 64 * i, 256, full); }
    WAIT_FOR(full, 0);
    c[64 * i + t] = tile[i][t];
    __syncthreads();
  }
}

//@ tile_over_a_barrier grid=1 block=64 shared=1024 x=input:float32[64] c=output:float32[64]
extern "C" __global__ void tile_over_a_barrier(const float* x, float* c) {
  extern __shared__ __align__(128) char s[]; float* tile = (float*)s; int t = threadIdx.x;
  u64& full = *(u64*)(s + 240);
  if (t == 0) { INIT(full, 1); INIT_FENCE; EXPECT(full, 256); }
  __syncthreads();
  if (t == 0)
    COPY_IN(tile, x, 256, full);
  WAIT_FOR(full, 0);  //! bad_mbarrier s
  c[t] = tile[t];
}
extern "C" __global__ void tile_over_a_barrier_ok(const float* x, float* c) {
  extern __shared__ __align__(128) char s[]; float* tile = (float*)s; int t = threadIdx.x;
  u64& full = *(u64*)(s + 256);
  if (t == 0) { INIT(full, 1); INIT_FENCE; EXPECT(full, 256); }
  __syncthreads();
  if (t == 0)
    COPY_IN(tile, x, 256, full);
  WAIT_FOR(full, 0);
  c[t] = tile[t];
}

//@ threads_write_over_a_barrier grid=1 block=64 shared=1024 c=output:float32[64]
extern "C" __global__ void threads_write_over_a_barrier(float* c) {
  extern __shared__ __align__(128) char s[]; float* tile = (float*)s; int t = threadIdx.x;
  u64& bar = *(u64*)(s + 240);
  if (t == 0) INIT(bar, 64);
  __syncthreads();
  tile[t] = t;
  ARRIVE(bar);  //! bad_mbarrier s
  WAIT_FOR(bar, 0);  //! bad_mbarrier s
  c[t] = tile[63 - t];
}
extern "C" __global__ void threads_write_over_a_barrier_ok(float* c) {
  extern __shared__ __align__(128) char s[]; float* tile = (float*)s; int t = threadIdx.x;
  u64& bar = *(u64*)(s + 256);
  if (t == 0) INIT(bar, 64);
  __syncthreads();
  tile[t] = t;
  ARRIVE(bar);
  WAIT_FOR(bar, 0);
  c[t] = tile[63 - t];
}

//@ copy_tells_what_nobody_initialised grid=1 block=64 x=input:float32[64] c=output:int32[64]
extern "C" __global__ void copy_tells_what_nobody_initialised(const float* x, int* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) {
    COPY_IN(tile, x, 256, full);  //! bad_mbarrier full
  }
  c[t] = t;
}
extern "C" __global__ void copy_tells_what_nobody_initialised_ok(const float* x, int* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) {
    INIT(full, 1); EXPECT(full, 256);
    COPY_IN(tile, x, 256, full);
  }
  c[t] = t;
}

//@ barrier_not_aligned grid=1 block=64 shared=1024 c=output:float32[64]
extern "C" __global__ void barrier_not_aligned(float* c) {
  extern __shared__ __align__(128) char s[]; int t = threadIdx.x;
  u64& bar = *(u64*)(s + 4);
  if (t == 0)
    INIT(bar, 64);  //! misaligned s
  __syncthreads();
  c[t] = t;
}
extern "C" __global__ void barrier_not_aligned_ok(float* c) {
  extern __shared__ __align__(128) char s[]; int t = threadIdx.x;
  u64& bar = *(u64*)(s + 8);
  if (t == 0)
    INIT(bar, 64);
  __syncthreads();
  c[t] = t;
}

//@ multicast_expects_its_own_half grid=2 block=32 x=input:float32[64] c=output:float32[128]
extern "C" __global__ void __cluster_dims__(2) multicast_expects_its_own_half(const float* x, float* c) {
  __shared__ __align__(128) float tile[2][32]; __shared__ u64 full; int t = threadIdx.x; u32 rank; RANK_OF(rank);
  if (t == 0) { INIT(full, 1); INIT_FENCE; EXPECT(full, 128); }
  CLUSTER_SYNC;
  if (t == 0)
    COPY_TO_ALL(tile[rank], x + 32 * rank, 128, full, 3);  //! remote_exit tile
  WAIT_FOR(full, 0);
  float sum = tile[0][t] + tile[1][t];  //! not_awaited tile
  c[64 * blockIdx.x + t] = c[64 * blockIdx.x + 32 + t] = sum;
  CLUSTER_SYNC;
}
extern "C" __global__ void __cluster_dims__(2) multicast_expects_its_own_half_ok(const float* x, float* c) {
  __shared__ __align__(128) float tile[2][32]; __shared__ u64 full; int t = threadIdx.x; u32 rank; RANK_OF(rank);
  if (t == 0) { INIT(full, 1); INIT_FENCE; EXPECT(full, 256); }
  CLUSTER_SYNC;
  if (t == 0)
    COPY_TO_ALL(tile[rank], x + 32 * rank, 128, full, 3);
  WAIT_FOR(full, 0);
  float sum = tile[0][t] + tile[1][t];
  c[64 * blockIdx.x + t] = c[64 * blockIdx.x + 32 + t] = sum;
  CLUSTER_SYNC;
}

//@ multicast_expected_by_one_block grid=2 block=32 x=input:float32[32] c=output:float32[64]
extern "C" __global__ void __cluster_dims__(2) multicast_expected_by_one_block(const float* x, float* c) {
  __shared__ __align__(128) float tile[32]; __shared__ u64 full; int t = threadIdx.x; u32 rank; RANK_OF(rank);
  if (t == 0) { INIT(full, 1); INIT_FENCE; if (rank == 0) EXPECT(full, 128); }
  CLUSTER_SYNC;
  if (rank == 0 && t == 0) COPY_TO_ALL(tile, x, 128, full, 3);
  WAIT_FOR(full, 0);  //! hang full
  c[32 * blockIdx.x + t] = tile[t];
  CLUSTER_SYNC;  //! deadlock
}
extern "C" __global__ void __cluster_dims__(2) multicast_expected_by_one_block_ok(const float* x, float* c) {
  __shared__ __align__(128) float tile[32]; __shared__ u64 full; int t = threadIdx.x; u32 rank; RANK_OF(rank);
  if (t == 0) { INIT(full, 1); INIT_FENCE; EXPECT(full, 128); }
  CLUSTER_SYNC;
  if (rank == 0 && t == 0) COPY_TO_ALL(tile, x, 128, full, 3);
  WAIT_FOR(full, 0);
  c[32 * blockIdx.x + t] = tile[t];
  CLUSTER_SYNC;
}

//@ every_lane_copies grid=1 block=64 x=input:float32[64] c=output:float32[64]
extern "C" __global__ void every_lane_copies(const float* x, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) { INIT(full, 1); EXPECT(full, 256); }
  __syncthreads();
  if (t < 32)
    COPY_IN(tile, x, 256, full);
  WAIT_FOR(full, 0);
  c[t] = tile[t];  //! not_awaited tile
}
extern "C" __global__ void every_lane_copies_ok(const float* x, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) { INIT(full, 1); EXPECT(full, 256); }
  __syncthreads();
  if (t < 1)
    COPY_IN(tile, x, 256, full);
  WAIT_FOR(full, 0);
  c[t] = tile[t];
}

//@ every_lane_expects grid=1 block=64 x=input:float32[64] c=output:float32[64]
extern "C" __global__ void every_lane_expects(const float* x, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) INIT(full, 1);
  __syncthreads();
  if (t < 32)
    EXPECT(full, 256);  //! bad_mbarrier full
  if (t == 0) COPY_IN(tile, x, 256, full);
  WAIT_FOR(full, 0);  //! hang full
  c[t] = tile[t];
}
extern "C" __global__ void every_lane_expects_ok(const float* x, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) INIT(full, 1);
  __syncthreads();
  if (t < 1)
    EXPECT(full, 256);
  if (t == 0) COPY_IN(tile, x, 256, full);
  WAIT_FOR(full, 0);
  c[t] = tile[t];
}

//@ elements_for_bytes grid=1 block=64 x=input:float32[64] c=output:float32[64]
extern "C" __global__ void elements_for_bytes(const float* x, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) { INIT(full, 1); EXPECT(full, 64); COPY_IN(tile, x, sizeof(tile), full); }
  __syncthreads();
  WAIT_FOR(full, 0);  //! hang full
  c[t] = tile[t];
}
extern "C" __global__ void elements_for_bytes_ok(const float* x, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) { INIT(full, 1); EXPECT(full, sizeof(tile)); COPY_IN(tile, x, sizeof(tile), full); }
  __syncthreads();
  WAIT_FOR(full, 0);
  c[t] = tile[t];
}

//@ one_lane_of_each_warp_arrives grid=1 block=96 x=input:float32[256] c=output:float32[256]
extern "C" __global__ void one_lane_of_each_warp_arrives(const float* x, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full, empty; int t = threadIdx.x;
  if (t == 0) { INIT(full, 1); INIT(empty, 64); }
  __syncthreads();
  if (t == 64)
    for (int i = 0; i < 4; i++) {
      WAIT_FOR(empty, (i & 1) ^ 1);  //! hang empty
      EXPECT(full, 256); COPY_IN(tile, x + 64 * i, 256, full);
    }
  else if (t < 64)
    for (int i = 0; i < 4; i++) {
      WAIT_FOR(full, i & 1);  //! hang full
      c[64 * i + t] = tile[t];
      __syncwarp();
      if (t % 32 == 0) ARRIVE(empty);
    }
}
extern "C" __global__ void one_lane_of_each_warp_arrives_ok(const float* x, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full, empty; int t = threadIdx.x;
  if (t == 0) { INIT(full, 1); INIT(empty, 2); }
  __syncthreads();
  if (t == 64)
    for (int i = 0; i < 4; i++) {
      WAIT_FOR(empty, (i & 1) ^ 1);
      EXPECT(full, 256); COPY_IN(tile, x + 64 * i, 256, full);
    }
  else if (t < 64)
    for (int i = 0; i < 4; i++) {
      WAIT_FOR(full, i & 1);
      c[64 * i + t] = tile[t];
      __syncwarp();
      if (t % 32 == 0) ARRIVE(empty);
    }
}

//@ parity_never_flips grid=1 block=64 x=input:float32[256] c=output:float32[256]
extern "C" __global__ void parity_never_flips(const float* x, float* c) {
  __shared__ __align__(128) float tile[3][32]; __shared__ u64 full[3], empty[3]; int t = threadIdx.x;
  if (t == 0) for (int s = 0; s < 3; s++) { INIT(full[s], 1); INIT(empty[s], 32); }
  __syncthreads();
  if (t == 32)
    for (int i = 0; i < 8; i++) {
      WAIT_FOR(empty[i % 3], (i / 3 & 1) ^ 1);
      EXPECT(full[i % 3], 128);  //! bad_mbarrier full
      COPY_IN(tile[i % 3], x + 32 * i, 128, full[i % 3]);
    }
  else if (t < 32) {
    int s = 0, phase = 0;
    for (int i = 0; i < 8; i++) {
      WAIT_FOR(full[s], phase);
      c[32 * i + t] = tile[s][t];  //! not_awaited tile
      ARRIVE(empty[s]);
      if (++s == 3) s = 0;
    }
  }
}
extern "C" __global__ void parity_never_flips_ok(const float* x, float* c) {
  __shared__ __align__(128) float tile[3][32]; __shared__ u64 full[3], empty[3]; int t = threadIdx.x;
  if (t == 0) for (int s = 0; s < 3; s++) { INIT(full[s], 1); INIT(empty[s], 32); }
  __syncthreads();
  if (t == 32)
    for (int i = 0; i < 8; i++) {
      WAIT_FOR(empty[i % 3], (i / 3 & 1) ^ 1);
      EXPECT(full[i % 3], 128);
      COPY_IN(tile[i % 3], x + 32 * i, 128, full[i % 3]);
    }
  else if (t < 32) {
    int s = 0, phase = 0;
    for (int i = 0; i < 8; i++) {
      WAIT_FOR(full[s], phase);
      c[32 * i + t] = tile[s][t];
      ARRIVE(empty[s]);
      if (++s == 3) { s = 0; phase ^= 1; }
    }
  }
}

//@ parity_flips_one_turn_late grid=1 block=64 x=input:float32[256] c=output:float32[256]
extern "C" __global__ void parity_flips_one_turn_late(const float* x, float* c) {
  __shared__ __align__(128) float tile[3][32]; __shared__ u64 full[3], empty[3]; int t = threadIdx.x;
  if (t == 0) for (int s = 0; s < 3; s++) { INIT(full[s], 1); INIT(empty[s], 32); }
  __syncthreads();
  if (t == 32)
    for (int i = 0; i < 8; i++) {
      WAIT_FOR(empty[i % 3], (i / 3 & 1) ^ 1);
      EXPECT(full[i % 3], 128);  //! bad_mbarrier full
      COPY_IN(tile[i % 3], x + 32 * i, 128, full[i % 3]);
    }
  else if (t < 32) {
    int s = 0, phase = 0;
    for (int i = 0; i < 8; i++) {
      WAIT_FOR(full[s], phase);
      c[32 * i + t] = tile[s][t];  //! not_awaited tile
      ARRIVE(empty[s]);
      if (s == 0) phase ^= i > 0; s = (s + 1) % 3;
    }
  }
}
extern "C" __global__ void parity_flips_one_turn_late_ok(const float* x, float* c) {
  __shared__ __align__(128) float tile[3][32]; __shared__ u64 full[3], empty[3]; int t = threadIdx.x;
  if (t == 0) for (int s = 0; s < 3; s++) { INIT(full[s], 1); INIT(empty[s], 32); }
  __syncthreads();
  if (t == 32)
    for (int i = 0; i < 8; i++) {
      WAIT_FOR(empty[i % 3], (i / 3 & 1) ^ 1);
      EXPECT(full[i % 3], 128);
      COPY_IN(tile[i % 3], x + 32 * i, 128, full[i % 3]);
    }
  else if (t < 32) {
    int s = 0, phase = 0;
    for (int i = 0; i < 8; i++) {
      WAIT_FOR(full[s], phase);
      c[32 * i + t] = tile[s][t];
      ARRIVE(empty[s]);
      if (++s == 3) { s = 0; phase ^= 1; }
    }
  }
}

//@ parity_of_two_stages_for_three grid=1 block=64 x=input:float32[256] c=output:float32[256]
extern "C" __global__ void parity_of_two_stages_for_three(const float* x, float* c) {
  __shared__ __align__(128) float tile[3][32]; __shared__ u64 full[3], empty[3]; int t = threadIdx.x;
  if (t == 0) for (int s = 0; s < 3; s++) { INIT(full[s], 1); INIT(empty[s], 32); }
  __syncthreads();
  if (t == 32)
    for (int i = 0; i < 8; i++) {
      WAIT_FOR(empty[i % 3], (i / 3 & 1) ^ 1);
      EXPECT(full[i % 3], 128);  //! bad_mbarrier full
      COPY_IN(tile[i % 3], x + 32 * i, 128, full[i % 3]);
    }
  else if (t < 32) {
    int s = 0, phase = 0;
    for (int i = 0; i < 8; i++) {
      WAIT_FOR(full[s], phase);
      c[32 * i + t] = tile[s][t];  //! not_awaited tile
      ARRIVE(empty[s]);
      s = (s + 1) % 3; phase = (i + 1) / 2 & 1;
    }
  }
}
extern "C" __global__ void parity_of_two_stages_for_three_ok(const float* x, float* c) {
  __shared__ __align__(128) float tile[3][32]; __shared__ u64 full[3], empty[3]; int t = threadIdx.x;
  if (t == 0) for (int s = 0; s < 3; s++) { INIT(full[s], 1); INIT(empty[s], 32); }
  __syncthreads();
  if (t == 32)
    for (int i = 0; i < 8; i++) {
      WAIT_FOR(empty[i % 3], (i / 3 & 1) ^ 1);
      EXPECT(full[i % 3], 128);
      COPY_IN(tile[i % 3], x + 32 * i, 128, full[i % 3]);
    }
  else if (t < 32) {
    int s = 0, phase = 0;
    for (int i = 0; i < 8; i++) {
      WAIT_FOR(full[s], phase);
      c[32 * i + t] = tile[s][t];
      ARRIVE(empty[s]);
      s = (s + 1) % 3; phase = (i + 1) / 3 & 1;
    }
  }
}

//@ producer_waits_for_full_parity grid=1 block=64 x=input:float32[256] c=output:float32[256]
extern "C" __global__ void producer_waits_for_full_parity(const float* x, float* c) {
  __shared__ __align__(128) float tile[3][32]; __shared__ u64 full[3], empty[3]; int t = threadIdx.x;
  if (t == 0) for (int s = 0; s < 3; s++) { INIT(full[s], 1); INIT(empty[s], 32); }
  __syncthreads();
  if (t == 32)
    for (int i = 0; i < 8; i++) {
      WAIT_FOR(empty[i % 3], (i / 3 & 1));  //! hang empty
      EXPECT(full[i % 3], 128);
      COPY_IN(tile[i % 3], x + 32 * i, 128, full[i % 3]);
    }
  else if (t < 32) {
    int s = 0, phase = 0;
    for (int i = 0; i < 8; i++) {
      WAIT_FOR(full[s], phase);  //! hang full
      c[32 * i + t] = tile[s][t];
      ARRIVE(empty[s]);
      if (++s == 3) { s = 0; phase ^= 1; }
    }
  }
}
extern "C" __global__ void producer_waits_for_full_parity_ok(const float* x, float* c) {
  __shared__ __align__(128) float tile[3][32]; __shared__ u64 full[3], empty[3]; int t = threadIdx.x;
  if (t == 0) for (int s = 0; s < 3; s++) { INIT(full[s], 1); INIT(empty[s], 32); }
  __syncthreads();
  if (t == 32)
    for (int i = 0; i < 8; i++) {
      WAIT_FOR(empty[i % 3], (i / 3 & 1) ^ 1);
      EXPECT(full[i % 3], 128);
      COPY_IN(tile[i % 3], x + 32 * i, 128, full[i % 3]);
    }
  else if (t < 32) {
    int s = 0, phase = 0;
    for (int i = 0; i < 8; i++) {
      WAIT_FOR(full[s], phase);
      c[32 * i + t] = tile[s][t];
      ARRIVE(empty[s]);
      if (++s == 3) { s = 0; phase ^= 1; }
    }
  }
}

//@ one_try_and_no_loop grid=1 block=64 x=input:float32[64] c=output:float32[64]
extern "C" __global__ void one_try_and_no_loop(const float* x, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) { INIT(full, 1); EXPECT(full, 256); COPY_IN(tile, x, 256, full); }
  __syncthreads();
  asm volatile("{ .reg .pred q; mbarrier.try_wait.parity.shared::cta.b64 q, [%0], 0; }" :: "r"(ADDRESS(&full)) : "memory");
  c[t] = tile[t];  //! not_awaited tile
}
extern "C" __global__ void one_try_and_no_loop_ok(const float* x, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) { INIT(full, 1); EXPECT(full, 256); COPY_IN(tile, x, 256, full); }
  __syncthreads();
  WAIT_FOR(full, 0);
  c[t] = tile[t];
}

//@ one_test_and_no_loop grid=1 block=64 x=input:float32[64] c=output:float32[64]
extern "C" __global__ void one_test_and_no_loop(const float* x, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x, over = 0;
  if (t == 0) { INIT(full, 1); EXPECT(full, 256); COPY_IN(tile, x, 256, full); }
  __syncthreads();
  asm volatile("{ .reg .pred q; mbarrier.test_wait.parity.shared::cta.b64 q, [%1], 0; selp.s32 %0, 1, 0, q; }" : "=r"(over) : "r"(ADDRESS(&full)) : "memory");
  c[t] = tile[t];  //! not_awaited tile
}
extern "C" __global__ void one_test_and_no_loop_ok(const float* x, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x, over = 0;
  if (t == 0) { INIT(full, 1); EXPECT(full, 256); COPY_IN(tile, x, 256, full); }
  __syncthreads();
  while (!over) asm volatile("{ .reg .pred q; mbarrier.test_wait.parity.shared::cta.b64 q, [%1], 0; selp.s32 %0, 1, 0, q; }" : "=r"(over) : "r"(ADDRESS(&full)) : "memory");
  c[t] = tile[t];
}

//@ one_lane_waits_for_its_warp grid=1 block=64 x=input:float32[64] c=output:float32[64]
extern "C" __global__ void one_lane_waits_for_its_warp(const float* x, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) { INIT(full, 1); EXPECT(full, 256); COPY_IN(tile, x, 256, full); }
  __syncthreads();
  if (t % 32 == 0) WAIT_FOR(full, 0);
  c[t] = tile[t];  //! not_awaited tile
}
extern "C" __global__ void one_lane_waits_for_its_warp_ok(const float* x, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) { INIT(full, 1); EXPECT(full, 256); COPY_IN(tile, x, 256, full); }
  __syncthreads();
  if (t % 32 == 0) WAIT_FOR(full, 0);
  __syncwarp();
  c[t] = tile[t];
}

//@ another_thread_waits_for_the_group grid=1 block=64 c=output:float32[128]
extern "C" __global__ void another_thread_waits_for_the_group(float* c) {
  __shared__ __align__(128) float tile[64]; int t = threadIdx.x;
  for (int i = 0; i < 2; i++) {
    tile[t] = t + i;  //! not_awaited tile
    PROXY_FENCE; __syncthreads();
    if (t == 0) { COPY_OUT(c + 64 * i, tile, 256); BULK_COMMIT; }
    if (t == 32) BULK_WAIT_READ;
    __syncthreads();
  }
}
extern "C" __global__ void another_thread_waits_for_the_group_ok(float* c) {
  __shared__ __align__(128) float tile[64]; int t = threadIdx.x;
  for (int i = 0; i < 2; i++) {
    tile[t] = t + i;
    PROXY_FENCE; __syncthreads();
    if (t == 0) { COPY_OUT(c + 64 * i, tile, 256); BULK_COMMIT; }
    if (t == 0) BULK_WAIT_READ;
    __syncthreads();
  }
}

//@ another_thread_commits grid=1 block=64 c=output:float32[128]
extern "C" __global__ void another_thread_commits(float* c) {
  __shared__ __align__(128) float tile[64]; int t = threadIdx.x;
  for (int i = 0; i < 2; i++) {
    tile[t] = t + i;  //! not_awaited tile
    PROXY_FENCE; __syncthreads();
    if (t == 0) COPY_OUT(c + 64 * i, tile, 256);
    if (t == 1) BULK_COMMIT;
    if (t == 0) BULK_WAIT_READ;
    __syncthreads();
  }
}
extern "C" __global__ void another_thread_commits_ok(float* c) {
  __shared__ __align__(128) float tile[64]; int t = threadIdx.x;
  for (int i = 0; i < 2; i++) {
    tile[t] = t + i;
    PROXY_FENCE; __syncthreads();
    if (t == 0) COPY_OUT(c + 64 * i, tile, 256);
    if (t == 0) BULK_COMMIT;
    if (t == 0) BULK_WAIT_READ;
    __syncthreads();
  }
}

//@ global_writes_copied_without_fence grid=1 block=64 x=zero:float32[64] c=output:float32[64]
extern "C" __global__ void global_writes_copied_without_fence(float* x, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) INIT(full, 1);
  x[t] = t;
  __syncthreads();
  if (t == 0) {
    EXPECT(full, 256);
    COPY_IN(tile, x, 256, full);  //! proxy_fence x
  }
  WAIT_FOR(full, 0);
  c[t] = tile[63 - t];
}
extern "C" __global__ void global_writes_copied_without_fence_ok(float* x, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) INIT(full, 1);
  x[t] = t;
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (t == 0) {
    EXPECT(full, 256);
    COPY_IN(tile, x, 256, full);
  }
  WAIT_FOR(full, 0);
  c[t] = tile[63 - t];
}

//@ narrow_fence_for_global_writes grid=1 block=64 x=zero:float32[64] c=output:float32[64]
extern "C" __global__ void narrow_fence_for_global_writes(float* x, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) INIT(full, 1);
  x[t] = t;
  PROXY_FENCE;
  __syncthreads();
  if (t == 0) {
    EXPECT(full, 256);
    COPY_IN(tile, x, 256, full);  //! proxy_fence x
  }
  WAIT_FOR(full, 0);
  c[t] = tile[63 - t];
}
extern "C" __global__ void narrow_fence_for_global_writes_ok(float* x, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) INIT(full, 1);
  x[t] = t;
  asm volatile("fence.proxy.async.global;" ::: "memory");
  __syncthreads();
  if (t == 0) {
    EXPECT(full, 256);
    COPY_IN(tile, x, 256, full);
  }
  WAIT_FOR(full, 0);
  c[t] = tile[63 - t];
}

//@ epilogue_without_proxy_fence grid=1 block=128 c=output:float32[512]
extern "C" __global__ void epilogue_without_proxy_fence(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; __shared__ __align__(128) float out[512]; float d[4] = {}; FILL;
  FENCE; MULTIPLY(d, TILE(a), TILE(b)); COMMIT; WAIT(0);
  for (int i = 0; i < 4; i++) out[4 * threadIdx.x + i] = d[i];
  __syncthreads();
  if (threadIdx.x == 0) {
    COPY_OUT(c, out, 2048);  //! proxy_fence out
    BULK_COMMIT; BULK_WAIT;
  }
}
extern "C" __global__ void epilogue_without_proxy_fence_ok(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; __shared__ __align__(128) float out[512]; float d[4] = {}; FILL;
  FENCE; MULTIPLY(d, TILE(a), TILE(b)); COMMIT; WAIT(0);
  for (int i = 0; i < 4; i++) out[4 * threadIdx.x + i] = d[i];
  PROXY_FENCE; __syncthreads();
  if (threadIdx.x == 0) {
    COPY_OUT(c, out, 2048);
    BULK_COMMIT; BULK_WAIT;
  }
}

//@ epilogue_over_a_tile_that_still_loads grid=1 block=64 x=input:float32[192] c=output:float32[64]
extern "C" __global__ void epilogue_over_a_tile_that_still_loads(const float* x, float* c) {
  __shared__ __align__(128) float tile[2][64]; __shared__ u64 full[2]; int t = threadIdx.x; float sum = 0;
  if (t == 0) { INIT(full[0], 1); INIT(full[1], 1); }
  __syncthreads();
  if (t == 0) for (int i = 0; i < 2; i++) { EXPECT(full[i], 256); COPY_IN(tile[i], x + 64 * i, 256, full[i]); }
  for (int i = 0; i < 2; i++) {
    WAIT_FOR(full[i], 0);
    sum += tile[i][63 - t];
    __syncthreads();
    if (t == 0 && i == 0) { EXPECT(full[0], 256); COPY_IN(tile[0], x + 128, 256, full[0]); }
  }
  tile[0][t] = sum;  //! not_awaited tile
  __syncthreads();
  c[t] = tile[0][t ^ 32];  //! not_awaited tile
}
extern "C" __global__ void epilogue_over_a_tile_that_still_loads_ok(const float* x, float* c) {
  __shared__ __align__(128) float tile[2][64]; __shared__ u64 full[2]; int t = threadIdx.x; float sum = 0;
  if (t == 0) { INIT(full[0], 1); INIT(full[1], 1); }
  __syncthreads();
  if (t == 0) for (int i = 0; i < 2; i++) { EXPECT(full[i], 256); COPY_IN(tile[i], x + 64 * i, 256, full[i]); }
  for (int i = 0; i < 2; i++) {
    WAIT_FOR(full[i], 0);
    sum += tile[i][63 - t];
    __syncthreads();
    if (t == 0 && i == 0) { EXPECT(full[0], 256); COPY_IN(tile[0], x + 128, 256, full[0]); }
  }
  WAIT_FOR(full[0], 1);
  tile[0][t] = sum;
  __syncthreads();
  c[t] = tile[0][t ^ 32];
}

//@ peer_overwrites_what_is_read grid=2 block=64 x=input:float32[64] c=output:float32[128]
extern "C" __global__ void __cluster_dims__(2) peer_overwrites_what_is_read(const float* x, float* c) {
  __shared__ __align__(128) float tile[32]; __shared__ u64 full, empty; int t = threadIdx.x; u32 rank; RANK_OF(rank);
  if (t == 0) { INIT(full, 1); INIT(empty, 32); INIT_FENCE; }
  CLUSTER_SYNC;
  for (int i = 0; i < 2; i++) {
    if (t == 32) {
      WAIT_FOR(empty, (i & 1) ^ 1);
      EXPECT(full, 128);
      if (rank == 0)
        COPY_TO_ALL(tile, x + 32 * i, 128, full, 3);  //! race tile
    }
    if (t < 32) {
      WAIT_FOR(full, i);
      c[64 * i + 32 * rank + t] = tile[t];
      ARRIVE(empty);
    }
  }
  CLUSTER_SYNC;
}
extern "C" __global__ void __cluster_dims__(2) peer_overwrites_what_is_read_ok(const float* x, float* c) {
  __shared__ __align__(128) float tile[32]; __shared__ u64 full, empty; int t = threadIdx.x; u32 rank; RANK_OF(rank);
  if (t == 0) { INIT(full, 1); INIT(empty, 64); INIT_FENCE; }
  CLUSTER_SYNC;
  for (int i = 0; i < 2; i++) {
    if (t == 32) {
      WAIT_FOR(empty, (i & 1) ^ 1);
      EXPECT(full, 128);
      if (rank == 0)
        COPY_TO_ALL(tile, x + 32 * i, 128, full, 3);
    }
    if (t < 32) {
      WAIT_FOR(full, i);
      c[64 * i + 32 * rank + t] = tile[t];
      ARRIVE_AT(empty, 0); ARRIVE_AT(empty, 1);
    }
  }
  CLUSTER_SYNC;
}

//@ arrives_without_waiting grid=2 block=32 c=output:float32[64]
extern "C" __global__ void __cluster_dims__(2) arrives_without_waiting(float* c) {
  __shared__ float s[32]; int t = threadIdx.x; u32 rank; RANK_OF(rank); float v;
  s[t] = 32 * rank + t;
  CLUSTER_ARRIVE;
  LOAD_FROM(v, &s[t], rank ^ 1);  //! race s
  CLUSTER_WAIT;
  c[32 * rank + t] = v;
  CLUSTER_SYNC;
}
extern "C" __global__ void __cluster_dims__(2) arrives_without_waiting_ok(float* c) {
  __shared__ float s[32]; int t = threadIdx.x; u32 rank; RANK_OF(rank); float v;
  s[t] = 32 * rank + t;
  CLUSTER_ARRIVE; CLUSTER_WAIT;
  LOAD_FROM(v, &s[t], rank ^ 1);
  c[32 * rank + t] = v;
  CLUSTER_SYNC;
}

//@ arrives_at_itself grid=2 block=32 c=output:int32[64]
extern "C" __global__ void __cluster_dims__(2) arrives_at_itself(int* c) {
  __shared__ u64 bar; int t = threadIdx.x; u32 rank; RANK_OF(rank);
  if (t == 0) { INIT(bar, 32); INIT_FENCE; }
  CLUSTER_SYNC;
  if (rank == 1) ARRIVE_AT(bar, rank);
  if (rank == 0)
    WAIT_FOR(bar, 0);  //! hang bar
  c[32 * rank + t] = t;
  CLUSTER_SYNC;  //! deadlock
}
extern "C" __global__ void __cluster_dims__(2) arrives_at_itself_ok(int* c) {
  __shared__ u64 bar; int t = threadIdx.x; u32 rank; RANK_OF(rank);
  if (t == 0) { INIT(bar, 32); INIT_FENCE; }
  CLUSTER_SYNC;
  if (rank == 1) ARRIVE_AT(bar, 0);
  if (rank == 0)
    WAIT_FOR(bar, 0);
  c[32 * rank + t] = t;
  CLUSTER_SYNC;
}

//@ rank_beyond_the_cluster grid=4 block=32 c=output:float32[128]
extern "C" __global__ void __cluster_dims__(2) rank_beyond_the_cluster(float* c) {
  __shared__ float s[32]; int t = threadIdx.x; u32 rank; RANK_OF(rank); float v;
  s[t] = t;
  CLUSTER_SYNC;
  LOAD_FROM(v, &s[t], blockIdx.x ^ 1);  //! bad_rank
  c[32 * blockIdx.x + t] = v;
  CLUSTER_SYNC;
}
extern "C" __global__ void __cluster_dims__(2) rank_beyond_the_cluster_ok(float* c) {
  __shared__ float s[32]; int t = threadIdx.x; u32 rank; RANK_OF(rank); float v;
  s[t] = t;
  CLUSTER_SYNC;
  LOAD_FROM(v, &s[t], rank ^ 1);
  c[32 * blockIdx.x + t] = v;
  CLUSTER_SYNC;
}

//@ no_fence_after_scaling grid=1 block=128 c=output:float32[128]
extern "C" __global__ void no_fence_after_scaling(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4] = {}; FILL;
  FENCE; MULTIPLY(d, TILE(a), TILE(b)); COMMIT; WAIT(0);
  for (int i = 0; i < 4; i++) d[i] *= 0.5f;
  MULTIPLY(d, TILE(a), TILE(b));  //! no_wgmma_fence d
  COMMIT; WAIT(0);
  c[threadIdx.x] = d[0] + d[1] + d[2] + d[3];
}
extern "C" __global__ void no_fence_after_scaling_ok(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4] = {}; FILL;
  FENCE; MULTIPLY(d, TILE(a), TILE(b)); COMMIT; WAIT(0);
  for (int i = 0; i < 4; i++) d[i] *= 0.5f;
  FENCE;
  MULTIPLY(d, TILE(a), TILE(b));
  COMMIT; WAIT(0);
  c[threadIdx.x] = d[0] + d[1] + d[2] + d[3];
}

//@ fence_before_the_sums_are_set grid=1 block=128 c=output:float32[128]
extern "C" __global__ void fence_before_the_sums_are_set(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4]; FILL;
  FENCE;
  for (int i = 0; i < 4; i++) d[i] = c[threadIdx.x] = i + threadIdx.x;
  MULTIPLY(d, TILE(a), TILE(b));  //! no_wgmma_fence d
  COMMIT; WAIT(0);
  c[threadIdx.x] = d[0] + d[1] + d[2] + d[3];
}
extern "C" __global__ void fence_before_the_sums_are_set_ok(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4]; FILL;
  for (int i = 0; i < 4; i++) d[i] = c[threadIdx.x] = i + threadIdx.x;
  FENCE;
  MULTIPLY(d, TILE(a), TILE(b));
  COMMIT; WAIT(0);
  c[threadIdx.x] = d[0] + d[1] + d[2] + d[3];
}

//@ no_fence_after_new_factors grid=1 block=128 c=output:float32[128]
extern "C" __global__ void no_fence_after_new_factors(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4] = {}; u32 r[4]; FILL;
  for (int i = 0; i < 4; i++) r[i] = threadIdx.x << i;
  FENCE; MULTIPLY_R(d, r, TILE(b)); COMMIT; WAIT(0);
  for (int i = 0; i < 4; i++) r[i] ^= 0x3c00;
  MULTIPLY_R(d, r, TILE(b));  //! no_wgmma_fence r
  COMMIT; WAIT(0);
  c[threadIdx.x] = d[0] + d[1] + d[2] + d[3];
}
extern "C" __global__ void no_fence_after_new_factors_ok(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4] = {}; u32 r[4]; FILL;
  for (int i = 0; i < 4; i++) r[i] = threadIdx.x << i;
  FENCE; MULTIPLY_R(d, r, TILE(b)); COMMIT; WAIT(0);
  for (int i = 0; i < 4; i++) r[i] ^= 0x3c00;
  FENCE;
  MULTIPLY_R(d, r, TILE(b));
  COMMIT; WAIT(0);
  c[threadIdx.x] = d[0] + d[1] + d[2] + d[3];
}

//@ sums_set_to_zero_in_a_loop_without_fence grid=1 block=128 c=output:float32[256]
extern "C" __global__ void sums_set_to_zero_in_a_loop_without_fence(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; FILL;
  FENCE;
  for (int n = 0; n < 2; n++) {
    float d[4] = {0.f, 1.f, 2.f, 3.f};
    for (int i = 0; i < 2; i++)
      MULTIPLY(d, TILE(a), TILE(b));  //! no_wgmma_fence d
    COMMIT; WAIT(0);
    c[128 * n + threadIdx.x] = d[0] + d[1] + d[2] + d[3];
  }
}
extern "C" __global__ void sums_set_to_zero_in_a_loop_without_fence_ok(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; FILL;
  for (int n = 0; n < 2; n++) {
    float d[4] = {0.f, 1.f, 2.f, 3.f};
    FENCE;
    for (int i = 0; i < 2; i++)
      MULTIPLY(d, TILE(a), TILE(b));
    COMMIT; WAIT(0);
    c[128 * n + threadIdx.x] = d[0] + d[1] + d[2] + d[3];
  }
}

//@ second_warpgroup_has_no_fence grid=1 block=256 c=output:float32[256]
extern "C" __global__ void second_warpgroup_has_no_fence(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4] = {}; FILL;
  if (threadIdx.x < 128) FENCE;
  MULTIPLY(d, TILE(a), TILE(b));  //! no_wgmma_fence
  COMMIT; WAIT(0);
  c[threadIdx.x] = d[0];
}
extern "C" __global__ void second_warpgroup_has_no_fence_ok(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4] = {}; FILL;
  if (threadIdx.x < 256) FENCE;
  MULTIPLY(d, TILE(a), TILE(b));
  COMMIT; WAIT(0);
  c[threadIdx.x] = d[0];
}

//@ one_warpgroup_commits grid=1 block=256 c=output:float32[256]
extern "C" __global__ void one_warpgroup_commits(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4] = {}; FILL;
  FENCE; MULTIPLY(d, TILE(a), TILE(b));
  if (threadIdx.x < 128) COMMIT;
  WAIT(0);
  c[threadIdx.x] = d[0] + 1;  //! not_awaited
}
extern "C" __global__ void one_warpgroup_commits_ok(float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4] = {}; FILL;
  FENCE; MULTIPLY(d, TILE(a), TILE(b));
  if (threadIdx.x < 256) COMMIT;
  WAIT(0);
  c[threadIdx.x] = d[0] + 1;
}

//@ slot_released_one_turn_early grid=1 block=160 x=input:float16[12288] c=output:float32[128]
extern "C" __global__ void slot_released_one_turn_early(const char* x, float* c) {
  __shared__ __align__(1024) char a[2][8192], b[1024]; __shared__ u64 full[2], empty[2]; float d[4] = {}; int t = threadIdx.x;
  for (int i = t; i < 256; i += 160) ((u32*)b)[i] = 0;
  if (t == 0) for (int s = 0; s < 2; s++) { INIT(full[s], 1); INIT(empty[s], 1); }
  PROXY_FENCE; __syncthreads();
  if (t == 128)
    for (int i = 0; i < 3; i++) {
      WAIT_FOR(empty[i % 2], (i / 2 & 1) ^ 1);
      EXPECT(full[i % 2], 8192);
      COPY_IN(a[i % 2], x + 8192 * i, 8192, full[i % 2]);  //! not_awaited a
    }
  else if (t < 128) {
    for (int i = 0; i < 3; i++) {
      WAIT_FOR(full[i % 2], i / 2 & 1);
      FENCE; MULTIPLY(d, TILE(a[i % 2]), TILE(b)); COMMIT;
      WAIT(1);
      if (t == 0 && i >= 0) ARRIVE(empty[i % 2]);
    }
    WAIT(0);
    c[t] = d[0];
  }
}
extern "C" __global__ void slot_released_one_turn_early_ok(const char* x, float* c) {
  __shared__ __align__(1024) char a[2][8192], b[1024]; __shared__ u64 full[2], empty[2]; float d[4] = {}; int t = threadIdx.x;
  for (int i = t; i < 256; i += 160) ((u32*)b)[i] = 0;
  if (t == 0) for (int s = 0; s < 2; s++) { INIT(full[s], 1); INIT(empty[s], 1); }
  PROXY_FENCE; __syncthreads();
  if (t == 128)
    for (int i = 0; i < 3; i++) {
      WAIT_FOR(empty[i % 2], (i / 2 & 1) ^ 1);
      EXPECT(full[i % 2], 8192);
      COPY_IN(a[i % 2], x + 8192 * i, 8192, full[i % 2]);
    }
  else if (t < 128) {
    for (int i = 0; i < 3; i++) {
      WAIT_FOR(full[i % 2], i / 2 & 1);
      FENCE; MULTIPLY(d, TILE(a[i % 2]), TILE(b)); COMMIT;
      WAIT(1);
      if (t == 0 && i > 0) ARRIVE(empty[(i - 1) % 2]);
    }
    WAIT(0);
    c[t] = d[0];
  }
}

//@ stride_of_another_tile grid=1 block=128 c=output:float32[128]
extern "C" __global__ void stride_of_another_tile(float* c) {
  __shared__ __align__(1024) char a[16384], b[1024]; float d[4] = {}; FILL;
  FENCE;
  MULTIPLY(d, TILE_BY(a, 2048), TILE(b));  //! uninitialised a
  COMMIT; WAIT(0);
  c[threadIdx.x] = d[0];
}
extern "C" __global__ void stride_of_another_tile_ok(float* c) {
  __shared__ __align__(1024) char a[16384], b[1024]; float d[4] = {}; FILL;
  FENCE;
  MULTIPLY(d, TILE_BY(a, 1024), TILE(b));
  COMMIT; WAIT(0);
  c[threadIdx.x] = d[0];
}

//@ map_without_the_descriptors_swizzle grid=1 block=128 m=map:64x64:128:input:float16[64,128] c=output:float32[128]
extern "C" __global__ void map_without_the_descriptors_swizzle(const __grid_constant__ TensorMap m, float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; __shared__ u64 full; float d[4] = {};
  if (threadIdx.x == 0) INIT(full, 1);
  FILL;
  if (threadIdx.x == 0) { EXPECT(full, 8192); BOX_IN(a, &m, 0, 0, full); }
  WAIT_FOR(full, 0);
  FENCE;
  MULTIPLY(d, TILE_PLAIN(a), TILE(b));  //! bad_descriptor a
  COMMIT; WAIT(0);
  c[threadIdx.x] = d[0];
}
extern "C" __global__ void map_without_the_descriptors_swizzle_ok(const __grid_constant__ TensorMap m, float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; __shared__ u64 full; float d[4] = {};
  if (threadIdx.x == 0) INIT(full, 1);
  FILL;
  if (threadIdx.x == 0) { EXPECT(full, 8192); BOX_IN(a, &m, 0, 0, full); }
  WAIT_FOR(full, 0);
  FENCE;
  MULTIPLY(d, TILE(a), TILE(b));
  COMMIT; WAIT(0);
  c[threadIdx.x] = d[0];
}

//@ elects_where_lanes_have_parted grid=1 block=32 x=input:float32[32] c=output:float32[32]
extern "C" __global__ void elects_where_lanes_have_parted(const float* x, float* c) {
  __shared__ __align__(128) float tile[32]; __shared__ u64 full; int t = threadIdx.x, chosen = 0;
  if (t == 0) INIT(full, 1);
  __syncthreads();
  if (t < 16)
    asm volatile("{ .reg .pred q; elect.sync _|q, 0xffffffff; selp.s32 %0, 1, 0, q; }" : "=r"(chosen));  //! divergent_warp
  if (chosen) { EXPECT(full, 128); COPY_IN(tile, x, 128, full); }
  WAIT_FOR(full, 0);
  c[t] = tile[t];
}
extern "C" __global__ void elects_where_lanes_have_parted_ok(const float* x, float* c) {
  __shared__ __align__(128) float tile[32]; __shared__ u64 full; int t = threadIdx.x, chosen = 0;
  if (t == 0) INIT(full, 1);
  __syncthreads();
  if (t < 32)
    asm volatile("{ .reg .pred q; elect.sync _|q, 0xffffffff; selp.s32 %0, 1, 0, q; }" : "=r"(chosen));
  if (chosen) { EXPECT(full, 128); COPY_IN(tile, x, 128, full); }
  WAIT_FOR(full, 0);
  c[t] = tile[t];
}

//@ cp_async_tile_without_proxy_fence grid=1 block=128 x=input:float32[256] c=output:float32[128]
extern "C" __global__ void cp_async_tile_without_proxy_fence(const float* x, float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4] = {}; int t = threadIdx.x; FILL;
  if (t < 64) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(ADDRESS(b + 16 * t)), "l"(x + 4 * t) : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  FENCE;
  MULTIPLY(d, TILE(a), TILE(b));  //! proxy_fence b
  COMMIT; WAIT(0);
  c[t] = d[0];
}
extern "C" __global__ void cp_async_tile_without_proxy_fence_ok(const float* x, float* c) {
  __shared__ __align__(1024) char a[8192], b[1024]; float d[4] = {}; int t = threadIdx.x; FILL;
  if (t < 64) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(ADDRESS(b + 16 * t)), "l"(x + 4 * t) : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  PROXY_FENCE; __syncthreads();
  FENCE;
  MULTIPLY(d, TILE(a), TILE(b));
  COMMIT; WAIT(0);
  c[t] = d[0];
}

//@ box_beyond_the_last_stage grid=1 block=64 shared=1280 a=map:16x16:0:input:float32[24,32] c=output:float32[64]
extern "C" __global__ void box_beyond_the_last_stage(const __grid_constant__ TensorMap a, float* c) {
  extern __shared__ __align__(128) float tile[]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) {
    INIT(full, 1); EXPECT(full, 1024);
    BOX_IN(tile + 128, &a, 0, 0, full);  //! out_of_bounds tile
  }
  c[t] = t;
}
extern "C" __global__ void box_beyond_the_last_stage_ok(const __grid_constant__ TensorMap a, float* c) {
  extern __shared__ __align__(128) float tile[]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) {
    INIT(full, 1); EXPECT(full, 1024);
    BOX_IN(tile + 64, &a, 0, 0, full);
  }
  __syncthreads(); WAIT_FOR(full, 0); c[t] = tile[64 + t];
}

//@ two_warpgroups_one_arrival grid=1 block=96 x=input:float32[128] c=output:float32[128]
extern "C" __global__ void two_warpgroups_one_arrival(const float* x, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full, empty; int t = threadIdx.x;
  if (t == 0) { INIT(full, 1); INIT(empty, 1); }
  __syncthreads();
  if (t == 64)
    for (int i = 0; i < 2; i++) {
      WAIT_FOR(empty, (i & 1) ^ 1);
      EXPECT(full, 256);
      COPY_IN(tile, x + 64 * i, 256, full);  //! race tile
    }
  else if (t < 64)
    for (int i = 0; i < 2; i++) {
      WAIT_FOR(full, i & 1);
      c[64 * i + t] = tile[63 - t];
      __syncwarp();
      if (t % 32 == 0) ARRIVE(empty);
    }
}
extern "C" __global__ void two_warpgroups_one_arrival_ok(const float* x, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full, empty; int t = threadIdx.x;
  if (t == 0) { INIT(full, 1); INIT(empty, 2); }
  __syncthreads();
  if (t == 64)
    for (int i = 0; i < 2; i++) {
      WAIT_FOR(empty, (i & 1) ^ 1);
      EXPECT(full, 256);
      COPY_IN(tile, x + 64 * i, 256, full);
    }
  else if (t < 64)
    for (int i = 0; i < 2; i++) {
      WAIT_FOR(full, i & 1);
      c[64 * i + t] = tile[63 - t];
      __syncwarp();
      if (t % 32 == 0) ARRIVE(empty);
    }
}

//@ reduces_a_tile_that_is_overwritten grid=1 block=64 c=inout:float32[64]
extern "C" __global__ void reduces_a_tile_that_is_overwritten(float* c) {
  __shared__ __align__(128) float tile[64]; int t = threadIdx.x;
  for (int i = 0; i < 2; i++) {
    tile[t] = t + i;  //! not_awaited tile
    PROXY_FENCE; __syncthreads();
    if (t == 0) { SUM_OUT(c, tile, 256); BULK_COMMIT; }
    __syncthreads();
  }
}
extern "C" __global__ void reduces_a_tile_that_is_overwritten_ok(float* c) {
  __shared__ __align__(128) float tile[64]; int t = threadIdx.x;
  for (int i = 0; i < 2; i++) {
    tile[t] = t + i;
    PROXY_FENCE; __syncthreads();
    if (t == 0) { SUM_OUT(c, tile, 256); BULK_COMMIT; BULK_WAIT_READ; }
    __syncthreads();
  }
}

//@ reduces_without_proxy_fence grid=3 block=64 c=inout:float32[64]
extern "C" __global__ void reduces_without_proxy_fence(float* c) {
  __shared__ __align__(128) float tile[64]; int t = threadIdx.x;
  tile[t] = t;
  __syncthreads();
  if (t == 0) {
    SUM_OUT(c, tile, 256);  //! proxy_fence tile
    BULK_COMMIT; BULK_WAIT_READ;
  }
}
extern "C" __global__ void reduces_without_proxy_fence_ok(float* c) {
  __shared__ __align__(128) float tile[64]; int t = threadIdx.x;
  tile[t] = t;
  PROXY_FENCE; __syncthreads();
  if (t == 0) {
    SUM_OUT(c, tile, 256);
    BULK_COMMIT; BULK_WAIT_READ;
  }
}

//@ reads_a_sum_that_is_under_way grid=1 block=64 c=inout:float32[64] d=output:float32[64]
extern "C" __global__ void reads_a_sum_that_is_under_way(float* c, float* d) {
  __shared__ __align__(128) float tile[64]; int t = threadIdx.x;
  tile[t] = t;
  PROXY_FENCE; __syncthreads();
  if (t == 0) { SUM_OUT(c, tile, 256); BULK_COMMIT; BULK_WAIT_READ; }
  __syncthreads();
  d[t] = c[63 - t];  //! not_awaited c
}
extern "C" __global__ void reads_a_sum_that_is_under_way_ok(float* c, float* d) {
  __shared__ __align__(128) float tile[64]; int t = threadIdx.x;
  tile[t] = t;
  PROXY_FENCE; __syncthreads();
  if (t == 0) { SUM_OUT(c, tile, 256); BULK_COMMIT; BULK_WAIT; }
  __syncthreads();
  d[t] = c[63 - t];
}

//@ sums_begin_before_they_are_set_to_zero grid=1 block=64 c=output:float32[64]
extern "C" __global__ void sums_begin_before_they_are_set_to_zero(float* c) {
  __shared__ __align__(128) float tile[64]; int t = threadIdx.x;
  c[t] = 0; tile[t] = t;
  PROXY_FENCE; __syncthreads();
  if (t == 0) {
    SUM_OUT(c, tile, 256);  //! proxy_fence c
    BULK_COMMIT; BULK_WAIT;
  }
}
extern "C" __global__ void sums_begin_before_they_are_set_to_zero_ok(float* c) {
  __shared__ __align__(128) float tile[64]; int t = threadIdx.x;
  c[t] = 0; tile[t] = t;
  asm volatile("fence.proxy.async;" ::: "memory"); __syncthreads();
  if (t == 0) {
    SUM_OUT(c, tile, 256);
    BULK_COMMIT; BULK_WAIT;
  }
}

//@ one_block_stores_where_another_sums grid=2 block=64 c=inout:float32[64]
extern "C" __global__ void one_block_stores_where_another_sums(float* c) {
  __shared__ __align__(128) float tile[64]; int t = threadIdx.x;
  tile[t] = t;
  PROXY_FENCE; __syncthreads();
  if (t == 0 && blockIdx.x == 0) COPY_OUT(c, tile, 256);
  if (t == 0 && blockIdx.x == 1)
    SUM_OUT(c, tile, 256);  //! not_awaited c
  BULK_COMMIT; BULK_WAIT;
}
extern "C" __global__ void one_block_stores_where_another_sums_ok(float* c) {
  __shared__ __align__(128) float tile[64]; int t = threadIdx.x;
  tile[t] = t;
  PROXY_FENCE; __syncthreads();
  if (t == 0) SUM_OUT(c, tile, 256);
  if (t == 1) atomicAdd(c + 5, 1.0f);
  BULK_COMMIT; BULK_WAIT;
}

//@ sums_in_another_block_before_it_is_filled grid=2 block=32 c=output:uint32[64]
extern "C" __global__ void __cluster_dims__(2) sums_in_another_block_before_it_is_filled(u32* c) {
  __shared__ __align__(128) u32 tile[32], sum[32]; __shared__ u64 full; int t = threadIdx.x; u32 rank; RANK_OF(rank);
  tile[t] = t;
  if (t == 0) { INIT(full, 1); INIT_FENCE; EXPECT(full, 128); }
  PROXY_FENCE; CLUSTER_SYNC;
  sum[t] = 5;
  PROXY_FENCE; __syncthreads();
  if (t == 0)
    SUM_IN(sum, tile, 128, full, rank ^ 1);  //! race sum
  WAIT_FOR(full, 0);
  c[32 * blockIdx.x + t] = sum[t];
  CLUSTER_SYNC;
}
extern "C" __global__ void __cluster_dims__(2) sums_in_another_block_before_it_is_filled_ok(u32* c) {
  __shared__ __align__(128) u32 tile[32], sum[32]; __shared__ u64 full; int t = threadIdx.x; u32 rank; RANK_OF(rank);
  tile[t] = t; sum[t] = 5;
  if (t == 0) { INIT(full, 1); INIT_FENCE; EXPECT(full, 128); }
  PROXY_FENCE; CLUSTER_SYNC;
  if (t == 0)
    SUM_IN(sum, tile, 128, full, rank ^ 1);
  WAIT_FOR(full, 0);
  c[32 * blockIdx.x + t] = sum[t];
  CLUSTER_SYNC;
}

//@ reads_what_another_block_sends_too_soon grid=2 block=32 c=output:uint32[64]
extern "C" __global__ void __cluster_dims__(2) reads_what_another_block_sends_too_soon(u32* c) {
  __shared__ u32 got[32]; __shared__ u64 full; int t = threadIdx.x; u32 rank; RANK_OF(rank);
  got[t] = 0;
  if (t == 0) { INIT(full, 1); INIT_FENCE; EXPECT(full, 128); }
  CLUSTER_SYNC;
  STORE_AT(got[t], full, 31 - t, rank ^ 1);
  CLUSTER_SYNC;
  c[32 * blockIdx.x + t] = got[t];  //! not_awaited got
  WAIT_FOR(full, 0);
}
extern "C" __global__ void __cluster_dims__(2) reads_what_another_block_sends_too_soon_ok(u32* c) {
  __shared__ u32 got[32]; __shared__ u64 full; int t = threadIdx.x; u32 rank; RANK_OF(rank);
  got[t] = 0;
  if (t == 0) { INIT(full, 1); INIT_FENCE; EXPECT(full, 128); }
  CLUSTER_SYNC;
  STORE_AT(got[t], full, 31 - t, rank ^ 1);
  WAIT_FOR(full, 0);
  c[32 * blockIdx.x + t] = got[t];
  CLUSTER_SYNC;
}

//@ sums_of_another_block_that_are_set_meanwhile grid=2 block=32 c=output:uint32[8]
extern "C" __global__ void __cluster_dims__(2) sums_of_another_block_that_are_set_meanwhile(u32* c) {
  __shared__ u32 sum[4]; __shared__ u64 full; int t = threadIdx.x; u32 rank; RANK_OF(rank);
  if (t == 0) { INIT(full, 1); INIT_FENCE; EXPECT(full, 128); }
  CLUSTER_SYNC;
  if (t < 4) sum[t] = 7;
  ADD_AT(sum[t % 4], full, t, rank ^ 1);  //! race sum
  WAIT_FOR(full, 0);
  if (t < 4) c[4 * blockIdx.x + t] = sum[t];
  CLUSTER_SYNC;
}
extern "C" __global__ void __cluster_dims__(2) sums_of_another_block_that_are_set_meanwhile_ok(u32* c) {
  __shared__ u32 sum[4]; __shared__ u64 full; int t = threadIdx.x; u32 rank; RANK_OF(rank);
  if (t == 0) { INIT(full, 1); INIT_FENCE; EXPECT(full, 128); }
  if (t < 4) sum[t] = 7;
  CLUSTER_SYNC;
  ADD_AT(sum[t % 4], full, t, rank ^ 1);
  WAIT_FOR(full, 0);
  if (t < 4) c[4 * blockIdx.x + t] = sum[t];
  CLUSTER_SYNC;
}
