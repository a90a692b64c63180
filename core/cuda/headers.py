"""Where `#include` finds its files: CUDA's own headers, and stand-ins for those of the host.

NVRTC brings no headers. CUDA's (cuda_fp16.h, mma.h, cooperative_groups.h …) come with a toolkit or
the PyPI packages nvidia-cuda-runtime, nvidia-cuda-crt and nvidia-cuda-cccl. A header of the host's
C library declares nothing that a kernel needs beyond what NVRTC predefines and the names below.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

_MARKS = ("cuda_fp16.h", "crt/mma.h", "cccl")  # one of each of the three packages
_INTEGERS = "".join(
    f"typedef {sign} {plain} {letter}int{bits}_t;\n"
    for bits, plain in ((8, "char"), (16, "short"), (32, "int"), (64, "long long"))
    for sign, letter in (("signed", ""), ("unsigned", "u"))
)
_POINTERS = "typedef long long intptr_t;\ntypedef unsigned long long uintptr_t;\n"
_STDINT = "#pragma once\n" + _INTEGERS + _POINTERS
_LIMITS = """#pragma once
#define CHAR_BIT 8
#define SCHAR_MIN (-128)
#define SCHAR_MAX 127
#define UCHAR_MAX 255
#define SHRT_MIN (-32768)
#define SHRT_MAX 32767
#define USHRT_MAX 65535
#define INT_MAX 2147483647
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX 4294967295U
#define LLONG_MAX 9223372036854775807LL
#define LLONG_MIN (-LLONG_MAX - 1)
#define ULLONG_MAX 18446744073709551615ULL
"""
_FLOAT = """#pragma once
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-07f
#define DBL_MAX 1.7976931348623158e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-016
"""
STAND_INS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(
            ("stdio.h", "stdlib.h", "string.h", "math.h", "assert.h", "stddef.h", "time.h",
             "cstdio", "cstdlib", "cstring", "cmath", "cassert", "cstddef", "iostream", "vector",
             "algorithm"),
            "#pragma once\n",
        ),
        "stdint.h": _STDINT, "cstdint": _STDINT,
        "limits.h": _LIMITS, "climits": _LIMITS,
        "float.h": _FLOAT, "cfloat": _FLOAT,
    }
)  # fmt: skip
# NVRTC predefines what these declare; without a toolkit they are empty.
_RUNTIME = ("cuda_runtime.h", "cuda.h", "device_launch_parameters.h", "cuda_runtime_api.h")


@cache
def include_folders() -> tuple[Path, ...]:
    """The folders with CUDA's headers, or none: the place that has most of them.

    PyPI packages come before a toolkit that has as much.
    """
    folders = [f for f in _candidates() if (f / _MARKS[0]).is_file()]
    if not folders:
        return ()
    best = max(folders, key=lambda f: sum((f / mark).exists() for mark in _MARKS))
    cccl = best / "cccl"
    return (best, cccl) if cccl.is_dir() else (best,)


def stand_ins() -> Mapping[str, str]:
    """Headers by name and content, for those that nobody else provides."""
    if include_folders():
        return STAND_INS
    return {**STAND_INS, **dict.fromkeys(_RUNTIME, "#pragma once\n")}


def _candidates() -> Iterator[Path]:
    package = importlib.util.find_spec("nvidia")
    for root in package.submodule_search_locations or () if package else ():
        yield from sorted(Path(root).glob("cu[0-9]*/include"), reverse=True)
        yield Path(root) / "cuda_runtime" / "include"  # the layout of CUDA 12's packages
    for name in ("CUDA_PATH", "CUDA_HOME"):
        if name in os.environ:
            yield Path(os.environ[name]) / "include"
    yield Path("/usr/local/cuda/include")
