// 10 uncoalesced: C = A B, neighbouring threads take neighbouring rows.
//
// The idea     One thread computes one element of C. Threads of a warp differ in threadIdx.x, and
//              here x chooses the row: at every step the warp reads A in 32 different rows, N floats
//              apart, and each of those floats drags in a sector of 32 bytes of its own.
// Against 00   A loop over k, and two indices a thread in place of one.
// Look at      The load of A: 32 sectors for 32 floats where 4 would hold them. The load of B is the
//              same float for every lane of a warp. The store of C is as scattered as A.
// Limits       Any N. A block is block_x x block_y threads; a warp is 32 of them, x first.

extern "C" __global__ void uncoalesced(const float* A, const float* B, float* C, int N)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int col = blockIdx.y * blockDim.y + threadIdx.y;

    if (row < N && col < N) {
        float value = 0.0f;
        for (int k = 0; k < N; k++)
            value += A[row * N + k] * B[k * N + col];
        C[row * N + col] = value;
    }
}
