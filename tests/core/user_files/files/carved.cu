#include <cstdint>
// several arrays carved from one dynamic shared buffer, 1-D block of 64
__global__ void carved(const float *x, const int *keys, float *out, int n, int buckets)
{
    extern __shared__ __align__(16) unsigned char smem[];
    float *vals = reinterpret_cast<float *>(smem);
    int *counts = reinterpret_cast<int *>(vals + blockDim.x);
    uint8_t *flags = reinterpret_cast<uint8_t *>(counts + buckets);
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    for (int b = t; b < buckets; b += blockDim.x) counts[b] = 0;
    __syncthreads();
    vals[t] = i < n ? x[i] : 0.f;
    flags[t] = i < n && x[i] > 0.f;
    if (i < n) atomicAdd(&counts[keys[i] % buckets], 1);
    __syncthreads();
    if (i < n) out[i] = flags[t] ? vals[t] * counts[keys[i] % buckets] : -vals[(t + 1) % blockDim.x];
}
int main() {
    int n = 5000, threads = 64, buckets = 8;
    float *x, *out; int *keys;
    cudaMalloc(&x, n * sizeof(float)); cudaMalloc(&out, n * sizeof(float)); cudaMalloc(&keys, n * sizeof(int));
    size_t smem = threads * sizeof(float) + buckets * sizeof(int) + threads * sizeof(uint8_t);
    carved<<<(n + threads - 1) / threads, threads, smem>>>(x, keys, out, n, buckets);
}
