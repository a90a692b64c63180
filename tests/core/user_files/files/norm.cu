// error check as a function, host class with RAII, device vector wrapper
#include <iostream>
#include <string>
#include <vector>
#include <stdexcept>
#include <cuda_runtime.h>

inline void check(cudaError_t code, const char *file, int line)
{
    if (code != cudaSuccess)
        throw std::runtime_error(std::string(file) + ":" + std::to_string(line) + " " + cudaGetErrorString(code));
}
#define CHECK(x) check((x), __FILE__, __LINE__)

template <typename T>
class DeviceBuffer {
    T *ptr_ = nullptr;
    size_t n_;
public:
    explicit DeviceBuffer(size_t n) : n_(n) { CHECK(cudaMalloc(&ptr_, n * sizeof(T))); }
    ~DeviceBuffer() { cudaFree(ptr_); }
    T *get() const { return ptr_; }
    void upload(const std::vector<T> &v) { CHECK(cudaMemcpy(ptr_, v.data(), n_ * sizeof(T), cudaMemcpyHostToDevice)); }
};

struct Options {
    std::string name = "default";
    int n = 1000;
    bool verbose{false};
};

namespace {
    __device__ __forceinline__ float square(float x) { return x * x; }
    constexpr int kThreads = 128;
}

namespace kernels { namespace detail {
template <typename T>
__global__ void norm2(const T *__restrict__ x, T *__restrict__ out, int n)
{
    __shared__ T part[kThreads];
    T s = T(0);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += square(x[i]);
    part[threadIdx.x] = s;
    __syncthreads();
    for (int k = kThreads / 2; k; k >>= 1) {
        if (threadIdx.x < k) part[threadIdx.x] += part[threadIdx.x + k];
        __syncthreads();
    }
    if (!threadIdx.x) atomicAdd(out, part[0]);
}
}}

static Options parse(int argc, char **argv)
{
    Options o;
    for (int i = 1; i < argc; ++i) if (std::string(argv[i]) == "-v") o.verbose = true;
    return o;
}

int main(int argc, char **argv)
try {
    Options o = parse(argc, argv);
    const int n = 1000;
    std::vector<float> h(n, 2.f);
    DeviceBuffer<float> x(n), out(1);
    x.upload(h);
    const int blocks = (n + kThreads - 1) / kThreads;
    kernels::detail::norm2<float><<<blocks, kThreads>>>(x.get(), out.get(), n);
    CHECK(cudaDeviceSynchronize());
    return 0;
} catch (const std::exception &e) { std::cerr << e.what() << '\n'; return 1; }
