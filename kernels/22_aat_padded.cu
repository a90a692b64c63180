// 22 aat_padded: C = A Aᵀ, unused columns keep the lanes out of each other's banks.
//
// The idea     Word w of shared memory is in bank w mod 32. Make the rows of a tile of 32 one word longer,
//              and a column moves one bank further with every row: 32 stores land in 32 banks.
// Against 21   + PAD in the declaration of tile_b. The padding is never read or written.
// Look at      The conflicts of the store into tile_b: gone with PAD = 1 in a tile of 32, 2 in one of 16
//              (with 1 lanes 0 and 31 meet), 4 in one of 8: a warp stores 32 / TILE_WIDTH columns.
//              Say beforehand how many ways the conflict has with another PAD.
// Limits       As 21, and TILE_WIDTH * PAD * 4 more bytes of shared memory a block.

extern "C" __global__ void aat_padded(const float* A, float* C, int N)
{
    __shared__ float tile_a[TILE_WIDTH][TILE_WIDTH];
    __shared__ float tile_b[TILE_WIDTH][TILE_WIDTH + PAD];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty;
    int col = blockIdx.x * TILE_WIDTH + tx;

    float value = 0.0f;
    for (int phase = 0; phase < N / TILE_WIDTH; phase++) {
        tile_a[ty][tx] = A[row * N + phase * TILE_WIDTH + tx];
        tile_b[tx][ty] = A[(blockIdx.x * TILE_WIDTH + ty) * N + phase * TILE_WIDTH + tx];
        __syncthreads();

        for (int k = 0; k < TILE_WIDTH; k++)
            value += tile_a[ty][k] * tile_b[k][tx];
        __syncthreads();
    }
    C[row * N + col] = value;
}
