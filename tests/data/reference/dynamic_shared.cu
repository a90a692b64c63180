// Reverses a block's elements through dynamic shared memory.
extern __shared__ unsigned char space[];

extern "C" __global__ void dynamic_shared(const ELEMENT* in, ELEMENT* out, int n)
{
    ELEMENT* s = reinterpret_cast<ELEMENT*>(space);
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    if (i < n)
        s[t] = in[i];
    __syncthreads();
    int last = min(int(blockDim.x), n - int(blockIdx.x * blockDim.x)) - 1;
    if (i < n)
        out[i] = s[last - t];
}
