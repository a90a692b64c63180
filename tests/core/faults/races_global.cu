// Races on global memory, between blocks and within one. `//!` marks what is to be found on a line.

//@ sum_to_one_word grid=4 block=32 x=input:int32[128] y=inout:int32[1]
extern "C" __global__ void sum_to_one_word(const int* x, int* y)
{
    y[0] += x[blockIdx.x * 32 + threadIdx.x];  //! race y
}
extern "C" __global__ void sum_to_one_word_ok(const int* x, int* y)
{
    atomicAdd(y, x[blockIdx.x * 32 + threadIdx.x]);
}

//@ overlapping_tiles grid=3 block=32 y=output:int32[100]
extern "C" __global__ void overlapping_tiles(int* y)
{
    y[blockIdx.x * 31 + threadIdx.x] = blockIdx.x;  //! race y
}
extern "C" __global__ void overlapping_tiles_ok(int* y)
{
    y[blockIdx.x * 32 + threadIdx.x] = blockIdx.x;
}

//@ shift_in_place grid=2 block=32 y=inout:float32[65]
extern "C" __global__ void shift_in_place(float* y)
{
    int i = blockIdx.x * 32 + threadIdx.x;
    y[i] = y[i + 1];  //! race y
}
extern "C" __global__ void shift_in_place_ok(float* y)
{
    int i = blockIdx.x * 32 + threadIdx.x;
    y[i] = y[i] + 1;
}

//@ shift_in_block grid=1 block=64 y=inout:float32[65]
extern "C" __global__ void shift_in_block(float* y)
{
    float next = y[threadIdx.x + 1];
    y[threadIdx.x] = next;  //! race y
}
extern "C" __global__ void shift_in_block_ok(float* y)
{
    float next = y[threadIdx.x + 1];
    __syncthreads();
    y[threadIdx.x] = next;
}

//@ other_blocks_result grid=4 block=16 y=inout:int32[64] z=output:int32[64]
extern "C" __global__ void other_blocks_result(int* y, int* z)
{
    int i = blockIdx.x * 16 + threadIdx.x;
    y[i] = i * i;  //! race y
    __syncthreads();
    z[i] = y[(i + 16) % 64];  //! race y
}
extern "C" __global__ void other_blocks_result_ok(int* y, int* z)
{
    int i = blockIdx.x * 16 + threadIdx.x;
    y[i] = i * i;
    __syncthreads();
    z[i] = y[blockIdx.x * 16 + (threadIdx.x + 5) % 16];
}

//@ flag_of_each grid=4 block=32 x=input:int32[128] y=inout:int32[1]
extern "C" __global__ void flag_of_each(const int* x, int* y)
{
    if (x[blockIdx.x * 32 + threadIdx.x] > -200)
        y[0] = blockIdx.x;  //! race y
}
extern "C" __global__ void flag_of_each_ok(const int* x, int* y)
{
    if (x[blockIdx.x * 32 + threadIdx.x] > -200)
        y[0] = 1;
}

//@ last_block grid=8 block=32 x=input:float32[256] part=inout:float32[8] count=zero:uint32[1] y=output:float32[1]
extern "C" __global__ void last_block(const float* x, float* part, unsigned* count, float* y)
{
    __shared__ bool last;
    float value = x[blockIdx.x * 32 + threadIdx.x];
    for (int d = 16; d > 0; d /= 2)
        value += __shfl_down_sync(0xffffffffu, value, d);
    if (threadIdx.x == 0) {
        part[blockIdx.x] = value;
        last = atomicInc(count, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float sum = 0.0f;
        for (int b = 0; b < gridDim.x; b++)
            sum += part[b];  //! race part
        y[0] = sum;
    }
}
extern "C" __global__ void last_block_ok(const float* x, float* part, unsigned* count, float* y)
{
    __shared__ bool last;
    float value = x[blockIdx.x * 32 + threadIdx.x];
    for (int d = 16; d > 0; d /= 2)
        value += __shfl_down_sync(0xffffffffu, value, d);
    if (threadIdx.x == 0) {
        part[blockIdx.x] = value;
        __threadfence();
        last = atomicInc(count, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float sum = 0.0f;
        for (int b = 0; b < gridDim.x; b++)
            sum += part[b];
        y[0] = sum;
    }
}

//@ last_block_by_all grid=4 block=64 part=inout:int32[256] count=zero:uint32[1] y=output:int32[64]
extern "C" __global__ void last_block_by_all(int* part, unsigned* count, int* y)
{
    __shared__ bool last;
    part[blockIdx.x * 64 + threadIdx.x] = threadIdx.x;
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(count, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        int sum = 0;
        for (int b = 0; b < gridDim.x; b++)
            sum += part[b * 64 + threadIdx.x];  //! race part
        y[threadIdx.x] = sum;
    }
}
extern "C" __global__ void last_block_by_all_ok(int* part, unsigned* count, int* y)
{
    __shared__ bool last;
    part[blockIdx.x * 64 + threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(count, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        int sum = 0;
        for (int b = 0; b < gridDim.x; b++)
            sum += part[b * 64 + threadIdx.x];
        y[threadIdx.x] = sum;
    }
}

//@ fence_then_barrier grid=4 block=64 part=inout:int32[256] count=zero:uint32[1] y=output:int32[64]
extern "C" __global__ void fence_then_barrier(int* part, unsigned* count, int* y)
{
    __shared__ bool last;
    part[blockIdx.x * 64 + threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicAdd(count, 1) == gridDim.x - 1;
    __syncthreads();
    if (last)
        y[threadIdx.x] = part[threadIdx.x] + part[192 + threadIdx.x];  //! race part
}
extern "C" __global__ void fence_then_barrier_ok(int* part, unsigned* count, int* y)
{
    __shared__ bool last;
    part[blockIdx.x * 64 + threadIdx.x] = threadIdx.x;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicAdd(count, 1) == gridDim.x - 1;
    __syncthreads();
    if (last)
        y[threadIdx.x] = part[threadIdx.x] + part[192 + threadIdx.x];
}

//@ message grid=2 block=32 data=inout:int32[1] flag=zero:int32[1] y=output:int32[1]
extern "C" __global__ void message(int* data, volatile int* flag, int* y)
{
    if (threadIdx.x == 0 && blockIdx.x == 0) {
        data[0] = 42;
        flag[0] = 1;
    }
    if (threadIdx.x == 0 && blockIdx.x == 1) {
        while (flag[0] == 0) { }
        y[0] = data[0];  //! race data
    }
}
extern "C" __global__ void message_ok(int* data, volatile int* flag, int* y)
{
    if (threadIdx.x == 0 && blockIdx.x == 0) {
        data[0] = 42;
        __threadfence();
        flag[0] = 1;
    }
    if (threadIdx.x == 0 && blockIdx.x == 1) {
        while (flag[0] == 0) { }
        __threadfence();
        y[0] = data[0];
    }
}

//@ message_back grid=2 block=32 data=inout:int32[1] flag=zero:int32[1] y=output:int32[1]
extern "C" __global__ void message_back(int* data, int* flag, int* y)
{
    if (threadIdx.x == 0 && blockIdx.x == 1) {
        data[0] = 42;
        atomicExch(flag, 1);
    }
    if (threadIdx.x == 0 && blockIdx.x == 0) {
        while (atomicAdd(flag, 0) == 0) { }
        y[0] = data[0];  //! race data
    }
}
extern "C" __global__ void message_back_ok(int* data, int* flag, int* y)
{
    if (threadIdx.x == 0 && blockIdx.x == 1) {
        data[0] = 42;
        __threadfence();
        atomicExch(flag, 1);
    }
    if (threadIdx.x == 0 && blockIdx.x == 0) {
        while (atomicAdd(flag, 0) == 0) { }
        __threadfence();
        y[0] = data[0];
    }
}

//@ locked grid=4 block=1 lock=zero:int32[1] y=inout:int32[1]
extern "C" __global__ void locked(int* lock, int* y)
{
    while (atomicCAS(lock, 0, 1) != 0) { }
    y[0] += 1;  //! race y
    atomicExch(lock, 0);
}
extern "C" __global__ void locked_ok(int* lock, int* y)
{
    while (atomicCAS(lock, 0, 1) != 0) { }
    __threadfence();
    y[0] += 1;
    __threadfence();
    atomicExch(lock, 0);
}

//@ plain_against_atomic grid=2 block=32 y=inout:int32[1] z=output:int32[64]
extern "C" __global__ void plain_against_atomic(int* y, int* z)
{
    atomicMax(y, (int)threadIdx.x);  //! race y
    z[blockIdx.x * 32 + threadIdx.x] = y[0];  //! race y
}
extern "C" __global__ void plain_against_atomic_ok(int* y, int* z)
{
    atomicMax(y, (int)threadIdx.x);
    z[blockIdx.x * 32 + threadIdx.x] = atomicAdd(y, 0);
}

//@ stencil_in_place grid=3 block=32 y=inout:float32[98]
extern "C" __global__ void stencil_in_place(float* y)
{
    int i = blockIdx.x * 32 + threadIdx.x + 1;
    float sum = y[i - 1] + y[i] + y[i + 1];  //! race y
    __syncthreads();
    y[i] = sum / 3;  //! race y
}
__device__ float scratch[98];
extern "C" __global__ void stencil_in_place_ok(float* y)
{
    int i = blockIdx.x * 32 + threadIdx.x + 1;
    scratch[i] = (y[i - 1] + y[i] + y[i + 1]) / 3;
}

//@ module_variable grid=2 block=32 y=output:int32[64]
__device__ int counter;
extern "C" __global__ void module_variable(int* y)
{
    y[blockIdx.x * 32 + threadIdx.x] = counter++;  //! race counter
}
__device__ int counter_ok;
extern "C" __global__ void module_variable_ok(int* y)
{
    y[blockIdx.x * 32 + threadIdx.x] = atomicAdd(&counter_ok, 1);
}

//@ scatter grid=2 block=32 x=input:uint32[64] y=inout:float32[128]
extern "C" __global__ void scatter(const unsigned* x, float* y)
{
    int i = blockIdx.x * 32 + threadIdx.x;
    y[x[i]] = i;  //! race y
}
extern "C" __global__ void scatter_ok(const unsigned* x, float* y)
{
    int i = blockIdx.x * 32 + threadIdx.x;
    y[x[i] % 2 ? i : 64 + i] = i;
}

//@ read_beside_atomics grid=1 block=64 sum=zero:uint32[1] y=output:uint32[64]
extern "C" __global__ void read_beside_atomics(unsigned* sum, unsigned* y)
{
    atomicAdd(sum, threadIdx.x);
    y[threadIdx.x] = *sum;  //! race sum
}
extern "C" __global__ void read_beside_atomics_ok(unsigned* sum, unsigned* y)
{
    unsigned old = *sum, seen;
    do {
        seen = old;
        old = atomicCAS(sum, seen, seen * 3 + threadIdx.x);
    } while (old != seen);
    y[threadIdx.x] = old;
}

struct Node
{
    Node* next;
    int key;
};
__device__ Node* first;

//@ push_of_two_reads grid=1 block=64 pool=zero:uint64[64,2]
extern "C" __global__ void push_of_two_reads(Node* pool)
{
    Node *node = pool + threadIdx.x, *old;
    do {
        old = first;
        node->next = first;  //! race first
    } while (atomicCAS((unsigned long long*)&first, (unsigned long long)old,  //! race first
                       (unsigned long long)node) != (unsigned long long)old);
}
extern "C" __global__ void push_of_two_reads_ok(Node* pool)
{
    Node *node = pool + threadIdx.x, *old;
    do {
        old = first;
        node->next = old;
    } while (atomicCAS((unsigned long long*)&first, (unsigned long long)old,
                       (unsigned long long)node) != (unsigned long long)old);
}

//@ highest_of_floats grid=1 block=64 x=input:float32[64] top=zero:float32[1]
extern "C" __global__ void highest_of_floats(const float* x, float* top)
{
    if (*top < x[threadIdx.x])
        atomicCAS((int*)top, 0, __float_as_int(x[threadIdx.x]));  //! race top
}
extern "C" __global__ void highest_of_floats_ok(const float* x, float* top)
{
    float old = *top, seen;
    do {
        seen = old;
        old = __int_as_float(atomicCAS((int*)top, __float_as_int(seen),
                                       __float_as_int(fmaxf(seen, x[threadIdx.x]))));
    } while (old != seen);
}

//@ counted_sums grid=4 block=64 x=input:float32[256] sums=output:float32[4] count=zero:uint32[1] y=output:float32[64]
extern "C" __global__ void counted_sums(const float* x, volatile float* sums, unsigned* count, float* y)
{
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
        float sum = 0.0f;
        for (int k = 0; k < 64; k++)
            sum += x[blockIdx.x * 64 + k];
        sums[blockIdx.x] = sum;
        is_last = atomicAdd(count, 1) == 3;
    }
    __syncthreads();
    if (is_last) {
        float total = 0.0f;
        for (int k = 0; k < 4; k++)
            total += sums[k];  //! race sums
        y[threadIdx.x] = total;
    }
}
extern "C" __global__ void counted_sums_ok(const float* x, volatile float* sums, unsigned* count, float* y)
{
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
        float sum = 0.0f;
        for (int k = 0; k < 64; k++)
            sum += x[blockIdx.x * 64 + k];
        sums[blockIdx.x] = sum;
        __threadfence();
        is_last = atomicAdd(count, 1) == 3;
    }
    __syncthreads();
    if (is_last) {
        float total = 0.0f;
        for (int k = 0; k < 4; k++)
            total += sums[k];
        y[threadIdx.x] = total;
    }
}

//@ flag_before_data grid=2 block=64 data=output:float32[64] flag=zero:int32[1] y=output:float32[64]
extern "C" __global__ void flag_before_data(volatile float* data, volatile int* flag, float* y)
{
    if (blockIdx.x == 0) {
        data[threadIdx.x] = threadIdx.x;
        __syncthreads();
        if (threadIdx.x == 0)
            *flag = 1;
    } else {
        while (*flag == 0) { }
        y[threadIdx.x] = data[63 - threadIdx.x];  //! race data
    }
}
extern "C" __global__ void flag_before_data_ok(volatile float* data, volatile int* flag, float* y)
{
    if (blockIdx.x == 0) {
        data[threadIdx.x] = threadIdx.x;
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0)
            *flag = 1;
    } else {
        while (*flag == 0) { }
        y[threadIdx.x] = data[63 - threadIdx.x];
    }
}

//@ one_flag_is_polled grid=2 block=1 flags=zero:int32[2] y=output:int32[1]
extern "C" __global__ void one_flag_is_polled(volatile int* flags, int* y)
{
    if (blockIdx.x == 0) {
        flags[0] = 1;
        flags[1] = 1;
    } else {
        while (flags[1] == 0) { }
        y[0] = flags[0];  //! race flags
    }
}
extern "C" __global__ void one_flag_is_polled_ok(volatile int* flags, int* y)
{
    if (blockIdx.x == 0) {
        flags[0] = 1;
        flags[1] = 1;
    } else {
        for (int k = 1; k >= 0; k--)
            while (flags[k] == 0) { }
        y[0] = 1;
    }
}
