// 20 aat_strided: C = A Aᵀ, where reading a transpose means striding through memory.
//
// The idea     Column col of Aᵀ is row col of A, so no transposed copy is needed: the second factor is
//              read from A too. But the lanes of a warp have neighbouring columns, hence neighbouring
//              rows of A, and their reads lie N floats apart. The mapping that was right for A B is
//              wrong for half of this product, and no other mapping repairs both halves.
// Against 11   B[k * N + col] becomes A[col * N + k].
// Look at      The second load: 32 sectors a request at every step, though the first stays at 1.
// Limits       Any N.

extern "C" __global__ void aat_strided(const float* A, float* C, int N)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;

    if (row < N && col < N) {
        float value = 0.0f;
        for (int k = 0; k < N; k++)
            value += A[row * N + k] * A[col * N + k];
        C[row * N + col] = value;
    }
}
