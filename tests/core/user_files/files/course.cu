// Four kernels of a course with the program that launches them, as students hand them in.
#include <cstdio>
#define TILE 16
#define BINS 64
#define COUNT (1 << 20)

__global__ void tiledProduct(const float* A, const float* B, float* C, int n)
{
    __shared__ float a[TILE][TILE], b[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int first = 0; first < n; first += TILE) {
        a[threadIdx.y][threadIdx.x] = A[row * n + first + threadIdx.x];
        b[threadIdx.y][threadIdx.x] = B[(first + threadIdx.y) * n + col];
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            sum += a[threadIdx.y][k] * b[k][threadIdx.x];
        __syncthreads();
    }
    C[row * n + col] = sum;
}

__global__ void turn(const float* in, float* out, int width, int height)
{
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void countBins(const unsigned* values, unsigned* bins, int n)
{
    __shared__ unsigned own[BINS];
    if (threadIdx.x < BINS)
        own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&own[values[i] % BINS], 1u);
    __syncthreads();
    if (threadIdx.x < BINS)
        atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

__global__ void everyThird(const float* in, float* out, int n)
{
    int i = 3 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n)
        out[i / 3] = in[i];
}

int main()
{
    int n = 512, width = 1024, height = 512;
    float *A, *B, *C, *in, *out;
    unsigned *values, *bins;
    cudaMalloc(&A, n * n * sizeof(float));
    cudaMalloc(&B, n * n * sizeof(float));
    cudaMalloc(&C, n * n * sizeof(float));
    cudaMalloc(&in, width * height * sizeof(float));
    cudaMalloc(&out, width * height * sizeof(float));
    cudaMalloc(&values, COUNT * sizeof(unsigned));
    cudaMalloc(&bins, BINS * sizeof(unsigned));
    tiledProduct<<<dim3(n / TILE, n / TILE), dim3(TILE, TILE)>>>(A, B, C, n);
    turn<<<dim3(width / 32, height / 32), dim3(32, 8)>>>(in, out, width, height);
    countBins<<<16, 256>>>(values, bins, COUNT);
    everyThird<<<(COUNT / 3 + 255) / 256, 256>>>(A, B, COUNT);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
