// Loops along rows whose turns depend on the launch or on the data: ptxas unrolls them once more.

#define ROW (blockIdx.x * blockDim.x + threadIdx.x)

extern "C" __global__ void recurrence(const float *a, const float *x, float *h, int n, int rows)
{
    int r = ROW;
    if (r >= rows) return;
    for (int i = 1; i < n; i++)
        h[r * n + i] = a[r * n + i] * h[r * n + i - 1] + x[r * n + i];
}

extern "C" __global__ void two_back(float *h, float c, int n, int rows)
{
    int r = ROW;
    if (r >= rows) return;
    for (int i = 2; i < n; i++)
        h[i * rows + r] = h[(i - 1) * rows + r] + c * h[(i - 2) * rows + r];
}

extern "C" __global__ void prefix_in_place(int *a, int n, int rows)
{
    int r = ROW;
    if (r >= rows) return;
    for (int i = 1; i < n; i++)
        a[r * n + i] += a[r * n + i - 1];
}

extern "C" __global__ void csr(const int *start, const float *v, const int *col, const float *x, float *y, int rows)
{
    int r = ROW;
    if (r >= rows) return;
    float s = 0;
    for (int k = start[r]; k < start[r + 1]; k++)
        s += v[k] * x[col[k]];
    y[r] = s;
}

extern "C" __global__ void triangular(const float *l, const float *x, float *y, int n)
{
    int r = ROW;
    if (r >= n) return;
    float s = 0;
    for (int j = 0; j <= r; j++)
        s += l[r * n + j] * x[j];
    y[r] = s;
}

extern "C" __global__ void column_sums(const float *a, float *s, int n, int width)
{
    int c = ROW;
    if (c >= width) return;
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i * width + c];
    s[c] = sum;
}

extern "C" __global__ void grid_stride(const float *x, float *y, float a, int n)
{
    for (int i = ROW; i < n; i += gridDim.x * blockDim.x)
        y[i] = a * x[i] + y[i];
}

extern "C" __global__ void fixed_turns(const float *a, float *s, int width)
{
    int c = ROW;
    float sum = 0;
    for (int i = 0; i < 100; i++)
        sum += a[i * width + c];
    s[c] = sum;
}

extern "C" __global__ void four_turns(const float *a, float *s)
{
    int c = ROW;
    float sum = 0;
    for (int i = 0; i < 4; i++)
        sum += a[4 * c + i] * a[4 * c + 3 - i];
    s[c] = sum;
}

extern "C" __global__ void horner(const float *__restrict__ c, const float *__restrict__ x, float *y, int n)
{
    int i = ROW;
    float v = c[0], t = x[i];
    for (int k = 1; k < n; k++)
        v = v * t + c[k];
    y[i] = v;
}

extern "C" __global__ void vectors(const float4 *a, const float4 *x, float *y, int n)
{
    int r = ROW;
    float s = 0;
    for (int k = 0; k < n; k++) {
        float4 u = a[r * n + k], v = x[k];
        s += u.x * v.x + u.y * v.y + u.z * v.z + u.w * v.w;
    }
    y[r] = s;
}

extern "C" __global__ void march(const float *in, float *out, int depth, int plane)
{
    int p = ROW;
    if (p >= plane) return;
    for (int z = 1; z < depth - 1; z++)
        out[z * plane + p] = in[(z - 1) * plane + p] + in[z * plane + p] + in[(z + 1) * plane + p];
}

extern "C" __global__ void march_restrict(const float *__restrict__ in, float *__restrict__ out, int depth, int plane)
{
    int p = ROW;
    if (p >= plane) return;
    for (int z = 1; z < depth - 1; z++)
        out[z * plane + p] = in[(z - 1) * plane + p] + in[z * plane + p] + in[(z + 1) * plane + p];
}

extern "C" __global__ void bounds_in_memory(const float *a, float *s, const int *n, int width)
{
    int c = ROW;
    float sum = 0;
    for (int i = 0; i < n[c]; i++)
        sum += a[i * width + c];
    s[c] = sum;
}

extern "C" __global__ void accumulate(const float *a, float *s, int n, int width)
{
    int c = ROW;
    if (c >= width) return;
    for (int i = 0; i < n; i++)
        s[c] += a[i * width + c];
}

extern "C" __global__ void bytes(const unsigned char *text, int *length, int width)
{
    int r = ROW, n = 0;
    while (text[r * width + n]) n++;
    length[r] = n;
}

extern "C" __global__ void frontier(const int *start, const int *col, const int *old, int *level, int depth)
{
    int r = ROW;
    if (old[r] != depth) return;
    for (int e = start[r]; e < start[r + 1]; e++)
        if (old[col[e]] < 0) level[col[e]] = depth + 1;
}
