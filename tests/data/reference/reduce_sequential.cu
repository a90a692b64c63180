// Sum of a block, halves first: no conflicts, whole warps fall idle. ELEMENT is float, double or int.
extern "C" __global__ void reduce_sequential(const ELEMENT* in, ELEMENT* out, int n)
{
    __shared__ ELEMENT s[256];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    s[t] = i < n ? in[i] : (ELEMENT)(0);
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (t < half)
            s[t] += s[t + half];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = s[0];
}
