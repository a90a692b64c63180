// A thread for each element of C, without tiles. TILE_WIDTH is the block's width and height.
extern "C" __global__ void tiled(const float* A, const float* B, float* C, int N)
{
    int row = blockIdx.y * TILE_WIDTH + threadIdx.y;
    int col = blockIdx.x * TILE_WIDTH + threadIdx.x;

    float value = 0.0f;
    for (int k = 0; k < N; k++)
        value += A[row * N + k] * B[k * N + col];
    C[row * N + col] = value;
}
