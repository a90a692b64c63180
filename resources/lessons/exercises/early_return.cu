// The tiled product with guards; threads without an element of C leave at once.
extern "C" __global__ void tiled_bounds(const float* A, const float* B, float* C, int N)
{
    __shared__ float tile_a[TILE_WIDTH][TILE_WIDTH];
    __shared__ float tile_b[TILE_WIDTH][TILE_WIDTH];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty;
    int col = blockIdx.x * TILE_WIDTH + tx;
    if (row >= N || col >= N)
        return;

    float value = 0.0f;
    for (int phase = 0; phase < (N + TILE_WIDTH - 1) / TILE_WIDTH; phase++) {
        int a_col = phase * TILE_WIDTH + tx;
        int b_row = phase * TILE_WIDTH + ty;
        tile_a[ty][tx] = a_col < N ? A[row * N + a_col] : 0.0f;
        tile_b[ty][tx] = b_row < N ? B[b_row * N + col] : 0.0f;
        __syncthreads();

        for (int k = 0; k < TILE_WIDTH; k++)
            value += tile_a[ty][k] * tile_b[k][tx];
        __syncthreads();
    }
    C[row * N + col] = value;
}
