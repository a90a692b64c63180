"""Small PTX texts of different kinds, with a launch each, for the mutations to start from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import numpy as np

from core.compiler.compile_ptx_and_cubin import Build, compile_ptx
from core.launch import ArrayArgument, Dim3, Launch, ScalarArgument, Workload
from core.ptx.lexer import without_sections
from tests.core.emulator.machines import HEADER

THREADS = 40  # more than a warp, and not a multiple of one

CUDA = {
    "floats": """extern "C" __global__ void k(float* out, const float* in, int n) {
        int t = threadIdx.x;
        if (t < n) out[t] = fmaf(in[t], 2.5f, out[t]) / 3.0f - sqrtf(in[t]); }""",
    "shared": """extern "C" __global__ void k(float* out, const float* in, int n) {
        __shared__ float s[64]; int t = threadIdx.x; s[t] = in[t]; __syncthreads();
        float v = s[63 - t > 39 ? 0 : 39 - t]; v += __shfl_xor_sync(~0u, v, 1); out[t] = v; }""",
    "switch": """extern "C" __global__ void k(int* out, const int* in, int n) {
        int t = threadIdx.x, v = in[t];
        switch (t % 7) { case 0: v += 3; break; case 1: v *= 5; case 2: v ^= n; break;
            case 3: v = __popc(v); break; case 4: v = __clz(v); break; case 5: v = min(v, n); }
        out[t] = v; }""",
    "loop": """extern "C" __global__ void k(int* out, const int* in, int n) {
        int t = threadIdx.x, s = 0;
        #pragma unroll 1
        for (int i = 0; i <= t % 5; i++) { if (in[i] & 1) continue; s += in[i] * n; }
        out[t] = s; }""",
    "call": """__device__ __noinline__ int f(int x, int n) { return n ? f(x * 3 + n, n - 1) : x; }
        extern "C" __global__ void k(int* out, const int* in, int n) {
        out[threadIdx.x] = f(in[threadIdx.x], threadIdx.x & 3); }""",
    "local": """__constant__ double table[3] = {0.5, -1.5, 1e300};
        extern "C" __global__ void k(double* out, const long long* in, int n) {
        short a[5]; for (int i = 0; i < 5; i++) a[i] = (short)(in[i] >> i);
        out[threadIdx.x] = a[(threadIdx.x + n) % 5] * table[threadIdx.x % 3]; }""",
    "atomics": """__device__ unsigned counter;
        extern "C" __global__ void k(unsigned* out, const uint4* in, int n) {
        __shared__ unsigned bins[4]; unsigned t = threadIdx.x; if (t < 4) bins[t] = 0;
        __syncthreads(); uint4 v = in[t]; atomicAdd(&bins[v.x & 3], v.y);
        atomicCAS(&counter, t, v.z);
        unsigned b = __ballot_sync(__activemask(), v.w > 5); __syncthreads();
        out[t] = bins[t & 3] + b + (unsigned char)v.z; }""",
    "printf": """extern "C" __device__ int printf(const char*, ...);
        extern "C" __global__ void k(int* out, const int* in, int n) {
        if (threadIdx.x < 2) printf("%d %s %5.2f\\n", in[threadIdx.x], "x", 0.5 * n); }""",
}  # fmt: skip

HAND = {
    "operands": """
    .global .align 16 .b8 bytes[6] = {1, 2, 0xFF, -1}; .const .u16 pair[2][2] = {{1, 2}, {3, 4}};
    .extern .shared .align 8 .b8 pool[];
    .func (.reg .u32 r) twice (.reg .u32 x) { add.u32 r, x, x; ret; }
    .visible .entry k(.param .u64 out, .param .u64 in, .param .u32 n) .maxntid 64 {
    .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %d<5>; .reg .f32 %f<3>; .reg .b16 %h<3>;
    ld.param.u64 %d1, [out]; ld.param.u64 %d2, [in]; mov.u32 %r1, %tid.x;
    mad.wide.u32 %d1, %r1, 4, %d1; mad.wide.u32 %d2, %r1, 16, %d2;
    ld.global.v2.u32 {%r2, %r3}, [%d2+8]; mov.b64 %d3, {%r2, %r3};
    setp.lt.and.s32 %p1|%p2, %r1, 17, !%p3; @%p1 add.cc.u32 %r4, %r2, %r3; addc.u32 %r4, 0, 0x10;
    { .reg .b32 %r1; prmt.b32 %r1, %r2, %r3, 0x6420; lop3.b32 %r4, %r1, %r2, %r4, 0x96; }
    cvt.rn.f32.s32 %f1, %r4; fma.rn.ftz.f32 %f1, %f1, 0f3F800000, 0f40000000; cvt.u16.u32 %h1, %r1;
    shfl.sync.down.b32 %r5|%p3, %r4, 1, 31, -1; bfe.u32 %r6, %r4, 3, 9; selp.u32 %r7, %r5, %r6, %p3;
    st.shared.u32 [pool], %r7; bar.sync 0; call (%r8), twice, (%r7);
    T: .branchtargets A, B; and.b32 %r3, %r1, 1; brx.idx %r3, T;
    A: @%p1 bra B; red.global.add.u32 [%d1], 1; B: st.global.u32 [%d1], %r8;
    vote.sync.ballot.b32 %r5, %p1, -1; atom.global.cas.b32 %r6, [%d1], 5, %r5; ret; }
    """,
    "matrices": """
    .visible .entry k(.param .u64 out, .param .u64 in, .param .u32 n) {
    .reg .b32 %r<9>; .reg .b64 %d<3>; .reg .f32 %f<9>; .shared .align 16 .b8 tile[1024];
    ld.param.u64 %d1, [out]; ld.param.u64 %d2, [in]; mov.u32 %r8, %laneid; shl.b32 %r8, %r8, 4;
    cvt.u64.u32 %d0, %r8; add.u64 %d2, %d2, %d0; mov.u32 %r7, tile; add.u32 %r7, %r7, %r8;
    cp.async.ca.shared.global [%r7], [%d2], 16; cp.async.commit_group; cp.async.wait_group 0;
    bar.warp.sync -1; ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0, %r1, %r2, %r3}, [%r7];
    mov.f32 %f0, 0f00000000;
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r0, %r1, %r2, %r3},
    {%r0, %r1}, {%f0, %f0, %f0, %f0};
    redux.sync.add.s32 %r4, %r8, -1; match.any.sync.b32 %r5, %r1, -1; fence.sc.gpu;
    st.global.f32 [%d1], %f1; ret; }
    """,
}


@dataclass(frozen=True)
class Text:
    """A PTX text that runs as it stands."""

    name: str
    ptx: str
    launch: Launch


def _launch(source: str) -> Launch:
    out = np.zeros(64, np.float64 if "double* out" in source else np.int32)
    data = np.arange(1024, dtype=np.uint8)
    return Launch(
        Dim3(1),
        Dim3(THREADS),
        (ArrayArgument("out", out, "inout"), ArrayArgument("in", data),
         ScalarArgument("n", np.int32(7))),
        64,
    )  # fmt: skip


def _plain(ptx: str) -> str:
    """Without comments and empty lines, which only dilute the mutations."""
    return re.sub(r"\n\s*\n+", "\n", re.sub(r"//[^\n]*", "", ptx))


@cache
def texts() -> tuple[Text, ...]:
    """What NVRTC makes of small kernels, optimised and with `-G`, and texts written by hand."""
    found = [
        Text(name, _plain(compile_ptx(source, kind="as_compiled").ptx), _launch(source))
        for name, source in CUDA.items()
    ]
    for name, source in CUDA.items():
        ptx = without_sections(compile_ptx(source, kind="as_written").ptx)
        found.append(Text(f"{name}, -G", _plain(ptx), _launch(source)))
    found += [Text(name, HEADER + code, _launch(code)) for name, code in HAND.items()]
    return tuple(found)


NAMES = (*CUDA, *(f"{name}, -G" for name in CUDA), *HAND)
"""Those of `texts`, in its order."""


@cache
def text_with_debug_information() -> Text:
    """A text with its DWARF sections, which are mutated too."""
    source = CUDA["floats"]
    return Text("floats, -G", compile_ptx(source, kind="as_written").ptx, _launch(source))


def as_build(text: Text, ptx: str) -> tuple[Workload, Build]:
    """A mutated text as `core.recording.record_launch.record` takes it."""
    build = Build(
        kind="as_compiled", source=ptx, source_name="k.ptx", defines={}, options=(),
        architecture="compute_90", ptx=ptx, diagnostics=(), entries=("k",),
    )  # fmt: skip
    return Workload("k", ptx, "k.ptx", "k", text.launch), build
