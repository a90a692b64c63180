// Inclusive scan of a block (Hillis and Steele): misaligned shared accesses, lanes drop out.
extern "C" __global__ void scan_block(const int* in, int* out, int n)
{
    __shared__ int s[2][256];
    int t = threadIdx.x, now = 0;
    int i = blockIdx.x * blockDim.x + t;
    s[0][t] = i < n ? in[i] : 0;
    for (int step = 1; step < blockDim.x; step *= 2) {
        __syncthreads();
        s[1 - now][t] = s[now][t] + (t >= step ? s[now][t - step] : 0);
        now = 1 - now;
    }
    __syncthreads();
    if (i < n)
        out[i] = s[now][t];
}
