#pragma once
typedef _Float16 __half, half;
struct __attribute__((aligned(4))) __half2 { half x, y; };
typedef __half2 half2;
CUDA_FUNCTION half __float2half(float v) { return v; }
CUDA_FUNCTION half __float2half_rn(float v) { return v; }
CUDA_FUNCTION float __half2float(half v) { return v; }
CUDA_FUNCTION half2 __halves2half2(half x, half y) { return {x, y}; }
CUDA_FUNCTION half __hadd(half a, half b) { return a + b; }
CUDA_FUNCTION half __hmul(half a, half b) { return a * b; }
CUDA_FUNCTION half __hfma(half a, half b, half c) { return __builtin_fmaf16(a, b, c); }
