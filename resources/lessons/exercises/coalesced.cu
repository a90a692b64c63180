// x chooses the column: neighbouring lanes read neighbouring floats of B.
extern "C" __global__ void uncoalesced(const float* A, const float* B, float* C, int N)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;

    if (row < N && col < N) {
        float value = 0.0f;
        for (int k = 0; k < N; k++)
            value += A[row * N + k] * B[k * N + col];
        C[row * N + col] = value;
    }
}
