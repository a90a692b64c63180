// Functions whose error is documented rather than their bits.
extern "C" __global__ void approximate(const float* a, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float x = fabsf(a[i]) + 0.01f;
    out[4 * i] = __expf(x);
    out[4 * i + 1] = __sinf(x);
    out[4 * i + 2] = rsqrtf(x);
    out[4 * i + 3] = __logf(x);
}
