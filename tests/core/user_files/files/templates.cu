#include <cuda_runtime.h>
template <typename T, typename U = T> struct Pair { T a; U b; };
template <typename T> struct Plus { __device__ T operator()(T a, T b) const { return a + b; } };
template <typename T> struct View { T *data; int rows, cols; __device__ T &operator()(int r, int c) { return data[r * cols + c]; } };
template <typename T, template <typename> class Op>
__global__ void fold(const T *x, T *out, int n) { Op<T> op; T acc = x[0]; for (int i = 1; i < n; i++) acc = op(acc, x[i]); out[threadIdx.x] = acc; }
template <typename T, int... Is> __global__ void pack(T *x) { int s = 0; ((s += Is), ...); x[threadIdx.x] = s; }
template <typename T> __global__ void viewed(View<T> m, Pair<float, int> p) {
    int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < m.rows && c < m.cols) m(r, c) = m(r, c) * p.a + p.b;
}
template <typename A, typename B> __global__ void cast(const A *a, B *b, int n) { for (int i = threadIdx.x; i < n; i += blockDim.x) b[i] = static_cast<B>(a[i]); }
int main() {
    float *f; double *d; int *k; int n = 100;
    cudaMalloc(&f, n * sizeof(float)); cudaMalloc(&d, n * sizeof(double)); cudaMalloc(&k, 400);
    fold<float, Plus><<<1, 1>>>(f, f + 50, 50);
    pack<int, 1, 2, 3><<<1, 32>>>(k);
    View<double> v{d, 10, 10};
    viewed<double><<<dim3(1, 1), dim3(16, 16)>>>(v, Pair<float, int>{2.f, 3});
    cast<<<1, 64>>>(f, k, n);
}
