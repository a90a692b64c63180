// The kernel as the blog prints it (its code snippet 1), under this rung's name.
extern "C" __global__ void coalesced(float* d_A, float* d_B, float* d_C, int N)
{
    int i = blockDim.y * blockIdx.y + threadIdx.y;
    int j = blockDim.x * blockIdx.x + threadIdx.x;

    if (i < N && j < N) {
        float value = 0;
        for (int k = 0; k < N; k++)
            value += A[i * N + k] * B[k * N + j];
        C[i * N + j] = value;
    }
}
