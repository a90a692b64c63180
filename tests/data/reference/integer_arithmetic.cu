// Wide products, shifts, bit counting, division: 64-bit results.
extern "C" __global__ void integer_arithmetic(const int* a, const int* b, long long* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int x = a[i] * 104729 + i, y = b[i] * 7 + 3;
    unsigned u = x, v = y | 1;
    out[4 * i] = (long long)x * y - (x >> 3);
    out[4 * i + 1] = __umulhi(u, v) + ((unsigned long long)u << (y & 31));
    out[4 * i + 2] = x / (y | 1) + x % (y | 1) + (long long)(u / v) * (u % v);
    out[4 * i + 3] = __popc(x) + 100 * __clz(y) + 10000 * __brev(u) % 977 + __ffs(y);
}
