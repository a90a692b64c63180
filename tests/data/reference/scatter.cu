// out[index[i]] = in[i], index a permutation.
extern "C" __global__ void scatter(const ELEMENT* in, const int* index, ELEMENT* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[index[i]] = in[i];
}
