// Races on shared memory. `//!` marks what is to be found on a line.

//@ reverse grid=2 block=64 x=input:int32[128] y=output:int32[128]
extern "C" __global__ void reverse(const int* x, int* y)
{
    __shared__ int s[64];
    int t = threadIdx.x, base = blockIdx.x * 64;
    s[t] = x[base + t];
    y[base + t] = s[63 - t];  //! race s
}
extern "C" __global__ void reverse_ok(const int* x, int* y)
{
    __shared__ int s[64];
    int t = threadIdx.x, base = blockIdx.x * 64;
    s[t] = x[base + t];
    __syncthreads();
    y[base + t] = s[63 - t];
}

//@ reduction grid=2 block=64 x=input:float32[128] y=output:float32[2]
extern "C" __global__ void reduction(const float* x, float* y)
{
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 64 + t];
    __syncthreads();
    for (int stride = 32; stride > 0; stride /= 2)
        if (t < stride)
            s[t] += s[t + stride];  //! race s
    if (t == 0)
        y[blockIdx.x] = s[0];
}
extern "C" __global__ void reduction_ok(const float* x, float* y)
{
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 64 + t];
    __syncthreads();
    for (int stride = 32; stride > 0; stride /= 2) {
        if (t < stride)
            s[t] += s[t + stride];
        __syncthreads();
    }
    if (t == 0)
        y[blockIdx.x] = s[0];
}

//@ reduction_volatile grid=1 block=64 x=input:float32[64] y=output:float32[1]
extern "C" __global__ void reduction_volatile(const float* x, float* y)
{
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    volatile float* v = s;
    if (t < 32)
        for (int stride = 32; stride > 0; stride /= 2)
            v[t] += v[t + stride];  //! race s
    if (t == 0)
        y[0] = s[0];
}
extern "C" __global__ void reduction_volatile_ok(const float* x, float* y)
{
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    volatile float* v = s;
    if (t < 32)
        for (int stride = 32; stride > 0; stride /= 2) {
            float sum = v[t] + v[t + stride];
            __syncwarp();
            v[t] = sum;
            __syncwarp();
        }
    if (t == 0)
        y[0] = s[0];
}

//@ neighbour_in_warp grid=1 block=32 x=input:int32[32] y=output:int32[32]
extern "C" __global__ void neighbour_in_warp(const int* x, int* y)
{
    __shared__ int s[32];
    s[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = s[threadIdx.x ^ 1];  //! race s
}
extern "C" __global__ void neighbour_in_warp_ok(const int* x, int* y)
{
    __shared__ int s[32];
    s[threadIdx.x] = x[threadIdx.x];
    __syncwarp();
    y[threadIdx.x] = s[threadIdx.x ^ 1];
}

//@ syncwarp_is_not_enough grid=1 block=64 x=input:int32[64] y=output:int32[64]
extern "C" __global__ void syncwarp_is_not_enough(const int* x, int* y)
{
    __shared__ int s[64];
    s[threadIdx.x] = x[threadIdx.x];
    __syncwarp();
    y[threadIdx.x] = s[threadIdx.x ^ 32];  //! race s
}
extern "C" __global__ void syncwarp_is_not_enough_ok(const int* x, int* y)
{
    __shared__ int s[64];
    s[threadIdx.x] = x[threadIdx.x];
    __syncwarp();
    y[threadIdx.x] = s[threadIdx.x ^ 16];
}

//@ half_masks grid=1 block=32 x=input:int32[32] y=output:int32[32]
extern "C" __global__ void half_masks(const int* x, int* y)
{
    __shared__ int s[32];
    s[threadIdx.x] = x[threadIdx.x];
    __syncwarp(threadIdx.x < 16 ? 0x0000ffffu : 0xffff0000u);
    y[threadIdx.x] = s[threadIdx.x ^ 16];  //! race s
}
extern "C" __global__ void half_masks_ok(const int* x, int* y)
{
    __shared__ int s[32];
    s[threadIdx.x] = x[threadIdx.x];
    __syncwarp(threadIdx.x < 16 ? 0x0000ffffu : 0xffff0000u);
    y[threadIdx.x] = s[threadIdx.x ^ 8];
}

//@ sum_by_all grid=2 block=32 x=input:int32[64] y=output:int32[2]
extern "C" __global__ void sum_by_all(const int* x, int* y)
{
    __shared__ int sum;
    if (threadIdx.x == 0)
        sum = 0;
    __syncthreads();
    sum += x[blockIdx.x * 32 + threadIdx.x];  //! race sum
    __syncthreads();
    if (threadIdx.x == 0)
        y[blockIdx.x] = sum;
}
extern "C" __global__ void sum_by_all_ok(const int* x, int* y)
{
    __shared__ int sum;
    if (threadIdx.x == 0)
        sum = 0;
    __syncthreads();
    atomicAdd(&sum, x[blockIdx.x * 32 + threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0)
        y[blockIdx.x] = sum;
}

//@ atomic_before_clear grid=1 block=64 x=input:uint8[64] y=output:int32[16]
extern "C" __global__ void atomic_before_clear(const unsigned char* x, int* y)
{
    __shared__ int bins[16];
    if (threadIdx.x < 16)
        bins[threadIdx.x] = 0;
    atomicAdd(&bins[x[threadIdx.x] % 16], 1);  //! race bins
    __syncthreads();
    if (threadIdx.x < 16)
        y[threadIdx.x] = bins[threadIdx.x];
}
extern "C" __global__ void atomic_before_clear_ok(const unsigned char* x, int* y)
{
    __shared__ int bins[16];
    if (threadIdx.x < 16)
        bins[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&bins[x[threadIdx.x] % 16], 1);
    __syncthreads();
    if (threadIdx.x < 16)
        y[threadIdx.x] = bins[threadIdx.x];
}

//@ read_before_atomics_end grid=1 block=64 x=input:uint8[64] y=output:int32[16]
extern "C" __global__ void read_before_atomics_end(const unsigned char* x, int* y)
{
    __shared__ int bins[16];
    if (threadIdx.x < 16)
        bins[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&bins[x[threadIdx.x] % 16], 1);
    if (threadIdx.x < 16)
        y[threadIdx.x] = bins[threadIdx.x];  //! race bins
}
extern "C" __global__ void read_before_atomics_end_ok(const unsigned char* x, int* y)
{
    __shared__ int bins[16];
    if (threadIdx.x < 16)
        bins[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&bins[x[threadIdx.x] % 16], 1);
    __syncthreads();
    if (threadIdx.x < 16)
        y[threadIdx.x] = bins[threadIdx.x];
}

//@ last_writer_wins grid=1 block=64 y=output:int32[1]
extern "C" __global__ void last_writer_wins(int* y)
{
    __shared__ int last;
    last = threadIdx.x;  //! race last
    __syncthreads();
    if (threadIdx.x == 0)
        y[0] = last;
}
extern "C" __global__ void last_writer_wins_ok(int* y)
{
    __shared__ int last;
    last = blockDim.x;
    __syncthreads();
    if (threadIdx.x == 0)
        y[0] = last;
}

//@ double_buffer grid=1 block=64 x=input:float32[4,64] y=output:float32[4,64]
extern "C" __global__ void double_buffer(const float* x, float* y)
{
    __shared__ float s[64];
    for (int step = 0; step < 4; step++) {
        s[threadIdx.x] = x[step * 64 + threadIdx.x];  //! race s
        __syncthreads();
        y[step * 64 + threadIdx.x] = s[63 - threadIdx.x];
    }
}
extern "C" __global__ void double_buffer_ok(const float* x, float* y)
{
    __shared__ float s[2][64];
    for (int step = 0; step < 4; step++) {
        s[step & 1][threadIdx.x] = x[step * 64 + threadIdx.x];
        __syncthreads();
        y[step * 64 + threadIdx.x] = s[step & 1][63 - threadIdx.x];
    }
}

//@ scan grid=1 block=64 x=input:int32[64] y=output:int32[64]
extern "C" __global__ void scan(const int* x, int* y)
{
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int d = 1; d < 64; d *= 2) {
        if (t >= d)
            s[t] += s[t - d];  //! race s
        __syncthreads();
    }
    y[t] = s[t];
}
extern "C" __global__ void scan_ok(const int* x, int* y)
{
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    for (int d = 1; d < 64; d *= 2) {
        int add = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += add;
        __syncthreads();
    }
    y[t] = s[t];
}

//@ broadcast grid=2 block=64 x=input:float32[2] y=output:float32[128]
extern "C" __global__ void broadcast(const float* x, float* y)
{
    __shared__ float factor;
    if (threadIdx.x == 0)
        factor = x[blockIdx.x];
    y[blockIdx.x * 64 + threadIdx.x] = factor * threadIdx.x;  //! race factor
}
extern "C" __global__ void broadcast_ok(const float* x, float* y)
{
    __shared__ float factor;
    if (threadIdx.x == 0)
        factor = x[blockIdx.x];
    __syncthreads();
    y[blockIdx.x * 64 + threadIdx.x] = factor * threadIdx.x;
}

//@ broadcast_again grid=1 block=64 x=input:float32[3] y=output:float32[3,64]
extern "C" __global__ void broadcast_again(const float* x, float* y)
{
    __shared__ float factor;
    for (int k = 0; k < 3; k++) {
        if (threadIdx.x == 40)
            factor = x[k];  //! race factor
        __syncthreads();
        y[k * 64 + threadIdx.x] = factor;
    }
}
extern "C" __global__ void broadcast_again_ok(const float* x, float* y)
{
    __shared__ float factor;
    for (int k = 0; k < 3; k++) {
        if (threadIdx.x == 40)
            factor = x[k];
        __syncthreads();
        y[k * 64 + threadIdx.x] = factor;
        __syncthreads();
    }
}

//@ bytes grid=1 block=64 y=output:uint8[64]
extern "C" __global__ void bytes(unsigned char* y)
{
    __shared__ unsigned char s[64];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    s[threadIdx.x / 2] = threadIdx.x;  //! race s
    __syncthreads();
    y[threadIdx.x] = s[threadIdx.x];
}
extern "C" __global__ void bytes_ok(unsigned char* y)
{
    __shared__ unsigned char s[64];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    s[threadIdx.x ^ 1] = threadIdx.x;
    __syncthreads();
    y[threadIdx.x] = s[threadIdx.x];
}

//@ bytes_and_words grid=1 block=32 y=output:int32[32]
extern "C" __global__ void bytes_and_words(int* y)
{
    __shared__ int words[32];
    words[threadIdx.x] = 0;
    __syncthreads();
    reinterpret_cast<char*>(words)[threadIdx.x * 4 + 2] = 1;
    y[threadIdx.x] = words[(threadIdx.x + 1) % 32];  //! race words
}
extern "C" __global__ void bytes_and_words_ok(int* y)
{
    __shared__ int words[32];
    words[threadIdx.x] = 0;
    __syncthreads();
    reinterpret_cast<char*>(words)[threadIdx.x * 4 + 2] = 1;
    y[threadIdx.x] = words[threadIdx.x];
}

//@ vectors grid=1 block=32 y=output:float32[128]
extern "C" __global__ void vectors(float* y)
{
    __shared__ float4 s[33];
    s[threadIdx.x] = make_float4(1, 2, 3, 4);
    float* flat = reinterpret_cast<float*>(s);
    for (int k = 0; k < 4; k++)
        y[threadIdx.x + 32 * k] = flat[threadIdx.x + 32 * k];  //! race s
}
extern "C" __global__ void vectors_ok(float* y)
{
    __shared__ float4 s[33];
    s[threadIdx.x] = make_float4(1, 2, 3, 4);
    float* flat = reinterpret_cast<float*>(s);
    for (int k = 0; k < 4; k++)
        y[4 * threadIdx.x + k] = flat[4 * threadIdx.x + k];
}

//@ lock_free_flag grid=1 block=64 y=output:int32[1]
extern "C" __global__ void lock_free_flag(int* y)
{
    __shared__ int data;
    __shared__ volatile int ready;
    if (threadIdx.x == 0)
        ready = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        data = 42;
        ready = 1;
    }
    if (threadIdx.x == 63) {
        while (ready == 0) { }
        y[0] = data;  //! race data
    }
}
extern "C" __global__ void lock_free_flag_ok(int* y)
{
    __shared__ int data;
    __shared__ volatile int ready;
    if (threadIdx.x == 0)
        ready = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        data = 42;
        __threadfence_block();
        ready = 1;
    }
    if (threadIdx.x == 63) {
        while (ready == 0) { }
        __threadfence_block();
        y[0] = data;
    }
}

//@ barrier_of_some_warps grid=1 block=96 x=input:int32[96] y=output:int32[64]
extern "C" __global__ void barrier_of_some_warps(const int* x, int* y)
{
    __shared__ int s[96];
    s[threadIdx.x] = x[threadIdx.x];
    if (threadIdx.x < 64) {
        asm volatile("bar.sync 1, 64;" ::: "memory");
        y[threadIdx.x] = s[threadIdx.x + 32];  //! race s
    }
}
extern "C" __global__ void barrier_of_some_warps_ok(const int* x, int* y)
{
    __shared__ int s[96];
    s[threadIdx.x] = x[threadIdx.x];
    if (threadIdx.x < 64) {
        asm volatile("bar.sync 1, 64;" ::: "memory");
        y[threadIdx.x] = s[threadIdx.x ^ 32];
    }
}

//@ producer_and_consumer grid=1 block=64 x=input:int32[32] y=output:int32[32]
extern "C" __global__ void producer_and_consumer(const int* x, int* y)
{
    __shared__ int s[32];
    if (threadIdx.x < 32) {
        asm volatile("bar.arrive 1, 64;" ::: "memory");
        s[threadIdx.x] = x[threadIdx.x];
    } else {
        asm volatile("bar.sync 1, 64;" ::: "memory");
        y[threadIdx.x - 32] = s[63 - threadIdx.x];  //! race s
    }
}
extern "C" __global__ void producer_and_consumer_ok(const int* x, int* y)
{
    __shared__ int s[32];
    if (threadIdx.x < 32) {
        s[threadIdx.x] = x[threadIdx.x];
        asm volatile("bar.arrive 1, 64;" ::: "memory");
    } else {
        asm volatile("bar.sync 1, 64;" ::: "memory");
        y[threadIdx.x - 32] = s[63 - threadIdx.x];
    }
}
