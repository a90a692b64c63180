// Interleaved complex numbers, by their fields.
extern "C" __global__ void complex_product(const float2* a, const float2* b, float2* c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        c[i].x = a[i].x * b[i].x - a[i].y * b[i].y;
        c[i].y = a[i].x * b[i].y + a[i].y * b[i].x;
    }
}
