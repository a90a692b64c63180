// Asynchronous copies by way of CUDA's headers, and waits that do not wait for them.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_pipeline.h>
#include <cuda/barrier>
#include <cuda/pipeline>
namespace cg = cooperative_groups;

// <cuda_pipeline.h>
//@ primitives_without_a_wait grid=1 block=64 x=input:float32[64] c=output:float32[64]
extern "C" __global__ void primitives_without_a_wait(const float* x, float* c) {
  __shared__ float s[64]; int t = threadIdx.x;
  __pipeline_memcpy_async(&s[t], x + t, 4);
  __pipeline_commit();
  __syncthreads();
  c[t] = s[63 - t];  //! not_awaited s
}
extern "C" __global__ void primitives_without_a_wait_ok(const float* x, float* c) {
  __shared__ float s[64]; int t = threadIdx.x;
  __pipeline_memcpy_async(&s[t], x + t, 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  c[t] = s[63 - t];
}

//@ primitives_without_a_commit grid=1 block=64 x=input:float32[64] c=output:float32[64]
extern "C" __global__ void primitives_without_a_commit(const float* x, float* c) {
  __shared__ float s[64]; int t = threadIdx.x;
  __pipeline_memcpy_async(&s[t], x + t, 4);
  __pipeline_wait_prior(0);
  __syncthreads();
  c[t] = s[63 - t];  //! not_awaited s
}
extern "C" __global__ void primitives_without_a_commit_ok(const float* x, float* c) {
  __shared__ float s[64]; int t = threadIdx.x;
  __pipeline_memcpy_async(&s[t], x + t, 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  c[t] = s[63 - t];
}

//@ primitives_wait_for_the_first_of_two grid=1 block=64 x=input:float32[512] c=output:float32[64]
extern "C" __global__ void primitives_wait_for_the_first_of_two(const float4* x, float* c) {
  __shared__ float4 s[2][64]; int t = threadIdx.x; float sum = 0;
  for (int i = 0; i < 2; i++) {
    __pipeline_memcpy_async(&s[i][t], x + 64 * i + t, 16);
    __pipeline_commit();
  }
  __pipeline_wait_prior(1);
  __syncthreads();
  for (int i = 0; i < 2; i++)
    sum += s[i][63 - t].y;  //! not_awaited s
  c[t] = sum;
}
extern "C" __global__ void primitives_wait_for_the_first_of_two_ok(const float4* x, float* c) {
  __shared__ float4 s[2][64]; int t = threadIdx.x; float sum = 0;
  for (int i = 0; i < 2; i++) {
    __pipeline_memcpy_async(&s[i][t], x + 64 * i + t, 16);
    __pipeline_commit();
  }
  __pipeline_wait_prior(0);
  __syncthreads();
  for (int i = 0; i < 2; i++)
    sum += s[i][63 - t].y;
  c[t] = sum;
}

//@ filled_with_zeros_by_primitives grid=1 block=64 x=input:float32[128] c=output:float32[64]
extern "C" __global__ void filled_with_zeros_by_primitives(const float2* x, float* c) {
  __shared__ float2 s[64]; int t = threadIdx.x;
  __pipeline_memcpy_async(&s[t], x + t, 8, 4);
  __pipeline_commit();
  c[t] = s[t].y;  //! not_awaited s
}
extern "C" __global__ void filled_with_zeros_by_primitives_ok(const float2* x, float* c) {
  __shared__ float2 s[64]; int t = threadIdx.x;
  __pipeline_memcpy_async(&s[t], x + t, 8, 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  c[t] = s[t].y;
}

// Cooperative groups
//@ group_meets_and_does_not_wait grid=1 block=64 x=input:float32[64] c=output:float32[64]
extern "C" __global__ void group_meets_and_does_not_wait(const float* x, float* c) {
  __shared__ __align__(16) float s[64]; int t = threadIdx.x;
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, s, x, sizeof s);
  block.sync();
  c[t] = s[63 - t];  //! not_awaited s
}
extern "C" __global__ void group_meets_and_does_not_wait_ok(const float* x, float* c) {
  __shared__ __align__(16) float s[64]; int t = threadIdx.x;
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, s, x, sizeof s);
  cg::wait(block);
  c[t] = s[63 - t];
}

//@ group_waits_for_the_first_of_two grid=1 block=64 x=input:float32[128] c=output:float32[64]
extern "C" __global__ void group_waits_for_the_first_of_two(const float* x, float* c) {
  __shared__ __align__(16) float k[64], v[64]; int t = threadIdx.x;
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, k, x, sizeof k);
  cg::memcpy_async(block, v, x + 64, sizeof v);
  cg::wait_prior<1>(block);
  float sum = k[63 - t];
  sum += v[63 - t];  //! not_awaited v
  c[t] = sum;
}
extern "C" __global__ void group_waits_for_the_first_of_two_ok(const float* x, float* c) {
  __shared__ __align__(16) float k[64], v[64]; int t = threadIdx.x;
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, k, x, sizeof k);
  cg::memcpy_async(block, v, x + 64, sizeof v);
  cg::wait_prior<1>(block);
  float sum = k[63 - t];
  cg::wait(block);
  sum += v[63 - t];
  c[t] = sum;
}

// <cuda/pipeline> and <cuda/barrier>
//@ pipeline_of_a_thread_without_a_wait grid=1 block=64 x=input:float32[64] c=output:float32[64]
extern "C" __global__ void pipeline_of_a_thread_without_a_wait(const float* x, float* c) {
  __shared__ float s[64]; int t = threadIdx.x;
  auto pipe = cuda::make_pipeline();
  pipe.producer_acquire();
  cuda::memcpy_async(&s[t], x + t, sizeof(float), pipe);
  pipe.producer_commit();
  c[t] = s[t];  //! not_awaited s
  pipe.consumer_wait();
  pipe.consumer_release();
}
extern "C" __global__ void pipeline_of_a_thread_without_a_wait_ok(const float* x, float* c) {
  __shared__ float s[64]; int t = threadIdx.x;
  auto pipe = cuda::make_pipeline();
  pipe.producer_acquire();
  cuda::memcpy_async(&s[t], x + t, sizeof(float), pipe);
  pipe.producer_commit();
  pipe.consumer_wait();
  c[t] = s[t];
  pipe.consumer_release();
}

//@ pipeline_that_keeps_one_stage_back grid=1 block=64 x=input:float32[64] c=output:float32[64]
extern "C" __global__ void pipeline_that_keeps_one_stage_back(const float* x, float* c) {
  __shared__ float s[64]; int t = threadIdx.x;
  auto pipe = cuda::make_pipeline();
  cuda::memcpy_async(&s[t], x + t, sizeof(float), pipe);
  pipe.producer_commit();
  cuda::pipeline_consumer_wait_prior<1>(pipe);
  __syncthreads();
  c[t] = s[63 - t];  //! not_awaited s
}
extern "C" __global__ void pipeline_that_keeps_one_stage_back_ok(const float* x, float* c) {
  __shared__ float s[64]; int t = threadIdx.x;
  auto pipe = cuda::make_pipeline();
  cuda::memcpy_async(&s[t], x + t, sizeof(float), pipe);
  pipe.producer_commit();
  cuda::pipeline_consumer_wait_prior<0>(pipe);
  __syncthreads();
  c[t] = s[63 - t];
}

//@ pipeline_of_a_block_without_a_wait grid=1 block=64 x=input:float32[64] c=output:float32[64]
extern "C" __global__ void pipeline_of_a_block_without_a_wait(const float* x, float* c) {
  __shared__ float s[64]; int t = threadIdx.x;
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 1> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  pipe.producer_acquire();
  cuda::memcpy_async(&s[t], x + t, sizeof(float), pipe);
  pipe.producer_commit();
  block.sync();
  c[t] = s[63 - t];  //! not_awaited s
  pipe.consumer_wait();
  pipe.consumer_release();
}
extern "C" __global__ void pipeline_of_a_block_without_a_wait_ok(const float* x, float* c) {
  __shared__ float s[64]; int t = threadIdx.x;
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 1> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  pipe.producer_acquire();
  cuda::memcpy_async(&s[t], x + t, sizeof(float), pipe);
  pipe.producer_commit();
  pipe.consumer_wait();
  c[t] = s[63 - t];
  pipe.consumer_release();
}

//@ barrier_object_not_waited_for grid=1 block=64 x=input:float32[64] c=output:float32[64]
extern "C" __global__ void barrier_object_not_waited_for(const float* x, float* c) {
  __shared__ float s[64]; __shared__ cuda::barrier<cuda::thread_scope_block> bar; int t = threadIdx.x;
  if (t == 0) init(&bar, 64);
  __syncthreads();
  cuda::memcpy_async(&s[t], x + t, sizeof(float), bar);
  auto token = bar.arrive();
  c[t] = s[t];  //! not_awaited s
  bar.wait(cuda::std::move(token));
}
extern "C" __global__ void barrier_object_not_waited_for_ok(const float* x, float* c) {
  __shared__ float s[64]; __shared__ cuda::barrier<cuda::thread_scope_block> bar; int t = threadIdx.x;
  if (t == 0) init(&bar, 64);
  __syncthreads();
  cuda::memcpy_async(&s[t], x + t, sizeof(float), bar);
  bar.arrive_and_wait();
  c[t] = s[63 - t];
}
