// Sums of 2 RADIUS + 1 neighbours through shared memory with a halo.
extern "C" __global__ void stencil_1d(const int* in, int* out, int n)
{
    __shared__ int s[256 + 2 * RADIUS];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    s[t + RADIUS] = i < n ? in[i] : 0;
    if (t < RADIUS) {
        s[t] = i >= RADIUS ? in[i - RADIUS] : 0;
        int right = i + blockDim.x;
        s[t + RADIUS + blockDim.x] = right < n ? in[right] : 0;
    }
    __syncthreads();
    int sum = 0;
    for (int k = 0; k <= 2 * RADIUS; k++)
        sum += s[t + k];
    if (i < n)
        out[i] = sum;
}
