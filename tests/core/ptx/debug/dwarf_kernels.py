"""Kernels whose debug information the tests read, and how they look things up."""

from __future__ import annotations

from functools import cache

from core.compiler.compile_ptx_and_cubin import compile_ptx
from core.ptx.ast import Module
from core.ptx.debug.variables import DebugInfo, VariableInfo, debug_info, lookup
from core.ptx.parser import parse

TILED = """\
extern "C" __global__ void tiled(const float* A, const float* B, float* C, int N)
{
    __shared__ float left[TILE][TILE];
    __shared__ float top[TILE][TILE];
    int row = TILE * blockIdx.y + threadIdx.y;
    int column = TILE * blockIdx.x + threadIdx.x;
    float sum = 0;
    for (int phase = 0; phase < N / TILE; phase++) {
        left[threadIdx.y][threadIdx.x] = A[row * N + phase * TILE + threadIdx.x];
        top[threadIdx.y][threadIdx.x] = B[(phase * TILE + threadIdx.y) * N + column];
        __syncthreads();
        for (int k = 0; k < TILE; k++) {
            float product = left[threadIdx.y][k] * top[k][threadIdx.x];
            sum += product;
        }
        __syncthreads();
    }
    C[row * N + column] = sum;
}
"""

MANY = """\
struct Point { float x; int y; double z[3]; Point* next; unsigned low : 3; int high : 5; };
__constant__ float table[3][5];
__device__ int counter;
__shared__ double common[7];
namespace outer { __shared__ int hidden[4]; }
__device__ __noinline__ float called(float x, int n)
{
    float total = x;
    for (int q = 0; q < n; ++q) total += q;
    return total;
}
__device__ __forceinline__ float inlined(float x) { float y = x * 2; return y + 1; }
template <int BM, typename T> __global__ void generic(T* out, unsigned n)
{
    T acc[BM / 2][4] = {};
    out[threadIdx.x] = acc[n % 3][n % 4];
}
template __global__ void generic<8, double>(double*, unsigned);
extern "C" __global__ void many(float* out, const float4* in, Point p, unsigned char c, short s,
                                bool b, double d, long long big, char small)
{
    int a = 1;
    {
        out[0] = a;
        int a = 2 + c;
        { float a = in->x; out[1] = a; }
        out[2] = a;
    }
    const int seven = 7;
    constexpr float quarter = 0.25f;
    const unsigned large = 4000000000u;
    const long long negative = -5;
    enum Colour { RED, GREEN } colour = s > 2 ? RED : GREEN;
    typedef unsigned int word;
    word w = c;
    float (*rows)[5] = (float (*)[5])out;
    const float* const fixed = out;
    float& reference = out[3];
    float4 vector = in[1];
    unsigned char narrow = c + 1;
    reference = called(d, a) + inlined(d) + rows[1][2] + *fixed + vector.y + narrow + w + colour;
    out[4] = seven + quarter + large + negative + table[1][c] + counter + common[c] + p.y + big;
    out[5] = small + b + outer::hidden[c];
}
"""

PATHS = """\
extern "C" __global__ void paths(float* o, const float* a, int n)
{
    int i = n;
    float x = a[i];
    float y = a[i + 1];
    if (i < 3) {
        x = x * 2.0f;
        o[0] = x;
    } else {
        o[1] = x;
        x = y;
        o[2] = x;
    }
    o[3] = x;
    float m = x > y ? x : y;
    o[4] = m;
    o[5] = x;
    o[6] = y;
    float z = i < 4 ? x : 0.5f;
    o[7] = x;
    o[8] = z;
    int c = i + 9;
    while (c > 0) {
        o[9] = c;
        if (c & 1) {
            c -= 3;
            o[10] = c;
            continue;
        }
        float before = x;
        x = x + y;
        o[11] = before;
        o[12] = x;
        c /= 2;
        o[13] = c;
    }
    o[14] = c;
    o[15] = x;
    for (int k = 0; k < 3; k++) {
        float t = y + k;
        if (k == n) {
            float swap = x;
            x = y;
            y = swap;
            o[16] = swap;
        } else if (k > n) {
            o[17] = x;
            y = t;
        }
        o[18] = k;
        o[19] = x;
        o[20] = y;
        o[21] = t;
    }
    o[22] = x;
    o[23] = y;
    do {
        float u = x - y;
        y = y + 1.0f;
        o[24] = u;
    } while (y < x);
    switch (n & 3) {
    case 0: { float v = x + 3.0f; x = v; o[25] = v; break; }
    case 1: y = x; o[26] = y;
    default: x = y; o[27] = x;
    }
    o[28] = x;
    o[29] = y;
    o[30] = m;
    if (n > 5) return;
    o[31] = i;
}
"""


@cache
def module(source: str, kind: str = "as_written") -> Module:
    defines = {"TILE": "8"}
    return parse(compile_ptx(source, source_name="folder/k.cu", defines=defines, kind=kind).ptx)


@cache
def info(source: str) -> DebugInfo:
    return debug_info(module(source))


def variable(source: str, function: str, name: str, line: int | None = None) -> VariableInfo:
    found = [
        v
        for v in info(source).variables_of(function)
        if v.name == name and line in {None, v.declared_line}
    ]
    assert len(found) == 1, [v.name for v in info(source).variables_of(function)]
    return found[0]


def pcs_of_line(source: str, text: str, opcode: str) -> list[int]:
    line = next(n for n, row in enumerate(source.splitlines(), 1) if text in row)
    return [
        i.pc for i in module(source).instructions if i.position.line == line and i.opcode == opcode
    ]


def names_at(source: str, function: str, pc: int) -> list[str]:
    return [v.name for v in lookup(info(source).variables_of(function), pc)]
