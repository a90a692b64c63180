// Reads every stride-th element and writes every out_stride-th.
extern "C" __global__ void copy_strided(const ELEMENT* in, ELEMENT* out, int stride, int out_stride, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i * out_stride] = in[i * stride];
}
