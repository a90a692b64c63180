// CUDA's words for clang, which comes without NVIDIA's headers. Included before every source.
// What is not here (cuda_fp16.h, mma.h, functions of doubles beyond these) needs NVRTC.
#pragma once
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#define __grid_constant__ __attribute__((grid_constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __cluster_dims__(...) _Pragma("GCC error \"clang makes no clusters: __cluster_dims__ needs NVRTC\"")
#define __align__(n) __attribute__((aligned(n)))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define CUDA_OWN __attribute__((device, always_inline, nodebug))
#define CUDA_FUNCTION CUDA_OWN static inline
#define CUDA_MEMBER __attribute__((host, device, always_inline, nodebug))
#define CUDA_BOTH CUDA_MEMBER static inline constexpr

typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef unsigned long long cudaTextureObject_t, cudaSurfaceObject_t;
typedef struct CUstream_st* cudaStream_t;

// What is copied whole is copied as NVRTC's debug build does it: 16 bytes at once where they are
// aligned so, else words of 4 bytes.
typedef unsigned cuda_word __attribute__((may_alias));
typedef cuda_word cuda_words __attribute__((ext_vector_type(4), may_alias));
template <class Unit, class T> CUDA_MEMBER inline T& cuda_copied(T& to, const T& from)
{
    ((Unit*)&to)[0] = ((const Unit*)&from)[0];
    if constexpr (sizeof(T) > sizeof(Unit)) ((Unit*)&to)[1] = ((const Unit*)&from)[1];
    return to;
}
#define CUDA_COPIES(name, unit)                                                          \
    name() = default;                                                                    \
    CUDA_MEMBER name(const name& from) { cuda_copied<unit>(*this, from); }               \
    CUDA_MEMBER name& operator=(const name& from) { return cuda_copied<unit>(*this, from); }

// `copies2` and `copies4`: CUDA_COPIES where the vector of 2 or 4 has at least 8 bytes.
#define CUDA_VECTOR(type, name, align2, copies2, unit2, align4, copies4, unit4)          \
    struct name##1 { type x; };                                                          \
    struct __attribute__((aligned(align2), trivial_abi)) name##2 {                       \
        type x, y;                                                                       \
        CUDA_MEMBER constexpr name##2(type a, type b) : x(a), y(b) {}                    \
        copies2(name##2, unit2)                                                          \
    };                                                                                   \
    struct name##3 { type x, y, z; };                                                    \
    struct __attribute__((aligned(align4), trivial_abi)) name##4 {                       \
        type x, y, z, w;                                                                 \
        CUDA_MEMBER constexpr name##4(type a, type b, type c, type d)                    \
            : x(a), y(b), z(c), w(d) {}                                                  \
        copies4(name##4, unit4)                                                          \
    };                                                                                   \
    CUDA_BOTH name##1 make_##name##1(type x) { return {x}; }                             \
    CUDA_BOTH name##2 make_##name##2(type x, type y) { return {x, y}; }                  \
    CUDA_BOTH name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }       \
    CUDA_BOTH name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
#define CUDA_SMALL(name, unit) name() = default;
#define CUDA_8(type, name) CUDA_VECTOR(type, name, 2, CUDA_SMALL, , 4, CUDA_SMALL, )
#define CUDA_16(type, name) CUDA_VECTOR(type, name, 4, CUDA_SMALL, , 8, CUDA_COPIES, cuda_word)
#define CUDA_32(type, name) \
    CUDA_VECTOR(type, name, 8, CUDA_COPIES, cuda_word, 16, CUDA_COPIES, cuda_words)
#define CUDA_64(type, name) \
    CUDA_VECTOR(type, name, 16, CUDA_COPIES, cuda_words, 16, CUDA_COPIES, cuda_words)
CUDA_8(signed char, char)
CUDA_8(unsigned char, uchar)
CUDA_16(short, short)
CUDA_16(unsigned short, ushort)
CUDA_32(int, int)
CUDA_32(unsigned, uint)
CUDA_64(long, long)
CUDA_64(unsigned long, ulong)
CUDA_64(long long, longlong)
CUDA_64(unsigned long long, ulonglong)
CUDA_32(float, float)
CUDA_64(double, double)
struct dim3 {
    unsigned x, y, z;
    CUDA_MEMBER constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
    CUDA_MEMBER constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    CUDA_MEMBER constexpr operator uint3() const { return {x, y, z}; }
};

#define CUDA_AXIS(axis, special)                                                         \
    __declspec(property(get = get_##axis)) unsigned axis;                                \
    CUDA_FUNCTION unsigned get_##axis() { return __nvvm_read_ptx_sreg_##special##_##axis(); }
#define CUDA_INDEX(name, special)                                                        \
    struct cuda_##name {                                                                 \
        CUDA_AXIS(x, special) CUDA_AXIS(y, special) CUDA_AXIS(z, special)                \
        CUDA_OWN operator uint3() const { return {get_x(), get_y(), get_z()}; }          \
        CUDA_OWN operator dim3() const { return {get_x(), get_y(), get_z()}; }        \
    };                                                                                   \
    extern const __device__ cuda_##name name;
CUDA_INDEX(threadIdx, tid)
CUDA_INDEX(blockIdx, ctaid)
CUDA_INDEX(blockDim, ntid)
CUDA_INDEX(gridDim, nctaid)
constexpr int warpSize = 32;

extern "C" __device__ int printf(const char*, ...);
extern "C" __device__ int vprintf(const char*, const char*);
#define memcpy __builtin_memcpy
#define memset __builtin_memset

CUDA_FUNCTION void __syncwarp(unsigned mask = 0xffffffffu) { __nvvm_bar_warp_sync(mask); }
CUDA_FUNCTION void __threadfence_block() { __nvvm_membar_cta(); }
CUDA_FUNCTION void __threadfence() { __nvvm_membar_gl(); }
CUDA_FUNCTION void __threadfence_system() { __nvvm_membar_sys(); }
CUDA_FUNCTION int __all_sync(unsigned mask, int p) { return __nvvm_vote_all_sync(mask, p); }
CUDA_FUNCTION int __any_sync(unsigned mask, int p) { return __nvvm_vote_any_sync(mask, p); }
CUDA_FUNCTION unsigned __ballot_sync(unsigned mask, int p) { return __nvvm_vote_ballot_sync(mask, p); }
CUDA_FUNCTION unsigned __activemask() { return __nvvm_activemask(); }

// PTX ISA, "shfl.sync": the third operand has the last lane, and what divides the warp.
#define CUDA_SHUFFLE(type, name, mode, last, kind)                                       \
    CUDA_FUNCTION type name(unsigned mask, type v, int lane, int width = 32)             \
    { return __nvvm_shfl_sync_##mode##_##kind(mask, v, lane, ((32 - width) << 8) | last); }
#define CUDA_SHUFFLES(name, mode, last)                                                  \
    CUDA_SHUFFLE(int, name, mode, last, i32)                                             \
    CUDA_SHUFFLE(unsigned, name, mode, last, i32)                                        \
    CUDA_SHUFFLE(float, name, mode, last, f32)
CUDA_SHUFFLES(__shfl_sync, idx, 0x1f)
CUDA_SHUFFLES(__shfl_up_sync, up, 0)
CUDA_SHUFFLES(__shfl_down_sync, down, 0x1f)
CUDA_SHUFFLES(__shfl_xor_sync, bfly, 0x1f)

#define CUDA_ATOMIC(type, name, builtin)                                                 \
    CUDA_FUNCTION type name(type* p, type v) { return builtin(p, v); }
CUDA_ATOMIC(int, atomicAdd, __nvvm_atom_add_gen_i)
CUDA_ATOMIC(float, atomicAdd, __nvvm_atom_add_gen_f)
CUDA_ATOMIC(double, atomicAdd, __nvvm_atom_add_gen_d)
CUDA_ATOMIC(int, atomicMin, __nvvm_atom_min_gen_i)
CUDA_ATOMIC(int, atomicMax, __nvvm_atom_max_gen_i)
CUDA_ATOMIC(int, atomicAnd, __nvvm_atom_and_gen_i)
CUDA_ATOMIC(int, atomicOr, __nvvm_atom_or_gen_i)
CUDA_ATOMIC(int, atomicXor, __nvvm_atom_xor_gen_i)
CUDA_ATOMIC(int, atomicExch, __nvvm_atom_xchg_gen_i)
CUDA_FUNCTION int atomicSub(int* p, int v) { return __nvvm_atom_add_gen_i(p, -v); }
CUDA_FUNCTION int atomicCAS(int* p, int old, int v) { return __nvvm_atom_cas_gen_i(p, old, v); }
#define CUDA_UNSIGNED(type, as, name, builtin)                                           \
    CUDA_FUNCTION type name(type* p, type v) { return builtin((as*)p, v); }
CUDA_UNSIGNED(unsigned, int, atomicAdd, __nvvm_atom_add_gen_i)
CUDA_UNSIGNED(unsigned, unsigned, atomicMin, __nvvm_atom_min_gen_ui)
CUDA_UNSIGNED(unsigned, unsigned, atomicMax, __nvvm_atom_max_gen_ui)
CUDA_UNSIGNED(unsigned, unsigned, atomicInc, __nvvm_atom_inc_gen_ui)
CUDA_UNSIGNED(unsigned, unsigned, atomicDec, __nvvm_atom_dec_gen_ui)
CUDA_UNSIGNED(unsigned, int, atomicAnd, __nvvm_atom_and_gen_i)
CUDA_UNSIGNED(unsigned, int, atomicOr, __nvvm_atom_or_gen_i)
CUDA_UNSIGNED(unsigned, int, atomicXor, __nvvm_atom_xor_gen_i)
CUDA_UNSIGNED(unsigned, int, atomicExch, __nvvm_atom_xchg_gen_i)
CUDA_UNSIGNED(unsigned long long, long long, atomicAdd, __nvvm_atom_add_gen_ll)
CUDA_UNSIGNED(unsigned long long, long long, atomicExch, __nvvm_atom_xchg_gen_ll)
CUDA_FUNCTION unsigned atomicSub(unsigned* p, unsigned v) { return __nvvm_atom_add_gen_i((int*)p, -v); }
CUDA_FUNCTION unsigned atomicCAS(unsigned* p, unsigned old, unsigned v)
{ return __nvvm_atom_cas_gen_i((int*)p, old, v); }
CUDA_FUNCTION unsigned long long atomicCAS(
    unsigned long long* p, unsigned long long old, unsigned long long v)
{ return __nvvm_atom_cas_gen_ll((long long*)p, old, v); }
CUDA_FUNCTION float atomicExch(float* p, float v)
{ return __builtin_bit_cast(float, __nvvm_atom_xchg_gen_i((int*)p, __builtin_bit_cast(int, v))); }

CUDA_FUNCTION size_t __cvta_generic_to_shared(const void* p)
{ return (size_t)(const void __attribute__((address_space(3)))*)p; }
CUDA_FUNCTION size_t __cvta_generic_to_global(const void* p)
{ return (size_t)(const void __attribute__((address_space(1)))*)p; }
template <class T> CUDA_FUNCTION T __ldg(const T* p) { return *p; }

#define CUDA_BITS(to, name, from) \
    CUDA_FUNCTION to name(from v) { return __builtin_bit_cast(to, v); }
CUDA_BITS(int, __float_as_int, float)
CUDA_BITS(unsigned, __float_as_uint, float)
CUDA_BITS(float, __int_as_float, int)
CUDA_BITS(float, __uint_as_float, unsigned)
CUDA_BITS(long long, __double_as_longlong, double)
CUDA_BITS(double, __longlong_as_double, long long)
CUDA_FUNCTION int __popc(unsigned v) { return __builtin_popcount(v); }
CUDA_FUNCTION int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
CUDA_FUNCTION int __clz(int v) { return v ? __builtin_clz(v) : 32; }
CUDA_FUNCTION int __ffs(int v) { return __builtin_ffs(v); }
CUDA_FUNCTION unsigned __brev(unsigned v) { return __builtin_bitreverse32(v); }
CUDA_FUNCTION int __mul24(int a, int b) { return ((a << 8) >> 8) * ((b << 8) >> 8); }
CUDA_FUNCTION unsigned __umulhi(unsigned a, unsigned b) { return (unsigned long long)a * b >> 32; }
CUDA_FUNCTION int __mulhi(int a, int b) { return (long long)a * b >> 32; }

#define CUDA_EXTREMES(type)                                                              \
    CUDA_BOTH type min(type a, type b) { return b < a ? b : a; }                         \
    CUDA_BOTH type max(type a, type b) { return a < b ? b : a; }
CUDA_EXTREMES(int)
CUDA_EXTREMES(unsigned)
CUDA_EXTREMES(long)
CUDA_EXTREMES(unsigned long)
CUDA_EXTREMES(long long)
CUDA_EXTREMES(unsigned long long)
#define CUDA_MIXED(a_type, b_type, result)                                               \
    CUDA_BOTH result min(a_type a, b_type b) { return min((result)a, (result)b); }       \
    CUDA_BOTH result min(b_type a, a_type b) { return min((result)a, (result)b); }       \
    CUDA_BOTH result max(a_type a, b_type b) { return max((result)a, (result)b); }       \
    CUDA_BOTH result max(b_type a, a_type b) { return max((result)a, (result)b); }
CUDA_MIXED(int, unsigned, unsigned)
CUDA_MIXED(long, unsigned long, unsigned long)
CUDA_MIXED(long long, unsigned long long, unsigned long long)
CUDA_FUNCTION float min(float a, float b) { return __builtin_fminf(a, b); }
CUDA_FUNCTION float max(float a, float b) { return __builtin_fmaxf(a, b); }
CUDA_FUNCTION double min(double a, double b) { return __builtin_fmin(a, b); }
CUDA_FUNCTION double max(double a, double b) { return __builtin_fmax(a, b); }
CUDA_FUNCTION int abs(int v) { return v < 0 ? -v : v; }
CUDA_FUNCTION long long llabs(long long v) { return v < 0 ? -v : v; }

// One instruction each, and correctly rounded.
#define CUDA_ONE(name)                                                                   \
    CUDA_FUNCTION float name##f(float v) { return __builtin_##name##f(v); }              \
    CUDA_FUNCTION double name(double v) { return __builtin_##name(v); }                  \
    CUDA_FUNCTION float name(float v) { return __builtin_##name##f(v); }
CUDA_ONE(sqrt)
CUDA_ONE(fabs)
CUDA_ONE(floor)
CUDA_ONE(ceil)
CUDA_ONE(trunc)
CUDA_ONE(rint)
CUDA_FUNCTION float abs(float v) { return __builtin_fabsf(v); }
CUDA_FUNCTION double abs(double v) { return __builtin_fabs(v); }
CUDA_FUNCTION float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
CUDA_FUNCTION double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
CUDA_FUNCTION float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
CUDA_FUNCTION float fminf(float a, float b) { return __builtin_fminf(a, b); }
CUDA_FUNCTION float fmaxf(float a, float b) { return __builtin_fmaxf(a, b); }
CUDA_FUNCTION double fmin(double a, double b) { return __builtin_fmin(a, b); }
CUDA_FUNCTION double fmax(double a, double b) { return __builtin_fmax(a, b); }
CUDA_FUNCTION float fmodf(float a, float b) { return a - b * __builtin_truncf(a / b); }
CUDA_FUNCTION bool isnan(float v) { return v != v; }
CUDA_FUNCTION bool isinf(float v) { return __builtin_fabsf(v) == __builtin_bit_cast(float, 0x7f800000); }
CUDA_FUNCTION float __fadd_rn(float a, float b) { return __nvvm_add_rn_f(a, b); }
CUDA_FUNCTION float __fmul_rn(float a, float b) { return __nvvm_mul_rn_f(a, b); }
CUDA_FUNCTION float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
CUDA_FUNCTION float __fdividef(float a, float b) { return __nvvm_div_approx_f(a, b); }

// The fast instructions of the hardware, where NVIDIA's library has longer and better sequences.
CUDA_FUNCTION float rsqrtf(float v) { return __nvvm_rsqrt_approx_f(v); }
CUDA_FUNCTION float exp2f(float v) { return __nvvm_ex2_approx_f(v); }
CUDA_FUNCTION float expf(float v) { return __nvvm_ex2_approx_f(v * 1.4426950408889634f); }
CUDA_FUNCTION float log2f(float v) { return __nvvm_lg2_approx_f(v); }
CUDA_FUNCTION float logf(float v) { return __nvvm_lg2_approx_f(v) * 0.69314718055994531f; }
CUDA_FUNCTION float log10f(float v) { return __nvvm_lg2_approx_f(v) * 0.30102999566398120f; }
CUDA_FUNCTION float powf(float a, float b) { return __nvvm_ex2_approx_f(b * __nvvm_lg2_approx_f(a)); }
CUDA_FUNCTION float sinf(float v) { return __nvvm_sin_approx_f(v); }
CUDA_FUNCTION float cosf(float v) { return __nvvm_cos_approx_f(v); }
CUDA_FUNCTION float tanf(float v) { return sinf(v) / cosf(v); }
CUDA_FUNCTION float tanhf(float v) { float e = expf(2 * v); return 1 - 2 / (e + 1); }
CUDA_FUNCTION float exp(float v) { return expf(v); }
CUDA_FUNCTION float log(float v) { return logf(v); }
CUDA_FUNCTION float pow(float a, float b) { return powf(a, b); }
CUDA_FUNCTION float sin(float v) { return sinf(v); }
CUDA_FUNCTION float cos(float v) { return cosf(v); }
CUDA_FUNCTION float __expf(float v) { return expf(v); }
CUDA_FUNCTION float __exp2f(float v) { return exp2f(v); }
CUDA_FUNCTION float __logf(float v) { return logf(v); }
CUDA_FUNCTION float __log2f(float v) { return log2f(v); }
CUDA_FUNCTION float __powf(float a, float b) { return powf(a, b); }
CUDA_FUNCTION float __sinf(float v) { return sinf(v); }
CUDA_FUNCTION float __cosf(float v) { return cosf(v); }
