// 13 tiled_bounds: C = A B for any N, tiles that reach over the edge are filled with zeros.
//
// The idea     When N is no multiple of the tile, the last tiles hang over the edge of the matrices.
//              A thread whose element does not exist stores 0 instead, which adds nothing to the sum.
//              It must still take part: every thread of the block has to reach the barriers.
// Against 12   One phase more where N does not divide, a condition on each load and on the store.
// Look at      The last phase, where lanes drop out of the loads while shared memory fills with zeros,
//              and the blocks on the right and at the bottom, whose idle threads copy for the others.
// Limits       Square matrices. A block is TILE_WIDTH x TILE_WIDTH threads.

extern "C" __global__ void tiled_bounds(const float* A, const float* B, float* C, int N)
{
    __shared__ float tile_a[TILE_WIDTH][TILE_WIDTH];
    __shared__ float tile_b[TILE_WIDTH][TILE_WIDTH];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty;
    int col = blockIdx.x * TILE_WIDTH + tx;

    float value = 0.0f;
    for (int phase = 0; phase < (N + TILE_WIDTH - 1) / TILE_WIDTH; phase++) {
        int a_col = phase * TILE_WIDTH + tx;
        int b_row = phase * TILE_WIDTH + ty;
        tile_a[ty][tx] = row < N && a_col < N ? A[row * N + a_col] : 0.0f;
        tile_b[ty][tx] = b_row < N && col < N ? B[b_row * N + col] : 0.0f;
        __syncthreads();

        for (int k = 0; k < TILE_WIDTH; k++)
            value += tile_a[ty][k] * tile_b[k][tx];
        __syncthreads();
    }
    if (row < N && col < N)
        C[row * N + col] = value;
}
