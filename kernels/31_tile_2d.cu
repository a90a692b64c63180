// 31 tile_2d: C = A B, a thread computes a square of THREAD_M x THREAD_N elements.
//
// The idea     What worked for columns works for rows as well. A thread fetches THREAD_M elements of
//              tile_a and THREAD_N of tile_b into registers and combines each with each: THREAD_M +
//              THREAD_N reads for THREAD_M * THREAD_N multiply-adds. With 8 x 8 that is a quarter of a
//              read for each, where 30 needs more than one and 14 two.
// Against 30   The values have two indices, and the elements of tile_a for one k are kept, too.
//              __launch_bounds__ makes the compiler leave registers for a second block on each SM.
// Look at      Shared loads for each multiply-add. Then the wavefronts of tile_b: the lanes' columns
//              lie THREAD_N apart, and the banks begin to collide. The store of C is scattered
//              likewise.
// Limits       Any M, K and N. A block is TILE_N / THREAD_N x TILE_M / THREAD_M threads.

#define THREADS ((TILE_N / THREAD_N) * (TILE_M / THREAD_M))

extern "C" __global__ void __launch_bounds__(THREADS, 2)
tile_2d(const float* A, const float* B, float* C, int M, int K, int N)
{
    __shared__ float tile_a[TILE_M][TILE_K];
    __shared__ float tile_b[TILE_K][TILE_N];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int thread = ty * (TILE_N / THREAD_N) + tx;
    int tile_row = blockIdx.y * TILE_M;
    int tile_col = blockIdx.x * TILE_N;

    float values[THREAD_M][THREAD_N] = {};
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
            float a[THREAD_M], b[THREAD_N];
            #pragma unroll
            for (int i = 0; i < THREAD_M; i++)
                a[i] = tile_a[ty * THREAD_M + i][k];
            #pragma unroll
            for (int j = 0; j < THREAD_N; j++)
                b[j] = tile_b[k][tx * THREAD_N + j];
            #pragma unroll
            for (int i = 0; i < THREAD_M; i++)
                #pragma unroll
                for (int j = 0; j < THREAD_N; j++)
                    values[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }

    #pragma unroll
    for (int i = 0; i < THREAD_M; i++)
        #pragma unroll
        for (int j = 0; j < THREAD_N; j++) {
            int row = tile_row + ty * THREAD_M + i;
            int col = tile_col + tx * THREAD_N + j;
            if (row < M && col < N)
                C[row * N + col] = values[i][j];
        }
}
