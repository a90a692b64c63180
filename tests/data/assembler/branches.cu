// Branches that ptxas turns into predicates, merges or leaves; searches whose loops end early.

#define ROW (blockIdx.x * blockDim.x + threadIdx.x)

extern "C" __global__ void choose(const float *a, const float *b, const int *c, float *out)
{
    int i = ROW;
    float v;
    if (c[i] > 0) v = a[i] * 2;
    else v = b[i + 7] + 1;
    out[i] = v;
}

extern "C" __global__ void tails(const float *a, const int *c, float *out)
{
    int i = ROW;
    if (c[i] > 0) {
        float v = a[i];
        out[i] = v * v + 1;
    } else {
        float v = a[i];
        out[i] = v * 3;
    }
}

extern "C" __global__ void switches(const float *a, const int *c, float *out, int n)
{
    int i = ROW;
    float v = 0;
    switch (c[i] & 3) {
    case 0: v = a[i]; break;
    case 1: v = a[i] + a[(i + 1) % n]; break;
    case 2: v = a[(2 * i) % n]; out[i] = v; break;
    default: v = a[(3 * i) % n] * a[(5 * i) % n];
    }
    out[i] += v;
}

extern "C" __global__ void one_sided(const float *a, const int *c, float *out)
{
    int i = ROW;
    float v = 1;
    if (c[i] > 0) v = a[i];
    if (c[i] % 3 == 0) out[i] = v;
}

extern "C" __global__ void reload(const float *a, float *out, int shift)
{
    int i = ROW;
    float s = a[i];
    out[i + shift] = s;
    float t = a[i];
    out[i] = s + t;
}

extern "C" __global__ void forward(float *p, const float *q, float *out)
{
    int i = ROW;
    p[i] = q[i] * 2;
    out[i] = p[i];
    p[i] = out[i] + q[i];
    out[i] = p[i] * p[i];
}

extern "C" __global__ void search(const int *sorted, const int *wanted, int *place, int n)
{
    int i = ROW, low = 0, high = n;
    while (low < high) {
        int middle = (low + high) / 2;
        if (sorted[middle] < wanted[i]) low = middle + 1;
        else high = middle;
    }
    place[i] = low;
}

extern "C" __global__ void chain(const int *next, int *end, int steps)
{
    int i = ROW, at = i;
    for (int k = 0; k < steps && next[at] >= 0; k++)
        at = next[at];
    end[i] = at;
}

extern "C" __global__ void first_match(const int *a, int *where, int n, int width)
{
    int c = ROW, found = -1;
    for (int i = 0; i < n; i++)
        if (a[i * width + c] == 3) {
            found = i;
            break;
        }
    where[c] = found;
}

extern "C" __global__ void skip(const int *a, const float *b, float *s, int n, int width)
{
    int c = ROW;
    float sum = 0;
    for (int i = 0; i < n; i++) {
        if (a[i * width + c] < 0) continue;
        sum += b[i * width + c];
    }
    s[c] = sum;
}

extern "C" __global__ void until_large(const float *a, float *s, int n, int width)
{
    int c = ROW;
    float sum = 0;
    for (int i = 0; i < n; i++) {
        float v = a[i * width + c];
        sum += v * v;
        if (sum > 3) break;
    }
    s[c] = sum;
}

extern "C" __global__ void insertion_sort(int *a, int n, int width)
{
    int c = ROW;
    if (c >= width) return;
    for (int i = 1; i < n; i++) {
        int key = a[i * width + c], j = i - 1;
        while (j >= 0 && a[j * width + c] > key) {
            a[(j + 1) * width + c] = a[j * width + c];
            j--;
        }
        a[(j + 1) * width + c] = key;
    }
}

extern "C" __global__ void window(const float *in, float *out, int n)
{
    int x = threadIdx.x, y = blockIdx.x;
    float s = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
            int u = x + dx, v = y + dy;
            if (u >= 0 && u < n && v >= 0 && v < n) s += in[v * n + u];
        }
    if (x < n) out[y * n + x] = s;
}

extern "C" __global__ void local_table(const int *a, int *out, int n)
{
    int i = ROW;
    int seen[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    for (int k = 0; k < n; k++)
        seen[a[k * 32 + (i & 31)] & 7]++;
    int most = 0;
    for (int k = 0; k < 8; k++)
        if (seen[k] > most) most = seen[k];
    out[i] = most;
}
