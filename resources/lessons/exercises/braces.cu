// Two barriers a phase, one store at the end.
extern "C" __global__ void broken_inner_barrier(const float* A, const float* B, float* C, int N)
{
    __shared__ float tile_a[TILE_WIDTH][TILE_WIDTH];
    __shared__ float tile_b[TILE_WIDTH][TILE_WIDTH];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty;
    int col = blockIdx.x * TILE_WIDTH + tx;

    float value = 0.0f;
    for (int phase = 0; phase < N / TILE_WIDTH; phase++) {
        tile_a[ty][tx] = A[row * N + phase * TILE_WIDTH + tx];
        tile_b[ty][tx] = B[(phase * TILE_WIDTH + ty) * N + col];
        __syncthreads();

        for (int k = 0; k < TILE_WIDTH; k++)
            value += tile_a[ty][k] * tile_b[k][tx];
        __syncthreads();
    }
    C[row * N + col] = value;
}
