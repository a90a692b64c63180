// buffers that the host sets to 0: one by its elements, one by its bytes
#include <cuda_runtime.h>
#define COUNT 64
__global__ void adds(const int *sums, const int *x, int *out) { out[threadIdx.x] = sums[threadIdx.x] + x[threadIdx.x]; }
__global__ void takes(const int *sums, int *out) { out[threadIdx.x] = sums[threadIdx.x] - 1; }
int main()
{
    int *sums, *x, *out;
    cudaMalloc(&sums, COUNT * sizeof(int));
    cudaMalloc((void **)&x, COUNT * sizeof(int));
    cudaMalloc(&out, COUNT * sizeof(int));
    cudaMemset(sums, 0, COUNT);
    cudaMemset(x, 0, COUNT * sizeof(int));
    adds<<<1, COUNT>>>(sums, x, out);
    cudaMemset(sums, 0, COUNT * sizeof(int));
    takes<<<1, COUNT>>>(sums, out);
    return cudaDeviceSynchronize();
}
