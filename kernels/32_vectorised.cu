// 32 vectorised: C = A B, four floats at a time.
//
// The idea     A float4 is fetched by one instruction of 128 bits where four floats take four. Global
//              memory allows it along rows. Shared memory allows it along the rows of the tiles, and a
//              thread wants neighbouring rows of A for one k, so tile_a is stored transposed: tile_a[k]
//              holds a column of A, and a thread's THREAD_M elements of it lie side by side.
// Against 31   float4 in every copy and store, and tile_a[k][row] in place of tile_a[row][k].
// Look at      Requests: a quarter of those of 31 in global memory, fewer in shared memory; sectors
//              stay. The stores into tile_a stay single, since the four elements go to four rows.
// Limits       A float4 must lie at a multiple of 16 bytes, so that rows must be a multiple of four
//              floats long: K % 4 == 0 and N % 4 == 0. Any M. THREAD_M and THREAD_N are multiples of 4.

#define THREADS ((TILE_N / THREAD_N) * (TILE_M / THREAD_M))

extern "C" __global__ void __launch_bounds__(THREADS, 2)
vectorised(const float* A, const float* B, float* C, int M, int K, int N)
{
    __shared__ __align__(16) float tile_a[TILE_K][TILE_M];
    __shared__ __align__(16) float tile_b[TILE_K][TILE_N];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int thread = ty * (TILE_N / THREAD_N) + tx;
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
                *(float4*)&a[i] = *(float4*)&tile_a[k][ty * THREAD_M + i];
            #pragma unroll
            for (int j = 0; j < THREAD_N; j += 4)
                *(float4*)&b[j] = *(float4*)&tile_b[k][tx * THREAD_N + j];
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
            int row = tile_row + ty * THREAD_M + i;
            int col = tile_col + tx * THREAD_N + j;
            if (row < M && col < N)
                *(float4*)&C[row * N + col] = *(float4*)&values[i][j];
        }
}
