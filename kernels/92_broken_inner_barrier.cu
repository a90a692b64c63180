// 92 broken_inner_barrier: C = A B with a barrier and a store in loops where they do not belong.
//
// The idea     The second barrier of 12 has slipped into the loop over k, and the store of the result
//              into the loop over the phases. The answer is right: the barrier of the last k also ends
//              the phase, and the store of the last phase overwrites all those before it. It is wasted
//              time: TILE_WIDTH barriers a phase where one would do, and N / TILE_WIDTH stores of every
//              element of C where one would do.
// Against 12   Two braces. It is an easy slip, and no test of the result finds it.
// Look at      No finding, and the right answer; but global store requests N / TILE_WIDTH times those
//              of 12, and in the trace a barrier at every k. Faults of speed show in the counters only.
// Limits       N must be a multiple of TILE_WIDTH, and a block is TILE_WIDTH x TILE_WIDTH threads.

extern "C" __global__ void broken_inner_barrier(const float* A, const float* B, float* C, int N)
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

        for (int k = 0; k < TILE_WIDTH; k++) {
            value += tile_a[ty][k] * tile_b[k][tx];
            __syncthreads();
        }
        C[row * N + col] = value;
    }
}
