"""Includes: stand-ins for the host's headers, and CUDA's where they are installed."""

from __future__ import annotations

import pytest

from core.cuda.compiler import compile_ptx
from core.cuda.headers import STAND_INS, include_folders


@pytest.mark.parametrize("name", sorted(STAND_INS))
def test_host_headers_can_be_included(name) -> None:
    build = compile_ptx(f'#include <{name}>\nextern "C" __global__ void k(int* a) {{ *a = 1; }}')
    assert build.entries == ("k",)


def test_types_and_limits() -> None:
    source = """
#include <cstdint>
#include <limits.h>
#include <float.h>
static_assert(sizeof(int64_t) == 8 && sizeof(uint8_t) == 1, "");
static_assert(INT_MAX == 2147483647 && FLT_MAX > 3e38f, "");
extern "C" __global__ void k(uint16_t* a) { *a = (uint16_t)UCHAR_MAX; }
"""
    assert compile_ptx(source).entries == ("k",)


def test_errors_still_name_the_users_line() -> None:
    from core.errors import CompileError

    with pytest.raises(CompileError) as caught:
        compile_ptx("#include <stdio.h>\n__device__ int x = y;\n")
    assert caught.value.diagnostics[0].line == 2


@pytest.mark.skipif(not include_folders(), reason="CUDA's headers are not installed")
def test_cudas_headers() -> None:
    source = (
        '#include <cuda_fp16.h>\nextern "C" __global__ void k(__half2* a) { *a = __hadd2(*a, *a); }'
    )
    assert "f16x2" in compile_ptx(source).ptx
