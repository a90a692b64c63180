// Lanes go three ways, with different accesses in each; one way nests another branch.
extern "C" __global__ void divergent_branch(const float* in, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float v;
    if (i % 3 == 0) {
        v = in[i];
    } else if (i % 3 == 1) {
        v = in[n - 1 - i] * 2.0f;
        if (i % 2)
            v -= in[(i * 7) % n];
    } else {
        v = -in[i / 2];
    }
    out[i] = v;
}
