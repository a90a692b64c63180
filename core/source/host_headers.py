"""What `#include` of a header of the host's gives a kernel: what nvcc lets device code use of it.

Types of fixed width, limits, INFINITY and M_PI, `std::sqrt` and `std::min`. All else of these
headers serves the host, whose code is left out before NVRTC sees a file
(`core.source.kernel_slice`), so that most are empty. With NVIDIA's libcu++ at hand, `std` has its
compile-time part, too. What is more than a line or two stands in resources/headers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType


def _words(text: str) -> list[str]:
    return text.split()


FOLDER = Path(__file__).resolve().parents[2] / "resources" / "headers"
"""What stands for the host's headers, as far as it is long."""


def _text(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


_ONCE = "#pragma once\n"
_STDINT, _LIMITS, _FLOAT, _MATH = map(_text, ("stdint.h", "limits.h", "float.h", "math.h"))
_INTEGERS = tuple(f"{u}int{bits}_t" for bits in (8, 16, 32, 64) for u in ("", "u"))
_STD_INTEGERS = f"namespace std {{ {' '.join(f'using ::{name};' for name in _INTEGERS)} }}\n"
_FUNCTIONS = _words("""
abs acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs
fdim floor fma fmax fmin fmod frexp hypot ilogb isfinite isinf isnan ldexp lgamma llrint llround log
log10 log1p log2 logb lrint lround modf nan nearbyint nextafter pow remainder rint round scalbn
signbit sin sinh sqrt tan tanh tgamma trunc fabsf sqrtf expf logf powf sinf cosf tanf floorf ceilf
fmaxf fminf fmodf
""")
_CMATH = _MATH + "namespace std { " + " ".join(f"using ::{name};" for name in _FUNCTIONS) + " }\n"
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
HALF_NAMES = re.compile(r"\bhalf[24]?\b|\b__half|bfloat16|\bat::(?:Half|BFloat16)|\bc10::")
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
        return _text("opencv.h")
    if header in ("cufft.h", "cufftXt.h", "cufftw.h"):
        return _text("cufft.h")
    return _ONCE if _HOST_ONLY.match(header) or OF_HOST_ALONE.match(header) else None


def torch_header(has_halves: bool) -> str:
    """The content of `TORCH`, which PyTorch's headers stand for."""
    return _text("torch.h") + (_text("torch_halves.h") if has_halves else "")


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
        *("swap", "pair", "make_pair", "exchange", "declval", "integer_sequence"),
        *("index_sequence", "make_index_sequence"),
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
        "math.h": tuple(re.findall(r"#define ([A-Z]\w+)", _MATH)),
        "limits.h": tuple(re.findall(r"#define (\w+)", _LIMITS)),
        "stdint.h": _INTEGERS,
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
        "algorithm": _text("algorithm.h"),
        "cuda.h": _CUDA,
        "cudaTypedefs.h": _CUDA,
        "DirectXMath.h": _text("DirectXMath.h"),
    }
)


STD_NAMES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(_FUNCTIONS, "cmath"),
        **dict.fromkeys(("max", "min", "clamp"), "algorithm"),
        **dict.fromkeys(("size_t", "nullptr_t"), "cstddef"),
        **dict(zip(HOST_CLASSES, _CONTAINERS, strict=True)),
        **dict.fromkeys(_INTEGERS, "cstdint"),
        **{name: header for header, names in _FROM_LIBCUDACXX.items() for name in names},
    }
)
"""The header of a name in `std` that a kernel may use: other headers of the host's include it."""


# What nvcc has without any header, by way of the host's: taken in where a source names it.
PRE_INCLUDED = "tilescope_names.h"
FIRST = "tilescope_first.h"
"""Among a source's own headers the one that includes what somebody wants before the source."""
_NAMES = (  # of sys/types.h, which nvcc reads with the C library
    "typedef unsigned int uint; typedef unsigned short ushort; typedef unsigned long ulong;"
    "typedef unsigned int u_int; typedef unsigned short u_short; typedef unsigned long u_long;"
    "typedef unsigned char u_char; typedef long ssize_t;\n"
)
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
    text = _NAMES if re.search(r"\bu_?(?:int|short|long|char)\b|\bssize_t\b", source) else ""
    if has_runtime and _USES_HEAP.search(source):
        text += _text("heap.h")
    if is_debug and re.search(r"\b__dp[24]a", source):
        text += _text("dp4a.h")
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
