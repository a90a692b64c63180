// Kernels as people write them: stencils, sparse and dense algebra, simulation, transforms.
__constant__ float weights[7 * 5];

extern "C" __global__ void convolve(float* out, const float* in, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    float sum = 0;
#pragma unroll
    for (int dy = -3; dy <= 3; dy++)
#pragma unroll
        for (int dx = -2; dx <= 2; dx++) {
            int sx = min(max(x + dx, 0), w - 1), sy = min(max(y + dy, 0), h - 1);
            sum = fmaf(weights[(dy + 3) * 5 + dx + 2], in[sy * w + sx], sum);
        }
    out[y * w + x] = sum;
}

extern "C" __global__ void set_weights_and_convolve(float* out, const float* in, const float* k, int n)
{   // the weights as an argument: one block, one row
    __shared__ float line[64 + 6];
    int t = threadIdx.x;
    line[t + 3] = t < n ? in[t] : 0;
    if (t < 3) {
        line[t] = 0;
        line[blockDim.x + 3 + t] = 0;
    }
    __syncthreads();
    float sum = weights[0];  // zero: nobody has set it
    for (int i = 0; i < 7; i++) sum += k[i] * line[t + i];
    if (t < n) out[t] = sum;
}

extern "C" __global__ void stencil(float* out, const float* in, int nx, int ny, int nz)
{
    __shared__ float tile[6][10];
    int i = blockIdx.x * 8 + threadIdx.x, j = blockIdx.y * 4 + threadIdx.y;
    int x = threadIdx.x + 1, y = threadIdx.y + 1;
    auto at = [=](int a, int b, int c) {
        bool inside = a >= 0 && a < nx && b >= 0 && b < ny && c >= 0 && c < nz;
        return inside ? in[(c * ny + b) * nx + a] : 0.0f;
    };
    float below = 0, here = at(i, j, 0), above;
    for (int k = 0; k < nz; k++) {
        above = at(i, j, k + 1);
        __syncthreads();
        tile[y][x] = here;
        if (x == 1) tile[y][0] = at(i - 1, j, k);
        if (x == 8) tile[y][9] = at(i + 1, j, k);
        if (y == 1) tile[0][x] = at(i, j - 1, k);
        if (y == 4) tile[5][x] = at(i, j + 1, k);
        __syncthreads();
        if (i < nx && j < ny)
            out[(k * ny + j) * nx + i] = below + above + tile[y][x - 1] + tile[y][x + 1]
                                         + tile[y - 1][x] + tile[y + 1][x] - 6 * here;
        below = here;
        here = above;
    }
}

extern "C" __global__ void spmv(float* y, const float* values, const int* columns, const int* rows,
                                const float* x, int n)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= n) return;
    float sum = 0;
    for (int k = rows[row] + lane; k < rows[row + 1]; k += 32)
        sum += __ldg(&values[k]) * __ldg(&x[columns[k]]);
    for (int step = 16; step; step >>= 1) sum += __shfl_down_sync(0xffffffff, sum, step);
    if (lane == 0) y[row] = sum;
}

extern "C" __global__ void gemv(float* y, const float4* a, const float4* x, int rows, int columns4)
{
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    float sum = 0;
    for (int c = threadIdx.x; c < columns4; c += 32) {
        float4 u = a[row * columns4 + c], v = x[c];
        sum += u.x * v.x + u.y * v.y + u.z * v.z + u.w * v.w;
    }
    for (int step = 16; step; step >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, step);
    if (threadIdx.x == 0) y[row] = sum;
}

extern "C" __global__ void bodies(float4* force, const float4* body, int n)
{
    __shared__ float4 near[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 me = i < n ? body[i] : make_float4(0, 0, 0, 0);
    float3 sum = {0, 0, 0};
    for (int first = 0; first < n; first += 32) {
        int j = first + threadIdx.x;
        near[threadIdx.x] = j < n ? body[j] : make_float4(0, 0, 0, 0);
        __syncthreads();
#pragma unroll 4
        for (int k = 0; k < 32; k++) {
            float3 d = {near[k].x - me.x, near[k].y - me.y, near[k].z - me.z};
            float inverse = rsqrtf(d.x * d.x + d.y * d.y + d.z * d.z + 0.01f);
            float scale = near[k].w * inverse * inverse * inverse;
            sum.x += d.x * scale;
            sum.y += d.y * scale;
            sum.z += d.z * scale;
        }
        __syncthreads();
    }
    if (i < n) force[i] = make_float4(sum.x, sum.y, sum.z, me.w);
}

extern "C" __global__ void mandelbrot(unsigned short* turns, int w, int h, double zoom, int most)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    double cr = (x - w / 2) * zoom - 0.5, ci = (y - h / 2) * zoom, zr = 0, zi = 0;
    int i = 0;
    while (zr * zr + zi * zi <= 4 && i < most) {
        double next = zr * zr - zi * zi + cr;
        zi = 2 * zr * zi + ci;
        zr = next;
        i++;
    }
    turns[y * w + x] = i;
}

struct Random {
    unsigned long long state;
    __device__ explicit Random(unsigned long long seed) : state(seed * 2685821657736338717ull + 1) {}
    __device__ double next()
    {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return (state >> 11) * (1.0 / 9007199254740992.0);
    }
};

extern "C" __global__ void monte_carlo(unsigned* inside, int tries)
{
    Random random(blockIdx.x * blockDim.x + threadIdx.x + 1);
    unsigned hits = 0;
    for (int i = 0; i < tries; i++) {
        double x = random.next(), y = random.next();
        hits += x * x + y * y < 1;
    }
    atomicAdd(inside, hits);
}

extern "C" __global__ void fft(float2* data, int log2n)
{
    extern __shared__ float2 s[];
    int n = 1 << log2n, t = threadIdx.x;
    for (int i = t; i < n; i += blockDim.x) s[__brev(i) >> (32 - log2n)] = data[i];
    for (int half = 1; half < n; half *= 2) {
        __syncthreads();
        for (int k = t; k < n / 2; k += blockDim.x) {
            int low = (k / half) * 2 * half + k % half, high = low + half;
            float sine, cosine;
            sincospif(-(float)(k % half) / half, &sine, &cosine);
            float2 a = s[low], b = s[high];
            float2 turned = {b.x * cosine - b.y * sine, b.x * sine + b.y * cosine};
            s[low] = {a.x + turned.x, a.y + turned.y};
            s[high] = {a.x - turned.x, a.y - turned.y};
        }
    }
    __syncthreads();
    for (int i = t; i < n; i += blockDim.x) data[i] = s[i];
}

extern "C" __global__ void cholesky(double* a, int n)
{
    __shared__ double m[16][17];
    int i = threadIdx.y, j = threadIdx.x;
    if (i < n && j < n) m[i][j] = a[i * n + j];
    __syncthreads();
    for (int k = 0; k < n; k++) {
        if (i == k && j == k) m[k][k] = sqrt(m[k][k]);
        __syncthreads();
        if (j == k && i > k && i < n) m[i][k] /= m[k][k];
        __syncthreads();
        if (i < n && j > k && j <= i) m[i][j] -= m[i][k] * m[j][k];
        __syncthreads();
    }
    if (i < n && j < n) a[i * n + j] = j <= i ? m[i][j] : 0;
}

extern "C" __global__ void functions(float* out, const float* in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = in[i], *o = out + 16 * i;
    o[0] = sinf(x); o[1] = cosf(x); o[2] = tanf(x); o[3] = expf(x); o[4] = logf(fabsf(x) + 1);
    o[5] = powf(fabsf(x), 1.5f); o[6] = atan2f(x, 2); o[7] = tanhf(x); o[8] = erff(x);
    o[9] = cbrtf(x); o[10] = hypotf(x, 3); o[11] = fmodf(x, 0.7f); o[12] = lgammaf(fabsf(x) + 1);
    o[13] = expm1f(x); o[14] = asinhf(x); o[15] = rintf(x) + floorf(x) + truncf(x) + ceilf(x);
}
