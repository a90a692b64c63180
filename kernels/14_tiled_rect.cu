// 14 tiled_rect: C = A B for any shapes, A is M x K, B is K x N, C is M x N.
//
// The idea     The tiles never cared that the matrices were square. Three sizes take the place of one:
//              M bounds the rows of A and C, N the columns of B and C, and K, the length of the sum,
//              decides how many phases there are.
// Against 13   Each N becomes the one of M, K and N that it meant; a row of A is now K floats long.
// Look at      How many blocks there are (M and N) and how many phases (K): they are independent.
// Limits       A block is TILE_WIDTH x TILE_WIDTH threads.

extern "C" __global__ void tiled_rect(const float* A, const float* B, float* C, int M, int K, int N)
{
    __shared__ float tile_a[TILE_WIDTH][TILE_WIDTH];
    __shared__ float tile_b[TILE_WIDTH][TILE_WIDTH];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty;
    int col = blockIdx.x * TILE_WIDTH + tx;

    float value = 0.0f;
    for (int phase = 0; phase < (K + TILE_WIDTH - 1) / TILE_WIDTH; phase++) {
        int a_col = phase * TILE_WIDTH + tx;
        int b_row = phase * TILE_WIDTH + ty;
        tile_a[ty][tx] = row < M && a_col < K ? A[row * K + a_col] : 0.0f;
        tile_b[ty][tx] = b_row < K && col < N ? B[b_row * N + col] : 0.0f;
        __syncthreads();

        for (int k = 0; k < TILE_WIDTH; k++)
            value += tile_a[ty][k] * tile_b[k][tx];
        __syncthreads();
    }
    if (row < M && col < N)
        C[row * N + col] = value;
}
