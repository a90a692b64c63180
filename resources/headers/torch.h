// What device code uses of PyTorch: types, macros, and tensors as kernels take them.
#pragma once
#include <cfloat>
#include <climits>
#define C10_HOST_DEVICE __host__ __device__
#define C10_DEVICE __device__
#define C10_HOST __host__
#define C10_ALWAYS_INLINE __forceinline__
#define C10_LAUNCH_BOUNDS_0 __launch_bounds__(256, 4)
#define C10_LAUNCH_BOUNDS_1(threads) __launch_bounds__(threads)
#define C10_LAUNCH_BOUNDS_2(threads, blocks) __launch_bounds__(threads, blocks)
#define C10_RESTRICT __restrict__
#define C10_WARP_SIZE 32
#define CUDA_KERNEL_ASSERT(condition) ((void)0)
#define CUDA_KERNEL_LOOP_TYPE(i, n, type) \
    type _at_##i = (type)blockIdx.x * blockDim.x + threadIdx.x; \
    for (type i = _at_##i; _at_##i < (n); _at_##i += blockDim.x * gridDim.x, i = _at_##i)
#define CUDA_KERNEL_LOOP(i, n) CUDA_KERNEL_LOOP_TYPE(i, n, int)
namespace at {
template <class T> struct DefaultPtrTraits { typedef T* PtrType; };
template <class T> struct RestrictPtrTraits { typedef T* __restrict__ PtrType; };
template <class T, size_t N, template <class> class P = DefaultPtrTraits, class I = long long>
struct TensorAccessor {
    typename P<T>::PtrType data_; const I* sizes_; const I* strides_;
    __device__ I size(I i) const { return sizes_[i]; }
    __device__ I stride(I i) const { return strides_[i]; }
    __device__ T* data() const { return data_; }
    __device__ TensorAccessor<T, N - 1, P, I> operator[](I i) const
    { return {data_ + strides_[0] * i, sizes_ + 1, strides_ + 1}; }
};
template <class T, template <class> class P, class I> struct TensorAccessor<T, 1, P, I> {
    typename P<T>::PtrType data_; const I* sizes_; const I* strides_;
    __device__ I size(I i) const { return sizes_[i]; }
    __device__ I stride(I i) const { return strides_[i]; }
    __device__ T* data() const { return data_; }
    __device__ T& operator[](I i) const { return data_[strides_[0] * i]; }
};
template <class T, size_t N, template <class> class P = DefaultPtrTraits, class I = long long>
struct PackedTensorAccessor {
    typename P<T>::PtrType data_; I sizes_[N]; I strides_[N];
    __device__ I size(I i) const { return sizes_[i]; }
    __device__ I stride(I i) const { return strides_[i]; }
    __device__ T* data() const { return data_; }
    __device__ decltype(auto) operator[](I i) const
    { return TensorAccessor<T, N, P, I>{data_, sizes_, strides_}[i]; }
};
template <class T, size_t N, template <class> class P = DefaultPtrTraits>
using GenericPackedTensorAccessor = PackedTensorAccessor<T, N, P>;
template <class T, size_t N, template <class> class P = DefaultPtrTraits>
using PackedTensorAccessor32 = PackedTensorAccessor<T, N, P, int>;
template <class T, size_t N, template <class> class P = DefaultPtrTraits>
using PackedTensorAccessor64 = PackedTensorAccessor<T, N, P, long long>;
template <class T> struct OpMathType { typedef T type; };
template <class T> using opmath_type = typename OpMathType<T>::type;
template <class T, bool> struct AccumulateType { typedef T type; };
template <class T, bool is_cuda> using acc_type = typename AccumulateType<T, is_cuda>::type;
template <class T> __device__ T ceil_div(T a, T b) { return (a + b - 1) / b; }
namespace cuda { namespace detail {
template <class T, class I> struct TensorInfo {
    T* data; I sizes[25]; I strides[25]; int dims;
    __device__ bool isContiguous() const { return dims == 1 && strides[0] == 1; }
};
template <class T, class I, int D> struct IndexToOffset {
    static __device__ I get(I at, const TensorInfo<T, I>& info)
    {
        I offset = 0;
        for (int i = (D > 0 ? D : info.dims) - 1; i > 0; at /= info.sizes[i], --i)
            offset += at % info.sizes[i] * info.strides[i];
        return offset + at * info.strides[0];
    }
};
} }
}
namespace torch { using namespace at; }
namespace c10 {
using namespace at;
template <class T> struct alignas(2 * sizeof(T)) complex {
    T real_, imag_;
    __host__ __device__ constexpr complex(T re = T(), T im = T()) : real_(re), imag_(im) {}
    __host__ __device__ constexpr T real() const { return real_; }
    __host__ __device__ constexpr T imag() const { return imag_; }
    __device__ complex& operator+=(const complex& b) { return *this = *this + b; }
    __device__ complex& operator-=(const complex& b) { return *this = *this - b; }
    __device__ complex& operator*=(const complex& b) { return *this = *this * b; }
    friend __device__ complex operator-(const complex& a) { return {-a.real_, -a.imag_}; }
    friend __device__ complex operator+(const complex& a, const complex& b)
    { return {a.real_ + b.real_, a.imag_ + b.imag_}; }
    friend __device__ complex operator-(const complex& a, const complex& b)
    { return {a.real_ - b.real_, a.imag_ - b.imag_}; }
    friend __device__ complex operator*(const complex& a, const complex& b)
    { return {a.real_ * b.real_ - a.imag_ * b.imag_, a.real_ * b.imag_ + a.imag_ * b.real_}; }
    friend __device__ complex operator/(const complex& a, const complex& b)
    {
        T whole = b.real_ * b.real_ + b.imag_ * b.imag_;
        complex over = a * complex(b.real_, -b.imag_);
        return {over.real_ / whole, over.imag_ / whole};
    }
    friend __device__ bool operator==(const complex& a, const complex& b)
    { return a.real_ == b.real_ && a.imag_ == b.imag_; }
};
}
namespace std {
template <class T> __device__ c10::complex<T> conj(const c10::complex<T>& z)
{ return {z.real_, -z.imag_}; }
}
template <class T> __device__ T gpuAtomicAdd(T* address, T value)
{ return atomicAdd(address, value); }
template <class T> __device__ void gpuAtomicAddNoReturn(T* address, T value)
{ atomicAdd(address, value); }
namespace at {
struct PhiloxCudaState { unsigned long long seed_, offset_; };
namespace cuda { namespace philox {
struct Seeds { unsigned long long seed, offset; };
inline __device__ Seeds unpack(PhiloxCudaState state) { return {state.seed_, state.offset_}; }
} }
}
namespace std {
template <int I> __device__ unsigned long long get(const at::cuda::philox::Seeds& seeds)
{ return I ? seeds.offset : seeds.seed; }
}
