"""PTX texts for the tests of the parser."""

from __future__ import annotations

from functools import cache

from core.compiler.compile_ptx_and_cubin import compile_ptx
from core.ptx.parser import parse
from tests.core.emulator.machines import HEADER

MANY = r"""
__constant__ float table[4] = {1, 2, 3, 4};
__device__ int counter = 5;
__device__ __noinline__ float twice(float x, int n)
{
    float a[3];
    for (int i = 0; i < 3; i++) a[i] = x * i;
    return n > 0 ? twice(a[n % 3], n - 1) : a[1];
}
extern "C" __global__ void k(float* out, const float4* in, int n, double d)
{
    __shared__ int s[64];
    extern __shared__ float dynamic[];
    int t = threadIdx.x;
    s[t] = t;
    dynamic[t] = table[t & 3];
    __syncthreads();
    float4 v = in[t];
    switch (n + (t & 7)) {
        case 0: v.x += 1; break;
        case 1: v.y = 2; break;
        case 2: v.z = 3; break;
        case 3: v.w = 9; break;
        case 4: v.x = 7; break;
        case 5: v.x = 6;
    }
    atomicAdd(&s[t / 2], 1);
    atomicAdd(&counter, 1);
    int sum = __shfl_down_sync(~0u, t, 1) + __popc(__ballot_sync(~0u, t > 3));
    long long big = (long long)t * n + __float_as_int(v.x);
    out[t] = twice(v.x + v.y * v.z, t & 3) + s[63 - t] + dynamic[t] + sum + (float)(d / (t + 1)) +
             (unsigned char)big + sqrtf(v.w);
}
"""


@cache
def module_text(kind="as_written") -> str:
    return compile_ptx(MANY, kind=kind).ptx


def body(code: str, parameters: str = "") -> str:
    return f"{HEADER}.visible .entry k({parameters})\n{{\n{code}\nret;\n}}\n"


def only(text: str):
    """The first instruction of a kernel with these statements."""
    return parse(body(text)).instructions[0]
