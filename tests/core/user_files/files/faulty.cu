#include <cuda_runtime.h>
#define SIDE 16
__global__ void oneTooMany(const float *a, float *b, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i <= n) b[i] = a[i]; }
__global__ void noBarrier(const float *in, float *out, int n)
{
    __shared__ float tile[SIDE][SIDE + 1];
    int x = blockIdx.x * SIDE + threadIdx.x, y = blockIdx.y * SIDE + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = in[y * n + x];
    out[(blockIdx.x * SIDE + threadIdx.y) * n + blockIdx.y * SIDE + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
__global__ void wrongStride(const float *in, float *out, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < w && y < h) out[y * h + x + w] = in[y * w + x];
}
__global__ void overflows(float *a, int rows)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows) a[i * 65536 * 1024] = 1.f;
}
__global__ void leavesEarly(const float *a, float *o, int n)
{
    __shared__ float s[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    s[threadIdx.x] = a[i];
    __syncthreads();
    o[i] = s[(threadIdx.x + 1) % blockDim.x];
}
__global__ void neverSet(const int *a, int *o) { __shared__ int sum; atomicAdd(&sum, a[threadIdx.x]); __syncthreads(); o[threadIdx.x] = sum; }
__global__ void unordered(const int *a, int *o, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) o[0] += a[i]; }
__global__ void misread(const unsigned char *a, int *o) { o[threadIdx.x] = *(const int *)(a + (threadIdx.x & 31)); }
__global__ void hangs(volatile int *flag) { while (*flag == 0) ; }
__global__ void goneLane(int *a) { if (threadIdx.x < 20) a[threadIdx.x] = __shfl_sync(0xffffffff, a[threadIdx.x], 31); }
