// 04 transpose_tiled: C = Aᵀ, turned round in shared memory.
//
// The idea     A block reads a tile of A along its rows and writes it along the rows of C. The turn
//              happens in between: a thread stores tile[ty][tx] and, after the barrier, takes
//              tile[tx][ty], an element that another thread has fetched. Both sides of global memory
//              are coalesced.
// Against 03   The tile, the barrier, and a second pair of indices: the block's place in C has its x
//              and y exchanged, the thread's has not.
// Look at      The store of C: 4 sectors. The read of the tile: lanes TILE_WIDTH words apart, which for
//              a width of 32 are all in one bank, 32 wavefronts where one would do.
// Limits       Any M and N. A block is TILE_WIDTH x TILE_WIDTH threads.

extern "C" __global__ void transpose_tiled(const float* A, float* C, int M, int N)
{
    __shared__ float tile[TILE_WIDTH][TILE_WIDTH];

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
