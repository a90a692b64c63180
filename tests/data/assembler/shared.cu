// Shared memory in loops and branches: what a register keeps, joins of loads and of stores.

#define ROW (blockIdx.x * blockDim.x + threadIdx.x)

extern "C" __global__ void serial_scan(const int *a, int *out, int n)
{
    __shared__ int s[128];
    s[threadIdx.x] = a[ROW];
    __syncthreads();
    if (threadIdx.x == 0)
        for (int i = 1; i < n; i++)
            s[i] += s[i - 1];
    __syncthreads();
    out[ROW] = s[threadIdx.x];
}

extern "C" __global__ void fixed_scan(const int *a, int *out)
{
    __shared__ int s[4][64];
    s[0][threadIdx.x] = a[ROW];
    __syncthreads();
    for (int k = 1; k < 4; k++) {
        s[k][threadIdx.x] = s[k - 1][threadIdx.x] + s[k - 1][threadIdx.x ^ 1];
        __syncwarp();
    }
    __syncthreads();
    out[ROW] = s[3][threadIdx.x];
}

extern "C" __global__ void tree(const float *a, float *out)
{
    __shared__ float s[128];
    s[threadIdx.x] = a[ROW];
    __syncthreads();
    for (int d = blockDim.x / 2; d > 0; d >>= 1) {
        if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}

extern "C" __global__ void own_sum(const float *a, float *out, int n)
{
    __shared__ float s[128];
    s[threadIdx.x] = 0;
    for (int i = 0; i < n; i++)
        s[threadIdx.x] += a[i * 128 + threadIdx.x];
    out[ROW] = s[threadIdx.x];
}

extern "C" __global__ void dot_rows(const float *a, const float *b, float *out, int n)
{
    __shared__ float s[32][33];
    for (int r = threadIdx.y; r < 32; r += blockDim.y)
        s[r][threadIdx.x] = a[r * 32 + threadIdx.x] * b[blockIdx.x];
    __syncthreads();
    float sum = 0;
    for (int k = threadIdx.y; k < n; k++)
        sum += s[threadIdx.x][k] * s[k][threadIdx.x];
    out[(blockIdx.x * blockDim.y + threadIdx.y) * 32 + threadIdx.x] = sum;
}

extern "C" __global__ void four_at_once(const float *a, float *out)
{
    __shared__ float s[256];
    for (int k = 0; k < 4; k++)
        s[4 * threadIdx.x + k] = a[4 * ROW + k];
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < 4; k++)
        sum += s[4 * (threadIdx.x ^ 5) + k] * (k + 1);
    out[ROW] = sum;
}

extern "C" __global__ void histogram(const unsigned *a, unsigned *out, int n)
{
    __shared__ unsigned bins[16];
    if (threadIdx.x < 16) bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        atomicAdd(&bins[a[i] & 15], 1u);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}

extern "C" __global__ void divergent_tile(const float *a, const int *n, float *out)
{
    __shared__ float s[64];
    s[threadIdx.x] = a[ROW];
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < n[threadIdx.x]; k++)
        sum += s[k] * s[63 - k];
    out[ROW] = sum;
}
