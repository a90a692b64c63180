// As copy_offset, with the shift on the side of the store.
extern "C" __global__ void copy_offset_store(const ELEMENT* in, ELEMENT* out, int shift, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i + shift] = in[i];
}
