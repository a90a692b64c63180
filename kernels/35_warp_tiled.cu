// 35 warp_tiled: C = A B, the warps of a block divide its tile among them.
//
// The idea     What a warp asks of shared memory depends on the shape of what its lanes compute
//              together. Lanes numbered along the rows of the block make a warp long and flat: it reads
//              few elements of tile_a and many of tile_b. Lanes in 4 rows of 8 need fewer in all. And
//              shared memory serves a request for float4s in half the wavefronts where each lane and
//              its neighbour (lane xor 1, or lane xor 2) ask for the same one, so that the rows and
//              columns alternate: lane xor 1 changes the row only, lane xor 2 the column only.
// Against 34   Where a thread's rows and columns are, and blocks of one dimension. Nothing else.
// Look at      Wavefronts of shared memory, as compiled: two for a float4 where 34 takes up to four.
// Limits       N % 4 == 0. Any M and K. A warp computes 4 * THREAD_M x 8 * THREAD_N elements, and
//              TILE_M and TILE_N are multiples of that.

#define WARP_M (4 * THREAD_M)
#define WARP_N (8 * THREAD_N)
#define THREADS (32 * (TILE_N / WARP_N) * (TILE_M / WARP_M))
#define ROW_STEP 16
#define COL_STEP 32
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
warp_tiled(const float* A, const float* B, float* C, int M, int K, int N)
{
    __shared__ __align__(16) float tile_a[2][TILE_K][TILE_M + PAD];
    __shared__ __align__(16) float tile_b[2][TILE_K][TILE_N];

    int thread = threadIdx.x;
    int warp = thread / 32;
    int lane = thread % 32;
    int lane_row = lane / 16 * 2 + lane % 2;
    int lane_col = lane / 2 % 8;
    int thread_row = warp / (TILE_N / WARP_N) * WARP_M + lane_row * 4;
    int thread_col = warp % (TILE_N / WARP_N) * WARP_N + lane_col * 4;
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
