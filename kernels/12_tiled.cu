// 12 tiled: C = A B, a block fetches each piece of A and B once and shares it.
//
// The idea     The threads of a block need the same rows of A and columns of B. In each phase they
//              copy one tile of A and one of B into shared memory, one element a thread, wait until
//              all have done so, and multiply from there. A tile of T x T serves T uses of each float.
// Against 11   The loop over k is cut into phases of TILE_WIDTH, with a copy before each of them.
// Look at      Global load requests: TILE_WIDTH times fewer than in 11. The two barriers: without the
//              first a thread may read a tile before it is filled, without the second one may
//              overwrite a tile that others still read.
// Limits       N must be a multiple of TILE_WIDTH, and a block is TILE_WIDTH x TILE_WIDTH threads.

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
        tile_a[ty][tx] = A[row * N + phase * TILE_WIDTH + tx];
        tile_b[ty][tx] = B[(phase * TILE_WIDTH + ty) * N + col];
        __syncthreads();

        for (int k = 0; k < TILE_WIDTH; k++)
            value += tile_a[ty][k] * tile_b[k][tx];
        __syncthreads();
    }
    C[row * N + col] = value;
}
