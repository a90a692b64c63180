// Copies n elements of type ELEMENT from `shift` elements on: misaligned reads.
// Rule: sectors are those that the active lanes touch, whatever the element's width.
extern "C" __global__ void copy_offset(const ELEMENT* in, ELEMENT* out, int shift, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[i + shift];
}
