// All lanes read one element, groups of GROUP lanes share one, and all threads write to few places.
extern "C" __global__ void broadcast(const float* in, float* out, float* one, int n)
{
    __shared__ float s[64];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    if (t < 64)
        s[t] = in[t];
    __syncthreads();
    float v = in[0] + in[i / GROUP] + s[5] + s[t / GROUP % 64];
    if (i < n)
        out[i] = v;
    one[blockIdx.x] = in[blockIdx.x];
}
