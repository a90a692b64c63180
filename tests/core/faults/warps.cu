// Shuffles, votes and __syncwarp with the wrong lanes. `//!` marks what is to be found on a line.

//@ shuffle_in_branch grid=1 block=32 x=input:int32[32] y=output:int32[32]
extern "C" __global__ void shuffle_in_branch(const int* x, int* y)
{
    int value = x[threadIdx.x];
    if (threadIdx.x < 16)
        value += __shfl_xor_sync(0xffffffffu, value, 16);  //! divergent_warp //! inactive_lane
    y[threadIdx.x] = value;
}
extern "C" __global__ void shuffle_in_branch_ok(const int* x, int* y)
{
    int value = x[threadIdx.x];
    int other = __shfl_xor_sync(0xffffffffu, value, 16);
    if (threadIdx.x < 16)
        value += other;
    y[threadIdx.x] = value;
}

//@ shuffle_from_inactive grid=1 block=32 x=input:int32[32] y=output:int32[32]
extern "C" __global__ void shuffle_from_inactive(const int* x, int* y)
{
    int value = x[threadIdx.x];
    if (threadIdx.x < 16)
        value = __shfl_sync(0x0000ffffu, value, 20);  //! inactive_lane
    y[threadIdx.x] = value;
}
extern "C" __global__ void shuffle_from_inactive_ok(const int* x, int* y)
{
    int value = x[threadIdx.x];
    if (threadIdx.x < 16)
        value = __shfl_sync(0x0000ffffu, value, 12);
    y[threadIdx.x] = value;
}

//@ tail_of_the_reduction grid=1 block=64 x=input:int32[44] y=output:int32[64]
extern "C" __global__ void tail_of_the_reduction(const int* x, int* y)
{
    unsigned mask = __ballot_sync(0xffffffffu, threadIdx.x < 44);
    if (threadIdx.x < 44) {
        int value = x[threadIdx.x];
        for (int d = 16; d > 0; d /= 2)
            value += __shfl_down_sync(mask, value, d);  //! inactive_lane
        y[threadIdx.x] = value;
    }
}
extern "C" __global__ void tail_of_the_reduction_ok(const int* x, int* y)
{
    int value = threadIdx.x < 44 ? x[threadIdx.x] : 0;
    for (int d = 16; d > 0; d /= 2)
        value += __shfl_down_sync(0xffffffffu, value, d);
    y[threadIdx.x] = value;
}

//@ half_a_warp grid=2 block=16 x=input:float32[32] y=output:float32[2]
extern "C" __global__ void half_a_warp(const float* x, float* y)
{
    float value = x[blockIdx.x * 16 + threadIdx.x];
    for (int d = 16; d > 0; d /= 2)
        value += __shfl_down_sync(0xffffffffu, value, d);  //! inactive_lane
    if (threadIdx.x == 0)
        y[blockIdx.x] = value;
}
extern "C" __global__ void half_a_warp_ok(const float* x, float* y)
{
    float value = x[blockIdx.x * 16 + threadIdx.x];
    for (int d = 8; d > 0; d /= 2)
        value += __shfl_down_sync(0xffffu, value, d, 16);
    if (threadIdx.x == 0)
        y[blockIdx.x] = value;
}

//@ after_return grid=1 block=32 x=input:int32[32] y=output:int32[32]
extern "C" __global__ void after_return(const int* x, int* y)
{
    if (threadIdx.x >= 24)
        return;
    y[threadIdx.x] = __shfl_up_sync(0xffffffffu, x[threadIdx.x], 1) +
                     __shfl_xor_sync(0xffffffffu, x[threadIdx.x], 8);  //! inactive_lane
}
extern "C" __global__ void after_return_ok(const int* x, int* y)
{
    if (threadIdx.x >= 24)
        return;
    y[threadIdx.x] = __shfl_up_sync(0x00ffffffu, x[threadIdx.x], 1) +
                     __shfl_xor_sync(0x00ffffffu, x[threadIdx.x], 4);
}

//@ not_a_member grid=1 block=32 x=input:int32[32] y=output:int32[32]
extern "C" __global__ void not_a_member(const int* x, int* y)
{
    y[threadIdx.x] = __any_sync(0x0000ffffu, x[threadIdx.x] > 50);  //! inactive_lane
}
extern "C" __global__ void not_a_member_ok(const int* x, int* y)
{
    unsigned mask = threadIdx.x < 16 ? 0x0000ffffu : 0xffff0000u;
    y[threadIdx.x] = __any_sync(mask, x[threadIdx.x] > 50);
}

//@ vote_in_branch grid=1 block=32 x=input:int32[32] y=output:int32[32]
extern "C" __global__ void vote_in_branch(const int* x, int* y)
{
    int all = 0;
    if (x[threadIdx.x] > 0)
        all = __all_sync(0xffffffffu, x[threadIdx.x] > 10);  //! divergent_warp
    y[threadIdx.x] = all;
}
extern "C" __global__ void vote_in_branch_ok(const int* x, int* y)
{
    int all = 0;
    unsigned mask = __ballot_sync(0xffffffffu, x[threadIdx.x] > 0);
    if (x[threadIdx.x] > 0)
        all = __all_sync(mask, x[threadIdx.x] > 10);
    y[threadIdx.x] = all;
}

//@ syncwarp_in_branch grid=1 block=32 y=inout:int32[32]
extern "C" __global__ void syncwarp_in_branch(int* y)
{
    __shared__ int s[32];
    if (threadIdx.x < 16) {
        s[threadIdx.x] = threadIdx.x;
        __syncwarp();  //! divergent_warp
        y[threadIdx.x] = s[15 - threadIdx.x];
    }
    atomicAdd(&y[31], 0);
}
extern "C" __global__ void syncwarp_in_branch_ok(int* y)
{
    __shared__ int s[32];
    if (threadIdx.x < 16) {
        s[threadIdx.x] = threadIdx.x;
        __syncwarp(0x0000ffffu);
        y[threadIdx.x] = s[15 - threadIdx.x];
    }
    atomicAdd(&y[31], 0);
}

//@ syncwarps_of_two_branches grid=1 block=32 y=output:int32[32]
extern "C" __global__ void syncwarps_of_two_branches(int* y)
{
    __shared__ int s[32];
    if (threadIdx.x < 16) {
        s[threadIdx.x] = threadIdx.x;
        __syncwarp(0x0000ffffu);
        y[threadIdx.x] = s[threadIdx.x + 16];  //! uninitialised s
    } else {
        s[threadIdx.x] = -threadIdx.x;  //! race s
        __syncwarp(0xffff0000u);
        y[threadIdx.x] = s[threadIdx.x - 16];  //! race s
    }
}
extern "C" __global__ void syncwarps_of_two_branches_ok(int* y)
{
    __shared__ int s[32];
    if (threadIdx.x < 16) {
        s[threadIdx.x] = threadIdx.x;
        __syncwarp();
        y[threadIdx.x] = s[threadIdx.x + 16];
    } else {
        s[threadIdx.x] = -threadIdx.x;
        __syncwarp();
        y[threadIdx.x] = s[threadIdx.x - 16];
    }
}

//@ shuffle_orders grid=1 block=64 x=input:int32[64] y=output:int32[64]
extern "C" __global__ void shuffle_orders(const int* x, int* y)
{
    __shared__ int s[64];
    s[threadIdx.x] = x[threadIdx.x];
    int sum = __shfl_xor_sync(0xffffffffu, x[threadIdx.x], 1);
    y[threadIdx.x] = sum + s[63 - threadIdx.x];  //! race s
}
extern "C" __global__ void shuffle_orders_ok(const int* x, int* y)
{
    __shared__ int s[64];
    s[threadIdx.x] = x[threadIdx.x];
    int sum = __shfl_xor_sync(0xffffffffu, x[threadIdx.x], 1);
    y[threadIdx.x] = sum + s[threadIdx.x ^ 31];
}

//@ loop_with_own_trips grid=1 block=32 x=input:uint8[32] y=output:int32[32]
extern "C" __global__ void loop_with_own_trips(const unsigned char* x, int* y)
{
    int value = threadIdx.x, sum = 0;
    for (int k = 0; k < x[threadIdx.x] % 5; k++)
        sum += __shfl_xor_sync(0xffffffffu, value, 1);  //! divergent_warp //! inactive_lane
    y[threadIdx.x] = sum;
}
extern "C" __global__ void loop_with_own_trips_ok(const unsigned char* x, int* y)
{
    int value = threadIdx.x, sum = 0;
    for (int k = 0; k < 5; k++) {
        int other = __shfl_xor_sync(0xffffffffu, value, 1);
        if (k < x[threadIdx.x] % 5)
            sum += other;
    }
    y[threadIdx.x] = sum;
}

//@ syncwarp_of_strangers grid=1 block=32 y=output:int32[32]
extern "C" __global__ void syncwarp_of_strangers(int* y)
{
    y[threadIdx.x] = threadIdx.x;
    __syncwarp(0x0000ffffu);  //! inactive_lane
}
extern "C" __global__ void syncwarp_of_strangers_ok(int* y)
{
    y[threadIdx.x] = threadIdx.x;
    if (threadIdx.x < 16)
        __syncwarp(0x0000ffffu);
}

//@ vote_beside_a_way_out grid=1 block=64 x=input:int32[64] y=output:int32[64]
extern "C" __global__ void vote_beside_a_way_out(const int* x, int* y)
{
    if (x[threadIdx.x] > 0) {
        y[threadIdx.x] = __ballot_sync(0xffffffffu, x[threadIdx.x] > 10);  //! divergent_warp
    } else {
        y[threadIdx.x] = 0;
    }
    y[threadIdx.x] += __popc(x[threadIdx.x]);
}
extern "C" __global__ void vote_beside_a_way_out_ok(const int* x, int* y)
{
    if (x[threadIdx.x] > 0) {
        y[threadIdx.x] = __ballot_sync(0xffffffffu, x[threadIdx.x] > 10);
        return;
    }
    y[threadIdx.x] = 0;
}

//@ match_in_a_search grid=1 block=32 x=input:int32[32] y=output:int32[32]
extern "C" __global__ void match_in_a_search(const int* x, int* y)
{
    int key = x[threadIdx.x], same = 0;
    if (threadIdx.x % 3)
        same = __match_any_sync(0xffffffffu, key & 3);  //! divergent_warp
    y[threadIdx.x] = same + key;
}
extern "C" __global__ void match_in_a_search_ok(const int* x, int* y)
{
    int key = x[threadIdx.x];
    for (int i = 0; i < 6; i++) {
        if (threadIdx.x == 5 * i) {
            y[threadIdx.x] = -key;
            return;
        }
        key += __match_any_sync(0xffffffffu, key & 3);
    }
    y[threadIdx.x] = key;
}
