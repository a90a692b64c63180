// Bulk copies and the mbarriers that they tell.
typedef unsigned u32;
typedef unsigned long long u64;
struct alignas(64) TensorMap { u64 words[16]; };

#define ADDRESS(p) ((u32)__cvta_generic_to_shared(p))
#define INIT(b, n) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(ADDRESS(&b)), "r"(n) : "memory")
#define EXPECT(b, n) asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(ADDRESS(&b)), "r"(n) : "memory")
#define ARRIVE(b) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(ADDRESS(&b)) : "memory")
#define WAIT(b, p) asm volatile("{ .reg .pred q; again: mbarrier.try_wait.parity.shared::cta.b64 q, [%0], %1; @q bra done; bra again; done: }" :: "r"(ADDRESS(&b)), "r"(p) : "memory")
#define COPY_IN(to, from, n, b) asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" :: "r"(ADDRESS(to)), "l"(from), "r"(n), "r"(ADDRESS(&b)) : "memory")
#define COPY_OUT(to, from, n) asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" :: "l"(to), "r"(ADDRESS(from)), "r"(n) : "memory")
#define COMMIT asm volatile("cp.async.bulk.commit_group;" ::: "memory")
#define WAIT_GROUP asm volatile("cp.async.bulk.wait_group 0;" ::: "memory")
#define PROXY_FENCE asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define BOX_IN(to, map, x, y, b) asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" :: "r"(ADDRESS(to)), "l"(map), "r"(x), "r"(y), "r"(ADDRESS(&b)) : "memory")
#define BOX_OUT(map, from, x, y) asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" :: "l"(map), "r"(x), "r"(y), "r"(ADDRESS(from)) : "memory")

//@ read_before_wait grid=1 block=64 a=input:float32[64] c=output:float32[64]
extern "C" __global__ void read_before_wait(const float* a, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) { INIT(full, 1); EXPECT(full, 256); COPY_IN(tile, a, 256, full); }
  __syncthreads();
  c[t] = tile[63 - t];  //! not_awaited tile
  WAIT(full, 0);
}
extern "C" __global__ void read_before_wait_ok(const float* a, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) { INIT(full, 1); EXPECT(full, 256); COPY_IN(tile, a, 256, full); }
  __syncthreads();
  WAIT(full, 0);
  c[t] = tile[63 - t];
}

//@ one_thread_waits grid=1 block=64 a=input:float32[64] c=output:float32[64]
extern "C" __global__ void one_thread_waits(const float* a, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) { INIT(full, 1); EXPECT(full, 256); COPY_IN(tile, a, 256, full); WAIT(full, 0); }
  c[t] = tile[63 - t];  //! not_awaited tile
}
extern "C" __global__ void one_thread_waits_ok(const float* a, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) { INIT(full, 1); EXPECT(full, 256); COPY_IN(tile, a, 256, full); WAIT(full, 0); }
  __syncthreads();
  c[t] = tile[63 - t];
}

//@ wrong_parity grid=1 block=64 a=input:float32[64] c=output:float32[64]
extern "C" __global__ void wrong_parity(const float* a, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) { INIT(full, 1); EXPECT(full, 256); COPY_IN(tile, a, 256, full); }
  __syncthreads();
  WAIT(full, 1);
  c[t] = tile[t];  //! not_awaited tile
}
extern "C" __global__ void wrong_parity_ok(const float* a, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) { INIT(full, 1); EXPECT(full, 256); COPY_IN(tile, a, 256, full); }
  __syncthreads();
  WAIT(full, 0);
  c[t] = tile[t];
}

//@ same_parity_twice grid=1 block=64 a=input:float32[128] c=output:float32[128]
extern "C" __global__ void same_parity_twice(const float* a, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) INIT(full, 1);
  __syncthreads();
  for (int i = 0; i < 2; i++) {
    if (t == 0) { EXPECT(full, 256); COPY_IN(tile, a + 64 * i, 256, full); }
    WAIT(full, 0);
    c[64 * i + t] = tile[t];  //! not_awaited tile
    __syncthreads();
  }
}
extern "C" __global__ void same_parity_twice_ok(const float* a, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) INIT(full, 1);
  __syncthreads();
  for (int i = 0; i < 2; i++) {
    if (t == 0) { EXPECT(full, 256); COPY_IN(tile, a + 64 * i, 256, full); }
    WAIT(full, i);
    c[64 * i + t] = tile[t];
    __syncthreads();
  }
}

//@ wait_for_next_phase grid=1 block=64 a=input:float32[64] c=output:float32[64]
extern "C" __global__ void wait_for_next_phase(const float* a, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) { INIT(full, 1); EXPECT(full, 256); COPY_IN(tile, a, 256, full); }
  __syncthreads();
  WAIT(full, 0);
  WAIT(full, 1);  //! hang full
  c[t] = tile[t];
}
extern "C" __global__ void wait_for_next_phase_ok(const float* a, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) { INIT(full, 1); EXPECT(full, 256); COPY_IN(tile, a, 256, full); }
  __syncthreads();
  WAIT(full, 0);
  WAIT(full, 0);
  c[t] = tile[t];
}

//@ too_few_bytes_expected grid=1 block=32 a=input:float32[64] c=output:float32[64]
extern "C" __global__ void too_few_bytes_expected(const float* a, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) { INIT(full, 1); EXPECT(full, 128); COPY_IN(tile, a, 256, full); }
  __syncthreads();
  WAIT(full, 0);  //! hang full
  c[t] = tile[t];
}
extern "C" __global__ void too_few_bytes_expected_ok(const float* a, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) { INIT(full, 1); EXPECT(full, 128); COPY_IN(tile, a, 128, full); }
  __syncthreads();
  WAIT(full, 0);
  c[t] = tile[t];
}

//@ too_many_bytes_expected grid=1 block=32 a=input:float32[64] c=output:float32[64]
extern "C" __global__ void too_many_bytes_expected(const float* a, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) { INIT(full, 1); EXPECT(full, 64 * 4); COPY_IN(tile, a, 64, full); }
  __syncthreads();
  WAIT(full, 0);  //! hang full
  c[t] = tile[t & 15];
}
extern "C" __global__ void too_many_bytes_expected_ok(const float* a, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) { INIT(full, 1); EXPECT(full, 64); COPY_IN(tile, a, 64, full); }
  __syncthreads();
  WAIT(full, 0);
  c[t] = tile[t & 15];
}

//@ too_few_arrivals grid=1 block=64 c=output:int32[64]
extern "C" __global__ void too_few_arrivals(int* c) {
  __shared__ u64 empty; int t = threadIdx.x;
  if (t == 0) INIT(empty, 64);
  __syncthreads();
  if (t < 32) ARRIVE(empty);
  WAIT(empty, 0);  //! hang empty
  c[t] = t;
}
extern "C" __global__ void too_few_arrivals_ok(int* c) {
  __shared__ u64 empty; int t = threadIdx.x;
  if (t == 0) INIT(empty, 32);
  __syncthreads();
  if (t < 32) ARRIVE(empty);
  WAIT(empty, 0);
  c[t] = t;
}

//@ too_many_arrivals grid=1 block=64 a=input:float32[64] c=output:int32[64]
extern "C" __global__ void too_many_arrivals(const float* a, int* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) { INIT(full, 1); EXPECT(full, 256); }
  __syncthreads();
  if (t == 1) ARRIVE(full);  //! bad_mbarrier full
  __syncthreads();
  if (t == 0) COPY_IN(tile, a, 256, full);
  WAIT(full, 0);
  c[t] = tile[t];
}
extern "C" __global__ void too_many_arrivals_ok(const float* a, int* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) { INIT(full, 2); EXPECT(full, 256); }
  __syncthreads();
  if (t == 1) ARRIVE(full);
  __syncthreads();
  if (t == 0) COPY_IN(tile, a, 256, full);
  WAIT(full, 0);
  c[t] = tile[t];
}

//@ never_initialised grid=1 block=64 c=output:int32[64]
extern "C" __global__ void never_initialised(int* c) {
  __shared__ u64 bar; int t = threadIdx.x;
  ARRIVE(bar);  //! bad_mbarrier bar
  c[t] = t;
}
extern "C" __global__ void never_initialised_ok(int* c) {
  __shared__ u64 bar; int t = threadIdx.x;
  if (t == 0) INIT(bar, 64);
  __syncthreads();
  ARRIVE(bar);
  c[t] = t;
}

//@ producer_overwrites grid=1 block=64 a=input:float32[128] c=output:float32[128]
extern "C" __global__ void producer_overwrites(const float* a, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) INIT(full, 1);
  __syncthreads();
  for (int i = 0; i < 2; i++) {
    if (t == 0) {
      EXPECT(full, 256);
      COPY_IN(tile, a + 64 * i, 256, full);  //! race tile
    }
    WAIT(full, i);
    c[64 * i + t] = tile[t];
  }
}
extern "C" __global__ void producer_overwrites_ok(const float* a, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full, empty; int t = threadIdx.x;
  if (t == 0) { INIT(full, 1); INIT(empty, 64); }
  __syncthreads();
  for (int i = 0; i < 2; i++) {
    if (t == 0) {
      WAIT(empty, (i & 1) ^ 1);
      EXPECT(full, 256);
      COPY_IN(tile, a + 64 * i, 256, full);
    }
    WAIT(full, i);
    c[64 * i + t] = tile[t];
    ARRIVE(empty);
  }
}

//@ ring_without_empty grid=1 block=64 a=input:float32[256] c=output:float32[256]
extern "C" __global__ void ring_without_empty(const float* a, float* c) {
  __shared__ __align__(128) float tile[2][32]; __shared__ u64 full[2], empty[2]; int t = threadIdx.x;
  if (t == 0) for (int s = 0; s < 2; s++) { INIT(full[s], 1); INIT(empty[s], 32); }
  __syncthreads();
  if (t == 32)
    for (int i = 0; i < 8; i++) {
      if (i < 4) WAIT(empty[i % 2], (i / 2 & 1) ^ 1);
      EXPECT(full[i % 2], 128);  //! bad_mbarrier full
      COPY_IN(tile[i % 2], a + 32 * i, 128, full[i % 2]);
    }
  if (t < 32)
    for (int i = 0; i < 8; i++) {
      WAIT(full[i % 2], i / 2 & 1);  //! hang full
      c[32 * i + t] = tile[i % 2][t];
      ARRIVE(empty[i % 2]);
    }
}
extern "C" __global__ void ring_without_empty_ok(const float* a, float* c) {
  __shared__ __align__(128) float tile[2][32]; __shared__ u64 full[2], empty[2]; int t = threadIdx.x;
  if (t == 0) for (int s = 0; s < 2; s++) { INIT(full[s], 1); INIT(empty[s], 32); }
  __syncthreads();
  if (t == 32)
    for (int i = 0; i < 8; i++) {
      WAIT(empty[i % 2], (i / 2 & 1) ^ 1);
      EXPECT(full[i % 2], 128);
      COPY_IN(tile[i % 2], a + 32 * i, 128, full[i % 2]);
    }
  if (t < 32)
    for (int i = 0; i < 8; i++) {
      WAIT(full[i % 2], i / 2 & 1);
      c[32 * i + t] = tile[i % 2][t];
      ARRIVE(empty[i % 2]);
    }
}

//@ forgets_to_arrive grid=1 block=64 a=input:float32[256] c=output:float32[256]
extern "C" __global__ void forgets_to_arrive(const float* a, float* c) {
  __shared__ __align__(128) float tile[2][32]; __shared__ u64 full[2], empty[2]; int t = threadIdx.x;
  if (t == 0) for (int s = 0; s < 2; s++) { INIT(full[s], 1); INIT(empty[s], 32); }
  __syncthreads();
  if (t == 32)
    for (int i = 0; i < 8; i++) {
      WAIT(empty[i % 2], (i / 2 & 1) ^ 1);  //! hang empty
      EXPECT(full[i % 2], 128);
      COPY_IN(tile[i % 2], a + 32 * i, 128, full[i % 2]);
    }
  if (t < 32)
    for (int i = 0; i < 8; i++) {
      WAIT(full[i % 2], i / 2 & 1);  //! hang full
      c[32 * i + t] = tile[i % 2][t];
      if (t) ARRIVE(empty[i % 2]);
    }
}
extern "C" __global__ void forgets_to_arrive_ok(const float* a, float* c) {
  __shared__ __align__(128) float tile[2][32]; __shared__ u64 full[2], empty[2]; int t = threadIdx.x;
  if (t == 0) for (int s = 0; s < 2; s++) { INIT(full[s], 1); INIT(empty[s], 31); }
  __syncthreads();
  if (t == 32)
    for (int i = 0; i < 8; i++) {
      WAIT(empty[i % 2], (i / 2 & 1) ^ 1);
      EXPECT(full[i % 2], 128);
      COPY_IN(tile[i % 2], a + 32 * i, 128, full[i % 2]);
    }
  if (t < 32)
    for (int i = 0; i < 8; i++) {
      WAIT(full[i % 2], i / 2 & 1);
      c[32 * i + t] = tile[i % 2][t];
      __syncwarp();
      if (t) ARRIVE(empty[i % 2]);
    }
}

//@ store_without_fence grid=1 block=64 c=output:float32[64]
extern "C" __global__ void store_without_fence(float* c) {
  __shared__ __align__(128) float tile[64]; int t = threadIdx.x;
  tile[t] = t;
  __syncthreads();
  if (t == 0) {
    COPY_OUT(c, tile, 256);  //! proxy_fence tile
    COMMIT; WAIT_GROUP;
  }
}
extern "C" __global__ void store_without_fence_ok(float* c) {
  __shared__ __align__(128) float tile[64]; int t = threadIdx.x;
  tile[t] = t;
  PROXY_FENCE;
  __syncthreads();
  if (t == 0) { COPY_OUT(c, tile, 256); COMMIT; WAIT_GROUP; }
}

//@ fence_before_store grid=1 block=64 c=output:float32[64]
extern "C" __global__ void fence_before_store(float* c) {
  __shared__ __align__(128) float tile[64]; int t = threadIdx.x;
  PROXY_FENCE;
  tile[t] = t;
  __syncthreads();
  if (t == 0) {
    COPY_OUT(c, tile, 256);  //! proxy_fence tile
    COMMIT; WAIT_GROUP;
  }
}
extern "C" __global__ void fence_before_store_ok(float* c) {
  __shared__ __align__(128) float tile[64]; int t = threadIdx.x;
  tile[t] = t;
  __syncthreads();
  if (t == 0) { PROXY_FENCE; COPY_OUT(c, tile, 256); COMMIT; WAIT_GROUP; }
}

//@ store_without_barrier grid=1 block=64 c=output:float32[64]
extern "C" __global__ void store_without_barrier(float* c) {
  __shared__ __align__(128) float tile[64]; int t = threadIdx.x;
  tile[t] = t;
  PROXY_FENCE;
  if (t == 0) {
    COPY_OUT(c, tile, 256);  //! race tile
    COMMIT; WAIT_GROUP;
  }
}
extern "C" __global__ void store_without_barrier_ok(float* c) {
  __shared__ __align__(128) float tile[64]; int t = threadIdx.x;
  if (t == 0) {
    for (int i = 0; i < 64; i++) tile[i] = i;
    PROXY_FENCE; COPY_OUT(c, tile, 256); COMMIT; WAIT_GROUP;
  }
}

//@ reuse_before_group_wait grid=1 block=64 c=output:float32[128]
extern "C" __global__ void reuse_before_group_wait(float* c) {
  __shared__ __align__(128) float tile[64]; int t = threadIdx.x;
  for (int i = 0; i < 2; i++) {
    tile[t] = t + i;  //! not_awaited tile
    PROXY_FENCE;
    __syncthreads();
    if (t == 0) { COPY_OUT(c + 64 * i, tile, 256); COMMIT; }
    __syncthreads();
  }
  if (t == 0) WAIT_GROUP;
}
extern "C" __global__ void reuse_before_group_wait_ok(float* c) {
  __shared__ __align__(128) float tile[64]; int t = threadIdx.x;
  for (int i = 0; i < 2; i++) {
    tile[t] = t + i;
    PROXY_FENCE;
    __syncthreads();
    if (t == 0) { COPY_OUT(c + 64 * i, tile, 256); COMMIT; WAIT_GROUP; }
    __syncthreads();
  }
}

//@ wait_without_commit grid=1 block=64 c=output:float32[128]
extern "C" __global__ void wait_without_commit(float* c) {
  __shared__ __align__(128) float tile[64]; int t = threadIdx.x;
  for (int i = 0; i < 2; i++) {
    tile[t] = t + i;  //! not_awaited tile
    PROXY_FENCE;
    __syncthreads();
    if (t == 0) { COPY_OUT(c + 64 * i, tile, 256); WAIT_GROUP; COMMIT; }
    __syncthreads();
  }
}
extern "C" __global__ void wait_without_commit_ok(float* c) {
  __shared__ __align__(128) float tile[2][64]; int t = threadIdx.x;
  for (int i = 0; i < 2; i++) {
    tile[i][t] = t + i;
    PROXY_FENCE;
    __syncthreads();
    if (t == 0) { COPY_OUT(c + 64 * i, tile[i], 256); COMMIT; asm volatile("cp.async.bulk.wait_group 1;" ::: "memory"); }
  }
}

//@ reuse_without_barrier grid=1 block=64 c=output:float32[128]
extern "C" __global__ void reuse_without_barrier(float* c) {
  __shared__ __align__(128) float tile[64]; int t = threadIdx.x;
  for (int i = 0; i < 2; i++) {
    tile[t] = t + i;  //! not_awaited tile
    PROXY_FENCE;
    __syncthreads();
    if (t == 0) { COPY_OUT(c + 64 * i, tile, 256); COMMIT; WAIT_GROUP; }
  }
}
extern "C" __global__ void reuse_without_barrier_ok(float* c) {
  __shared__ __align__(128) float tile[64]; int t = threadIdx.x;
  for (int i = 0; i < 2; i++) {
    tile[t] = t + i;
    PROXY_FENCE;
    __syncthreads();
    if (t == 0) { COPY_OUT(c + 64 * i, tile, 256); COMMIT; WAIT_GROUP; }
    __syncthreads();
  }
}

//@ copied_flag_without_fence grid=2 block=64 part=inout:float32[64] flag=zero:int32[1] c=output:float32[64]
extern "C" __global__ void copied_flag_without_fence(float* part, int* flag, float* c) {
  __shared__ __align__(128) float tile[64]; int t = threadIdx.x;
  if (blockIdx.x == 0) {
    tile[t] = t;
    PROXY_FENCE;
    __syncthreads();
    if (t == 0) {
      COPY_OUT(part, tile, 256); COMMIT; WAIT_GROUP;
      atomicExch(flag, 1);
    }
  } else {
    if (t == 0) { while (atomicAdd(flag, 0) == 0); __threadfence(); }
    __syncthreads();
    c[t] = part[t];  //! not_awaited part
  }
}
extern "C" __global__ void copied_flag_without_fence_ok(float* part, int* flag, float* c) {
  __shared__ __align__(128) float tile[64]; int t = threadIdx.x;
  if (blockIdx.x == 0) {
    tile[t] = t;
    PROXY_FENCE;
    __syncthreads();
    if (t == 0) {
      COPY_OUT(part, tile, 256); COMMIT; WAIT_GROUP;
      __threadfence();
      atomicExch(flag, 1);
    }
  } else {
    if (t == 0) { while (atomicAdd(flag, 0) == 0); __threadfence(); }
    __syncthreads();
    c[t] = part[t];
  }
}

//@ copy_of_odd_size grid=1 block=32 a=input:float32[64] c=output:float32[64]
extern "C" __global__ void copy_of_odd_size(const float* a, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x;
  tile[t] = 0;
  if (t == 0) {
    INIT(full, 1);
    COPY_IN(tile, a, 100, full);  //! misaligned
  }
  c[t] = tile[t];
}
extern "C" __global__ void copy_of_odd_size_ok(const float* a, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) { INIT(full, 1); EXPECT(full, 112); COPY_IN(tile, a, 112, full); }
  __syncthreads();
  WAIT(full, 0);
  c[t] = tile[t % 28];
}

//@ copy_beyond_array grid=1 block=32 a=input:float32[64] c=output:float32[64]
extern "C" __global__ void copy_beyond_array(const float* a, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) {
    INIT(full, 1);
    COPY_IN(tile, a + 32, 256, full);  //! out_of_bounds a
  }
  c[t] = t;
}
extern "C" __global__ void copy_beyond_array_ok(const float* a, float* c) {
  __shared__ __align__(128) float tile[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) { INIT(full, 1); EXPECT(full, 128); COPY_IN(tile, a + 32, 128, full); }
  __syncthreads();
  WAIT(full, 0);
  c[t] = tile[t];
}

//@ box_beyond_shared_memory grid=1 block=64 shared=1024 a=map:16x16:0:input:float32[24,32] c=output:float32[64]
extern "C" __global__ void box_beyond_shared_memory(const __grid_constant__ TensorMap a, float* c) {
  extern __shared__ __align__(128) float tile[]; u64& full = *(u64*)tile; int t = threadIdx.x;
  if (t == 0) {
    INIT(full, 1);
    BOX_IN(tile + 192, &a, 0, 0, full);  //! out_of_bounds tile
  }
  c[t] = t;
}
extern "C" __global__ void box_beyond_shared_memory_ok(const __grid_constant__ TensorMap a, float* c) {
  extern __shared__ __align__(128) float tile[]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) { INIT(full, 1); EXPECT(full, 1024); BOX_IN(tile, &a, 0, 0, full); }
  __syncthreads();
  WAIT(full, 0);
  c[t] = tile[t];
}

//@ box_at_wrong_alignment grid=1 block=64 a=map:16x8:0:input:float32[24,32] c=output:float32[128]
extern "C" __global__ void box_at_wrong_alignment(const __grid_constant__ TensorMap a, float* c) {
  __shared__ __align__(128) float tile[256]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) {
    INIT(full, 1);
    BOX_IN(tile + 4, &a, 0, 0, full);  //! misaligned tile
  }
  c[t] = t;
}
extern "C" __global__ void box_at_wrong_alignment_ok(const __grid_constant__ TensorMap a, float* c) {
  __shared__ __align__(128) float tile[256]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) { INIT(full, 1); EXPECT(full, 512); BOX_IN(tile + 32, &a, 0, 0, full); }
  __syncthreads();
  WAIT(full, 0);
  c[t] = tile[32 + t];
}

// A store stops at a coordinate less than 0; what lies behind the end is left out.
//@ box_beyond_map grid=1 block=64 a=map:16x8:0:output:float32[24,32] c=output:float32[64]
extern "C" __global__ void box_beyond_map(const __grid_constant__ TensorMap a, float* c) {
  __shared__ __align__(128) float tile[128]; int t = threadIdx.x;
  tile[t] = t; tile[t + 64] = -t;
  PROXY_FENCE;
  __syncthreads();
  if (t == 0) {
    BOX_OUT(&a, tile, 8, -2);  //! beyond_map
    COMMIT; WAIT_GROUP;
  }
  c[t] = t;
}
extern "C" __global__ void box_beyond_map_ok(const __grid_constant__ TensorMap a, float* c) {
  __shared__ __align__(128) float tile[128]; int t = threadIdx.x;
  tile[t] = t; tile[t + 64] = -t;
  PROXY_FENCE;
  __syncthreads();
  if (t == 0) { BOX_OUT(&a, tile, 8, 20); BOX_OUT(&a, tile, 32, 24); COMMIT; WAIT_GROUP; }
  c[t] = t;
}

//@ map_of_other_dimensions grid=1 block=64 a=map:16:0:input:float32[96] c=output:float32[128]
extern "C" __global__ void map_of_other_dimensions(const __grid_constant__ TensorMap a, float* c) {
  __shared__ __align__(128) float tile[128]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) {
    INIT(full, 1);
    BOX_IN(tile, &a, 0, 0, full);  //! bad_tensor_map
  }
  c[t] = t;
}
extern "C" __global__ void map_of_other_dimensions_ok(const __grid_constant__ TensorMap a, float* c) {
  __shared__ __align__(128) float tile[128]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) { INIT(full, 1); EXPECT(full, 64); asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2}], [%3];" :: "r"(ADDRESS(tile)), "l"(&a), "r"(16), "r"(ADDRESS(&full)) : "memory"); }
  __syncthreads();
  WAIT(full, 0);
  c[t] = tile[t & 15];
}
