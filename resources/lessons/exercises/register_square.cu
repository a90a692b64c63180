// A square of C a thread; every product reads both factors from shared memory.
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

        for (int k = 0; k < TILE_K; k++)
            for (int i = 0; i < THREAD_M; i++)
                for (int j = 0; j < THREAD_N; j++)
                    values[i][j] +=
                        tile_a[ty * THREAD_M + i][k] * tile_b[k][tx * THREAD_N + j];
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
