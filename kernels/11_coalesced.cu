// 11 coalesced: C = A B, neighbouring threads take neighbouring columns.
//
// The idea     Matrices lie in memory row by row. Let threadIdx.x choose the column, and a warp's 32
//              reads of B fall into one line, its reads of A become one float that all lanes share,
//              and its stores to C lie side by side.
// Against 10   x and y change places in the two lines that choose row and col. Nothing else.
// Look at      The load of B: 4 sectors a request. The load of A: 1. The arithmetic is what it was.
// Limits       Any N. Every element of A and B is still fetched N times over, by N threads.

extern "C" __global__ void coalesced(const float* A, const float* B, float* C, int N)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;

    if (row < N && col < N) {
        float value = 0.0f;
        for (int k = 0; k < N; k++)
            value += A[row * N + k] * B[k * N + col];
        C[row * N + col] = value;
    }
}
