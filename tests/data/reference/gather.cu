// out[i] = in[index[i]]: sectors depend on data.
extern "C" __global__ void gather(const ELEMENT* in, const int* index, ELEMENT* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[index[i]];
}
