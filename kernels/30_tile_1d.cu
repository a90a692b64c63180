// 30 tile_1d: C = A B, a thread computes a column of THREAD_M elements.
//
// The idea     In 14 each multiply-add needs two reads of shared memory, and shared memory is what
//              limits it. Let a thread compute THREAD_M elements that lie below each other: it reads an
//              element of tile_b once, keeps it in a register and uses it THREAD_M times. That is
//              THREAD_M + 1 reads for THREAD_M multiply-adds in place of 2 * THREAD_M.
// Against 14   One value becomes an array of them, which the unrolled loop keeps in registers. The
//              tiles are no longer square, so that threads and elements to copy no longer match one to
//              one: all threads go over a tile together, THREADS elements at a time.
// Look at      Shared loads for each multiply-add, as compiled: falling with THREAD_M. Threads and
//              warps of a block: fewer, with more to do each.
// Limits       Any M, K and N. A block is TILE_N x TILE_M / THREAD_M threads.

#define THREADS (TILE_N * (TILE_M / THREAD_M))

extern "C" __global__ void tile_1d(const float* A, const float* B, float* C, int M, int K, int N)
{
    __shared__ float tile_a[TILE_M][TILE_K];
    __shared__ float tile_b[TILE_K][TILE_N];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int thread = ty * TILE_N + tx;
    int tile_row = blockIdx.y * TILE_M;
    int tile_col = blockIdx.x * TILE_N;

    float values[THREAD_M] = {};
    for (int phase = 0; phase < (K + TILE_K - 1) / TILE_K; phase++) {
        int first = phase * TILE_K;
        for (int i = 0; i < TILE_M * TILE_K; i += THREADS) {
            int e = i + thread;
            int row = e / TILE_K;
            int k = e % TILE_K;
            bool exists = tile_row + row < M && first + k < K;
            tile_a[row][k] = exists ? A[(tile_row + row) * K + first + k] : 0.0f;
        }
        for (int i = 0; i < TILE_K * TILE_N; i += THREADS) {
            int e = i + thread;
            int k = e / TILE_N;
            int col = e % TILE_N;
            bool exists = first + k < K && tile_col + col < N;
            tile_b[k][col] = exists ? B[(first + k) * N + tile_col + col] : 0.0f;
        }
        __syncthreads();

        #pragma unroll
        for (int k = 0; k < TILE_K; k++) {
            float b = tile_b[k][tx];
            #pragma unroll
            for (int i = 0; i < THREAD_M; i++)
                values[i] += tile_a[ty * THREAD_M + i][k] * b;
        }
        __syncthreads();
    }

    #pragma unroll
    for (int i = 0; i < THREAD_M; i++) {
        int row = tile_row + ty * THREAD_M + i;
        int col = tile_col + tx;
        if (row < M && col < N)
            C[row * N + col] = values[i];
    }
}
