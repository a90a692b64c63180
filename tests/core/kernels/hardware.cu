// Kernels as people write them: half precision, tensor cores, asynchronous copies.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/std/tuple>
#include <cuda/atomic>
#include <cooperative_groups.h>

extern "C" __global__ void halves(float* out, const float* in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (2 * i + 1 >= n) return;
    __half2 a = __floats2half2_rn(in[2 * i], in[2 * i + 1]), one = __float2half2_rn(1.0f);
    __half2 b = __hfma2(a, a, one), c = h2sqrt(__habs2(a)) * b;
    __nv_bfloat162 d = __floats2bfloat162_rn(in[2 * i + 1], in[2 * i]);
    d = __hadd2(d, __hmul2(d, d));
    out[4 * i] = __low2float(b) - (float)(__half)__high2half(c);
    out[4 * i + 1] = __half2float(__hmax(__low2half(a), __high2half(a)));
    out[4 * i + 2] = __low2float(d);
    out[4 * i + 3] = __bfloat162float(__float2bfloat16(in[2 * i])) + __hgt(a.x, a.y);
}

extern "C" __global__ void tensor(float* d, const __half* a, const __half* b, int k)
{
    using namespace nvcuda;
    __shared__ __half tiles[2][16 * 16];
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.5f);
    for (int p = 0; p < k; p += 16) {
        for (int i = threadIdx.x; i < 256; i += 32) {
            tiles[0][i] = a[i / 16 * k + p + i % 16];
            tiles[1][i] = b[i / 16 * k + p + i % 16];
        }
        __syncwarp();
        wmma::load_matrix_sync(left, tiles[0], 16);
        wmma::load_matrix_sync(right, tiles[1], 16);
        wmma::mma_sync(sum, left, right, sum);
        __syncwarp();
    }
    for (int i = 0; i < sum.num_elements; i++) sum.x[i] *= 2;
    wmma::store_matrix_sync(d, sum, 16, wmma::mem_row_major);
}

extern "C" __global__ void pipelined(float* out, const float4* in, int tiles)
{
    __shared__ float4 stage[2][64];
    int t = threadIdx.x;
    float sum = 0;
    __pipeline_memcpy_async(&stage[0][t], &in[t], sizeof(float4));
    __pipeline_commit();
    for (int i = 0; i < tiles; i++) {
        if (i + 1 < tiles) {
            __pipeline_memcpy_async(&stage[(i + 1) & 1][t], &in[(i + 1) * 64 + t], sizeof(float4));
        }
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        float4 v = stage[i & 1][63 - t];
        sum += v.x + 2 * v.y + 3 * v.z + 4 * v.w;
        __syncthreads();
    }
    out[t] = sum;
}

extern "C" __global__ void pipeline_object(int* out, const int* in, int batches)
{
    namespace cg = cooperative_groups;
    auto block = cg::this_thread_block();
    __shared__ int buffer[2][32];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto pipe = cuda::make_pipeline(block, &state);
    int sum = 0;
    for (int ahead = 0, i = 0; i < batches; i++) {
        for (; ahead < batches && ahead < i + 2; ahead++) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, buffer[ahead % 2], in + ahead * 32, sizeof(int) * 32, pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        block.sync();
        sum += buffer[i % 2][(threadIdx.x + 1) % 32] * (i + 1);
        block.sync();
        pipe.consumer_release();
    }
    out[threadIdx.x] = sum;
}

extern "C" __global__ void barrier_object(int* out, const int* in)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ int s[64];
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    s[threadIdx.x] = in[threadIdx.x];
    auto token = bar.arrive();
    int other = in[threadIdx.x] * 3;
    bar.wait(cuda::std::move(token));
    cuda::std::tuple<int, int> pair(s[63 - threadIdx.x], other);
    cuda::atomic_ref<int, cuda::thread_scope_device> last(out[64]);
    last.fetch_add(cuda::std::get<0>(pair), cuda::memory_order_relaxed);
    out[threadIdx.x] = cuda::std::get<0>(pair) + cuda::std::get<1>(pair);
}
