// Kernels as people write them: reductions, scans, sorts, histograms, and other parallel patterns.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

extern "C" __global__ void reduce_groups(double* out, const float* in, int n)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    __shared__ double parts[32];
    double sum = 0;
    for (int i = cg::this_grid().thread_rank(); i < n; i += cg::this_grid().size()) sum += in[i];
    sum = cg::reduce(tile, sum, cg::plus<double>());
    if (tile.thread_rank() == 0) parts[tile.meta_group_rank()] = sum;
    block.sync();
    if (tile.meta_group_rank() == 0) {
        sum = tile.thread_rank() < tile.meta_group_size() ? parts[tile.thread_rank()] : 0;
        for (int step = tile.size() / 2; step > 0; step /= 2) sum += tile.shfl_down(sum, step);
        if (tile.thread_rank() == 0) atomicAdd(out, sum);
    }
}

extern "C" __global__ void scan_groups(int* out, const int* in, int n)
{
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<16>(block);
    int i = block.group_index().x * block.size() + block.thread_rank();
    int value = i < n ? in[i] : 0;
    int before = cg::exclusive_scan(tile, value);
    if (i < n) out[i] = before;
}

extern "C" __global__ void aggregate(unsigned* counter, int* kept, const int* in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || in[i] <= 0) return;
    cg::coalesced_group active = cg::coalesced_threads();
    unsigned place = 0;
    if (active.thread_rank() == 0) place = atomicAdd(counter, active.size());
    place = active.shfl(place, 0) + active.thread_rank();
    kept[place] = in[i];
}

extern "C" __global__ void scan_blelloch(float* out, const float* in)
{
    extern __shared__ float work[];
    int t = threadIdx.x, n = 2 * blockDim.x, step = 1;
    work[2 * t] = in[2 * t];
    work[2 * t + 1] = in[2 * t + 1];
    for (int d = n >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) work[step * (2 * t + 2) - 1] += work[step * (2 * t + 1) - 1];
        step *= 2;
    }
    if (t == 0) work[n - 1] = 0;
    for (int d = 1; d < n; d *= 2) {
        step >>= 1;
        __syncthreads();
        if (t < d) {
            float left = work[step * (2 * t + 1) - 1];
            work[step * (2 * t + 1) - 1] = work[step * (2 * t + 2) - 1];
            work[step * (2 * t + 2) - 1] += left;
        }
    }
    __syncthreads();
    out[2 * t] = work[2 * t];
    out[2 * t + 1] = work[2 * t + 1];
}

extern "C" __global__ void sort_bitonic(float* data)
{
    __shared__ float s[256];
    unsigned t = threadIdx.x;
    s[t] = data[blockIdx.x * 256 + t];
    __syncthreads();
    for (unsigned k = 2; k <= 256; k <<= 1)
        for (unsigned j = k >> 1; j > 0; j >>= 1) {
            unsigned other = t ^ j;
            if (other > t) {
                bool up = (t & k) == 0;
                if ((s[t] > s[other]) == up) {
                    float swap = s[t];
                    s[t] = s[other];
                    s[other] = swap;
                }
            }
            __syncthreads();
        }
    data[blockIdx.x * 256 + t] = s[t];
}

extern "C" __global__ void sort_radix(unsigned* data)
{
    __shared__ unsigned keys[128], ones[129];
    int t = threadIdx.x;
    keys[t] = data[t];
    for (int bit = 0; bit < 32; bit++) {
        __syncthreads();
        unsigned key = keys[t];
        unsigned set = key >> bit & 1;
        unsigned votes = __ballot_sync(0xffffffff, set);
        int rank = __popc(votes & ((1u << (t & 31)) - 1));
        if ((t & 31) == 31) ones[t >> 5] = rank + set;
        __syncthreads();
        int before = 0, all = 0;
        for (int w = 0; w < 4; w++) {
            if (w < t >> 5) before += ones[w];
            all += ones[w];
        }
        rank += before;
        keys[set ? 128 - all + rank : t - rank] = key;
    }
    __syncthreads();
    data[t] = keys[t];
}

extern "C" __global__ void histogram(unsigned* bins, const unsigned char* text, int n)
{
    __shared__ unsigned local[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&local[text[i]], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        if (local[i]) atomicAdd(&bins[i], local[i]);
}

__device__ unsigned int finished = 0;

extern "C" __global__ void reduce_last_block(float* result, volatile float* parts, const float* in,
                                             int n)
{
    __shared__ float s[128];
    __shared__ bool last;
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    s[t] = (i < n ? in[i] : 0) + (i + 128 < n ? in[i + 128] : 0);
    __syncthreads();
    for (int step = 64; step > 0; step >>= 1) {
        if (t < step) s[t] += s[t + step];
        __syncthreads();
    }
    if (t == 0) {
        parts[blockIdx.x] = s[0];
        __threadfence();
        last = atomicInc(&finished, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        float sum = 0;
        for (int b = 0; b < gridDim.x; b++) sum += parts[b];
        *result = sum;
    }
}

extern "C" __global__ void warp_tools(unsigned* out, const int* in)
{
    int t = threadIdx.x, v = in[t];
    unsigned all = 0xffffffffu, same = __match_any_sync(all, v & 3);
    int agree;
    unsigned everyone = __match_all_sync(all, v >> 30, &agree);
    out[t * 6] = same;
    out[t * 6 + 1] = agree ? everyone : 7;
    out[t * 6 + 2] = __reduce_add_sync(all, v);
    out[t * 6 + 3] = __reduce_max_sync(all, v);
    out[t * 6 + 4] = __reduce_xor_sync(all, (unsigned)v);
    out[t * 6 + 5] = __shfl_xor_sync(all, v, 5, 16) + __any_sync(all, v == 5) + __activemask();
}

extern "C" __global__ void long_atomics(long long* largest, unsigned long long* sum, double* total,
                                        const long long* in, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicMax(largest, in[i]);
        atomicAdd(sum, (unsigned long long)in[i]);
        unsigned long long *word = (unsigned long long*)total, old = *word, seen;
        do {  // an atomic addition as it was written before there was one
            seen = old;
            double next = __longlong_as_double(seen) + (double)(in[i] >> 40);
            old = atomicCAS(word, seen, __double_as_longlong(next));
        } while (old != seen);
    }
}
