// 40 tensor_core: C = A B on tensor cores. Another arithmetic: TF32.
//
// The idea     A tensor core multiplies small matrices in one instruction of a whole warp: here 16 x 8
//              by 8 x 8, 1024 multiply-adds where an FFMA does 32. Its factors are TF32: floats of
//              which only the first 10 bits after the point count (the rest is cut off), while products
//              are added up in float32. The result is good to about three digits. It is not what 36
//              computes.
// Against 35   The elements of A, B and C are dealt out to lanes as the instruction wants them: a lane
//              holds four elements of a 16 x 8 piece of A, two of an 8 x 8 piece of B and four of a 16
//              x 8 piece of C. Tiles are no longer read as float4, so that tile_a keeps the shape of A.
//              The padding is chosen so that the 32 single reads fall into 32 banks.
// Look at      Which lane holds which element: group = lane / 4 counts rows of A and C and columns of
//              B, place = lane % 4 counts k, or pairs of columns of C. Conflicts of the reads: none. The
//              copies into tile_a collide where TILE_K is 16, since two rows then meet in the banks.
// Limits       K % 4 == 0 and N % 4 == 0, for the copies of four floats. Any M. Compute capability 8.0.

#define THREADS (32 * (TILE_M / WARP_M) * (TILE_N / WARP_N))
#define PAD_A 4
#define PAD_B 8

__device__ __forceinline__ void copy_async_4(float* to, const float* from, bool exists)
{
    unsigned address = __cvta_generic_to_shared(to);
    int bytes = exists ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"(address), "l"(from), "r"(bytes));
}

// c += a * b, 16 x 8 by 8 x 8.
__device__ __forceinline__ void multiply_add(float (&c)[4], const float (&a)[4], const float (&b)[2])
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])),
          "r"(__float_as_uint(a[3])), "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])));
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
tensor_core(const float* A, const float* B, float* C, int M, int K, int N)
{
    __shared__ __align__(16) float tile_a[2][TILE_M][TILE_K + PAD_A];
    __shared__ __align__(16) float tile_b[2][TILE_K][TILE_N + PAD_B];

    int thread = threadIdx.x;
    int warp = thread / 32;
    int lane = thread % 32;
    int group = lane / 4;
    int place = lane % 4;
    int warp_row = warp / (TILE_N / WARP_N) * WARP_M;
    int warp_col = warp % (TILE_N / WARP_N) * WARP_N;
    int tile_row = blockIdx.y * TILE_M;
    int tile_col = blockIdx.x * TILE_N;
    int phases = (K + TILE_K - 1) / TILE_K;

    float values[WARP_M / 16][WARP_N / 8][4] = {};
    for (int phase = 0; phase <= phases; phase++) {
        int first = phase * TILE_K;
        int fetched = phase % 2;
        if (phase < phases) {
            for (int i = 0; i < TILE_M * TILE_K; i += 4 * THREADS) {
                int e = i + 4 * thread;
                int row = e / TILE_K;
                int k = e % TILE_K;
                bool exists = tile_row + row < M && first + k < K;
                const float* from = &A[(tile_row + row) * K + first + k];
                copy_async_4(&tile_a[fetched][row][k], from, exists);
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
        for (int k = 0; k < TILE_K; k += 8) {
            float a[WARP_M / 16][4], b[WARP_N / 8][2];
            #pragma unroll
            for (int i = 0; i < WARP_M / 16; i++)
                #pragma unroll
                for (int l = 0; l < 4; l++) {
                    int row = warp_row + i * 16 + group + l % 2 * 8;
                    a[i][l] = tile_a[ready][row][k + place + l / 2 * 4];
                }
            #pragma unroll
            for (int j = 0; j < WARP_N / 8; j++)
                #pragma unroll
                for (int l = 0; l < 2; l++)
                    b[j][l] = tile_b[ready][k + place + l * 4][warp_col + j * 8 + group];
            #pragma unroll
            for (int i = 0; i < WARP_M / 16; i++)
                #pragma unroll
                for (int j = 0; j < WARP_N / 8; j++)
                    multiply_add(values[i][j], a[i], b[j]);
        }
        __syncthreads();
    }

    #pragma unroll
    for (int i = 0; i < WARP_M / 16; i++)
        #pragma unroll
        for (int j = 0; j < WARP_N / 8; j++)
            #pragma unroll
            for (int l = 0; l < 4; l += 2) {
                int row = tile_row + warp_row + i * 16 + group + l / 2 * 8;
                int col = tile_col + warp_col + j * 8 + place * 2;
                float2 pair = make_float2(values[i][j][l], values[i][j][l + 1]);
                if (row < M && col < N)
                    *(float2*)&C[row * N + col] = pair;
            }
}
