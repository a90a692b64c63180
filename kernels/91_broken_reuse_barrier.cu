// 91 broken_reuse_barrier: C = A B with the second barrier of 12 missing. Broken on purpose.
//
// The idea     The tiles are complete before anybody multiplies, but a thread that has finished goes on
//              to the next phase and overwrites elements that slower threads still read.
// Against 12   The __syncthreads() at the end of a phase is gone, and nothing else.
// Look at      The findings: a store of the copying lines after a read of the line that multiplies, in
//              the phase before. A single phase (N = TILE_WIDTH) is clean: there is no next one. Run the
//              warps in another order (--order warp_by_warp) and the answer changes.
// Limits       N must be a multiple of TILE_WIDTH. With tiles of up to 5 a block is a single warp, and
//              other orders of the warps show nothing; the race is there all the same.

extern "C" __global__ void broken_reuse_barrier(const float* A, const float* B, float* C, int N)
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
    }
    C[row * N + col] = value;
}
