// Reads of memory that nobody has written. `//!` marks what is to be found on a line.

//@ shared_never_written grid=2 block=32 y=output:float32[64]
extern "C" __global__ void shared_never_written(float* y)
{
    __shared__ float s[32];
    y[blockIdx.x * 32 + threadIdx.x] = s[threadIdx.x];  //! uninitialised s
}
extern "C" __global__ void shared_never_written_ok(float* y)
{
    __shared__ float s[32];
    s[threadIdx.x] = 1.0f;
    y[blockIdx.x * 32 + threadIdx.x] = s[threadIdx.x];
}

//@ halo_not_loaded grid=1 block=32 x=input:float32[32] y=output:float32[32]
extern "C" __global__ void halo_not_loaded(const float* x, float* y)
{
    __shared__ float s[34];
    s[threadIdx.x + 1] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = s[threadIdx.x] + s[threadIdx.x + 2];  //! uninitialised s
}
extern "C" __global__ void halo_not_loaded_ok(const float* x, float* y)
{
    __shared__ float s[34];
    s[threadIdx.x + 1] = x[threadIdx.x];
    if (threadIdx.x < 2)
        s[33 * threadIdx.x] = 0.0f;
    __syncthreads();
    y[threadIdx.x] = s[threadIdx.x] + s[threadIdx.x + 2];
}

//@ accumulate_from_nothing grid=1 block=32 x=input:float32[4,32] y=output:float32[32]
extern "C" __global__ void accumulate_from_nothing(const float* x, float* y)
{
    __shared__ float sum[32];
    for (int k = 0; k < 4; k++)
        sum[threadIdx.x] += x[k * 32 + threadIdx.x];  //! uninitialised sum
    y[threadIdx.x] = sum[threadIdx.x];
}
extern "C" __global__ void accumulate_from_nothing_ok(const float* x, float* y)
{
    __shared__ float sum[32];
    sum[threadIdx.x] = 0.0f;
    for (int k = 0; k < 4; k++)
        sum[threadIdx.x] += x[k * 32 + threadIdx.x];
    y[threadIdx.x] = sum[threadIdx.x];
}

//@ bins_not_cleared grid=1 block=32 x=input:uint8[32] y=output:int32[128]
extern "C" __global__ void bins_not_cleared(const unsigned char* x, int* y)
{
    __shared__ int bins[128];
    atomicAdd(&bins[x[threadIdx.x]], 1);  //! uninitialised bins
    __syncthreads();
    for (int k = threadIdx.x; k < 128; k += 32)
        y[k] = bins[k];  //! uninitialised bins
}
extern "C" __global__ void bins_not_cleared_ok(const unsigned char* x, int* y)
{
    __shared__ int bins[128];
    for (int k = threadIdx.x; k < 128; k += 32)
        bins[k] = 0;
    __syncthreads();
    atomicAdd(&bins[x[threadIdx.x]], 1);
    __syncthreads();
    for (int k = threadIdx.x; k < 128; k += 32)
        y[k] = bins[k];
}

//@ skipped_rows grid=1 block=8,8 y=output:float32[64] n=int32:6
extern "C" __global__ void skipped_rows(float* y, int n)
{
    __shared__ float tile[8][8];
    if (threadIdx.y < n)
        tile[threadIdx.y][threadIdx.x] = 1.0f;
    __syncthreads();
    float sum = 0.0f;
    for (int k = 0; k < 8; k++)
        sum += tile[k][threadIdx.x];  //! uninitialised tile
    y[threadIdx.y * 8 + threadIdx.x] = sum;
}
extern "C" __global__ void skipped_rows_ok(float* y, int n)
{
    __shared__ float tile[8][8];
    tile[threadIdx.y][threadIdx.x] = threadIdx.y < n ? 1.0f : 0.0f;
    __syncthreads();
    float sum = 0.0f;
    for (int k = 0; k < 8; k++)
        sum += tile[k][threadIdx.x];
    y[threadIdx.y * 8 + threadIdx.x] = sum;
}

//@ second_block_differs grid=2 block=32 y=output:float32[64]
extern "C" __global__ void second_block_differs(float* y)
{
    __shared__ float s[32];
    if (blockIdx.x == 0)
        s[threadIdx.x] = 3.0f;
    __syncthreads();
    y[blockIdx.x * 32 + threadIdx.x] = s[threadIdx.x];  //! uninitialised s
}
extern "C" __global__ void second_block_differs_ok(float* y)
{
    __shared__ float s[32];
    if (blockIdx.x == 0)
        s[threadIdx.x] = 3.0f;
    __syncthreads();
    y[blockIdx.x * 32 + threadIdx.x] = blockIdx.x == 0 ? s[threadIdx.x] : 0.0f;
}

//@ output_read_first grid=2 block=32 x=input:float32[64] y=output:float32[64]
extern "C" __global__ void output_read_first(const float* x, float* y)
{
    int i = blockIdx.x * 32 + threadIdx.x;
    y[i] += x[i];  //! uninitialised y
}
extern "C" __global__ void output_read_first_ok(const float* x, float* y)
{
    int i = blockIdx.x * 32 + threadIdx.x;
    y[i] = x[i];
    y[i] += x[i];
}

//@ output_counted grid=2 block=32 x=input:uint8[64] y=output:int32[128] z=inout:int32[128]
extern "C" __global__ void output_counted(const unsigned char* x, int* y, int* z)
{
    atomicAdd(&y[x[blockIdx.x * 32 + threadIdx.x]], 1);  //! uninitialised y
}
extern "C" __global__ void output_counted_ok(const unsigned char* x, int* y, int* z)
{
    atomicAdd(&z[x[blockIdx.x * 32 + threadIdx.x]], 1);
    atomicExch(&y[threadIdx.x], 1);
}

//@ neighbours_output grid=1 block=32 y=output:int32[32] z=output:int32[32]
extern "C" __global__ void neighbours_output(int* y, int* z)
{
    if (threadIdx.x % 4)
        y[threadIdx.x] = 1;
    __syncthreads();
    z[threadIdx.x] = y[31 - threadIdx.x];  //! uninitialised y
}
extern "C" __global__ void neighbours_output_ok(int* y, int* z)
{
    y[threadIdx.x] = threadIdx.x % 4 ? 1 : 0;
    __syncthreads();
    z[threadIdx.x] = y[31 - threadIdx.x];
}

//@ local_half_filled grid=1 block=32 y=output:int32[32]
extern "C" __global__ void local_half_filled(int* y)
{
    int a[8];
    for (int k = 0; k < 8; k += 2)
        a[k] = k;
    y[threadIdx.x] = a[threadIdx.x % 8];  //! uninitialised a
}
extern "C" __global__ void local_half_filled_ok(int* y)
{
    int a[8];
    for (int k = 0; k < 8; k++)
        a[k] = k;
    y[threadIdx.x] = a[threadIdx.x % 8];
}

//@ local_of_a_call grid=1 block=32 y=output:int32[32]
__device__ __noinline__ int pick(int i, int fill)
{
    int a[4];
    if (fill)
        for (int k = 0; k < 4; k++)
            a[k] = k;
    return a[i & 3];  //! uninitialised local_memory
}
extern "C" __global__ void local_of_a_call(int* y)
{
    int first = pick(threadIdx.x, 1);
    y[threadIdx.x] = first + pick(threadIdx.x, 0);
}
__device__ __noinline__ int pick_ok(int i)
{
    int a[4];
    for (int k = 0; k < 4; k++)
        a[k] = k;
    return a[i & 3];
}
extern "C" __global__ void local_of_a_call_ok(int* y)
{
    int first = pick_ok(threadIdx.x);
    y[threadIdx.x] = first + pick_ok(threadIdx.x + 1);
}

//@ local_vector grid=1 block=32 y=output:float32[32]
struct Pair { char tag; double value; };
extern "C" __global__ void local_vector(float* y)
{
    Pair pairs[3];
    for (int k = 0; k < 2; k++) {
        pairs[k].tag = 1;
        pairs[k].value = k;
    }
    Pair copy = pairs[threadIdx.x % 3];
    y[threadIdx.x] = copy.value;  //! uninitialised copy
}
extern "C" __global__ void local_vector_ok(float* y)
{
    Pair pairs[3];
    for (int k = 0; k < 3; k++) {
        pairs[k].tag = 1;
        pairs[k].value = k;
    }
    Pair copy = pairs[threadIdx.x % 3];
    y[threadIdx.x] = copy.value;
}

//@ beyond_the_memset grid=1 block=64 x=zero:int32[64]:16 y=output:int32[64]
extern "C" __global__ void beyond_the_memset(const int* x, int* y)
{
    y[threadIdx.x] = x[63 - threadIdx.x];  //! uninitialised x
}
extern "C" __global__ void beyond_the_memset_ok(const int* x, int* y)
{
    y[threadIdx.x] = x[threadIdx.x % 16];
}

#include <cooperative_groups.h>
namespace cg = cooperative_groups;

//@ set_by_one_lane grid=1 block=32 n=zero:int32[1] y=output:float32[32]
extern "C" __global__ void set_by_one_lane(int* n, float* y)
{
    cg::coalesced_group group = cg::coalesced_threads();
    int first;
    double scale;
    if (group.thread_rank() == 0) {
        first = atomicAdd(n, group.size());
        scale = 0.5;
    }
    y[threadIdx.x] = group.shfl(scale, 0) * (group.shfl(first, 0) + first);  //! uninitialised first
}
extern "C" __global__ void set_by_one_lane_ok(int* n, float* y)
{
    cg::coalesced_group group = cg::coalesced_threads();
    int first;
    double scale;
    if (group.thread_rank() == 0) {
        first = atomicAdd(n, group.size());
        scale = 0.5;
    }
    y[threadIdx.x] = group.shfl(scale, 0) * (group.shfl(first, 0) + group.thread_rank());
}
