// Sum of a block by shuffles inside the warps, then of the warps' sums.
extern "C" __global__ void reduce_shuffle(const float* in, float* out, int n)
{
    __shared__ float sums[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float v = i < n ? in[i] : 0.0f;
    for (int step = 16; step > 0; step /= 2)
        v += __shfl_down_sync(0xffffffffu, v, step);
    if (lane == 0)
        sums[warp] = v;
    __syncthreads();
    if (warp == 0) {
        v = lane < (blockDim.x + 31) / 32 ? sums[lane] : 0.0f;
        for (int step = 16; step > 0; step /= 2)
            v += __shfl_down_sync(0xffffffffu, v, step);
        if (lane == 0)
            out[blockIdx.x] = v;
    }
}
