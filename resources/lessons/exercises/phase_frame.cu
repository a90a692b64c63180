// The tiled product; the lines of one phase are to be put in order.
extern "C" __global__ void tiled(const float* A, const float* B, float* C, int N)
{
    __shared__ float tile_a[TILE_WIDTH][TILE_WIDTH];
    __shared__ float tile_b[TILE_WIDTH][TILE_WIDTH];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty;
    int col = blockIdx.x * TILE_WIDTH + tx;

    float value = 0.0f;
    for (int phase = 0; phase < N / TILE_WIDTH; phase++) {
        /*LINES*/
    }
    C[row * N + col] = value;
}
