// 21 aat_shared: C = A Aᵀ, transposed on the way into shared memory.
//
// The idea     Read both tiles of A along its rows, which global memory likes, and store the second
//              one with its indices exchanged, so that shared memory holds the transpose. Striding
//              costs no sectors there. It costs something else: words TILE_WIDTH apart share a bank.
// Against 12   The second tile comes from A, from the rows that this block's columns stand for, and
//              its store swaps ty and tx.
// Look at      Global loads: all coalesced. The store into tile_b: with a tile of 32 every lane of the
//              warp wants the same bank, and the 32 words go through one after the other.
// Limits       N must be a multiple of TILE_WIDTH, and a block is TILE_WIDTH x TILE_WIDTH threads.

extern "C" __global__ void aat_shared(const float* A, float* C, int N)
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
        tile_b[tx][ty] = A[(blockIdx.x * TILE_WIDTH + ty) * N + phase * TILE_WIDTH + tx];
        __syncthreads();

        for (int k = 0; k < TILE_WIDTH; k++)
            value += tile_a[ty][k] * tile_b[k][tx];
        __syncthreads();
    }
    C[row * N + col] = value;
}
