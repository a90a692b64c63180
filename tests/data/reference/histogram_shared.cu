// Counts values in a block's own bins with shared atomics, then adds them to the global bins.
extern "C" __global__ void histogram_shared(const int* values, unsigned* bins, int n_bins, int n)
{
    __shared__ unsigned own[256];
    for (int b = threadIdx.x; b < n_bins; b += blockDim.x)
        own[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&own[values[i] % n_bins], 1u);
    __syncthreads();
    for (int b = threadIdx.x; b < n_bins; b += blockDim.x)
        atomicAdd(&bins[b], own[b]);
}
