// 05 transpose_padded: C = Aᵀ, with one unused column in the tile.
//
// The idea     Rows of the tile are TILE_WIDTH + PAD words long. With PAD = 1 the elements of a column
//              lie 33 words apart, and since word w is in bank w mod 32, they are in 32 different
//              banks.
// Against 04   + PAD in the declaration of the tile. The padding is never read or written.
// Look at      The read of the tile: 1 wavefront a request. The occupancy and everything in global
//              memory stay as they were; the price is 128 bytes of shared memory a block.
// Limits       As 04.

extern "C" __global__ void transpose_padded(const float* A, float* C, int M, int N)
{
    __shared__ float tile[TILE_WIDTH][TILE_WIDTH + PAD];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty;
    int col = blockIdx.x * TILE_WIDTH + tx;

    if (row < M && col < N)
        tile[ty][tx] = A[row * N + col];
    __syncthreads();

    int c_row = blockIdx.x * TILE_WIDTH + ty;
    int c_col = blockIdx.y * TILE_WIDTH + tx;
    if (c_row < N && c_col < M)
        C[c_row * M + c_col] = tile[tx][ty];
}
