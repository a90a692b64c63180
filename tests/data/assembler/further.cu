// Kernels written after the rules stood: nothing in the program was changed for them.

#define ROW (blockIdx.x * blockDim.x + threadIdx.x)

extern "C" __global__ void edit_distance(const int *a, const int *b, int *d, int n, int width)
{
    int c = ROW;
    for (int i = 1; i < n; i++)
        for (int j = 1; j < n; j++) {
            int same = d[((i - 1) * n + j - 1) * width + c] + (a[i] != b[j]);
            int less = min(d[((i - 1) * n + j) * width + c], d[(i * n + j - 1) * width + c]) + 1;
            d[(i * n + j) * width + c] = min(same, less);
        }
}

extern "C" __global__ void two_level(const int *start, const int *length, const float *v, float *y, int rows)
{
    int r = ROW;
    if (r >= rows) return;
    float s = 0;
    for (int k = start[r]; k < start[r + 1]; k++)
        for (int m = 0; m < length[k]; m++)
            s += v[k + m];
    y[r] = s;
}

extern "C" __global__ void odd_step(const float *a, float *y, int n)
{
    int r = ROW;
    float s = 0;
    for (int i = r; i < n; i += 3)
        s += a[i] * a[n - 1 - i];
    y[r] = s;
}

extern "C" __global__ void downwards(float *a, int n, int width)
{
    int c = ROW;
    for (int i = n - 2; i >= c % 5; i--)
        a[i * width + c] -= a[(i + 1) * width + c] * 0.5f;
}

extern "C" __global__ void unrolled_by_three(const float *a, float *y, const int *n, int width)
{
    int c = ROW;
    float s = 0;
#pragma unroll 3
    for (int i = 0; i < n[c % 40]; i++)
        s += a[i * width + c];
    y[c] = s;
}

extern "C" __global__ void kept_together(const float *a, float *y, int width, int turns)
{
    int c = ROW, n = c % turns;
    float s = 0;
#pragma unroll 1
    for (int i = 0; i < n; i++)
        s += a[i * width + c];
    y[c] = s;
}

extern "C" __global__ void two_branches_in_loop(const int *a, const float *b, const float *c, float *y, int width)
{
    int t = ROW, n = 3 + t % 17;
    float s = 0;
    for (int i = 0; i < n; i++) {
        if (a[i * width + t] > 0) s += b[i * width + t];
        else s -= c[i * width + t] * s;
    }
    y[t] = s;
}

extern "C" __global__ void store_then_read(float *a, const float *b, int n, int width)
{
    int c = ROW, m = n - c % 7;
    for (int i = 0; i < m; i++) {
        a[i * width + c] = b[i * width + c] * 2;
        a[(i + 1) * width + c] = a[i * width + c] + 1;
    }
}

extern "C" __global__ void struct_pair(const float2 *a, float2 *y, int width)
{
    int c = ROW, n = 1 + c % 23;
    float2 s = make_float2(0, 0);
    for (int i = 0; i < n; i++) {
        s.x += a[i * width + c].x;
        s.y -= a[i * width + c].y;
    }
    y[c] = s;
}

extern "C" __global__ void doubles(const double *a, double *h, int width)
{
    int c = ROW, n = 2 + c % 30;
    for (int i = 1; i < n; i++)
        h[i * width + c] = a[i * width + c] + h[(i - 1) * width + c] * 0.25;
}

extern "C" __global__ void bytes_in_rows(const unsigned char *a, unsigned *y, int width)
{
    int r = ROW, n = width - r % 9;
    unsigned s = 0;
    for (int i = 0; i < n; i++)
        s = s * 31 + a[r * width + i];
    y[r] = s;
}

extern "C" __global__ void shared_rows(const float *a, float *y, int n)
{
    __shared__ float s[64][17];
    for (int i = 0; i < 16; i++)
        s[threadIdx.x][i] = a[ROW * 16 + i];
    __syncthreads();
    float sum = 0;
    int m = n - threadIdx.x % 4;
    for (int i = 1; i < m; i++)
        sum += s[threadIdx.x][i] * s[(threadIdx.x + i) % 64][i - 1];
    y[ROW] = sum;
}

extern "C" __global__ void shared_recurrence(float *y, int n)
{
    __shared__ float s[40][64];
    int t = threadIdx.x, m = n - t % 11;
    s[0][t] = t;
    for (int i = 1; i < m; i++)
        s[i][t] = s[i - 1][t] * 0.5f + i;
    y[ROW] = s[m - 1][t];
}

extern "C" __global__ void while_pairs(const int *a, const int *b, int *y, int n)
{
    int i = ROW % 5, j = ROW % 3, common = 0;
    while (i < n && j < n) {
        int u = a[i], v = b[j];
        common += u == v;
        i += u <= v;
        j += v <= u;
    }
    y[ROW] = common;
}

extern "C" __global__ void wide_stores(float *y, float v)
{
    int i = ROW * 8;
    for (int k = 0; k < 8; k++) y[i + k] = v + k;
}

extern "C" __global__ void shared_quads(const float4 *a, float4 *y)
{
    __shared__ float s[256];
    float4 v = a[ROW];
    int t = threadIdx.x * 4;
    s[t] = v.x; s[t + 1] = v.y; s[t + 2] = v.z; s[t + 3] = v.w;
    __syncthreads();
    int u = (threadIdx.x ^ 3) * 4;
    y[ROW] = make_float4(s[u + 3], s[u + 2], s[u + 1], s[u]);
}

extern "C" __global__ void early_exit_rows(const float *a, float *y, int n, int width)
{
    int c = ROW;
    if (c % 3 == 0) return;
    float best = -9;
    for (int i = c % 4; i < n; i++) {
        float v = a[i * width + c];
        if (v > best) best = v;
    }
    y[c] = best;
}

extern "C" __global__ void unsigned_count(const float *a, float *y, unsigned width)
{
    unsigned c = ROW, n = c % 21;
    float s = 1;
    for (unsigned i = 0; i != n; i++)
        s *= a[i * width + c];
    y[c] = s;
}

extern "C" __global__ void long_count(const float *a, float *y, long long n, int width)
{
    int c = ROW;
    float s = 0;
    for (long long i = c % 6; i < n; i++)
        s += a[i * width + c];
    y[c] = s;
}

extern "C" __global__ void inlined(const float *a, float *y, int n, int width);
__device__ __forceinline__ float walk(const float *p, int n, int step)
{
    float s = 0;
    while (n-- > 0) { s += *p; p += step; }
    return s;
}
extern "C" __global__ void inlined(const float *a, float *y, int n, int width)
{
    int c = ROW;
    y[c] = walk(a + c, n - c % 8, width) - walk(a, c % 12, 1);
}

__device__ __noinline__ float called(const float *p, int n, int step)
{
    float s = 0;
    for (int i = 0; i < n; i++) s += p[i * step];
    return s;
}
extern "C" __global__ void calling(const float *a, float *y, int n, int width)
{
    int c = ROW;
    y[c] = called(a + c, n - c % 8, width);
}
