// `cp.async`: what threads use while a copy may still be under way, and waits that do not wait for it.
typedef unsigned u32;
typedef unsigned long long u64;

#define ADDRESS(p) ((u32)__cvta_generic_to_shared(p))
#define COPY(to, from, n) asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" :: "r"(ADDRESS(to)), "l"(from), "n"(n) : "memory")
#define COPY_16(to, from) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(ADDRESS(to)), "l"(from) : "memory")
#define COPY_PART(to, from, n, given) asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" :: "r"(ADDRESS(to)), "l"(from), "n"(n), "r"(given) : "memory")
#define COMMIT asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT(n) asm volatile("cp.async.wait_group %0;" :: "n"(n) : "memory")
#define WAIT_ALL asm volatile("cp.async.wait_all;" ::: "memory")
#define INIT(b, n) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(ADDRESS(&b)), "r"(n) : "memory")
#define ARRIVE(b) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(ADDRESS(&b)) : "memory")
#define ARRIVE_AFTER_COPIES(b) asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" :: "r"(ADDRESS(&b)) : "memory")
#define COUNT_COPIES(b) asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" :: "r"(ADDRESS(&b)) : "memory")
#define WAIT_FOR(b, p) asm volatile("{ .reg .pred q; again: mbarrier.try_wait.parity.shared::cta.b64 q, [%0], %1; @q bra done; bra again; done: }" :: "r"(ADDRESS(&b)), "r"(p) : "memory")

// Nobody waits.
//@ own_element_without_a_wait grid=2 block=64 x=input:float32[64] c=output:float32[128]
extern "C" __global__ void own_element_without_a_wait(const float* x, float* c) {
  __shared__ float s[64]; int t = threadIdx.x;
  COPY(&s[t], x + t, 4); COMMIT;
  c[64 * blockIdx.x + t] = s[t];  //! not_awaited s
}
extern "C" __global__ void own_element_without_a_wait_ok(const float* x, float* c) {
  __shared__ float s[64]; int t = threadIdx.x;
  COPY(&s[t], x + t, 4); COMMIT;
  WAIT(0);
  c[64 * blockIdx.x + t] = s[t];
}

//@ barrier_in_place_of_a_wait grid=2 block=64 x=input:float32[64] c=output:float32[128]
extern "C" __global__ void barrier_in_place_of_a_wait(const float* x, float* c) {
  __shared__ float s[64]; int t = threadIdx.x;
  COPY(&s[t], x + t, 4); COMMIT;
  __syncthreads();
  c[64 * blockIdx.x + t] = s[63 - t];  //! not_awaited s
}
extern "C" __global__ void barrier_in_place_of_a_wait_ok(const float* x, float* c) {
  __shared__ float s[64]; int t = threadIdx.x;
  COPY(&s[t], x + t, 4); COMMIT;
  WAIT(0);
  __syncthreads();
  c[64 * blockIdx.x + t] = s[63 - t];
}

// The wait lets too many groups be pending.
//@ waits_for_all_but_the_only_group grid=1 block=64 x=input:float32[64] c=output:float32[64]
extern "C" __global__ void waits_for_all_but_the_only_group(const float* x, float* c) {
  __shared__ float s[64]; int t = threadIdx.x;
  COPY(&s[t], x + t, 4); COMMIT;
  WAIT(1);
  __syncthreads();
  c[t] = s[63 - t];  //! not_awaited s
}
extern "C" __global__ void waits_for_all_but_the_only_group_ok(const float* x, float* c) {
  __shared__ float s[64]; int t = threadIdx.x;
  COPY(&s[t], x + t, 4); COMMIT; COMMIT;
  WAIT(1);
  __syncthreads();
  c[t] = s[63 - t];
}

// The last phase fetches nothing, so that the group before is the latest one.
//@ two_stages_without_an_empty_group grid=2 block=64 x=input:float32[256] c=output:float32[128]
extern "C" __global__ void two_stages_without_an_empty_group(const float* x, float* c) {
  __shared__ float s[2][64]; int t = threadIdx.x; float sum = 0;
  COPY(&s[0][t], x + t, 4); COMMIT;
  for (int i = 0; i < 4; i++) {
    if (i < 3) { COPY(&s[(i + 1) % 2][t], x + 64 * (i + 1) + t, 4); COMMIT; }
    WAIT(1);
    __syncthreads();
    sum += s[i % 2][63 - t];  //! not_awaited s
    __syncthreads();
  }
  c[64 * blockIdx.x + t] = sum;
}
extern "C" __global__ void two_stages_without_an_empty_group_ok(const float* x, float* c) {
  __shared__ float s[2][64]; int t = threadIdx.x; float sum = 0;
  COPY(&s[0][t], x + t, 4); COMMIT;
  for (int i = 0; i < 4; i++) {
    if (i < 3) COPY(&s[(i + 1) % 2][t], x + 64 * (i + 1) + t, 4);
    COMMIT;
    WAIT(1);
    __syncthreads();
    sum += s[i % 2][63 - t];
    __syncthreads();
  }
  c[64 * blockIdx.x + t] = sum;
}

//@ two_stages_wait_for_none grid=1 block=64 x=input:float32[256] c=output:float32[64]
extern "C" __global__ void two_stages_wait_for_none(const float* x, float* c) {
  __shared__ float s[2][64]; int t = threadIdx.x; float sum = 0;
  COPY(&s[0][t], x + t, 4); COMMIT;
  for (int i = 0; i < 4; i++) {
    if (i < 3)
      COPY(&s[(i + 1) % 2][t], x + 64 * (i + 1) + t, 4);  //! not_awaited s
    COMMIT;
    WAIT(2);
    __syncthreads();
    sum += s[i % 2][63 - t];  //! not_awaited s
    __syncthreads();
  }
  c[t] = sum;
}
extern "C" __global__ void two_stages_wait_for_none_ok(const float* x, float* c) {
  __shared__ float s[2][64]; int t = threadIdx.x; float sum = 0;
  COPY(&s[0][t], x + t, 4); COMMIT;
  for (int i = 0; i < 4; i++) {
    if (i < 3)
      COPY(&s[(i + 1) % 2][t], x + 64 * (i + 1) + t, 4);
    COMMIT;
    WAIT(1);
    __syncthreads();
    sum += s[i % 2][63 - t];
    __syncthreads();
  }
  c[t] = sum;
}

#define FETCH(stages, i) if (i < 8) COPY(&s[i % stages][t], x + 64 * i + t, 4); COMMIT
#define RING(stages, left) \
  for (int i = 0; i < stages - 1; i++) { FETCH(stages, i); } \
  for (int i = 0; i < 8; i++) { \
    WAIT(left); __syncthreads(); \
    sum += s[i % stages][63 - t]; \
    int next = i + stages - 1; FETCH(stages, next); \
  }
//@ three_stages_wait_too_little grid=1 block=64 x=input:float32[512] c=output:float32[64]
extern "C" __global__ void three_stages_wait_too_little(const float* x, float* c) {
  __shared__ float s[3][64]; int t = threadIdx.x; float sum = 0;
  RING(3, 2)  //! not_awaited s
  c[t] = sum;
}
extern "C" __global__ void three_stages_wait_too_little_ok(const float* x, float* c) {
  __shared__ float s[3][64]; int t = threadIdx.x; float sum = 0;
  RING(3, 1)
  c[t] = sum;
}

//@ four_stages_wait_too_little grid=2 block=64 x=input:float32[512] c=output:float32[128]
extern "C" __global__ void four_stages_wait_too_little(const float* x, float* c) {
  __shared__ float s[4][64]; int t = threadIdx.x; float sum = 0;
  RING(4, 3)  //! not_awaited s
  c[64 * blockIdx.x + t] = sum;
}
extern "C" __global__ void four_stages_wait_too_little_ok(const float* x, float* c) {
  __shared__ float s[4][64]; int t = threadIdx.x; float sum = 0;
  RING(4, 2)
  c[64 * blockIdx.x + t] = sum;
}

//@ second_of_two_tiles_in_a_later_group grid=1 block=64 x=input:float32[128] c=output:float32[64]
extern "C" __global__ void second_of_two_tiles_in_a_later_group(const float* x, float* c) {
  __shared__ float k[64], v[64]; int t = threadIdx.x;
  COPY(&k[t], x + t, 4); COMMIT;
  COPY(&v[t], x + 64 + t, 4); COMMIT;
  WAIT(1);
  __syncthreads();
  float sum = k[63 - t];
  sum += v[63 - t];  //! not_awaited v
  c[t] = sum;
}
extern "C" __global__ void second_of_two_tiles_in_a_later_group_ok(const float* x, float* c) {
  __shared__ float k[64], v[64]; int t = threadIdx.x;
  COPY(&k[t], x + t, 4); COMMIT;
  COPY(&v[t], x + 64 + t, 4); COMMIT;
  WAIT(1);
  __syncthreads();
  float sum = k[63 - t];
  WAIT(0);
  __syncthreads();
  sum += v[63 - t];
  c[t] = sum;
}

// wait_group says nothing of copies that are in no group.
//@ commit_forgotten grid=1 block=64 x=input:float32[64] c=output:float32[64]
extern "C" __global__ void commit_forgotten(const float* x, float* c) {
  __shared__ float s[64]; int t = threadIdx.x;
  COPY(&s[t], x + t, 4);
  WAIT(0);
  __syncthreads();
  c[t] = s[63 - t];  //! not_awaited s
}
extern "C" __global__ void commit_forgotten_ok(const float* x, float* c) {
  __shared__ float s[64]; int t = threadIdx.x;
  COPY(&s[t], x + t, 4);
  WAIT_ALL;
  __syncthreads();
  c[t] = s[63 - t];
}

//@ wait_before_commit grid=1 block=64 x=input:float32[64] c=output:float32[64]
extern "C" __global__ void wait_before_commit(const float* x, float* c) {
  __shared__ float s[64]; int t = threadIdx.x;
  COPY(&s[t], x + t, 4);
  WAIT(0); COMMIT;
  __syncthreads();
  c[t] = s[63 - t];  //! not_awaited s
}
extern "C" __global__ void wait_before_commit_ok(const float* x, float* c) {
  __shared__ float s[64]; int t = threadIdx.x;
  COPY(&s[t], x + t, 4);
  COMMIT; WAIT(0);
  __syncthreads();
  c[t] = s[63 - t];
}

//@ copy_after_the_commit grid=1 block=64 x=input:float32[128] c=output:float32[64]
extern "C" __global__ void copy_after_the_commit(const float* x, float* c) {
  __shared__ float k[64], v[64]; int t = threadIdx.x;
  COPY(&k[t], x + t, 4); COMMIT;
  COPY(&v[t], x + 64 + t, 4);
  WAIT(0);
  __syncthreads();
  float sum = k[63 - t];
  sum += v[63 - t];  //! not_awaited v
  c[t] = sum;
}
extern "C" __global__ void copy_after_the_commit_ok(const float* x, float* c) {
  __shared__ float k[64], v[64]; int t = threadIdx.x;
  COPY(&k[t], x + t, 4);
  COPY(&v[t], x + 64 + t, 4); COMMIT;
  WAIT(0);
  __syncthreads();
  float sum = k[63 - t];
  sum += v[63 - t];
  c[t] = sum;
}

//@ copy_after_wait_all grid=1 block=64 x=input:float32[128] c=output:float32[64]
extern "C" __global__ void copy_after_wait_all(const float* x, float* c) {
  __shared__ float k[64], v[64]; int t = threadIdx.x;
  COPY(&k[t], x + t, 4);
  WAIT_ALL;
  COPY(&v[t], x + 64 + t, 4);
  __syncthreads();
  float sum = k[63 - t];
  sum += v[63 - t];  //! not_awaited v
  c[t] = sum;
}
extern "C" __global__ void copy_after_wait_all_ok(const float* x, float* c) {
  __shared__ float k[64], v[64]; int t = threadIdx.x;
  COPY(&k[t], x + t, 4);
  WAIT_ALL;
  __syncthreads();
  COPY(&v[t], x + 64 + t, 4);
  float sum = k[63 - t];
  WAIT_ALL;
  __syncthreads();
  sum += v[63 - t];
  c[t] = sum;
}

// Each thread waits for its own copies only.
//@ one_warp_waits_for_all grid=2 block=64 x=input:float32[64] c=output:float32[128]
extern "C" __global__ void one_warp_waits_for_all(const float* x, float* c) {
  __shared__ float s[64]; int t = threadIdx.x;
  COPY(&s[t], x + t, 4); COMMIT;
  if (t < 32) WAIT(0);
  __syncthreads();
  if (t < 32) c[64 * blockIdx.x + t] = s[t];
  else c[64 * blockIdx.x + t] = s[t - 1];  //! not_awaited s
}
extern "C" __global__ void one_warp_waits_for_all_ok(const float* x, float* c) {
  __shared__ float s[64]; int t = threadIdx.x;
  COPY(&s[t], x + t, 4); COMMIT;
  WAIT(0);
  __syncthreads();
  if (t < 32) c[64 * blockIdx.x + t] = s[t];
  else c[64 * blockIdx.x + t] = s[t - 1];
}

//@ consumers_wait_for_producers grid=1 block=64 x=input:float32[32] c=output:float32[32]
extern "C" __global__ void consumers_wait_for_producers(const float* x, float* c) {
  __shared__ float s[32]; int t = threadIdx.x;
  if (t < 32) { COPY(&s[t], x + t, 4); COMMIT; }
  if (t >= 32) WAIT(0);
  __syncthreads();
  if (t >= 32) c[t - 32] = s[63 - t];  //! not_awaited s
}
extern "C" __global__ void consumers_wait_for_producers_ok(const float* x, float* c) {
  __shared__ float s[32]; int t = threadIdx.x;
  if (t < 32) { COPY(&s[t], x + t, 4); COMMIT; }
  if (t < 32) WAIT(0);
  __syncthreads();
  if (t >= 32) c[t - 32] = s[63 - t];
}

//@ one_thread_skips_the_wait grid=1 block=96 x=input:float32[96] c=output:float32[96]
extern "C" __global__ void one_thread_skips_the_wait(const float* x, float* c) {
  __shared__ float s[96]; int t = threadIdx.x;
  COPY(&s[t], x + t, 4); COMMIT;
  if (t != 70) WAIT(0);
  __syncthreads();
  c[t] = s[95 - t];  //! not_awaited s
}
extern "C" __global__ void one_thread_skips_the_wait_ok(const float* x, float* c) {
  __shared__ float s[96]; int t = threadIdx.x;
  if (t != 70) { COPY(&s[t], x + t, 4); COMMIT; } else s[t] = x[t];
  if (t != 70) WAIT(0);
  __syncthreads();
  c[t] = s[95 - t];
}

// Others need a barrier behind the wait.
//@ barrier_before_the_wait grid=1 block=64 x=input:float32[64] c=output:float32[64]
extern "C" __global__ void barrier_before_the_wait(const float* x, float* c) {
  __shared__ float s[64]; int t = threadIdx.x;
  COPY(&s[t], x + t, 4); COMMIT;
  __syncthreads();
  WAIT(0);
  c[t] = s[t ^ 32];  //! not_awaited s
}
extern "C" __global__ void barrier_before_the_wait_ok(const float* x, float* c) {
  __shared__ float s[64]; int t = threadIdx.x;
  COPY(&s[t], x + t, 4); COMMIT;
  __syncthreads();
  WAIT(0);
  c[t] = s[t];
}

//@ wait_without_a_barrier grid=1 block=64 x=input:float32[64] c=output:float32[64]
extern "C" __global__ void wait_without_a_barrier(const float* x, float* c) {
  __shared__ float s[64]; int t = threadIdx.x;
  COPY(&s[t], x + t, 4); COMMIT;
  WAIT(0);
  c[t] = s[t ^ 32];  //! race s
}
extern "C" __global__ void wait_without_a_barrier_ok(const float* x, float* c) {
  __shared__ float s[64]; int t = threadIdx.x;
  COPY(&s[t], x + t, 4); COMMIT;
  WAIT(0);
  c[t] = s[t];
  __syncthreads();
  c[t] += s[t ^ 32];
}

//@ syncwarp_before_the_wait grid=1 block=64 x=input:float32[64] c=output:float32[64]
extern "C" __global__ void syncwarp_before_the_wait(const float* x, float* c) {
  __shared__ float s[64]; int t = threadIdx.x;
  COPY(&s[t], x + t, 4); COMMIT;
  __syncwarp();
  WAIT(0);
  c[t] = s[t ^ 31];  //! not_awaited s
}
extern "C" __global__ void syncwarp_before_the_wait_ok(const float* x, float* c) {
  __shared__ float s[64]; int t = threadIdx.x;
  COPY(&s[t], x + t, 4); COMMIT;
  WAIT(0);
  __syncwarp();
  c[t] = s[t ^ 31];
}

// A stage is filled again while other warps still read it.
//@ refilled_without_a_barrier grid=1 block=64 x=input:float32[256] c=output:float32[64]
extern "C" __global__ void refilled_without_a_barrier(const float* x, float* c) {
  __shared__ float s[64], u[64]; int t = threadIdx.x; float sum = 0;
  for (int i = 0; i < 4; i++) {
    COPY((i % 2 ? &u[t] : &s[t]), x + 64 * i + t, 4); COMMIT;
    WAIT(0);
    __syncthreads();
    sum += (i % 2 ? u : s)[63 - t];
    if (i == 3)
      COPY(&u[t], x + t, 4);  //! race u
  }
  c[t] = sum;
}
extern "C" __global__ void refilled_without_a_barrier_ok(const float* x, float* c) {
  __shared__ float s[64], u[64]; int t = threadIdx.x; float sum = 0;
  for (int i = 0; i < 4; i++) {
    COPY((i % 2 ? &u[t] : &s[t]), x + 64 * i + t, 4); COMMIT;
    WAIT(0);
    __syncthreads();
    sum += (i % 2 ? u : s)[63 - t];
    if (i == 3)
      COPY(&s[t], x + t, 4);
  }
  c[t] = sum;
}

// What a copy writes must not be written by anybody else.
//@ stored_over_a_copy grid=1 block=64 x=input:float32[64] c=output:float32[64]
extern "C" __global__ void stored_over_a_copy(const float* x, float* c) {
  __shared__ float s[64]; int t = threadIdx.x;
  COPY(&s[t], x + t, 4); COMMIT;
  if (t % 2)
    s[t] = 200 + t;  //! not_awaited s
  WAIT(0);
  __syncthreads();
  c[t] = s[63 - t];
}
extern "C" __global__ void stored_over_a_copy_ok(const float* x, float* c) {
  __shared__ float s[64]; int t = threadIdx.x;
  COPY(&s[t], x + t, 4); COMMIT;
  WAIT(0);
  if (t % 2)
    s[t] = 200 + t;
  __syncthreads();
  c[t] = s[63 - t];
}

//@ copied_over_a_copy grid=1 block=64 x=input:float32[128] c=output:float32[64]
extern "C" __global__ void copied_over_a_copy(const float* x, float* c) {
  __shared__ float s[64]; int t = threadIdx.x;
  COPY(&s[t], x + t, 4); COMMIT;
  COPY(&s[t], x + 64 + t, 4);  //! not_awaited s
  COMMIT; WAIT(0);
  c[t] = s[t];
}
extern "C" __global__ void copied_over_a_copy_ok(const float* x, float* c) {
  __shared__ float s[64]; int t = threadIdx.x;
  COPY(&s[t], x + t, 4); COMMIT;
  WAIT(0);
  COPY(&s[t], x + 64 + t, 4);
  COMMIT; WAIT(0);
  c[t] = s[t];
}

//@ result_into_a_stage_that_fills grid=1 block=64 x=input:float32[128] c=output:float32[64]
extern "C" __global__ void result_into_a_stage_that_fills(const float* x, float* c) {
  __shared__ float s[2][64]; int t = threadIdx.x;
  for (int i = 0; i < 2; i++) { COPY(&s[i][t], x + 64 * i + t, 4); COMMIT; }
  WAIT(1);
  __syncthreads();
  float own = s[0][63 - t];
  s[1][63 - t] = 300 + own;  //! not_awaited s
  __syncthreads();
  c[t] = own;
}
extern "C" __global__ void result_into_a_stage_that_fills_ok(const float* x, float* c) {
  __shared__ float s[2][64]; int t = threadIdx.x;
  for (int i = 0; i < 2; i++) { COPY(&s[i][t], x + 64 * i + t, 4); COMMIT; }
  WAIT(1);
  __syncthreads();
  float own = s[0][63 - t];
  WAIT_ALL;
  __syncthreads();
  s[1][63 - t] = 300 + own;
  __syncthreads();
  c[t] = own;
}

//@ added_to_a_copy grid=1 block=64 x=input:int32[64] c=output:int32[64]
extern "C" __global__ void added_to_a_copy(const int* x, int* c) {
  __shared__ int s[64]; int t = threadIdx.x;
  COPY(&s[t], x + t, 4); COMMIT;
  __syncthreads();
  atomicAdd(&s[t / 2], 1);  //! not_awaited s
  WAIT(0);
  __syncthreads();
  c[t] = s[63 - t];
}
extern "C" __global__ void added_to_a_copy_ok(const int* x, int* c) {
  __shared__ int s[64]; int t = threadIdx.x;
  COPY(&s[t], x + t, 4); COMMIT;
  WAIT(0);
  __syncthreads();
  atomicAdd(&s[t / 2], 1);
  __syncthreads();
  c[t] = s[63 - t];
}

// Zeros that fill a copy up come with it.
//@ zeros_read_before_the_wait grid=1 block=64 x=input:float32[64] c=output:float32[64]
extern "C" __global__ void zeros_read_before_the_wait(const float* x, float* c) {
  __shared__ float s[64]; int t = threadIdx.x;
  COPY_PART(&s[t], x + t, 4, t < 50 ? 4 : 0); COMMIT;
  float sum = t < 50 ? 0 : s[t];  //! not_awaited s
  WAIT(0);
  c[t] = sum + s[t];
}
extern "C" __global__ void zeros_read_before_the_wait_ok(const float* x, float* c) {
  __shared__ float s[64]; int t = threadIdx.x;
  COPY_PART(&s[t], x + t, 4, t < 50 ? 4 : 0); COMMIT;
  WAIT(0);
  float sum = t < 50 ? 0 : s[t];
  c[t] = sum + s[t];
}

//@ rest_of_a_part_read_before_the_wait grid=1 block=32 x=input:float32[128] c=output:float32[32]
extern "C" __global__ void rest_of_a_part_read_before_the_wait(const float* x, float* c) {
  __shared__ __align__(16) float s[128]; int t = threadIdx.x;
  COPY_PART(&s[4 * t], x + 4 * t, 16, 6); COMMIT;
  c[t] = s[4 * t + 3];  //! not_awaited s
}
extern "C" __global__ void rest_of_a_part_read_before_the_wait_ok(const float* x, float* c) {
  __shared__ __align__(16) float s[128]; int t = threadIdx.x;
  COPY_PART(&s[4 * t], x + 4 * t, 16, 6); COMMIT;
  WAIT(0);
  c[t] = s[4 * t + 3];
}

// Copies of 8 and 16 bytes, and narrower and wider accesses.
//@ half_of_eight_bytes grid=1 block=64 x=input:float32[128] c=output:float32[64]
extern "C" __global__ void half_of_eight_bytes(const float* x, float* c) {
  __shared__ __align__(16) float s[128]; int t = threadIdx.x;
  COPY(&s[2 * t], x + 2 * t, 8); COMMIT;
  __syncthreads();
  c[t] = s[127 - 2 * t];  //! not_awaited s
}
extern "C" __global__ void half_of_eight_bytes_ok(const float* x, float* c) {
  __shared__ __align__(16) float s[128]; int t = threadIdx.x;
  COPY(&s[2 * t], x + 2 * t, 8); WAIT_ALL;
  __syncthreads();
  c[t] = s[127 - 2 * t];
}

//@ one_byte_of_sixteen grid=1 block=32 x=input:int32[128] c=output:int32[32]
extern "C" __global__ void one_byte_of_sixteen(const int* x, int* c) {
  __shared__ __align__(16) signed char s[512]; int t = threadIdx.x;
  COPY_16(&s[16 * t], x + 4 * t); COMMIT;
  __syncwarp();
  c[t] = s[16 * (31 - t) + 13];  //! not_awaited s
}
extern "C" __global__ void one_byte_of_sixteen_ok(const int* x, int* c) {
  __shared__ __align__(16) signed char s[512]; int t = threadIdx.x;
  COPY_16(&s[16 * t], x + 4 * t); COMMIT; WAIT(0);
  __syncwarp();
  c[t] = s[16 * (31 - t) + 13];
}

//@ wide_read_of_narrow_copies grid=1 block=64 x=input:float32[64] c=output:float32[64]
extern "C" __global__ void wide_read_of_narrow_copies(const float* x, float* c) {
  __shared__ __align__(16) float s[64]; int t = threadIdx.x;
  if (t % 4 == 3) { COPY(&s[t], x + t, 4); COMMIT; } else s[t] = x[t];
  __syncthreads();
  float4 four = *(float4*)&s[4 * (t % 16)];  //! not_awaited s
  c[t] = four.x + four.w;
}
extern "C" __global__ void wide_read_of_narrow_copies_ok(const float* x, float* c) {
  __shared__ __align__(16) float s[64]; int t = threadIdx.x;
  if (t % 4 == 3) { COPY(&s[t], x + t, 4); COMMIT; } else s[t] = x[t];
  WAIT(0);
  __syncthreads();
  float4 four = *(float4*)&s[4 * (t % 16)];
  c[t] = four.x + four.w;
}

// A copy and its wait in functions; the matrix loads of a warp.
__device__ void fetch(float* to, const float* from) { COPY(to, from, 4); COMMIT; }
__device__ void arrived() { WAIT(0); }
//@ wait_before_the_call grid=1 block=64 x=input:float32[64] c=output:float32[64]
extern "C" __global__ void wait_before_the_call(const float* x, float* c) {
  __shared__ float s[64]; int t = threadIdx.x;
  arrived(); fetch(&s[t], x + t);
  __syncthreads();
  c[t] = s[63 - t];  //! not_awaited s
}
extern "C" __global__ void wait_before_the_call_ok(const float* x, float* c) {
  __shared__ float s[64]; int t = threadIdx.x;
  fetch(&s[t], x + t); arrived();
  __syncthreads();
  c[t] = s[63 - t];
}

#define LOAD_MATRIX(a, p) asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(a) : "r"(ADDRESS(p)) : "memory")
//@ matrix_loaded_before_the_wait grid=1 block=32 x=input:int32[64] c=output:int32[32]
extern "C" __global__ void matrix_loaded_before_the_wait(const int* x, int* c) {
  __shared__ __align__(16) short s[8][8], other[8][8]; int t = threadIdx.x, a;
  if (t < 8) COPY_16(s[t], x + 4 * t);
  COMMIT;
  if (t < 8) COPY_16(other[t], x + 32 + 4 * t);
  COMMIT;
  WAIT(1);
  __syncwarp();
  LOAD_MATRIX(a, other[t % 8]);  //! not_awaited other
  c[t] = a;
}
extern "C" __global__ void matrix_loaded_before_the_wait_ok(const int* x, int* c) {
  __shared__ __align__(16) short s[8][8], other[8][8]; int t = threadIdx.x, a;
  if (t < 8) COPY_16(s[t], x + 4 * t);
  COMMIT;
  if (t < 8) COPY_16(other[t], x + 32 + 4 * t);
  COMMIT;
  WAIT(1);
  __syncwarp();
  LOAD_MATRIX(a, s[t % 8]);
  c[t] = a;
}

// A bulk copy reads what a copy of each thread still brings.
#define PROXY_FENCE asm volatile("fence.proxy.async.shared::cta;" ::: "memory")
#define COPY_OUT(to, from, n) asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" :: "l"(to), "r"(ADDRESS(from)), "r"(n) : "memory")
//@ bulk_copy_of_copies grid=1 block=64 x=input:float32[64] c=output:float32[64]
extern "C" __global__ void bulk_copy_of_copies(const float* x, float* c) {
  __shared__ __align__(128) float s[64]; int t = threadIdx.x;
  COPY(&s[t], x + t, 4); COMMIT;
  PROXY_FENCE; __syncthreads();
  if (t == 0)
    COPY_OUT(c, s, 256);  //! not_awaited s
}
extern "C" __global__ void bulk_copy_of_copies_ok(const float* x, float* c) {
  __shared__ __align__(128) float s[64]; int t = threadIdx.x;
  COPY(&s[t], x + t, 4); COMMIT; WAIT(0);
  PROXY_FENCE; __syncthreads();
  if (t == 0)
    COPY_OUT(c, s, 256);
}

// What a copy reads must not change before it is done.
//@ source_overwritten grid=1 block=64 x=zero:float32[64] c=output:float32[64]
extern "C" __global__ void source_overwritten(float* x, float* c) {
  __shared__ float s[64]; int t = threadIdx.x;
  COPY(&s[t], x + t, 4); COMMIT;
  x[t] = t;  //! not_awaited x
  WAIT(0);
  c[t] = s[t];
}
extern "C" __global__ void source_overwritten_ok(float* x, float* c) {
  __shared__ float s[64]; int t = threadIdx.x;
  COPY(&s[t], x + t, 4); COMMIT;
  WAIT(0);
  x[t] = t;
  c[t] = s[t];
}

// An mbarrier that tracks the copies: those who wait for its phase may use them.
//@ nobody_waits_for_the_phase grid=1 block=64 x=input:float32[64] c=output:float32[64]
extern "C" __global__ void nobody_waits_for_the_phase(const float* x, float* c) {
  __shared__ float s[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) INIT(full, 64);
  __syncthreads();
  COPY(&s[t], x + t, 4); ARRIVE_AFTER_COPIES(full);
  __syncthreads();
  c[t] = s[t];  //! not_awaited s
}
extern "C" __global__ void nobody_waits_for_the_phase_ok(const float* x, float* c) {
  __shared__ float s[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) INIT(full, 64);
  __syncthreads();
  COPY(&s[t], x + t, 4); ARRIVE_AFTER_COPIES(full);
  if (t == 9) WAIT_FOR(full, 0);
  __syncthreads();
  c[t] = s[t];
}

//@ waits_for_the_phase_before grid=1 block=64 x=input:float32[64] c=output:float32[64]
extern "C" __global__ void waits_for_the_phase_before(const float* x, float* c) {
  __shared__ float s[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) INIT(full, 65);
  __syncthreads();
  COPY(&s[t], x + t, 4); ARRIVE_AFTER_COPIES(full);
  WAIT_FOR(full, 1);
  c[t] = s[t];  //! not_awaited s
  __syncthreads();
  if (t == 0) ARRIVE(full);
}
extern "C" __global__ void waits_for_the_phase_before_ok(const float* x, float* c) {
  __shared__ float s[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) INIT(full, 65);
  __syncthreads();
  COPY(&s[t], x + t, 4); ARRIVE_AFTER_COPIES(full);
  if (t == 0) ARRIVE(full);
  WAIT_FOR(full, 0);
  c[t] = s[63 - t];
}

//@ arrives_before_the_copy grid=1 block=64 x=input:float32[64] c=output:float32[64]
extern "C" __global__ void arrives_before_the_copy(const float* x, float* c) {
  __shared__ float s[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) INIT(full, 64);
  __syncthreads();
  ARRIVE_AFTER_COPIES(full); COPY(&s[t], x + t, 4);
  WAIT_FOR(full, 0);
  c[t] = s[t];  //! not_awaited s
}
extern "C" __global__ void arrives_before_the_copy_ok(const float* x, float* c) {
  __shared__ float s[64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) INIT(full, 64);
  __syncthreads();
  ARRIVE_AFTER_COPIES(full); COPY(&s[t], x + t, 4); COMMIT;
  WAIT_FOR(full, 0);
  WAIT(0);
  c[t] = s[t];
}

//@ phase_without_its_copies grid=1 block=96 x=input:float32[256] c=output:float32[256]
extern "C" __global__ void phase_without_its_copies(const float* x, float* c) {
  __shared__ float s[64]; __shared__ u64 full, empty; int t = threadIdx.x;
  if (t == 0) { INIT(full, 64); INIT(empty, 32); }
  __syncthreads();
  for (int i = 0; i < 4; i++)
    if (t < 64) {
      if (i) WAIT_FOR(empty, (i - 1) & 1);
      COPY(&s[t], x + 64 * i + t, 4);  //! not_awaited s
      ARRIVE(full);
    } else {
      WAIT_FOR(full, i & 1);
      c[64 * i + t - 64] = s[95 - t] + s[t - 32];  //! not_awaited s
      ARRIVE(empty);
    }
}
extern "C" __global__ void phase_without_its_copies_ok(const float* x, float* c) {
  __shared__ float s[64]; __shared__ u64 full, empty; int t = threadIdx.x;
  if (t == 0) { INIT(full, 64); INIT(empty, 32); }
  __syncthreads();
  for (int i = 0; i < 4; i++)
    if (t < 64) {
      if (i) WAIT_FOR(empty, (i - 1) & 1);
      COPY(&s[t], x + 64 * i + t, 4);
      COUNT_COPIES(full); ARRIVE(full);
    } else {
      WAIT_FOR(full, i & 1);
      c[64 * i + t - 64] = s[95 - t] + s[t - 32];
      ARRIVE(empty);
    }
}

// A thread may wait for its groups as well, whatever tracks them.
//@ group_wait_of_tracked_copies grid=1 block=64 x=input:float32[128] c=output:float32[64]
extern "C" __global__ void group_wait_of_tracked_copies(const float* x, float* c) {
  __shared__ float s[2][64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) INIT(full, 64);
  __syncthreads();
  COPY(&s[0][t], x + t, 4); COMMIT; COPY(&s[1][t], x + 64 + t, 4); COMMIT;
  ARRIVE_AFTER_COPIES(full);
  WAIT(1);
  float sum = s[0][t];
  sum += s[1][t];  //! not_awaited s
  c[t] = sum;
}
extern "C" __global__ void group_wait_of_tracked_copies_ok(const float* x, float* c) {
  __shared__ float s[2][64]; __shared__ u64 full; int t = threadIdx.x;
  if (t == 0) INIT(full, 64);
  __syncthreads();
  COPY(&s[0][t], x + t, 4); COMMIT; COPY(&s[1][t], x + 64 + t, 4); COMMIT;
  ARRIVE_AFTER_COPIES(full);
  WAIT(0);
  float sum = s[0][t];
  sum += s[1][t];
  __syncthreads();
  c[t] = sum + s[0][63 - t];
}
