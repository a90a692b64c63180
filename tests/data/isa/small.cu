#include "common.cuh"
#include <cuda_fp8.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
extern "C" __global__ void fp8(ARGS) {
  float2 f = make_float2(IN(float, 0), IN(float, 2)); __half2 h = IN(__half2, 14);
  OUT(0, __nv_cvt_float2_to_fp8x2(f, __NV_SATFINITE, __NV_E4M3)); OUT(1, __nv_cvt_float2_to_fp8x2(f, __NV_SATFINITE, __NV_E5M2)); OUT(2, __nv_cvt_halfraw2_to_fp8x2(h, __NV_SATFINITE, __NV_E4M3)); OUT(3, __nv_cvt_halfraw2_to_fp8x2(h, __NV_SATFINITE, __NV_E5M2));
  OUT(4, __half2(__nv_cvt_fp8x2_to_halfraw2(IN(unsigned short, 4), __NV_E4M3))); OUT(5, __half2(__nv_cvt_fp8x2_to_halfraw2(IN(unsigned short, 4), __NV_E5M2))); OUT(6, __nv_cvt_float_to_fp8(f.x, __NV_SATFINITE, __NV_E4M3)); OUT(7, (float)__nv_fp8_e4m3(f.y));
}
extern "C" __global__ void tf32(ARGS) {
  unsigned r; float a = IN(float, 0), b = IN(float, 2);
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(a)); OUT(0, r);
#if __CUDA_ARCH__ >= 900
  asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(r) : "f"(a)); OUT(1, r); asm("cvt.rz.relu.tf32.f32 %0, %1;" : "=r"(r) : "f"(b)); OUT(2, r);
#endif
  asm("cvt.rn.relu.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(a), "f"(b)); OUT(3, r); asm("cvt.rz.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(a), "f"(b)); OUT(4, r); asm("cvt.rn.relu.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(a), "f"(b)); OUT(5, r);
#if __CUDA_ARCH__ >= 900
  unsigned short h; asm("cvt.rn.satfinite.f16.f32 %0, %1;" : "=h"(h) : "f"(a)); OUT(6, h);
#endif
}
