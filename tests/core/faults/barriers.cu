// Barriers that not all threads reach, and waits that never end. `//!` marks what is to be found.

//@ barrier_in_branch grid=2 block=64 y=output:int32[128]
extern "C" __global__ void barrier_in_branch(int* y)
{
    __shared__ int s[64];
    if (threadIdx.x < 32) {
        s[threadIdx.x] = threadIdx.x;
        __syncthreads();  //! divergent_barrier
        y[blockIdx.x * 64 + threadIdx.x] = s[31 - threadIdx.x];
    }
}
extern "C" __global__ void barrier_in_branch_ok(int* y)
{
    __shared__ int s[64];
    if (threadIdx.x < 32)
        s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x < 32)
        y[blockIdx.x * 64 + threadIdx.x] = s[31 - threadIdx.x];
}

//@ early_return grid=2 block=64 x=input:float32[100] y=output:float32[100]
extern "C" __global__ void early_return(const float* x, float* y)
{
    __shared__ float s[64];
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i >= 100)
        return;
    s[threadIdx.x] = x[i];
    __syncthreads();  //! divergent_barrier
    y[i] = s[threadIdx.x];
}
extern "C" __global__ void early_return_ok(const float* x, float* y)
{
    __shared__ float s[64];
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i < 100)
        s[threadIdx.x] = x[i];
    __syncthreads();
    if (i < 100)
        y[i] = s[threadIdx.x];
}

//@ two_barriers grid=1 block=64 y=output:int32[64]
extern "C" __global__ void two_barriers(int* y)
{
    if (threadIdx.x < 32) {
        y[threadIdx.x] = 1;
        __syncthreads();  //! divergent_barrier
    } else {
        y[threadIdx.x] = 2;
        __syncthreads();
    }
}
extern "C" __global__ void two_barriers_ok(int* y)
{
    if (threadIdx.x < 32)
        y[threadIdx.x] = 1;
    else
        y[threadIdx.x] = 2;
    __syncthreads();
}

//@ barrier_in_loop grid=1 block=64 y=output:int32[64]
extern "C" __global__ void barrier_in_loop(int* y)
{
    int sum = 0;
    for (int k = 0; k < threadIdx.x / 32 + 1; k++) {
        sum += k;
        __syncthreads();  //! divergent_barrier
    }
    y[threadIdx.x] = sum;
}
extern "C" __global__ void barrier_in_loop_ok(int* y)
{
    int sum = 0;
    for (int k = 0; k < 2; k++) {
        if (k < threadIdx.x / 32 + 1)
            sum += k;
        __syncthreads();
    }
    y[threadIdx.x] = sum;
}

//@ barrier_within_warp grid=1 block=32 y=output:int32[32]
extern "C" __global__ void barrier_within_warp(int* y)
{
    if (threadIdx.x % 2)
        __syncthreads();  //! divergent_barrier
    y[threadIdx.x] = 1;
}
extern "C" __global__ void barrier_within_warp_ok(int* y)
{
    if (blockDim.x % 2 == 0)
        __syncthreads();
    y[threadIdx.x] = 1;
}

//@ break_before_barrier grid=1 block=64 x=input:int32[4,64] y=output:int32[64]
extern "C" __global__ void break_before_barrier(const int* x, int* y)
{
    int sum = 0;
    for (int k = 0; k < 4; k++) {
        if (x[k * 64 + threadIdx.x] > 20)
            break;
        sum += x[k * 64 + threadIdx.x];
        __syncthreads();  //! divergent_barrier
    }
    y[threadIdx.x] = sum;
}
extern "C" __global__ void break_before_barrier_ok(const int* x, int* y)
{
    int sum = 0;
    bool on = true;
    for (int k = 0; k < 4; k++) {
        on = on && x[k * 64 + threadIdx.x] <= 20;
        if (on)
            sum += x[k * 64 + threadIdx.x];
        __syncthreads();
    }
    y[threadIdx.x] = sum;
}

//@ different_numbers grid=2 block=64 y=output:int32[128]
extern "C" __global__ void different_numbers(int* y)
{
    y[blockIdx.x * 64 + threadIdx.x] = 1;
    if (threadIdx.x < 32)
        asm volatile("bar.sync 1;");  //! deadlock
    else
        asm volatile("bar.sync 2;");  //! deadlock
    y[blockIdx.x * 64 + threadIdx.x] = 2;
}
extern "C" __global__ void different_numbers_ok(int* y)
{
    y[blockIdx.x * 64 + threadIdx.x] = 1;
    asm volatile("bar.sync 1;");
    asm volatile("bar.sync 2;");
    y[blockIdx.x * 64 + threadIdx.x] = 2;
}

//@ nobody_sets grid=2 block=32 flag=zero:int32[1] y=output:int32[64]
extern "C" __global__ void nobody_sets(volatile int* flag, int* y)
{
    y[blockIdx.x * 32 + threadIdx.x] = 1;
    while (flag[0] == 0) { }  //! livelock
}
extern "C" __global__ void nobody_sets_ok(volatile int* flag, int* y)
{
    y[blockIdx.x * 32 + threadIdx.x] = 1;
    if (blockIdx.x == 1)
        flag[0] = 1;
    while (flag[0] == 0) { }
}

//@ lock_never_freed grid=1 block=2 lock=zero:int32[1] y=inout:int32[1]
extern "C" __global__ void lock_never_freed(int* lock, int* y)
{
    while (atomicCAS(lock, 0, 1) != 0) { }  //! livelock
    __threadfence();
    y[0] += 1;
}
extern "C" __global__ void lock_never_freed_ok(int* lock, int* y)
{
    while (atomicCAS(lock, 0, 1) != 0) { }
    __threadfence();
    y[0] += 1;
    __threadfence();
    atomicExch(lock, 0);
}

//@ setter_behind_barrier grid=1 block=64 y=output:int32[64]
extern "C" __global__ void setter_behind_barrier(int* y)
{
    __shared__ volatile int ready;
    if (threadIdx.x == 0)
        ready = 0;
    __syncthreads();
    if (threadIdx.x == 32)
        while (ready == 0) { }  //! livelock
    __syncthreads();  //! deadlock
    if (threadIdx.x == 0)
        ready = 1;
    y[threadIdx.x] = 1;
}
extern "C" __global__ void setter_behind_barrier_ok(int* y)
{
    __shared__ volatile int ready;
    if (threadIdx.x == 0)
        ready = 0;
    __syncthreads();
    if (threadIdx.x == 0)
        ready = 1;
    if (threadIdx.x == 32)
        while (ready == 0) { }
    __syncthreads();
    y[threadIdx.x] = 1;
}

//@ grid_barrier grid=4 block=32 count=zero:uint32[1] y=inout:int32[128] z=output:int32[128]
extern "C" __global__ void grid_barrier(unsigned* count, int* y, int* z)
{
    int i = blockIdx.x * 32 + threadIdx.x;
    y[i] = i;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(count, 1);
        while (atomicAdd(count, 0) < gridDim.x + 1) { }  //! livelock
    }
    __syncthreads();  //! deadlock
    z[i] = y[(i + 32) % 128];
}
extern "C" __global__ void grid_barrier_ok(unsigned* count, int* y, int* z)
{
    int i = blockIdx.x * 32 + threadIdx.x;
    y[i] = i;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(count, 1);
        while (atomicAdd(count, 0) < gridDim.x) { }
        __threadfence();
    }
    __syncthreads();
    z[i] = y[(i + 32) % 128];
}

//@ trapped grid=1 block=32 x=input:int32[32] y=output:int32[32]
extern "C" __global__ void trapped(const int* x, int* y)
{
    if (threadIdx.x == 9)
        __trap();  //! trap
    y[threadIdx.x] = x[threadIdx.x];
}
extern "C" __global__ void trapped_ok(const int* x, int* y)
{
    if (threadIdx.x == 32)
        __trap();
    y[threadIdx.x] = x[threadIdx.x];
}

//@ vote_in_branch_of_block grid=1 block=64 x=input:int32[64] y=output:int32[64]
extern "C" __global__ void vote_in_branch_of_block(const int* x, int* y)
{
    int any = 0;
    if (threadIdx.x < 32)
        any = __syncthreads_or(x[threadIdx.x] > 50);  //! divergent_barrier
    y[threadIdx.x] = any;
}
extern "C" __global__ void vote_in_branch_of_block_ok(const int* x, int* y)
{
    int any = __syncthreads_or(threadIdx.x < 32 && x[threadIdx.x] > 50);
    y[threadIdx.x] = threadIdx.x < 32 ? any : 0;
}

//@ count_never_reached grid=1 block=96 y=output:int32[96]
extern "C" __global__ void count_never_reached(int* y)
{
    y[threadIdx.x] = 1;
    if (threadIdx.x < 64)
        asm volatile("bar.sync 1, 96;");  //! deadlock
}
extern "C" __global__ void count_never_reached_ok(int* y)
{
    y[threadIdx.x] = 1;
    if (threadIdx.x < 64)
        asm volatile("bar.sync 1, 64;");
}

//@ bad_function grid=1 block=32 y=output:int32[32]
__device__ __noinline__ int twice(int i) { return 2 * i; }
typedef int (*Function)(int);
__device__ Function table[2] = {twice, nullptr};
extern "C" __global__ void bad_function(int* y)
{
    y[threadIdx.x] = table[threadIdx.x % 2](threadIdx.x);  //! bad_call
}
extern "C" __global__ void bad_function_ok(int* y)
{
    Function f = table[threadIdx.x % 2];
    y[threadIdx.x] = f ? f(threadIdx.x) : 0;
}

//@ trapped_on_a_line_of_its_own grid=1 block=32 x=input:int32[32]
#line 9000
extern "C" __global__ void trapped_on_a_line_of_its_own(const int* x)
{
    if (x[threadIdx.x] < 1000)
        __trap();  //! trap
}
#line 9000
extern "C" __global__ void trapped_on_a_line_of_its_own_ok(const int* x)
{
    if (x[threadIdx.x] > 1000)
        __trap();
}

//@ counts_differ grid=2 block=128 y=output:int32[256]
extern "C" __global__ void counts_differ(int* y) {
    if (threadIdx.x < 64)
        asm volatile("bar.arrive 1, 128;" ::: "memory");
    else
        asm volatile("bar.sync 1, 64;" ::: "memory");  //! divergent_barrier
    y[blockIdx.x * 128 + threadIdx.x] = threadIdx.x;
}
extern "C" __global__ void counts_differ_ok(int* y) {
    for (int i = 0; i < 2; i++)
        if (threadIdx.x < 64)
            asm volatile("bar.arrive 1, 128;" ::: "memory");
        else
            asm volatile("bar.sync 1, 128;" ::: "memory");
    if (threadIdx.x < 64)  // another phase may have another count
        asm volatile("bar.sync 1, 64;" ::: "memory");
    y[blockIdx.x * 128 + threadIdx.x] = threadIdx.x;
}
