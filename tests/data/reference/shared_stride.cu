// Stores to and loads from shared memory at a stride, elements of type ELEMENT.
extern "C" __global__ void shared_stride(const ELEMENT* in, ELEMENT* out, int stride)
{
    __shared__ ELEMENT s[CELLS];
    int t = threadIdx.x;
    for (int c = t; c < CELLS; c += blockDim.x)
        s[c] = (ELEMENT)(c);
    __syncthreads();
    s[t * stride % CELLS] = in[t];
    __syncthreads();
    out[t] = s[(t * stride + t / 32) % CELLS];
}
