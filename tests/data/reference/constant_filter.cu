// Constant memory, read alike by all lanes and differently by each: no global or shared access.
__constant__ float weights[8] = {0.5f, -0.25f, 0.125f, 1.5f, -2.0f, 0.75f, 3.0f, -0.0625f};

extern "C" __global__ void constant_filter(const float* in, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float sum = weights[i % 8];
    for (int k = 0; k < 8; k++)
        sum += weights[k] * in[(i + k) % n];
    out[i] = sum;
}
