// C (m x n) = A (m x k) B (k x n) through tiles of TILE x TILE, guarded at all edges.
extern "C" __global__ void matmul_tiled(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float a[TILE][TILE];
    __shared__ float b[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    float sum = 0.0f;
    for (int start = 0; start < k; start += TILE) {
        a[ty][tx] = row < m && start + tx < k ? A[row * k + start + tx] : 0.0f;
        b[ty][tx] = start + ty < k && col < n ? B[(start + ty) * n + col] : 0.0f;
        __syncthreads();
        for (int p = 0; p < TILE; p++)
            sum += a[ty][p] * b[p][tx];
        __syncthreads();
    }
    if (row < m && col < n)
        C[row * n + col] = sum;
}
