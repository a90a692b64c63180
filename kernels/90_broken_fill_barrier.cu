// 90 broken_fill_barrier: C = A B with the first barrier of 12 missing. Broken on purpose.
//
// The idea     Each thread copies one element of each tile and multiplies at once, without waiting for
//              the others. A thread then reads elements that nobody has written in this phase: what it
//              finds is whatever the memory held, or the tile of the phase before.
// Against 12   The __syncthreads() between copying and multiplying is gone, and nothing else.
// Look at      The findings: each names two threads, two lines and the element they collide on. Run the
//              warps in another order (--order warp_by_warp): the answer changes with the order, though
//              in lock step it looks right. On a GPU it may be right on one day and wrong on the next.
// Limits       N must be a multiple of TILE_WIDTH. With tiles of up to 5 a block is a single warp, and
//              other orders of the warps show nothing; the race is there all the same.

extern "C" __global__ void broken_fill_barrier(const float* A, const float* B, float* C, int N)
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

        for (int k = 0; k < TILE_WIDTH; k++)
            value += tile_a[ty][k] * tile_b[k][tx];
        __syncthreads();
    }
    C[row * N + col] = value;
}
