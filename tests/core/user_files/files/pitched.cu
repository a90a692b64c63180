#include <cuda_runtime.h>
__global__ void blur(unsigned char *dst, size_t dpitch, const unsigned char *src, size_t spitch, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int s = 0, n = 0;
    for (int j = max(0, y - 1); j <= min(height - 1, y + 1); ++j) {
        const unsigned char *row = (const unsigned char *)((const char *)src + j * spitch);
        for (int i = max(0, x - 1); i <= min(width - 1, x + 1); ++i) { s += row[i]; ++n; }
    }
    *((unsigned char *)((char *)dst + y * dpitch) + x) = s / n;
}
int main() {
    unsigned char *s, *d; size_t sp, dp; int width = 640, height = 480;
    cudaMallocPitch(&s, &sp, width, height); cudaMallocPitch((void **)&d, &dp, width, height);
    blur<<<dim3((width + 31) / 32, (height + 7) / 8), dim3(32, 8)>>>(d, dp, s, sp, width, height);
}
