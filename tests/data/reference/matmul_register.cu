// C = A B, square and a multiple of 32: 8 x 8 threads, each with a 4 x 4 piece of C in registers.
extern "C" __global__ void matmul_register(const float* A, const float* B, float* C, int n)
{
    __shared__ float a[32][8 + PAD];
    __shared__ float b[8][32];
    int tx = threadIdx.x, ty = threadIdx.y, t = ty * 8 + tx;
    float sum[4][4] = {};
    for (int start = 0; start < n; start += 8) {
        for (int e = t; e < 256; e += 64) {
            a[e / 8][e % 8] = A[(blockIdx.y * 32 + e / 8) * n + start + e % 8];
            b[e / 32][e % 32] = B[(start + e / 32) * n + blockIdx.x * 32 + e % 32];
        }
        __syncthreads();
        for (int p = 0; p < 8; p++)
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++)
                    sum[i][j] += a[ty * 4 + i][p] * b[p][tx * 4 + j];
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            C[(blockIdx.y * 32 + ty * 4 + i) * n + blockIdx.x * 32 + tx * 4 + j] = sum[i][j];
}
