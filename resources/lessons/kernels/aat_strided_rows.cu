// C = A A^T with x along the rows: the first factor strides now, as the second one did before.
extern "C" __global__ void aat_strided_rows(const float* A, float* C, int N)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int col = blockIdx.y * blockDim.y + threadIdx.y;

    if (row < N && col < N) {
        float value = 0.0f;
        for (int k = 0; k < N; k++)
            value += A[row * N + k] * A[col * N + k];
        C[row * N + col] = value;
    }
}
