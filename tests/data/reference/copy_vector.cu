// Copies elements of a vector type: VECTOR is float2, float4, double2 or uchar4.
extern "C" __global__ void copy_vector(const VECTOR* in, VECTOR* out, int shift, int step, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[i * step + shift];
}
