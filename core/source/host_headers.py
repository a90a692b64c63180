"""What `#include` of a header of the host's gives a kernel: what nvcc lets device code use of it.

Types of fixed width, limits, INFINITY and M_PI, `std::sqrt` and `std::min`. All else of these
headers serves the host, whose code is left out before NVRTC sees a file (`core.source.slicing`),
so that most are empty. With NVIDIA's libcu++ at hand, `std` has its compile-time part, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType


def _words(text: str) -> list[str]:
    return text.split()


_ONCE = "#pragma once\n"
_WIDTHS = ((8, "char"), (16, "short"), (32, "int"), (64, "long long"))
_INTEGERS = "".join(
    f"typedef {sign} {plain} {letter}int{bits}_t;\n"
    f"typedef {sign} {plain} {letter}int_fast{bits}_t;\n"
    f"typedef {sign} {plain} {letter}int_least{bits}_t;\n"
    for bits, plain in _WIDTHS
    for sign, letter in (("signed", ""), ("unsigned", "u"))
)
_WIDTH_LIMITS = "".join(
    f"#define INT{bits}_MAX {(1 << (bits - 1)) - 1}{suffix}\n"
    f"#define INT{bits}_MIN (-INT{bits}_MAX - 1)\n"
    f"#define UINT{bits}_MAX {(1 << bits) - 1}{unsigned}\n"
    for bits, suffix, unsigned in ((8, "", ""), (16, "", ""), (32, "", "U"), (64, "LL", "ULL"))
)
_POINTERS = (
    "typedef long long intptr_t;\ntypedef unsigned long long uintptr_t;\n"
    "typedef long long intmax_t;\ntypedef unsigned long long uintmax_t;\n"
    "#define SIZE_MAX UINT64_MAX\n"
)
_STD_INTEGERS = "namespace std {{ {} }}\n".format(
    " ".join(f"using ::{u}int{bits}_t;" for bits, _ in _WIDTHS for u in ("", "u"))
)
# libcu++ defines some of these macros again, and says the same in other words.
_QUIET = _ONCE + "#pragma nv_diag_suppress 47\n"
_STDINT = _QUIET + _INTEGERS + _POINTERS + _WIDTH_LIMITS
_LIMITS = """#pragma once
#define CHAR_BIT 8
#define CHAR_MIN SCHAR_MIN
#define CHAR_MAX SCHAR_MAX
#define SCHAR_MIN (-128)
#define SCHAR_MAX 127
#define UCHAR_MAX 255
#define SHRT_MIN (-32768)
#define SHRT_MAX 32767
#define USHRT_MAX 65535
#define INT_MAX 2147483647
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX 4294967295U
#define LONG_MAX LLONG_MAX
#define LONG_MIN LLONG_MIN
#define ULONG_MAX ULLONG_MAX
#define LLONG_MAX 9223372036854775807LL
#define LLONG_MIN (-LLONG_MAX - 1)
#define ULLONG_MAX 18446744073709551615ULL
"""
_FLOAT = """#pragma once
#define FLT_RADIX 2
#define FLT_MANT_DIG 24
#define FLT_DIG 6
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-07f
#define DBL_MANT_DIG 53
#define DBL_DIG 15
#define DBL_MAX 1.7976931348623158e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-016
"""
_CONSTANTS = {
    "E": "2.7182818284590452354",
    "LOG2E": "1.4426950408889634074",
    "LOG10E": "0.43429448190325182765",
    "LN2": "0.69314718055994530942",
    "LN10": "2.30258509299404568402",
    "PI": "3.14159265358979323846",
    "PI_2": "1.57079632679489661923",
    "PI_4": "0.78539816339744830962",
    "1_PI": "0.31830988618379067154",
    "2_PI": "0.63661977236758134308",
    "2_SQRTPI": "1.12837916709551257390",
    "SQRT2": "1.41421356237309504880",
    "SQRT1_2": "0.70710678118654752440",
}
_MATH = (
    _QUIET
    # Members: the cast itself goes through local memory in a build as written. A template's, as
    # those of others would be in every module.
    + "#ifndef __tilescope_math\n#define __tilescope_math\n"
    + "template <class T> struct __tilescope_special {\n"
    + "static constexpr T infinity = __builtin_bit_cast(T, 0x7f800000);\n"
    + "static constexpr T nan = __builtin_bit_cast(T, 0x7fffffff);\n};\n#endif\n"
    + "#define INFINITY (__tilescope_special<float>::infinity)\n"
    + "#define NAN (__tilescope_special<float>::nan)\n"
    + "#define HUGE_VALF INFINITY\n#define HUGE_VAL ((double)INFINITY)\n"
    + "".join(f"#define M_{name} {value}\n" for name, value in _CONSTANTS.items())
)
_FUNCTIONS = _words("""
abs acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs
fdim floor fma fmax fmin fmod frexp hypot ilogb isfinite isinf isnan ldexp lgamma llrint llround log
log10 log1p log2 logb lrint lround modf nan nearbyint nextafter pow remainder rint round scalbn
signbit sin sinh sqrt tan tanh tgamma trunc fabsf sqrtf expf logf powf sinf cosf tanf floorf ceilf
fmaxf fminf fmodf
""")
_CMATH = _MATH + "namespace std { " + " ".join(f"using ::{name};" for name in _FUNCTIONS) + " }\n"
_FUNCTION = "template <class T> __host__ __device__ constexpr"
_ALGORITHM = f"""#pragma once
namespace std {{
{_FUNCTION} const T& max(const T& a, const T& b) {{ return a < b ? b : a; }}
{_FUNCTION} const T& min(const T& a, const T& b) {{ return b < a ? b : a; }}
{_FUNCTION} const T& clamp(const T& v, const T& lo, const T& hi)
{{ return v < lo ? lo : hi < v ? hi : v; }}
#ifdef __CUDACC_RTC__
{_FUNCTION} T max(initializer_list<T> all)
{{ T r = *all.begin(); for (const T& one : all) if (r < one) r = one; return r; }}
{_FUNCTION} T min(initializer_list<T> all)
{{ T r = *all.begin(); for (const T& one : all) if (one < r) r = one; return r; }}
#endif
}}
"""
TENSOR_MAPS: Mapping[str, tuple[str, ...]] = {  # of cuda.h, in their order
    "DataType": tuple(
        f"DATA_TYPE_{name}"
        for name in _words("""
UINT8 UINT16 UINT32 INT32 UINT64 INT64 FLOAT16 FLOAT32 FLOAT64 BFLOAT16 FLOAT32_FTZ TFLOAT32
TFLOAT32_FTZ
""")
    ),
    "Swizzle": ("SWIZZLE_NONE", "SWIZZLE_32B", "SWIZZLE_64B", "SWIZZLE_128B"),
    "Interleave": ("INTERLEAVE_NONE", "INTERLEAVE_16B", "INTERLEAVE_32B"),
    "L2promotion": tuple(f"L2_PROMOTION_{n}" for n in ("NONE", "L2_64B", "L2_128B", "L2_256B")),
    "FloatOOBfill": ("FLOAT_OOB_FILL_NONE", "FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA"),
}
"""The enumerators of CUtensorMapDataType and so on, without `CU_TENSOR_MAP_`."""
_CUDA = (
    f"{_ONCE}#define CUDA_VERSION (__CUDACC_VER_MAJOR__ * 1000 + __CUDACC_VER_MINOR__ * 10)\n"
    "#ifndef __cuda_cuda_h__\n#define __cuda_cuda_h__\n"  # as the driver's own header does
    "typedef struct alignas(64) CUtensorMap_st { unsigned long long opaque[16]; } CUtensorMap;\n"
    + "".join(
        f"enum CUtensorMap{kind} {{ {', '.join(f'CU_TENSOR_MAP_{n}' for n in names)} }};\n"
        for kind, names in TENSOR_MAPS.items()
    )
    + "#endif\n"
)
_DIRECTX = (
    f"{_ONCE}namespace DirectX {{\n"
    + "".join(
        f"struct XM{name}{count} {{ {kind} {', '.join('xyzw'[:count])}; }};\n"
        for name, kind in (("FLOAT", "float"), ("INT", "int"), ("UINT", "unsigned"))
        for count in (2, 3, 4)
    )
    + "}\n"
)
_STDIO = _ONCE + "namespace std { using ::printf; }\n"
_STRING = _ONCE + "namespace std { using ::memcpy; using ::memset; }\n"
_STDDEF = _ONCE + "namespace std { using ::size_t; using nullptr_t = decltype(nullptr); }\n"
# Host classes that may be members of a structure that a kernel sees, as large as in libstdc++.
_CONTAINERS = {
    "vector": ("template <class T, class A = void> class vector", 24),
    "list": ("template <class T, class A = void> class list", 24),
    "deque": ("template <class T, class A = void> class deque", 80),
    "string": ("class string", 32),
    "functional": ("template <class F> class function", 32),
    "map": ("template <class K, class T, class C = void, class A = void> class map", 48),
    "set": ("template <class K, class C = void, class A = void> class set", 48),
    "unordered_map": (
        "template <class K, class T, class H = void, class P = void, class A = void>"
        " class unordered_map",
        56,
    ),
    "unordered_set": (
        "template <class K, class H = void, class P = void, class A = void> class unordered_set",
        56,
    ),
}
HOST_CLASSES = tuple("function" if name == "functional" else name for name in _CONTAINERS)
"""Classes of `std` that a structure may have as members and no kernel can use."""
_OF_CONTAINERS = {
    name: f"{_ONCE}namespace std {{ {head} {{ size_t of_host[{nbytes // 8}]; }}; }}\n"
    for name, (head, nbytes) in _CONTAINERS.items()
}
_EMPTY = _words("""
stdio.h stdlib.h string.h assert.h stddef.h time.h ctype.h errno.h signal.h unistd.h inttypes.h
sys/time.h sys/types.h sys/stat.h sys/mman.h sys/socket.h sys/un.h sys/ioctl.h fcntl.h pthread.h
dlfcn.h sched.h semaphore.h poll.h stdbool.h stdarg.h malloc.h windows.h omp.h mpi.h
cstdlib cassert ctime cctype cerrno cstdarg cinttypes string_view queue stack bitset memory numeric
random chrono thread mutex atomic
condition_variable future stdexcept exception system_error typeinfo typeindex optional variant any
filesystem regex locale
ciso646 csignal csetjmp clocale cwchar cwctype cuchar codecvt charconv execution memory_resource
scoped_allocator shared_mutex stop_token format barrier latch semaphore
strings.h wchar.h locale.h setjmp.h fenv.h getopt.h dirent.h libgen.h netdb.h intrin.h immintrin.h
sys/wait.h sys/uio.h sys/resource.h sys/syscall.h arpa/inet.h netinet/in.h linux/version.h io.h
direct.h process.h conio.h
cfenv complex numbers new initializer_list valarray ratio ranges span bit compare
source_location
helper_cuda.h helper_functions.h helper_string.h helper_timer.h helper_image.h exception.h
cusparse.h cusparse_v2.h cusolverDn.h curand.h cudnn.h nccl.h nvrtc.h
""")

_STREAMS = _words("iostream fstream sstream iomanip ostream istream iosfwd")
_STREAM = (  # Thrust's random numbers declare functions of these
    f"{_ONCE}namespace std {{ template <class C, class T> class basic_ostream;"
    " template <class C, class T> class basic_istream; }\n"
)

# Headers that serve the host alone, whatever their names go on with.
_HOST_ONLY = re.compile(
    r"nvtx3?/|nvToolsExt|cupti|GL/|GLFW/|cuda_?(?:GL|gl_|EGL|egl_|VDPAU|vdpau)"
    r"|cuda_?[Pp]rofiler|cuda_occupancy|driver_functions|nvml|npp|cub/(?:device/|util_allocator)"
    r"|cuda/(?:stream_ref|memory_resource|stream|event|device)$"
)
# Libraries of the host's whose headers people keep beside their sources: long, and no kernel's.
OF_HOST_ALONE = re.compile(
    r"(?:.*/)?(?:catch|doctest|cxxopts|json|argparse|CLI11|stb_\w+|lodepng|tinyexr\w*)\.h(?:pp)?$"
    r"|(?:gtest|gmock|spdlog|nlohmann)/"
)
_TORCH = re.compile(r"(?:torch|ATen|c10|pybind11)/")
_FFT = """#pragma once
typedef float cufftReal; typedef double cufftDoubleReal; typedef float2 cufftComplex;
typedef double2 cufftDoubleComplex; typedef int cufftHandle;
"""
# What device code uses of PyTorch: types, macros, and tensors as kernels take them.
_TORCH_SHIM = """#pragma once
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
#define CUDA_KERNEL_LOOP_TYPE(i, n, type) \\
    type _at_##i = (type)blockIdx.x * blockDim.x + threadIdx.x; \\
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
"""
_BESIDE = {"float": "float", "double": "double", "int": ""}  # what a sum with a half is, "" a half


def _operator(result: str, op: str, left: str, right: str, computed: str) -> str:
    """One operator, which computes as numbers of the type `computed` do."""
    return (
        f"{_INLINE} {result} operator{op}({left} a, {right} b) "
        f"{{ return {computed}(a) {op} {computed}(b); }}\n"
    )


_INLINE = "__host__ __device__ inline"


def _half(name: str, cuda: str) -> str:
    """A number of 16 bits as PyTorch has it: its bits are `x`, and it computes as a float does."""
    text = ""
    for op in ("+", "-", "*", "/", "<", ">", "<=", ">=", "==", "!="):
        is_sum = op in "+-*/"
        text += _operator(name if is_sum else "bool", op, name, name, "float")
        for other, to in _BESIDE.items():
            result = (to or name) if is_sum else "bool"
            text += _operator(result, op, name, other, to or "float")
            text += _operator(result, op, other, name, to or "float")
        if is_sum:
            text += (
                f"{_INLINE} {name}& operator{op}=({name}& a, {name} b) {{ return a = a {op} b; }}\n"
            )
    return f"""struct alignas(2) {name} {{
    unsigned short x;
    struct from_bits_t {{}};
    {name}() = default;
    __host__ __device__ {name}(unsigned short bits, from_bits_t) : x(bits) {{}}
    __host__ __device__ {name}(float value) : {name}({cuda}(value)) {{}}
    __host__ __device__ {name}({cuda} value) : x(__builtin_bit_cast(unsigned short, value)) {{}}
    __host__ __device__ operator float() const {{ return float({cuda}(*this)); }}
    __host__ __device__ operator {cuda}() const {{ return __builtin_bit_cast({cuda}, x); }}
}};
{text}{_INLINE} {name} operator-({name} a) {{ return -float(a); }}
template <> struct OpMathType<{name}> {{ typedef float type; }};
template <bool C> struct AccumulateType<{name}, C> {{ typedef float type; }};
"""


_TORCH_HALVES = f"""#include <cuda_fp16.h>
#include <cuda_bf16.h>
namespace at {{
{_half("Half", "__half")}{_half("BFloat16", "__nv_bfloat16")}}}
"""
HALF_NAMES = re.compile(r"\bhalf[24]?\b|\b__half|bfloat16|\bat::(?:Half|BFloat16)|\bc10::")
# What OpenCV gives to kernels (opencv2/core/cuda_types.hpp): views of an image on the GPU, whose
# rows lie `step` bytes apart. Each of its headers has all of it.
_OPENCV = """#ifndef TILESCOPE_OPENCV
#define TILESCOPE_OPENCV
typedef unsigned char uchar;
typedef unsigned short ushort;
namespace cv { namespace cuda {
template <class T> struct DevPtr {
    typedef T elem_type;
    T* data;
    __device__ operator T*() { return data; }
    __device__ operator const T*() const { return data; }
};
template <class T> struct PtrSz : DevPtr<T> { size_t size; };
template <class T> struct PtrStep : DevPtr<T> {
    size_t step;
    __device__ T* ptr(int y = 0) { return (T*)((char*)this->data + y * step); }
    __device__ const T* ptr(int y = 0) const { return (const T*)((char*)this->data + y * step); }
    __device__ T& operator()(int y, int x) { return ptr(y)[x]; }
    __device__ const T& operator()(int y, int x) const { return ptr(y)[x]; }
};
template <class T> struct PtrStepSz : PtrStep<T> { int cols, rows; };
typedef PtrStepSz<unsigned char> PtrStepSzb;
typedef PtrStepSz<float> PtrStepSzf;
typedef PtrStepSz<int> PtrStepSzi;
typedef PtrStep<unsigned char> PtrStepb;
typedef PtrStep<float> PtrStepf;
typedef PtrStep<int> PtrStepi;
} }
#endif
"""
_WITH_HALVES = re.compile(r"cublas\w*\.h")  # they include CUDA's headers of these types


def stand_in(header: str, has_halves: bool) -> str | None:
    """What stands for a header of the host's that goes by a pattern; None for any other.

    `has_halves`: the source speaks of numbers of 16 bits, which some of them declare.
    """
    if _WITH_HALVES.fullmatch(header):
        return "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n" if has_halves else _ONCE
    if _TORCH.match(header):
        return _TORCH_INCLUDE
    if header.startswith(("opencv2/", "opencv/")):
        return _OPENCV
    if header in ("cufft.h", "cufftXt.h", "cufftw.h"):
        return _FFT
    return _ONCE if _HOST_ONLY.match(header) or OF_HOST_ALONE.match(header) else None


def torch_header(has_halves: bool) -> str:
    """The content of `TORCH`, which PyTorch's headers stand for."""
    return _TORCH_SHIM + (_TORCH_HALVES if has_halves else "")


TORCH = "tilescope_torch.h"
_TORCH_INCLUDE = f"{_ONCE}#include <{TORCH}>\n"

# What libcu++ has for kernels, too; by name, as its `sqrt` and `abs` would clash with CUDA's own.
_TRAITS = _words("""
is_same is_integral is_floating_point is_arithmetic is_signed is_unsigned is_pointer is_const
is_enum is_class is_void is_base_of is_convertible is_trivially_copyable is_constructible
is_invocable
""")
_TYPES = _words("""
enable_if conditional decay remove_reference remove_cv remove_const remove_pointer add_const
make_unsigned make_signed underlying_type common_type invoke_result
""")
_FROM_LIBCUDACXX = {
    "array": ["array"],
    "limits": ["numeric_limits"],
    "type_traits": [
        *(f"{name}{end}" for name in _TRAITS for end in ("", "_v")),
        *(f"{name}{end}" for name in _TYPES for end in ("", "_t")),
        *("true_type", "false_type", "integral_constant", "bool_constant", "void_t"),
    ],
    # NVRTC has std::move and std::forward by itself
    "utility": [
        "swap",
        "pair",
        "make_pair",
        "exchange",
        "declval",
        "integer_sequence",
        "index_sequence",
        "make_index_sequence",
    ],
    "tuple": ["tuple", "make_tuple", "tie", "get", "apply"],
    "bit": ["bit_cast"],
    "iterator": _words("""
iterator_traits input_iterator_tag output_iterator_tag forward_iterator_tag
bidirectional_iterator_tag random_access_iterator_tag reverse_iterator distance advance next prev
"""),
    "concepts": _words("""
same_as derived_from convertible_to common_with integral signed_integral unsigned_integral
floating_point assignable_from swappable destructible constructible_from default_initializable
move_constructible copy_constructible equality_comparable totally_ordered movable copyable
semiregular regular invocable predicate
"""),
}
_CUB_BLOCK = _words("""
block/block_adjacent_difference block/block_discontinuity block/block_exchange block/block_histogram
block/block_load block/block_merge_sort block/block_radix_sort block/block_reduce block/block_scan
block/block_shuffle block/block_store warp/warp_exchange warp/warp_load warp/warp_merge_sort
warp/warp_reduce warp/warp_scan warp/warp_store
""")

# nvcc includes these before any source, so that kernels use their macros without a word.
HELD_BY_NVCC: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "math.h": (
            "INFINITY",
            "NAN",
            "HUGE_VAL",
            "HUGE_VALF",
            *(f"M_{name}" for name in _CONSTANTS),
        ),
        "limits.h": tuple(re.findall(r"#define (\w+)", _LIMITS)),
        "stdint.h": tuple(f"{u}int{bits}_t" for bits, _ in _WIDTHS for u in ("", "u")),
    }
)
STAND_INS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(_EMPTY, _ONCE),
        **dict.fromkeys(_STREAMS, _STREAM),
        **_OF_CONTAINERS,
        **dict.fromkeys((*_FROM_LIBCUDACXX, "span"), _ONCE),
        "stdint.h": _STDINT,
        "cstdint": _STDINT + _STD_INTEGERS,
        "limits.h": _LIMITS,
        "climits": _LIMITS,
        "float.h": _FLOAT,
        "cfloat": _FLOAT,
        "math.h": _MATH,
        "cmath": f"{_CMATH}#include <algorithm>\n",
        "cstdio": _STDIO,
        "cstring": _STRING,
        "cstddef": _STDDEF,
        "algorithm": _ALGORITHM,
        "cuda.h": _CUDA,
        "cudaTypedefs.h": _CUDA,
        "DirectXMath.h": _DIRECTX,
    }
)


STD_NAMES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(_FUNCTIONS, "cmath"),
        **dict.fromkeys(("max", "min", "clamp"), "algorithm"),
        **dict.fromkeys(("size_t", "nullptr_t"), "cstddef"),
        **dict(zip(HOST_CLASSES, _CONTAINERS, strict=True)),
        **{f"{u}int{bits}_t": "cstdint" for bits, _ in _WIDTHS for u in ("", "u")},
        **{name: header for header, names in _FROM_LIBCUDACXX.items() for name in names},
    }
)
"""The header of a name in `std` that a kernel may use: other headers of the host's include it."""


# What nvcc has without any header, by way of the host's: taken in where a source names it.
PRE_INCLUDED = "tilescope_names.h"
FIRST = "tilescope_first.h"
"""Among a source's own headers the one that includes what somebody wants before the source."""
_NAMES = "typedef unsigned int uint; typedef unsigned short ushort; typedef unsigned long ulong;\n"
_DOT = (
    "static __device__ __forceinline__ {r} tilescope_{name}({r} a, {u} b, {r} c)\n"
    '{{ {r} d; asm("{op} %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c)); return d; }}\n'
)
_DOTS = [  # NVRTC 13 fails at these intrinsics where it makes debug information
    _DOT.format(r=r, u=r, name=name, op=f"{op}.{t}.{t}")
    for r, t in (("int", "s32"), ("unsigned", "u32"))
    for name, op in (("__dp4a", "dp4a"), ("__dp2a_lo", "dp2a.lo"), ("__dp2a_hi", "dp2a.hi"))
]
_DOT_NAMES = "".join(f"#define {n} tilescope_{n}\n" for n in ("__dp4a", "__dp2a_lo", "__dp2a_hi"))


# What the host's compilers know without a header.
_BUILT_IN = {
    "__FLT_MAX__": "3.402823466e+38f",
    "__FLT_MIN__": "1.175494351e-38f",
    "__FLT_EPSILON__": "1.192092896e-07f",
    "__DBL_MAX__": "1.7976931348623158e+308",
    "__asm__": "asm",
    "__volatile__": "volatile",
    "register": "",
    "__INT_MAX__": "2147483647",
    "__LONG_MAX__": "9223372036854775807L",
}
# A kernel waits for the one before it, or lets the next one start: here it runs alone.
_BUILT_IN |= dict.fromkeys(
    ("cudaGridDependencySynchronize()", "cudaTriggerProgrammaticLaunchCompletion()"), "((void)0)"
)
# The system that nvcc compiles for, where a source asks.
_BUILT_IN |= dict.fromkeys(("__linux__", "__linux", "__unix__"), "1")
_OWN_ANY = "cuda/std/__functional/invoke.h"
"""The header of libcu++ that has an __any of its own: it must come before the macro."""
# Intrinsics of before Volta, whose threads were all taken to be there; NVRTC has them no more.
_FORMER = re.compile(r"\b__(?:shfl(?:_up|_down|_xor)?|any|all|ballot)(?=\s*\()")


# The device's runtime takes memory from the heap of a kernel's malloc (CUDA Programming Guide,
# Dynamic Parallelism, "Memory Allocation").
_OF_HEAP = """template <class T>
static __device__ __forceinline__ cudaError_t cudaMalloc(T** p, unsigned long long bytes)
{ *p = static_cast<T*>(malloc(bytes)); return *p ? cudaSuccess : cudaErrorMemoryAllocation; }
static __device__ __forceinline__ cudaError_t cudaFree(void* p) { free(p); return cudaSuccess; }
"""
_USES_HEAP = re.compile(r"\bcuda(?:Malloc|Free)\s*\(")
# NVRTC knows the names, and their headers come by way of others that may not be at hand.
_HALVES_BY_NAME = {"__half": "cuda_fp16.h", "__nv_bfloat16": "cuda_bf16.h"}


_LIBCUDACXX_ATOMIC = re.compile(r"\bcuda::(?:atomic(?:_ref)?|thread_scope\w*|memory_order\w*)\b")
_CONDITION = re.compile(r"^[ \t]*#[ \t]*(?:el)?if\b((?:[^\n\\]|\\.)*)", re.MULTILINE | re.DOTALL)
_ASKED = re.compile(r"//.*|/\*.*?\*/|\b([A-Z][A-Z0-9_]+)\s*\(([^()]*)\)")
_VERSION = re.compile(r"\s*\d+(?:\s*,\s*\d+)+\s*")


def _never_true(source: str) -> Mapping[str, int]:
    """Values for the macros with arguments that conditions ask for and nothing here defines.

    A library's header that is not here does. A version, such as NCCL_VERSION(2, 28, 0), is one that
    is never reached; anything else is not there.
    """
    asked = (found for test in _CONDITION.finditer(source) for found in _ASKED.finditer(test[1]))
    values = {m[1]: (1 << 31) - 1 if _VERSION.fullmatch(m[2]) else 0 for m in asked if m[1]}
    defined = set(re.findall(r"#\s*define\s+(\w+)", source)) if values else set()
    return {name: value for name, value in values.items() if name not in defined}


def pre_included(source: str, *, is_debug: bool, has_runtime: bool) -> str:
    """What goes before a source, "" for most: names of types, and intrinsics as instructions.

    `has_runtime`: the compiler knows the types of CUDA's runtime, such as cudaError_t.
    """
    text = _NAMES if re.search(r"\bu(?:int|short|long)\b", source) else ""
    if has_runtime and _USES_HEAP.search(source):
        text += _OF_HEAP
    if is_debug and re.search(r"\b__dp[24]a", source):
        text += "".join(_DOTS) + _DOT_NAMES
    text += "".join(f"#define {n} {value}\n" for n, value in _BUILT_IN.items() if n in source)
    text += "".join(f"#define {n}(...) {value}\n" for n, value in _never_true(source).items())
    for name in sorted(set(_FORMER.findall(source))):
        if name == "__any":
            text += f"#if __has_include(<{_OWN_ANY}>)\n#include <{_OWN_ANY}>\n#endif\n"
        text += f"#define {name}(...) {name}_sync(0xffffffffu, __VA_ARGS__)\n"
    headers = {STD_NAMES.get(name) for name in re.findall(r"\bstd::(\w+)", source)}
    headers |= {"cuda/atomic"} if _LIBCUDACXX_ATOMIC.search(source) else set()
    headers |= {h for name, h in _HALVES_BY_NAME.items() if name in source and h not in source}
    return text + "".join(f"#include <{header}>\n" for header in sorted(filter(None, headers)))


def with_libraries() -> Mapping[str, str]:
    """The stand-ins where NVIDIA's libcu++ and CUB are at hand.

    CUB as a whole launches kernels of its own; its blocks' and warps' algorithms are for kernels.
    """
    standard = {
        header: f"{_ONCE}#include <cuda/std/{header}>\nnamespace std {{ "
        + " ".join(f"using cuda::std::{name};" for name in names)
        + " }\n"
        for header, names in _FROM_LIBCUDACXX.items()
    }
    cub = _ONCE + "".join(f"#include <cub/{name}.cuh>\n" for name in _CUB_BLOCK)
    return {**STAND_INS, **standard, "cub/cub.cuh": cub}
