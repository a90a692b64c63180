// A filter whose constants stand in namespaces, one of them without a name.
namespace filter {
__constant__ float weights[5];
namespace detail { static __constant__ int radius; }
namespace { __constant__ double gain; }
__global__ void convolve(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int k = -detail::radius; k <= detail::radius; ++k)
        if (i + k >= 0 && i + k < n) sum += weights[k + detail::radius] * in[i + k];
    out[i] = sum * gain;
}
}
