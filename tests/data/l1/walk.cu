// WARPS warps of each block go ROUNDS times over LINES lines of 128 bytes that lie STRIDE lines apart,
// a warp a line; WORDS lanes load a word each. Block b begins (b % PERIOD) * APART lines on.
extern "C" __global__ void walk(const float* in, float* out)
{
    extern __shared__ float kept[];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    long long first = (long long)(blockIdx.x % PERIOD) * APART;
    float sum = 0.0f;
    if (warp < WARPS && lane < WORDS)
        for (int round = 0; round < ROUNDS; round++)
            for (int i = warp; i < LINES; i += WARPS)
                sum += in[(first + (long long)i * STRIDE) * 32 + lane];
#if SHARED
    kept[threadIdx.x % (SHARED / 4)] = sum;
#endif
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
