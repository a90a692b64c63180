// 93 broken_bounds: C = A B in tiles, with no bounds guard, for an N that the tile does not divide.
//
// The idea     The launch rounds up the number of blocks and of phases, so that the last tiles hang over
//              the edges, but no thread asks whether its element exists. A load beyond the end of a row
//              fetches the start of the next row, which lies in the array and is simply wrong; only
//              beyond the last row does it leave the array. A store beyond the end of a row overwrites
//              an element that belongs to another thread.
// Against 13   The conditions on the loads and on the store are gone, and nothing else.
// Look at      N = 3 with tiles of 2: the loads and stores out of bounds, and a race on C, where two
//              threads store one element. Most wrong accesses are not out of bounds, so that an answer
//              may be wrong with no error from the GPU.
// Limits       Square matrices. Where the tile divides N, nothing is wrong.

extern "C" __global__ void broken_bounds(const float* A, const float* B, float* C, int N)
{
    __shared__ float tile_a[TILE_WIDTH][TILE_WIDTH];
    __shared__ float tile_b[TILE_WIDTH][TILE_WIDTH];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty;
    int col = blockIdx.x * TILE_WIDTH + tx;

    float value = 0.0f;
    for (int phase = 0; phase < (N + TILE_WIDTH - 1) / TILE_WIDTH; phase++) {
        tile_a[ty][tx] = A[row * N + phase * TILE_WIDTH + tx];
        tile_b[ty][tx] = B[(phase * TILE_WIDTH + ty) * N + col];
        __syncthreads();

        for (int k = 0; k < TILE_WIDTH; k++)
            value += tile_a[ty][k] * tile_b[k][tx];
        __syncthreads();
    }
    C[row * N + col] = value;
}
