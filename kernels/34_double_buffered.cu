// 34 double_buffered: C = A B, the next tiles are on their way while these are multiplied.
//
// The idea     Until now a block fetches or multiplies, never both. Give each tile two buffers and copy
//              with cp.async, which writes to shared memory without passing through registers and
//              without making anybody wait: start the copies for one phase, multiply what the phase
//              before has brought, and only then wait for them.
// Against 33   The loop runs one phase further: it fetches for `phase` and multiplies for `phase - 1`,
//              in the other buffer. Copies of A are single floats, because a copy cannot turn a float4
//              from a row of A into a column of the tile; they cost no registers and run beside the
//              arithmetic. A copy with nothing to copy fills with zeros.
// Look at      The lines of one phase: copies, then the arithmetic of the other buffer, then the
//              barrier. The emulator copies at once; the GPU takes its time, and that is the gain.
// Limits       N % 4 == 0, for the float4s of B and C. Any M and K. cp.async needs compute capability
//              8.0.

#define THREADS ((TILE_N / THREAD_N) * (TILE_M / THREAD_M))
#define ROW_STEP (TILE_M / THREAD_M * 4)
#define COL_STEP (TILE_N / THREAD_N * 4)
#define PAD 4

__device__ __forceinline__ void copy_async_1(float* to, const float* from, bool exists)
{
    unsigned address = __cvta_generic_to_shared(to);
    int bytes = exists ? 4 : 0;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                 :: "r"(address), "l"(from), "r"(bytes));
}

__device__ __forceinline__ void copy_async_4(float* to, const float* from, bool exists)
{
    unsigned address = __cvta_generic_to_shared(to);
    int bytes = exists ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"(address), "l"(from), "r"(bytes));
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
double_buffered(const float* A, const float* B, float* C, int M, int K, int N)
{
    __shared__ __align__(16) float tile_a[2][TILE_K][TILE_M + PAD];
    __shared__ __align__(16) float tile_b[2][TILE_K][TILE_N];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int thread = ty * (TILE_N / THREAD_N) + tx;
    int thread_row = ty * 4;
    int thread_col = tx * 4;
    int tile_row = blockIdx.y * TILE_M;
    int tile_col = blockIdx.x * TILE_N;
    int phases = (K + TILE_K - 1) / TILE_K;

    __align__(16) float values[THREAD_M][THREAD_N] = {};
    for (int phase = 0; phase <= phases; phase++) {
        int first = phase * TILE_K;
        int fetched = phase % 2;
        if (phase < phases) {
            for (int i = 0; i < TILE_M * TILE_K; i += THREADS) {
                int e = i + thread;
                int row = e / 8 % TILE_M;
                int k = e / (8 * TILE_M) * 8 + e % 8;
                bool exists = tile_row + row < M && first + k < K;
                const float* from = &A[(tile_row + row) * K + first + k];
                copy_async_1(&tile_a[fetched][k][row], from, exists);
            }
            for (int i = 0; i < TILE_K * TILE_N; i += 4 * THREADS) {
                int e = i + 4 * thread;
                int k = e / TILE_N;
                int col = e % TILE_N;
                bool exists = first + k < K && tile_col + col < N;
                const float* from = &B[(first + k) * N + tile_col + col];
                copy_async_4(&tile_b[fetched][k][col], from, exists);
            }
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
        if (phase == 0)
            continue;

        int ready = 1 - fetched;
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();

        #pragma unroll
        for (int k = 0; k < TILE_K; k++) {
            __align__(16) float a[THREAD_M], b[THREAD_N];
            #pragma unroll
            for (int i = 0; i < THREAD_M; i += 4)
                *(float4*)&a[i] = *(float4*)&tile_a[ready][k][thread_row + i / 4 * ROW_STEP];
            #pragma unroll
            for (int j = 0; j < THREAD_N; j += 4)
                *(float4*)&b[j] = *(float4*)&tile_b[ready][k][thread_col + j / 4 * COL_STEP];
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
        for (int j = 0; j < THREAD_N; j += 4) {
            int row = tile_row + thread_row + i / 4 * ROW_STEP + i % 4;
            int col = tile_col + thread_col + j / 4 * COL_STEP;
            if (row < M && col < N)
                *(float4*)&C[row * N + col] = *(float4*)&values[i][j];
        }
}
