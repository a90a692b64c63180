// 41 tensor_tuned: C = A B on tensor cores, tuned. Another arithmetic: TF32.
//
// The idea     Tensor cores are so fast that everything else must keep out of their way. What 36 added
//              to 35 is added to 40: STAGES buffers for each tile, a second set of registers for the
//              next k, and blocks in groups of rows. Two things make the reads of shared memory fewer:
//              1. ldmatrix reads a whole 16 x 8 piece of A with one instruction: each lane names a row
//                 of four floats, and every lane gets its four elements.
//              2. The factors change places: the instruction gets 16 columns of B as its first and 8
//                 rows of A as its second, and multiplies to a piece of C transposed. Which of the 16
//                 columns is which is free to choose: those that it wants in neighbouring registers are
//                 neighbours in tile_b, and one float2 brings both.
// Against 40   The above; beyond the edge the last row and column are copied in place of zeros, as in
//              36.
// Look at      Requests of tile_a: a quarter of those of 40, of tile_b half, with the same wavefronts.
//              Tiles of 128 x 256 are used for 43 operations a byte: at 230 TFLOPS the L2 cache still has
//              to give more than 5 TB/s.
// Limits       K % 4 == 0 and N % 4 == 0. Any M. Compute capability 8.0. On Hopper only wgmma, which
//              exists there alone, reaches the tensor cores' full rate.

#define THREADS (32 * (TILE_M / WARP_M) * (TILE_N / WARP_N))
#define PAD_A 4
#define PAD_B 8
#define A_ROWS (THREADS * 4 / TILE_K)
#define B_ROWS (THREADS * 4 / TILE_N)

__device__ __forceinline__ void copy_async_4(float* to, const float* from, bool exists)
{
    unsigned address = __cvta_generic_to_shared(to);
    int bytes = exists ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"(address), "l"(from), "r"(bytes));
}

// Four 8 x 4 pieces: lane l names row l % 8 of piece l / 8, and gets element [l / 4][l % 4] of each.
__device__ __forceinline__ void read_matrices(unsigned (&upper)[2], unsigned (&lower)[2],
                                              const float* row)
{
    unsigned address = __cvta_generic_to_shared(row);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(upper[0]), "=r"(upper[1]), "=r"(lower[0]), "=r"(lower[1]) : "r"(address));
}

// c += a * b, 8 x 8 by 8 x 16; the instruction multiplies b by a, transposed, to c transposed.
__device__ __forceinline__ void multiply_add(float (&c)[4], const unsigned (&a)[2],
                                             const unsigned (&b)[4])
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(a[0]), "r"(a[1]));
}

extern "C" __global__ void __launch_bounds__(THREADS)
tensor_tuned(const float* A, const float* B, float* C, int M, int K, int N)
{
    extern __shared__ __align__(16) float shared[];
    float (*tile_a)[TILE_M][TILE_K + PAD_A] = (float (*)[TILE_M][TILE_K + PAD_A])shared;
    float (*tile_b)[TILE_K][TILE_N + PAD_B] = (float (*)[TILE_K][TILE_N + PAD_B])(tile_a + STAGES);

    int thread = threadIdx.x;
    int warp = thread / 32;
    int lane = thread % 32;
    int group = lane / 4;
    int place = lane % 4;
    int warp_row = warp / (TILE_N / WARP_N) * WARP_M;
    int warp_col = warp % (TILE_N / WARP_N) * WARP_N;

    int number = blockIdx.y * gridDim.x + blockIdx.x;
    int first_row = number / (GROUP * gridDim.x) * GROUP;
    int height = min(GROUP, gridDim.y - first_row);
    int tile_row = (first_row + number % (GROUP * gridDim.x) % height) * TILE_M;
    int tile_col = number % (GROUP * gridDim.x) / height * TILE_N;
    int phases = (K + TILE_K - 1) / TILE_K;

    int a_row = thread * 4 / TILE_K;
    int a_k = thread * 4 % TILE_K;
    int b_k = thread * 4 / TILE_N;
    int b_col = thread * 4 % TILE_N;
    const float* a_from[TILE_M / A_ROWS];
    #pragma unroll
    for (int i = 0; i < TILE_M / A_ROWS; i++)
        a_from[i] = &A[(size_t)min(tile_row + i * A_ROWS + a_row, M - 1) * K + a_k];
    const float* b_from = &B[(size_t)b_k * N + min(tile_col + b_col, N - 4)];

    auto fetch_tiles = [&](int phase, int stage) {
        int first = phase * TILE_K;
        #pragma unroll
        for (int i = 0; i < TILE_M / A_ROWS; i++)
            copy_async_4(&tile_a[stage][i * A_ROWS + a_row][a_k], a_from[i] + first, first + a_k < K);
        #pragma unroll
        for (int k = 0; k < TILE_K; k += B_ROWS) {
            const float* from = b_from + (size_t)(first + k) * N;
            copy_async_4(&tile_b[stage][k + b_k][b_col], from, first + k + b_k < K);
        }
    };

    float values[WARP_M / 8][WARP_N / 16][4] = {};
    __align__(8) unsigned a[2][WARP_M / 8][2], b[2][WARP_N / 16][4];

    auto read_shared = [&](int into, int stage, int k) {
        #pragma unroll
        for (int i = 0; i < WARP_M / 8; i += 2) {
            int row = warp_row + i * 8 + lane / 16 * 8 + lane % 8;
            read_matrices(a[into][i], a[into][i + 1], &tile_a[stage][row][k + lane / 8 % 2 * 4]);
        }
        #pragma unroll
        for (int j = 0; j < WARP_N / 16; j++)
            #pragma unroll
            for (int l = 0; l < 2; l++) {
                int col = warp_col + j * 16 + group * 2;
                *(uint2*)&b[into][j][l * 2] = *(uint2*)&tile_b[stage][k + place + l * 4][col];
            }
    };

    auto multiply = [&](int from) {
        #pragma unroll
        for (int j = 0; j < WARP_N / 16; j++)
            #pragma unroll
            for (int step = 0; step < WARP_M / 8; step++) {
                int i = j % 2 ? WARP_M / 8 - 1 - step : step;
                multiply_add(values[i][j], a[from][i], b[from][j]);
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
        for (int k = 0; k < TILE_K; k += 8) {
            if (k == TILE_K - 8) {  // the next reads are of the next tiles: all must be there
                asm volatile("cp.async.wait_group %0;" :: "n"(STAGES - 2) : "memory");
                __syncthreads();
                ready = ready + 1 == STAGES ? 0 : ready + 1;
            }
            read_shared((k / 8 + 1) % 2, ready, (k + 8) % TILE_K);
            if (k == 0) {  // nobody reads the tiles of the last phase any more: fill their buffers
                fetch_tiles(phase + STAGES - 1, fetched);
                asm volatile("cp.async.commit_group;" ::: "memory");
                fetched = fetched + 1 == STAGES ? 0 : fetched + 1;
            }
            multiply(k / 8 % 2);
        }
    }

    #pragma unroll
    for (int i = 0; i < WARP_M / 8; i++)
        #pragma unroll
        for (int j = 0; j < WARP_N / 16; j++)
            #pragma unroll
            for (int l = 0; l < 2; l++) {
                int row = tile_row + warp_row + i * 8 + place * 2 + l;
                int col = tile_col + warp_col + j * 16 + group * 2;
                float2 pair = make_float2(values[i][j][l], values[i][j][l + 2]);
                if (row < M && col < N)
                    *(float2*)&C[(size_t)row * N + col] = pair;
            }
}
