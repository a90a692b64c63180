// 36 tuned: C = A B, tuned for Ampere and Hopper.
//
// The idea     Four things on top of 35.
//              1. STAGES buffers for each tile in place of two: STAGES - 1 phases are under way, so
//                 that a copy may take longer than a phase; and one barrier a phase is enough.
//              2. The elements for the next k are read while those for this k are multiplied: two sets
//                 of registers, and at the last k of a phase the first of the next phase.
//              3. Rows are multiplied to and fro. The order changes no result, but at each turn an
//                 operand is used twice in a row, and need not be fetched from the register file again.
//              4. Blocks take tiles of C in groups of GROUP rows, so that those running at a time need
//                 few different rows of A and columns of B, and find them in the L2 cache.
// Against 35   The above. Rows and columns beyond the edge are no longer filled with zeros: the copies
//              take the last one instead, and nobody stores what comes of it; only beyond K zeros are
//              needed. Where N is no multiple of 4, VECTOR is 1 and B and C are moved float by float.
// Look at      Barriers: one a phase. As compiled, one 128-bit read of shared memory for 16 multiply-adds
//              with 8 x 8 a thread, and for 21 with 16 x 8.
// Limits       Any M, K and N. A warp computes 4 * THREAD_M x 8 * THREAD_N elements. Shared memory is
//              dynamic, since three stages of tiles of 128 take more than the 48 KiB that static memory
//              may have. scripts/tune_ladder.py finds parameters that are fast. cp.async needs compute
//              capability 8.0.

#define WARP_M (4 * THREAD_M)
#define WARP_N (8 * THREAD_N)
#define THREADS (32 * (TILE_N / WARP_N) * (TILE_M / WARP_M))
#define ROW_STEP 16
#define COL_STEP 32
#define PAD 4
#define A_COPIES (8 * TILE_M / THREADS)
#define B_ROWS (THREADS * VECTOR / TILE_N)

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

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
tuned(const float* A, const float* B, float* C, int M, int K, int N)
{
    extern __shared__ __align__(16) float shared[];
    float (*tile_a)[TILE_K][TILE_M + PAD] = (float (*)[TILE_K][TILE_M + PAD])shared;
    float (*tile_b)[TILE_K][TILE_N] = (float (*)[TILE_K][TILE_N])(tile_a + STAGES);

    int thread = threadIdx.x;
    int warp = thread / 32;
    int lane = thread % 32;
    int lane_row = lane / 16 * 2 + lane % 2;
    int lane_col = lane / 2 % 8;
    int thread_row = warp / (TILE_N / WARP_N) * WARP_M + lane_row * 4;
    int thread_col = warp % (TILE_N / WARP_N) * WARP_N + lane_col * 4;

    int number = blockIdx.y * gridDim.x + blockIdx.x;
    int first_row = number / (GROUP * gridDim.x) * GROUP;
    int height = min(GROUP, gridDim.y - first_row);
    int tile_row = (first_row + number % (GROUP * gridDim.x) % height) * TILE_M;
    int tile_col = number % (GROUP * gridDim.x) / height * TILE_N;
    int phases = (K + TILE_K - 1) / TILE_K;

    int a_k = thread % 8;
    int b_k = thread * VECTOR / TILE_N;
    int b_col = thread * VECTOR % TILE_N;
    const float* a_from[A_COPIES];
    #pragma unroll
    for (int i = 0; i < A_COPIES; i++) {
        int row = min(tile_row + (i * THREADS + thread) / 8, M - 1);
        a_from[i] = &A[(size_t)row * K + a_k];
    }
    const float* b_from = &B[(size_t)b_k * N + min(tile_col + b_col, N - VECTOR)];

    auto fetch_tiles = [&](int phase, int stage) {
        int first = phase * TILE_K;
        #pragma unroll
        for (int i = 0; i < A_COPIES; i++)
            #pragma unroll
            for (int k = 0; k < TILE_K; k += 8) {
                int row = (i * THREADS + thread) / 8;
                copy_async_1(&tile_a[stage][k + a_k][row], a_from[i] + first + k, first + k + a_k < K);
            }
        #pragma unroll
        for (int k = 0; k < TILE_K; k += B_ROWS) {
            const float* from = b_from + (size_t)(first + k) * N;
            bool exists = first + k + b_k < K;
            if (VECTOR == 4)
                copy_async_4(&tile_b[stage][k + b_k][b_col], from, exists);
            else
                copy_async_1(&tile_b[stage][k + b_k][b_col], from, exists);
        }
    };

    __align__(16) float values[THREAD_M][THREAD_N] = {};
    __align__(16) float a[2][THREAD_M], b[2][THREAD_N];

    auto read_shared = [&](int into, int stage, int k) {
        #pragma unroll
        for (int i = 0; i < THREAD_M; i += 4)
            *(float4*)&a[into][i] = *(float4*)&tile_a[stage][k][thread_row + i / 4 * ROW_STEP];
        #pragma unroll
        for (int j = 0; j < THREAD_N; j += 4)
            *(float4*)&b[into][j] = *(float4*)&tile_b[stage][k][thread_col + j / 4 * COL_STEP];
    };

    auto multiply = [&](int from) {
        #pragma unroll
        for (int i = 0; i < THREAD_M; i++)
            #pragma unroll
            for (int step = 0; step < THREAD_N; step++) {
                int j = i % 2 ? THREAD_N - 1 - step : step;
                values[i][j] += a[from][i] * b[from][j];
            }
    };

    #pragma unroll
    for (int stage = 0; stage < STAGES - 1; stage++) {
        fetch_tiles(stage, stage);
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 2) : "memory");
    __syncthreads();
    read_shared(0, 0, 0);

    int ready = 0;
    int fetched = STAGES - 1;
    for (int phase = 0; phase < phases; phase++) {
        #pragma unroll
        for (int k = 0; k < TILE_K; k++) {
            if (k == TILE_K - 1) {  // the next reads are of the next tiles: all must be there
                asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 2) : "memory");
                __syncthreads();
                ready = ready + 1 == STAGES ? 0 : ready + 1;
            }
            read_shared((k + 1) % 2, ready, (k + 1) % TILE_K);
            if (k == 0) {  // nobody reads the tiles of the last phase any more: fill their buffers
                fetch_tiles(phase + STAGES - 1, fetched);
                asm volatile("cp.async.commit_group;" ::: "memory");
                fetched = fetched + 1 == STAGES ? 0 : fetched + 1;
            }
            multiply(k % 2);
        }
    }

    #pragma unroll
    for (int i = 0; i < THREAD_M; i++)
        #pragma unroll
        for (int j = 0; j < THREAD_N; j += 4) {
            int row = tile_row + thread_row + i / 4 * ROW_STEP + i % 4;
            int col = tile_col + thread_col + j / 4 * COL_STEP;
            if (VECTOR == 4 && row < M && col < N)
                *(float4*)&C[(size_t)row * N + col] = *(float4*)&values[i][j];
            #pragma unroll
            for (int l = 0; l < 4; l++)
                if (VECTOR == 1 && row < M && col + l < N)
                    C[(size_t)row * N + col + l] = values[i][j + l];
        }
}
