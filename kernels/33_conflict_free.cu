// 33 conflict_free: C = A B, with every lane's float4 in banks of its own.
//
// The idea     A float4 is served to eight lanes at a time, since eight of them fill the 32 banks. In
//              32 the lanes' columns begin THREAD_N apart: with 8 that is every second float4, and
//              eight of them meet in half of the banks. Deal the columns out in fours instead: a thread
//              takes columns 4 * tx to 4 * tx + 3 and then the four that lie COL_STEP further on, so
//              that neighbouring lanes read neighbouring float4s. Rows are dealt out likewise. The
//              stores into the transposed tile collide as well, because two lanes that hold different k
//              of one row are a whole number of tile rows apart: four unused columns (PAD) move each k
//              by four banks.
// Against 32   Where a thread's rows and columns are (ROW_STEP, COL_STEP), and + PAD in tile_a.
// Look at      Conflicts of both tiles: none. The store of C: neighbouring lanes store neighbouring
//              float4s.
// Limits       As 32. With TILE_K = 8 no store collides; with 16 four k share the banks of two.

#define THREADS ((TILE_N / THREAD_N) * (TILE_M / THREAD_M))
#define ROW_STEP (TILE_M / THREAD_M * 4)
#define COL_STEP (TILE_N / THREAD_N * 4)
#define PAD 4

extern "C" __global__ void __launch_bounds__(THREADS, 2)
conflict_free(const float* A, const float* B, float* C, int M, int K, int N)
{
    __shared__ __align__(16) float tile_a[TILE_K][TILE_M + PAD];
    __shared__ __align__(16) float tile_b[TILE_K][TILE_N];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int thread = ty * (TILE_N / THREAD_N) + tx;
    int thread_row = ty * 4;
    int thread_col = tx * 4;
    int tile_row = blockIdx.y * TILE_M;
    int tile_col = blockIdx.x * TILE_N;

    const float4 zeros = {};
    __align__(16) float values[THREAD_M][THREAD_N] = {};
    for (int phase = 0; phase < (K + TILE_K - 1) / TILE_K; phase++) {
        int first = phase * TILE_K;
        for (int i = 0; i < TILE_M * TILE_K; i += 4 * THREADS) {
            int e = i + 4 * thread;
            int row = e / TILE_K;
            int k = e % TILE_K;
            bool exists = tile_row + row < M && first + k < K;
            float4 four = exists ? *(const float4*)&A[(tile_row + row) * K + first + k] : zeros;
            tile_a[k + 0][row] = four.x;
            tile_a[k + 1][row] = four.y;
            tile_a[k + 2][row] = four.z;
            tile_a[k + 3][row] = four.w;
        }
        for (int i = 0; i < TILE_K * TILE_N; i += 4 * THREADS) {
            int e = i + 4 * thread;
            int k = e / TILE_N;
            int col = e % TILE_N;
            bool exists = first + k < K && tile_col + col < N;
            float4 four = exists ? *(const float4*)&B[(first + k) * N + tile_col + col] : zeros;
            *(float4*)&tile_b[k][col] = four;
        }
        __syncthreads();

        #pragma unroll
        for (int k = 0; k < TILE_K; k++) {
            __align__(16) float a[THREAD_M], b[THREAD_N];
            #pragma unroll
            for (int i = 0; i < THREAD_M; i += 4)
                *(float4*)&a[i] = *(float4*)&tile_a[k][thread_row + i / 4 * ROW_STEP];
            #pragma unroll
            for (int j = 0; j < THREAD_N; j += 4)
                *(float4*)&b[j] = *(float4*)&tile_b[k][thread_col + j / 4 * COL_STEP];
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
