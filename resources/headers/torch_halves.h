// Numbers of 16 bits as PyTorch has them: their bits are `x`, and they compute as floats do; with a
// double they compute as doubles, and a sum with an int is one of them again.
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#define TILESCOPE_INLINE __host__ __device__ inline
#define TILESCOPE_COMPUTED(R, op, A, B, T) \
    TILESCOPE_INLINE R operator op(A a, B b) { return T(a) op T(b); }
#define TILESCOPE_WITH(H, R, op, O, T) \
    TILESCOPE_COMPUTED(R, op, H, O, T) TILESCOPE_COMPUTED(R, op, O, H, T)
#define TILESCOPE_SUM(H, op) \
    TILESCOPE_COMPUTED(H, op, H, H, float) TILESCOPE_WITH(H, float, op, float, float) \
    TILESCOPE_WITH(H, double, op, double, double) TILESCOPE_WITH(H, H, op, int, float) \
    TILESCOPE_INLINE H& operator op##=(H& a, H b) { return a = a op b; }
#define TILESCOPE_ORDER(H, op) \
    TILESCOPE_COMPUTED(bool, op, H, H, float) TILESCOPE_WITH(H, bool, op, float, float) \
    TILESCOPE_WITH(H, bool, op, double, double) TILESCOPE_WITH(H, bool, op, int, float)
#define TILESCOPE_HALF(H) \
    TILESCOPE_SUM(H, +) TILESCOPE_SUM(H, -) TILESCOPE_SUM(H, *) TILESCOPE_SUM(H, /) \
    TILESCOPE_ORDER(H, <) TILESCOPE_ORDER(H, >) TILESCOPE_ORDER(H, <=) TILESCOPE_ORDER(H, >=) \
    TILESCOPE_ORDER(H, ==) TILESCOPE_ORDER(H, !=) \
    TILESCOPE_INLINE H operator-(H a) { return -float(a); } \
    template <> struct OpMathType<H> { typedef float type; }; \
    template <bool C> struct AccumulateType<H, C> { typedef float type; };
namespace at {
struct alignas(2) Half {
    unsigned short x;
    struct from_bits_t {};
    Half() = default;
    __host__ __device__ Half(unsigned short bits, from_bits_t) : x(bits) {}
    __host__ __device__ Half(float value) : Half(__half(value)) {}
    __host__ __device__ Half(__half value) : x(__builtin_bit_cast(unsigned short, value)) {}
    __host__ __device__ operator float() const { return float(__half(*this)); }
    __host__ __device__ operator __half() const { return __builtin_bit_cast(__half, x); }
};
TILESCOPE_HALF(Half)
struct alignas(2) BFloat16 {
    unsigned short x;
    struct from_bits_t {};
    BFloat16() = default;
    __host__ __device__ BFloat16(unsigned short bits, from_bits_t) : x(bits) {}
    __host__ __device__ BFloat16(float value) : BFloat16(__nv_bfloat16(value)) {}
    __host__ __device__ BFloat16(__nv_bfloat16 value) : x(__builtin_bit_cast(unsigned short, value)) {}
    __host__ __device__ operator float() const { return float(__nv_bfloat16(*this)); }
    __host__ __device__ operator __nv_bfloat16() const { return __builtin_bit_cast(__nv_bfloat16, x); }
};
TILESCOPE_HALF(BFloat16)
}
